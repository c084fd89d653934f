"""Facts about parameters of mixtures."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from topmix.models.mixture import StickBreaking
from topmix.models.stick_prior import StickPrior

from .facts import ADMIXTURES, MIXTURES, ROWS, differ, fact, found, same


@fact("n_active", *MIXTURES, *ADMIXTURES)
def a_row_keeps_so_many_clusters(fit):
    for L in (1, 3):
        assert np.count_nonzero(fit(n_active=L).predict_proba(fit.data), axis=1).max() <= L
    assert fit(n_active=None).predict_proba(fit.data, sparse_output=True).nnz == 4 * len(fit.data)


@fact("objective", "GaussianMixture", "MultinomialMixture", "GaussianAdmixture")
def objectives_differ(fit):
    vb, at_mode, ml = (fit(objective=name, max_iter=30) for name in ("vb", "map", "ml"))
    assert vb.elbo_ < ml.elbo_  # the evidence is smaller than the largest likelihood
    assert ml.lower_bound_ == pytest.approx(ml.elbo_ / len(fit.data))
    assert vb.lower_bound_ == vb.elbo_
    assert differ(vb, at_mode)


@fact("weight_concentration_prior", *MIXTURES)
def a_strong_prior_evens_weights_out(fit):
    np.testing.assert_allclose(fit(weight_concentration_prior=1e9).weights_, 0.25, rtol=1e-5)
    assert np.ptp(fit(weight_concentration_prior=1e-3).weights_) > 0.01


@fact("weight_concentration_prior", *ADMIXTURES)
def a_strong_prior_evens_groups_out(fit):
    parts = ROWS[:50], ROWS[50:]
    for prior, most in ((1e9, 1e-5), (1e-3, 1.0)):
        shares = fit(data=parts, weight_concentration_prior=prior).transform(parts)
        assert np.abs(shares - 0.25).max() < most
    assert np.abs(shares - 0.25).max() > 0.01
    learned = fit(data=parts).weight_concentration_prior_
    assert np.ptp(learned) > 0


@fact("weight_concentration_prior_type", "GaussianMixture", "MultinomialMixture")
def weights_may_be_sticks(fit):
    sticks = fit(weight_concentration_prior_type="dirichlet_process")
    assert isinstance(sticks.model_.allocation, StickBreaking)
    assert not np.array_equal(sticks.weights_, fit().weights_)


@fact("weight_concentration_prior_type", "GaussianAdmixture", "VonMisesFisherAdmixture")
def groups_may_have_sticks(fit):
    sticks = fit(weight_concentration_prior_type="dirichlet_process")
    assert isinstance(sticks.model_.prior, StickPrior)
    assert not isinstance(fit().model_.prior, StickPrior)


@fact("covariance_type", "GaussianMixture", "GaussianAdmixture")
def covariances_have_a_shape(fit):
    shapes = {"full": (4, 3, 3), "tied": (3, 3), "diag": (4, 3), "spherical": (4,)}
    assert {kind: fit(covariance_type=kind).covariances_.shape for kind in shapes} == shapes


@fact("zero_mean", "GaussianMixture", "GaussianAdmixture")
def means_may_be_zero(fit):
    assert np.all(fit(zero_mean=True).means_ == 0)
    np.testing.assert_allclose(fit(zero_mean=True, n_components=1, objective="ml").covariances_[0], ROWS.T @ ROWS / 300)


@fact("candidates", "GaussianMixture")
def neighbours_are_named(fit):
    settings = {"n_components": 8, "n_active": 2}
    near = fit(candidates=3, **settings)
    assert near.model_.likelihood.tables(None).neighbours.shape == (8, 3)
    assert fit(**settings).model_.likelihood.tables(None).neighbours.shape == (8, 0)
    assert differ(near, fit(**settings))


@fact("mean_prior", "GaussianMixture", "GaussianAdmixture")
def means_go_where_they_are_expected(fit):
    model = fit(mean_prior=[7.0, 8.0, 9.0], mean_precision_prior=1e9)
    np.testing.assert_allclose(model.means_, [[7.0, 8.0, 9.0]] * 4, atol=1e-3)


@fact("mean_precision_prior", "GaussianMixture", "GaussianAdmixture")
def rows_that_the_expected_mean_is_worth(fit):
    model = fit(mean_precision_prior=5.0)
    np.testing.assert_allclose(model.mean_precision_.sum(), 300 + 4 * 5.0)
    np.testing.assert_allclose(fit(mean_precision_prior=1e9).means_, [ROWS.mean(axis=0)] * 4, atol=1e-3)


@fact("degrees_of_freedom_prior", "GaussianMixture", "GaussianAdmixture")
def rows_that_the_expected_covariance_is_worth(fit):
    assert fit(degrees_of_freedom_prior=7.0).degrees_of_freedom_.sum() == pytest.approx(300 + 4 * 7.0)
    assert fit(objective="vb").degrees_of_freedom_.sum() == pytest.approx(300 + 4 * 3)


@fact("covariance_prior", "GaussianMixture", "GaussianAdmixture")
def covariances_go_where_they_are_expected(fit):
    model = fit(covariance_prior=1e9 * np.diag([1.0, 2.0, 3.0]), degrees_of_freedom_prior=1e9)
    np.testing.assert_allclose(model.covariances_, [np.diag([1.0, 2.0, 3.0])] * 4, atol=1e-3)


@fact("reg_covar", "GaussianMixture", "GaussianAdmixture")
def variances_are_raised(fit):
    plain, raised = (fit(n_components=1, objective="ml", reg_covar=reg).covariances_[0] for reg in (0.0, 2.0))
    np.testing.assert_allclose(raised - plain, 2 * np.eye(3), atol=1e-6)


@fact("init_params", "GaussianMixture", "GaussianAdmixture")
def clusters_start_where_they_are_told_to(fit):
    begin = {"max_iter": 0, "objective": "ml"}
    names = ("auto", "split", "k-means++", "kmeans", "random", "random_from_data")
    starts = {name: fit(init_params=name, **begin) for name in names}
    assert np.ptp(starts["random"].means_, axis=0).max() < 3  # random responsibilities: all near the mean
    assert all(np.ptp(starts[name].means_, axis=0).max() > 3 for name in names if name != "random")
    labels = np.arange(300) % 4
    by_label, by_share = (fit(init_params=init, **begin) for init in (labels, np.eye(4)[labels]))
    np.testing.assert_allclose(by_label.means_, [ROWS[labels == k].mean(axis=0) for k in range(4)])
    assert same(by_label, by_share)
    given = {"weights": [0.1, 0.2, 0.3, 0.4], "means": ROWS[:4], "precisions": np.array([np.eye(3) / 2] * 4)}
    made = fit(init_params=given, **begin)
    np.testing.assert_allclose(made.weights_, given["weights"])
    np.testing.assert_allclose(made.means_, given["means"])
    np.testing.assert_allclose(made.precisions_, given["precisions"], atol=1e-12)


# Directions


@fact("concentration_type", "VonMisesFisherMixture", "VonMisesFisherAdmixture")
def clusters_may_be_equally_wide(fit):
    assert np.ptp(fit(concentration_type="tied").concentrations_) == 0 < np.ptp(fit().concentrations_)


@fact("objective", "VonMisesFisherMixture", "VonMisesFisherAdmixture")
def the_likelihood_alone_has_no_prior(fit):
    at_mode, ml = fit(objective="map"), fit(objective="ml")
    assert ml.lower_bound_ == pytest.approx(ml.elbo_ / len(ROWS))
    assert same(fit(objective="ml", prior_rows=100.0), ml)
    assert differ(at_mode, ml)
    with pytest.raises(ValueError, match="objective"):
        fit(objective="vb")


@fact("prior_rows", "VonMisesFisherMixture", "VonMisesFisherAdmixture")
def pseudo_rows_hold_concentrations_together(fit):
    few, many = (np.ptp(fit(prior_rows=rows).concentrations_) for rows in (1.0, 1e6))
    assert many < 0.01 * few


@fact("max_concentration", "VonMisesFisherMixture", "VonMisesFisherAdmixture")
def concentrations_have_a_limit(fit):
    assert fit(max_concentration=7.0).concentrations_.max() == pytest.approx(7.0)
    assert fit().concentrations_.max() > 8


@fact("normalize", "VonMisesFisherMixture", "VonMisesFisherAdmixture")
def rows_of_other_lengths_are_refused(fit):
    unit = ROWS / np.linalg.norm(ROWS, axis=1, keepdims=True)
    np.testing.assert_allclose(found(fit(data=unit, normalize=False)), found(fit()), rtol=1e-6)
    with pytest.raises(ValueError, match="normalize"):
        fit(normalize=False)


@fact("init", "VonMisesFisherMixture", "VonMisesFisherAdmixture")
def directions_start_where_they_are_told_to(fit):
    starts = {name: fit(init=name, max_iter=0) for name in ("auto", "k-means++", "random_from_data")}
    assert any(same(starts["auto"], starts[name]) for name in ("k-means++", "random_from_data"))
    labels = np.arange(300) % 4
    by_label, by_share = (fit(init=init, max_iter=0) for init in (labels, np.eye(4)[labels]))
    unit = ROWS / np.linalg.norm(ROWS, axis=1, keepdims=True)
    sums = np.array([unit[labels == k].sum(axis=0) for k in range(4)])
    np.testing.assert_allclose(by_label.mean_directions_, sums / np.linalg.norm(sums, axis=1, keepdims=True))
    assert same(by_label, by_share)
    with pytest.raises(ValueError, match="init"):
        fit(init={"means": ROWS[:4]})


# Counts


@fact("init", "MultinomialMixture")
def clusters_of_counts_start_where_they_are_told_to(fit):
    starts = [fit(init=name, max_iter=0) for name in ("auto", "k-means++", "random", "documents")]
    assert all(differ(a, b) for a, b in itertools.combinations(starts, 2))
    X, labels = fit.data, np.arange(len(fit.data)) % 4
    by_label, by_share = (fit(init=init, max_iter=0) for init in (labels, np.eye(4)[labels]))
    np.testing.assert_allclose(by_label.components_, [X[labels == k].sum(axis=0) + 0.3 for k in range(4)], rtol=1e-6)
    assert same(by_label, by_share)
    with pytest.raises(ValueError, match="init"):
        fit(init="magic")
