"""A worker owns shards and what their local steps remember. It knows kernels and tables; it never sees a model."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from topmix.data.shard import Shard
from topmix.local import LocalStep


class Worker:
    """`step(b, tables)` is the one call between Python that runs once per update and C++ that runs once per shard."""

    def __init__(self, shards: Sequence[Shard], local: LocalStep, threads: int = 1):
        self.shards, self.local, self.threads = shards, local, threads
        self.memory: dict[int, Any] = {}

    def columns(self, b: int) -> np.ndarray:
        """The words that shard b uses: what to make tables for."""
        return self.shards[b].cols

    def step(self, b: int, tables: Any) -> Any:
        stats, self.memory[b] = self.local(self.shards[b], tables, self.memory.get(b), self.threads)
        return stats
