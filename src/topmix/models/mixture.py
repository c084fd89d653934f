"""Mixtures: an allocation (how often clusters are used) times a likelihood (what they say of a row)."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from topmix.allocations.allocation import Allocation
from topmix.likelihoods.likelihood import Likelihood
from topmix.stats import MixtureStats


class MixtureTables(NamedTuple):
    """What a shard needs of a mixture: picklable, sized by the shard's own columns."""

    likelihood: Any
    log_weights: np.ndarray  # [K]


@dataclass(frozen=True)
class Mixture:
    """p(x_n) = sum_k pi_k F(x_n | phi_k).  docs/math.md, section 1."""

    allocation: Allocation
    likelihood: Likelihood
    n_features: int
    n_components: int

    def tables(self, cols: np.ndarray) -> MixtureTables:
        return MixtureTables(self.likelihood.tables(cols), self.allocation.log_weights())

    def no_stats(self) -> MixtureStats:
        """The empty total that shards are added to."""
        K = self.n_components
        return MixtureStats(self.likelihood.zeros(self.n_features, K), np.zeros(K), 0.0, 0.0)

    def as_stats(self) -> MixtureStats:
        """Statistics that this model would be the update of, for a learner to start from."""
        return MixtureStats(self.likelihood.total, self.allocation.counts(), 0.0, 0.0)

    def update(self, total: MixtureStats) -> Mixture:
        """Global step."""
        N = total.N
        return replace(self, allocation=self.allocation.update(N), likelihood=self.likelihood.update(total.S, N))

    @property
    def has_momentum(self) -> bool:
        """Whether `ahead` can be asked. Moments of Gaussian clusters can be carried on, if they are not on a device."""
        return hasattr(self.likelihood, "carried_on")

    def ahead(self, now: MixtureStats, before: MixtureStats, most: float) -> MixtureStats:
        """What a pass has changed, times `most`, or less for clusters that do not bear it: the next pass starts from
        the total with this added."""
        likelihood: Any = self.likelihood
        change = now.copy()
        change -= before
        S, factor = likelihood.carried_on(now.S, change.S, most)
        return MixtureStats(S, factor * change.N, 0.0, 0.0)

    def beyond(self, total: MixtureStats, step: MixtureStats, weight: float) -> Mixture:
        """The update of total + weight * step, or of `total` alone where a cluster does not bear it any more."""
        try:
            return self.update(total.copy().add(step, weight))
        except ValueError:  # a scatter that is not positive
            return self.update(total)

    def bound(self, total: MixtureStats) -> dict[str, float]:
        """The evidence lower bound, term by term. It is linear in the statistics, so exact for any learner's total."""
        return {
            "data": self.likelihood.bound(total.S, total.N),
            "entropy": total.H,
            "allocation": self.allocation.bound(total.N),
        }

    def on_host(self) -> Mixture:
        """The same without a device."""
        likelihood: Any = self.likelihood
        return replace(self, likelihood=likelihood.on_host()) if hasattr(likelihood, "on_host") else self

    def weights(self) -> np.ndarray:
        """[K] the expected share of each cluster."""
        return self.allocation.weights()
