"""No kernel follows an index that lies outside of its arrays, whoever calls it.

`DOORS` names every function and method of the native module, and says of each argument that holds whole numbers what
it is. Arguments are found by their types, so a new binding, or a new argument of an old one, fails until it is here.
"""

from __future__ import annotations

import contextlib
import inspect
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np
import pytest

from topmix import _core
from topmix.data import sample_lda
from topmix.data.shard import Shard
from topmix.models.document_options import DocumentOptions
from topmix.numerics import blas

assert blas  # its import sets the BLAS of the module
K, L, D = 4, 2, 3
CORPUS = sample_lda(20, 15, 3, doc_length=30, random_state=0).corpus
SHARD = Shard.of(CORPUS)
W, N, E = len(SHARD.cols), SHARD.n_rows, len(SHARD.index)
RNG = np.random.default_rng(0)
OPTIONS = DocumentOptions(n_active=L, eps=1e-4, max_iter=5, own_discount=0.5).native("collapsed", K)
TABLE = RNG.random((W, K)).astype(np.float32)
OF_WORDS = TABLE, np.zeros(W), np.full(K, 50.0), 0.1
ALPHA = np.full(K, 0.1, np.float32)
SCALE, NORM = np.zeros(W), np.full(K, 50.0)
N_TOKENS = int(CORPUS.value.sum())
ROWS = {"indptr": SHARD.indptr, "index": SHARD.index, "value": SHARD.value}
WORDS = {"starts": SHARD.starts, "order": SHARD.order}
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


def scored() -> _core.TopicScratch:
    """The scratch of a step."""
    scratch = _core.TopicScratch()
    call("topics_step", {"scratch": scratch})
    return scratch


@dataclass
class Made:
    """A struct of the module, made anew for each call. Its arrays are looked at by whoever takes it."""

    of: Callable[..., Any]
    given: tuple[Any, ...]


@dataclass
class Door:
    """A valid call of a function, and what its whole numbers are."""

    given: dict[str, Any] = field(default_factory=dict)
    indices: tuple[str, ...] = ()  # are followed: refused where they lead outside
    numbers: tuple[str, ...] = ()  # are not: counts, bytes, and arrays that are only written
    of: Callable[[], Any] | None = None  # whose method it is
    bad: dict[str, list[int]] = field(default_factory=dict)  # where not every number outside is wrong


IN_SHARD = Made(_core.Shard, (*ROWS.values(), *WORDS.values()))
TEXT = np.frombuffer(b"1 1 2\n2 3 1\n", np.uint8)
PAIRS = np.frombuffer(b"1 0:2\n1 2:1\n", np.uint8)
ASSIGNED = {"cluster": zeros(N, L, dtype=np.int32), "r": np.full((N, L), 0.5, np.float32)}
SCORES = {"W": RNG.normal(size=(K, 2 * D)).astype(np.float32), "constant": zeros(K, dtype=np.float32),
          "quadratic": "squares", "linear": True}  # fmt: skip
FOUND = {**ASSIGNED, "entropy": zeros(N), "likelihood": zeros(N)}
TOP = {"scores": TABLE, "L": L, "idx": zeros(W, L, dtype=np.int32)}
DEAL = {"weight": None, "bounds": np.array([0, N]), **ASSIGNED, "blocks": 2, "most": 1, "rows_at_once": 5, **THREADS,
        "seed": 0}  # fmt: skip
NOMADS = {"all_rows": float(N), "weight": None, "n_clusters": K, "n_active": L, "blocks": 2, "rows_at_once": 5,
        **THREADS}  # fmt: skip
NORMAL = {"linear": True, "bayes": True, "beta": 1.0, "m": np.zeros(W), "nu": float(W), "B": np.ones(W),
          "reg": np.zeros(W)}  # fmt: skip
DENSE = NORMAL | {"quadratic": "squares", "m": np.zeros(D), "B": np.ones(D), "reg": np.zeros(D), "weight_prior": 1.0}
SPARSE = {**NORMAL, "scale": np.ones(W), "zero": np.zeros(W), "weight_prior": 1.0, **ROWS,
          "value": SHARD.value.astype(np.float64)}  # fmt: skip
