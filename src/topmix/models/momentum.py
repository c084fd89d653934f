"""Momentum: a pass starts from the total plus a multiple of what the last pass changed.

Moments of Gaussian clusters and sums of directions can be extrapolated so, unless they are on a device. A cluster of
rows has a scatter that is positive definite, and moments that are extrapolated too far have not. So each cluster goes
as far as asked, or half, or a quarter of it ..., such that it keeps a good part of its rows and of its scatter in
every direction. The scatter of directions is N - |sum of rows|.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from topmix.base.fields import CheckedReader, Writer
from topmix.models.mixture import Mixture
from topmix.models.model import Likelihood
from topmix.models.statistics import MixtureStats

KEPT = 0.4  # of a cluster's rows, and of its scatter in any direction
HALVINGS = 5


@dataclass
class Momentum:
    """Of the passes of one fit. Where a pass ends lower than the one before, the next begins without, and those after
    it go half as far."""

    reach: float  # how many times what the last pass changed is added
    _before: MixtureStats | None = None  # the total a pass ago
    _height: float = -np.inf  # the objective a pass ago
    _step: MixtureStats | None = None

    @staticmethod
    def suits(model: object) -> bool:
        return isinstance(model, Mixture) and model.likelihood.has_scatter

    def begin(self, model: Mixture, total: MixtureStats) -> Mixture:
        """The model at the beginning of a pass: what the last one has changed is added, as far as clusters bear it."""
        self._step = None
        if self._before is not None:
            change = total.copy()
            change -= self._before
            self._step = step_of(model.likelihood, total, change, self.reach)
            model = self.update(model, total, 1.0)
        self._before = total.copy()
        return model

    def update(self, model: Mixture, total: MixtureStats, weight: float) -> Mixture:
        """The update of `total`, with what is left of the step where all clusters still bear it."""
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

    def write(self, out: Writer) -> None:
        out.value("reach", float(self.reach))
        out.value("height", float(self._height))
        if self._before is not None:
            self._before.write(out.at("before"))

    @classmethod
    def read(cls, file: CheckedReader, likelihood: Likelihood, K: int) -> Momentum:
        at, before = file.at("before"), None
        if at.has("N"):
            before = MixtureStats.read(at, S=likelihood.read_sums(at.at("S"), K), K=K)
        return cls(file.number("reach", 0.0), before, file.number("height"))


def step_of(clusters: Likelihood, now: MixtureStats, change: MixtureStats, most: float) -> MixtureStats:
    """The change of each cluster, times what it bears of `most`."""
    K, scatter = len(now.N), clusters.scatter(now.S, now.N)
    is_tied = len(scatter) < K
    factor, floor = np.full(K, float(most)), KEPT * scatter
    for _ in range(HALVINGS):
        then = now.copy().add(_times(change, factor))
        too_far = then.N < KEPT * now.N
        too_far |= ~_are_positive(clusters.scatter(then.S, then.N) - floor)  # one for all where they are tied
        if not too_far.any():
            break
        factor[too_far] *= 0.5
        if is_tied:
            factor[:] = factor.min()
    else:
        factor[np.full(K, is_tied) | too_far] = 0.0
    return _times(change, factor)


def _times(stats: MixtureStats, factor: np.ndarray) -> MixtureStats:
    """Without the entropy and the number of rows."""
    return MixtureStats(stats.S.times(factor), factor * stats.N, 0.0, 0.0)


def _are_positive(scatter: np.ndarray) -> np.ndarray:
    """[K], or [1] where covariances are tied."""
    if scatter.ndim < 3:
        return np.asarray(scatter.reshape(len(scatter), -1).min(axis=1) >= 0)
    out = np.ones(len(scatter), bool)
    for k, M in enumerate(scatter):
        try:
            np.linalg.cholesky(M)
        except np.linalg.LinAlgError:
            out[k] = False
    return out
