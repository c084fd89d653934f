"""Statistics of documents under a topic model."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from topmix.stats.additive import Additive
from topmix.stats.words import WordSeed


@dataclass(slots=True)
class TopicStats(Additive):
    """Summary of documents under a topic model.  docs/math.md Eq. (3.8).

    With these the objective is linear in the statistics: exact when every document is in the total once, an estimate
    while a stochastic learner blends. E log pi_dk reads log of the document's point estimate when collapsed.
    """

    S: Any  # WordStats, or the WordTotal they are added to
    D: float  # documents
    H: float  # sum_du c_du H[r_du]
    G: float  # -sum_d c_Dir(theta_d); zero when collapsed
    A: float  # sum_dk (N_dk - theta_dk) E log pi_dk; sum_dk N_dk E log pi_dk when collapsed
    T: np.ndarray  # [K] sum_d E log pi_dk, over all documents, topics they do not use included
    M: np.ndarray  # [K] sum_d alpha_k [psi(N_dk + alpha_k) - psi(alpha_k)]: what learning alpha needs

    @property
    def n_rows(self) -> float:
        return self.D

    @property
    def stays_apart(self) -> bool:
        return isinstance(self.S, WordSeed)
