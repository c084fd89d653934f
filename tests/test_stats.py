"""The algebra of statistics, on which every learner stands."""

import pickle
from dataclasses import dataclass

import numpy as np
import pytest
import scipy.sparse as sp

from topmix.base.threads import use_threads
from topmix.models.document_prior import DocumentPrior
from topmix.models.statistics import Additive, MixtureStats, PseudoCounts
from topmix.models.words import WordStats, WordTotal

V, K = 150, 11


def word_stats(rng, n_words=60, density=0.3) -> WordStats:
    cols = np.sort(rng.choice(V, n_words, replace=False)).astype(np.int32)
    dense = np.where(rng.random((n_words, K)) < density, rng.gamma(1.0, 2.0, (n_words, K)), 0).astype(np.float32)
    indptr = np.concatenate([[0], np.cumsum((dense > 0).sum(axis=1))])
    topic = np.nonzero(dense)[1].astype(np.uint16)
    return WordStats(cols, indptr, topic, dense[dense > 0], dense.sum(axis=0, dtype=np.float64))


def dense(s: WordStats) -> np.ndarray:
    out = np.zeros((V, K))
    out[np.repeat(s.cols, np.diff(s.indptr)), s.topic] = s.value
    return out


def consistent(total: WordTotal) -> None:
    np.testing.assert_allclose(total.totals, total.counts().sum(axis=0), rtol=1e-9, atol=1e-9)


@pytest.fixture
def rng():
    return np.random.default_rng(0)


@dataclass
class Pair(Additive):
    x: np.ndarray
    y: float


@dataclass
class Nest(Additive):
    a: Pair
    b: float


def test_nested_statistics_add_subtract_and_scale():
    one, two = Nest(Pair(np.array([1.0, 2.0]), 3.0), 4.0), Nest(Pair(np.array([10.0, 20.0]), 30.0), 40.0)
    for got, want in [(one.copy().add(two), [11, 22, 33, 44]), (two.copy().scale(0.5), [5, 10, 15, 20]),
                      (one.copy().add(two, -0.1), [0, 0, 0, 0])]:  # fmt: skip
        np.testing.assert_allclose([*got.a.x, got.a.y, got.b], want)
    np.testing.assert_array_equal([*one.a.x, one.a.y, one.b], [1, 2, 3, 4])  # copies leave the statistics alone
    kept = one
    kept += two
    kept -= two
    assert kept is one


@pytest.mark.parametrize("threads", [1, 2, 7])
def test_a_total_is_the_sum_of_what_was_added(rng, threads):
    total, want = WordTotal.zeros(V, K), np.zeros((V, K))
    for weight in (1.0, 1.0, -0.5, 3.0):
        s = word_stats(rng)
        with use_threads(threads):
            total.add(s, weight)
        want += weight * dense(s)
    np.testing.assert_allclose(total.counts(), want, rtol=1e-12, atol=1e-12)
    consistent(total)


def test_first_out_then_in_is_exact(rng):
    """What one shard gave can be taken away without a trace: memoized with one shard is batch."""
    s = word_stats(rng)
    total = WordTotal.zeros(V, K).add(s).add(s, -1.0)
    assert not total.raw.any()
    assert not total.totals.any()


def test_scaling_is_one_number_until_it_leaves_the_range(rng):
    s = word_stats(rng)
    total = WordTotal.zeros(V, K).add(s)
    raw = total.raw.copy()
    total.scale(0.25)
    np.testing.assert_array_equal(total.raw, raw)
    np.testing.assert_allclose(total.counts(), 0.25 * dense(s))
    np.testing.assert_allclose(total.rows(np.array([1, 0])), 0.25 * dense(s)[[1, 0]])
    for _ in range(300):  # (1 - rho) many times over, with something new each time
        total.scale(0.1).add(s, 0.9)
        assert 1e-101 < abs(total.factor) < 1e101
    np.testing.assert_allclose(total.counts(), dense(s), rtol=1e-9)
    consistent(total)
    total.scale(0.0)
    total.add(s)
    np.testing.assert_allclose(total.counts(), dense(s))  # rho = 1 forgets everything


