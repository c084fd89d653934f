"""Weights of a truncated Dirichlet process, by breaking a stick.  docs/math.md Eqs. (1.11)-(1.13).

    v_k ~ Beta(1, alpha),   pi_k = v_k (1 - v_1) ... (1 - v_{k-1}),   k = 1 ... K

As in scikit-learn the last piece is broken too, so a little of the stick, (1 - v_1) ... (1 - v_K), is left over.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from topmix.files.reader import CheckedReader
from topmix.files.writer import Writer
from topmix.numerics import dirichlet
from topmix.parameters.checks import SMALLEST


@dataclass(frozen=True)
class StickBreaking:
    """q(v_k) = Beta(sticks_0k, sticks_1k), or points in their place. Immutable."""

    prior: float  # alpha
    sticks: np.ndarray  # [2, K]: pseudo-counts of the rows that stop at cluster k, and of those that continue
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

    def write(self, out: Writer) -> None:
        out.array("sticks", self.sticks)
        out.value("prior", self.prior)

    @classmethod
    def read(cls, file: CheckedReader, K: int, objective: str) -> StickBreaking:
        return cls(file.number("prior", SMALLEST), file.array("sticks", 2, K, positive=True), objective)


def reached(N: np.ndarray) -> np.ndarray:
    """[2, K]: rows in cluster k, and rows in clusters after it."""
    return np.stack([N, np.cumsum(N[::-1])[::-1] - N])
