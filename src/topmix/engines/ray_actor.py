"""What runs on a node of a Ray cluster: one worker per actor.

An actor is a place to compute. What a local step remembers comes with each call and goes back as a result: it lies in
the object store of the node, and survives the actor.
"""

from __future__ import annotations

import os
import pickle
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from typing import NamedTuple, TypeAlias, TypeVar

import numpy as np
import ray
from ray import ObjectRef

from topmix import _core
from topmix._version import __version__
from topmix.corpus.shard import SavedShard, SomeShard, forget_mapped_files
from topmix.engines.blocks import BlockRows, LostWorker
from topmix.engines.local import Worker
from topmix.models.model import SomeTotal
from topmix.steps import Info, LocalStep, Memory

BLOCKS = "blocks"  # of an actor's threads: those that take messages of blocks while it computes

T = TypeVar("T")
Method = TypeVar("Method", bound=Callable[..., object])
Opening: TypeAlias = tuple[str, LocalStep, int]  # a session, its step, and the threads of a worker


class Place(NamedTuple):
    """Where an actor is. Ray may start it again elsewhere, between two calls, without a word."""

    node: str
    pid: int
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
    resident: int  # bytes of this process; 0 where the system does not say
    place: Place


@dataclass
class ActorSession:
    """What an actor has of one fit or one question."""

    worker: Worker
    shards: dict[int, object] = field(default_factory=dict)  # those in memory; others are read at each visit
    copies: dict[int, tuple[object, ...]] = field(default_factory=dict)  # what shards of other nodes remember


def meanwhile(method: Method) -> Method:
    """A method that other processes call while the actor computes: it has threads of its own."""
    return ray.method(concurrency_group=BLOCKS)(method)


class ShardActor:
    def __init__(self) -> None:
        self.sessions: dict[str, ActorSession] = {}
        self.block_rows: dict[str, BlockRows] = {}  # by session
        self.place = Place(ray.get_runtime_context().get_node_id(), os.getpid(), _core.isa, __version__)

    @meanwhile
    def about(self) -> Place:
        return self.place

    # Blocks of parameters, which visit rows that stay.

    @meanwhile
    def blocks_open(
        self, session: str, make: Callable[[SomeShard, int], BlockRows], rows: list[ObjectRef], threads: int
    ) -> int:
        """How many threads its rows have."""
        found = ray.get(rows[0])
        self.block_rows[session] = opened = make(found.read() if isinstance(found, SavedShard) else found, threads)
        return len(opened.turns)

    @meanwhile
    def blocks_ask(self, session: str, method: Callable[..., T], *arguments: object) -> T:
        if session not in self.block_rows:
            raise LostWorker("it was started again, and knows nothing of this fit")
        return method(self.block_rows[session], *arguments)

    @meanwhile
    def blocks_close(self, session: str) -> None:
        self.block_rows.pop(session, None)

    # Shards, which are visited one after another.

    def close(self, session: str) -> None:
        if (ended := self.sessions.pop(session, None)) is not None:
            ended.worker.close()
        if not self.sessions:
            forget_mapped_files()  # one that was removed since would keep its space on the disk

    def columns(self, opening: Opening, b: int, message: list[ObjectRef]) -> np.ndarray:
        """The words of a shard, or the columns of a table."""
        return np.asarray(self._shard(self._session(opening), b, message).cols)

    def step(
        self, opening: Opening, b: int, message: list[ObjectRef], tables: object, memory: Memory
    ) -> tuple[object, Memory, Report]:
        begin, used, session = time.perf_counter(), time.process_time(), self._session(opening)
        stats, new, info = session.worker.step(self._shard(session, b, message), tables, memory)
        took, resident = (time.perf_counter() - begin, time.process_time() - used), 0
        with suppress(OSError), open("/proc/self/statm") as file:  # only Linux says
            resident = int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")
        return stats, new, Report(info, new is not None, n_bytes(stats), n_bytes(new), *took, resident, self.place)

    def add(self, a: SomeTotal, b: SomeTotal) -> tuple[SomeTotal, int]:
        """The sum, and the bytes of the second part, which may have come from another node."""
        return a + b, n_bytes(b)

    def keep_copy(self, opening: Opening, b: int, *remembered: object) -> None:
        """Holds on to what shard b remembers, so that its node may be lost."""
        self._session(opening).copies[b] = remembered

    def _session(self, opening: Opening) -> ActorSession:
        """An actor that was started again knows nothing: each call brings how to begin."""
        session, step, threads = opening
        if session not in self.sessions:
            self.sessions[session] = ActorSession(Worker(step, threads))
        return self.sessions[session]

    def _shard(self, session: ActorSession, b: int, message: list[ObjectRef]) -> SomeShard:
        if b in session.shards:
            return session.shards[b]
        found = ray.get(message[0])
        if isinstance(found, SavedShard):
            return found.read()
        session.shards[b] = found
        return found


def n_bytes(value: object) -> int:
    """Bytes of the arrays in a value: all of a message but a few hundred bytes."""
    buffers: list[pickle.PickleBuffer] = []
    pickle.dumps(value, protocol=5, buffer_callback=buffers.append)
    return sum(buffer.raw().nbytes for buffer in buffers)
