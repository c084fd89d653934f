"""What an actor does with blocks that visit it: fetch one when there is room, have its rows solved, send it on.

A block waits where it was last, in the object store there, until the next worker has room for it: blocks that wait for
a slow worker wait elsewhere. Blocks are pulled and not pushed, so that memory is bounded by who receives. A worker
takes in no more than its share, unless it has nothing else to do for a while: so no two workers wait for each other.

A worker takes in all blocks of a round before any of the next. Its post after a round therefore belongs to the blocks
as they end that round, and all of it adds up to one state, although nobody stops.
"""

from __future__ import annotations

import queue
import threading
import time
from collections import defaultdict, deque
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, NamedTuple, Protocol, TypeAlias, TypeVar

import numpy as np
import ray
from ray import ObjectRef
from ray.actor import ActorHandle
from ray.exceptions import RayError

from topmix.data.shard import SavedShard
from topmix.engines.nomad_ledger import Ledger, LostWorker, Offer, Routes, check_mass

IN_TRANSIT = 2  # blocks beyond a worker's share, so that some can be on their way
GATHERING_SECONDS = 0.02  # that a visit waits for more blocks, where blocks visit together
IDLE_SECONDS = 0.2  # without anything to do, before a worker takes more than that
GROUP = "nomads"  # of an actor's threads: those that take messages

Maker: TypeAlias = Callable[[Any, int], "Station"]  # from rows, for so many threads
Method = TypeVar("Method", bound=Callable[..., object])


class Station(Protocol):
    """The rows of one process. Blocks come and go; each of its threads visits every block."""

    n_threads: int
    together: int  # blocks that a visit may have

    def begin(self, settings: Any) -> None: ...
    def put(self, block: int, content: np.ndarray) -> None: ...
    def visit(self, thread: int, blocks: list[int], n_round: int) -> None: ...
    def take(self, block: int) -> np.ndarray: ...
    def post(self, thread: int) -> Any:
        """Statistics of a thread's rows after a round."""
        ...

    def own_changes(self) -> np.ndarray | None:
        """What this process has changed in the sums over all blocks, since `begin`; None where nobody needs them."""
        ...

    def apply_changes(self, delta: np.ndarray) -> None: ...
    def n_bytes(self) -> int:
        """Of what stays: the rows and what belongs to them."""
        ...


