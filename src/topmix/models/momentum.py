"""Momentum: a pass starts from the total plus a multiple of what the last pass changed.

Moments of Gaussian clusters can be extrapolated so, unless they are on a device. A cluster of rows has a scatter that
is positive definite, and moments that are extrapolated too far have not. So each cluster goes as far as asked, or half,
or a quarter of it ..., such that it keeps a good part of its rows and of its scatter in every direction.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from topmix.likelihoods.gaussian import Gaussian, GaussianStats
from topmix.models.mixture import Mixture
from topmix.stats import MixtureStats

KEPT = 0.4  # of a cluster's rows, and of its scatter in any direction
HALVINGS = 5


class Momentum:
    """Of the passes of one fit. Where a pass ends lower than the one before, the next begins without, and those after
    it go half as far."""

    def __init__(self, reach: float):
        self.reach = reach  # how many times what the last pass changed is added
        self._before: MixtureStats | None = None  # the total a pass ago
        self._height = -np.inf  # the objective a pass ago
        self._step: MixtureStats | None = None

    @staticmethod
    def suits(model: object) -> bool:
        return isinstance(model, Mixture) and isinstance(model.likelihood, Gaussian)

    def begin(self, model: Mixture, total: MixtureStats) -> Mixture:
        """The model at the beginning of a pass: what the last one has changed is added, as far as clusters bear it."""
        self._step = None
        if self._before is not None:
            assert isinstance(model.likelihood, Gaussian)
            change = total.copy()
            change -= self._before
            S, factor = step_of(model.likelihood, total.S, change.S, self.reach)
            self._step = MixtureStats(S, factor * change.N, 0.0, 0.0)
            model = self.update(model, total, 1.0)
        self._before = total.copy()
        return model

    def update(self, model: Mixture, total: MixtureStats, weight: float) -> Mixture:
        """The update of `total`, with so much of the step as is left of it. Of `total` alone where a cluster does not
        bear it any more."""
        if self._step is None:
            return model.update(total)
        try:
            return model.update(total.copy().add(self._step, weight))
        except ValueError:  # a scatter that is not positive
            return model.update(total)

    def end(self, model: Mixture, total: MixtureStats) -> None:
        height, self._height = self._height, sum(model.bound(total).values())
        if self._height < height:
            self._before, self.reach = None, 0.5 * self.reach


def step_of(
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
