"""The search for the number of clusters of an admixture, under the sticks of a hierarchical Dirichlet process.

Pairs of clusters that are one are merged, clusters that two would describe better are divided, clusters whose rows
others could take are deleted, or one is divided and two others merged. Rows of some groups say what is worth a try.

Clusters with a posterior have a bound on the evidence. Clusters at a point have none, and each parameter of one costs
half of the log of its rows (BIC).  docs/math.md, section A.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import islice
from typing import Annotated, NamedTuple

import numpy as np
import scipy.sparse as sp
from scipy.special import xlogy

from topmix.corpus.rows import Rows
from topmix.corpus.shard import GroupShard
from topmix.learn import cluster_exchanges as moves
from topmix.learn.clusters import ClusterPasses
from topmix.learn.fit import Fit
from topmix.learn.learners import PassResult
from topmix.learn.search import Move, Search, SearchSnapshot
from topmix.learn.topic_moves import Pair, by_topic, moved, names_of, of_documents, of_sticks
from topmix.models.mixture import Admixture
from topmix.models.stick_prior import StickPrior
from topmix.models.stored import Stored, integer
from topmix.steps.rows import MOST_COMMON, GroupStep, GroupVisit

NEAR = 3  # of each cluster, that a merger with is weighed
MOST_TRIED = 2**31
TRIALS = 4  # exchanges, one after another, without success
REFRESH = 3  # passes in which groups part again, after clusters have changed
SMALL = 0.25  # of the mean size: a cluster that others could take the rows of


@dataclass(frozen=True)
class ClusterSnapshot(SearchSnapshot):
    model: Admixture

    @cached_property
    def worth(self) -> float:
        """The bound, less what points cost."""
        return super().worth - cost(self.model, self.model.sizes)


def cost(model: Admixture, N: np.ndarray) -> float:
    if model.objective == "vb":
        return 0.0
    each = model.n_parameters() / model.n_components
    return 0.5 * each * float(np.log(np.maximum(N, 1.0)).sum())


@dataclass
class TriedClusters(Stored):
    n: Annotated[int, integer(0, MOST_TRIED)] = 0  # moves from the present clusters
    refreshed: Annotated[int, integer(0, MOST_TRIED)] = 0  # clusters when groups started again, before these moves


class Sample(NamedTuple):
    """Some groups, under the present clusters."""

    rows: Rows
    r: np.ndarray  # [rows, K]
    alone: np.ndarray  # [rows, K] the same of rows without their groups
    scale: float  # rows that there are for each of the sample


class SearchedClusters(Search[ClusterSnapshot], ClusterPasses):
    """Passes over groups of rows, between which the number of clusters changes."""

    tried: TriedClusters

    def __init__(self, fit: Fit, rng: np.random.Generator, step: GroupStep, max_clusters: int) -> None:
        rows = fit.problem.data.groups
        assert rows is not None
        self.rows, self.step, self.weight, self.max_clusters = rows, step, fit.problem.weight, max_clusters
        self.groups = np.concatenate([np.arange(len(rows))[batch] for batch in fit.batches])  # as shards have them
        self.tried, self.refreshed = TriedClusters(), 0
        self.untried: Iterator[moves.Regrouping] | None = None  # moves from these clusters
        self.tried_from: ClusterSnapshot | None = None
        self.drawn: Mapping[str, object] = {}  # the state of the generator before the sample that they come from
        super().__init__(fit, rng.spawn(1)[0])

    def snapshot(self, result: PassResult) -> ClusterSnapshot:
        memo = {b: self.fit.state.memo[b] for b in range(len(self.fit.batches))}
        self.current = ClusterSnapshot(result.model, result.total, memo, self.fit.workers.recall())
        return self.current

    def random(self) -> Mapping[str, object]:
        return super().random() if self.untried is None else self.drawn

    def settled(self, here: ClusterSnapshot, quiet: bool) -> ClusterSnapshot:
        if here is not self.tried_from:
            self.untried, self.tried = None, TriedClusters(0, self.refreshed)
        return here

    def next_move(self, here: ClusterSnapshot, quiet: bool, passes_left: int) -> Move | None:
        if not quiet:
            return None
        if self.untried is None:
            self.refreshed, self.drawn, self.tried_from = self.tried.refreshed, super().random(), here
            self.untried = islice(self._worth_trying(here), self.tried.n, None)
        found = next(self.untried, None)
        if found is None:
            return None
        self.tried.n += 1
        model = here.model.reassigned(found.moved, here.total.D, found.parts, *found.born)
        M, times = found.moved, self.step.warm_up - found.warm_up
        if found.warm_up:  # groups start from what they have in common
            memory = {b: GroupVisit(times, moved(v.groups, np.zeros_like(M))) for b, v in here.memory.items()}
        else:
            memory = {b: replace(v, groups=moved(v.groups, M)) for b, v in here.memory.items()}
        return Move(found.what, model, model.as_stats(), memory, found.warm_up)

    # What to try

    def _worth_trying(self, here: ClusterSnapshot) -> Iterator[moves.Regrouping]:
        """The most promising first."""
        K, sample = here.model.n_components, self._sample(here)
        pairs, gains = self._pairs(here, sample)
        together: list[Pair] = []  # no cluster in two of them
        for pair, gain in zip(pairs, gains):
            if gain > 0 and not any(k in other for other in together for k in pair):
                together.append(pair)
        for n in halves(len(together)):
            yield moves.merger(K, together[:n])
        cut = moves.in_two(here.model.as_mixture(), sample.rows, sample.r, 0.0)
        for n in halves(min(len(cut), max(self.max_clusters - K, 0))):
            yield moves.division(K, cut[:n])
        if self.refreshed != K and self.step.warm_up > REFRESH:
            self.refreshed = K
            yield moves.Regrouping("refresh", np.eye(K), np.eye(K), warm_up=REFRESH)
        N = np.maximum(here.model.sizes, 0.0)
        order = np.argsort(N, kind="stable")
        small = order[N[order] < SMALL * N.mean()].tolist()
        for n in halves(len(small)):
            yield moves.deletion(K, small[:n], sample.alone)
        ranks = ((a + b, a, b) for a, one in enumerate(cut) for b, pair in enumerate(pairs) if one.cluster not in pair)
        for _, a, b in sorted(ranks)[:TRIALS]:
            yield moves.exchange(K, cut[a], pairs[b])

    def _sample(self, here: ClusterSnapshot) -> Sample:
        K, data = here.model.n_components, self.rows
        order = self.rng.permutation(len(data))
        n_rows = np.cumsum(data.lengths()[self.groups][order])
        n = 1 + int(np.searchsorted(n_rows, max(moves.SAMPLE, moves.EACH * K)))
        at = order[:n]
        of_groups, starts = data.of_groups(self.groups[at])
        weight = None if self.weight is None else self.weight[of_groups]
        piece = GroupShard(np.ascontiguousarray(data.data[of_groups]), slice(0, int(starts[-1])), weight, starts)
        counts, tables = self._counts(here)[at].toarray(), here.model.tables(piece.cols)
        kept = np.flatnonzero(np.ones(piece.n_rows) if weight is None else weight)

        def shares(N: np.ndarray, common: float) -> np.ndarray:
            a, r = self.step.solved(piece, tables, N, common=common)[0], np.zeros((piece.n_rows, K))
            np.put_along_axis(r, a.cluster.astype(np.intp), a.r.astype(np.float64), axis=1)
            return r[kept] if weight is None else r[kept] * weight[kept, None]

        r, alone = shares(counts, 0.0), shares(np.zeros_like(counts), MOST_COMMON * float(piece.lengths.mean()))
        scale = float(here.model.sizes.sum() / max(r.sum(), 1e-300))
        return Sample(Rows(piece.data[kept], check=False), r, alone, scale)

    def _counts(self, here: ClusterSnapshot) -> sp.csr_array:
        """[groups, K] as shards have them."""
        K = here.model.n_components
        return sp.vstack([by_topic(here.memory[b].groups, K) for b in range(len(self.fit.batches))], format="csr")

    def _pairs(self, here: ClusterSnapshot, sample: Sample) -> tuple[list[Pair], np.ndarray]:
        """Pairs of clusters that have rows in common, and what a merger of each would gain; the best first. All is
        exact but the entropy of rows that are in both."""
        model, (K, D), r = here.model, (here.model.n_components, here.total.D), sample.r
        near, prior = moves.likeness(sample.alone), model.prior
        assert isinstance(prior, StickPrior)
        near = near + near.T
        best = np.argsort(-near, axis=1, kind="stable")[:, :NEAR]
        found = sorted({(min(j, k), max(j, k)) for j, row in enumerate(best.tolist()) for k in row if near[j, k] > 0})
        if not found:
            return [], np.zeros(0)
        S, N = model.likelihood.total, np.maximum(model.sizes, 0.0)
        now = model.likelihood.bound(S, N) - cost(model, N) + of_sticks(prior, np.arange(K), D)
        gains = of_documents(sp.csc_array(self._counts(here)), prior, D, found) - now
        for i, (j, k) in enumerate(found):
            parts = moves.merger(K, [(j, k)]).parts
            likelihood, sizes = model.likelihood.regrouped([(parts, S)], parts @ N), parts @ N
            gains[i] += likelihood.bound(likelihood.total, sizes) - cost(model, sizes)
            gains[i] += of_sticks(prior, names_of(K, [(j, k)]), D)
            a, b = r[:, j], r[:, k]
            gains[i] -= sample.scale * float(np.sum(xlogy(a + b, a + b) - xlogy(a, a) - xlogy(b, b)))
        order = np.argsort(-gains, kind="stable")
        return [found[i] for i in order], gains[order]


def halves(n: int) -> list[int]:
    """All at once, then half of them, down to the best alone."""
    return [] if n < 1 else [n, *halves(n // 2)]
