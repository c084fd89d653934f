"""The search for the number of clusters of an admixture, under the sticks of a hierarchical Dirichlet process.

When passes gain little, other clusters are tried: pairs that are one are merged, clusters that two would describe
better are divided, clusters whose rows others could take are deleted, or one is divided and two others merged. Rows of
some groups say what is worth a try. All of the data says what is kept: after a few passes the bound must be higher, or
everything is again as it was. The way back costs little: statistics of shards are values.

Clusters with a posterior have a bound on the evidence. Clusters at a point have none, and each parameter of one costs
half of the log of its rows (BIC).  docs/math.md, section A.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import islice
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from scipy.special import xlogy

from topmix.allocations.doc_topics import DocTopics
from topmix.allocations.finite_dirichlet import FiniteDirichlet
from topmix.allocations.stick_prior import StickPrior
from topmix.data.rows import GroupedRows, Rows
from topmix.data.shard import Batches
from topmix.data.vectors import GroupShard
from topmix.engines import Workers
from topmix.learners import PassResult, State
from topmix.local.groups import MOST_COMMON, GroupStep, GroupVisit
from topmix.models.admixture import Admixture
from topmix.models.mixture import Mixture
from topmix.search.exchanges import EACH, SAMPLE, Halved, Halves, in_two, likeness
from topmix.search.merge import Pair, names_of, of_documents, of_sticks
from topmix.search.trial import LONGEST, RATIOS, TRIAL, Pace
from topmix.stats import MixtureStats, TopicStats

NEAR = 3  # of each cluster, that a merger with is weighed
MOST_TRIED = 2**31
TRIALS = 4  # of one kind, one after another, without success
REFRESH = 3  # passes in which groups part again, after clusters have changed
SMALL = 0.25  # of the mean size: a cluster that others could take the rows of

Phase = Generator[Admixture | None, PassResult, "Here"]
Course = Generator[Admixture | None, PassResult, None]
PHASES = WARMING, QUIET, TRYING, DONE = "warming up", "quiet", "trying", "done"


class Knows(NamedTuple):
    """What the estimator knows of its clusters."""

    halves: Callable[[Admixture], Halves]
    n_parameters: Callable[[Admixture], int]


@dataclass(frozen=True)
class ClusterProblem:
    """What a search has to do, as the parameters of an estimator say."""

    knows: Knows
    max_clusters: int


class Here(NamedTuple):
    """A moment with nothing on trial."""

    model: Admixture
    total: TopicStats
    memo: dict[int, TopicStats]  # of each shard
    memory: dict[int, GroupVisit]
    worth: float  # the bound, less what points cost


class SafePoint(NamedTuple):
    """The last moment with nothing on trial, which a checkpoint can hold."""

    here: Here
    n_passes: int
    known: dict[str, Any]  # what the search knows besides


class Sample(NamedTuple):
    """Some groups, under the present clusters."""

    rows: Rows
    r: np.ndarray  # [rows, K]
    alone: np.ndarray  # [rows, K] the same of rows without their groups
    scale: float  # rows that there are for each of the sample


class Move(NamedTuple):
    what: str
    moved: np.ndarray  # [K, K'] what part of a cluster's rows goes where, in every group
    parts: np.ndarray  # [K', K] what the new clusters have of the statistics of the old
    born: tuple[tuple[np.ndarray, MixtureStats], ...] = ()  # the same of clusters that were divided
    warm_up: int = 0  # passes of groups that start again, from what they have in common


class Resumed(NamedTuple):
    """What a search knows besides the state of learner and workers."""

    phase: str
    random: Mapping[str, Any]  # the generator of samples, when the moves of this phase began
    pace: tuple[float, ...]
    refreshed: int
    moves: dict[str, float]  # for the next record
    worth: float  # of this moment
    tried: int  # moves

    @classmethod
    def read(cls, table: dict[str, Any]) -> Resumed:
        """Of a file: ValueError where it makes no sense."""
        try:
            found = cls(**table)
            numbers = [*found.pace, found.worth, *found.moves.values()]
            is_sound = found.phase in PHASES and len(found.pace) == 2 and all(type(x) is float for x in numbers)
            is_sound = is_sound and bool(np.all(np.isfinite(numbers))) and RATIOS[0] <= found.pace[1] <= RATIOS[1]
            counts = found.refreshed, found.tried
            is_sound = is_sound and all(type(n) is int and 0 <= n <= MOST_TRIED for n in counts)
        except (TypeError, AttributeError) as error:
            raise ValueError(f"what it knows of the search makes no sense: {error}") from error
        if not is_sound:
            raise ValueError("what it knows of the search makes no sense")
        return found


class ClusterSearch:
    def __init__(
        self,
        problem: ClusterProblem,
        workers: Workers,
        state: State,
        data: tuple[GroupedRows, np.ndarray | None, Batches],
        step: GroupStep,
        limits: tuple[int, int, float],
        rng: np.random.Generator,
        found: tuple[Resumed, PassResult, int] | None = None,
    ) -> None:
        """`found` is where an interrupted search goes on: what it knew, the model and total, and the passes made."""
        (self.rows, self.weight, batches), (self.max_iter, self.warm_up, self.quiet_gain) = data, limits
        self.problem, self.workers, self.state, self.step, self.rng = problem, workers, state, step, rng
        self.groups = np.concatenate([np.arange(len(self.rows))[batch] for batch in batches])  # as shards have them
        self.n_passes = 0
        self.pace = Pace()
        self.refreshed = 0  # clusters that there were when groups started again
        self.done_at: int | None = None  # passes, when nothing was left to try
        self.is_ending = False  # whether there is no time left for a trial
        self.moves: dict[str, float] = {}  # made since the last record
        self.on_trial: Here | None = None  # what comes back if the trial fails
        self.was_trial: Here | None = None  # the same of the last pass
        self.safe: SafePoint | None = None  # None in the warm-up
        if found is None:
            self._course = self._from_the_start()
        else:
            known, result, self.n_passes = found
            self._course = self.resumed(known, result)
        self.first = next(self._course)  # the model of the first pass, or None for the learner's own

    def after(self, result: PassResult) -> Admixture | None:
        """The model of the next pass, or None for the learner's own."""
        self.n_passes += 1
        self.was_trial = self.on_trial
        return self._course.send(result) if self.n_passes < self.max_iter else None

    def take_moves(self) -> dict[str, float]:
        moves, self.moves = self.moves, {}
        return moves

    # The course of a search: a `yield` hands out a model and receives what a pass with it found

    def _from_the_start(self, result: PassResult | None = None) -> Course:
        while result is None or self.n_passes <= self.warm_up:
            result = yield None
        yield from self._onwards(self._here(result))

    def resumed(self, known: Resumed, result: PassResult) -> Course:
        """From a moment that a checkpoint holds."""
        self.pace, self.refreshed, self.moves = Pace(*known.pace), known.refreshed, dict(known.moves)
        if known.phase == WARMING:
            return self._from_the_start(result)
        here = self._here(result)._replace(worth=known.worth)
        if known.phase == DONE:
            return self._done(here)
        return self._onwards(here, known.tried if known.phase == TRYING else None)

    def _onwards(self, here: Here, tried: int | None = None) -> Course:
        """From a moment between trials. `tried` moves were tried from here; None: passes still gain."""
        while True:
            if tried is None:
                here = yield from self._quiet(here)
            before, found = self._known(TRYING, here), None
            for n, move in enumerate(islice(self._worth_trying(here), tried, None), tried or 0):
                self._is_safe(here, before | {"tried": n, "moves": dict(self.moves)})
                if self.max_iter - self.n_passes <= TRIAL:
                    self.is_ending, found = True, here
                    break
                found = yield from self._tried(here, move)
                if found is not here:
                    break
                found = None
            if found is None:
                break
            here, tried = found, None
        yield from self._done(here)

    def _done(self, here: Here) -> Course:
        """Another pass, which is the last."""
        self._is_safe(here, self._known(DONE, here))
        self.done_at = self.n_passes
        while True:
            here = self._here((yield self._put(here)))

    def _quiet(self, here: Here) -> Phase:
        """Passes until one gains little."""
        following: Admixture | None = self._put(here)
        while True:
            self._is_safe(here, self._known(QUIET, here))
            now = self._here((yield following))
            gain, here = now.worth - here.worth, now
            self.pace = self.pace.after(gain)
            if gain < self.quiet_gain:
                return here
            following = None

    def _known(self, phase: str, here: Here) -> dict[str, Any]:
        """What the search knows besides the state of learner and workers."""
        state, moves = self.rng.bit_generator.state, dict(self.moves)
        about = Resumed(phase, state, tuple(self.pace), self.refreshed, moves, here.worth, 0)
        return about._asdict()

    def warming(self) -> dict[str, Any]:
        """The same in the warm-up, of which there is little."""
        state = self.rng.bit_generator.state
        return Resumed(WARMING, state, tuple(self.pace), 0, {}, 0.0, 0)._asdict()

    def _is_safe(self, here: Here, known: dict[str, Any]) -> None:
        """From here a search can go on. The last passes, in which there is no time left for a trial, are made again: a
        fit that goes on longer makes others."""
        if not self.is_ending:
            self.safe = SafePoint(here, self.n_passes, known)

    def _tried(self, here: Here, move: Move) -> Phase:
        """Where the search goes on after a trial: `here` where it failed."""
        self.moves[f"try {move.what}"] = 0.0
        self.on_trial, pace, gain = here, Pace(), -np.inf
        following: Admixture | None = self._moved(here, move)
        for age in range(1 - move.warm_up, LONGEST + 1):
            now = self._here((yield following))
            if age > 1:  # the first pass begins lower
                pace = pace.after(now.worth - here.worth - gain)
            gain, following = now.worth - here.worth, None
            if age >= TRIAL and gain > self.pace.promise(age):
                self.moves[move.what], self.pace, self.on_trial = gain, pace, None
                return now
            if age >= TRIAL and gain + pace.promise() <= self.pace.promise():
                break
        self.on_trial, self.moves = None, {f"{move.what}, undone": gain}
        self._put(here)
        return here

    # The state between two passes

    def _here(self, result: PassResult) -> Here:
        total = result.total.copy()
        rows, model = total.S, result.model
        model = replace(model, likelihood=model.likelihood.update(rows.S, rows.N))
        memo = {b: self.state.memo[b] for b in range(self.workers.n_shards)}
        worth = sum(model.bound(total).values()) - self._cost(model, model.sizes)
        return Here(model, total, memo, self.workers.recall(), worth)

    def _put(self, here: Here) -> Admixture:
        """Learner and workers continue from here."""
        self.workers.restore(here.memory)
        for b, stats in here.memo.items():
            self.state.memo[b] = stats
        self.state.total, self.state.pseudo_counts = here.total.copy(), None
        return here.model

    def _moved(self, here: Here, move: Move) -> Admixture:
        """The first pass of other clusters, whose statistics fade into what rows find. Groups have their own counts,
        moved."""
        model = here.model.regrouped(move.moved, here.total.D, move.parts, *move.born)
        seen = {b: visit._replace(groups=moved(visit.groups, move.moved)) for b, visit in here.memory.items()}
        if move.warm_up:
            times = self.step.warm_up - move.warm_up
            seen = {b: GroupVisit(times, moved(visit.groups, np.zeros_like(move.moved))) for b, visit in seen.items()}
        self.workers.restore(seen)
        self.state.memo.clear()
        self.state.total, self.state.pseudo_counts = None, model.as_stats()
        return model

    def _cost(self, model: Admixture, N: np.ndarray) -> float:
        if model.objective == "vb":
            return 0.0
        return 0.5 * self._free(model) * float(np.log(np.maximum(N, 1.0)).sum())

    def _free(self, model: Admixture) -> float:
        """Parameters of a cluster."""
        return self.problem.knows.n_parameters(model) / model.n_components

    # What to try

    def _worth_trying(self, here: Here) -> Iterator[Move]:
        """The most promising first."""
        K, sample = here.model.n_components, self._sample(here)
        pairs, gains = self._pairs(here, sample)
        together = _disjoint([pair for pair, gain in zip(pairs, gains) if gain > 0])
        for n in _sizes(len(together)):
            yield merger(K, together[:n])
        cut = self._in_two(here, sample)
        for n in _sizes(min(len(cut), max(self.problem.max_clusters - K, 0))):
            yield division(K, cut[:n])
        if self.refreshed != K and self.step.warm_up > REFRESH:
            self.refreshed = K
            yield Move("refresh", np.eye(K), np.eye(K), warm_up=REFRESH)
        N = np.maximum(here.model.sizes, 0.0)
        order = np.argsort(N, kind="stable")
        small = order[N[order] < SMALL * N.mean()].tolist()
        for n in _sizes(len(small)):
            yield deletion(K, small[:n], sample.alone)
        for one, pair in _ranked(cut, pairs):
            yield exchange(K, one, pair)

    def _sample(self, here: Here) -> Sample:
        K, data = here.model.n_components, self.rows
        order = self.rng.permutation(len(data))
        n = 1 + int(np.searchsorted(np.cumsum(data.lengths()[self.groups][order]), max(SAMPLE, EACH * K)))
        at = order[:n]
        of_groups, starts = data.of_groups(self.groups[at])
        weight = None if self.weight is None else self.weight[of_groups]
        piece = GroupShard(np.ascontiguousarray(data.data[of_groups]), slice(0, int(starts[-1])), weight, starts)
        counts, tables = self._counts(here)[at].toarray(), here.model.tables(piece.cols)
        kept = np.flatnonzero(np.ones(piece.n_rows) if weight is None else weight)

        def shares(N: np.ndarray, common: float) -> np.ndarray:
            a, r = self.step.solved(piece, tables, N, common=common).assignment, np.zeros((piece.n_rows, K))
            np.put_along_axis(r, a.cluster.astype(np.intp), a.r.astype(np.float64), axis=1)
            return r[kept] if weight is None else r[kept] * weight[kept, None]

        r, alone = shares(counts, 0.0), shares(np.zeros_like(counts), MOST_COMMON * float(piece.lengths.mean()))
        scale = float(here.model.sizes.sum() / max(r.sum(), 1e-300))
        return Sample(Rows(piece.data[kept], check=False), r, alone, scale)

    def _counts(self, here: Here) -> sp.csr_array:
        """[groups, K] as shards have them."""
        K = here.model.n_components
        return sp.vstack([_matrix(here.memory[b].groups, K) for b in range(self.workers.n_shards)], format="csr")

    def _pairs(self, here: Here, sample: Sample) -> tuple[list[Pair], np.ndarray]:
        """Pairs of clusters that have rows in common, and what a merger of each would gain; the best first. All is
        exact but the entropy of rows that are in both."""
        model, (K, D), r = here.model, (here.model.n_components, here.total.D), sample.r
        near, prior = likeness(sample.alone), model.prior
        assert isinstance(prior, StickPrior)
        near = near + near.T
        best = np.argsort(-near, axis=1, kind="stable")[:, :NEAR]
        found = sorted({(min(j, k), max(j, k)) for j, row in enumerate(best.tolist()) for k in row if near[j, k] > 0})
        if not found:
            return [], np.zeros(0)
        S, N = model.as_stats().S, np.maximum(model.sizes, 0.0)
        now = model.likelihood.bound(S.S, N) - self._cost(model, N) + of_sticks(prior, np.arange(K), D)
        gains = of_documents(sp.csc_array(self._counts(here)), prior, D, found) - now
        for i, (j, k) in enumerate(found):
            parts = merger(K, [(j, k)]).parts
            likelihood, sizes = model.likelihood.regrouped([(parts, S.S)], parts @ N), parts @ N
            gains[i] += likelihood.bound(likelihood.total, sizes) - self._cost(model, sizes)
            gains[i] += of_sticks(prior, names_of(K, [(j, k)]), D)
            a, b = r[:, j], r[:, k]
            gains[i] -= sample.scale * float(np.sum(xlogy(a + b, a + b) - xlogy(a, a) - xlogy(b, b)))
        order = np.argsort(-gains, kind="stable")
        return [found[i] for i in order], gains[order]

    def _in_two(self, here: Here, sample: Sample) -> list[Halved]:
        model, K = here.model, here.model.n_components
        weights = FiniteDirichlet.uniform(1.0 / K, K, model.objective).update(np.maximum(model.sizes, 0.0))
        clusters = Mixture(weights, model.likelihood, model.n_features, K)
        return in_two(clusters, sample.rows, sample.r, self.problem.knows.halves(model), 0.0)


