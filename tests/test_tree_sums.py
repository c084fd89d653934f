"""Sums in a tree: the same shape for everybody, and the sums of word statistics."""

import numpy as np
import pytest
from hypothesis import given, strategies as st

from topmix.models.frame import GaussianStats
from topmix.models.statistics import MixtureStats, TopicStats, tree_sum
from topmix.models.words import WordStats


def written(n):
    return tree_sum(map(str, range(n)), lambda a, b: f"({a}+{b})")


def test_the_shape_depends_on_the_number_of_parts_alone():
    assert written(1) == "0"
    assert written(2) == "(0+1)"
    assert written(3) == "((0+1)+2)"
    assert written(6) == "(((0+1)+(2+3))+(4+5))"
    assert written(7) == "(((0+1)+(2+3))+((4+5)+6))"
    with pytest.raises(ValueError, match="nothing"):
        written(0)


def test_few_sums_wait_at_a_time():
    made, alive, most = 0, 0, 0

    def parts():
        nonlocal made, alive, most
        for made in range(1, 1001):  # noqa: B007
            alive += 1
            most = max(most, alive)
            yield 1

    def plus(a, b):
        nonlocal alive
        alive -= 1
        return a + b

    assert tree_sum(parts(), plus) == made == 1000
    assert most <= 11


def words(rng, V=40, K=7, share=0.3):
    dense = np.where(rng.random((V, K)) < share, rng.gamma(1.0, 1.0, (V, K)), 0).astype(np.float32)
    cols = np.flatnonzero(dense.any(axis=1)).astype(np.int32)
    rows = dense[cols]
    indptr = np.concatenate([[0], np.cumsum((rows > 0).sum(axis=1))]).astype(np.int64)
    stats = WordStats(
        cols, indptr, np.nonzero(rows)[1].astype(np.uint16), rows[rows > 0], rows.sum(axis=0, dtype=np.float64)
    )
    return stats, dense


@given(st.integers(0, 2**32 - 1), st.sampled_from([0.0, 0.02, 0.5, 1.0]))
def test_word_statistics_add_as_float32_rows(seed, share):
    rng = np.random.default_rng(seed)
    (a, x), (b, y) = words(rng, share=share), words(rng)
    before = [f.copy() for f in (a.cols, a.indptr, a.topic, a.value, a.totals)]
    c = a + b
    np.testing.assert_array_equal(c.to_dense(40), x + y)  # float32 + float32
    np.testing.assert_array_equal(c.totals, a.totals + b.totals)
    assert [f.dtype for f in (c.cols, c.indptr, c.topic, c.value)] == [np.int32, np.int64, np.uint16, np.float32]
    for row in range(len(c.cols)):
        assert np.all(np.diff(c.topic[c.indptr[row] : c.indptr[row + 1]].astype(int)) > 0)
    for f, was in zip((a.cols, a.indptr, a.topic, a.value, a.totals), before):
        np.testing.assert_array_equal(f, was)


def test_statistics_of_every_kind_add_as_new_values():
    rng = np.random.default_rng(0)
    (a, x), (b, y) = words(rng), words(rng)
    one = TopicStats(a, 1.0, 2.0, 3.0, 4.0, np.ones(7), np.zeros(0))
    two = TopicStats(b, 10.0, 20.0, 30.0, 40.0, np.full(7, 2.0), np.zeros(0))
    both = one + two
    assert (both.D, both.H, both.G, both.A, both.T.tolist(), len(both.M)) == (11, 22, 33, 44, [3.0] * 7, 0)
    np.testing.assert_array_equal(both.S.to_dense(40), x + y)
    assert (one.D, one.T.tolist()) == (1.0, [1.0] * 7)
    moments = [GaussianStats(*(np.full(n, float(i)) for n in (3, (3, 2), (3, 3)))) for i in (1, 2)]
    clusters = [MixtureStats(S, np.ones(3), 1.0, 5.0) for S in moments]
    sums = tree_sum(clusters)
    assert (sums.S.first.tolist(), sums.N.tolist(), sums.H, sums.n_rows) == ([[3.0] * 2] * 3, [2.0] * 3, 2.0, 10.0)
    assert moments[0].first[0, 0] == 1.0
