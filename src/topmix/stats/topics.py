"""Statistics of documents under a topic model."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from topmix.files.reader import CheckedReader
from topmix.files.writer import Writer
from topmix.stats.additive import Additive
from topmix.stats.pseudo_counts import PseudoCounts


@dataclass(slots=True)
class TopicStats(Additive):
    """Summary of documents under a topic model.  docs/math.md Eq. (3.8).

    With these the objective is linear in the statistics: exact when every document is in the total once, an estimate
    while a stochastic learner blends. When collapsed, E log pi_dk stands for the log of the document's point estimate.
    """

    S: Any  # WordStats, or the WordTotal that they are added to
    D: float  # documents
    H: float  # sum_du c_du H[r_du]
    G: float  # -sum_d c_Dir(theta_d); zero when collapsed
    A: float  # sum_dk (N_dk - theta_dk) E log pi_dk; sum_dk N_dk E log pi_dk when collapsed
    T: np.ndarray  # [K] sum_d E log pi_dk, over all documents, including topics that a document does not use
    M: np.ndarray  # [K] sum_d alpha_k [psi(N_dk + alpha_k) - psi(alpha_k)]: what learning alpha needs

    @property
    def n_rows(self) -> float:
        return self.D

    @property
    def is_removable(self) -> bool:
        return isinstance(self.S, PseudoCounts)

    @property
    def is_exact(self) -> bool:
        return bool(self.S.is_exact)

    def write(self, out: Writer) -> None:
        self.S.write(out)
        for name, value in (("D", self.D), ("H", self.H), ("G", self.G), ("A", self.A)):
            out.value(name, float(value))
        out.array("T", self.T)
        out.array("M", self.M)

    @classmethod
    def read(cls, file: CheckedReader, S: object, n_T: int, n_M: int) -> TopicStats:
        """Statistics around S, which was read before."""
        D, H, G, A = (file.number(name) for name in ("D", "H", "G", "A"))
        return cls(S, D, H, G, A, file.array("T", n_T), file.array("M", n_M))
