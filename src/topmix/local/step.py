"""What a local step takes and returns."""

from __future__ import annotations

from typing import Any, NamedTuple, Protocol

from topmix import _core

Info = dict[str, Any]  # numbers and arrays that add: iterations, restarts, entropy lost by candidate merges


class StepResult(NamedTuple):
    stats: Any  # additive
    memory: Any = None  # what the shard wants to see at its next visit; the engine keeps it
    info: Info = {}  # noqa: RUF012  (nobody writes into a result)


class LocalStep(Protocol):
    """Picklable. `scratch` are buffers that a worker lends; they hold nothing from one call to the next."""

    def __call__(self, shard: Any, tables: Any, memory: Any, scratch: _core.TopicScratch) -> StepResult: ...


def add_info(total: Info, more: Info) -> None:
    """total += more, name by name. Neither number nor array of `more` is changed."""
    for name, value in more.items():
        total[name] = total[name] + value if name in total else value
