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


@pytest.mark.parametrize("name", ROWS_ALONE)
@pytest.mark.parametrize("scale", [1 / 300, 7.0])
def test_weights_in_another_unit_are_the_same(name, scale):
    once, again = (fitted(name, "ml", s, K=5, tol=1e-5) for s in (1.0, scale))
    assert once.converged_
    assert again.converged_
    assert abs(again.n_iter_ - once.n_iter_) <= 1
    np.testing.assert_array_equal(again.labels_, once.labels_)


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


def test_weights_are_finite():
    for X_, model in ((X, GaussianMixture(2)), (np.abs(X), MultinomialMixture(2))):
        for weight in (np.nan, np.inf):
            for fit in (model.fit, model.partial_fit):
                with pytest.raises(ValueError, match="sample_weight"):
                    fit(X_, sample_weight=weight)
