"""An engine whose workers live behind a wall of pickles, as on machines that share nothing. No part of topmix."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from topmix.base.checks import whole_number
from topmix.corpus.shard import Shards
from topmix.engines.engine import Engine, ShardResult, Workers
from topmix.engines.local import Worker
from topmix.steps import LocalStep


@dataclass(frozen=True, repr=False)
class Remote(Engine):
    """All that goes to a worker or comes from one is bytes. Workers have a few shards each and take the last first."""

    shards_per_worker: int = 2

    def check(self) -> None:
        whole_number(self.shards_per_worker, "shards_per_worker")

    def open(self, shards: Shards, step: LocalStep, threads: int) -> Workers:
        return RemoteWorkers(shards, step, threads, self.shards_per_worker)


class Machine:
    """Another computer: every method takes bytes and returns bytes."""

    def __init__(self, message: bytes):
        self.shards, step, threads = pickle.loads(message)
        self.worker, self.memory = Worker(step, threads), {}

    def columns(self, message: bytes) -> bytes:
        return pickle.dumps(self.shards[pickle.loads(message)].cols)

    def step(self, message: bytes) -> bytes:
        b, tables = pickle.loads(message)
        stats, memory, info = self.worker.step(self.shards[b], tables, self.memory.get(b))
        if memory is not None:
            self.memory[b] = memory
        return pickle.dumps((stats, info))

    def recall(self) -> bytes:
        return pickle.dumps(self.memory)

    def restore(self, message: bytes) -> None:
        self.memory = pickle.loads(message)


class RemoteWorkers(Workers):
    def __init__(self, shards: Shards, step: LocalStep, threads: int, each: int):
        self.n_shards, self.n_rows, self.each = len(shards), shards.n_rows, each
        parts = (range(a, min(a + each, len(shards))) for a in range(0, len(shards), each))
        self.machines = [Machine(pickle.dumps(({b: shards[b] for b in part}, step, threads))) for part in parts]
        self.sent = 0  # bytes of tables

    def run(self, tables: Callable[[np.ndarray], Any], shards: Iterable[int]) -> Iterator[ShardResult]:
        asked = list(shards)
        found = {b: self._result(b, tables) for b in asked[::-1]}
        for b in asked:
            yield ShardResult(b, *pickle.loads(found[b]))

    def _result(self, b: int, tables: Callable[[np.ndarray], Any]) -> bytes:
        machine = self.machines[b // self.each]
        message = pickle.dumps((b, tables(pickle.loads(machine.columns(pickle.dumps(b))))))
        self.sent += len(message)
        return machine.step(message)

    def recall(self) -> dict[int, Any]:
        parts = [pickle.loads(machine.recall()) for machine in self.machines]
        return {b: memory for part in parts for b, memory in part.items()}

    def restore(self, memory: Mapping[int, Any]) -> None:
        for i, machine in enumerate(self.machines):
            machine.restore(pickle.dumps({b: m for b, m in memory.items() if b // self.each == i}))

    def close(self) -> None:
        self.machines = []
