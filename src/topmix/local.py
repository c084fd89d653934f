"""Local steps: one shard under one set of tables, summarised. This is where Python ends and kernels begin."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any, NamedTuple, Protocol

import numpy as np

from topmix import _core
from topmix.allocations.lda import DocTopics
from topmix.data.shard import Shard
from topmix.models.mixture import Likelihood, MixtureTables
from topmix.models.topics import TopicTables
from topmix.stats import MixtureStats, TopicStats, WordStats


class LocalStep(Protocol):
    """Tables in, statistics out. `memory` is what the step wants to see again when this shard comes back."""

    def __call__(self, shard: Shard, tables: Any, memory: Any, threads: int) -> tuple[Any, Any]: ...


PAIRS_A_CLUSTER = 512  # in a piece, on average: then moments by cluster are products of matrices that are not thin


@dataclass(frozen=True)
class MixtureStep:
    """Each row to its L best clusters.  docs/math.md Eqs. (1.4)-(1.7)."""

    likelihood: type[Likelihood]
    n_active: int  # L

    def __call__(self, shard: Any, tables: MixtureTables, memory: Any, threads: int) -> tuple[MixtureStats, Any]:
        total: MixtureStats | None = None
        for piece in shard.pieces(rows_at_a_time(len(tables.log_weights), self.n_active, len(shard.cols))):
            a = self.likelihood.assign(piece, tables.likelihood, tables.log_weights, self.n_active, threads)
            stats = self.summary(piece, a, tables, threads)
            total = stats if total is None else total.add(stats)
        assert total is not None  # every shard is one piece at least
        return total, None

    def summary(self, piece: Any, a: Any, tables: MixtureTables, threads: int) -> MixtureStats:
        K = len(tables.log_weights)
        weight = np.ones(piece.n_rows) if piece.weight is None else piece.weight
        N = np.bincount(a.cluster.ravel(), (a.r * weight[:, None]).ravel(), minlength=K)
        S = self.likelihood.summarise(piece, a, K, threads)
        return MixtureStats(S, N, float(np.sum(weight * a.entropy)), float(weight.sum()))


class Whereabouts(NamedTuple):
    """What a candidate step remembers of a shard."""

    visits: int
    best: np.ndarray  # [rows] int32, the best cluster of each row


@dataclass(frozen=True)
class CandidateStep(MixtureStep):
    """As MixtureStep, but most visits score a row by the clusters near its last best one, and by no others.

    What is not scored has r = 0, so the bound is that of the r that were found and never overstated; it may fall where
    a cluster moves away from a row that has a better one out of sight, until the next full scan.
    """

    full_every: int = 10  # visits

    def __call__(
        self, shard: Any, tables: MixtureTables, memory: Whereabouts | None, threads: int
    ) -> tuple[MixtureStats, Whereabouts]:
        visits = memory.visits if memory else 0
        K, D, L = len(tables.log_weights), len(shard.cols), self.n_active
        total: MixtureStats | None = None
        best, begin = np.empty(shard.n_rows, np.int32), 0
        # Rows of one cluster are scored together, so more rows at a time than a full scan needs.
        for piece in shard.pieces(max(rows_at_a_time(K, L, D), min(1 << 18, (1 << 24) // D))):
            rows = slice(begin, begin + piece.n_rows)
            args = (piece, tables.likelihood, tables.log_weights, L)
            if memory is None or visits % self.full_every == 0:
                a = self.likelihood.assign(*args, threads)
            else:
                a = self.likelihood.assign_near(*args, memory.best[rows], threads)  # type: ignore[attr-defined]
            best[rows] = np.take_along_axis(a.cluster, a.r.argmax(axis=1)[:, None], axis=1)[:, 0]
            stats = self.summary(piece, a, tables, threads)
            total = stats if total is None else total.add(stats)
            begin += piece.n_rows
        assert total is not None
        return total, Whereabouts(visits + 1, best)


def rows_at_a_time(K: int, L: int, D: int) -> int:
    """Of dense rows: enough for each cluster to have its share, and few enough that they and their r stay small."""
    return int(np.clip(PAIRS_A_CLUSTER * K // L, 4096, max(1, min(1 << 16, (1 << 24) // max(D, L)))))


class Visited(NamedTuple):
    """What a topic step remembers of a shard."""

    times: int
    docs: DocTopics | None  # where its documents were left, if the next visit has a use for it


class FoldedIn(NamedTuple):
    """Documents under fixed topics."""

    docs: DocTopics
    bound: float


@dataclass
class TopicStep:
    """Each document to its topics, each word of it to its L best.  docs/math.md Eqs. (3.5)-(3.9)."""

    options: _core.TopicOptions
    cold_visits: int | None = None  # visits that start from the words alone; later ones where the last left off
    cold_start: Callable[[Shard], np.ndarray] | None = None  # counts [documents, K] for those visits instead

    def __post_init__(self) -> None:
        self.scratch = _core.TopicScratch()
        self.effort = np.zeros(3, np.int64)  # iterations, restarts tried, restarts accepted
        self.partner: np.ndarray | None = None  # [K] int32, topics that may be merged: whose entropy to look at
        self.lost: np.ndarray = np.zeros(0)  # [K] what merging them would take from it, since last asked

    def __getstate__(self) -> dict[str, Any]:
        """Native objects stay behind: the machine that unpickles may run another instruction set."""
        return {
            "options": self.options.arguments(),
            "cold_visits": self.cold_visits,
            "cold_start": self.cold_start,
        }

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.options, self.cold_visits = _core.TopicOptions(*state["options"]), state["cold_visits"]
        self.cold_start = state["cold_start"]
        self.__post_init__()

    def __call__(
        self, shard: Shard, tables: TopicTables, memory: Visited | None, threads: int
    ) -> tuple[TopicStats, Visited]:
        times, left = memory or (0, None)
        start: DocTopics | np.ndarray | None = None if self._is_cold(times) else left
        if start is None and self.cold_start is not None:
            start = self.cold_start(shard)
        discounts = self.options.own_discount > 0
        words, docs, H, effort = self.solve(shard, tables, threads, start=start, last=left if discounts else None)
        self.effort += effort
        if self.partner is not None:
            lost = np.empty(len(self.partner))
            _core.merged_entropy(self.scratch, self.options.arguments()[4], self.partner, threads, lost)
            self.lost += lost
        wanted = discounts or not self._is_cold(times + 1)
        return tables.prior.summarise(words, docs, shard.lengths, H), Visited(times + 1, docs if wanted else None)

    def _is_cold(self, times: int) -> bool:
        return self.cold_visits is None or times < self.cold_visits

    def watch(self, partner: np.ndarray | None) -> None:
        """Begins to gather what merging these pairs would take from the entropy, at the lower topic of each."""
        self.partner, self.lost = partner, np.zeros(0 if partner is None else len(partner))

    def take_effort(self) -> dict[str, float]:
        """What was done since last asked."""
        iterations, tried, accepted = (float(x) for x in self.effort)
        self.effort[:] = 0
        return {"iterations": iterations, "restarts": tried, "accepted": accepted}

    def fold_in(self, shard: Shard, tables: TopicTables, threads: int, want_words: bool) -> FoldedIn:
        """Documents under fixed topics. `bound`, on their log likelihood, is NaN unless word statistics are wanted.

        Eq. (3.13).
        """
        words, docs, H, _ = self.solve(shard, tables, threads, want_words=want_words)
        if not want_words:
            return FoldedIn(docs, float("nan"))
        table, log_scale = tables.words.table, tables.words.log_scale
        word = np.repeat(np.arange(len(shard.cols)), np.diff(words.indptr))
        log_phi = np.log(table[word, words.topic].astype(np.float64)) + log_scale[word]
        stats = tables.prior.summarise(words, docs, shard.lengths, H)
        return FoldedIn(docs, float(words.value @ log_phi) + H + tables.prior.documents(stats))

    def solve(
        self,
        shard: Shard,
        tables: TopicTables,
        threads: int,
        *,
        start: DocTopics | np.ndarray | None = None,
        last: DocTopics | None = None,
        want_words: bool = True,
    ) -> tuple[WordStats, DocTopics, float, tuple[int, int, int]]:
        """Documents cold, or from counts: of their last visit, or dense [documents, K].

        `last` is that visit, where the words' counts hold it and it is to be discounted.

        Returns word statistics (empty unless wanted), the documents' topics, the entropy, and the effort.
        """
        dense = np.ascontiguousarray(start, np.float32) if isinstance(start, np.ndarray) else None
        left = start if isinstance(start, DocTopics) else DocTopics(None, None, None)  # type: ignore[arg-type]
        words, docs, H, effort = _core.topics_step(
            shard.indptr,
            shard.index,
            shard.value,
            shard.starts,
            shard.order,
            tables.words.table,
            tables.prior.alpha.astype(np.float32),
            self.options,
            left.indptr,
            left.topic,
            left.count,
            dense,
            None if last is None else (last.indptr, last.topic, last.count, *tables.words[1:]),
            want_words,
            threads,
            self.scratch,
        )
        return WordStats(shard.cols, *words), DocTopics(*docs), H, effort


@dataclass
class OnlineStep:
    """SCVB0: each token moves its document's online average; nothing is kept.  cpp/local/scvb0.hpp has the equations.

    What a shard remembers is how often it was visited: with the seed and the row it decides the order of tokens.
    """

    n_active: int  # L
    scale: float = 1.0  # of the document's step size, s / (tau + t)^kappa; t counts its tokens in this visit
    offset: float = 10.0
    decay: float = 0.9
    burn_in: int = 1
    seed: int = 0

    def __post_init__(self) -> None:
        self.scratch, self.updates = _core.TopicScratch(), 0

    def __getstate__(self) -> dict[str, Any]:
        """As with TopicStep."""
        return asdict(self)

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__init__(**state)  # type: ignore[misc]

    def __call__(
        self,
        shard: Shard,
        tables: TopicTables,
        memory: Visited | None,
        threads: int,
        averages: np.ndarray | None = None,
    ) -> tuple[TopicStats, Visited]:
        """`averages` [documents, K] receives N^Theta, for those who want to see it."""
        visits = memory.times if memory else 0
        words, docs, H, updates = _core.scvb0_step(
            shard.indptr,
            shard.index,
            shard.value,
            shard.starts,
            shard.order,
            tables.words.table,
            tables.prior.alpha.astype(np.float32),
            self.scale,
            self.offset,
            self.decay,
            self.burn_in,
            self.n_active,
            self.seed,
            visits,
            threads,
            self.scratch,
            averages,
        )
        self.updates += updates
        stats = tables.prior.summarise(WordStats(shard.cols, *words), DocTopics(*docs), shard.lengths, H)
        return stats, Visited(visits + 1, None)

    def take_effort(self) -> dict[str, float]:
        updates, self.updates = self.updates, 0
        return {"updates": float(updates)}


class Gammas(NamedTuple):
    """What CVB0 remembers of a shard: where each entry was left."""

    topic: np.ndarray  # [nnz, L] uint16
    share: np.ndarray  # [nnz, L] float32


@dataclass
class ExcludingStep:
    """CVB0: every entry keeps its gamma and is left out of all counts when updated.  cpp/local/cvb0.hpp."""

    n_active: int  # L
    burn_in: int = 1  # sweeps over a document before it is counted for the first time; later each visit makes one

    def __post_init__(self) -> None:
        self.sweeps = 0

    def __call__(
        self, shard: Shard, tables: TopicTables, memory: Gammas | None, threads: int
    ) -> tuple[TopicStats, Gammas]:
        words, docs, H, sweeps, gammas = _core.cvb0_step(
            shard.indptr,
            shard.index,
            shard.value,
            shard.starts,
            shard.order,
            tables.words.table,
            tables.words.log_scale,
            tables.words.norm,
            tables.prior.alpha.astype(np.float32),
            self.n_active,
            self.burn_in,
            tables.words.least,
            None if memory is None else memory.topic,
            None if memory is None else memory.share,
            threads,
        )
        self.sweeps += sweeps
        stats = tables.prior.summarise(WordStats(shard.cols, *words), DocTopics(*docs), shard.lengths, H)
        return stats, Gammas(*gammas)

    def take_effort(self) -> dict[str, float]:
        sweeps, self.sweeps = self.sweeps, 0
        return {"iterations": float(sweeps)}
