"""Parameters of a Gaussian mixture as its user gives them: refused with a reason, or in the form that models take."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from topmix.allocations.finite_dirichlet import FiniteDirichlet
from topmix.likelihoods.covariance import SHAPES
from topmix.likelihoods.gaussian import Gaussian
from topmix.likelihoods.gaussian_start import Summary, at, empty
from topmix.models.mixture import Mixture
from topmix.numerics.dirichlet import OBJECTIVES
from topmix.parameters.checks import one_of, positive_number


def priors(estimator: Any, D: int) -> dict[str, Any]:
    """What `gaussian_start.empty` takes."""
    kind = estimator.covariance_type
    one_of(kind, SHAPES, "covariance_type")
    one_of(estimator.objective, OBJECTIVES, "objective")
    reg = estimator.reg_covar
    if isinstance(reg, bool) or not isinstance(reg, int | float | np.number) or not 0 <= float(reg) < np.inf:
        raise ValueError(f"reg_covar must be a number that is not negative, got {reg!r}")
    mean_precision, degrees = estimator.mean_precision_prior, estimator.degrees_of_freedom_prior
    if mean_precision is not None:
        positive_number(mean_precision, "mean_precision_prior")
    if degrees is not None:
        positive_number(degrees, "degrees_of_freedom_prior", least=D - 1.0 if kind in ("full", "tied") else 0.0)
    mean, covariance = estimator.mean_prior, estimator.covariance_prior
    if mean is not None:
        mean = array(np.atleast_1d(mean), (D,), "mean_prior")
    if covariance is not None:
        shapes: dict[str, tuple[int, ...]] = {"full": (D, D), "tied": (D, D), "diag": (D,), "spherical": ()}
        covariance = positive(covariance, shapes[kind], kind in ("full", "tied"), "covariance_prior")
    return {
        "covariance_type": kind,
        "objective": estimator.objective,
        "zero_mean": bool(estimator.zero_mean),
        "mean_prior": mean,
        "mean_precision_prior": mean_precision,
        "degrees_of_freedom_prior": degrees,
        "covariance_prior": covariance,
        "reg_covar": float(reg),
    }


def responsibilities(init: object, n_rows: int, K: int, starts: Iterable[str], parameter: str) -> np.ndarray | None:
    """[N, K] where init is an array; None where it is the name of a start."""
    if isinstance(init, str):
        one_of(init, starts, parameter)
        return None
    r = np.asarray(init)
    if r.ndim == 1 and len(r) == n_rows and r.dtype.kind in "iu" and r.min() >= 0 and r.max() < K:
        return np.eye(K)[r]
    r = array(r, (n_rows, K), parameter)
    if r.min() < 0 or not np.allclose(r.sum(axis=1), 1):
        raise ValueError(f"{parameter} must be responsibilities: rows that are not negative and sum to one")
    return r


def checked_start(
    estimator: Any, K: int, D: int
) -> tuple[np.ndarray | None, np.ndarray | None, np.ndarray | None]:  # weights, means, covariances
    """What init_params gives of weights, means and covariances, the inverse of its precisions."""
    if not isinstance(estimator.init_params, dict):
        return None, None, None
    unknown = set(estimator.init_params) - {"weights", "means", "precisions"}
    if unknown:
        raise ValueError(f"init_params may have 'weights', 'means' and 'precisions', not {sorted(unknown)[0]!r}")
    weights, means, precisions = (estimator.init_params.get(name) for name in ("weights", "means", "precisions"))
    if weights is not None:
        weights = array(weights, (K,), "weights", "init_params: ")
        if weights.min() < 0 or weights.max() > 1:
            found = f"max value {weights.max():.5f}, min value {weights.min():.5f}"
            raise ValueError(f"init_params: The parameter 'weights' should be in the range [0, 1], but got {found}")
        if not np.isclose(weights.sum(), 1):
            found = f"sum(weights) = {weights.sum():.5f}"
            raise ValueError(f"init_params: The parameter 'weights' should be normalized, but got {found}")
    if means is not None:
        if estimator.zero_mean:
            raise ValueError("init_params: 'means' do not go with zero_mean=True")
        means = array(means, (K, D), "means", "init_params: ")
    if precisions is None:
        return weights, means, None
    kind, is_matrix = estimator.covariance_type, estimator.covariance_type in ("full", "tied")
    precisions = positive(precisions, _shapes(K, D)[kind], is_matrix, f"{kind} precision", "init_params: ")
    return weights, means, np.linalg.inv(precisions) if is_matrix else 1.0 / precisions


def by_hand(covariance_type: str, weights: object, means: object, precisions_cholesky: object) -> Mixture:
    """The mixture that has these parameters, in scikit-learn's shapes."""
    one_of(covariance_type, SHAPES, "covariance_type")
    means = np.asarray(means, dtype=np.float64)
    if means.ndim != 2:
        raise ValueError(f"means_ must be an array of (n_components, n_features), got one of {means.shape}")
    K, D = means.shape
    weights = array(weights, (K,), "weights_")
    if weights.min() < 0 or not np.isclose(weights.sum(), 1):
        raise ValueError("weights_ must not be negative and must sum to one")
    is_matrix = covariance_type in ("full", "tied")
    C = array(precisions_cholesky, _shapes(K, D)[covariance_type], "precisions_cholesky_")
    covariances = np.linalg.inv(C @ np.swapaxes(C, -1, -2)) if is_matrix else 1.0 / np.square(C)
    mean = weights @ means
    each = covariances[:, None] if covariance_type == "spherical" else covariances
    within, apart = np.broadcast_to(each, (K, D, D) if is_matrix else (K, D)), means - mean
    between = np.einsum("ki,kj->kij", apart, apart) if is_matrix else apart**2
    data = Summary(1.0, mean, np.tensordot(weights, within + between, axes=1))
    prior = empty(data, "float64", K, covariance_type=covariance_type, objective="ml", reg_covar=0.0)
    allocation = FiniteDirichlet.uniform(1.0, K, "ml").update(weights)
    return Mixture(allocation, at(prior, weights, means, covariances), D, K)