CATEGORICAL = {"bayes": True, "eta": np.ones(W), "weight_prior": 1.0, **ROWS}
BLOCKS = {"bounds": np.array([0, N]), "block_starts": np.array([0, W]), "words": np.arange(W, dtype=np.int32)}

DOORS = {
    "group_by": Door(
        {"ids": SHARD.index, "n_bins": W, "starts": zeros(W + 1, dtype=np.int64), "order": zeros(E, dtype=np.int32)},
        ("ids",), ("starts", "order")),
    "add_by_id": Door({"ids": SHARD.index, "values": np.ones(E), "out": zeros(W)}, ("ids",)),
    "parse_triples": Door(
        {"text": TEXT, "line": 1, "n_docs": 2, "n_words": 3, "has_value": True, "whole": True,
         "doc": zeros(9, dtype=np.int64), "word": zeros(9, dtype=np.int32), "value": zeros(9, dtype=np.float32)},
        (), ("text", "doc", "word")),
    "parse_pairs": Door(
        {"text": PAIRS, "line": 1, "counted": True, "first_id": 0, "last_id": 3, "indptr": zeros(10, dtype=np.int64),
         "label": zeros(9), "word": zeros(9, dtype=np.int32), "value": zeros(9, dtype=np.float32)},
        (), ("text", "indptr", "word")),
    # These say what is wrong with the rows.
    "check_rows": Door({**ROWS, "n_words": W}, (), ("indptr", "index")),
    "check_saved_rows": Door({**ROWS, "n_words": W, "first_row": 0, **THREADS}, (), ("indptr", "index")),
    "all_below": Door({"ids": SHARD.index, "n": W}, (), ("ids",)),
    "crc32": Door({"data": TEXT}, (), ("data",)),
    "tidy_rows": Door(
        {**ROWS, "remap": np.arange(W), "n_words": W, "first_row": 0, **THREADS, "out_indptr": SHARD.indptr.copy(),
         "out_index": SHARD.index.copy(), "out_value": SHARD.value.copy()},
        ("indptr", "index", "remap"), ("out_indptr", "out_index"), bad={"remap": [2**40]}),  # -1 drops a word
    "philox4x32": Door(
        {"counter": zeros(4, dtype=np.uint32), "key": zeros(2, dtype=np.uint32), "out": zeros(4, dtype=np.uint32)},
        (), ("counter", "key", "out")),
    "random_words": Door({"seed": 0, "pass_": 0, "first_row": 0, "out": zeros(2, 3, dtype=np.uint32)}, (), ("out",)),
    "random_below": Door(
        {"seed": 0, "pass_": 0, "first_row": 0, "n": 3, "out": zeros(2, 3, dtype=np.uint32)}, (), ("out",)),
    "localise": Door({"index": SHARD.index, "n_words": W}, ("index", "n_words"), bad={"n_words": [1]}),
    "add_word_stats": Door(
        {"cols": np.arange(N, dtype=np.int32), "indptr": DOCS[0], "topic": DOCS[1], "value": DOCS[2], "weight": 1.0,
         **THREADS, "total": zeros(N, K)},
        ("cols", "indptr", "topic")),
    "top_l_rows": Door(
        {**TOP, "r": zeros(W, L, dtype=np.float32), "log": True, "entropy": zeros(W)}, ("L",), ("idx",),
        bad={"L": [0, L + 1]}),
    "select_rows": Door({**TOP, "val": zeros(W, L, dtype=np.float32)}, ("L",), ("idx",), bad={"L": [0, L + 1]}),
    "nth_element_rows": Door(
        {**TOP, "r": zeros(W, L, dtype=np.float32), "log": True}, ("L",), ("idx",), bad={"L": [0, L + 1]}),
    "assign_categorical": Door(
        {**ROWS, "Elogphi": TABLE, "offset": SCALE, "Elogpi": ALPHA, "L": L, **THREADS}, ("indptr", "index", "L")),
    "sum_rows_by_word": Door(
        {**WORDS, "row": SHARD.row_of, "value": SHARD.value, **ASSIGNED, "weight": None, "K": K, **THREADS},
        ("starts", "order", "row", "cluster", "K"), bad={"K": [0, 2**16 + 1]}),
    "assign_gaussian": Door({"z": POINTS, **SCORES, **THREADS, **FOUND}, (), ("cluster",)),
    "assign_near": Door(
        {"z": POINTS, "was": zeros(N, dtype=np.int32), "neighbours": np.tile(np.arange(K, dtype=np.int32), (K, 1)),
         **SCORES, **THREADS, **FOUND},
        ("was", "neighbours"), ("cluster",)),
    "assign_among": Door(
        {"z": POINTS, "was": zeros(N, dtype=np.int32), "candidates": np.tile(np.arange(K, dtype=np.int32), (N, 1)),
         "W": SCORES["W"][:, :D].copy(), "constant": SCORES["constant"], **THREADS, **FOUND},
        ("was", "candidates"), ("cluster",)),
    "add_moments": Door(
        {"z": POINTS, **ASSIGNED, "weight": None, "centre": zeros(K, D, dtype=np.float32), "quadratic": "squares",
         **THREADS, "N": zeros(K), "first": zeros(K, D), "second": zeros(K, D)},
        ("cluster",)),
    "visit_rows": Door(
        {"x": POINTS, "rows": np.arange(N), "origin": np.zeros(D), "scale": np.ones(D), **SCORES, "weight": None,
         "centre": zeros(K, D, dtype=np.float32), "L": L, "least": 0.0, **THREADS, "N": zeros(K), "first": zeros(K, D),
         "second": zeros(K, D)},
        ("rows", "L")),
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
    "topics_step": Door(
        {"shard": IN_SHARD, "table": TABLE, "alpha": ALPHA, "options": OPTIONS, "start": Made(_core.Start, (DOCS,)),
         "last": Made(_core.LastVisit, (DOCS, OF_WORDS)), "want_words": True, **THREADS,
         "scratch": _core.TopicScratch()},
        ("shard", "start", "last")),
    "merged_entropy": Door(
        {"L": L, "partner": np.array([1, 0, -1, -1], np.int32), **THREADS, "lost": zeros(K)},
        ("L",), ("partner",), bad={"L": [1, 2**40]}),
    "scvb0_step": Door(
        {"shard": IN_SHARD, "table": TABLE, "alpha": ALPHA, "options": _core.SCVB0Options(1.0, 1.0, 0.5, 1, L, 0),
         "pass_": 0, **THREADS, "scratch": _core.TopicScratch(), "averages": None},
        ("shard",)),
    "cvb0_step": Door(
        {"shard": IN_SHARD, "words": OF_WORDS, "alpha": ALPHA, "L": L, "burn_in": 1,
         "last": (zeros(E, L, dtype=np.uint16), zeros(E, L, dtype=np.float32)), **THREADS},
        ("shard", "last", "L")),
    "sample_step": Door(
        {"tokens": SHARD.word_order, "shard": IN_SHARD, "words": OF_WORDS, "alpha": ALPHA, "given": None, "seed": 0,
         "sweep": 0, "first": 0, **THREADS, "z": zeros(N_TOKENS, dtype=np.uint16)},
        ("shard", "z", "given")),
    "TokenRows": Door({**ROWS, "n_words": W}, ("indptr", "index", "n_words"), bad={"n_words": [0, 1]}),
    "WordOrder": Door({"tokens": TOKENS, "bounds": np.array([0, N]), **THREADS}, ("bounds",)),
    "count_tokens": Door({"tokens": TOKENS, **THREADS, **counts()}, ("z",), ("word", "total")),
    "document_topics": Door(
        {"tokens": TOKENS, "z": counts()["z"], "K": K, **THREADS}, ("z", "K"), bad={"K": [0, K - 1]}),
    "gibbs_sample": Door(
        {"order": SHARD.word_order, "block": 0, "alpha": ALPHA, **ETA, "seed": 0, "sweep": 0, **THREADS, **counts()},
        ("z", "block"), ("word", "total")),
    "gibbs_draw": Door(
        {"order": SHARD.word_order, "indptr": DOCS[0], "topic": DOCS[1], "count": DOCS[2], "e": TABLE, "alpha": ALPHA,
         "seed": 0, **THREADS, "z": counts()["z"]},
        ("indptr", "topic"), ("z",)),
    "gibbs_sequential": Door(
        {"tokens": TOKENS, "alpha": ALPHA, **ETA, "seed": 0, "sweep": 0, **counts()}, ("z",), ("word", "total")),
    "log_probability_of_words": Door(
        {"word": counts()["word"], "total": counts()["total"], **ETA, **THREADS}, (), ("word", "total")),
    "hard_distances": Door(
        {"word": counts()["word"], "total": counts()["total"], "smoothing": 0.1, **THREADS,
         "D": zeros(W, _core.LANES, dtype=np.float32)},
        (), ("word", "total")),
    "hard_assign": Door(
        {"tokens": TOKENS, "step": "word", "D": np.ones((W, _core.LANES), np.float32), "K": K, "penalty": 1.0,
         **THREADS, "z": counts()["z"]},
        ("z", "K"), bad={"K": [0, K - 1, _core.LANES + 1]}),
    # Counts must be those of z: entropies are looked up by them.
    "refine": Door(
        {"tokens": TOKENS, "order": np.arange(N, dtype=np.int32), "penalty": 1.0, **THREADS, **counts(),
         "scratch": zeros(W, _core.LANES, dtype=np.float32)},
        ("order", "z", "word", "total")),
    "refine_deltas": Door(
        {"tokens": TOKENS, "d": 0, "t": 1, "penalty": 1.0, **counts(),
         "scratch": zeros(W, _core.LANES, dtype=np.float32), "out": zeros(K)},
        ("d", "t", "z", "word", "total")),
    "topics_in_use": Door(
        {"tokens": TOKENS, "K": K, **THREADS, "z": counts()["z"]}, ("z", "K"), bad={"K": [0, K - 1]}),
    "distance_of_tokens": Door(
        {"word": counts()["word"], "total": counts()["total"], **THREADS}, (), ("word", "total")),
    "AsynchronousTopics": Door(
        {**ROWS, **BLOCKS, "n_active": L, "tail": "mean", "counts": TABLE.astype(np.float64),
         "alpha": ALPHA.astype(np.float64), "eta": np.ones((1, 1)), "warm_up": 1, "settle": 1, "seed": 0},
        ("indptr", "index", "bounds", "block_starts", "words", "n_active")),
    "NomadicTopics": Door(
        {**ROWS, **BLOCKS, "n_words": W, "n_topics": K, "n_active": L, "tail": "mean"},
        ("indptr", "index", "bounds", "block_starts", "words", "n_words", "n_topics", "n_active"),
        bad={"n_words": [1], "n_topics": [0, 1, 2**17]}),
    "AsynchronousCategorical": Door(
        {**CATEGORICAL, "n_clusters": K, **DEAL}, ("indptr", "index", "bounds", "cluster", "n_clusters", "blocks"),
        bad={"n_clusters": [0, 1]}),
    "AsynchronousSparseGaussian": Door(
        {**SPARSE, "n_clusters": K, **DEAL}, ("indptr", "index", "bounds", "cluster", "n_clusters", "blocks"),
        bad={"n_clusters": [0, 1]}),
    "AsynchronousGaussian32": Door(
        {**DENSE, "z": POINTS, "centre": zeros(K, D, dtype=np.float32), **DEAL}, ("bounds", "cluster", "blocks")),
    "AsynchronousGaussian64": Door(
        {**DENSE, "z": POINTS.astype(float), "centre": zeros(K, D), **DEAL, "r": ASSIGNED["r"].astype(float)},
        ("bounds", "cluster", "blocks")),
    "NomadicCategorical": Door({**CATEGORICAL, **NOMADS}, ("indptr", "index", "n_active", "blocks")),
    "NomadicSparseGaussian": Door({**SPARSE, **NOMADS}, ("indptr", "index", "n_active", "blocks")),
    "NomadicGaussian32": Door({**DENSE, "z": POINTS, **NOMADS}, ("n_active", "blocks")),
    "NomadicGaussian64": Door({**DENSE, "z": POINTS.astype(float), **NOMADS}, ("n_active", "blocks")),
    "NomadicTopics.put": Door(
        {"block": 0, "rows": np.ones((W, K))}, ("block",), of=lambda: nomads(has_block=False)),
    "NomadicTopics.take": Door({"block": 0}, ("block",), of=lambda: nomads()),
    "NomadicTopics.visit": Door(
        {"worker": 0, "block": 0, "under": "shares"}, ("worker", "block"), of=lambda: nomads()),
    "NomadicTopics.begin_visit": Door(
        {"worker": 0, "block": 0, "under": "shares", "contribute": False}, ("worker", "block"), of=lambda: nomads()),
    "NomadicTopics.summary": Door({"worker": 0}, ("worker",), of=lambda: nomads()),
}  # fmt: skip


