"""Memoized learning with momentum: fewer passes to the same place, exact totals, and nothing where it is 0."""

import numpy as np
import pytest

from topmix import LDA, GaussianMixture, MultinomialMixture, VonMisesFisherMixture
from topmix.learners import Memoized
from topmix.models.momentum import KEPT, step_of
from topmix.models.statistics import MixtureStats

SETTINGS = {"random_state": 0, "n_jobs": 1, "tol": -np.inf}


@pytest.fixture(scope="module")
def overlapping():
    """Clusters near each other, which EM tells apart slowly."""
    rng = np.random.default_rng(0)
    spread, means = rng.uniform(0.5, 1.5, (6, 8)), 0.5 * rng.normal(size=(6, 8))
    return np.concatenate([rng.normal(m, s, (1500, 8)) for m, s in zip(means, spread)]).astype(np.float32)


def fitted(X, passes, momentum, **settings):
    learner = Memoized(momentum=momentum)
    return GaussianMixture(6, learner=learner, max_iter=passes, **SETTINGS | settings).fit(X)


def test_passes_are_fewer(overlapping):
    """Ratios were 0.46 to 0.71 when this was written. The median, because one start may end elsewhere."""
    ratios = []
    for seed in range(3):
        plain = fitted(overlapping, 24, 0.0, random_state=seed).history_
        faster = fitted(overlapping, 24, 2.0, random_state=seed).history_
        needed = (r.n_pass for r in faster if r.objective >= plain[-1].objective)
        ratios.append(next(needed, 2 * len(plain)) / len(plain))
    assert np.median(ratios) <= 0.8, ratios


@pytest.mark.parametrize("kind", ["full", "diag", "spherical", "tied"])
@pytest.mark.parametrize("objective", ["vb", "ml"])
def test_the_end_of_a_pass_is_exact(overlapping, kind, objective):
    """Nothing of what was added is left: totals are sums over rows, and the model is their update."""
    model = fitted(overlapping, 6, 3.0, covariance_type=kind, objective=objective)
    total = model.model_.likelihood.total
    assert total.N.sum() == pytest.approx(len(overlapping), rel=1e-6)
    z = model.model_.likelihood.frame.points(overlapping.astype(np.float64))
    np.testing.assert_allclose(total.first.sum(axis=0), z.sum(axis=0), atol=1e-3 * len(z))


def test_one_more_pass_without_it_does_not_fall(overlapping):
    model = fitted(overlapping, 8, 2.0)
    before = model.elbo_
    model.set_params(warm_start=True, learner="batch", max_iter=1).fit(overlapping)
    assert model.elbo_ > before - 1e-6 * abs(before)


def test_zero_is_the_default(overlapping):
    a, b = fitted(overlapping, 4, 0.0), GaussianMixture(6, max_iter=4, **SETTINGS).fit(overlapping)
    np.testing.assert_array_equal(a.means_, b.means_)


@pytest.mark.parametrize("kind", ["full", "diag", "spherical", "tied"])
def test_clusters_keep_a_scatter(overlapping, kind):
    """A change that would take all of a cluster is cut down to what it bears."""
    likelihood = fitted(overlapping, 2, 0.0, covariance_type=kind).model_.likelihood
    S = likelihood.total
    assert_bears_a_step(likelihood, MixtureStats(S, S.N.copy(), 0.0, 0.0))


def assert_bears_a_step(likelihood, now):
    change = now.copy().scale(-0.5)
    step = step_of(likelihood, now, change, 4.0)
    factor = step.N / change.N
    assert (factor > 0).all()
    assert (factor < 4).all()
    then = now.copy().add(step)
    assert (then.N >= KEPT * now.N).all()
    likelihood.update(then.S, then.N)


def test_directions_have_it_too_and_keep_a_scatter(overlapping):
    """The cosines of a cluster may not come too close to one either."""
    plain, faster = (
        VonMisesFisherMixture(6, learner=Memoized(momentum=m), max_iter=12, tol=-np.inf, random_state=0).fit(
            overlapping
        )
        for m in (0.0, 4.0)
    )
    assert faster.elbo_ > plain.elbo_
    likelihood = plain.model_.likelihood
    now = MixtureStats(likelihood.total.copy(), likelihood.N.copy(), 0.0, 0.0)
    assert_bears_a_step(likelihood, now)
    tighter = MixtureStats(likelihood.total.copy().scale(0.0), -0.1 * now.N, 0.0, 0.0)  # the same sums of fewer rows
    then = now.copy().add(step_of(likelihood, now, tighter, 10.0))
    assert (np.linalg.norm(then.S.resultant, axis=1) < then.N).all()


@pytest.mark.parametrize("bad", [-1.0, 11.0, float("nan"), "much"])
def test_bad_values_are_refused(overlapping, bad):
    with pytest.raises(ValueError, match="momentum"):
        fitted(overlapping, 2, bad)


@pytest.mark.parametrize("estimator", [LDA, MultinomialMixture])
def test_others_refuse_it(estimator):
    X = np.random.default_rng(0).integers(0, 3, (30, 12))
    with pytest.raises(ValueError, match="momentum=2"):
        estimator(2, learner=Memoized(momentum=2.0), random_state=0).fit(X)
