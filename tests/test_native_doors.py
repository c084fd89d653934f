"""No kernel follows an index that lies outside of its arrays, whoever calls it."""

from __future__ import annotations

import inspect

import numpy as np
import pytest

from topmix import _core
from topmix.data import sample_lda
from topmix.data.shard import Shard

K = 4
CORPUS = sample_lda(20, 15, 3, doc_length=30, random_state=0).corpus
SHARD = Shard.of(CORPUS)
W, N, E = len(SHARD.cols), SHARD.n_rows, len(SHARD.index)
RNG = np.random.default_rng(0)
OPTIONS = _core.TopicOptions("collapsed", False, False, False, 2, 1e-4, 5, 0.1, 0, 0)
TABLE = RNG.random((W, K)).astype(np.float32)
ALPHA = np.full(K, 0.1, np.float32)
SCALE, NORM = np.zeros(W), np.full(K, 50.0)
TOKENS = int(CORPUS.value.sum())
ROWS = {"indptr": SHARD.indptr, "index": SHARD.index, "value": SHARD.value}
WORDS = {"starts": SHARD.starts, "order": SHARD.order}
DOCS = np.arange(N + 1), np.zeros(N, np.uint16), np.ones(N, np.float32)

WIDE_ROWS = ROWS | {"value": SHARD.value.astype(np.float64)}
DEAL = {"weight": None, "n_clusters": K, "bounds": np.array([0, N]), "cluster": np.zeros((N, 2), np.int32),
        "r": np.full((N, 2), 0.5, np.float32), "blocks": 2, "most": 1, "rows_at_once": 5, "threads": 1,
        "seed": 0}  # fmt: skip
STAY = {"all_rows": float(N), "weight": None, "n_clusters": K, "n_active": 2, "blocks": 2, "rows_at_once": 5,
        "threads": 1}  # fmt: skip
NORMAL = {"linear": True, "bayes": True, "beta": 1.0, "m": np.zeros(W), "nu": float(W), "B": np.ones(W),
          "reg": np.zeros(W), "scale": np.ones(W), "zero": np.zeros(W)}  # fmt: skip


def zeros(*shape, dtype=np.float64):
    return np.zeros(shape, dtype)


# A call of each function that takes indices, and which of its arguments are indices.
CALLS = {
    "topics_step": (
        {**ROWS, **WORDS, "table": TABLE, "alpha": ALPHA, "options": OPTIONS, "start_indptr": DOCS[0],
         "start_topic": DOCS[1], "start_count": DOCS[2], "start_dense": None, "last_visit": None, "want_words": True,
         "threads": 1, "scratch": _core.TopicScratch()},
        ["indptr", "index", "starts", "order", "start_indptr", "start_topic"]),
    "scvb0_step": (
        {**ROWS, **WORDS, "table": TABLE, "alpha": ALPHA, "scale": 1.0, "offset": 1.0, "decay": 0.5, "burn_in": 1,
         "L": 2, "seed": 0, "pass_": 0, "threads": 1, "scratch": _core.TopicScratch(), "averages": None},
        ["indptr", "index", "starts", "order"]),
    "cvb0_step": (
        {**ROWS, **WORDS, "table": TABLE, "log_scale": SCALE, "norm": NORM, "alpha": ALPHA, "L": 2, "burn_in": 1,
         "least": 0.1, "last_topic": zeros(E, 2, dtype=np.uint16), "last_r": zeros(E, 2, dtype=np.float32),
         "threads": 1},
        ["indptr", "index", "starts", "order", "last_topic"]),
    "sample_step": (
        {"tokens": SHARD.word_order, "value": SHARD.value, **WORDS, "table": TABLE, "log_scale": SCALE, "norm": NORM,
         "least": 0.1, "alpha": ALPHA, "given": None, "seed": 0, "sweep": 0, "first": 0, "threads": 1,
         "z": zeros(TOKENS, dtype=np.uint16)},
        ["starts", "order", "z"]),
    "assign_categorical": (
        {**ROWS, "Elogphi": TABLE, "offset": SCALE, "Elogpi": ALPHA, "L": 2, "threads": 1}, ["indptr", "index"]),
    "sum_rows_by_word": (
        {**WORDS, "row": SHARD.row_of, "value": SHARD.value, "cluster": zeros(N, 2, dtype=np.int32),
         "r": zeros(N, 2, dtype=np.float32), "weight": None, "K": K, "threads": 1},
        ["starts", "order", "row", "cluster"]),
    "AsynchronousTopics": (
        {**ROWS, "bounds": np.array([0, N]), "block_starts": np.array([0, W]), "words": np.arange(W, dtype=np.int32),
         "n_active": 2, "rest": "mean", "counts": TABLE.astype(np.float64), "alpha": ALPHA.astype(np.float64),
         "eta": np.ones((1, 1)), "opening": 1, "settle": 1, "seed": 0},
        ["indptr", "index", "bounds", "block_starts", "words"]),
    "NomadicTopics": (
        {**ROWS, "bounds": np.array([0, N]), "block_starts": np.array([0, W]), "words": np.arange(W, dtype=np.int32),
         "n_words": W, "n_topics": K, "n_active": 2, "rest": "mean"},
        ["indptr", "index", "bounds", "block_starts", "words"]),
    "AsynchronousCategorical": (
        {"bayes": True, "eta": np.ones(W), "weight_prior": 1.0, **ROWS, **DEAL},
        ["indptr", "index", "bounds", "cluster"]),
    "NomadicCategorical": (
        {"bayes": True, "eta": np.ones(W), "weight_prior": 1.0, **ROWS, **STAY}, ["indptr", "index"]),
    "AsynchronousSparseGaussian": (
        {**NORMAL, "weight_prior": 1.0, **WIDE_ROWS, **DEAL}, ["indptr", "index", "bounds", "cluster"]),
    "NomadicSparseGaussian": ({**NORMAL, "weight_prior": 1.0, **WIDE_ROWS, **STAY}, ["indptr", "index"]),
    "TokenRows": ({**ROWS, "n_words": W}, ["indptr", "index"]),
    "WordOrder": (
        {"tokens": _core.TokenRows(**ROWS, n_words=W), "bounds": np.array([0, N]), "threads": 1}, ["bounds"]),
    "gibbs_sample": (
        {"order": SHARD.word_order, "block": 0, "alpha": ALPHA, "eta": np.full((1, 1), 0.1),
         "eta_totals": np.ones(K), "seed": 0, "sweep": 0, "threads": 1, "z": zeros(TOKENS, dtype=np.uint16),
         "word": np.full((W, K), TOKENS, np.int32), "total": np.full(K, W * TOKENS)},
        ["z"]),
    "localise": ({"index": SHARD.index, "n_words": W}, ["index"]),
    "add_word_stats": (
        {"cols": np.arange(N, dtype=np.int32), "indptr": DOCS[0], "topic": DOCS[1], "value": DOCS[2], "weight": 1.0,
         "threads": 1, "total": zeros(N, K)},
        ["cols", "indptr", "topic"]),
    "tidy_rows": (
        {**ROWS, "remap": None, "n_words": W, "first_row": 0, "threads": 1, "out_indptr": SHARD.indptr.copy(),
         "out_index": SHARD.index.copy(), "out_value": SHARD.value.copy()},
        ["indptr", "index"]),
}  # fmt: skip
BAD = {"indptr": [2**40, -1], "starts": [2**40, -1], "start_indptr": [2**40, -1], "bounds": [2**40, -1]}
CASES = [(name, argument) for name, (_, arguments) in CALLS.items() for argument in arguments]


