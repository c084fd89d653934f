"""Tables of topics, topics by row and sums for the bound against SciPy; counts beside a prior."""

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.special import digamma, gammaln, xlogy

from tests.twins.topics import topic_bound as reference_bound, word_prior
from topmix.models.statistics import PseudoCounts

from .topic_data import POSTERIORS


def table_of(core, posterior, counts, eta, factor=1.0, threads=1):
    V, K = counts.shape
    prior = np.broadcast_to(eta, (V, K))
    norm = counts.sum(axis=0) + prior.sum(axis=0)
    table, log_scale = np.empty((V, K), np.float32), np.empty(V)
    cols = np.arange(V, dtype=np.int32)
    core.topic_table(posterior, counts / factor, factor, eta, None, None, norm, cols, threads, table, log_scale)
    lam = counts + prior
    want = np.log(lam / norm) if posterior == "collapsed" else digamma(lam) - digamma(norm)
    return table, log_scale, want


@pytest.mark.parametrize("posterior", POSTERIORS)
@pytest.mark.parametrize("shape", [(1, 1), (1, 9), (130, 1), (130, 9)])
@pytest.mark.parametrize("scale", [1.0, 1e-3, 1e-6])
def test_tables_equal_scipy_and_never_vanish(core, posterior, shape, scale):
    rng = np.random.default_rng(18)
    counts = np.where(rng.random((130, 9)) < 0.5, 0.0, rng.gamma(0.5, 20, (130, 9)))
    counts[5] = 0  # a word that no topic has
    eta = scale * rng.uniform(0.5, 2, shape)
    table, log_scale, want = table_of(core, posterior, counts, eta)
    np.testing.assert_allclose(log_scale, want.max(axis=1), rtol=1e-9)
    assert np.all(np.isfinite(table))
    assert np.all(table > 0)
    np.testing.assert_array_equal(table.max(axis=1), 1)
    log_table = np.maximum(want - want.max(axis=1, keepdims=True), np.log(1e-30))
    np.testing.assert_allclose(np.log(table.astype(np.float64)), log_table, atol=3e-5)


@pytest.mark.parametrize("shape", [(1, 1), (1, 9), (700, 1), (700, 9)])
def test_sums_for_the_bound_equal_scipy_for_any_number_of_threads(core, shape):
    rng = np.random.default_rng(20)
    counts = np.where(rng.random((700, 9)) < 0.5, 0.0, rng.gamma(0.5, 200, (700, 9)))
    counts[3, 4] = -1e-12  # what subtraction leaves behind
    eta = rng.uniform(0.001, 2, shape)
    x = np.maximum(counts, 0) + eta
    for posterior, want in (("collapsed", xlogy(x, x).sum()), ("variational", gammaln(x).sum())):
        norms = np.empty((3, 9))
        got = [
            core.topic_bound(posterior, counts / 0.7, 0.7, eta, None, threads, norm)
            for threads, norm in zip((1, 2, 5), norms)
        ]
        assert got[0] == pytest.approx(want, rel=1e-11)
        assert len(set(got)) == 1
        np.testing.assert_allclose(norms, np.tile(x.sum(axis=0), (3, 1)), rtol=1e-12)
        np.testing.assert_array_equal(norms, norms[[0, 0, 0]])


@pytest.mark.parametrize("posterior", POSTERIORS)
def test_tables_of_some_words_are_rows_of_all(core, posterior):
    rng = np.random.default_rng(19)
    counts, eta = rng.gamma(0.3, 5, (200, 7)), np.full((1, 1), 0.1)
    for factor, threads in [(1.0, 1), (0.25, 2), (0.25, 7)]:
        table, log_scale, _ = table_of(core, posterior, counts, eta, factor, threads)
        cols = np.sort(rng.choice(200, 77, replace=False)).astype(np.int32)
        part, part_scale = np.empty((77, 7), np.float32), np.empty(77)
        norm = counts.sum(axis=0) + 200 * 0.1
        core.topic_table(posterior, counts / factor, factor, eta, None, None, norm, cols, 3, part, part_scale)
        np.testing.assert_array_equal(part, table[cols])
        np.testing.assert_array_equal(part_scale, log_scale[cols])


@pytest.mark.parametrize("posterior", POSTERIORS)
def test_a_seed_beside_the_counts_is_a_seed_among_them(core, posterior):
    rng = np.random.default_rng(21)
    V, K, weight = 150, 11, 0.3
    counts, eta = rng.gamma(0.3, 5, (V, K)), np.full((1, 1), 0.1)
    own = sp.random_array((K, V), density=0.1, rng=rng, format="csr")
    seed = PseudoCounts.of(rng.random(V), rng.random(K), own)
    np.testing.assert_allclose(seed.counts(), np.outer(seed.common, seed.share) + own.toarray().T)
    np.testing.assert_allclose(seed.totals, seed.counts().sum(axis=0))
    want, want_scale, _ = table_of(core, posterior, counts + weight * seed.counts(), eta)
    norm = (counts + weight * seed.counts()).sum(axis=0) + V * 0.1
    cols = np.sort(rng.choice(V, 70, replace=False)).astype(np.int32)
    got, got_scale = np.empty((70, K), np.float32), np.empty(70)
    beside = (seed.common, seed.share, seed.indptr, seed.topic, seed.value, weight)
    core.topic_table(posterior, counts, 1.0, eta, None, beside, norm, cols, 2, got, got_scale)
    np.testing.assert_allclose(got, want[cols], rtol=1e-6)
    np.testing.assert_allclose(got_scale, want_scale[cols], rtol=1e-9)
    wrong = (*beside[:3], seed.topic + np.uint16(K), *beside[4:])
    with pytest.raises(ValueError, match="not there"):
        core.topic_table(posterior, counts, 1.0, eta, None, wrong, norm, cols, 2, got, got_scale)


