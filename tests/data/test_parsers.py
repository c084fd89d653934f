"""The native parsers against their slow twins, on lines that are mostly right."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from topmix import _core
from topmix.reference import readers

blank = st.sampled_from([" ", " ", " ", "  ", "\t", " \r", ""])
number = st.one_of(
    st.integers(0, 12).map(str),
    st.floats(0, 1e6, width=32).map(str),
    st.sampled_from(["", "x", "-1", "+2", "+-2", "1e3", "1e40", "nan", "inf", "0x1", ".5", "5.", "1:2", "#", "9" * 19]),
)


def text_of(lines):
    return ("".join(line + "\n" for line in lines)).encode()


def outcome(run):
    try:
        return run(), None
    except ValueError as error:
        return None, str(error).split(":")[0]


triple = st.tuples(blank, number, blank, number, blank, number, blank).map("".join)
good_triple = st.tuples(st.integers(1, 5), st.integers(1, 9), st.integers(1, 99)).map(lambda t: f"{t[0]} {t[1]} {t[2]}")


@settings(max_examples=500)
@given(st.lists(st.one_of(good_triple, good_triple, triple), max_size=6), st.booleans(), st.booleans())
def test_triples(lines, has_value, whole):
    text = text_of(lines)

    def native():
        n = len(text) // 4 + 1
        doc, word, value = np.empty(n, np.int64), np.empty(n, np.int32), np.empty(n, np.float32)
        line, n = _core.parse_triples(np.frombuffer(text, np.uint8), 1, 5, 9, has_value, whole, doc, word, value)
        assert line == len(lines) + 1
        return list(zip(doc[:n].tolist(), word[:n].tolist(), value[:n].tolist()))

    assert outcome(native) == outcome(lambda: readers.parse_triples(text, 5, 9, has_value=has_value, whole=whole))


pair = st.tuples(number, st.sampled_from([":", ":", ":", "", " "]), number).map("".join)
good_pair = st.tuples(st.integers(0, 9), st.integers(1, 99)).map(lambda t: f"{t[0]}:{t[1]}")
opening = st.one_of(st.integers(0, 3).map(str), st.sampled_from(["-1.5", "x", "", "qid:3", "#"]))
words = st.lists(st.one_of(good_pair, good_pair, good_pair, pair, st.sampled_from(["qid:1", "#c"])), max_size=3)
pair_line = st.tuples(opening, words).map(lambda t: " ".join([t[0], *t[1]]))


@settings(max_examples=500)
@given(st.lists(pair_line, max_size=5), st.booleans(), st.integers(0, 1))
def test_pairs(lines, counted, first_id):
    text = text_of(lines)

    def native():
        n, m = len(text) // 2 + 1, len(text) // 4 + 1
        indptr, label = np.empty(n + 1, np.int64), np.empty(n)
        word, value = np.empty(m, np.int32), np.empty(m, np.float32)
        line, n, i = _core.parse_pairs(
            np.frombuffer(text, np.uint8), 1, counted, first_id, 9, indptr, label, word, value
        )
        assert line == len(lines) + 1
        assert indptr[n] == i
        pairs = list(zip(word[:i].tolist(), value[:i].tolist()))
        return label[:n].tolist(), [pairs[a:b] for a, b in pairwise(indptr[: n + 1])]

    assert outcome(native) == outcome(lambda: readers.parse_pairs(text, counted=counted, first_id=first_id, last_id=9))


def test_arrays_that_are_too_short_are_refused():
    text = np.frombuffer(b"1 1 1\n" * 10, np.uint8)
    doc, word, value = np.empty(3, np.int64), np.empty(3, np.int32), np.empty(3, np.float32)
    with pytest.raises(ValueError, match="too short"):
        _core.parse_triples(text, 1, 5, 9, True, True, doc, word, value)
    with pytest.raises(ValueError, match="end with a newline"):
        _core.parse_triples(text[:2], 1, 5, 9, True, True, doc, word, value)
