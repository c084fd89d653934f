"""Weights say how rows compare: in another unit they are the same, and a fit ends where it ended."""

import numpy as np
import pytest
from sklearn.datasets import load_iris
from sklearn.metrics import normalized_mutual_info_score as agreement

from topmix import (
    GaussianAdmixture,
    GaussianMixture,
    MultinomialMixture,
    VonMisesFisherAdmixture,
    VonMisesFisherMixture,
)

X, SPECIES = load_iris(return_X_y=True)
GROUPS = {"groups": np.repeat(np.arange(30), 5)}
MIXTURES = {
    "GaussianMixture": (GaussianMixture, {}),
    "GaussianMixture, split": (lambda K, **how: GaussianMixture(K, init_params="split", **how), {}),
    "MultinomialMixture": (MultinomialMixture, {}),
    "VonMisesFisherMixture": (VonMisesFisherMixture, {}),
    "GaussianAdmixture": (GaussianAdmixture, GROUPS),
    "VonMisesFisherAdmixture": (VonMisesFisherAdmixture, GROUPS),
}
ROWS_ALONE = [name for name, (_, groups) in MIXTURES.items() if not groups]


def fitted(name, objective, scale, K=3, tol=1e-3):
    make, groups = MIXTURES[name]
    data = np.random.default_rng(0).poisson(X) if name == "MultinomialMixture" else X
    weight = scale * (1.0 + np.arange(len(X)) % 3)  # 1, 2 and 3 in this unit
    return make(K, objective=objective, tol=tol, random_state=0, n_jobs=1).fit(data, **groups, sample_weight=weight)


@pytest.mark.parametrize("name", MIXTURES)
@pytest.mark.parametrize("scale", [1 / 300, 0.3, 100.0, 2.0**-8])
def test_weights_in_another_unit_are_the_same_without_a_prior(name, scale):
    """Up to the 1e-15 rows that keep empty clusters finite."""
    once, again = (fitted(name, "ml", s, K=5, tol=1e-5) for s in (1.0, scale))
    assert once.converged_
    assert again.converged_
    assert again.n_iter_ == once.n_iter_
    np.testing.assert_array_equal(again.labels_, once.labels_)
    assert again.objective_ / scale == pytest.approx(once.objective_, rel=1e-6)


@pytest.mark.parametrize("name", MIXTURES)
@pytest.mark.parametrize("objective", ["map", "ml"])
@pytest.mark.parametrize("scale", [1 / 300, 7.0])
def test_clusters_are_as_good_where_priors_say_more(name, objective, scale):
    """A prior is worth some rows, and what a group is made of is the less certain the less its rows weigh."""
    once, again = (fitted(name, objective, s) for s in (1.0, scale))
    assert again.converged_
    assert agreement(SPECIES, again.labels_) > agreement(SPECIES, once.labels_) - 0.06


@pytest.mark.parametrize("name", ROWS_ALONE)
@pytest.mark.parametrize("scale", [1 / 300, 7.0])
def test_the_tolerance_is_per_unit_of_weight(name, scale):
    tol = 1e-4
    model = fitted(name, "map", scale, K=5, tol=tol)
    gains = np.diff([record.objective for record in model.history_]) / model.n_seen_
    assert np.all(gains[:-1] >= tol)
    assert gains[-1] < tol


@pytest.mark.parametrize("scale", [1 / 150, 1e-6, 7.0])
def test_the_prior_that_the_data_chooses_is_in_the_unit_of_the_weights(scale):
    weight = np.full(len(X), 1.0)
    once, again = (GaussianMixture(20, max_iter=0, random_state=0).fit(X, sample_weight=s * weight) for s in (1, scale))
    strength = once._gaussian.prior.nu
    assert strength > 0.1
    assert again._gaussian.prior.nu == pytest.approx(scale * strength)


@pytest.mark.parametrize("covariance_type", ["full", "diag"])
@pytest.mark.parametrize("scale", [2.0, 7.0])
def test_clusters_under_a_prior_that_the_data_chose_are_the_same_in_any_unit(covariance_type, scale):
    how = {"covariance_type": covariance_type, "random_state": 0, "tol": 1e-9, "max_iter": 500}
    once, again = (GaussianMixture(3, **how).fit(X, sample_weight=np.full(len(X), s)) for s in (1.0, scale))
    assert again._gaussian.prior.nu == pytest.approx(scale * once._gaussian.prior.nu)
    np.testing.assert_array_equal(again.labels_, once.labels_)
    np.testing.assert_allclose(again.covariances_, once.covariances_, rtol=0.02, atol=1e-3)


@pytest.mark.parametrize("covariance_type", ["full", "diag", "spherical", "tied"])
def test_a_row_that_weighs_twice_is_the_row_twice_under_priors_that_are_given(covariance_type):
    B = {"full": np.eye(4), "tied": np.eye(4), "diag": np.ones(4), "spherical": 1.0}[covariance_type]
    how = {"covariance_type": covariance_type, "covariance_prior": B, "degrees_of_freedom_prior": 5.0}
    how |= {"mean_precision_prior": 3.0, "learner": "batch", "tol": -np.inf, "max_iter": 5}
    weighted = GaussianMixture(3, init_params=SPECIES, **how).fit(X, sample_weight=np.full(len(X), 2.0))
    twice = GaussianMixture(3, init_params=np.tile(SPECIES, 2), **how).fit(np.tile(X, (2, 1)))
    np.testing.assert_allclose(weighted.means_, twice.means_, rtol=1e-8)
    np.testing.assert_allclose(weighted.covariances_, twice.covariances_, rtol=1e-6, atol=1e-9)
    assert weighted.objective_ == pytest.approx(twice.objective_, rel=1e-9)


def test_rows_without_weight_are_not_enough_rows_for_having_no_prior():
    rng = np.random.default_rng(0)
    rows = np.concatenate([X, rng.normal(size=(3000, 4))])
    few = GaussianMixture(3, random_state=0).fit(rows, sample_weight=np.arange(len(rows)) < len(X))
    assert few._gaussian.prior.nu == GaussianMixture(3, random_state=0).fit(X)._gaussian.prior.nu > 0.1


def test_weights_are_finite():
    for X_, model in ((X, GaussianMixture(2)), (np.abs(X), MultinomialMixture(2))):
        for weight in (np.nan, np.inf):
            for fit in (model.fit, model.partial_fit):
                with pytest.raises(ValueError, match="sample_weight"):
                    fit(X_, sample_weight=weight)


def test_weights_are_real():
    with pytest.raises(ValueError, match="sample_weight must be real numbers"):
        GaussianMixture(2).fit(X, sample_weight=np.full(len(X), 1 + 1j))


def test_rows_with_words_may_all_have_no_weight():
    counts = np.array([[3.0, 1.0], [0.0, 0.0]])
    model = MultinomialMixture(2, random_state=0, max_iter=2).fit(counts, sample_weight=[0.0, 1.0])
    assert np.all(np.isfinite(model.components_))
