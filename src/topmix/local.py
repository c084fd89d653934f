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

    def __call__(self, shard: Shard, tables: MixtureTables, memory: None, threads: int) -> tuple[MixtureStats, None]:
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
        words, docs, H, effort = self.solve(shard, tables, threads, start=memory)
        self.effort += effort
        G, A, T = tables.prior.terms(docs, shard.lengths)
        return TopicStats(words, float(shard.n_rows), H, G, A, T), docs if self.warm else None

    def solve(
        self,
        shard: Shard,
        tables: TopicTables,
        threads: int,
        *,
        start: DocTopics | np.ndarray | None = None,
        want_words: bool = True,
    ) -> tuple[WordStats, DocTopics, float, tuple[int, int, int]]:
        """Documents cold, or from counts: of their last visit, or dense [documents, K].

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
            want_words,
            threads,
            self.scratch,
        )
        return WordStats(shard.cols, *words), DocTopics(*docs), H, effort
