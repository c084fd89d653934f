"""What a local step takes and returns."""

from __future__ import annotations

from typing import Any, NamedTuple, Protocol, Self

from topmix import _core
from topmix.files.reader import CheckedReader
from topmix.files.writer import Writer

MOST_VISITS = 2**62

Info = dict[str, Any]  # numbers and arrays that add: iterations, restarts, entropy lost by candidate merges


class StepResult(NamedTuple):
    stats: Any  # additive
    memory: Any = None  # what the shard wants to see at its next visit; the engine keeps it
    info: Info = {}  # noqa: RUF012  (nobody writes into a result)


class LocalStep(Protocol):
    """Picklable. `scratch` are buffers that a worker lends; they hold nothing from one call to the next."""

    def __call__(self, shard: Any, tables: Any, memory: Any, scratch: _core.TopicScratch) -> StepResult: ...


class Kept(Protocol):
    """What a step remembers of a shard, where a checkpoint holds it."""

    @property
    def size(self) -> int:
        """Rows of the shard, or its groups."""
        ...

    def write(self, out: Writer) -> None: ...
    @classmethod
    def read(cls, file: CheckedReader, K: int) -> Self: ...


def add_info(total: Info, more: Info) -> None:
    """total += more, name by name. Neither number nor array of `more` is changed."""
    for name, value in more.items():
        total[name] = total[name] + value if name in total else value
