"""The engine of a GPU: shards, memory, tables and totals live on the device.

Counts are integers, so a fit has the same bits in every run on one kind of device. It is near what the processor
finds, not equal: sums have another order there, and counts are rounded to 2^-20 tokens.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np

from topmix.cuda.device import Device, cuda_device
from topmix.cuda.shard import DeviceShard
from topmix.cuda.topics import BACKENDS, on_device, on_host
from topmix.cuda.word_total import UNIT, DeviceWordTotal
from topmix.data.shard import Shards
from topmix.engines.engine import Engine, ShardResult, Workers
from topmix.local import LocalStep
from topmix.models.topics import TopicModel
from topmix.parameters.checks import whole_number
from topmix.stats import WordTotal


@dataclass(frozen=True, repr=False)
class Cuda(Engine):
    """An NVIDIA GPU, through CuPy: `pip install topmix[cuda]`. For LDA.

    Parameters
    ----------
    device : int
        Which GPU, counted from 0.
    memory : int or None
        Bytes of its memory to use at most. None is all of it.

    Examples
    --------
    >>> from topmix import LDA
    >>> from topmix.engines import Cuda
    >>> LDA(engine=Cuda(device=1)).engine
    Cuda(device=1)
    """

    device: int = 0
    memory: int | None = None

    has_checkpoints: ClassVar[bool] = False

    def check(self) -> None:
        whole_number(self.device, "device", least=0)
        if self.memory is not None:
            whole_number(self.memory, "memory")

    def open(self, shards: Shards, step: LocalStep, threads: int) -> Workers:
        if type(step) not in BACKENDS:
            raise ValueError(
                f"engine='cuda' cannot run {type(step).__name__}: it has LDA with inference='collapsed' or "
                "'variational'; use engine='threads'"
            )
        if getattr(step, "cold_start", None) is not None:
            raise ValueError("engine='cuda' cannot start documents from given counts: use engine='threads'")
        return CudaWorkers(shards, step, self.opened())

    def opened(self) -> Device:
        """The device; an error where there is none says what is missing."""
        return cuda_device(self.device, self.memory)


class CudaWorkers:
    def __init__(self, shards: Shards, step: LocalStep, device: Device):
        self.n_shards, self.n_rows = len(shards), shards.n_rows
        self.shards, self.device = shards, device
        self.unit = unit_of(float(np.max(shards.corpus.value, initial=0.0)))  # type: ignore[union-attr]
        self.backend = BACKENDS[type(step)](step, device, self.unit)
        self._shards: dict[int, DeviceShard] = {}
        self._memory: dict[int, Any] = {}

    def run(self, tables: Callable[[np.ndarray], Any], shards: Iterable[int]) -> Iterator[ShardResult]:
        for b in shards:
            shard = self._shard(b)
            stats, memory, info = self.backend(shard, tables(shard.cols), self._memory.get(b))  # type: ignore[arg-type]
            if memory is not None:
                self._memory[b] = memory
            yield ShardResult(b, stats, info)

    def _shard(self, b: int) -> DeviceShard:
        if b not in self._shards:
            self._shards[b] = DeviceShard(self.shards[b], self.device)
        return self._shards[b]

    def place(self, model: Any) -> Any:
        total: Any = model.words.total if isinstance(model, TopicModel) else None
        if not isinstance(total, WordTotal):
            return model
        return replace(model, words=model.words.update(DeviceWordTotal.of(self.device, total, self.unit)))

    def recall(self) -> dict[int, Any]:
        return {b: on_host(self.device, memory) for b, memory in self._memory.items()}

    def restore(self, memory: Mapping[int, Any]) -> None:
        self._memory = {b: on_device(self.device, each) for b, each in memory.items()}

    def forget(self) -> None:
        self._memory = {}

    def close(self) -> None:
        self._memory, self._shards = {}, {}
        self.device.close()


def unit_of(largest: float) -> float:
    """Parts of a token that are counted: 2^20, or fewer where a word has so many tokens in a document that its share
    would not fit into 32 bits."""
    unit = UNIT
    while unit * (largest + 1.0) > 2.0**32:
        unit /= 2
    return unit
