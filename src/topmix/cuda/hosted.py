"""A local step on a GPU, with data and results on the host: for workers of a cluster, where statistics travel. Those of
topics mostly stay instead (staying.py).

It is what local/topics.py has, for whoever calls it; the device keeps the rows of shards from one visit to the next.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Protocol

import numpy as np

from topmix.cuda.device import Device
from topmix.cuda.shard import DeviceShard
from topmix.cuda.staying import StayingShards
from topmix.cuda.topics import CudaFoldIn, CudaSCVB0Step, CudaTopicStep, TopicBackend, on_device, on_host, unit_of
from topmix.cuda.words import DocumentStats
from topmix.data.shard import Shard
from topmix.local import LocalStep, StepResult
from topmix.local.fold_in import FoldIn
from topmix.local.scvb0 import SCVB0Step
from topmix.local.topics import TopicStep
from topmix.models.topics import TopicTables
from topmix.stats import TopicStats

HOSTED: dict[type, type[TopicBackend]] = {TopicStep: CudaTopicStep, FoldIn: CudaFoldIn, SCVB0Step: CudaSCVB0Step}


class Opening(Protocol):
    def opened(self) -> Device: ...


class HostedStep:
    """`engine` opens the device, where the step runs: it is pickled without."""

    def __init__(self, step: LocalStep, engine: Opening):
        if type(step) not in HOSTED:
            raise ValueError(
                f"workers of a cluster cannot run {type(step).__name__} on GPUs: they have LDA and HDP with "
                "inference='collapsed', 'variational' or 'scvb0'; use gpus_per_worker=0"
            )
        self.step, self.engine = step, engine
        self._device: Device | None = None
        self._staying: StayingShards | None = None
        self._shards: dict[int, tuple[Shard, DeviceShard]] = {}

    def __reduce__(self) -> tuple[type, tuple[object, ...]]:
        return HostedStep, (self.step, self.engine)

    def __call__(self, shard: Shard, tables: TopicTables, memory: object, scratch: object) -> StepResult:
        device = self._opened()
        unit = unit_of(float(np.max(shard.value, initial=0.0)))
        backend: Any = HOSTED[type(self.step)](self.step, device, unit)
        of_words: Any = tables.words  # whose arrays are on the host
        words = of_words._replace(table=device.array(of_words.table), log_scale=device.array(of_words.log_scale))
        there = self._there(shard, device)
        stats, new, info = backend(there, tables._replace(words=words), on_device(device, memory))
        if isinstance(stats, TopicStats) and isinstance(stats.S, DocumentStats):
            stats = replace(stats, S=stats.S.on_host(unit))
        return StepResult(stats, on_host(device, new), info)

    @property
    def staying(self) -> StayingShards:
        """Of topics whose statistics stay on the device too."""
        if self._staying is None:
            assert isinstance(self.step, TopicStep)
            self._staying = StayingShards(self.step, self._opened())
        return self._staying

    def _opened(self) -> Device:
        self._device = self._device or self.engine.opened()
        return self._device

    def _there(self, shard: Shard, device: Device) -> DeviceShard:
        """Rows that are read at each visit are other objects, and copied again."""
        kept = self._shards.get(shard.number)
        if kept is None or kept[0] is not shard:
            device.parking.visit += 1
            kept = self._shards[shard.number] = shard, DeviceShard(shard, device)
        return kept[1]

    def close(self) -> None:
        self._shards.clear()
        if self._staying is not None:
            self._staying.clear()
        if self._device is not None:
            self._device.close()
            self._device = None
