"""Every function and method of the native module: a valid call of each, and calls that nobody should make.

`DOORS` names all of them and says of each argument that holds whole numbers what it is; tests/test_native_doors.py
fails where one is missing. `hostile` makes wrong arguments of valid ones, and `sequences` calls methods in any order.
Whatever they are, a call ends with an answer or one of `ERRORS`, and topics or clusters that it names exist: `attempt`.
tools/fuzz.py does it at random.
"""

from __future__ import annotations

import inspect
import itertools
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np

from topmix import _core
from topmix.base import threads as blas
from topmix.corpus.shard import Shard
from topmix.data import sample_lda
from topmix.models.topics import DocumentOptions

ERRORS = (ValueError, TypeError, IndexError, OverflowError, RuntimeError, MemoryError)
K, L, D = 4, 2, 3
CORPUS = sample_lda(20, 15, 3, doc_length=30, random_state=0).corpus
SHARD = Shard.of(CORPUS)
W, N, E = len(SHARD.cols), SHARD.n_rows, len(SHARD.index)
RNG = np.random.default_rng(0)
TABLE = RNG.random((W, K)).astype(np.float32)
OF_WORDS = TABLE, np.zeros(W), np.full(K, 50.0), 0.1
ALPHA = np.full(K, 0.1, np.float32)
SCALE, NORM = np.zeros(W), np.full(K, 50.0)
N_TOKENS = int(CORPUS.value.sum())
ROWS = {"indptr": SHARD.indptr, "index": SHARD.index, "value": SHARD.value}
WORDS = {"starts": SHARD.starts, "order": SHARD.order}
OWN = np.full((3, K), 0.1, np.float32), (np.arange(N) % 3).astype(np.int32)  # priors of documents
SAID = np.ones((2, K), np.float32), (np.arange(N) % 2).astype(np.float32), 0.0, 1.0  # responses of documents
DOCS = np.arange(N + 1), np.zeros(N, np.uint16), np.ones(N, np.float32)
TOKENS = _core.TokenRows(**ROWS, n_words=W)
POINTS = RNG.normal(size=(N, D)).astype(np.float32)
THREADS = {"threads": 1}
ETA = {"eta": np.full((1, 1), 0.1), "eta_totals": np.ones(K)}
EXTRA = {"extra": (np.arange(W + 1), np.zeros(W, np.uint16), np.ones(W))}


def zeros(*shape: int, dtype: type = np.float64) -> np.ndarray:
    return np.zeros(shape, dtype)


def counts() -> dict[str, np.ndarray]:
    """Tokens and their counts, as a chain holds them."""
    z, word, total = np.arange(N_TOKENS) % K, zeros(W, K, dtype=np.int32), zeros(K, dtype=np.int64)
    z = z.astype(np.uint16)
    _core.count_tokens(TOKENS, z, 1, word, total)
    return {"z": z, "word": word, "total": total}


@dataclass
class Made:
    """A struct or an object of the module, made anew for each call."""

    of: Callable[..., Any]
    given: tuple[Any, ...]

    def __call__(self) -> Any:
        return self.of(*(part() if isinstance(part, Made) else part for part in self.given))


Names = list[tuple[np.ndarray, int]]  # arrays of topics or clusters that a call wrote or returned, and how many exist


def nothing(given: dict[str, Any], result: Any) -> Names:
    return []


@dataclass
class Door:
    """A valid call of a function, and what its whole numbers are."""

    given: dict[str, Any] = field(default_factory=dict)
    indices: tuple[str, ...] = ()  # are followed: refused where they lead outside
    numbers: tuple[str, ...] = ()  # are not: counts, bytes, and arrays that are only written
    of: Callable[[], Any] | None = None  # whose method it is
    bad: dict[str, list[int]] = field(default_factory=dict)  # where not every number outside is wrong
    names: Callable[[dict[str, Any], Any], Names] = nothing


def step_names(given: dict[str, Any], result: Any) -> Names:
    n = given["alpha"].shape[0]
    return [(result[0][1], n), (result[1][1], n)]


def z_names(given: dict[str, Any], result: Any) -> Names:
    n = given["K"] if "K" in given else given["total" if "total" in given else "alpha"].shape[0]
    return [(given["z"], n)]


def options(**changed: Any) -> _core.DocumentOptions:
    made = DocumentOptions(n_active=L, eps=1e-4, max_iter=5, own_discount=0.5)
    arguments = {"posterior": "collapsed", "L": L}
    known = made.native("collapsed", K)
    for name in OPTIONS:
        arguments[name] = getattr(known, name)
    return _core.DocumentOptions(**arguments | changed)


