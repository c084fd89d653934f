"""The local step of mixtures: each row to its L best clusters.  docs/math.md Eqs. (1.4)-(1.7)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from topmix import _core
from topmix.likelihoods.likelihood import Likelihood
from topmix.local.step import StepResult
from topmix.models.mixture import MixtureTables
from topmix.stats import MixtureStats

PAIRS_PER_CLUSTER = 512  # in a piece, on average: then moments by cluster are products of matrices that are not thin


@dataclass(frozen=True)
class MixtureStep:
    likelihood: type[Likelihood]
    n_active: int  # L

    def __call__(self, shard: Any, tables: MixtureTables, memory: Any, scratch: _core.TopicScratch) -> StepResult:
        total: MixtureStats | None = None
        for piece in shard.pieces(rows_at_a_time(len(tables.log_weights), self.n_active, len(shard.cols))):
            a = self.likelihood.assign(piece, tables.likelihood, tables.log_weights, self.n_active)
            stats = self.summary(piece, a, tables)
            total = stats if total is None else total.add(stats)
        return StepResult(total)

    def summary(self, piece: Any, a: Any, tables: MixtureTables) -> MixtureStats:
        K = len(tables.log_weights)
        weight = np.ones(piece.n_rows) if piece.weight is None else piece.weight
        N = np.bincount(a.cluster.ravel(), (a.r * weight[:, None]).ravel(), minlength=K)
        S = self.likelihood.summarise(piece, a, K)
        return MixtureStats(S, N, float(np.sum(weight * a.entropy)), float(weight.sum()))


def rows_at_a_time(K: int, L: int, D: int) -> int:
    """Dense rows per piece: enough for each cluster to have its share, few enough that they and their r stay small."""
    return int(np.clip(PAIRS_PER_CLUSTER * K // L, 4096, max(1, min(1 << 16, (1 << 24) // max(D, L)))))
