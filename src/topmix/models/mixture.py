"""Mixtures: an allocation (how often clusters are used) times a likelihood (what they say of a row)."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, NamedTuple, Protocol, Self

import numpy as np

from topmix.files.writer import Writer
from topmix.stats import MixtureStats


class Allocation(Protocol):
    """q(pi). `update` and `bound` receive N, the expected number of rows in each cluster."""

    def log_weights(self) -> np.ndarray: ...
    def weights(self) -> np.ndarray: ...
    def counts(self) -> np.ndarray: ...
    def update(self, N: np.ndarray) -> Self: ...
    def bound(self, N: np.ndarray) -> float: ...
    def write(self, out: Writer) -> None: ...


class Likelihood(Protocol):
    """q(phi). The static half runs where a worker runs and sees tables only; the rest runs where the learner is.

    S is the likelihood's own statistic, N the expected number of rows in each cluster.
    """

    @property
    def total(self) -> Any: ...

    def tables(self, cols: np.ndarray) -> Any: ...
    def update(self, S: Any, N: np.ndarray) -> Self: ...
    def bound(self, S: Any, N: np.ndarray) -> float: ...
    def mean(self) -> np.ndarray: ...
    def zeros(self, n_features: int, K: int) -> Any: ...
    def write(self, out: Writer) -> None: ...

    @staticmethod
    def assign(shard: Any, tables: Any, log_weights: np.ndarray, L: int) -> Any: ...
    @staticmethod
    def summarise(shard: Any, assignment: Any, K: int) -> Any: ...


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

    def bound(self, total: MixtureStats) -> dict[str, float]:
        """The evidence lower bound, term by term. It is linear in the statistics, so exact for any learner's total."""
        return {
            "data": self.likelihood.bound(total.S, total.N),
            "entropy": total.H,
            "allocation": self.allocation.bound(total.N),
        }

    def weights(self) -> np.ndarray:
        """[K] the expected share of each cluster."""
        return self.allocation.weights()
