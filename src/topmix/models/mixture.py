"""Mixtures: an allocation (how often clusters are used) times a likelihood (what they say of a row)."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from topmix.allocations.allocation import Allocation
from topmix.likelihoods.likelihood import Likelihood, OnDevice
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

    @property
    def objective(self) -> str:
        """What is climbed: "vb", "map" or "ml"."""
        return self.allocation.objective

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

    def bound(self, total: MixtureStats) -> dict[str, float]:
        """The evidence lower bound, term by term. It is linear in the statistics, so exact for any learner's total."""
        return {
            "data": self.likelihood.bound(total.S, total.N),
            "entropy": total.H,
            "allocation": self.allocation.bound(total.N),
        }

    def regrouped(self, parts: np.ndarray, *born: tuple[np.ndarray, MixtureStats]) -> Mixture:
        """Other clusters: parts [new, K] is how much they have of each. `born` has the same for clusters that are not
        in this model, with their statistics."""
        pieces = [(parts, self.as_stats()), *born]
        N: np.ndarray = sum(share @ np.maximum(stats.N, 0.0) for share, stats in pieces)
        weights = self.allocation.uniform(self.allocation.prior, len(N), self.objective).update(N)
        likelihood = self.likelihood.regrouped([(share, stats.S) for share, stats in pieces], N)
        return replace(self, allocation=weights, likelihood=likelihood, n_components=len(N))

    def on_host(self) -> Mixture:
        """The same without a device."""
        likelihood = self.likelihood
        return replace(self, likelihood=likelihood.on_host()) if isinstance(likelihood, OnDevice) else self

    def weights(self) -> np.ndarray:
        """[K] the expected share of each cluster."""
        return self.allocation.weights()
