"""The local steps of topic models on the device: the CUDA backends of local/topics.py and local/fold_in.py."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from topmix.allocations.document_prior import DocumentPrior
from topmix.allocations.stick_prior import StickPrior
from topmix.cuda.device import Device
from topmix.cuda.gather import CorpusOnDevice
from topmix.cuda.sample import sample
from topmix.cuda.shard import DeviceDocs, DeviceShard
from topmix.cuda.solve import Solved, solve
from topmix.cuda.word_stats import DeviceTokenStats, DeviceWordStats
from topmix.cuda.word_total import UNIT, DeviceWordTotal
from topmix.data.shard import Shards
from topmix.local import Info, StepResult
from topmix.local.fold_in import FoldedIn, FoldIn
from topmix.local.topics import TopicStep, Visit
from topmix.models.topics import TopicModel, TopicTables
from topmix.stats import TopicStats, WordTotal
from topmix.stats.entries import EntryStats, TokenStats

EFFORT = "iterations", "restarts", "accepted"


@dataclass(frozen=True)
class TopicBackend:
    """What both steps need: documents and models on the device."""

    step: Any
    device: Device
    unit: float
    corpus: CorpusOnDevice | None = None  # that shards are made from

    @classmethod
    def open(cls, step: Any, device: Device, shards: Shards, precision: str, threads: int) -> TopicBackend:
        if getattr(step, "cold_start", None) is not None:
            raise ValueError("engine='cuda' cannot start documents from given counts: use engine='threads'")
        largest = float(np.max(shards.corpus.value, initial=0.0))  # type: ignore[union-attr]
        return cls(step, device, unit_of(largest), CorpusOnDevice.of(shards, device))

    def shard(self, shards: Shards, b: int) -> DeviceShard:
        rows = shards[b] if self.corpus is None else self.corpus.rows(shards.rows[b], b)
        return DeviceShard(rows, self.device)

    def close(self) -> None:
        if self.corpus is not None:
            self.corpus.arrays.clear()

    def place(self, model: Any) -> Any:
        if isinstance(model, TopicModel) and model.words.held is not None:
            raise ValueError("engine='cuda' has no banned or pinned words and no frozen topics: use engine='threads'")
        total: Any = model.words.total if isinstance(model, TopicModel) else None
        if not isinstance(total, WordTotal) or isinstance(model.prior, StickPrior):
            return model
        return replace(model, words=model.words.update(DeviceWordTotal.of(self.device, total, self.unit)))

    def placed(self, shard: DeviceShard, stats: Any) -> Any:
        """Statistics of a shard, on the device: as they are, or from a file."""
        if isinstance(stats.S, EntryStats):
            return replace(stats, S=DeviceWordStats.of(shard, stats.S))
        return replace(stats, S=DeviceTokenStats.of(shard, stats.S)) if isinstance(stats.S, TokenStats) else stats

    def stats(self, shard: DeviceShard, tables: TopicTables, found: Solved) -> TopicStats:
        """On the device, or on the host where the number of topics may change: moves read and edit statistics."""
        prior = tables.prior
        if isinstance(prior, DocumentPrior):
            return prior.stats(found.words, found.sums, found.entropy)
        words = None if found.words is None else found.words.on_host(self.unit)
        return prior.summarise(words, found.docs.on_host(), shard.lengths, found.entropy)  # type: ignore[arg-type]


@dataclass(frozen=True)
class CudaTopicStep(TopicBackend):
    step: TopicStep

    def __call__(self, shard: DeviceShard, tables: TopicTables, memory: Visit | None) -> StepResult:
        times, kept, z = memory or Visit(0)
        last: Any = kept  # on the device
        if (sampling := tables.documents.sampling) is not None:
            sampled = sample(self.device, shard, tables, sampling, self.unit, z, last)
            stats = tables.prior.stats(sampled.words, sampled.sums, 0.0)  # type: ignore[union-attr]
            drawn: Any = Visit(0, sampled.docs, sampled.words.z)  # type: ignore[arg-type]
            return StepResult(stats, drawn, {"moved": float(sampled.moved)})
        start = None if self.step.is_cold(times) else last
        discounts = tables.documents.own_discount > 0
        found = solve(self.device, shard, tables, self.unit, start=start, last=last if discounts else None)
        info: Info = dict(zip(EFFORT, map(float, (found.iterations, found.restarts, found.accepted))))
        if tables.partner is not None and found.words is not None:
            info["merge_entropy"] = found.words.merged_entropy(tables.partner, self.unit)
        is_needed = discounts or not self.step.is_cold(times + 1)
        docs: DeviceDocs | None = found.docs if is_needed else None
        return StepResult(self.stats(shard, tables, found), Visit(times + 1, docs), info)  # type: ignore[arg-type]


@dataclass(frozen=True)
class CudaFoldIn(TopicBackend):
    step: FoldIn

    def __call__(self, shard: DeviceShard, tables: TopicTables, memory: Any) -> StepResult:
        want_bound = self.step.want_bound
        found = solve(self.device, shard, tables, self.unit, want_words=False, want_bound=want_bound)
        if not want_bound:
            return StepResult(FoldedIn(found.docs.on_host(), float("nan")))
        bound = found.bound + found.entropy + tables.prior.documents(self.stats(shard, tables, found))  # Eq. (3.13)
        return StepResult(FoldedIn(found.docs.on_host(), bound))


def on_host(device: Device, memory: Any) -> Any:
    """What is remembered of a shard, as the processor would have it."""
    if not isinstance(memory, Visit):
        return memory
    times, docs, z = memory
    host: Any = docs.on_host() if isinstance(docs, DeviceDocs) else docs
    return Visit(times, host, None if z is None else device.get(z))


def on_device(device: Device, memory: Any) -> Any:
    if not isinstance(memory, Visit):
        return memory
    times, docs, z = memory
    there: Any = None if docs is None else DeviceDocs.of(device, docs)
    topics: Any = None if z is None else device.parking.hold(device.array(z, np.uint16))
    return Visit(times, there, topics)


def unit_of(largest: float) -> float:
    """Parts of a token that are counted: 2^20, or fewer where a word has so many tokens in a document that its share
    would not fit into 32 bits."""
    unit = UNIT
    while unit * (largest + 1.0) > 2.0**32:
        unit /= 2
    return unit


BACKENDS: dict[type, type[TopicBackend]] = {TopicStep: CudaTopicStep, FoldIn: CudaFoldIn}
