"""What runs on a node of a Ray cluster: one worker per actor.

An actor is a place to compute. What a local step remembers comes with each call and goes back as a result: it lies in
the object store of the node, and survives the actor. What stays on a GPU is a copy, which calls say how to make again
(cuda/staying.py).
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from dataclasses import dataclass, field, fields, is_dataclass
from typing import Any, NamedTuple, TypeAlias, TypeVar

import numpy as np
import ray
from ray import ObjectRef

from topmix import _core
from topmix._version import __version__
from topmix.data.shard import SavedShard, forget_mapped_files
from topmix.engines.engine import Memory
from topmix.engines.local import Worker
from topmix.engines.ray_nomad import NomadHost
from topmix.local import Info, LocalStep
from topmix.numerics.threads import use_threads
from topmix.stats.tree import plus

T = TypeVar("T")
Opening: TypeAlias = tuple[str, LocalStep, int]  # a session, its step, and the threads of a worker


class Place(NamedTuple):
    """Where an actor is. Ray may start it again elsewhere, between two calls, without a word."""

    node: str
    pid: int


class About(NamedTuple):
    place: Place
    isa: str
    version: str


class Report(NamedTuple):
    """What there is to say of a visit besides its statistics and its memory."""

    info: Info
    has_memory: bool
    stats_bytes: int
    memory_bytes: int
    seconds: float
    processor: float  # seconds of all its threads
    resident: int  # bytes of this process
    place: Place
    fetched: int = 0  # bytes that came by reference, for a worker with a GPU


@dataclass
class Session:
    """What an actor has of one fit or one question."""

    worker: Worker
    shards: dict[int, object] = field(default_factory=dict)  # those in memory; others are read at each visit
    copies: dict[int, tuple[object, ...]] = field(default_factory=dict)  # what shards of other nodes remember


class ShardActor(NomadHost):
    def __init__(self) -> None:
        super().__init__()
        self.sessions: dict[str, Session] = {}
        self.place = Place(ray.get_runtime_context().get_node_id(), os.getpid())

    def about(self) -> About:
        return About(self.place, _core.isa, __version__)

    def open(self, session: str, step: LocalStep, threads: int) -> None:
        self.sessions.setdefault(session, Session(Worker(step, threads)))

    def close(self, session: str) -> None:
        if (ended := self.sessions.pop(session, None)) is not None:
            ended.worker.close()
        if not self.sessions:
            forget_mapped_files()  # one that was removed since would keep its space on the disk

    def apply(self, threads: int, function: Callable[..., T], *arguments: object) -> tuple[T, float]:
        """What a function finds, and the seconds that it took."""
        begin = time.perf_counter()
        with use_threads(threads):
            return function(*arguments), time.perf_counter() - begin

    def columns(self, opening: Opening, b: int, message: list[ObjectRef]) -> np.ndarray:
        """The words of a shard, or the columns of a table."""
        return np.asarray(self._shard(self._session(opening), b, message).cols)

    def step(
        self, opening: Opening, b: int, message: list[ObjectRef], tables: object, memory: Memory
    ) -> tuple[object, Memory, Report]:
        begin, used, session = time.perf_counter(), time.process_time(), self._session(opening)
        stats, new, info = session.worker.step(self._shard(session, b, message), tables, memory)
        took = time.perf_counter() - begin, time.process_time() - used
        return stats, new, Report(info, new is not None, n_bytes(stats), n_bytes(new), *took, resident(), self.place)

    def on_device(self, opening: Opening, what: str, *arguments: object) -> tuple[object, object, Report]:
        """A method of the shards that stay on the GPU of this worker. It fetches what it lacks."""
        begin, used, session, fetched = time.perf_counter(), time.process_time(), self._session(opening), [0]

        def fetch(ref: ObjectRef | None) -> Any:
            value = None if ref is None else ray.get(ref)
            fetched[0] += n_bytes(value)
            return value

        with use_threads(session.worker.threads):
            step: Any = session.worker.local
            first, second = getattr(step.staying, what)(*arguments, fetch)
        took = time.perf_counter() - begin, time.process_time() - used
        sizes = n_bytes(second), n_bytes(first)
        return first, second, Report({}, first is not None, *sizes, *took, resident(), self.place, fetched[0])

    def add(self, a: T, b: T) -> tuple[T, int]:
        """The sum, and the bytes of the second part, which may have come from another node."""
        return plus(a, b), n_bytes(b)

    def keep_copy(self, opening: Opening, b: int, *remembered: object) -> None:
        """Holds on to what shard b remembers, so that its node may be lost."""
        self._session(opening).copies[b] = remembered

    def _session(self, opening: Opening) -> Session:
        """An actor that was started again knows nothing: each call brings how to begin."""
        session, step, threads = opening
        if session not in self.sessions:
            self.open(session, step, threads)
        return self.sessions[session]

    def _shard(self, session: Session, b: int, message: list[ObjectRef]) -> Any:
        if b in session.shards:
            return session.shards[b]
        found = ray.get(message[0])
        if isinstance(found, SavedShard):
            return found.read()
        session.shards[b] = found
        return found


def n_bytes(value: object) -> int:
    """Bytes of the arrays in a value: all of a message but a few hundred bytes."""
    if isinstance(value, np.ndarray):
        return value.nbytes
    if is_dataclass(value):
        return sum(n_bytes(getattr(value, f.name)) for f in fields(value))
    if isinstance(value, tuple | list):
        return sum(map(n_bytes, value))
    return sum(map(n_bytes, value.values())) if isinstance(value, dict) else 0


def resident() -> int:
    """Bytes of memory that this process has; 0 where the system does not say."""
    try:
        with open("/proc/self/statm") as file:
            return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except OSError:
        return 0