def counter() -> _core.TermCounter:
    made = _core.TermCounter(bytes([0] + [1] * 127), 1, True, False, [], 1, 1, ["a", "b", "c"])
    assert made.n_terms == 3
    return made


def nomads(*, has_block: bool = True) -> _core.NomadicTopics:
    made = _core.NomadicTopics(**DOORS["NomadicTopics"].given)
    made.begin(ALPHA.astype(float), np.ones((1, 1)), np.ones(K))
    if has_block:
        made.put(0, np.ones((W, K)))
    return made


MIXTURES = {"Gaussian32": 1 + 3 * D, "Gaussian64": 1 + 3 * D, "Categorical": 1 + W, "SparseGaussian": 1 + 2 * W}


def nomadic_mixture(kind: str, method: str) -> Any:
    """Ready for a call of this method."""
    made = getattr(_core, f"Nomadic{kind}")(**DOORS[f"Nomadic{kind}"].given)
    for block in range(0 if method == "put" else 2):
        made.put(block, np.ones((K // 2, MIXTURES[kind])))
    made.forget()
    if method in ("contribute", "visit"):
        made.compare([0, 1])
        made.settle()
    return made


for kind, width in MIXTURES.items():
    DOORS[f"Asynchronous{kind}.visit"] = Door(
        {"worker": 0, "blocks": [0, 1]},
        ("worker", "blocks"),
        of=lambda kind=kind: getattr(_core, f"Asynchronous{kind}")(**DOORS[f"Asynchronous{kind}"].given),
    )
    DOORS[f"Nomadic{kind}.put"] = Door(
        {"block": 0, "rows": np.ones((K // 2, width))}, ("block",), of=partial(nomadic_mixture, kind, "put")
    )
    DOORS[f"Nomadic{kind}.take"] = Door({"block": 0}, ("block",), of=partial(nomadic_mixture, kind, "take"))
    for method in ("compare", "contribute", "visit"):
        DOORS[f"Nomadic{kind}.{method}"] = Door(
            {"blocks": [0, 1]}, ("blocks",), of=partial(nomadic_mixture, kind, method)
        )

# Functions without whole numbers that could lead anywhere.
PLAIN = {
    *("exp", "log", "digamma", "lgamma", "exp_digamma", "random_uniform", "sum", "crc32_joined"),
    *("add_scaled", "set_blas", "update_precisions", "to_frame"),
    *("TermCounter", "TermCounter.count", "TermCounter.document_frequency", "TermCounter.term_frequency"),
    *("DocumentOptions", "SCVB0Options", "TopicScratch"),
    *(f"AsynchronousTopics.{m}" for m in ("start", "next", "stop", "now", "priors", "audit", "visits_by_worker")),
    *("NomadicTopics.begin", "NomadicTopics.apply_total", "NomadicTopics.own"),
    *(f"Asynchronous{kind}.{m}" for kind in MIXTURES for m in ("start", "next", "stop", "now", "assignments", "audit")),
    *(f"Nomadic{kind}.{m}" for kind in MIXTURES for m in ("forget", "settle", "entropy", "assignments")),
}
# Single numbers that nothing is looked up by. The n of all_below and random_below is a limit, not a place.
HARMLESS = {
    *("threads", "seed", "sweep", "pass_", "first", "first_row", "line", "n_docs", "first_id", "last_id", "crc", "n"),
    *("second", "n_bytes", "min_length", "min_n", "max_n", "passes", "most", "rows_at_once", "warm_up", "settle"),
    *("burn_in", "max_iter", "restarts", "restart_iter"),
}
LIMITS = {  # that an output was made for, or that are checked with the rows
    ("group_by", "n_bins"), ("parse_triples", "n_words"), ("check_rows", "n_words"), ("check_saved_rows", "n_words"),
    ("tidy_rows", "n_words"), ("DocumentOptions", "L"), ("SCVB0Options", "L"), ("NomadicCategorical", "n_clusters"),
    ("NomadicSparseGaussian", "n_clusters"), ("NomadicGaussian32", "n_clusters"), ("NomadicGaussian64", "n_clusters"),
}  # fmt: skip


def bound() -> Iterator[tuple[str, Any]]:
    """Every function and method of the module, by its name; a class is its constructor."""
    for name, thing in vars(_core).items():
        if inspect.isclass(thing):
            for method, function in vars(thing).items():
                if hasattr(function, "__nb_signature__"):
                    yield name if method == "__init__" else f"{name}.{method}", function
        elif hasattr(thing, "__nb_signature__"):
            yield name, thing


def arguments(function: Any) -> dict[str, str]:
    """Names and types, of all overloads together."""
    found: dict[str, str] = {}
    for signature, *_ in function.__nb_signature__:
        at, depth, part = signature.index("(") + 1, 0, ""
        for c in signature[at:]:
            if depth == 0 and c in ",)":
                name, _, kind = part.partition(":")
                found[name.strip()] = found.get(name.strip(), "") + kind
                part = ""
                if c == ")":
                    break
                continue
            depth += (c in "[(") - (c in "])")
            part += c
    return found


# Structs that keep arrays as they are given: whoever takes one looks at them.
KEPT = {"Shard", "Start", "LastVisit"}
ARRAYS = re.compile(  # also arrays of any type
    rf"dtype=u?int|ndarray\[shape|Sequence\[int\]|list\[int\]|_core_\w+\.(?:{'|'.join(KEPT)})\b"
)
NUMBER = re.compile(r"\bint\b")
BOUND = dict(bound())


def test_every_bound_function_is_listed():
    assert set(DOORS) & PLAIN == set()
    assert set(BOUND) == set(DOORS) | PLAIN | KEPT


@pytest.mark.parametrize("name", sorted(set(BOUND) - KEPT))
def test_every_whole_number_is_listed(name):
    door = DOORS.get(name, Door())
    types = arguments(BOUND[name])
    arrays = {argument for argument, kind in types.items() if ARRAYS.search(kind)}
    single = {argument for argument, kind in types.items() if NUMBER.search(kind)} - arrays
    assert arrays <= {*door.indices, *door.numbers}
    assert {a for a in single - {*door.indices} if (name, a) not in LIMITS} <= HARMLESS
    assert {*door.indices, *door.numbers} <= arrays | single


def call(name: str, changed: dict[str, Any] | None = None) -> None:
    door = DOORS[name]
    given = {key: value.copy() if isinstance(value, np.ndarray) else value for key, value in door.given.items()}
    given |= changed or {}
    given |= {key: value.of(*value.given) for key, value in given.items() if isinstance(value, Made)}
    if name == "merged_entropy":
        given["scratch"] = scored()
    function = getattr(door.of() if door.of else _core, name.split(".")[-1])
    function(**given)


@pytest.mark.parametrize("name", DOORS)
def test_the_calls_are_valid(name):
    call(name)


def outside(value: Any, numbers: list[int] | None) -> Iterator[Any]:
    """The value with one number changed to one that leads outside: of an array, of each array of a tuple, ..."""
    if isinstance(value, Made):
        for hurt in outside(value.given, numbers):
            yield Made(value.of, hurt)
    elif isinstance(value, tuple):
        for i, part in enumerate(value):
            for hurt in outside(part, numbers) if isinstance(part, np.ndarray | tuple) else ():
                yield (*value[:i], hurt, *value[i + 1 :])
    elif isinstance(value, list):
        yield from ([*value[:-1], number] for number in numbers or [2, 2**20])
    elif isinstance(value, int):
        yield from numbers or [2**16, 2**31 - 1]
    elif np.issubdtype(value.dtype, np.integer):
        far = [2**15] if value.dtype == np.uint16 else [2**30, -1] if value.dtype == np.int32 else [2**40, -1]
        for number in numbers or far:
            for at in {0, value.size // 2, value.size - 1}:
                hurt = value.copy()
                hurt.reshape(-1)[at] = number
                yield hurt


@pytest.mark.parametrize(
    ("name", "argument"), [(name, argument) for name, door in DOORS.items() for argument in door.indices]
)
def test_indices_that_lead_outside_are_refused(name, argument):
    value = DOORS[name].given[argument]
    if value is None:  # the proportions of documents, where tokens have no topics yet
        value = DOCS
    tried = 0
    for hurt in outside(value, DOORS[name].bad.get(argument)):
        with pytest.raises((ValueError, IndexError)):
            call(name, {argument: hurt})
        tried += 1
    assert tried


@pytest.mark.parametrize(
    ("name", "argument"), [(name, argument) for name, door in DOORS.items() for argument in door.numbers]
)
def test_other_whole_numbers_lead_nowhere(name, argument):
    """Whatever they are: the call returns, or says what is wrong."""
    value = DOORS[name].given[argument]
    largest = np.iinfo(value.dtype)
    for number in (largest.max, largest.min, largest.max // 2):
        with contextlib.suppress(ValueError):
            call(name, {argument: np.full_like(value, number)})


def test_documents_may_name_a_topic_more_often_than_there_are_topics():
    many = 100 * K
    given = (np.arange(N + 1) * many, np.zeros(N * many, np.uint16), np.ones(N * many, np.float32))
    call("sample_step", {"given": given})
    call("gibbs_draw", dict(zip(("indptr", "topic", "count"), given)))


@pytest.mark.parametrize("weight", [0.0, np.nan, np.inf, -1.0])
def test_topics_are_drawn_where_no_topic_has_a_weight(weight):
    table = np.full((W, K), weight, np.float32)
    for given in (None, (np.zeros(N + 1, np.int64), DOCS[1][:0], DOCS[2][:0])):
        z = zeros(N_TOKENS, dtype=np.uint16)
        call("sample_step", {"words": (table, *OF_WORDS[1:]), "given": given, "z": z})
        assert z.max() < K
    z = zeros(N_TOKENS, dtype=np.uint16)
    call("gibbs_draw", {"e": table, "z": z})
    assert z.max() < K


def test_saved_visits_and_proportions_have_errors_of_their_own():
    for indptr, topic in (
        (np.append(DOCS[0][:-1], 2**40), DOCS[1]),
        (DOCS[0], DOCS[1] + K),
        (DOCS[0][::-1].copy(), DOCS[1]),
    ):
        with pytest.raises(ValueError, match="the last visit"):
            call("topics_step", {"last": Made(_core.LastVisit, ((indptr, topic, DOCS[2]), OF_WORDS))})
        with pytest.raises(ValueError, match="of other documents"):
            call("sample_step", {"given": (indptr, topic, DOCS[2])})
