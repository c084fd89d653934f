"""The bound of Gaussian mixtures against integrals and enumeration, and the points where it is largest."""

import itertools

import numpy as np
import pytest
from scipy import integrate, stats
from scipy.special import gammaln, logsumexp

from topmix import GaussianMixture
from topmix.models.frame import SHAPES
from topmix.models.mixture import StickBreaking

SETTINGS = {"mean_precision_prior": 0.7, "degrees_of_freedom_prior": 3.0, "reg_covar": 0.0}


def log_marginal(x, zero_mean):
    """log p(x) of numbers under one cluster, precision integrated by quadrature and the mean in closed form.

    lambda ~ Gamma(nu/2, rate b/2), mu ~ N(0.3, 1 / (beta lambda)).
    """
    beta, nu, b, m0 = SETTINGS["mean_precision_prior"], SETTINGS["degrees_of_freedom_prior"], 1.9, 0.3
    n = len(x)
    if n == 0:
        return 0.0
    # Given lambda, x is jointly Gaussian around m0 with covariance (I + 1 1' / beta) / lambda.
    C = np.eye(n) if zero_mean else np.eye(n) + 1 / beta
    d = x if zero_mean else x - m0
    q, log_det = d @ np.linalg.solve(C, d), np.linalg.slogdet(C)[1]

    def density(lam):
        log_p = 0.5 * n * np.log(lam / (2 * np.pi)) - 0.5 * log_det - 0.5 * lam * q
        return np.exp(log_p + (nu / 2 - 1) * np.log(lam) - lam * b / 2 + nu / 2 * np.log(b / 2) - gammaln(nu / 2))

    return np.log(integrate.quad(density, 0, np.inf, epsabs=0, epsrel=1e-11)[0])


@pytest.mark.parametrize("zero_mean", [False, True])
@pytest.mark.parametrize("covariance_type", SHAPES)
def test_the_bound_is_the_evidence_with_one_cluster(covariance_type, zero_mean):
    x = np.array([0.1, 1.7, -0.4, 0.9, 2.2, 0.3])
    prior = 1.9 * np.ones({"full": (1, 1), "tied": (1, 1), "diag": (1,), "spherical": ()}[covariance_type])
    model = GaussianMixture(1, covariance_type=covariance_type, zero_mean=zero_mean, covariance_prior=prior,
                            mean_prior=[0.3], objective="vb", learner="batch", **SETTINGS).fit(x[:, None])  # fmt: skip
    assert model.elbo_ == pytest.approx(log_marginal(x, zero_mean), rel=1e-8)


@pytest.mark.parametrize("kind", ["dirichlet_distribution", "dirichlet_process"])
@pytest.mark.parametrize("zero_mean", [False, True])
def test_the_bound_is_below_the_evidence_and_close(zero_mean, kind):
    """Summed over all assignments of five numbers to two clusters."""
    x, alpha, values = np.array([0.1, 1.7, -0.4, 2.2, -9.0]), 0.5, []
    for z in itertools.product(range(2), repeat=len(x)):
        n = np.bincount(z, minlength=2)
        if kind == "dirichlet_distribution":
            log_z = stats.dirichlet_multinomial.logpmf(n, [alpha, alpha], len(x))
            log_z -= stats.multinomial.logpmf(n, len(x), [0.5, 0.5]) - len(x) * np.log(0.5)
        else:  # stop at the first stick, or go on and stop at the second
            log_z = sum(stats.betabinom.logpmf(k, t, 1, alpha) - stats.binom.logpmf(k, t, 0.5) + t * np.log(0.5)
                        for k, t in ((n[0], len(x)), (n[1], n[1])))  # fmt: skip
        values.append(log_z + sum(log_marginal(x[np.array(z) == k], zero_mean) for k in range(2)))
    evidence, bounds = logsumexp(values), []
    for n_active, learner, seed in itertools.product((1, 2), ("batch", "memoized"), range(2)):
        model = GaussianMixture(2, covariance_prior=[[1.9]], mean_prior=[0.3], zero_mean=zero_mean, learner=learner,
                                weight_concentration_prior=alpha, weight_concentration_prior_type=kind, tol=1e-9,
                                n_active=n_active, random_state=seed, objective="vb",
                                **SETTINGS).fit(x[:, None])  # fmt: skip
        assert all(h.objective < evidence for h in model.history_)
        bounds.append(model.elbo_)
    assert max(bounds) > evidence - np.log(2) - 1.5


def test_the_point_of_map_is_the_mode_where_parameters_are_unbounded():
    """In (log precision, whitened mean): moving any of the two lowers prior times likelihood."""
    x = np.array([0.1, 1.7, -0.4, 0.9, 2.2, 0.3])
    model = GaussianMixture(1, objective="map", covariance_prior=[[1.9]], mean_prior=[0.3], **SETTINGS).fit(x[:, None])
    beta, nu = SETTINGS["mean_precision_prior"], SETTINGS["degrees_of_freedom_prior"]

    def objective(u, t):  # mu = u / sqrt(lambda), lambda = exp(t)
        lam = np.exp(t)
        mu = u / np.sqrt(lam)
        data = stats.norm(mu, lam**-0.5).logpdf(x).sum()
        log_prior = stats.norm(0.3, (beta * lam) ** -0.5).logpdf(mu) + stats.gamma.logpdf(lam, nu / 2, scale=2 / 1.9)
        return data + log_prior + t - 0.5 * t  # d lambda / dt = lambda, d mu / du = lambda^-1/2

    lam = 1 / model.covariances_[0, 0, 0]
    at = np.array([model.means_[0, 0] * np.sqrt(lam), np.log(lam)])
    best = objective(*at)
    assert model.elbo_ == pytest.approx(best, rel=1e-9)
    for step in itertools.product((-1e-3, 0, 1e-3), repeat=2):
        # Given lambda the mode is in mu itself, so the mean is moved there.
        u, t = at + step
        assert objective(u, t) <= best + 1e-5 * np.abs(step).sum()


def test_sticks_are_at_the_maximum_of_their_bound():
    N = np.array([3.0, 0.0, 7.5, 1.2])
    for objective in ("vb", "map"):
        first = StickBreaking.uniform(0.8, 4, objective)
        best = first.update(N)
        for k, by in itertools.product(range(4), (-0.1, 0.1)):
            assert first.update(N + by * np.eye(4)[k]).bound(N) < best.bound(N)
        np.testing.assert_allclose(best.counts(), N)
    assert best.weights().sum() == pytest.approx(1)