@pytest.mark.parametrize("shape", [(1, 1), (1, 70), (200, 1), (200, 70)])
def test_topics_by_row_are_counts_and_prior_transposed(core, shape):
    rng = np.random.default_rng(22)
    counts, eta = rng.gamma(0.3, 5, (200, 70)), rng.uniform(0.01, 1, shape)
    counts[3, 4] = -1e-12  # what subtraction leaves behind
    lam = (np.maximum(counts, 0) + eta).T
    for threads in (1, 2, 5):
        out = np.empty((70, 200))
        core.topic_rows(counts / 0.7, 0.7, eta, None, False, threads, out)
        np.testing.assert_allclose(out, lam, rtol=1e-12)
        core.topic_rows(counts / 0.7, 0.7, eta, None, True, threads, out)
        np.testing.assert_allclose(out, lam / lam.sum(axis=1, keepdims=True), rtol=1e-12)


def extra_counts(rng, V, K, density=0.05):
    """Sparse rows of a few words in a few topics: most words have none, one has all topics."""
    X = sp.random_array((V, K), density=density, rng=rng, format="csr").tolil()
    X[V // 2] = rng.random(K)
    X = sp.csr_array(X)
    X.sort_indices()
    return X.indptr.astype(np.int64), X.indices.astype(np.uint16), 7 * X.data


@pytest.mark.parametrize("posterior", POSTERIORS)
@pytest.mark.parametrize("shape", [(1, 1), (1, 37), (300, 1), (300, 37)])
def test_extra_counts_beside_eta_are_a_dense_eta(core, posterior, shape):
    rng = np.random.default_rng(23)
    V, K = 300, 37
    counts = np.where(rng.random((V, K)) < 0.8, 0.0, rng.gamma(0.5, 20, (V, K)))
    counts[3, 4] = -1e-12  # what subtraction leaves behind
    eta, extra = rng.uniform(0.001, 1, shape), extra_counts(rng, V, K)
    dense = word_prior(eta, extra, V, K)
    assert np.count_nonzero(dense != eta) == len(extra[1])
    seed = PseudoCounts.of(rng.random(V), rng.random(K), sp.random_array((K, V), density=0.1, rng=rng, format="csr"))
    none, nobody = np.empty(0), np.empty(0, np.uint16)
    beside = (seed.common, seed.share, seed.indptr, seed.topic, seed.value, 0.3)
    sparse = (none, none, *extra, 0.3)  # pseudo-counts without a common part
    cols = np.sort(rng.choice(V, 170, replace=False)).astype(np.int32)
    norm = np.maximum(counts, 0).sum(axis=0) + dense.sum(axis=0)
    for pseudo_counts in (None, beside, sparse, (none, none, np.zeros(V + 1, np.int64), nobody, none, 1.0)):
        tables = []
        for prior, more, threads in ((dense, None, 1), (eta, extra, 1), (eta, extra, 5)):
            table, log_scale = np.empty((170, K), np.float32), np.empty(170)
            core.topic_table(posterior, counts / 0.7, 0.7, prior, more, pseudo_counts, norm, cols, threads, table,
                             log_scale)  # fmt: skip
            tables.append((table, log_scale))
        for table, log_scale in tables[1:]:
            np.testing.assert_array_equal(table, tables[0][0])
            np.testing.assert_array_equal(log_scale, tables[0][1])

    for as_shares in (False, True):
        rows = []
        for prior, more, threads in ((dense, None, 1), (eta, extra, 1), (eta, extra, 5)):
            out = np.empty((K, V))
            core.topic_rows(counts / 0.7, 0.7, prior, more, as_shares, threads, out)
            rows.append(out)
        np.testing.assert_array_equal(rows[1:], [rows[0]] * 2)

    sums, norms = [], np.empty((4, K))
    for norm, (prior, more, threads) in zip(norms, ((dense, None, 1), *((eta, extra, t) for t in (1, 2, 5)))):
        sums.append(core.topic_bound(posterior, counts / 0.7, 0.7, prior, more, threads, norm))
    want, want_norm = reference_bound(posterior, counts, dense)
    assert sums == pytest.approx([want] * 4, rel=1e-12)
    assert len(set(sums[1:])) == 1
    np.testing.assert_array_equal(norms, norms[[0] * 4])
    np.testing.assert_allclose(norms[0], want_norm, rtol=1e-12)


def test_extra_counts_are_checked(core):
    V, K = 5, 3
    counts, eta, norm = np.ones((V, K)), np.full((1, 1), 0.1), np.empty(K)
    indptr, topic, value = np.array([0, 2, 2, 2, 2, 3]), np.array([0, 2, 1], np.uint16), np.ones(3)
    core.topic_bound("collapsed", counts, 1.0, eta, (indptr, topic, value), 1, norm)
    for match, wrong in (
        ("fit", (indptr[:-1], topic, value)),
        ("fit", (indptr, topic, value[:2])),
        ("end at", (indptr - 1, topic, value)),
        ("fall", (np.array([0, 2, 1, 2, 2, 3]), topic, value)),
        ("not there", (indptr, topic + np.uint16(1), value)),
        ("ascend", (indptr, np.array([2, 0, 1], np.uint16), value)),
        ("ascend", (indptr, np.array([2, 2, 1], np.uint16), value)),
        ("negative", (indptr, topic, np.array([1.0, np.nan, 1.0]))),
        ("negative", (indptr, topic, -value)),
    ):
        with pytest.raises(ValueError, match=match):
            core.topic_bound("collapsed", counts, 1.0, eta, wrong, 1, norm)
        with pytest.raises(ValueError, match=match):
            core.topic_rows(counts, 1.0, eta, wrong, False, 1, np.empty((K, V)))
