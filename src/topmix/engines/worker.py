"""A worker: threads and native buffers. It knows kernels and tables, and never sees a model."""

from __future__ import annotations

from typing import Any

from topmix import _core
from topmix.local import LocalStep, StepResult
from topmix.numerics.threads import use_threads


class Worker:
    """`step` is the one call between Python that runs once per update and native code that runs once per shard.

    It is pure: everything it needs is in its arguments, and everything it found is in its result.
    """

    def __init__(self, local: LocalStep, threads: int = 1):
        self.local, self.threads = local, threads
        self.scratch = _core.TopicScratch()  # buffers; they hold nothing from one call to the next

    def step(self, shard: Any, tables: Any, memory: Any = None) -> StepResult:
        with use_threads(self.threads):
            return self.local(shard, tables, memory, self.scratch)

    def close(self) -> None:
        """Gives back what the local step holds besides memory."""
        if (close := getattr(self.local, "close", None)) is not None:
            close()
