"""Rows under a fixed mixture: their clusters and their likelihood, with nothing learned."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import reduce
from typing import Annotated, ClassVar, NamedTuple

import numpy as np

from topmix.corpus.shard import DataShard, SomeShard
from topmix.models.mixture import MixtureTables
from topmix.models.model import Assignment, ClusterSums, Likelihood
from topmix.models.statistics import MixtureStats
from topmix.models.stored import Ids, Stored, integer
from topmix.models.von_mises_fisher import VonMisesFisher
from topmix.steps import MOST_VISITS, Kept, Memory, StepResult


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

    def __call__(self, shard: DataShard, tables: MixtureTables, memory: Memory, scratch: object) -> StepResult:
        K, L = len(tables.log_weights), self.n_active
        parts = []
        for piece in shard.pieces(rows_at_a_time(K, L, len(shard.cols))):
            a = self.likelihood.assign(piece, tables.likelihood, tables.log_weights, L)
            kept = slice(None) if self.keep_clusters else slice(0)
            parts.append(Assigned(a.cluster[kept], a.r[kept], a.likelihood))
        return StepResult(Assigned(*(np.concatenate(field) for field in zip(*parts))))


# The local step of mixtures: each row to its L best clusters.  docs/math.md Eqs. (1.4)-(1.7).

PAIRS_PER_CLUSTER = 512  # in a piece, on average: then moments by cluster are products of matrices that are not thin
MOST_NUMBERS = 1 << 24  # of the rows of a piece, which may have to be copied


@dataclass(frozen=True)
class MixtureStep:
    likelihood: type[Likelihood]
    n_active: int  # L

    remembers: ClassVar[type[Kept] | None] = None

    def __call__(self, shard: DataShard, tables: MixtureTables, memory: Memory, scratch: object) -> StepResult:
        D, likelihood = len(shard.cols), self.likelihood
        args = (tables.likelihood, tables.log_weights, self.n_active)
        parts: Iterator[MixtureStats]
        if likelihood.reads_once(tables.likelihood):
            pieces = shard.pieces(max(1, MOST_NUMBERS // max(D, 1)))
            parts = (_stats(likelihood.visit(piece, *args), piece) for piece in pieces)
        else:
            pieces = shard.pieces(rows_at_a_time(len(tables.log_weights), self.n_active, D))
            parts = (self.summary(piece, likelihood.assign(piece, *args), tables) for piece in pieces)
        return StepResult(reduce(MixtureStats.add, parts))

    def summary(self, piece: DataShard, a: Assignment, tables: MixtureTables) -> MixtureStats:
        K = len(tables.log_weights)
        weight = np.ones(piece.n_rows) if piece.weight is None else piece.weight
        N = np.bincount(a.cluster.ravel(), (a.r * weight[:, None]).ravel(), minlength=K)
        S = self.likelihood.summarise(piece, a, K)
        return MixtureStats(S, N, float(np.sum(weight * a.entropy)), float(weight.sum()))


def _stats(visited: ClusterSums, piece: DataShard) -> MixtureStats:
    return MixtureStats(*visited, float(piece.n_rows) if piece.weight is None else float(piece.weight.sum()))


def rows_at_a_time(K: int, L: int, D: int) -> int:
    """Dense rows per piece: enough for each cluster to have its share, few enough that they and their r stay small."""
    return int(np.clip(PAIRS_PER_CLUSTER * K // L, 4096, max(1, min(1 << 16, MOST_NUMBERS // max(D, L)))))


# The local steps of mixtures with very many clusters: most visits score a row by a few candidates only.
#
# Clusters that are not scored have r = 0, so the bound is never overstated. It may fall where a cluster moves away from
# a row that has a better one outside its candidates, until the next full scan.

BY_CANDIDATES = "rows_by_candidates"  # in the record of a pass: rows that were scored by candidates alone
N_CANDIDATES = 32  # of a row of directions


@dataclass(frozen=True)
class LastClusters(Stored):
    """What the step remembers of a shard."""

    visits: Annotated[int, integer(1, MOST_VISITS)]
    best: Annotated[np.ndarray, Ids("n", below="K")]  # the best cluster of each row

    @property
    def size(self) -> int:
        return len(self.best)


@dataclass(frozen=True)
class CandidateStep(MixtureStep):
    """As MixtureStep, but most visits score a row by the clusters near its last best one, and by no others."""

    full_every: int = 10  # visits

    remembers: ClassVar[type[Kept] | None] = LastClusters

    def __call__(
        self, shard: DataShard, tables: MixtureTables, memory: LastClusters | None, scratch: object
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
                a = self.likelihood.assign(*args, memory.best[rows])  # type: ignore[call-arg]
            best[rows] = _best(a)
            stats = self.summary(piece, a, tables)
            total = stats if total is None else total.add(stats)
            begin += piece.n_rows
        return StepResult(total, LastClusters(visits + 1, best))


@dataclass(frozen=True)
class RowCandidates(LastClusters):
    # [rows, candidates] those that scored highest at the last full scan
    clusters: Annotated[np.ndarray, Ids("n", N_CANDIDATES, below="K", ascending=True)]


@dataclass(frozen=True)
class RowCandidateStep(MixtureStep):
    """As MixtureStep for directions, but most visits score a row by the clusters that scored highest at its last full
    scan, and by no others. For rows of many dimensions: these say little about the clusters near their best one."""

    n_candidates: int = N_CANDIDATES
    full_every: int = 5  # visits

    remembers: ClassVar[type[Kept] | None] = RowCandidates

    def __call__(
        self, shard: SomeShard, tables: MixtureTables, memory: RowCandidates | None, scratch: object
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
            a = VonMisesFisher.assign(piece, t, log_weights, self.n_active, (best[rows], clusters[rows]))
            best[rows] = _best(a)
            stats = self.summary(piece, a, tables)
            total = stats if total is None else total.add(stats)
            begin += piece.n_rows
        info = {} if scans else {BY_CANDIDATES: float(shard.n_rows)}
        return StepResult(total, RowCandidates(visits + 1, best, clusters), info)


def _best(a: Assignment) -> np.ndarray:
    """[rows] the cluster with the largest share of each row."""
    return np.asarray(np.take_along_axis(a.cluster, a.r.argmax(axis=1)[:, None], axis=1)[:, 0])