def merger(K: int, pairs: list[Pair]) -> Move:
    """Each of these pairs as one cluster; no cluster is in two of them."""
    names = names_of(K, pairs)
    moved = np.eye(int(names.max()) + 1)[names]
    return Move(" ".join(["merge", *(f"{j}+{k}" for j, k in pairs)]), moved, moved.T.copy())


def division(K: int, halved: list[Halved]) -> Move:
    """Each of these clusters as two."""
    n = len(halved)
    moved, parts, born = np.eye(K, K + n), np.eye(K + n, K), []
    for i, (k, _, stats, scale) in enumerate(halved):
        moved[k, K + i] = stats.N[1] / stats.N.sum()
        moved[k, k], parts[k, k] = 1.0 - moved[k, K + i], 0.0
        places = np.zeros((K + n, 2))
        places[k, 0] = places[K + i, 1] = scale
        born.append((places, stats))
    return Move(f"birth {n}", moved, parts, tuple(born))


def deletion(K: int, gone: list[int], r: np.ndarray) -> Move:
    """Without these clusters. Groups had rows of them: they start in the clusters that share most of these."""
    kept = np.delete(np.arange(K), gone)
    moved = np.eye(K)[:, kept]
    parts = moved.T.copy()
    for k in gone:
        shared = (r[:, k] @ r)[kept] + 1e-12
        moved[k] = shared / shared.sum()
    return Move(" ".join(["delete", *map(str, gone)]), moved, parts)


