"""Engines of one process.

Both run one worker and visit shards in order. `serial` keeps everything on the calling thread; `threads` lets each
kernel use n_jobs threads, which changes the time and not one bit of the result.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any, Protocol

import numpy as np

from topmix.data.shard import Shards
from topmix.engines.worker import Worker
from topmix.local import LocalStep


class Engine(Protocol):
    """What learners see. An engine on other machines gives each of its workers some shards and keeps this face."""

    n_shards: int
    n_rows: float  # or their weight
    threads: int
    memory: dict[int, Any]  # what local steps remember of each shard

    def __init__(self, shards: Shards, local: LocalStep, n_jobs: int) -> None: ...

    def run(self, tables: Callable[[np.ndarray], Any], shards: Iterable[int]) -> Iterator[tuple[int, Any]]:
        """Statistics of each of `shards`, in that order, under the tables that `tables(columns)` makes for it."""
        ...


class Threads(Engine):
    def __init__(self, shards: Shards, local: LocalStep, n_jobs: int):
        self.n_shards, self.n_rows, self.threads = len(shards), shards.n_rows, n_jobs
        self.worker = Worker(shards, local, n_jobs)

    @property
    def memory(self) -> dict[int, Any]:
        return self.worker.memory

    @memory.setter
    def memory(self, memory: dict[int, Any]) -> None:
        self.worker.memory = memory

    def run(self, tables: Callable[[np.ndarray], Any], shards: Iterable[int]) -> Iterator[tuple[int, Any]]:
        for b in shards:
            yield b, self.worker.step(b, tables(self.worker.columns(b)))


class Serial(Threads):
    def __init__(self, shards: Shards, local: LocalStep, n_jobs: int = 1):
        super().__init__(shards, local, 1)
