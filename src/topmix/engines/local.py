"""Engines of one process: one worker that visits shards in order.

`Serial` keeps everything on the calling thread. `Threads` lets each kernel use n_jobs threads, which changes the time
and not one bit of the result.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from topmix import _core
from topmix.base.threads import use_threads
from topmix.corpus.shard import Shards, SomeShard
from topmix.engines.engine import Engine, ShardResult, Tables, Workers
from topmix.steps import LocalStep, Memory, StepResult


class Worker:
    """`step` is the one call between Python that runs once per update and native code that runs once per shard.

    It is pure: everything it needs is in its arguments, and everything it found is in its result.
    """

    def __init__(self, local: LocalStep, threads: int = 1):
        self.local, self.threads = local, threads
        self.scratch = _core.TopicScratch()  # buffers; they hold nothing from one call to the next

    def step(self, shard: object, tables: object, memory: Memory = None) -> StepResult:
        with use_threads(self.threads):
            return self.local(shard, tables, memory, self.scratch)

    def close(self) -> None:
        """Gives back what the local step holds besides memory."""
        if (close := getattr(self.local, "close", None)) is not None:
            close()


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

    may_travel = True
    most_fits = 8  # each has memory of its own

    def open(self, shards: Shards, step: LocalStep, threads: int) -> Workers:
        return LocalWorkers(shards, Worker(step, threads).step)


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
        return LocalWorkers(shards, Worker(step, 1).step)


class LocalWorkers(Workers):
    """One worker for all shards."""

    def __init__(self, shards: Shards, step: Callable[[SomeShard, Any, Any], StepResult]):
        self.n_shards, self.n_rows = len(shards), shards.n_rows
        self.shards, self.step = shards, step
        self._memory: dict[int, Memory] = {}

    def shard(self, b: int) -> SomeShard:
        return self.shards[b]

    def run(self, tables: Tables, shards: Iterable[int]) -> Iterator[ShardResult]:
        for b in shards:
            shard = self.shard(b)
            stats, memory, info = self.step(shard, tables(shard.cols), self._memory.get(b))
            if memory is not None:
                self._memory[b] = memory
            yield ShardResult(b, stats, info)

    def recall(self) -> dict[int, Memory]:
        return dict(self._memory)

    def restore(self, memory: Mapping[int, Memory]) -> None:
        self._memory = dict(memory)

    def close(self) -> None:
        self._memory = {}
