"""Documents under fixed topics: their proportions, and a bound on their likelihood."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from topmix import _core
from topmix.allocations.doc_topics import DocTopics
from topmix.data.shard import Shard
from topmix.local.solve import solve
from topmix.local.step import StepResult
from topmix.models.topics import TopicTables
from topmix.numerics.blas import one_thread


class FoldedIn(NamedTuple):
    docs: DocTopics
    bound: float  # on the documents' log likelihood; NaN unless asked for


@dataclass(frozen=True)
class FoldIn:
    want_bound: bool = False

    def __call__(self, shard: Shard, tables: TopicTables, memory: object, scratch: _core.TopicScratch) -> StepResult:
        prior = tables.prior_of(shard)
        words, docs, H, _ = solve(shard, tables, scratch, want_words=self.want_bound, prior=prior)
        if not self.want_bound:
            return StepResult(FoldedIn(docs, float("nan")))
        table, log_scale = tables.words.table, tables.words.log_scale  # Eq. (3.13)
        word = np.repeat(np.arange(len(shard.cols)), np.diff(words.indptr))
        log_phi = np.log(table[word, words.topic].astype(np.float64)) + log_scale[word]
        stats = prior.summarise(words, docs, shard.lengths, H)
        with one_thread():  # a sum of many terms has other last digits on several
            of_words = float(words.value @ log_phi)
        return StepResult(FoldedIn(docs, of_words + H + prior.documents(stats)))
