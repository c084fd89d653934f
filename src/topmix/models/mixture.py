"""Models: an allocation (how often clusters are used) times a likelihood (what they say of a row)."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, NamedTuple, Protocol, Self

import numpy as np

from topmix.stats import MixtureStats


class Allocation(Protocol):
    """q(pi). `update` and `bound` see the expected number of rows in each cluster."""

    def log_weights(self) -> np.ndarray: ...
    def weights(self) -> np.ndarray: ...
    def counts(self) -> np.ndarray: ...
    def update(self, N: np.ndarray) -> Self: ...
    def bound(self, N: np.ndarray) -> float: ...


class Likelihood(Protocol):
    """q(phi). The static half runs wherever a Worker runs and sees tables only; the rest stays with the learner."""

    @property
    def total(self) -> Any: ...

    def tables(self, cols: np.ndarray) -> Any: ...
    def update(self, total: Any) -> Self: ...
    def bound(self, total: Any) -> float: ...
    def mean(self) -> np.ndarray: ...
    def zeros(self, n_features: int, K: int, threads: int) -> Any: ...

    @staticmethod
    def assign(shard: Any, tables: Any, log_weights: np.ndarray, L: int, threads: int) -> Any: ...
    @staticmethod
    def summarise(shard: Any, assignment: Any, K: int, threads: int) -> Any: ...


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

    def no_stats(self, threads: int = 1) -> MixtureStats:
        """The empty total that shards are added to."""
        K = self.n_components
        return MixtureStats(self.likelihood.zeros(self.n_features, K, threads), np.zeros(K), 0.0, 0.0)

    def as_stats(self) -> MixtureStats:
        """Statistics that this model would be the update of, for a learner to start from."""
        return MixtureStats(self.likelihood.total, self.allocation.counts(), 0.0, 0.0)

    def update(self, total: MixtureStats) -> Mixture:
        """Global step."""
        return replace(self, allocation=self.allocation.update(total.N), likelihood=self.likelihood.update(total.S))

    def bound(self, total: MixtureStats) -> dict[str, float]:
        """The evidence lower bound, term by term. Linear in the statistics, so exact for any learner's total."""
        return {
            "data": self.likelihood.bound(total.S),
            "entropy": total.H,
            "allocation": self.allocation.bound(total.N),
        }
