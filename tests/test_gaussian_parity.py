"""With their settings and their start, dense batch steps are those of scikit-learn's two Gaussian mixtures."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning
from sklearn.mixture import BayesianGaussianMixture, GaussianMixture as Theirs

from topmix import GaussianMixture

K, D = 5, 4


@pytest.fixture(scope="module")
def X():
    """400 rows of overlapping clusters, far from the origin and with columns of different sizes."""
    rng = np.random.default_rng(0)
    means = rng.normal(0, 2, (K, D))
    roots = rng.normal(0, 0.6, (K, D, D)) + np.eye(D)
    z = rng.integers(K, size=400)
    return 30 + np.array([1.0, 10.0, 0.1, 3.0]) * (
        means[z] + np.einsum("nij,nj->ni", roots[z], rng.normal(size=(400, D)))
    )


@pytest.fixture(scope="module")
def start(X):
    """Responsibilities, [N, K]."""
    return np.random.default_rng(1).dirichlet(np.full(K, 0.3), len(X))


def close(a, b, to=1e-6):
    assert np.abs(np.asarray(a) - np.asarray(b)).max() <= to * np.abs(b).max()


def steps_of(model, X, n):
    """A scikit-learn mixture after 1 ... n steps."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        for _ in range(n):
            yield model.fit(X)


@pytest.mark.parametrize("reg_covar", [0.0, 1e-6, 1e-2])
@pytest.mark.parametrize("weights", ["dirichlet_distribution", "dirichlet_process"])
def test_variational_steps_are_those_of_scikit_learn(X, start, weights, reg_covar):
    class FromStart(BayesianGaussianMixture):
        def _initialize_parameters(self, X, random_state, **_):
            self._initialize(X, start)

    settings = {"weight_concentration_prior_type": weights, "reg_covar": reg_covar, "max_iter": 1}
    theirs = FromStart(n_components=K, warm_start=True, **settings)
    settings |= {"objective": "vb", "learner": "batch", "n_active": None, "init_params": start, "tol": -np.inf}
    ours = GaussianMixture(K, warm_start=True, n_jobs=1, **settings)
    bounds = []
    for b in steps_of(theirs, X, 12):
        a = ours.fit(X)
        close(a.weights_, b.weights_)
        close(a.means_, b.means_)
        close(a.covariances_, b.covariances_)
        close(a.precisions_, b.precisions_)
        close(a.precisions_cholesky_, b.precisions_cholesky_)
        close(a.mean_precision_, b.mean_precision_)
        close(a.degrees_of_freedom_, b.degrees_of_freedom_)
        close(a.predict_proba(X), b.predict_proba(X))
        close(a.score_samples(X), b.score_samples(X))
        np.testing.assert_array_equal(a.predict(X), b.predict(X))
        bounds.append((a.elbo_, b.lower_bound_))
    mine, hers = np.diff(np.array(bounds), axis=0).T
    np.testing.assert_allclose(mine, hers, rtol=1e-6, atol=1e-6 * np.abs(hers).max())


@pytest.mark.parametrize("covariance_type", ["full", "diag", "spherical", "tied"])
def test_steps_of_em_are_those_of_scikit_learn(X, start, covariance_type):
    rng = np.random.default_rng(2)
    sizes = X.std(axis=0)
    precisions = {"full": np.array([np.diag(sizes**-2.0)] * K), "tied": np.diag(sizes**-2.0),
                  "diag": np.array([sizes**-2.0] * K), "spherical": np.full(K, sizes.mean() ** -2.0)}  # fmt: skip
    settings = {"covariance_type": covariance_type, "max_iter": 1}
    begin = {
        "weights": np.full(K, 1 / K),
        "means": X[rng.choice(len(X), K, replace=False)],
        "precisions": precisions[covariance_type],
    }
    given = {f"{name}_init": value for name, value in begin.items()}
    theirs = Theirs(n_components=K, warm_start=True, **settings, **given)
    ours = GaussianMixture(
        K, objective="ml", learner="batch", n_active=None, warm_start=True, n_jobs=1, tol=-np.inf, init_params=begin,
        **settings,
    )  # fmt: skip
    scores = []
    for b in steps_of(theirs, X, 12):
        scores.append((ours.score(X) if scores else b.lower_bound_, b.lower_bound_))  # theirs is of the step before
        a = ours.fit(X)
        for name in ("weights_", "means_", "covariances_", "precisions_", "precisions_cholesky_"):
            close(getattr(a, name), getattr(b, name))
        close(a.score_samples(X), b.score_samples(X))
        assert a.bic(X) == pytest.approx(b.bic(X), rel=1e-6)
        assert a.aic(X) == pytest.approx(b.aic(X), rel=1e-6)
    mine, hers = np.diff(np.array(scores), axis=0).T
    np.testing.assert_allclose(mine, hers, rtol=1e-6, atol=1e-6 * np.abs(hers).max())


def test_float32_steps_stay_near(X, start):
    fits = []
    for data in (X, X.astype(np.float32)):
        model = GaussianMixture(K, learner="batch", n_active=None, init_params=start, max_iter=5, tol=-np.inf)
        fits.append(model.fit(data))
    close(fits[1].means_, fits[0].means_, 1e-4)
    close(fits[1].covariances_, fits[0].covariances_, 1e-3)
    assert fits[1].elbo_ == pytest.approx(fits[0].elbo_, rel=1e-5)
