"""The local steps of topic models on the device: the CUDA backends of TopicStep and FoldIn.

HDP is half there. Its documents are solved by the kernels of LDA, but statistics and topics of documents come back to
the host, where moves read and edit them: counts stay exact on the device only where nobody edits them.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import NamedTuple, TypeVar

import numpy as np

from topmix.corpus.shard import Shards, SomeShard
from topmix.cuda.device import Device, Spillable
from topmix.cuda.sampling import sample
from topmix.cuda.shard import CorpusOnDevice, DeviceDocs, DeviceShard
from topmix.cuda.solve import DeviceOwnPriors, Solved, solve
from topmix.cuda.words import UNIT, DeviceTokenStats, DeviceWordStats, DeviceWordTotal
from topmix.models.document_prior import DocumentPrior
from topmix.models.model import SomeSums
from topmix.models.sparse_counts import EntryStats, TokenStats
from topmix.models.statistics import TopicStats
from topmix.models.topics import TopicModel, TopicTables
from topmix.steps import Info, LocalStep, StepResult
from topmix.steps.documents import FoldedIn, FoldIn, TopicStep, Visit

M = TypeVar("M")


class DeviceVisit(NamedTuple):
    """What is remembered of a shard, as steps.documents.Visit has it on the host."""

    times: int
    docs: DeviceDocs | None = None
    z: Spillable | None = None


@dataclass(frozen=True)
class TopicBackend:
    """What both steps need: documents and models on the device."""

    step: LocalStep
    device: Device
    unit: float
    corpus: CorpusOnDevice | None = None  # that shards are made from

    @classmethod
    def open(cls, step: LocalStep, device: Device, shards: Shards, precision: str, threads: int) -> TopicBackend:
        largest = float(np.max(shards.corpus.value, initial=0.0))  # type: ignore[union-attr]
        return cls(step, device, unit_of(largest), CorpusOnDevice.of(shards, device))

    def shard(self, shards: Shards, b: int) -> DeviceShard:
        if self.corpus is None:
            return DeviceShard.of(shards[b], self.device)
        return self.corpus.shard(shards.rows[b], b)

    def close(self) -> None:
        if self.corpus is not None:
            self.corpus.arrays.clear()

    def place(self, model: M) -> M:
        if not isinstance(model, TopicModel):
            return model
        if model.words.held is not None:
            raise ValueError("engine='cuda' has no banned or pinned words and no frozen topics: use engine='threads'")
        if not (model.prior.is_shared or model.prior.learned):
            raise ValueError("engine='cuda' has no kernel for labels yet: use engine='threads'")
        total: SomeSums = model.words.total
        if model.prior.is_process or total.is_exact:  # it is there already
            return model
        total = DeviceWordTotal.of(self.device, total, self.unit)
        return replace(model, words=model.words.update(total))

    def placed(self, shard: SomeShard, stats: TopicStats) -> TopicStats:
        """Statistics of a shard, on the device: as they are, or from a file."""
        if isinstance(stats.S, TokenStats):
            z = self.device.spillable(self.device.array(stats.S.z, np.uint16))
            return replace(stats, S=DeviceTokenStats(shard, z, stats.S.totals))
        return replace(stats, S=DeviceWordStats.of(shard, stats.S)) if isinstance(stats.S, EntryStats) else stats

    def stats(self, shard: DeviceShard, tables: TopicTables, new: Solved, own: DeviceOwnPriors | None) -> TopicStats:
        """On the device, or on the host where the number of topics may change: moves read and edit statistics."""
        if own is not None:
            return own.stats(new.words, new.docs, new.entropy)
        prior = tables.prior.of(shard.design)
        if isinstance(prior, DocumentPrior):
            return prior.stats(new.words, new.sums, new.entropy)
        words = None if new.words is None else new.words.on_host(self.unit)
        return prior.summarise(words, new.docs.on_host(), shard.lengths, new.entropy)


@dataclass(frozen=True)
class CudaTopicStep(TopicBackend):
    step: TopicStep

    def __call__(self, shard: DeviceShard, tables: TopicTables, memory: DeviceVisit | None) -> StepResult:
        times, last, z = memory or DeviceVisit(0)
        own = DeviceOwnPriors.of(shard, tables.prior)
        if (sampling := tables.document_options.sampling) is not None:
            new = sample(self.device, shard, tables, sampling, self.unit, z, last, own)
            z = new.words.z if isinstance(new.words, DeviceTokenStats) else None
            info: Info = {"moved": float(new.moved)}
            return StepResult(self.stats(shard, tables, new, own), DeviceVisit(0, new.docs, z), info)
        start = None if self.step.is_cold(times) else last
        discounts = tables.document_options.own_discount > 0
        new = solve(self.device, shard, tables, self.unit, start=start, last=last if discounts else None, own=own)
        info = {name: float(getattr(new, name)) for name in ("iterations", "restarts", "accepted")}
        if tables.partner is not None and isinstance(new.words, DeviceWordStats):
            info["merge_entropy"] = new.words.merged_entropy(tables.partner, self.unit)
        is_needed = discounts or not self.step.is_cold(times + 1)
        docs = new.docs if is_needed else None
        return StepResult(self.stats(shard, tables, new, own), DeviceVisit(times + 1, docs), info)


@dataclass(frozen=True)
class CudaFoldIn(TopicBackend):
    step: FoldIn

    def __call__(self, shard: DeviceShard, tables: TopicTables, memory: object) -> StepResult:
        want_bound = self.step.want_bound
        own = DeviceOwnPriors.of(shard, tables.prior)
        new = solve(self.device, shard, tables, self.unit, want_words=False, want_bound=want_bound, own=own)
        if not want_bound:
            return StepResult(FoldedIn(new.docs.on_host(), float("nan")))
        prior = tables.prior.of(shard.design) if own is None else tables.prior
        bound = new.bound + new.entropy + prior.documents(self.stats(shard, tables, new, own))  # Eq. (3.13)
        return StepResult(FoldedIn(new.docs.on_host(), bound))


def on_host(device: Device, memory: object) -> object:
    """What is remembered of a shard, as the processor would have it."""
    if not isinstance(memory, DeviceVisit):
        return memory
    docs = None if memory.docs is None else memory.docs.on_host()
    return Visit(memory.times, docs, None if memory.z is None else device.get(memory.z))


def on_device(device: Device, memory: object) -> object:
    if not isinstance(memory, Visit):
        return memory
    docs = None if memory.docs is None else DeviceDocs.of(device, memory.docs)
    z = None if memory.z is None else device.spillable(device.array(memory.z, np.uint16))
    return DeviceVisit(memory.times, docs, z)


def unit_of(largest: float) -> float:
    """Parts of a token that are counted: 2^20, or fewer where a word has so many tokens in a document that its share
    would not fit into 32 bits."""
    unit = UNIT
    while unit * (largest + 1.0) > 2.0**32:
        unit /= 2
    return unit


TOPIC_BACKENDS: dict[type, type[TopicBackend]] = {TopicStep: CudaTopicStep, FoldIn: CudaFoldIn}
