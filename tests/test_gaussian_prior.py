"""The prior that objective "map" chooses for covariances, by leaving rows out."""

import numpy as np
import pytest
from sklearn.datasets import load_iris, load_wine

from tests.twins.gaussian import left_out
from topmix import GaussianMixture
from topmix.models.frame import Shape
from topmix.models.gaussian_start import STRENGTHS, _left_out

KINDS = ["full", "diag", "spherical"]


@pytest.mark.parametrize("zero_mean", [False, True])
@pytest.mark.parametrize("kind", KINDS)
def test_rows_are_left_out_as_by_hand(kind, zero_mean):
    rng = np.random.default_rng(0)
    y, w = rng.normal(size=(30, 4)) @ rng.normal(size=(4, 4)), rng.uniform(0.5, 2.0, 30)
    y -= 0.0 if zero_mean else w @ y / w.sum()
    root = rng.normal(size=(4, 4))
    common, scatter, shape = root @ root.T + np.eye(4), (w[:, None] * y).T @ y, Shape(kind, 4)
    as_shape = {"full": lambda M: M, "diag": np.diagonal, "spherical": np.trace}[kind]
    found = _left_out(shape, np.asarray(as_shape(common)), np.asarray(as_shape(scatter)), y, w, zero_mean)
    for n, column in zip(STRENGTHS, found.T):
        np.testing.assert_allclose(column, left_out(y, w, common, n, kind, zero_mean), rtol=1e-6, atol=1e-6)


def degrees(model):
    return model._gaussian.prior.nu


@pytest.mark.parametrize("kind", ["full", "diag"])  # a single number needs few rows
def test_few_rows_in_many_columns_share_their_covariance(kind):
    """Two clusters with the same covariance and few rows: the more rows the prior is worth, the better."""
    rng, D = np.random.default_rng(1), 12
    scale = rng.uniform(0.5, 2.0, D)
    X, test = (rng.normal(size=(n, D)) * scale + 6 * (np.arange(n) % 2)[:, None] for n in (30, 2000))
    chosen = GaussianMixture(2, covariance_type=kind, random_state=0).fit(X)
    none = GaussianMixture(2, covariance_type=kind, objective="ml", random_state=0).fit(X)
    assert degrees(chosen) > (3 if kind == "full" else 0.05)
    assert chosen.score(test) > none.score(test) + (3.0 if kind == "full" else 0.0)


def test_many_rows_need_no_prior():
    rng = np.random.default_rng(0)
    X = np.concatenate([rng.normal(size=(300, 3)) * scale + 9 * i for i, scale in enumerate((0.1, 1.0, 3.0))])
    chosen, ml = (GaussianMixture(3, objective=o, random_state=0, tol=1e-8).fit(X) for o in ("map", "ml"))
    assert degrees(chosen) < 1e-9
    assert chosen.score(X) == pytest.approx(ml.score(X), abs=1e-3)


def test_columns_with_few_values_keep_their_thin_clusters():
    """A prior would fill the gap between 0 and 1 in a column that says which cluster a row is in."""
    rng = np.random.default_rng(0)
    y = np.arange(240) % 3
    X = np.c_[rng.normal(size=(240, 4)), 5 * np.eye(3)[y]]
    fit = GaussianMixture(3, random_state=0).fit(X[:180])
    assert degrees(fit) < 1e-9
    assert fit.score(X[180:]) > 0  # a density of columns without a spread


def test_what_the_user_says_of_the_prior_is_done():
    X = load_wine().data
    given = GaussianMixture(3, degrees_of_freedom_prior=50.0, random_state=0).fit(X)
    assert degrees(given) == pytest.approx(50.0)
    B = np.diag(X.var(axis=0)) * 20
    both = GaussianMixture(3, degrees_of_freedom_prior=20.0, covariance_prior=B, random_state=0).fit(X)
    np.testing.assert_allclose(both._gaussian.frame.covariances_back(both._gaussian.prior.B), B, atol=1e-6 * B.max())


def test_all_starts_have_the_same_prior():
    """Objectives under different priors cannot be compared."""
    X = load_wine().data
    one, several = (GaussianMixture(3, n_init=n, random_state=0).fit(X) for n in (1, 4))
    assert degrees(one) == degrees(several) > 1
    assert several.objective_ >= one.objective_


@pytest.mark.parametrize("kind", [*KINDS[:2], "tied"])
@pytest.mark.parametrize(("value", "n", "unit"), [(0.0, 1, 1.0), (7.3, 1, 1e4), (1e3, 30, 1.0)])
def test_constant_columns_change_no_clusters(kind, value, n, unit):
    """They were as likely as columns with a tiny spread, and clusters seemed to gain nothing over one for all."""
    X = load_iris().data
    how = {"covariance_type": kind, "random_state": 0, "tol": 1e-6, "max_iter": 500, "reg_covar": 1e-6 * unit**2}
    fit, wider = (GaussianMixture(3, **how).fit(rows) for rows in (unit * X, np.c_[unit * X, np.full((150, n), value)]))
    assert degrees(wider) == degrees(fit)
    np.testing.assert_array_equal(wider.labels_, fit.labels_)
    np.testing.assert_allclose(wider.means_[:, :4], fit.means_, rtol=1e-9)
