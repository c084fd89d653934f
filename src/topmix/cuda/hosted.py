"""A local step on a GPU, with data and results on the host: for workers of a cluster, where statistics travel.

It is what steps/documents.py has, for whoever calls it; the device keeps the rows of shards from one visit to the next.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from topmix.corpus.shard import Shard
from topmix.cuda.device import Device
from topmix.cuda.shard import DeviceShard
from topmix.cuda.topics import TOPIC_BACKENDS, on_device, on_host, unit_of
from topmix.cuda.words import DocumentStats
from topmix.models.statistics import TopicStats
from topmix.models.topics import TopicTables
from topmix.steps import LocalStep, StepResult

if TYPE_CHECKING:
    from topmix.engines.cuda import Cuda


class HostedStep:
    """`engine` opens the device, where the step runs: it is pickled without."""

    def __init__(self, step: LocalStep, engine: Cuda):
        if type(step) not in TOPIC_BACKENDS:
            raise ValueError(
                f"workers of a cluster cannot run {type(step).__name__} on GPUs: they have LDA and HDP with "
                "inference='collapsed' or 'variational'; use gpus_per_worker=0"
            )
        self.step, self.engine = step, engine
        self._device: Device | None = None
        self._shards: dict[int, tuple[Shard, DeviceShard]] = {}

    def __reduce__(self) -> tuple[type, tuple[object, ...]]:
        return HostedStep, (self.step, self.engine)

    def __call__(self, shard: Shard, tables: TopicTables, memory: object, scratch: object) -> StepResult:
        self._device = device = self._device or self.engine.opened()
        kept = self._shards.get(shard.number)
        if kept is None or kept[0] is not shard:  # rows that are read at each visit are other objects, and copied again
            device.visit += 1
            kept = self._shards[shard.number] = shard, DeviceShard.of(shard, device)
        unit = unit_of(float(np.max(shard.value, initial=0.0)))
        backend: Any = TOPIC_BACKENDS[type(self.step)](self.step, device, unit)
        of_words: Any = tables.words  # whose arrays are on the host
        words = of_words._replace(table=device.array(of_words.table), log_scale=device.array(of_words.log_scale))
        stats, new, info = backend(kept[1], tables._replace(words=words), on_device(device, memory))
        if isinstance(stats, TopicStats) and isinstance(stats.S, DocumentStats):
            stats = replace(stats, S=stats.S.on_host(unit))
        return StepResult(stats, on_host(device, new), info)

    def close(self) -> None:
        self._shards.clear()
        if self._device is not None:
            self._device.close()
            self._device = None
