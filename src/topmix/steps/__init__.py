"""What a local step takes and returns."""

from __future__ import annotations

from typing import Any, NamedTuple, Protocol, TypeAlias

from topmix import _core
from topmix.corpus.shard import SomeShard
from topmix.models.model import SomeTables, SomeTotal

MOST_VISITS = 2**62

Info = dict[str, Any]  # numbers and arrays that add: iterations, restarts, entropy lost by candidate merges
Memory: TypeAlias = Any  # what a step wants to see of a shard at its next visit: its own type; the engine keeps it


class StepResult(NamedTuple):
    stats: SomeTotal  # additive
    memory: Memory = None
    info: Info = {}  # noqa: RUF012  (nobody writes into a result)


class LocalStep(Protocol):
    """Picklable. `scratch` are buffers that a worker lends; they hold nothing from one call to the next."""

    def __call__(
        self, shard: SomeShard, tables: SomeTables, memory: Memory, scratch: _core.TopicScratch
    ) -> StepResult: ...
