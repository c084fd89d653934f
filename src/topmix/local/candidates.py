"""The local steps of mixtures with very many clusters: most visits score a row by a few candidates only.

Clusters that are not scored have r = 0, so the bound is never overstated. It may fall where a cluster moves away from a
row that has a better one outside its candidates, until the next full scan.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np

from topmix import _core
from topmix.files.reader import CheckedReader, ModelFileError
from topmix.files.writer import Writer
from topmix.likelihoods.von_mises_fisher import VonMisesFisher
from topmix.local.mixture import MixtureStep, rows_at_a_time
from topmix.local.step import MOST_VISITS, Kept, StepResult
from topmix.models.mixture import MixtureTables
from topmix.stats import MixtureStats

BY_CANDIDATES = "rows_by_candidates"  # in the record of a pass: rows that were scored by candidates alone
N_CANDIDATES = 32  # of a row of directions


class LastClusters(NamedTuple):
    """What the step remembers of a shard."""

    visits: int
    best: np.ndarray  # [rows] int32, the best cluster of each row

    @property
    def size(self) -> int:
        return len(self.best)

    def write(self, out: Writer) -> None:
        out.value("visits", self.visits)
        out.array("best", self.best)

    @classmethod
    def read(cls, file: CheckedReader, K: int) -> LastClusters:
        return cls(file.integer("visits", 1, MOST_VISITS), _clusters(file, "best", None, K))


@dataclass(frozen=True)
class CandidateStep(MixtureStep):
    """As MixtureStep, but most visits score a row by the clusters near its last best one, and by no others."""

    full_every: int = 10  # visits

    remembers: ClassVar[type[Kept] | None] = LastClusters

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
            best[rows] = _best(a)
            stats = self.summary(piece, a, tables)
            total = stats if total is None else total.add(stats)
            begin += piece.n_rows
        return StepResult(total, LastClusters(visits + 1, best))


class RowCandidates(NamedTuple):
    """What the step remembers of a shard."""

    visits: int
    best: np.ndarray  # [rows] int32, the best cluster of each row
    clusters: np.ndarray  # [rows, candidates] int32 ascending: those that scored highest at the last full scan

    @property
    def size(self) -> int:
        return len(self.best)

    def write(self, out: Writer) -> None:
        out.value("visits", self.visits)
        out.array("best", self.best)
        out.array("clusters", self.clusters.ravel())

    @classmethod
    def read(cls, file: CheckedReader, K: int) -> RowCandidates:
        visits, best = file.integer("visits", 1, MOST_VISITS), _clusters(file, "best", None, K)
        clusters = _clusters(file, "clusters", len(best) * N_CANDIDATES, K).reshape(-1, N_CANDIDATES)
        if np.any(clusters[:, 1:] <= clusters[:, :-1]):
            raise ModelFileError(f"{file.prefix}clusters has candidates that do not ascend")
        return cls(visits, best, clusters)


@dataclass(frozen=True)
class RowCandidateStep(MixtureStep):
    """As MixtureStep for directions, but most visits score a row by the clusters that scored highest at its last full
    scan, and by no others. For rows of many dimensions: these say little about the clusters near their best one."""

    n_candidates: int = N_CANDIDATES
    full_every: int = 5  # visits

    remembers: ClassVar[type[Kept] | None] = RowCandidates

    def __call__(
        self, shard: Any, tables: MixtureTables, memory: RowCandidates | None, scratch: _core.TopicScratch
    ) -> StepResult:
        visits, t, log_weights = memory.visits if memory else 0, tables.likelihood, tables.log_weights
        scans = memory is None or visits % self.full_every == 0
        total: MixtureStats | None = None
        best, clusters = np.empty(shard.n_rows, np.int32), np.empty((shard.n_rows, self.n_candidates), np.int32)
        begin = 0
        for piece in shard.pieces(rows_at_a_time(len(log_weights), self.n_active, len(shard.cols))):
            rows = slice(begin, begin + piece.n_rows)
            if memory is None or scans:
                a = self.likelihood.assign(piece, t, log_weights, self.n_candidates)
                best[rows], clusters[rows] = _best(a), a.cluster
            else:
                best[rows], clusters[rows] = memory.best[rows], memory.clusters[rows]
            a = VonMisesFisher.assign_among(piece, t, log_weights, self.n_active, best[rows], clusters[rows])
            best[rows] = _best(a)
            stats = self.summary(piece, a, tables)
            total = stats if total is None else total.add(stats)
            begin += piece.n_rows
        info = {} if scans else {BY_CANDIDATES: float(shard.n_rows)}
        return StepResult(total, RowCandidates(visits + 1, best, clusters), info)


def _clusters(file: CheckedReader, name: str, n: int | None, K: int) -> np.ndarray:
    """Clusters that a kernel may use as indices."""
    found = file.vector(name, "I32", n)
    if np.any((found < 0) | (found >= K)):
        raise ModelFileError(f"{file.prefix}{name} has clusters that are not from 0 to {K - 1}")
    return found


def _best(a: Any) -> np.ndarray:
    """[rows] the cluster with the largest share of each row."""
    return np.asarray(np.take_along_axis(a.cluster, a.r.argmax(axis=1)[:, None], axis=1)[:, 0])