def n_parameters(g: Gaussian, K: int) -> int:
    """Numbers that are free."""
    D = g.shape.D
    covariances = {"full": K * D * (D + 1) // 2, "tied": D * (D + 1) // 2, "diag": K * D, "spherical": K}
    return K - 1 + (0 if g.zero_mean else K * D) + covariances[g.covariance_type]


def _shapes(K: int, D: int) -> dict[str, tuple[int, ...]]:
    """Of scikit-learn's precisions."""
    return {"full": (K, D, D), "tied": (D, D), "diag": (K, D), "spherical": (K,)}


def array(value: object, shape: tuple[int, ...], parameter: str, where: str = "") -> np.ndarray:
    """Finite numbers of this shape. Errors are in scikit-learn's words, which people match on."""
    try:
        a = np.asarray(value, dtype=np.float64)
    except (TypeError, ValueError):
        raise ValueError(f"{where}The parameter '{parameter}' should be numbers of the shape {shape}") from None
    if a.shape != shape:
        raise ValueError(f"{where}The parameter '{parameter}' should have the shape of {shape}, but got {a.shape}")
    if not np.all(np.isfinite(a)):
        raise ValueError(f"{where}The parameter '{parameter}' has entries that are not finite")
    return a


def positive(value: object, shape: tuple[int, ...], is_matrix: bool, parameter: str, where: str = "") -> np.ndarray:
    """Symmetric positive definite matrices, or positive numbers."""
    a = array(value, shape, parameter, where)
    if not is_matrix and a.min() > 0:
        return a
    if is_matrix and np.allclose(a, np.swapaxes(a, -1, -2)) and np.linalg.eigvalsh(a).min() > 0:
        return a
    wanted = "symmetric, positive-definite" if is_matrix else "positive"
    raise ValueError(f"{where}The parameter '{parameter}' should be {wanted}")
