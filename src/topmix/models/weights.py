"""Finite mixture weights: pi ~ Dir(alpha/K, ..., alpha/K).  docs/math.md Eqs. (1.1), (1.8)."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Annotated

import numpy as np

from topmix.base import dirichlet
from topmix.base.checks import SMALLEST
from topmix.models.stored import Numbers, Stored, number


@dataclass(frozen=True)
class FiniteDirichlet(Stored):
    """q(pi) = Dir(gamma), or a point in its place. Immutable: `update` returns the next one."""

    prior: Annotated[float, number(SMALLEST)]  # alpha / K, on each weight
    gamma: Annotated[np.ndarray, Numbers("K", low=SMALLEST)]
    objective: str = "vb"

    @classmethod
    def uniform(cls, prior: float, K: int, objective: str = "vb") -> FiniteDirichlet:
        prior = dirichlet.NEGLIGIBLE if objective == "ml" else prior
        return cls(prior, np.full(K, prior + 1.0), objective)

    def log_weights(self) -> np.ndarray:
        """E[log pi_k], the K-vector that kernels see."""
        return dirichlet.expected_log(self.gamma, objective=self.objective)

    def weights(self) -> np.ndarray:
        return self.gamma / self.gamma.sum()

    def counts(self) -> np.ndarray:
        """[K] rows in each cluster, as q(pi) has them."""
        return self.gamma - self.prior

    def update(self, N: np.ndarray) -> FiniteDirichlet:
        """Conjugate update.  Eq. (1.8)."""
        if self.objective == "ml":  # rounding may leave negative counts, and here no prior makes up for them
            N = np.maximum(N, 0.0)
        return replace(self, gamma=self.prior + N)

    def bound(self, N: np.ndarray) -> float:
        """E[log p(z | pi)] - KL(q(pi) || p(pi)), or the same term at a point.  Eqs. (0.3), (0.5)."""
        return dirichlet.bound(N, np.full_like(self.gamma, self.prior), self.gamma, self.objective)


# Weights of a truncated Dirichlet process, by breaking a stick.  docs/math.md Eqs. (1.11)-(1.13).
#
#     v_k ~ Beta(1, alpha),   pi_k = v_k (1 - v_1) ... (1 - v_{k-1}),   k = 1 ... K
#
# As in scikit-learn the last piece is broken too, so a little of the stick, (1 - v_1) ... (1 - v_K), is left over.


@dataclass(frozen=True)
class StickBreaking(Stored):
    """q(v_k) = Beta(sticks_0k, sticks_1k), or points in their place. Immutable."""

    prior: Annotated[float, number(SMALLEST)]  # alpha
    # pseudo-counts of the rows that stop at cluster k, and of those that continue
    sticks: Annotated[np.ndarray, Numbers(2, "K", low=SMALLEST)]
    objective: str = "vb"

    @classmethod
    def uniform(cls, prior: float, K: int, objective: str = "vb") -> StickBreaking:
        return cls(prior, np.zeros((2, K)), objective).update(np.ones(K))

    def _prior(self) -> np.ndarray:  # [2, K]
        return np.broadcast_to(np.array([[1.0], [self.prior]]), self.sticks.shape)

    def log_weights(self) -> np.ndarray:
        """E[log pi_k] = E[log v_k] + sum of E[log(1 - v_j)], j < k.  Eq. (1.12)."""
        log_stop, log_go = dirichlet.expected_log(self.sticks, objective=self.objective)
        return log_stop + np.concatenate([[0.0], np.cumsum(log_go)[:-1]])

    def weights(self) -> np.ndarray:
        """E[pi], scaled to sum to one, as scikit-learn reports it."""
        stop, go = self.sticks / self.sticks.sum(axis=0)
        pi = stop * np.concatenate([[1.0], np.cumprod(go)[:-1]])
        return pi / pi.sum()

    def counts(self) -> np.ndarray:
        return self.sticks[0] - 1.0

    def update(self, N: np.ndarray) -> StickBreaking:
        """Conjugate update.  Eq. (1.11)."""
        return replace(self, sticks=self._prior() + reached(N))

    def bound(self, N: np.ndarray) -> float:
        """Eq. (1.13): (0.3) or (0.5) for each stick."""
        return dirichlet.bound(reached(N), self._prior(), self.sticks, self.objective)


def reached(N: np.ndarray) -> np.ndarray:
    """[2, K]: rows in cluster k, and rows in clusters after it."""
    return np.stack([N, np.cumsum(N[::-1])[::-1] - N])


# The priors on weights that a mixture can have, by scikit-learn's names for them.
WEIGHTS: dict[str, type[FiniteDirichlet] | type[StickBreaking]] = {
    "dirichlet_distribution": FiniteDirichlet,
    "dirichlet_process": StickBreaking,
}


@dataclass(frozen=True)
class WeightPrior:
    """The prior on the weights of any number of clusters."""

    kind: type[FiniteDirichlet] | type[StickBreaking]
    value: float | None  # None: one over the number of clusters
    objective: str

    def of(self, K: int) -> FiniteDirichlet | StickBreaking:
        return self.kind.uniform(1.0 / K if self.value is None else self.value, K, self.objective)
