"""Rows under a fixed mixture: their clusters and their likelihood, with nothing learned."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from topmix import _core
from topmix.likelihoods.likelihood import Likelihood
from topmix.local.mixture import rows_at_a_time
from topmix.local.step import StepResult
from topmix.models.mixture import MixtureTables


class Assigned(NamedTuple):
    cluster: np.ndarray  # [rows, L] int32 ascending; empty unless kept
    r: np.ndarray  # [rows, L]; empty unless kept
    likelihood: np.ndarray  # [rows] log of the summed weights of the chosen clusters


@dataclass(frozen=True)
class AssignStep:
    """Each row of a shard to its L best clusters. Rows go piece by piece, so that scores of all K stay small."""

    likelihood: type[Likelihood]
    n_active: int  # L
    keep_clusters: bool = True  # else the likelihood alone, for any L

    def __call__(self, shard: Any, tables: MixtureTables, memory: object, scratch: _core.TopicScratch) -> StepResult:
        K, L = len(tables.log_weights), self.n_active
        parts = []
        for piece in shard.pieces(rows_at_a_time(K, L, len(shard.cols))):
            a = self.likelihood.assign(piece, tables.likelihood, tables.log_weights, L)
            kept = slice(None) if self.keep_clusters else slice(0)
            parts.append(Assigned(a.cluster[kept], a.r[kept], a.likelihood))
        return StepResult(Assigned(*(np.concatenate(field) for field in zip(*parts))))
