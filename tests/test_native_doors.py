"""No kernel follows an index that lies outside of its arrays, whoever calls it, and whatever else is wrong.

tools/doors.py names every function and method of the native module, and says of each argument that holds whole numbers
what it is. Arguments are found by their types, so a new binding, or a new argument of an old one, fails until it is
there.
"""

from __future__ import annotations

import re
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from tools.doors import (
    CLASSES,
    DOCS,
    DOORS,
    LONG,
    N_TOKENS,
    OF_WORDS,
    SHAPES,
    SHAPES_OF_MATRICES,
    SHARD,
    TABLE,
    D,
    K,
    L,
    Made,
    N,
    W,
    attempt,
    bound,
    call,
    hostile,
    made,
    nomadic_mixture,
    options,
    sequences,
    zeros,
)  # fmt: skip
from topmix import _core

# Single numbers that nothing is looked up by. The n of all_below is a limit, not a place.
HARMLESS = {
    *("threads", "seed", "sweep", "pass_", "first", "first_row", "crc", "n"),
    *("min_length", "min_n", "max_n", "most", "rows_at_once", "least_round", *LONG),
}
LIMITS = {  # that an output was made for, or that are checked with the rows or with the topics
    ("check_rows", "n_words"), ("check_saved_rows", "n_words"),
    ("tidy_rows", "n_words"), ("DocumentOptions", "L"), ("SCVB0Options", "L"), ("TopicPlan", "n_active"),
    ("MixtureSettings", "n_clusters"),
}  # fmt: skip
# Structs that keep arrays as they are given: whoever takes one looks at them.
KEPT = {"Shard", "Start", "LastVisit", "Priors", "Responses", "CountRows", "SparseRows", "WordBlocks"}
ARRAYS = re.compile(  # also arrays of any type
    rf"dtype=u?int|ndarray\[shape|Sequence\[int\]|list\[int\]|_core_\w+\.(?:{'|'.join(KEPT)})\b"
)
NUMBER = re.compile(r"\bint\b")
BOUND = dict(bound())


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
    found.pop("self", None)
    found.pop("", None)
    return found


def test_every_bound_function_is_listed():
    assert set(BOUND) == set(DOORS)


@pytest.mark.parametrize("name", sorted(BOUND))
def test_every_argument_is_listed(name):
    door, types = DOORS[name], arguments(BOUND[name])
    others = {"threads", "crc", "vocabulary", "dense"}  # have defaults, or are of another overload
    assert set(door.given) <= set(types) <= {*door.given, *others}
    arrays = {argument for argument, kind in types.items() if ARRAYS.search(kind)} - {"dense"}
    single = {argument for argument, kind in types.items() if NUMBER.search(kind)} - arrays
    assert arrays <= {*door.indices, *door.numbers}
    assert {a for a in single - {*door.indices} if (name, a) not in LIMITS} <= HARMLESS
    assert {*door.indices, *door.numbers} <= arrays | single


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


@pytest.mark.parametrize("name", [name for name in DOORS if DOORS[name].given])
def test_whatever_is_given_there_is_an_answer_or_an_error(name):
    """Wrong types, shapes and dtypes, NaN, infinity, negative and huge numbers, nothing at all: and topics or clusters
    that are written or returned exist."""
    for argument, value in DOORS[name].given.items():
        answers = [attempt(name, {argument: wrong}) for wrong in hostile(value, argument)]
        assert not all(answers), f"{argument} may be anything"
    with pytest.raises(TypeError):
        call(name, {"another": 1})