def exchange(K: int, halved: Halved, pair: Pair) -> Move:
    """One cluster as two, and two others as one."""
    first, second = merger(K, [pair]), division(K, [halved])
    names = np.append(names_of(K, [pair]), K - 1)  # of the K clusters and the new one
    join = np.eye(K)[names]
    born = tuple((join.T @ places, stats) for places, stats in second.born)
    return Move(f"exchange {halved.cluster} {first.what}", second.moved @ join, join.T @ second.parts, born)


def moved(groups: DocTopics, M: np.ndarray) -> DocTopics:
    """Counts of groups, after clusters have gone where M says."""
    rows = sp.csr_array(_matrix(groups, len(M)) @ sp.csr_array(M))
    rows.sort_indices()
    return DocTopics(rows.indptr.astype(np.int64), rows.indices.astype(np.uint16), rows.data.astype(np.float32))


def _matrix(groups: DocTopics, K: int) -> sp.csr_array:
    shape = (len(groups.indptr) - 1, K)
    return sp.csr_array((groups.count.astype(np.float64), groups.topic.astype(np.int32), groups.indptr), shape=shape)


def _disjoint(pairs: list[Pair]) -> list[Pair]:
    used: set[int] = set()
    found = []
    for pair in pairs:
        if used.isdisjoint(pair):
            found.append(pair)
            used.update(pair)
    return found


def _sizes(n: int) -> list[int]:
    """All at once, then half of them, down to the best alone."""
    return [] if n < 1 else [n, *_sizes(n // 2)]


def _ranked(cut: list[Halved], pairs: list[Pair]) -> list[tuple[Halved, Pair]]:
    """A cluster to divide and two others to merge, the most promising first."""
    ranks = sorted((a + b, a, b) for a in range(len(cut)) for b in range(len(pairs)) if cut[a].cluster not in pairs[b])
    return [(cut[a], pairs[b]) for _, a, b in ranks[:TRIALS]]
