"""Finite mixture weights: pi ~ Dir(alpha/K, ..., alpha/K).  docs/math.md Eqs. (1.1), (1.8)."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from topmix.files.reader import CheckedReader
from topmix.files.writer import Writer
from topmix.numerics import dirichlet
from topmix.parameters.checks import SMALLEST


@dataclass(frozen=True)
class FiniteDirichlet:
    """q(pi) = Dir(gamma), or a point in its place. Immutable: `update` returns the next one."""

    prior: float  # alpha / K, on each weight
    gamma: np.ndarray  # [K]
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

    def write(self, out: Writer) -> None:
        out.array("gamma", self.gamma)
        out.value("prior", self.prior)

    @classmethod
    def read(cls, file: CheckedReader, K: int, objective: str) -> FiniteDirichlet:
        return cls(file.number("prior", SMALLEST), file.array("gamma", K, positive=True), objective)