# Arrays that no other array has to fit: an empty row, document or cluster more is none the less valid.
FREE = {
    "crc32": ("data",), "all_below": ("ids",), "localise": ("index",), "refine": ("order",),
    "random_words": ("out",),
    **{f"TermCounter.{method}": ("ids",) for method in ("sort", "packed", "terms")},
    **{f"{kind}_rows": ("scores",) for kind in ("top_l", "select")},
    **{f"parse_{kind}": ("text", "doc", "indptr", "label", "word", "value") for kind in ("triples", "pairs")},
    **dict.fromkeys(("check_rows", "check_saved_rows", "TokenRows", "assign_categorical"), ("indptr",)),
    "GaussianRows": ("z",), "CategoricalRows": ("eta",),
    **dict.fromkeys(("log_probability_of_words", "distance_of_tokens"), ("word",)),
    **dict.fromkeys(("WordOrder", "NomadicTopics", "AsynchronousMixture"), ("bounds",)),
    "AsynchronousTopics": ("bounds", "counts"), "sum_rows_by_word": ("starts",), "assign_near": ("neighbours",),
    "assign_among": ("candidates",),
    "visit_rows": ("x", "rows"), "add_word_stats": ("total",), "to_frame": ("A",),
    "tidy_rows": ("remap", "out_index", "out_value"),
    **{name: tuple(DOORS[name].given) for name in KEPT},
}  # fmt: skip


@pytest.mark.parametrize("name", DOORS)
def test_arrays_that_do_not_fit_each_other_are_refused(name):
    for argument, value in DOORS[name].given.items():
        if not isinstance(value, np.ndarray) or argument in FREE.get(name, ()):
            continue
        for shape in (SHAPES[0], SHAPES[2], SHAPES[3], *(SHAPES_OF_MATRICES[:4] if value.ndim == 2 else ())):
            wrong = np.ascontiguousarray(shape(value.copy()))
            if wrong.shape != value.shape:
                with pytest.raises((ValueError, TypeError)):
                    call(name, {argument: wrong})


@pytest.mark.parametrize("kind", CLASSES)
def test_methods_are_called_in_any_order(kind):
    """On an object that is new, that had another call before, and again after errors."""
    for order in sequences(kind, 2):
        on = made(kind)
        for name in (*order, *order[::-1]):
            attempt(name, on=on)


def test_what_comes_before_its_time_is_refused():
    nomadic = made("NomadicTopics")
    nomadic.put(0, np.ones((W, K)), np.ones((W, K)))
    for name in ("visit", "begin_visit", "summary"):
        with pytest.raises(RuntimeError, match=r"before begin\(\)"):
            call(f"NomadicTopics.{name}", on=nomadic)
    rows = made("NomadicMixture")
    for block in range(2):
        call("NomadicMixture.put", {"block": block}, on=rows)
    for name in ("compare", "settle"):
        with pytest.raises(RuntimeError, match=r"after forget\(\)"):
            call(f"NomadicMixture.{name}", on=rows)
    rows.forget()
    for name in ("contribute", "visit", "entropy", "assignments"):
        with pytest.raises(RuntimeError, match=r"settle\(\)"):
            call(f"NomadicMixture.{name}", on=rows)
    with pytest.raises(RuntimeError, match="no cluster has a score"):
        rows.settle()
    for name in ("compare", "settle", "contribute", "visit", "entropy", "assignments"):
        call(f"NomadicMixture.{name}", on=rows)


@pytest.mark.parametrize("argument", ["compare", "contribute", "visit"])
def test_blocks_visit_once_each(argument):
    for blocks, said in (([], "no such block"), ([0, 0], "twice"), ([1, 0, 1], "twice")):
        with pytest.raises(ValueError, match=said):
            call(f"NomadicMixture.{argument}", {"blocks": blocks})
        with pytest.raises(ValueError, match=said):
            call("AsynchronousMixture.visit", {"blocks": blocks})


def test_products_before_there_is_a_blas():
    """Whatever is imported first: an error, and no call of address 0."""
    code = """
import numpy as np
from topmix import _core
z = np.ones((5, 3), np.float32)
found = np.zeros((5, 1), np.int32), np.zeros((5, 1), np.float32), np.zeros(5), np.zeros(5)
try:
    _core.assign_gaussian(z, np.ones((4, 6), np.float32), np.ones(4, np.float32), "squares", True, 1, *found)
except RuntimeError as error:
    print(error)
"""
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert ran.stdout == "no BLAS was set\n"


