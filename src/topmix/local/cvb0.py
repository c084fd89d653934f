"""The local step of CVB0: every entry keeps its gamma and is left out of all counts when it is updated.

cpp/local/cvb0.hpp has the equations.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from topmix import _core
from topmix.allocations.doc_topics import DocTopics
from topmix.data.shard import Shard
from topmix.local.step import StepResult
from topmix.models.topics import TopicTables
from topmix.numerics.threads import threads
from topmix.stats import WordStats


class Gammas(NamedTuple):
    """What CVB0 remembers of a shard: the responsibilities of each entry."""

    topic: np.ndarray  # [nnz, L] uint16
    share: np.ndarray  # [nnz, L] float32


@dataclass(frozen=True)
class CVB0Step:
    burn_in: int = 1  # sweeps over a document before it is counted for the first time; later visits make one

    def __call__(
        self, shard: Shard, tables: TopicTables, memory: Gammas | None, scratch: _core.TopicScratch
    ) -> StepResult:
        prior = tables.prior_of(shard)
        alpha, L = prior.alpha.astype(np.float32), tables.document_options.L(tables.words.table.shape[1])
        words, docs, H, sweeps, gammas = _core.cvb0_step(
            shard.native, tables.words, alpha, L, self.burn_in, memory, threads(), prior.own()
        )
        stats = prior.summarise(WordStats(shard.cols, *words), DocTopics(*docs), shard.lengths, H)
        return StepResult(stats, Gammas(*gammas), {"iterations": float(sweeps)})