@pytest.mark.parametrize("name", CALLS)
def test_the_calls_are_valid(name):
    getattr(_core, name)(**CALLS[name][0])


@pytest.mark.parametrize(("name", "argument"), CASES)
def test_bad_indices_are_refused(name, argument):
    given = CALLS[name][0]
    array = given[argument]
    numbers = [2**15] if array.dtype == np.uint16 else [2**30, -1] if array.dtype == np.int32 else [2**40, -1]
    for number in numbers:
        for at in {0, array.size // 2, array.size - 1}:
            hurt = array.copy()
            hurt.reshape(-1)[at] = number
            with pytest.raises((ValueError, IndexError)):
                getattr(_core, name)(**given | {argument: hurt})


def test_saved_visits_and_proportions_are_looked_at():
    """Arguments that are tuples."""
    for indptr, topic in (
        (np.append(DOCS[0][:-1], 2**40), DOCS[1]),
        (DOCS[0], DOCS[1] + K),
        (DOCS[0][::-1].copy(), DOCS[1]),
    ):
        step = CALLS["topics_step"][0] | {"last_visit": (indptr, topic, DOCS[2], SCALE, NORM, 0.1)}
        with pytest.raises(ValueError, match="the last visit"):
            _core.topics_step(**step)
        with pytest.raises(ValueError, match="of other documents"):
            _core.sample_step(**CALLS["sample_step"][0] | {"given": (indptr, topic, DOCS[2])})


def test_every_function_that_takes_rows_is_here():
    """A new kernel that takes indptr or index joins the list above, or says here why it does not."""
    reports = {"check_rows", "check_saved_rows"}  # they say what is wrong
    sparse_topics = {"gibbs_draw"}  # tokens that were checked; its topics are, as those of sample_step
    writes = {"parse_pairs"}  # indptr is its result
    takes_rows = {
        name
        for name, thing in vars(_core).items()
        if callable(thing)
        and any(f" {word}:" in f" {_signature(thing)}" for word in ("indptr", "index", "order", "ids"))
    }
    ids = {
        "group_by",
        "add_by_id",
        "all_below",
        "refine",
    }  # raise IndexError: test_accumulate.py, test_combinatorial.py
    assert takes_rows - reports - sparse_topics - writes - ids - set(CALLS) == set()
    assert "topics_step" in takes_rows
    assert "AsynchronousTopics" in takes_rows


def _signature(thing) -> str:
    called = thing.__init__ if inspect.isclass(thing) else thing
    return str(getattr(called, "__nb_signature__", "")) + (called.__doc__ or "")