def test_a_blas_of_other_numbers_is_refused():
    given = DOORS["set_blas"].given
    for name, other in (("sgemm", "dgemm"), ("dgemm", "sgemm"), ("dsyrk", "ssyrk"), ("dpotrf", "dgemm")):
        with pytest.raises(ValueError, match="another interface"):
            call("set_blas", {name: given[other]})


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


@pytest.mark.parametrize("n_topics", [0, 70_000])
def test_no_topics_and_more_than_have_names_are_refused(n_topics):
    """Also where there are no tokens, so that no topic of one is wrong."""
    empty = _core.TokenRows(np.zeros(2, np.int64), np.zeros(0, np.int32), np.zeros(0, np.float32), W)
    order = _core.WordOrder(empty, np.array([0, 1]), 1)
    wide, z = -(-n_topics // _core.LANES) * _core.LANES, np.zeros(0, np.uint16)
    word, total = np.zeros((W, n_topics), np.int32), np.zeros(n_topics, np.int64)
    alpha, eta_totals = np.ones(n_topics, np.float32), np.ones(n_topics)
    etas = {"eta": np.ones((1, 1)), "eta_totals": eta_totals}
    counted = {"word": word, "total": total, "z": z, "tokens": empty}
    scratch = np.zeros((W, wide), np.float32)
    given = {"indptr": np.zeros(2, np.int64), "topic": np.zeros(0, np.uint16), "count": np.zeros(0, np.float32)}
    for name, changed in {
        "count_tokens": counted,
        "gibbs_sequential": counted | etas | {"alpha": alpha},
        "gibbs_sample": etas | {"alpha": alpha, "order": order, "word": word, "total": total, "z": z},
        "gibbs_draw": given | {"order": order, "alpha": alpha, "z": z, "e": np.ones((W, n_topics), np.float32)},
        "log_probability_of_words": etas | {"word": word, "total": total},
        "refine": counted | {"order": np.zeros(1, np.int32), "scratch": scratch, "least_round": 256},
        "refine_deltas": counted | {"out": np.zeros(n_topics), "scratch": scratch, "t": 0},
        "hard_distances": {"word": word, "total": total, "D": scratch},
        "hard_assign": {"tokens": empty, "K": n_topics, "D": scratch, "z": z},
        "topics_in_use": {"tokens": empty, "K": n_topics, "z": z},
        "document_topics": {"tokens": empty, "K": n_topics, "z": z},
        "distance_of_tokens": {"word": word, "total": total},
    }.items():
        with pytest.raises(ValueError, match="K must be from 1"):
            call(name, changed)


def test_padding_is_no_topic():
    """D is padded to whole vectors; what stands there is nearer than every topic here."""
    D = np.ones((W, _core.LANES), np.float32)
    D[:, K:] = -100.0
    for step in ("basic", "word", "place"):
        z = zeros(N_TOKENS, dtype=np.uint16)
        call("hard_assign", {"D": D, "step": step, "z": z})
        assert z.max() < K


@pytest.mark.parametrize("number", [np.nan, np.inf, -1.0])
def test_counts_that_are_none_are_refused(number):
    """Of words in documents, of topics in documents, of the prior: topics_step named topic K for them."""
    value = SHARD.value.copy()
    value[3] = number
    shard = Made(_core.Shard, (SHARD.indptr, SHARD.index, value, SHARD.starts, SHARD.order))
    for name in ("topics_step", "scvb0_step", "cvb0_step"):
        with pytest.raises(ValueError, match="counts must be finite"):
            call(name, {"shard": shard})
    for name in ("topics_step", "scvb0_step", "cvb0_step", "sample_step"):
        with pytest.raises(ValueError, match="alpha must be finite"):
            call(name, {"alpha": np.full(K, number, np.float32)})
    dense = Made(_core.Start, (np.full((N, K), number, np.float32),))
    with pytest.raises(ValueError, match="start must be finite"):
        call("topics_step", {"start": dense, "last": None})
    sparse = Made(_core.Start, ((*DOCS[:2], np.full(N, number, np.float32)),))
    with pytest.raises(ValueError, match="start does not fit"):
        call("topics_step", {"start": sparse, "last": None})
    with pytest.raises(ValueError, match="D must be finite"):
        call("hard_assign", {"D": np.full((W, _core.LANES), abs(number) * np.inf, np.float32)})


@pytest.mark.parametrize("weight", [0.0, np.nan, np.inf, -1.0])
def test_a_table_without_weights_names_topics_that_exist(weight):
    table = np.full_like(TABLE, weight)
    for how in ({}, {"select_often": True}, {"exclude": True}, {"restarts": 2, "restart_iter": 2}):
        for start in (None, DOORS["topics_step"].given["start"]):
            said = {"responses": None} if "exclude" in how else {}
            changed = {"table": table, "options": options(**how), "start": start, "last": None, **said}
            call("topics_step", changed)
    call("scvb0_step", {"table": table})
    call("cvb0_step", {"words": (table, *OF_WORDS[1:])})


def test_a_document_of_too_many_tokens_is_not_drawn():
    """Its counts would round, and a topic could not be found in its own document."""
    for value, fits in (([2.0**24], True), ([2.0**24, 1], False), ([2.0**30], False)):
        n = len(value)
        rows = _core.TokenRows(np.array([0, n]), np.arange(n, dtype=np.int32), np.array(value, np.float32), W)
        if fits:
            _core.WordOrder(rows, np.array([0, 1]), 1)
            continue
        with pytest.raises(ValueError, match="16,777,216 tokens"):
            _core.WordOrder(rows, np.array([0, 1]), 1)


def test_scratch_of_another_step_is_refused():
    scratch = _core.TopicScratch()
    call("topics_step", {"scratch": scratch})
    for wrong in (1, L + 1, 0):
        with pytest.raises(ValueError, match="another L"):
            call("merged_entropy", {"scratch": scratch, "L": wrong})
    call("topics_step", {"scratch": scratch, "start": None, "last": None})  # words have other topics than the first
    with pytest.raises(ValueError, match="more topics"):
        call("merged_entropy", {"scratch": scratch, "partner": np.zeros(1, np.int32), "lost": np.zeros(1)})


def test_a_failed_visit_leaves_no_trace_in_the_next():
    """A worker whose visit failed does not remember where its clusters were."""
    rows, width = nomadic_mixture("visit"), 1 + 3 * D
    before = rows.take(1)
    singular = np.zeros((K // 2, width))
    singular[:, 4:7] = -1e9  # second moments below zero
    for _ in range(3):
        rows.put(1, singular)
        with pytest.raises(ValueError, match="singular"):
            rows.visit([0, 1])
        rows.take(1)
        rows.put(1, before)
        rows.visit([1])
        rows.take(1)
        assert rows.assignments()[0].max() < K


def test_a_counter_that_others_ask_meanwhile():
    """Whoever waits for a count does not keep the GIL from it."""
    counter = _core.TermCounter(bytes([0] + [1] * 127), 1, True, False, [], 1, 2, None)
    documents = [" ".join(f"w{(i * j) % 5003}" for j in range(2000)) for i in range(300)]
    done = threading.Event()

    def ask() -> None:
        while not done.is_set():
            counter.document_frequency()
            counter.terms(np.arange(min(counter.n_terms, 5), dtype=np.int32))

    thread = threading.Thread(target=ask, daemon=True)
    thread.start()
    for _ in range(3):
        counter.count(documents, 2)
        time.sleep(0)
    done.set()
    thread.join(30)
    assert not thread.is_alive()
    assert counter.n_rows == 900


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
