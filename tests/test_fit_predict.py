"""fit_predict of every mixture is fit, then predict."""

from __future__ import annotations

import numpy as np
import pytest

from topmix.estimators import ESTIMATORS

MIXTURES = [name for name, cls in ESTIMATORS.items() if hasattr(cls, "fit_predict")]


@pytest.fixture(scope="module")
def rows():
    """90 rows of three clusters: positive, so that mixtures of counts, vectors and directions all take them."""
    rng = np.random.default_rng(0)
    centres = np.array([[40, 1, 1, 1], [1, 40, 1, 1], [1, 1, 20, 20]])
    z = np.arange(90) % 3
    return rng.poisson(centres[z]).astype(np.float64), z


def test_there_are_mixtures():
    assert {"MultinomialMixture", "GaussianMixture"} <= set(MIXTURES)


@pytest.mark.parametrize("name", MIXTURES)
def test_fit_predict_is_fit_and_predict(name, rows):
    X, z = rows
    labels = ESTIMATORS[name](3, random_state=0, n_init=5).fit_predict(X)
    fitted = ESTIMATORS[name](3, random_state=0, n_init=5).fit(X)
    np.testing.assert_array_equal(labels, fitted.predict(X))
    np.testing.assert_array_equal(labels, fitted.predict_proba(X).argmax(axis=1))
    pairs = set(zip(labels.tolist(), z.tolist()))
    assert len(pairs) == 3  # each cluster is one of the true clusters


@pytest.mark.parametrize("name", MIXTURES)
def test_fit_predict_takes_weights(name, rows):
    X, z = rows
    weight = np.where(z == 2, 3.0, 1.0)
    estimator = ESTIMATORS[name](3, random_state=0, n_init=5)
    labels = estimator.fit_predict(X, sample_weight=weight)
    np.testing.assert_array_equal(labels, estimator.predict(X))
    assert estimator.weights_[labels[z == 2][0]] == pytest.approx(0.6, abs=0.05)  # 90 of 150, not 30 of 90