def test_totals_with_other_factors_add(rng):
    a, b = word_stats(rng), word_stats(rng)
    one, two = WordTotal.zeros(V, K).add(a).scale(0.5), WordTotal.zeros(V, K).add(b).scale(4.0)
    np.testing.assert_allclose(one.add(two, 0.5).counts(), 0.5 * dense(a) + 2 * dense(b), rtol=1e-12)
    np.testing.assert_allclose(two.counts(), 4 * dense(b), rtol=1e-12)
    consistent(one)


def test_new_words_start_at_zero(rng):
    s = word_stats(rng)
    total = WordTotal.zeros(V, K).add(s).scale(0.5).grow(V + 9)
    assert total.counts().shape == (V + 9, K)
    np.testing.assert_array_equal(total.counts()[V:], 0)
    np.testing.assert_allclose(total.counts()[:V], 0.5 * dense(s))
    last = WordStats(np.array([V + 8], np.int32), np.array([0, 1]), np.array([3], np.uint16), np.ones(1, np.float32),
                     np.eye(K)[3])  # fmt: skip
    assert total.add(last).counts()[V + 8, 3] == pytest.approx(1)


def test_word_statistics_as_a_matrix(rng):
    s = word_stats(rng)
    np.testing.assert_array_equal(s.to_dense(V), dense(s))
    assert (s.topic.itemsize, s.value.itemsize) == (2, 4)
    again = pickle.loads(pickle.dumps(s))
    np.testing.assert_array_equal(dense(again), dense(s))


@pytest.mark.parametrize("L", [1, 3, K])
@pytest.mark.parametrize(("n_rows", "n_words"), [(3, 40), (200, 40), (1, 1)])
def test_a_memo_is_never_larger_than_it_must(core, rng, n_rows, n_words, L):
    """At most min(entries x L, words x K) pairs, in a sparse row a word with ascending topics."""
    X = rng.random((n_rows, n_words)) < 0.5
    row, col = np.nonzero(X)
    order = np.argsort(col, kind="stable").astype(np.int32)
    starts = np.concatenate([[0], np.cumsum(X.sum(axis=0))]).astype(np.int64)
    cluster = np.sort([rng.choice(K, L, replace=False) for _ in range(n_rows)]).astype(np.int32)
    r = rng.dirichlet(np.ones(L), n_rows).astype(np.float32)
    value = rng.integers(1, 5, len(row)).astype(np.float32)
    args = (starts, order, row.astype(np.int32), value, cluster, r, None, K)
    indptr, topic, got, totals = core.sum_rows_by_word(*args, 1)
    assert len(topic) <= min(len(row) * L, n_words * K)
    for v in range(n_words):
        assert np.all(np.diff(topic[indptr[v] : indptr[v + 1]].astype(int)) > 0)
    want, R = np.zeros((n_words, K)), np.zeros((n_rows, K))
    np.put_along_axis(R, cluster, r.astype(np.float64), axis=1)
    np.add.at(want, col, value[:, None] * R[row])
    S = np.zeros((n_words, K))
    S[np.repeat(np.arange(n_words), np.diff(indptr)), topic] = got
    np.testing.assert_allclose(S, want, rtol=1e-6, atol=1e-7)
    np.testing.assert_allclose(totals, want.sum(axis=0), rtol=1e-6, atol=1e-6)


def test_a_total_of_counts_keeps_them(rng):
    counts = rng.gamma(1.0, 1.0, (V, K))
    total = WordTotal.of(counts)
    assert total.raw is counts
    assert total.factor == 1.0
    consistent(total)


def pseudo_counts(rng) -> PseudoCounts:
    return PseudoCounts.of(rng.random(V), rng.random(K), sp.random_array((K, V), density=0.1, rng=rng, format="csr"))


