"""The local step of admixtures: the rows of each group to their L best clusters, under proportions of the group.

docs/math.md Eqs. (A.4)-(A.6). A visit scores all rows by all clusters once, under the proportions that their groups had
at the last visit; rows keep a few candidates, and the group is solved on these.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import reduce
from typing import Annotated, ClassVar, NamedTuple

import numpy as np

from topmix import _core
from topmix.base.threads import threads
from topmix.corpus.shard import GroupShard
from topmix.models.document_prior import DocTopics, DocumentPrior, Prior
from topmix.models.mixture import AdmixtureTables
from topmix.models.model import LEAST_SHARE, Assignment, Likelihood
from topmix.models.statistics import MixtureStats, TopicStats
from topmix.models.stored import Stored, integer
from topmix.steps import MOST_VISITS, Info, Kept, StepResult
from topmix.steps.rows import rows_at_a_time

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

    @property
    def size(self) -> int:
        return len(self.groups.indptr) - 1


class GroupCounts(NamedTuple):
    N: np.ndarray  # [groups, K] expected rows of each group in each cluster
    absent: np.ndarray | None  # [groups, K] log of the probability that a group has no row in a cluster
    iterations: int


class SolvedGroups(NamedTuple):
    assignment: Assignment  # with the clusters and shares of rows [rows, L]
    N: np.ndarray  # [groups, K] expected rows of each group in each cluster
    iterations: int


@dataclass(frozen=True)
class GroupStep:
    likelihood: type[Likelihood]
    n_active: int  # L, or all where there are fewer clusters
    warm_up: int = 0  # first visits, in which groups have pseudo-rows in common

    remembers: ClassVar[type[Kept] | None] = GroupVisit

    def __call__(
        self, shard: GroupShard, tables: AdmixtureTables, memory: GroupVisit | None, scratch: _core.TopicScratch
    ) -> StepResult:
        times, last = (memory.times, memory.groups) if memory else (0, None)
        K, rows, found = len(tables.prior.alpha), [], []
        common = self.common(times) * mean_length(shard.lengths)
        for groups, piece in pieces(shard, K, min(self.n_active, K)):
            absent = np.empty((piece.n_groups, K)) if wants_absent(tables.prior) else None
            solved = self.solved(piece, tables, counts_of(last, groups, piece.n_groups, K), absent, common)
            a, weight = solved.assignment, piece.weight
            S = self.likelihood.summarise(piece, a, K)
            H = a.entropy.sum() if weight is None else weight @ a.entropy
            rows.append(MixtureStats(S, solved.N.sum(axis=0), float(H), float(piece.lengths.sum())))
            found.append(GroupCounts(solved.N, absent, solved.iterations))
        total = reduce(MixtureStats.add, rows)
        return StepResult(*of_groups(tables.prior, found, shard.lengths, times, lambda: total))

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
    ) -> SolvedGroups:
        """From the counts N [groups, K], which are written to; so is `absent`. Groups have so many pseudo-rows in
        common: then they are solved at a point, whatever the posterior."""
        prior, K = tables.prior, N.shape[1]
        L = min(self.n_active, K)
        if common > 0:
            prior = with_common(tables, common)
        C = self.n_candidates(K)
        log_p = prior.log_weights(N)
        log_p -= log_p.max(axis=1, keepdims=True)
        a = self.likelihood.assign(piece, tables.likelihood, log_p, C)
        cluster, r = np.empty((piece.n_rows, L), np.int32), np.empty((piece.n_rows, L), a.r.dtype)
        how = (prior.posterior == "collapsed", LEAST_SHARE[a.r.dtype], MAX_ITER, TOL, threads())
        out = (N, absent, cluster, r, a.entropy)
        n = _core.solve_groups(piece.starts, a.cluster, a.r, piece.weight, prior.alpha, *how, *out)
        return SolvedGroups(a._replace(cluster=cluster, r=r), N, n)


def mean_length(lengths: np.ndarray) -> float:
    """Rows of a group, on average."""
    return float(lengths.sum()) / max(len(lengths), 1)


def wants_absent(prior: Prior) -> bool:
    """Whether learning the prior needs the probability that a group has a cluster at all."""
    return prior.learned and prior.posterior == "collapsed"


def with_common(tables: AdmixtureTables, common: float) -> DocumentPrior:
    """The prior of groups that have so many pseudo-rows in common."""
    return DocumentPrior(tables.prior.alpha + common * tables.weights, "collapsed")


def of_groups(
    prior: Prior,
    found: list[GroupCounts],
    lengths: np.ndarray,
    times: int,
    rows: Callable[[], MixtureStats],
) -> tuple[TopicStats, GroupVisit, Info]:
    """What a shard reports: statistics of its groups, then of their rows, which a device may still be busy with."""
    kept, present = _sparse([each.N for each in found]), None
    if wants_absent(prior):
        absent = np.concatenate([each.absent[each.N > 0] for each in found if each.absent is not None])
        present = np.maximum(-np.expm1(absent), 1e-12)
    stats = prior.summarise(MixtureStats(None, np.zeros(0), 0.0, 0.0), kept, lengths, 0.0, present)
    stats.S = rows()
    stats.H = stats.S.H
    return stats, GroupVisit(times + 1, kept), {"iterations": float(sum(each.iterations for each in found))}


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
        for _, piece in pieces(shard, K, K if self.want_likelihood else self.n_active):
            N = np.zeros((piece.n_groups, K))
            for common in self.scans(tables.prior):
                a = step.solved(piece, tables, N, common=common * mean_length(piece.lengths)).assignment
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


def pieces(shard: GroupShard, K: int, L: int) -> Iterator[tuple[slice, GroupShard]]:
    return shard.in_groups(rows_at_a_time(K, L, len(shard.cols)), max(1, MOST_COUNTS // K))


def counts_of(memory: DocTopics | None, groups: slice, n: int, K: int) -> np.ndarray:
    """[groups, K] of the last visit; zero before the first."""
    N = np.zeros((n, K))
    if memory is not None:
        indptr = memory.indptr[groups.start : groups.stop + 1]
        of = slice(indptr[0], indptr[-1])
        N[np.repeat(np.arange(n), np.diff(indptr)), memory.topic[of]] = memory.count[of]
    return N


def _sparse(counts: list[np.ndarray]) -> DocTopics:
    group, topic = zip(*(np.nonzero(N) for N in counts))
    sizes = np.concatenate([np.bincount(g, minlength=len(N)) for g, N in zip(group, counts)])
    count = np.concatenate([N[g, k] for N, g, k in zip(counts, group, topic)])
    indptr = np.concatenate([[0], np.cumsum(sizes)])
    return DocTopics(indptr, np.concatenate(topic).astype(np.uint16), count.astype(np.float32))
