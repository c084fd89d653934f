"""Local steps: one shard under one set of tables, summarised. This is where Python ends and kernels begin."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from topmix import _core
from topmix.allocations.lda import DocTopics
from topmix.data.shard import Shard
from topmix.model import Likelihood, MixtureTables
from topmix.stats import MixtureStats, TopicStats, WordStats
from topmix.topic_model import TopicTables


class LocalStep(Protocol):
    """Tables in, statistics out. `memory` is what the step wants to see again when this shard comes back."""

    def __call__(self, shard: Shard, tables: Any, memory: Any, threads: int) -> tuple[Any, Any]: ...


@dataclass(frozen=True)
class MixtureStep:
    """Each row to its L best clusters.  docs/math.md Eqs. (1.4)-(1.7)."""

    likelihood: type[Likelihood]
    n_active: int  # L

    def __call__(
        self, shard: Shard, tables: MixtureTables, memory: None, threads: int
    ) -> tuple[MixtureStats, None]:
        K = len(tables.log_weights)
        a = self.likelihood.assign(shard, tables.likelihood, tables.log_weights, self.n_active, threads)
        weight = np.ones(shard.n_rows) if shard.weight is None else shard.weight
        N = np.bincount(a.cluster.ravel(), (a.r * weight[:, None]).ravel(), minlength=K)
        S = self.likelihood.summarise(shard, a, K, threads)
        return MixtureStats(S, N, float(weight @ a.entropy), float(weight.sum())), None


@dataclass
class TopicStep:
    """Each document to its topics, each word of it to its L best.  docs/math.md Eqs. (3.5)-(3.9)."""

    options: Any  # _core.TopicOptions
    warm: bool = False  # start a document where it was left

    def __post_init__(self) -> None:
        self.scratch = _core.TopicScratch()
        self.effort = np.zeros(3, np.int64)  # iterations, restarts tried, restarts accepted

    def __call__(
        self, shard: Shard, tables: TopicTables, memory: DocTopics | None, threads: int
    ) -> tuple[TopicStats, DocTopics | None]:
        start = (memory.indptr, memory.topic, memory.count) if memory is not None else (None, None, None)
        words, docs, H, effort = self.solve(shard, tables, start, None, True, threads)
        self.effort += effort
        lengths = np.add.reduceat(np.append(shard.value, 0).astype(np.float64), shard.indptr[:-1])
        lengths[np.diff(shard.indptr) == 0] = 0
        G, A, T = tables.prior.terms(docs, lengths)
        stats = TopicStats(WordStats(shard.cols, *words), float(shard.n_rows), H, G, A, T)
        return stats, docs if self.warm else None

    def solve(self, shard, tables, start, dense, want_words, threads):
        words, docs, H, effort = _core.topics_step(
            shard.indptr, shard.index, shard.value, shard.starts, shard.order, tables.words.table,
            tables.prior.alpha.astype(np.float32), self.options, *start, dense, want_words, threads, self.scratch,
        )  # fmt: skip
        return words, DocTopics(*docs), H, effort
