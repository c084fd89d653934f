"""The local step of mixtures with very many clusters: most visits score a row by a few candidates only."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from topmix import _core
from topmix.local.mixture import MixtureStep, rows_at_a_time
from topmix.local.step import StepResult
from topmix.models.mixture import MixtureTables
from topmix.stats import MixtureStats


class LastClusters(NamedTuple):
    """What the step remembers of a shard."""

    visits: int
    best: np.ndarray  # [rows] int32, the best cluster of each row


@dataclass(frozen=True)
class CandidateStep(MixtureStep):
    """As MixtureStep, but most visits score a row by the clusters near its last best one, and by no others.

    Clusters that are not scored have r = 0, so the bound is never overstated. It may fall where a cluster moves away
    from a row that has a better one outside its candidates, until the next full scan.
    """

    full_every: int = 10  # visits

    def __call__(
        self, shard: Any, tables: MixtureTables, memory: LastClusters | None, scratch: _core.TopicScratch
    ) -> StepResult:
        visits = memory.visits if memory else 0
        K, D, L = len(tables.log_weights), len(shard.cols), self.n_active
        total: MixtureStats | None = None
        best, begin = np.empty(shard.n_rows, np.int32), 0
        # Rows of one cluster are scored together, so more rows at a time than a full scan needs.
        for piece in shard.pieces(max(rows_at_a_time(K, L, D), min(1 << 18, (1 << 24) // D))):
            rows = slice(begin, begin + piece.n_rows)
            args = (piece, tables.likelihood, tables.log_weights, L)
            if memory is None or visits % self.full_every == 0:
                a = self.likelihood.assign(*args)
            else:
                a = self.likelihood.assign_near(*args, memory.best[rows])  # type: ignore[attr-defined]
            best[rows] = np.take_along_axis(a.cluster, a.r.argmax(axis=1)[:, None], axis=1)[:, 0]
            stats = self.summary(piece, a, tables)
            total = stats if total is None else total.add(stats)
            begin += piece.n_rows
        return StepResult(total, LastClusters(visits + 1, best))
