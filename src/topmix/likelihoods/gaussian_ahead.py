"""How far the moments of Gaussian clusters can be carried on in the direction in which a pass moved them.

A cluster of rows has a scatter that is positive definite, and moments that are carried on too far have not. So each
cluster goes as far as asked, or half, or a quarter of it ..., such that it keeps a good part of its rows and of its
scatter in every direction.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from topmix.likelihoods.gaussian import Gaussian, GaussianStats

KEPT = 0.4  # of a cluster's rows, and of its scatter in any direction
HALVINGS = 5


def carried_on(
    model: Gaussian, now: GaussianStats, change: GaussianStats, most: float
) -> tuple[GaussianStats, np.ndarray]:
    """The change of each cluster, times what it bears of `most`; and those factors, [K]."""
    shape, K = model.shape, len(now.N)
    factor, floor = np.full(K, float(most)), KEPT * _scatter(model, now)
    for _ in range(HALVINGS):
        then = now.copy().add(_times(change, factor))
        too_far = then.N < KEPT * now.N
        too_far |= ~_are_positive(_scatter(model, then) - floor, shape.is_matrix)  # one for all where they are tied
        if not too_far.any():
            break
        factor[too_far] *= 0.5
        if shape.name == "tied":
            factor[:] = factor.min()
    else:
        factor[np.full(K, shape.name == "tied") | too_far] = 0.0
    return _times(change, factor), factor


def _times(S: GaussianStats, factor: np.ndarray) -> GaussianStats:
    of_second = factor if len(S.second) == len(factor) else factor[:1]
    return replace(S, N=factor * S.N, first=factor[:, None] * S.first, second=of_second[:, None] * S.second)


def _scatter(model: Gaussian, S: GaussianStats) -> np.ndarray:
    """About the clusters' means; not yet a covariance."""
    N = np.maximum(S.N, 1e-300)
    m = np.zeros_like(S.first) if model.zero_mean else S.first / N[:, None]
    return np.asarray(model.shape.unpacked(S.second) - model.shape.outer(N, m, m))


def _are_positive(scatter: np.ndarray, is_matrix: bool) -> np.ndarray:
    """[K], or [1] where covariances are tied."""
    if not is_matrix:
        return np.asarray(scatter.reshape(len(scatter), -1).min(axis=1) >= 0)
    out = np.ones(len(scatter), bool)
    for k, M in enumerate(scatter):
        try:
            np.linalg.cholesky(M)
        except np.linalg.LinAlgError:
            out[k] = False
    return out