@dataclass(frozen=True)
class Run:
    """What workers are to do, and how."""

    number: int
    n_blocks: int
    rounds: int
    routes: Routes
    settings: Any  # the station's
    arrays: int = 1  # in each block: how much larger it is than usual
    collect_all: bool = True  # after each round the driver gets the blocks; else after the last
    links: Links = field(default_factory=lambda: Links())
    allowance: int | None = None  # bytes that a worker may have, of rows and of blocks

    @property
    def room(self) -> int:
        """Blocks that are at a worker at a time, to be visited or to be fetched by the next one. All workers together
        have room for more than all blocks: else each might wait for the others."""
        return -(-self.n_blocks // self.routes.workers) + IN_TRANSIT


class Links:
    """How messages get from worker to worker. Blocks wait in the object store of the sender's node."""

    def put(self, content: np.ndarray) -> ObjectRef:
        return ray.put(content)

    def get(self, ref: ObjectRef) -> np.ndarray:
        ray.wait([ref], fetch_local=True)  # `get` alone would stop what other threads put meanwhile, for up to a second
        found: np.ndarray = ray.get(ref)
        return found

    def offer(self, actor: ActorHandle, session: str, run: int, offer: Offer) -> None:
        actor.nomad_offer.remote(session, run, offer)

    def fetched(self, actor: ActorHandle, session: str, run: int, block: int, visit: int) -> None:
        actor.nomad_fetched.remote(session, run, block, visit)


class EndOfRound(NamedTuple):
    """A block that has visited all workers, and where it lies."""

    n_round: int
    block: int
    mass: float
    content: list[ObjectRef]


class Post(NamedTuple):
    n_round: int
    worker: int
    thread: int
    value: Any


class News(NamedTuple):
    """What a worker reports to the driver."""

    items: list[EndOfRound | Post]
    is_idle: bool  # nothing to visit or to fetch, and nothing happened since it was last asked
    n_sent: int
    n_received: int
    block_bytes: int  # peak of the run: blocks here, and those that wait here for the next worker
    bytes_sent: int
    own_bytes: int  # of the rows
    busy: float  # seconds of visits
    processor: float  # of this process, since it began


class Nomad:
    """One run of one worker."""

    def __init__(self, session: str, run: Run, number: int, actors: list[ActorHandle], station: Station):
        self.session, self.run, self.number, self.actors, self.station = session, run, number, actors, station
        self.ledger = Ledger(number, run.routes)
        self.changed = threading.Condition()
        self.offers: dict[int, deque[Offer]] = defaultdict(deque)  # of other workers, by round
        self.dealt: deque[Offer] = deque()  # of the driver: where blocks are large, fewer are on their way at a time
        self.visit_of: dict[int, int] = {}
        self.queues: list[queue.SimpleQueue[int | None]] = [queue.SimpleQueue() for _ in range(station.n_threads)]
        self.outgoing: queue.SimpleQueue[int | None] = queue.SimpleQueue()
        self.waiting: dict[int, tuple[int, ObjectRef, int]] = {}  # sent and not fetched: visit, reference, bytes
        self.applied: dict[int, tuple[int, np.ndarray]] = {}  # by sender
        self.items: list[EndOfRound | Post] = []
        self.allowed = self.round = self.inside = self.entered = self.held = self.peak = self.bytes_sent = 0
        self.n_changes = 0
        self.busy = 0.0
        self.moved = self.stopped = False
        self.error: BaseException | None = None
        station.begin(run.settings)
        loops: list[Callable[[], None]] = [self._fetch, self._send]
        loops += [lambda t=t: self._visit(t) for t in range(station.n_threads)]  # type: ignore[misc]
        self.threads = [threading.Thread(target=self._guarded, args=(loop,), daemon=True) for loop in loops]
        for thread in self.threads:
            thread.start()

    # From other processes

    def offer(self, *offers: Offer) -> None:
        with self.changed:
            for offer in offers:
                try:
                    self.ledger.receive(offer)
                except RuntimeError as error:
                    self._fail(error)
                    return
                n_round = offer.visit // self.run.routes.workers
                (self.dealt if offer.sender < 0 else self.offers[n_round]).append(offer)
            self.moved = True
            self.changed.notify_all()

    def fetched(self, block: int, visit: int) -> None:
        with self.changed:
            if block in self.waiting and self.waiting[block][0] == visit:
                self._gone(block)
                self.changed.notify_all()

    def allow(self, rounds: int) -> None:
        with self.changed:
            self.allowed = max(self.allowed, rounds)
            self.changed.notify_all()

    def collect(self, seconds: float) -> News:
        with self.changed:
            self.changed.wait_for(lambda: self.items or self.error, timeout=seconds)
            if self.error is not None:
                raise self.error
            items, self.items = self.items, []
            idle = not (items or self.moved or self.inside)
            self.moved = False
            counts = self.ledger.n_sent, self.ledger.n_received, self.peak, self.bytes_sent
            return News(items, idle, *counts, self.station.n_bytes(), self.busy, time.process_time())

    def stop(self) -> None:
        with self.changed:
            self.stopped = True
            self.changed.notify_all()
        for waiting in (*self.queues, self.outgoing):
            waiting.put(None)
        for thread in self.threads:
            thread.join()

    # The threads

    def _guarded(self, loop: Callable[[], None]) -> None:
        try:
            loop()
        except RayError as error:
            with self.changed:
                self._fail(LostWorker(f"it could not fetch a block ({type(error).__name__})"))
        except BaseException as error:
            with self.changed:
                self._fail(error)

    def _fail(self, error: BaseException) -> None:
        self.error = self.error or error
        self.changed.notify_all()

    def _fetch(self) -> None:
        links = self.run.links
        while True:
            with self.changed:
                while (offers := self._next_offers()) is None and not self.stopped:
                    if not self.changed.wait_for(lambda: self.stopped or self._next_offers(), timeout=IDLE_SECONDS):
                        offers = self._next_offers(in_any_case=self.inside == 0)
                        if offers is not None:
                            break  # two workers may each have what the other needs
                if self.stopped or offers is None:
                    return
                offer = offers.popleft()
                self.inside += 1
            is_here = isinstance(offer.content, np.ndarray)
            content = offer.content if isinstance(offer.content, np.ndarray) else links.get(offer.content[0])
            check_mass(offer, content)
            self._apply_changes(offer)
            self.station.put(offer.block, content)
            with self.changed:
                if not is_here:
                    self.held += content.nbytes
                    self.peak = max(self.peak, self.held)
                    self._keep_within()
                self.visit_of[offer.block] = offer.visit
                self.entered += 1
                if self.entered == self.run.n_blocks:
                    self.round, self.entered = self.round + 1, 0
            if not is_here and offer.sender >= 0:
                sender = self.actors[offer.sender]
                links.fetched(sender, self.session, self.run.number, offer.block, offer.visit)
            self.queues[0].put(offer.block)

    def _keep_within(self) -> None:
        need, allowed = self.held + self.station.n_bytes(), self.run.allowance
        if allowed is not None and need > allowed:
            raise MemoryError(
                f"worker {self.number} needs {need:,} bytes for its rows and the blocks that are there, and may have "
                f"{allowed:,}: use more workers"
            )

    def _next_offers(self, in_any_case: bool = False) -> deque[Offer] | None:
        """Where the next block is to come from, if there is one and room for it."""
        if self.round >= self.allowed:
            return None
        here, room = self.inside + len(self.waiting), self.run.room
        if self.offers.get(self.round) and (here < room or in_any_case):
            return self.offers[self.round]
        if self.round == 0 and self.dealt and (here < -(-room // self.run.arrays) or in_any_case):
            return self.dealt
        return None

    def _apply_changes(self, offer: Offer) -> None:
        if offer.changes is None or offer.sender == self.number:
            return
        n_before, before = self.applied.get(offer.sender, (0, np.zeros_like(offer.changes)))
        if offer.n_changes > n_before:
            self.station.apply_changes(offer.changes - before)
            self.applied[offer.sender] = offer.n_changes, offer.changes

    def _visit(self, thread: int) -> None:
        n_visits = 0
        onwards = self.queues[thread + 1] if thread + 1 < len(self.queues) else self.outgoing
        while (
            blocks := self._next_blocks(thread, self.run.n_blocks - n_visits % self.run.n_blocks)
        ) and not self.stopped:
            begin = time.perf_counter()
            self.station.visit(thread, blocks, self.visit_of[blocks[0]] // self.run.routes.workers)
            n_visits += len(blocks)
            if n_visits % self.run.n_blocks == 0:
                n_round = n_visits // self.run.n_blocks - 1
                self._report(Post(n_round, self.number, thread, self.station.post(thread)))
            self.busy += time.perf_counter() - begin
            for b in blocks:
                onwards.put(b)

    def _next_blocks(self, thread: int, left: int) -> list[int]:
        """The next block, with others of its round, of which so many are still to come. Half a visit waits a little
        for more."""
        most, found = min(self.station.together, left), [self.queues[thread].get()]
        until = time.monotonic() + GATHERING_SECONDS
        while found[-1] is not None and len(found) < most:
            wait = until - time.monotonic() if len(found) < most / 2 else 0.0
            try:
                found.append(self.queues[thread].get(timeout=wait) if wait > 0 else self.queues[thread].get_nowait())
            except queue.Empty:
                break
        return [b for b in found if b is not None] if found[-1] is not None else []

    def _send(self) -> None:
        P = self.run.routes.workers
        while (b := self.outgoing.get()) is not None and not self.stopped:
            content, visit = self.station.take(b), self.visit_of[b] + 1
            to, mass = self.run.routes.at(b, visit), float(content.sum())
            is_end, is_last = visit % P == 0, visit == self.run.rounds * P
            to_driver = is_end and (is_last or self.run.collect_all)
            goes_away = not is_last and to != self.number
            ref = self.run.links.put(content) if to_driver or goes_away else None
            with self.changed:
                self.ledger.send(b, visit)
                self.inside -= 1
                self.n_changes += 1
                if goes_away:
                    self._gone(b)
                    self.waiting[b] = visit, ref, content.nbytes
                    self.bytes_sent += content.nbytes
                elif is_last:
                    self.held -= content.nbytes
                self.moved = True
                self.changed.notify_all()
            if to_driver:
                self._report(EndOfRound(visit // P - 1, b, mass, [ref]))
            if is_last:
                continue
            changes = self.station.own_changes() if goes_away else None
            offer = Offer(b, visit, mass, [ref] if goes_away else content, self.number, changes, self.n_changes)
            if goes_away:
                self.run.links.offer(self.actors[to], self.session, self.run.number, offer)
            else:
                self.offer(offer)

    def _gone(self, block: int) -> None:
        """The next worker has it. It may even be back before this message came."""
        if block in self.waiting:
            self.held -= self.waiting.pop(block)[2]

    def _report(self, item: EndOfRound | Post) -> None:
        with self.changed:
            self.items.append(item)
            self.moved = True
            self.changed.notify_all()


def message(method: Method) -> Method:
    """A method that other processes call while the actor computes: it has threads of its own."""
    marked: Method = ray.method(concurrency_group=GROUP)(method)
    return marked


class NomadHost:
    """The part of an actor that blocks visit."""

    def __init__(self) -> None:
        self.stations: dict[str, Station] = {}
        self.nomads: dict[str, Nomad] = {}

    @message
    def nomad_open(self, session: str, make: Maker, rows: list[ObjectRef], threads: int) -> None:
        found = ray.get(rows[0])
        self.stations[session] = make(found.read() if isinstance(found, SavedShard) else found, threads)

    @message
    def nomad_start(self, session: str, run: Run, number: int, actors: list[ActorHandle]) -> None:
        if session not in self.stations:
            raise LostWorker("a worker was started again, and knows nothing of this fit")
        self._end(session)
        self.nomads[session] = Nomad(session, run, number, actors, self.stations[session])

    @message
    def nomad_offer(self, session: str, run: int, *offers: Offer) -> None:
        if nomad := self._found(session, run):
            nomad.offer(*offers)

    @message
    def nomad_fetched(self, session: str, run: int, block: int, visit: int) -> None:
        if nomad := self._found(session, run):
            nomad.fetched(block, visit)

    @message
    def nomad_allow(self, session: str, run: int, rounds: int) -> None:
        if nomad := self._found(session, run):
            nomad.allow(rounds)

    @message
    def nomad_collect(self, session: str, run: int, seconds: float) -> News:
        nomad = self._found(session, run)
        if nomad is None:
            raise LostWorker("a worker was started again, and knows nothing of this fit")
        return nomad.collect(seconds)

    @message
    def nomad_ledger(self, session: str, run: int) -> tuple[dict[int, int], dict[int, int]]:
        nomad = self._found(session, run)
        return (nomad.ledger.received, nomad.ledger.sent) if nomad else ({}, {})

    @message
    def nomad_close(self, session: str) -> None:
        self._end(session)
        self.stations.pop(session, None)

    def _found(self, session: str, run: int) -> Nomad | None:
        """None for messages of a run that has ended."""
        nomad = self.nomads.get(session)
        return nomad if nomad is not None and nomad.run.number == run else None

    def _end(self, session: str) -> None:
        if nomad := self.nomads.pop(session, None):
            nomad.stop()