OPTIONS = (
    *("eps", "max_iter", "tol", "mean_change", "select_often", "exclude", "restarts", "restart_iter", "own_discount"),
)
IN_SHARD = Made(_core.Shard, (*ROWS.values(), *WORDS.values()))
COUNTS = Made(_core.CountRows, tuple(ROWS.values()))
REALS = Made(_core.SparseRows, (SHARD.indptr, SHARD.index, SHARD.value.astype(np.float64)))
TEXT = np.frombuffer(b"1 1 2\n2 3 1\n", np.uint8)
ASSIGNED = {"cluster": zeros(N, L, dtype=np.int32), "r": np.full((N, L), 0.5, np.float32)}
SCORES = {"W": RNG.normal(size=(K, 2 * D)).astype(np.float32), "constant": zeros(K, dtype=np.float32),
          "quadratic": "squares", "linear": True}  # fmt: skip
FOUND = {**ASSIGNED, "entropy": zeros(N), "likelihood": zeros(N)}
TOP = {"scores": TABLE, "L": L, "idx": zeros(W, L, dtype=np.int32)}
SETTINGS = Made(_core.MixtureSettings, (float(N), K, L, 2, 5, 1))
DENSE = Made(_core.NormalWishart, ("squares", True, True, 1.0, np.zeros(D), float(D), np.ones(D), np.zeros(D), 1.0))
COLUMNS = Made(_core.NormalWishart, ("squares", True, True, 1.0, np.zeros(W), float(W), np.ones(W), np.zeros(W), 1.0))
CLUSTERED = Made(_core.GaussianRows, (DENSE, POINTS.astype(np.float64)))
BOUNDS = {"bounds": np.array([0, N])}
BLOCKS = Made(_core.WordBlocks, (np.array([0, W]), np.arange(W, dtype=np.int32)))
ELEMENTWISE = {"x": np.ones(5), "out": zeros(5), **THREADS}
ORDER = Made(_core.WordOrder, (TOKENS, np.array([0, N]), 1))

