"""Clusters that are divided, and the start that grows from one cluster to K."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
import scipy.sparse as sp

from topmix import GaussianMixture
from topmix.corpus.rows import Rows
from topmix.learn.clusters import sizes
from topmix.models.gaussian_start import divided, empty, given, summary, whole

rng = np.random.default_rng(0)
KINDS = ("full", "diag", "spherical")


def one_cluster(X, **settings):
    prepared = empty(summary(Rows(X), None, settings.get("covariance_type", "full"), False), "float64", 1, **settings)
    return whole(prepared, X, None), prepared.frame.points(X)


def of_spreads(n_rows, D=6, spreads=(0.1, 1.0, 10.0)):
    """Rows about zero that differ by their spread alone, and which spread each has."""
    label = np.arange(n_rows) % len(spreads)
    return np.array(spreads)[label][:, None] * np.random.default_rng(1).normal(size=(n_rows, D)), label


def test_sizes_double_and_end_at_K():
    for K in (1, 2, 3, 7, 50, 103):
        found = sizes(K)
        assert found[0] == 1
        assert found[-1] == K
        assert all(a < b <= 2 * a for a, b in itertools.pairwise(found))


@pytest.mark.parametrize("kind", KINDS)
def test_groups_that_stand_apart_are_divided_along_an_axis(kind):
    X = rng.normal(size=(301, 3)) + np.where(np.arange(301) < 150, -8.0, 8.0)[:, None] * [1.0, 0.0, 0.5]
    model, z = one_cluster(X, covariance_type=kind)
    S = divided(model, z, None, np.zeros(301, np.int32), 2)
    means = model.update(S, S.N).mean()
    assert sorted(np.sign(means[:, 0])) == [-1.0, 1.0]
    assert np.abs(means[:, 0]).min() > 6


@pytest.mark.parametrize("kind", KINDS)
def test_rows_that_differ_by_their_spread_are_divided_into_inner_and_outer_ones(kind):
    X, _ = of_spreads(402, spreads=(0.1, 10.0))
    model, z = one_cluster(X, covariance_type=kind)
    S = divided(model, z, None, np.zeros(402, np.int32), 2)
    C = model.update(S, S.N).covariances()
    size = np.trace(C, axis1=1, axis2=2) if kind == "full" else C.reshape(2, -1).mean(axis=1)
    assert size.max() > 20 * size.min()
    np.testing.assert_allclose(S.N, [201, 201], rtol=1e-9)


def test_the_cluster_that_gains_most_is_divided_and_the_others_stay():
    label = (np.arange(203) >= 100).astype(np.int32)
    X = rng.normal(size=(203, 2)) + 20.0 * (1 - label)[:, None]
    X[150:, 0] -= 30.0  # cluster 1 is two
    prepared = empty(summary(Rows(X), None, "full", False), "float64", 2)
    model = given(prepared, np.eye(2)[label], Rows(X), None)
    S = divided(model, prepared.frame.points(X), None, label, 3)
    assert S.N.sum() == pytest.approx(203)
    share = S.N / S.N.sum()
    assert share[0] > share[1]
    assert share[0] > share[2]
    means = model.update(S, S.N).mean()
    assert means[0, 0] == pytest.approx(20, abs=2)
    assert sorted(means[1:, 0])[0] < -20


@pytest.mark.parametrize("kind", KINDS)
def test_growth_finds_spreads_that_k_means_misses(kind):
    spreads = (0.01, 0.1, 1.0, 10.0)
    X, _ = of_spreads(3_000, spreads=spreads)
    common = {"covariance_type": kind, "objective": "ml", "max_iter": 5, "tol": -1, "random_state": 0}
    split, auto, kmeans = (
        GaussianMixture(4, init_params=init, **common).fit(X).score(X) for init in ("split", "auto", "kmeans")
    )
    true = np.mean(-3 * np.log(2 * np.pi) - 6 * np.log(spreads) - 3) - np.log(4)
    assert split > true - 0.2
    assert auto >= split - 0.05
    assert kmeans < split - 0.5  # else the test says nothing


def test_growth_has_the_same_bits_for_any_number_of_threads():
    X, _ = of_spreads(2_503)
    start = {"init_params": "split", "max_iter": 0, "random_state": 3}
    one, seven = (GaussianMixture(7, n_jobs=n, **start).fit(X) for n in (1, 7))
    np.testing.assert_array_equal(one.means_, seven.means_)
    np.testing.assert_array_equal(one.covariances_, seven.covariances_)


def test_rows_without_weight_have_no_part_in_growth():
    X, _ = of_spreads(1_000)
    more, weight = np.concatenate([X, X[:50] + 1.0]), np.r_[np.full(1_000, 2.0), np.zeros(50)]
    start = {"init_params": "split", "max_iter": 0, "random_state": 3}
    plain = GaussianMixture(5, **start).fit(X, sample_weight=np.full(1_000, 2.0))
    np.testing.assert_allclose(
        GaussianMixture(5, **start).fit(more, sample_weight=weight).means_, plain.means_, atol=1e-8
    )


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("objective", ["vb", "ml"])
def test_growth_survives_odd_data(kind, objective):
    settings = {"covariance_type": kind, "objective": objective, "init_params": "split", "random_state": 0}
    for X in (rng.normal(size=(9, 4)), np.ones((30, 2)), np.repeat(rng.normal(size=(3, 2)), 10, axis=0)):
        model = GaussianMixture(8, max_iter=2, tol=-1, **settings).fit(X)
        assert np.isfinite(model.score(X))


def test_clusters_that_share_a_covariance_are_not_divided():
    with pytest.raises(ValueError, match="tied"):
        GaussianMixture(2, covariance_type="tied", init_params="split").fit(rng.normal(size=(20, 2)))


def test_no_cluster_of_a_start_is_empty():
    """More clusters than there is room for lose their rows in the passes."""
    X = sp.random_array((300, 200), density=0.1, rng=np.random.default_rng(0), format="csr").astype(np.float32)
    X.data[:] = np.random.default_rng(1).poisson(1.0, size=X.nnz) + 1
    shape = {"covariance_type": "diag", "reg_covar": 1e-2, "random_state": 0, "max_iter": 0}
    for start in ("split", "auto"):
        model = GaussianMixture(24, init_params=start, **shape).fit(X)
        assert model.model_.likelihood.total.N.min() > 0