def test_pseudo_counts_stay_beside_the_counts_and_leave_no_trace(rng):
    """Adding them and taking them away in parts changes no bit of what was there."""
    s, pseudo = word_stats(rng), pseudo_counts(rng)
    total = WordTotal.zeros(V, K).add(s)
    raw, totals = total.raw.copy(), total.totals.copy()
    total.add(pseudo)
    assert (total.pseudo, total.pseudo_weight) == (pseudo, 1.0)
    for left in (0.75, 0.5, 0.25):
        total.add(pseudo, -0.25)
        assert total.pseudo_weight == left
    total.add(pseudo, -0.25)
    assert total.pseudo is None
    np.testing.assert_array_equal(total.raw, raw)
    np.testing.assert_array_equal(total.totals, totals)
    with pytest.raises(ValueError, match="one set of pseudo-counts at a time"):
        total.add(pseudo).add(pseudo_counts(rng))


def test_only_pseudo_counts_can_be_removed_to_the_bit(rng):
    prior = DocumentPrior(np.ones(K), "collapsed")
    assert prior.no_stats(pseudo_counts(rng)).is_removable
    assert not prior.no_stats(WordTotal.zeros(V, K)).is_removable
    assert not MixtureStats(WordTotal.zeros(V, K), np.zeros(K), 0.0, 0.0).is_removable


def test_totals_have_the_same_bits_for_any_number_of_threads(core, rng):
    """Of enough entries that kernels split them: 2^16 in a chunk."""
    n_words, n_topics = 3000, 97
    found = []
    for threads in (1, 2, 7):
        again, total = np.random.default_rng(1), np.zeros((n_words, n_topics))
        for weight in (1.0, 0.3):
            dense_ = np.where(again.random((n_words, n_topics)) < 0.4, again.random((n_words, n_topics)), 0)
            indptr = np.concatenate([[0], np.cumsum((dense_ > 0).sum(axis=1))])
            topic, value = np.nonzero(dense_)[1].astype(np.uint16), dense_[dense_ > 0].astype(np.float32)
            assert len(value) > 1 << 16
            core.add_word_stats(np.arange(n_words, dtype=np.int32), indptr, topic, value, weight, threads, total)
        core.add_scaled(again.random(n_words * n_topics), 0.7, threads, total.ravel())
        found.append(total)
    np.testing.assert_array_equal(found[0], found[1])
    np.testing.assert_array_equal(found[0], found[2])


def test_bad_statistics_are_refused(core, rng):
    s = word_stats(rng)
    total = np.zeros((V, K))
    with pytest.raises(ValueError, match="disagree"):
        core.add_word_stats(s.cols[1:], s.indptr, s.topic, s.value, 1.0, 1, total)
    with pytest.raises(ValueError, match="word lies outside"):
        core.add_word_stats(s.cols + V, s.indptr, s.topic, s.value, 1.0, 1, total)
    with pytest.raises(ValueError, match="topic lies outside"):
        core.add_word_stats(s.cols, s.indptr, s.topic + K, s.value, 1.0, 1, total)
    assert not total.any()


def test_a_mixture_total_takes_the_statistics_of_shards(rng):
    total = MixtureStats(WordTotal.zeros(V, K), np.zeros(K), 0.0, 0.0)
    parts = [MixtureStats(word_stats(rng), rng.random(K), rng.random(), 5.0) for _ in range(3)]
    for part in parts:
        total += part
    total -= parts[1]
    np.testing.assert_allclose(total.S.counts(), dense(parts[0].S) + dense(parts[2].S), atol=1e-12)
    np.testing.assert_allclose(total.N, parts[0].N + parts[2].N)
    assert pytest.approx(parts[0].H + parts[2].H) == total.H
    assert total.n_rows == 10


def test_traces_are_dropped_and_totals_follow():
    total = WordTotal.of(np.array([[4.0, 1e-5], [2e-6, 8.0], [0.0, 3e-6]]))
    total.scale(0.25)
    total.drop_traces()
    np.testing.assert_array_equal(total.counts(), [[1.0, 0.25e-5], [0.0, 2.0], [0.0, 0.0]])
    np.testing.assert_allclose(total.totals, total.counts().sum(axis=0), rtol=1e-15)