DOORS = {
    **{name: Door(ELEMENTWISE) for name in ("exp", "log", "digamma", "lgamma", "exp_digamma")},
    "add_scaled": Door({"x": np.ones(5), "a": 2.0, **THREADS, "y": zeros(5)}),
    "set_blas": Door(dict(zip(("sgemm", "dgemm", "ssyrk", "dsyrk", "dpotrf", "dpotri"), blas.capsules()))),
    # These say what is wrong with the rows.
    "check_rows": Door({**ROWS, "n_words": W}, (), ("indptr", "index")),
    "check_saved_rows": Door({**ROWS, "n_words": W, "first_row": 0, **THREADS}, (), ("indptr", "index")),
    "all_below": Door({"ids": SHARD.index, "n": W}, (), ("ids",)),
    "crc32": Door({"data": TEXT}, (), ("data",)),
    "tidy_rows": Door(
        {**ROWS, "remap": np.arange(W), "n_words": W, "first_row": 0, **THREADS, "out_indptr": SHARD.indptr.copy(),
         "out_index": SHARD.index.copy(), "out_value": SHARD.value.copy()},
        ("indptr", "index", "remap"), ("out_indptr", "out_index"), bad={"remap": [2**40]}),  # -1 drops a word
    "random_words": Door({"seed": 0, "pass_": 0, "first_row": 0, "out": zeros(2, 3, dtype=np.uint32)}, (), ("out",)),
    "localise": Door(
        {"index": SHARD.index, "n_words": W}, ("index", "n_words"), bad={"n_words": [1, 2**31, 2**40]}),
    "add_word_stats": Door(
        {"cols": np.arange(N, dtype=np.int32), "indptr": DOCS[0], "topic": DOCS[1], "value": DOCS[2], "weight": 1.0,
         **THREADS, "total": zeros(N, K)},
        ("cols", "indptr", "topic")),
    "top_l_rows": Door(
        {**TOP, "r": zeros(W, L, dtype=np.float32), "log": True, "entropy": zeros(W)}, ("L",), ("idx",),
        bad={"L": [0, L + 1]}, names=lambda given, _: [(given["idx"], given["scores"].shape[1])]),
    "select_rows": Door(
        {**TOP, "val": zeros(W, L, dtype=np.float32)}, ("L",), ("idx",), bad={"L": [0, L + 1]},
        names=lambda given, _: [(given["idx"], given["scores"].shape[1])]),
    "assign_categorical": Door(
        {**ROWS, "Elogphi": TABLE, "offset": SCALE, "Elogpi": ALPHA, "L": L, **THREADS}, ("indptr", "index", "L"),
        names=lambda given, result: [(result[0], given["Elogpi"].shape[0])]),
    "categorical_table": Door(
        {"is_point": False, "raw": np.ones((W, K)), "factor": 1.0, "eta": np.ones(W), "norm": NORM,
         "cols": np.arange(W, dtype=np.int32), **THREADS, "table": TABLE.copy(), "offset": zeros(W)}, ("cols",)),
    "sample_row_clusters": Door(
        {**ROWS, "weight": None, "eta": np.ones(W), "eta_total": float(W), "weight_prior": 1.0, "power": 1.0, "seed": 0,
         "sweep": 0, **THREADS, "S": np.ones((2, W, K)), "total": np.full((2, K), float(W)), "N": np.ones((2, K)),
         "z": zeros(2, N, dtype=np.int32)}, ("indptr", "index", "z"),
        names=lambda given, _: [(given["z"], given["S"].shape[2])]),
    "sum_rows_by_word": Door(
        {**WORDS, "row": SHARD.row_of, "value": SHARD.value, **ASSIGNED, "weight": None, "K": K, **THREADS},
        ("starts", "order", "row", "cluster", "K"), bad={"K": [0, 2**16 + 1]},
        names=lambda given, result: [(result[1], given["K"])]),
    "assign_gaussian": Door(
        {"z": POINTS, **SCORES, **THREADS, **FOUND}, (), ("cluster",),
        names=lambda given, _: [(given["cluster"], given["constant"].shape[0])]),
    "assign_near": Door(
        {"z": POINTS, "was": zeros(N, dtype=np.int32), "neighbours": np.tile(np.arange(K, dtype=np.int32), (K, 1)),
         **SCORES, **THREADS, **FOUND},
        ("was", "neighbours"), ("cluster",),
        names=lambda given, _: [(given["cluster"], given["constant"].shape[0])]),
    "add_moments": Door(
        {"z": POINTS, **ASSIGNED, "weight": None, "centre": zeros(K, D, dtype=np.float32), "quadratic": "squares",
         **THREADS, "N": zeros(K), "first": zeros(K, D), "second": zeros(K, D)},
        ("cluster",)),
    "to_frame": Door({"x": POINTS, "origin": zeros(D), "A": np.eye(D), **THREADS, "z": POINTS.copy()}),
    "update_precisions": Door(
        {"second": np.ones((K, 6)), "N": np.ones(K), "base": np.eye(D), "reg": np.eye(D), "beta": np.ones(K),
         "m": np.ones((K, D)), **THREADS, "B": zeros(K, D, D), "inverse": zeros(K, D, D), "log_det": zeros(K)}),
    "assign_among": Door(
        {"z": POINTS, "was": zeros(N, dtype=np.int32), "candidates": np.tile(np.arange(K, dtype=np.int32), (N, 1)),
         "W": SCORES["W"][:, :D].copy(), "constant": SCORES["constant"], **THREADS, **FOUND},
        ("was", "candidates"), ("cluster",),
        names=lambda given, _: [(given["cluster"], given["constant"].shape[0])]),
    "visit_rows": Door(
        {"x": POINTS, "rows": np.arange(N), "origin": np.zeros(D), "scale": np.ones(D), **SCORES,
         "centre": zeros(K, D, dtype=np.float32), "weight": None, "L": L, "least": 0.0, **THREADS, "N": zeros(K),
         "first": zeros(K, D), "second": zeros(K, D)},
        ("rows", "L")),
    "assign_groups": Door(
        {"z": POINTS, "starts": np.array([0, 5, N]), **SCORES, "constant": zeros(2, K, dtype=np.float32), **THREADS,
         **FOUND},
        ("starts",), ("cluster",), names=lambda given, _: [(given["cluster"], given["constant"].shape[1])]),
    "solve_groups": Door(
        {"starts": np.array([0, 5, N]), "candidates": np.tile(np.arange(K, dtype=np.int32), (N, 1)),
         "share": np.full((N, K), 1 / K, np.float32), "weight": None, "alpha": np.ones(K), "collapsed": True,
         "least": 0.0, "max_iter": 3, "tol": 0.0, **THREADS, "N": zeros(2, K), "absent": zeros(2, K), **ASSIGNED,
         "entropy": zeros(N)},
        ("starts", "candidates"), ("max_iter", "cluster"),
        names=lambda given, _: [(given["cluster"], given["alpha"].shape[0])]),
    "TermCounter": Door(
        {"chars": bytes([0] + [1] * 127), "min_length": 1, "whole_words": True, "lowercase": False,
         "stop_words": ["a"], "min_n": 1, "max_n": 2, "vocabulary": ["b", "c"]}),
    "TermCounter.count": Door({"documents": ["a b c", ["b", "c"]], **THREADS}, of=lambda: counter()),
    "TermCounter.document_frequency": Door(of=lambda: counter()),
    "TermCounter.term_frequency": Door(of=lambda: counter()),
    "TermCounter.sort": Door({"ids": np.arange(2, dtype=np.int32)}, ("ids",), of=lambda: counter()),
    "TermCounter.packed": Door({"ids": np.arange(2, dtype=np.int32)}, ("ids",), of=lambda: counter()),
    "TermCounter.terms": Door({"ids": np.arange(2, dtype=np.int32)}, ("ids",), of=lambda: counter()),
    "topic_table": Door(
        {"posterior": "collapsed", "raw": np.ones((W, K)), "factor": 1.0, "eta": ETA["eta"], **EXTRA,
         "pseudo_counts": (np.ones(W), np.ones(K), *EXTRA["extra"], 1.0), "norm": NORM,
         "cols": np.arange(W, dtype=np.int32), **THREADS, "table": TABLE.copy(), "log_scale": zeros(W)},
        ("cols", "extra", "pseudo_counts")),
    "topic_rows": Door(
        {"raw": np.ones((W, K)), "factor": 1.0, "eta": ETA["eta"], **EXTRA, "as_shares": True, **THREADS,
         "out": zeros(K, W)},
        ("extra",)),
    "topic_bound": Door(
        {"posterior": "collapsed", "raw": np.ones((W, K)), "factor": 1.0, "eta": ETA["eta"], **EXTRA, **THREADS,
         "norm": zeros(K)},
        ("extra",)),
    "Shard": Door({**ROWS, **WORDS}, (), (*("indptr", "index"), *WORDS)),
    "Start": Door({"docs": DOCS}, (), ("docs",)),
    "LastVisit": Door({"docs": DOCS, "words": OF_WORDS}, (), ("docs",)),
    "Priors": Door({"alpha": OWN[0], "row": OWN[1]}, (), ("row",)),
    "Responses": Door({"coefficients": SAID[0], "y": SAID[1], "precision": 0.0, "weight": 1.0}),
    "TopicScratch": Door(),
    "topics_step": Door(
        {"shard": IN_SHARD, "table": TABLE, "alpha": ALPHA, "options": Made(options, ()),
         "start": Made(_core.Start, (DOCS,)), "last": Made(_core.LastVisit, (DOCS, OF_WORDS)), "want_words": True,
         **THREADS, "scratch": Made(_core.TopicScratch, ()), "own": Made(_core.Priors, OWN),
         "responses": Made(_core.Responses, SAID)},
        ("shard", "start", "last", "own"), ("responses",), names=step_names),
    "merged_entropy": Door(
        {"scratch": Made(lambda: scored(), ()), "L": L, "partner": np.array([1, 0, -1, -1], np.int32), **THREADS,
         "lost": zeros(K)},
        ("L",), ("partner",), bad={"L": [1, 2**40]}),
    "own_alpha": Door(
        {"x": np.ones((2, 3)), "coefficients": np.ones((K, 3)), "low": -1.0, "high": 1.0, **THREADS,
         "out": zeros(2, K, dtype=np.float32)}),
    "own_stats": Door(
        {"collapsed": True, "docs": DOCS, "lengths": np.ones(N), "own": Made(_core.Priors, OWN), **THREADS,
         "x": np.ones((len(OWN[0]), 3)), "M": zeros(K, 3), "Q": zeros(3 * K, 3)},
        ("docs", "own")),
    "SCVB0Options": Door({"scale": 1.0, "offset": 1.0, "decay": 0.5, "burn_in": 1, "L": L, "seed": 0}),
    "scvb0_step": Door(
        {"shard": IN_SHARD, "table": TABLE, "alpha": ALPHA,
         "options": Made(_core.SCVB0Options, (1.0, 1.0, 0.5, 1, L, 0)), "pass_": 0, **THREADS,
         "scratch": Made(_core.TopicScratch, ()), "averages": None, "own": Made(_core.Priors, OWN)},
        ("shard", "own"), names=step_names),
    "cvb0_step": Door(
        {"shard": IN_SHARD, "words": OF_WORDS, "alpha": ALPHA, "L": L, "burn_in": 1,
         "last": (zeros(E, L, dtype=np.uint16), zeros(E, L, dtype=np.float32)), **THREADS,
         "own": Made(_core.Priors, OWN)},
        ("shard", "last", "L", "own"),
        names=lambda given, result: [*step_names(given, result), (result[4][0], given["alpha"].shape[0])]),
    "sample_step": Door(
        {"tokens": ORDER, "words": OF_WORDS, "alpha": ALPHA, "given": None, "seed": 0, "sweep": 0, "first": 0,
         **THREADS, "z": zeros(N_TOKENS, dtype=np.uint16), "own": Made(_core.Priors, OWN)},
        ("z", "given", "own"), names=lambda given, result: [*step_names(given, result), *z_names(given, result)]),
    "TokenRows": Door({**ROWS, "n_words": W}, ("indptr", "index", "n_words"), bad={"n_words": [0, 1, 2**31, 2**40]}),
    "WordOrder": Door({"tokens": TOKENS, **BOUNDS, **THREADS}, ("bounds",)),
    "count_tokens": Door({"tokens": TOKENS, **THREADS, **counts()}, ("z",), ("word", "total")),
    "document_topics": Door(
        {"tokens": TOKENS, "z": counts()["z"], "K": K, **THREADS}, ("z", "K"), bad={"K": [0, K - 1, 70_000, 2**31]},
        names=lambda given, result: [(result[1], given["K"])]),
    "gibbs_sample": Door(
        {"order": ORDER, "block": 0, "alpha": ALPHA, **ETA, "seed": 0, "sweep": 0, **THREADS, **counts()},
        ("z", "block"), ("word", "total"), names=z_names),
    "gibbs_draw": Door(
        {"order": ORDER, "indptr": DOCS[0], "topic": DOCS[1], "count": DOCS[2], "e": TABLE, "alpha": ALPHA,
         "seed": 0, **THREADS, "z": counts()["z"]},
        ("indptr", "topic"), ("z",), names=z_names),
    "gibbs_sequential": Door(
        {"tokens": TOKENS, "alpha": ALPHA, **ETA, "seed": 0, "sweep": 0, **counts()}, ("z",), ("word", "total"),
        names=z_names),
    "log_probability_of_words": Door(
        {"word": counts()["word"], "total": counts()["total"], **ETA, **THREADS}, (), ("word", "total")),
    "hard_distances": Door(
        {"word": counts()["word"], "total": counts()["total"], "smoothing": 0.1, **THREADS,
         "D": zeros(W, _core.LANES, dtype=np.float32)},
        (), ("word", "total")),
    "hard_assign": Door(
        {"tokens": TOKENS, "step": "word", "D": np.ones((W, _core.LANES), np.float32), "K": K, "penalty": 1.0,
         **THREADS, "z": counts()["z"]},
        ("z", "K"), bad={"K": [0, K - 1, _core.LANES + 1]}, names=z_names),
    # Counts must be those of z: entropies are looked up by them.
    "refine": Door(
        {"tokens": TOKENS, "order": np.arange(N, dtype=np.int32), "penalty": 1.0, **THREADS, **counts(),
         "scratch": zeros(W, _core.LANES, dtype=np.float32), "least_round": 1},
        ("order", "z", "word", "total"), names=z_names),
    "refine_deltas": Door(
        {"tokens": TOKENS, "d": 0, "t": 1, "penalty": 1.0, **counts(),
         "scratch": zeros(W, _core.LANES, dtype=np.float32), "out": zeros(K)},
        ("d", "t", "z", "word", "total")),
    "topics_in_use": Door(
        {"tokens": TOKENS, "K": K, **THREADS, "z": counts()["z"]}, ("z", "K"), bad={"K": [0, K - 1, 70_000]}),
    "distance_of_tokens": Door(
        {"word": counts()["word"], "total": counts()["total"], **THREADS}, (), ("word", "total")),
    # What asynchronous learning is made from. Arrays are looked at by whoever takes them.
    "CountRows": Door(ROWS, (), ("indptr", "index")),
    "SparseRows": Door({**ROWS, "value": SHARD.value.astype(np.float64)}, (), ("indptr", "index")),
    "WordBlocks": Door(dict(zip(("starts", "words"), BLOCKS.given)), (), ("starts", "words")),
    "TopicPlan": Door({"n_active": L, "tail": "mean", "warm_up": 1, "settle": 1, "seed": 0, "by_token": False}),
    "MixtureSettings": Door(
        dict(zip(("all_rows", "n_clusters", "n_active", "blocks", "rows_at_once", "threads"), SETTINGS.given)),
        ("n_active", "blocks")),
    "NormalWishart": Door(
        dict(zip(("quadratic", "linear", "bayes", "beta", "m", "nu", "B", "reg", "weight_prior"), DENSE.given))),
    "GaussianRows": Door({"prior": DENSE, "z": POINTS.astype(np.float64)}),
    "SparseGaussianRows": Door(
        {"prior": COLUMNS, "scale": np.ones(W), "zero": np.zeros(W), "rows": REALS}, ("rows",)),
    "CategoricalRows": Door({"bayes": True, "eta": np.ones(W), "weight_prior": 1.0, "rows": COUNTS}, ("rows",)),
    "AsynchronousTopics": Door(
        {"rows": COUNTS, **BOUNDS, "blocks": BLOCKS, "counts": TABLE.astype(np.float64),
         "alpha": ALPHA.astype(np.float64), "eta": np.ones((1, 1)),
         "plan": Made(_core.TopicPlan, (L, "mean", 1, 1, 0, False))},
        ("rows", "bounds", "blocks")),
    "NomadicTopics": Door(
        {"rows": COUNTS, **BOUNDS, "blocks": BLOCKS, "n_words": W, "n_topics": K, "n_active": L, "tail": "mean"},
        ("rows", "bounds", "blocks", "n_words", "n_topics", "n_active"),
        bad={"n_words": [1, 2**31], "n_topics": [0, 1, 70_000, 2**17]}),
    "AsynchronousMixture": Door(
        {"rows": CLUSTERED, "weight": None, "settings": SETTINGS, **BOUNDS, "most": 1, "seed": 0, **ASSIGNED,
         "centre": zeros(K, D)},
        ("bounds", "cluster")),
    "NomadicMixture": Door({"rows": CLUSTERED, "weight": None, "settings": SETTINGS}),
    "AsynchronousTopics.start": Door({"passes": 2}, of=lambda: made("AsynchronousTopics")),
    "AsynchronousTopics.priors": Door(
        {"alpha": ALPHA.astype(float), "eta": np.ones((1, 1))}, of=lambda: made("AsynchronousTopics")),
    "NomadicTopics.begin": Door(
        {"alpha": ALPHA.astype(float), "eta": np.ones((1, 1)), "total": np.ones(K)}, of=lambda: made("NomadicTopics")),
    "NomadicTopics.put": Door(
        {"block": 0, "rows": np.ones((W, K)), "fresh": np.ones((W, K))}, ("block",),
        of=lambda: nomads(has_block=False)),
    "NomadicTopics.take": Door({"block": 0}, ("block",), of=lambda: nomads()),
    "NomadicTopics.visit": Door(
        {"worker": 0, "block": 0, "under": "shares"}, ("worker", "block"), of=lambda: nomads()),
    "NomadicTopics.begin_visit": Door(
        {"worker": 0, "block": 0, "under": "shares", "contribute": False}, ("worker", "block"), of=lambda: nomads()),
    "NomadicTopics.summary": Door({"worker": 0}, ("worker",), of=lambda: nomads()),
    "NomadicTopics.apply_total": Door({"delta": np.ones(K)}, of=lambda: nomads()),
    "NomadicTopics.own": Door(of=lambda: nomads()),
}  # fmt: skip
DOORS["DocumentOptions"] = Door(
    {"posterior": "collapsed", "L": L} | {name: getattr(options(), name) for name in OPTIONS}
)
for _method in ("next", "stop", "now", "audit", "visits_by_worker"):
    DOORS[f"AsynchronousTopics.{_method}"] = Door(of=lambda: made("AsynchronousTopics"))


