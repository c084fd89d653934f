"""The local step of mixtures of directions: rows are read once per visit.  docs/math.md, section V."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from topmix import _core
from topmix.likelihoods.von_mises_fisher import VonMisesFisher
from topmix.local.mixture import MixtureStep, rows_at_a_time
from topmix.local.step import StepResult
from topmix.models.mixture import MixtureTables
from topmix.stats import MixtureStats


@dataclass(frozen=True)
class DirectionStep(MixtureStep):
    """As MixtureStep, but which clusters a row has is not kept for a second look at the row."""

    def __call__(self, shard: Any, tables: MixtureTables, memory: object, scratch: _core.TopicScratch) -> StepResult:
        total: MixtureStats | None = None
        for piece in shard.pieces(rows_at_a_time(len(tables.log_weights), self.n_active, len(shard.cols))):
            S, N, entropy = VonMisesFisher.visit(piece, tables.likelihood, tables.log_weights, self.n_active)
            weight = float(piece.n_rows) if piece.weight is None else float(piece.weight.sum())
            stats = MixtureStats(S, N, entropy, weight)
            total = stats if total is None else total.add(stats)
        return StepResult(total)
