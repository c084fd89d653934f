"""The local step of topic models: documents solved by a fixed point.  docs/math.md Eqs. (3.5)-(3.9)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from topmix import _core
from topmix.allocations.doc_topics import DocTopics
from topmix.data.shard import Shard
from topmix.local.sample import sample
from topmix.local.solve import solve
from topmix.local.step import Info, StepResult
from topmix.models.topics import TopicTables
from topmix.numerics.threads import threads


class Visit(NamedTuple):
    """What a topic step remembers of a shard."""

    times: int  # visits so far; sampling starts the count again
    docs: DocTopics | None = None  # the topics of its documents, if the next visit needs them
    z: np.ndarray | None = None  # [tokens] uint16, while tokens are sampled


@dataclass(frozen=True)
class TopicStep:
    """How a document is solved travels in the tables; here is only where it starts."""

    cold_visits: int | None = None  # visits that start from the words alone; later ones start from the last visit
    cold_start: Callable[[Shard], np.ndarray] | None = None  # counts [documents, K] to start cold visits from

    def __call__(
        self, shard: Shard, tables: TopicTables, memory: Visit | None, scratch: _core.TopicScratch
    ) -> StepResult:
        times, last, z = memory or Visit(0)
        options, prior = tables.document_options, tables.prior_of(shard)
        if options.sampling is not None:
            sampled = sample(shard, tables, options.sampling, z, last, prior)
            stats = prior.summarise(sampled.words, sampled.docs, shard.lengths, 0.0)
            return StepResult(stats, Visit(0, sampled.docs, sampled.z), {"moved": float(sampled.moved)})
        start: DocTopics | np.ndarray | None = None if self.is_cold(times) else last
        if start is None and self.cold_start is not None:
            start = self.cold_start(shard)
        discounts = options.own_discount > 0
        before = last if discounts else None
        words, docs, H, effort = solve(shard, tables, scratch, start=start, last=before, prior=prior)
        info: Info = dict(zip(("iterations", "restarts", "accepted"), map(float, effort)))
        if tables.partner is not None:
            info["merge_entropy"] = _merge_entropy(tables, tables.partner, scratch)
        is_needed = discounts or not self.is_cold(times + 1)
        stats = prior.summarise(words, docs, shard.lengths, H)
        return StepResult(stats, Visit(times + 1, docs if is_needed else None), info)

    def is_cold(self, times: int) -> bool:
        return self.cold_visits is None or times < self.cold_visits


def _merge_entropy(tables: TopicTables, partner: np.ndarray, scratch: _core.TopicScratch) -> np.ndarray:
    """[K] what merging the pairs would take from the entropy of this shard, at the lower topic of each pair."""
    lost = np.empty(len(partner))
    _core.merged_entropy(scratch, tables.document_options.L(len(partner)), partner, threads(), lost)
    return lost
