"""The local step of SCVB0: each token moves its document's online average.  cpp/local/scvb0.hpp has the equations."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from topmix import _core
from topmix.allocations.doc_topics import DocTopics
from topmix.data.shard import Shard
from topmix.local.step import StepResult
from topmix.local.topics import Visit
from topmix.models.topics import TopicTables
from topmix.numerics.threads import threads
from topmix.stats import WordStats


@dataclass(frozen=True)
class SCVB0Step:
    """The step size of a document is scale / (offset + t)^decay; t counts its tokens in this visit.

    A shard remembers only how often it was visited. With the seed and the row this decides the order of tokens.
    """

    burn_in: int = 1  # passes over a document before the one that counts
    scale: float = 1.0
    offset: float = 10.0
    decay: float = 0.6
    seed: int = 0

    def __call__(
        self,
        shard: Shard,
        tables: TopicTables,
        memory: Visit | None,
        scratch: _core.TopicScratch,
        averages: np.ndarray | None = None,
    ) -> StepResult:
        """`averages` [documents, K] receives N^Theta, for tests."""
        visits, L = memory.times if memory else 0, tables.document_options.L(tables.words.table.shape[1])
        options = _core.SCVB0Options(self.scale, self.offset, self.decay, self.burn_in, L, self.seed)
        prior = tables.prior_of(shard)
        alpha = prior.alpha.astype(np.float32)
        words, docs, H, updates = _core.scvb0_step(
            shard.native, tables.words.table, alpha, options, visits, threads(), scratch, averages, prior.own()
        )
        stats = prior.summarise(WordStats(shard.cols, *words), DocTopics(*docs), shard.lengths, H)
        return StepResult(stats, Visit(visits + 1), {"updates": float(updates)})