def scored() -> _core.TopicScratch:
    """The scratch of a step."""
    scratch = _core.TopicScratch()
    call("topics_step", {"scratch": scratch})
    return scratch


def counter() -> _core.TermCounter:
    found = _core.TermCounter(bytes([0] + [1] * 127), 1, True, False, [], 1, 1, ["a", "b", "c"])
    assert found.n_terms == 3
    return found


def made(name: str) -> Any:
    """An object of this class, as it is before any call."""
    given = {key: value() if isinstance(value, Made) else value for key, value in DOORS[name].given.items()}
    return getattr(_core, name)(**given)


def nomads(*, has_block: bool = True) -> _core.NomadicTopics:
    found = made("NomadicTopics")
    found.begin(ALPHA.astype(float), np.ones((1, 1)), np.ones(K))
    if has_block:
        found.put(0, np.ones((W, K)))
    return found


def nomadic_mixture(method: str) -> Any:
    """Ready for a call of this method."""
    found = made("NomadicMixture")
    for block in range(0 if method == "put" else 2):
        found.put(block, np.ones((K // 2, 1 + 3 * D)))
    if method not in ("put", "take", "forget"):
        found.forget()
    if method not in ("put", "take", "forget", "compare"):
        found.compare([0, 1])
    if method not in ("put", "take", "forget", "compare", "settle"):
        found.settle()
    return found


def cluster_names(given: dict[str, Any], result: Any) -> Names:
    return [(result[0], K)]


_workers = partial(made, "AsynchronousMixture")
for _method in ("next", "stop", "now", "audit"):
    DOORS[f"AsynchronousMixture.{_method}"] = Door(of=_workers)
DOORS["AsynchronousMixture.assignments"] = Door(of=_workers, names=cluster_names)
DOORS["AsynchronousMixture.start"] = Door({"passes": 2}, of=_workers)
DOORS["AsynchronousMixture.visit"] = Door({"worker": 0, "blocks": [0, 1]}, ("worker", "blocks"), of=_workers)
for _method in ("forget", "settle", "entropy"):
    DOORS[f"NomadicMixture.{_method}"] = Door(of=partial(nomadic_mixture, _method))
DOORS["NomadicMixture.assignments"] = Door(of=partial(nomadic_mixture, ""), names=cluster_names)
DOORS["NomadicMixture.put"] = Door(
    {"block": 0, "rows": np.ones((K // 2, 1 + 3 * D))}, ("block",), of=partial(nomadic_mixture, "put")
)
DOORS["NomadicMixture.take"] = Door({"block": 0}, ("block",), of=partial(nomadic_mixture, "take"))
for _method in ("compare", "contribute", "visit"):
    DOORS[f"NomadicMixture.{_method}"] = Door({"blocks": [0, 1]}, ("blocks",), of=partial(nomadic_mixture, _method))


def bound() -> Iterator[tuple[str, Any]]:
    """Every function and method of the module, by its name; a class is its constructor."""
    for name, thing in vars(_core).items():
        if inspect.isclass(thing):
            for method, function in vars(thing).items():
                if hasattr(function, "__nb_signature__"):
                    yield name if method == "__init__" else f"{name}.{method}", function
        elif hasattr(thing, "__nb_signature__"):
            yield name, thing


# -------------------------------------------------------------------------------------------------------------- calls


def call(name: str, changed: dict[str, Any] | None = None, on: Any = None) -> Any:
    """A call with arrays of its own; whatever it names must exist."""
    door = DOORS[name]
    given = {key: value.copy() if isinstance(value, np.ndarray) else value for key, value in door.given.items()}
    given |= changed or {}
    given |= {key: value() for key, value in given.items() if isinstance(value, Made)}
    if on is None:
        on = door.of() if door.of else _core
    result = getattr(on, name.split(".")[-1])(**given)
    for ids, n in door.names(given, result):
        assert ids.size == 0 or (ids.min() >= 0 and int(ids.max()) < n), f"{name} names {ids.max()} of {n}"
    return result


def attempt(name: str, changed: dict[str, Any] | None = None, on: Any = None) -> bool:
    """Whether there was an answer, and not an error."""
    try:
        call(name, changed, on)
    except ERRORS:
        return False
    return True


# Settings that are as long as they say: not tried with large numbers. Nor are sizes of what is made for them.
LONG = {"max_iter", "restarts", "restart_iter", "burn_in", "settle", "warm_up", "passes"}
LARGE = {"n_words", "n_clusters", "n_bins", "n_topics"}
OTHERS = (None, "x", 3, 2.5, [], (), b"x", {}, object(), np.float64(1), np.array(1.0), np.array(["x"]))


def hostile(value: Any, name: str = "") -> Iterator[Any]:
    """Wrong arguments of all kinds in the place of a valid one."""
    yield from OTHERS
    if isinstance(value, Made):
        names = list(DOORS[value.of.__name__].given) if value.given else []
        for i, part in enumerate(value.given):
            for wrong in hostile(part, names[i]):
                yield Made(value.of, (*value.given[:i], wrong, *value.given[i + 1 :]))
    elif isinstance(value, tuple):
        yield from (value[:-1], (*value, value[-1]))
        for i, part in enumerate(value):
            yield from ((*value[:i], wrong, *value[i + 1 :]) for wrong in hostile(part))
    elif isinstance(value, np.ndarray):
        yield from _arrays(value)
    elif isinstance(value, bool):
        yield from (not value, 2, -1)
    elif isinstance(value, int):
        yield from (-1, 0, 1, 2, 7, -(2**31), -(2**63), 2**64, 2**100)
        if name not in LONG:
            yield from (2**62, 2**63 - 1, 2**63)
        if name not in LONG | LARGE:
            yield from (70_000, 2**16, 2**31 - 1, 2**31, 2**32, 2**40)
    elif isinstance(value, float):
        yield from (np.nan, np.inf, -np.inf, -1.0, 0.0, -0.0, 1e300, -1e300, 1e-320, 1e-45, 3.4e38)
    elif isinstance(value, str):
        yield from ("", "\0", "\ud800", "squares", "products", "none", "norm", "basic", "place", "word", "variational")
        yield from ("best", "means", "logarithms", "shares", value * 1000, value.upper())
    elif isinstance(value, bytes):
        yield from (b"", value[:-1], value + value, bytes(len(value)), b"\xff" * len(value))
    elif isinstance(value, list) and value and isinstance(value[0], int):
        yield from ([0, 0], [1], [5], [-1], [2**20], [2**32], [0.5], [None], [0] * 1000)
    elif isinstance(value, list):
        yield from (["\ud800"], [""], ["x" * 100_000], [None], ["é ß"], ["a\0b"], value * 100, [[1]], [["\ud800"]])
    elif value is None:
        yield from (np.ones(N), np.full(N, np.nan), np.full(N, -1.0), np.full(N, np.inf), np.ones(N - 1), np.zeros(N))
        yield from (np.zeros((N, K), np.float32), np.zeros((N, K + 1), np.float32), DOCS)


Shape = Callable[[np.ndarray], np.ndarray]
SHAPES: tuple[Shape, ...] = (
    lambda a: a[:0], lambda a: a[:1], lambda a: a[:-1], lambda a: np.concatenate([a, a[-1:]]), lambda a: a[None],
    lambda a: a[..., None], lambda a: a.ravel(), lambda a: a[::2], lambda a: a[::-1],
    lambda a: np.repeat(a, 1000, axis=0), np.asfortranarray,
)  # fmt: skip
SHAPES_OF_MATRICES: tuple[Shape, ...] = (
    lambda a: a[:, :0], lambda a: a[:, :1], lambda a: a[:, :-1], lambda a: np.concatenate([a, a[:, -1:]], axis=1),
    lambda a: a[:, :-1].copy(), lambda a: a.T, lambda a: a.T.copy(), lambda a: np.zeros((1, 70_000), a.dtype),
)  # fmt: skip
TYPES = (np.float16, np.float32, np.float64, np.complex128, np.int8, np.uint16, np.int32, np.int64, bool, object)


def _arrays(a: np.ndarray) -> Iterator[np.ndarray]:
    for shape in (*SHAPES, *(SHAPES_OF_MATRICES if a.ndim > 1 else ())):
        yield shape(a.copy())
    with np.errstate(invalid="ignore", over="ignore"):
        converted = [a.astype(dtype) for dtype in TYPES]
    yield from converted
    yield a.astype(a.dtype.newbyteorder())
    fixed = a.copy()
    fixed.flags.writeable = False
    yield fixed
    if np.issubdtype(a.dtype, np.floating):
        numbers: list[float] = [np.nan, np.inf, -np.inf, -1.0, 0.0, 0.5, float(np.finfo(a.dtype).max), 1e-45]
    else:
        limit = np.iinfo(a.dtype)
        far = (-1, 0, 1, K, N, W, 2**15, 2**16 - 1, 70_000, 2**31 - 1, 2**40, limit.max, limit.min)
        numbers = sorted({n for n in far if limit.min <= n <= limit.max})
    for number in numbers:
        yield np.full_like(a, number)
        for at in sorted({0, a.size // 2, a.size - 1}) if a.size else ():
            one = a.copy()
            one.reshape(-1)[at] = number
            yield one


def random_hostile(value: Any, name: str, rng: np.random.Generator) -> Any:
    """One of them."""
    found = list(hostile(value, name))
    return found[rng.integers(len(found))]


def methods(kind: str) -> list[str]:
    return [name for name in DOORS if name.startswith(f"{kind}.")]


CLASSES = sorted({name.split(".")[0] for name in DOORS if "." in name})


def sequences(kind: str, length: int) -> Iterator[tuple[str, ...]]:
    """Methods of a class in every order."""
    return itertools.product(methods(kind), repeat=length)
