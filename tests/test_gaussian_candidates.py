"""Gaussian mixtures that look for each row at the neighbours of its clusters only."""

from dataclasses import replace

import numpy as np
import pytest

from topmix import GaussianMixture
from topmix.models.frame import SHAPES


@pytest.fixture(scope="module")
def many():
    """60 clusters that overlap with a few others, 6000 rows."""
    rng = np.random.default_rng(4)
    means = rng.normal(0, 3, (60, 4))
    return means[rng.integers(60, size=6000)] + rng.normal(size=(6000, 4)) * 0.7


@pytest.mark.parametrize("covariance_type", SHAPES)
def test_all_clusters_as_candidates_are_a_full_scan(many, covariance_type):
    settings = {"covariance_type": covariance_type, "max_iter": 7, "tol": -np.inf, "random_state": 0, "n_active": 3}
    plain, near = (GaussianMixture(20, candidates=c, **settings).fit(many) for c in (None, 20))
    np.testing.assert_allclose(near.means_, plain.means_, rtol=1e-6, atol=1e-8)
    assert near.elbo_ == pytest.approx(plain.elbo_, rel=1e-9)


@pytest.mark.parametrize("learner", ["memoized", "batch"])
def test_a_few_candidates_are_nearly_enough_and_never_overstate(many, learner):
    settings = {"max_iter": 12, "tol": -np.inf, "random_state": 0, "n_active": 4, "learner": learner}
    plain, near = (GaussianMixture(60, candidates=c, **settings).fit(many) for c in (None, 12))
    assert near.elbo_ == pytest.approx(plain.elbo_, rel=2e-3)
    # The bound of a full scan of the same clusters is the most that there is.
    for model in (near, GaussianMixture(60, candidates=5, **settings).fit(many)):
        full = GaussianMixture(60, warm_start=True, n_active=4, learner="batch", max_iter=1)
        full._fitted = replace(model._fitted, objective=None)
        assert model.elbo_ <= full.fit(many).elbo_ + 1e-9 * abs(model.elbo_)
    with pytest.raises(ValueError, match="candidates must be at least n_active"):
        GaussianMixture(10, candidates=3).fit(many)


def test_neighbours_of_clusters_are_looked_for_every_ten_updates(many):
    model = GaussianMixture(20, candidates=5, n_active=2, max_iter=1, random_state=0).fit(many).model_.likelihood
    assert model.near is not None  # tables of the pass that was made had some
    seen = []
    for _ in range(31):
        model = model.update(model.total, model.total.N)
        seen.append(model.tables(None).neighbours)
    changes = [i for i in range(1, 31) if seen[i] is not seen[i - 1]]
    assert len(changes) == 3
    assert np.all(np.diff(changes) == 10)
    for k in range(20):
        assert k in seen[-1][k]
