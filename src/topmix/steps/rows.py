"""The local steps of mixtures and admixtures: rows, and rows of groups, to their best clusters."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import reduce
from typing import Annotated, Any, ClassVar, NamedTuple, TypeAlias

import numpy as np

from topmix import _core
from topmix.base.threads import threads
from topmix.corpus.shard import DataShard, GroupShard, SomeShard
from topmix.models.document_prior import DocTopics, DocumentPrior, Prior
from topmix.models.mixture import AdmixtureTables, MixtureTables
from topmix.models.model import LEAST_SHARE, Assignment, Likelihood
from topmix.models.statistics import MixtureStats, TopicStats
from topmix.models.stored import Ids, Stored, integer
from topmix.models.von_mises_fisher import VonMisesFisher
from topmix.steps import MOST_VISITS, Info, Memory, StepResult


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

    remembers: ClassVar[type[Stored] | None] = None

    @property
    def least_candidates(self) -> int:
        """That the tables must name for a cluster."""
        return 0

    def __call__(self, shard: DataShard, tables: MixtureTables, memory: Memory, scratch: object) -> StepResult:
        likelihood, K, D = self.likelihood, len(tables.log_weights), len(shard.cols)
        args = (tables.likelihood, tables.log_weights, self.n_active)
        reads_once, total = likelihood.reads_once(tables.likelihood), None
        size = max(1, MOST_NUMBERS // max(D, 1)) if reads_once else rows_at_a_time(K, self.n_active, D)
        for piece in shard.pieces(size):
            if reads_once:
                n_rows = piece.n_rows if piece.weight is None else piece.weight.sum()
                stats = MixtureStats(*likelihood.visit(piece, *args), float(n_rows))
            else:
                stats = self.summary(piece, likelihood.assign(piece, *args), tables)
            total = stats if total is None else total.add(stats)
        return StepResult(total)

    def summary(self, piece: DataShard, a: Assignment, tables: MixtureTables) -> MixtureStats:
        K = len(tables.log_weights)
        weight = np.ones(piece.n_rows) if piece.weight is None else piece.weight
        N = np.bincount(a.cluster.ravel(), (a.r * weight[:, None]).ravel(), minlength=K)
        S = self.likelihood.summarise(piece, a, K)
        return MixtureStats(S, N, float(np.sum(weight * a.entropy)), float(weight.sum()))


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


@dataclass(frozen=True)
class CandidateStep(MixtureStep):
    """As MixtureStep, but most visits score a row by the clusters near its last best one, and by no others."""

    full_every: int = 10  # visits

    remembers: ClassVar[type[LastClusters]] = LastClusters
    is_reported: ClassVar[bool] = False  # whether a pass says that it scored rows by candidates
    # Rows of one cluster are scored together, so more rows at a time than a full scan needs.
    least_rows: ClassVar[int] = 1 << 18

    @property
    def least_candidates(self) -> int:
        return self.n_active

    def __call__(
        self, shard: DataShard, tables: MixtureTables, memory: LastClusters | None, scratch: object
    ) -> StepResult:
        visits, begin = memory.visits if memory else 0, 0
        last = memory if visits % self.full_every else None
        total: MixtureStats | None = None
        kept = []
        D = len(shard.cols)
        size = max(rows_at_a_time(len(tables.log_weights), self.n_active, D), min(self.least_rows, (1 << 24) // D))
        for piece in shard.pieces(size):
            rows = slice(begin, begin + piece.n_rows)
            a, *near = self.scored(piece, tables, last, rows)
            kept.append((_best(a), *near))
            stats = self.summary(piece, a, tables)
            total = stats if total is None else total.add(stats)
            begin += piece.n_rows
        info = {BY_CANDIDATES: float(shard.n_rows)} if self.is_reported and last is not None else {}
        return StepResult(total, self.remembers(visits + 1, *map(np.concatenate, zip(*kept))), info)

    def scored(self, piece: DataShard, tables: MixtureTables, last: Memory, rows: slice) -> tuple[Any, ...]:
        """An assignment of these rows, by what is known of them since the last visit, or by all clusters; and what to
        remember of them besides the best cluster."""
        args = piece, tables.likelihood, tables.log_weights, self.n_active
        if last is None:
            return (self.likelihood.assign(*args),)
        return (self.likelihood.assign(*args, last.best[rows]),)  # type: ignore[call-arg]


@dataclass(frozen=True)
class RowCandidates(LastClusters):
    # [rows, candidates] those that scored highest at the last full scan
    clusters: Annotated[np.ndarray, Ids("n", N_CANDIDATES, below="K", ascending=True)]


@dataclass(frozen=True)
class RowCandidateStep(CandidateStep):
    """As MixtureStep for directions, but most visits score a row by the clusters that scored highest at its last full
    scan, and by no others. For rows of many dimensions: these say little about the clusters near their best one."""

    full_every: int = 5
    n_candidates: int = N_CANDIDATES

    remembers: ClassVar[type[LastClusters]] = RowCandidates
    is_reported: ClassVar[bool] = True
    least_rows: ClassVar[int] = 0

    def scored(self, piece: SomeShard, tables: MixtureTables, last: Memory, rows: slice) -> tuple[Any, ...]:
        args = piece, tables.likelihood, tables.log_weights
        if last is None:
            a = VonMisesFisher.assign(*args, self.n_candidates)
            best, near = _best(a), a.cluster
        else:
            best, near = last.best[rows], last.clusters[rows]
        return VonMisesFisher.assign(*args, self.n_active, (best, near)), near


def _best(a: Assignment) -> np.ndarray:
    """[rows] the cluster with the largest share of each row."""
    return np.asarray(np.take_along_axis(a.cluster, a.r.argmax(axis=1)[:, None], axis=1)[:, 0])


# The local step of admixtures: the rows of each group to their L best clusters, under proportions of the group.
#
# docs/math.md Eqs. (A.4)-(A.6). A visit scores all rows by all clusters once, under the proportions that their groups
# had at the last visit; rows keep a few candidates, and the group is solved on these.

LEAST_CANDIDATES = 8  # of a row; and twice as many as are kept
MOST_COUNTS = 1 << 22  # groups x K of a piece
MAX_ITER, TOL = 20, 1e-3  # of a group in one visit; the counts that still move, as a part of its rows
WARM_UP, MOST_COMMON = 10, 1e3  # first passes, and the most pseudo-rows for a row that groups have in common in them
SCANS = 3  # of groups that were never visited


@dataclass(frozen=True)
class GroupVisit(Stored):
    """What the step remembers of a shard."""

    times: Annotated[int, integer(1, MOST_VISITS)]  # visits so far
    groups: DocTopics  # the counts of its groups, without zeros


class GroupCounts(NamedTuple):
    N: np.ndarray  # [groups, K] expected rows of each group in each cluster
    absent: np.ndarray | None  # [groups, K] log of the probability that a group has no row in a cluster
    iterations: int


@dataclass(frozen=True)
class GroupStep:
    likelihood: type[Likelihood]
    n_active: int  # L, or all where there are fewer clusters
    warm_up: int = 0  # first visits, in which groups have pseudo-rows in common

    remembers: ClassVar[type[Stored] | None] = GroupVisit
    least_candidates: ClassVar[int] = 0

    def __call__(
        self, shard: GroupShard, tables: AdmixtureTables, memory: GroupVisit | None, scratch: _core.TopicScratch
    ) -> StepResult:
        times, last = (memory.times, memory.groups) if memory else (0, None)
        K, rows, counts = len(tables.prior.alpha), [], []
        common = self.common(times) * mean_length(shard.lengths)
        most = rows_at_a_time(K, min(self.n_active, K), len(shard.cols))
        for groups, piece in shard.in_groups(most, max(1, MOST_COUNTS // K)):
            absent = np.empty((piece.n_groups, K)) if wants_absent(tables.prior) else None
            N, weight = counts_of(last, groups, piece.n_groups, K), piece.weight
            a, iterations = self.solved(piece, tables, N, absent, common)
            S = self.likelihood.summarise(piece, a, K)
            H = a.entropy.sum() if weight is None else weight @ a.entropy
            rows.append(MixtureStats(S, N.sum(axis=0), float(H), float(piece.lengths.sum())))
            counts.append(GroupCounts(N, absent, iterations))
        total = reduce(MixtureStats.add, rows)
        return StepResult(*of_groups(tables.prior, counts, shard.lengths, times, lambda: total))

    def common(self, times: int) -> float:
        """Pseudo-rows for each row of a group, which all groups have in common: many at first, none after the warm-up.
        So clusters form as those of a mixture, and groups part by and by."""
        if times >= self.warm_up:
            return 0.0
        return min(self.warm_up / times - 1.0, MOST_COMMON) if times else MOST_COMMON

    def n_candidates(self, K: int) -> int:
        """Of a row."""
        return min(K, max(2 * min(self.n_active, K), LEAST_CANDIDATES))

    def solved(
        self,
        piece: GroupShard,
        tables: AdmixtureTables,
        N: np.ndarray,
        absent: np.ndarray | None = None,
        common: float = 0.0,
    ) -> tuple[Assignment, int]:
        """The clusters and shares of rows [rows, L] and how many iterations it took, from the counts N [groups, K],
        which are written to; so is `absent`. Groups have so many pseudo-rows in common: then they are solved at a
        point, whatever the posterior."""
        prior, K = with_common(tables, common) if common > 0 else tables.prior, N.shape[1]
        L, log_p = min(self.n_active, K), prior.log_weights(N)
        log_p -= log_p.max(axis=1, keepdims=True)
        a = self.likelihood.assign(piece, tables.likelihood, log_p, self.n_candidates(K))
        cluster, r = np.empty((piece.n_rows, L), np.int32), np.empty((piece.n_rows, L), a.r.dtype)
        how = (prior.posterior == "collapsed", LEAST_SHARE[a.r.dtype], MAX_ITER, TOL, threads())
        out = (N, absent, cluster, r, a.entropy)
        n = _core.solve_groups(piece.starts, a.cluster, a.r, piece.weight, prior.alpha, *how, *out)
        return a._replace(cluster=cluster, r=r), n


RowStep: TypeAlias = MixtureStep | GroupStep


def mean_length(lengths: np.ndarray) -> float:
    return float(lengths.sum()) / max(len(lengths), 1)


def wants_absent(prior: Prior) -> bool:
    """Whether learning the prior needs the probability that a group has a cluster at all."""
    return prior.learned and prior.posterior == "collapsed"


def with_common(tables: AdmixtureTables, common: float) -> DocumentPrior:
    """The prior of groups that have so many pseudo-rows in common."""
    return DocumentPrior(tables.prior.alpha + common * tables.weights, "collapsed")


def of_groups(
    prior: Prior,
    counts: list[GroupCounts],
    lengths: np.ndarray,
    times: int,
    rows: Callable[[], MixtureStats],
) -> tuple[TopicStats, GroupVisit, Info]:
    """What a shard reports: statistics of its groups, then of their rows, which a device may still be busy with."""
    group, cluster = zip(*(np.nonzero(each.N) for each in counts))
    sizes = np.concatenate([np.bincount(g, minlength=len(each.N)) for g, each in zip(group, counts)])
    count = np.concatenate([each.N[g, k] for each, g, k in zip(counts, group, cluster)])
    indptr = np.concatenate([[0], np.cumsum(sizes)])
    groups, present = DocTopics(indptr, np.concatenate(cluster).astype(np.uint16), count.astype(np.float32)), None
    if wants_absent(prior):
        absent = np.concatenate([each.absent[each.N > 0] for each in counts if each.absent is not None])
        present = np.maximum(-np.expm1(absent), 1e-12)
    stats = prior.summarise(MixtureStats(None, np.zeros(0), 0.0, 0.0), groups, lengths, 0.0, present)
    stats.S = rows()
    stats.H = stats.S.H
    return stats, GroupVisit(times + 1, groups), {"iterations": float(sum(each.iterations for each in counts))}


class AssignedGroups(NamedTuple):
    cluster: np.ndarray  # [rows, L] int32 ascending; empty unless kept
    r: np.ndarray  # [rows, L]; empty unless kept
    likelihood: np.ndarray  # [rows] log of the expected density under the proportions of the group; empty unless asked
    N: np.ndarray  # [groups, K]


@dataclass(frozen=True)
class AssignGroupsStep:
    """Groups under fixed clusters. Rows of weight zero have a part in nothing but their own answers."""

    likelihood: type[Likelihood]
    n_active: int  # L
    keep_clusters: bool = True
    want_likelihood: bool = False

    def __call__(
        self, shard: GroupShard, tables: AdmixtureTables, memory: object, scratch: _core.TopicScratch
    ) -> StepResult:
        parts, K = [], len(tables.prior.alpha)
        step, kept = GroupStep(self.likelihood, self.n_active), slice(None) if self.keep_clusters else slice(0)
        most = rows_at_a_time(K, K if self.want_likelihood else self.n_active, len(shard.cols))
        for _, piece in shard.in_groups(most, max(1, MOST_COUNTS // K)):
            N = np.zeros((piece.n_groups, K))
            for common in self.scans(tables.prior):
                a, _ = step.solved(piece, tables, N, common=common * mean_length(piece.lengths))
            likelihood = np.zeros(0)
            if self.want_likelihood:
                log_p = np.log(tables.prior.mean(N))
                likelihood = self.likelihood.assign(piece, tables.likelihood, log_p, K).likelihood
            parts.append(AssignedGroups(a.cluster[kept], a.r[kept], likelihood, N))
        return StepResult(AssignedGroups(*(np.concatenate(field) for field in zip(*parts))))

    def scans(self, prior: Prior) -> list[float]:
        """Pseudo-rows in common, for each row of a new group, at each scan of its rows: a small prior would keep
        clusters out of it."""
        first = MOST_COMMON if prior.posterior == "variational" else 0.0
        return [first, *[0.0] * (SCANS - 1)] if first or self.n_active < len(prior.alpha) else [first]


def counts_of(memory: DocTopics | None, groups: slice, n: int, K: int) -> np.ndarray:
    """[groups, K] of the last visit; zero before the first."""
    N = np.zeros((n, K))
    if memory is not None:
        indptr = memory.indptr[groups.start : groups.stop + 1]
        of = slice(indptr[0], indptr[-1])
        N[np.repeat(np.arange(n), np.diff(indptr)), memory.topic[of]] = memory.count[of]
    return N
