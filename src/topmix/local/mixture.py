"""The local step of mixtures: each row to its L best clusters.  docs/math.md Eqs. (1.4)-(1.7)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache, reduce
from typing import Any, ClassVar

import numpy as np

from topmix import _core
from topmix.likelihoods.likelihood import Likelihood, ReadsOnce, Visited
from topmix.local.step import Kept, StepResult
from topmix.models.mixture import MixtureTables
from topmix.stats import MixtureStats

PAIRS_PER_CLUSTER = 512  # in a piece, on average: then moments by cluster are products of matrices that are not thin
MOST_NUMBERS = 1 << 24  # of the rows of a piece, which may have to be copied


@dataclass(frozen=True)
class MixtureStep:
    likelihood: type[Likelihood]
    n_active: int  # L

    remembers: ClassVar[type[Kept] | None] = None

    def __call__(self, shard: Any, tables: MixtureTables, memory: Any, scratch: _core.TopicScratch) -> StepResult:
        D, likelihood = len(shard.cols), self.likelihood
        once = _reading_once(likelihood)
        args = (tables.likelihood, tables.log_weights, self.n_active)
        parts: Iterator[MixtureStats]
        if once is not None and once.reads_once(tables.likelihood):
            pieces = shard.pieces(max(1, MOST_NUMBERS // max(D, 1)))
            parts = (_stats(once.visit(piece, *args), piece) for piece in pieces)
        else:
            pieces = shard.pieces(rows_at_a_time(len(tables.log_weights), self.n_active, D))
            parts = (self.summary(piece, likelihood.assign(piece, *args), tables) for piece in pieces)
        return StepResult(reduce(MixtureStats.add, parts))

    def summary(self, piece: Any, a: Any, tables: MixtureTables) -> MixtureStats:
        K = len(tables.log_weights)
        weight = np.ones(piece.n_rows) if piece.weight is None else piece.weight
        N = np.bincount(a.cluster.ravel(), (a.r * weight[:, None]).ravel(), minlength=K)
        S = self.likelihood.summarise(piece, a, K)
        return MixtureStats(S, N, float(np.sum(weight * a.entropy)), float(weight.sum()))


@cache
def _reading_once(likelihood: object) -> ReadsOnce | None:
    return likelihood if isinstance(likelihood, ReadsOnce) else None


def _stats(visited: Visited, piece: Any) -> MixtureStats:
    return MixtureStats(*visited, float(piece.n_rows) if piece.weight is None else float(piece.weight.sum()))


def rows_at_a_time(K: int, L: int, D: int) -> int:
    """Dense rows per piece: enough for each cluster to have its share, few enough that they and their r stay small."""
    return int(np.clip(PAIRS_PER_CLUSTER * K // L, 4096, max(1, min(1 << 16, MOST_NUMBERS // max(D, L)))))
