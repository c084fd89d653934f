"""Engines of one process: one worker that visits shards in order.

`Serial` keeps everything on the calling thread. `Threads` lets each kernel use n_jobs threads, which changes the time
and not one bit of the result.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from topmix.data.shard import Shards
from topmix.engines.engine import Engine, ShardResult, Workers
from topmix.engines.worker import Worker
from topmix.local import LocalStep


@dataclass(frozen=True, repr=False)
class Threads(Engine):
    """One process. Kernels use `n_jobs` threads.

    Examples
    --------
    >>> from topmix import LDA
    >>> from topmix.engines import Threads
    >>> LDA(engine=Threads()).engine
    Threads()
    """

    def open(self, shards: Shards, step: LocalStep, threads: int) -> Workers:
        return LocalWorkers(shards, Worker(step, threads))


@dataclass(frozen=True, repr=False)
class Serial(Engine):
    """One process and one thread, for any `n_jobs`.

    Examples
    --------
    >>> from topmix import LDA
    >>> LDA(engine="serial").get_params()["engine"]
    'serial'
    """

    def threads(self, n_jobs: int) -> int:
        return 1

    def open(self, shards: Shards, step: LocalStep, threads: int) -> Workers:
        return LocalWorkers(shards, Worker(step, 1))


class LocalWorkers:
    """One worker for all shards."""

    def __init__(self, shards: Shards, worker: Worker):
        self.n_shards, self.n_rows = len(shards), shards.n_rows
        self.shards, self.worker = shards, worker
        self._memory: dict[int, Any] = {}

    def run(self, tables: Callable[[np.ndarray], Any], shards: Iterable[int]) -> Iterator[ShardResult]:
        for b in shards:
            shard = self.shards[b]
            stats, memory, info = self.worker.step(shard, tables(shard.cols), self._memory.get(b))
            if memory is not None:
                self._memory[b] = memory
            yield ShardResult(b, stats, info)

    def place(self, model: Any) -> Any:
        return model

    def recall(self) -> dict[int, Any]:
        return dict(self._memory)

    def restore(self, memory: Mapping[int, Any]) -> None:
        self._memory = dict(memory)

    def forget(self) -> None:
        self._memory = {}

    def close(self) -> None:
        self._memory = {}
