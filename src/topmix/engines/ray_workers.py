"""The driver's side of workers on a Ray cluster: which shard is whose, and where everything lies.

The driver holds references. Rows of a corpus in memory go into the object store once; those of a saved corpus are read
by the worker that visits them. What a shard remembers lies on the node that visited it last, and its next visit happens
there. One copy of it on another node makes the loss of a node an incident and not an end.

A round counts as a whole, when its sum has arrived and what its shards remember has a copy. Until then shards are as
they were before it: if anything is lost meanwhile, the round is made again from there, and nothing is counted twice.
"""

from __future__ import annotations

import secrets
from collections import Counter, deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain, zip_longest
from typing import Any, NamedTuple

import numpy as np
import ray
from ray import ObjectRef
from ray.exceptions import ObjectLostError

from topmix.data.rows import Rows
from topmix.data.shard import Shards
from topmix.engines.engine import M, Memory, ShardResult, Tables
from topmix.engines.ray_actor import Place, Report, n_bytes
from topmix.engines.ray_calls import Answer, Calls, LostData, LostForGood, Traffic
from topmix.engines.ray_pool import LOG, Peer, Pool
from topmix.engines.ray_tree import RayMemo, Tree
from topmix.engines.rounds import Memo, Round
from topmix.local import Info, LocalStep, add_info
from topmix.models.model import Stats

ATTEMPTS = 5  # to make a round, before something is wrong that trying again does not mend
CALLS_PER_WORKER = 2  # calls that a worker has at a time: the next one's tables travel while it computes


class Visited(NamedTuple):
    """A visit that was made, and where its results lie."""

    shard: int
    stats: Any  # reference, or the value where it was fetched
    memory: ObjectRef | None  # reference; None where nothing is remembered
    report: Report
    peer: Peer


class Copy(NamedTuple):
    """What a shard remembers, and the worker of another node that holds on to it too."""

    visited: Visited  # without its statistics
    remembered: tuple[ObjectRef, ...]  # references
    holder: Peer | None  # None: none was wanted, or there was no other node
    place: Place | None  # of the holder: a copy is gone when it has been started again

    def is_there(self, leaving: set[str]) -> bool:
        """On a node that stays."""
        is_held = self.holder is not None and self.holder.is_alive and self.holder.place == self.place
        return is_held and self.place is not None and self.place.node not in leaving


class RayWorkers:
    def __init__(self, shards: Shards, step: LocalStep, pool: Pool, threads: int, copies: int):
        self.n_shards, self.n_rows = len(shards), shards.n_rows
        self.shards, self.pool, self.copies = shards, pool, copies
        self.opening = (secrets.token_hex(8), step, threads)
        self.calls, self.traffic = Calls(pool), Traffic(pool, self.n_rows)
        self._messages: dict[int, list[ObjectRef]] = {}
        self._columns: dict[int, ObjectRef] = {}
        self._memory: dict[int, ObjectRef] = {}
        self._home: dict[int, Peer] = {}
        self._n_homes = Counter[int]()  # by worker
        self._copies: dict[int, Copy] = {}  # the last of each shard, made or not
        pool.users.add(self)

    def run(self, tables: Tables, shards: Iterable[int]) -> Iterator[ShardResult]:
        order = deque(shards)
        self.find_homes(order, together=False)
        found, copying = dict[int, Visited](), set[int]()
        try:
            for answer in self.visits(tables, list(order), in_order=True, fetch=True):
                if isinstance(answer, Answer):
                    copying.discard(answer.key[1])
                else:
                    found[answer.shard] = answer
                    if answer.memory is not None and self.copy(answer, answer.memory):
                        copying.add(answer.shard)
                while order and order[0] in found and order[0] not in copying:
                    yield self._accepted(found.pop(order.popleft()))
            while order:
                for answer in self.calls.answers():
                    copying.discard(answer.key[1])
                while order and order[0] not in copying:
                    yield self._accepted(found.pop(order.popleft()))
        except LostData as lost:
            self.calls.drop()
            raise LostForGood(lost) from lost

    def _accepted(self, visited: Visited) -> ShardResult:
        self.accept([visited])
        self.traffic.received += visited.report.stats_bytes
        return ShardResult(visited.shard, visited.stats, visited.report.info)

    def rounds(self, memo: Memo) -> RayRounds:
        return RayRounds(self, memo)

    def visits(
        self, tables: Tables, shards: Sequence[int], *, in_order: bool, fetch: bool = False
    ) -> Iterator[Visited | Answer]:
        """Visits, in the order in which they end, and answers to other calls meanwhile. With `in_order` only the next
        few of the list are begun. With `fetch` their statistics come here."""
        self.calls.drop()  # what is left of an iteration that was given up
        self._ask_columns(shards)
        todo, position = list(dict.fromkeys(shards)), {b: i for i, b in enumerate(shards)}
        left, copying = set(todo), self._copy_again(but=set(todo))
        members = self.pool.wait_for_one()
        while left or copying:
            if (now := self.pool.wait_for_one()) != members:  # some have joined, or go
                members = now
                self.find_homes(todo, together=not in_order)
                copying |= self._copy_again(but=left)
            first = min((position[b] for b in left), default=0)
            window = CALLS_PER_WORKER * len(self.pool.peers) + first if in_order else len(shards)
            for b in [b for b in todo if position[b] < window]:
                peer = self.calls.best(self._home[b])
                if len(peer.waiting) < CALLS_PER_WORKER:
                    todo.remove(b)
                    self._begin(b, peer, tables)
            for answer in self.calls.answers():
                what, b = answer.key
                if what != "step":
                    copying.discard(b)
                    yield answer
                    continue
                try:
                    stats = ray.get(answer.refs[0]) if fetch else answer.refs[0]
                except ObjectLostError:
                    LOG.warning("the result of shard %d was lost with its node: it is computed again", b)
                    todo.insert(0, b)
                    continue
                left.remove(b)
                yield self._visited(answer, stats)

    def _visited(self, answer: Answer, stats: Any) -> Visited:
        report: Report = answer.last
        answer.peer.resident, answer.peer.place = report.resident, report.place
        self.calls.took(report.seconds)
        self.traffic.visited(report)
        memory = answer.refs[1] if report.has_memory else None
        return Visited(answer.key[1], stats, memory, report, answer.peer)

    def accept(self, visits: Iterable[Visited]) -> None:
        """These visits count: their shards continue from what they found."""
        for visited in visits:
            if visited.memory is not None:
                self._memory[visited.shard] = visited.memory

    def find_homes(self, shards: Sequence[int], *, together: bool) -> None:
        """Deals shards to workers: neighbours together, whose sums then need no message, or one by one. Each keeps what
        it has, up to its share; so those that join get theirs, and those that go keep none."""
        peers, new = self.pool.wait_for_one(), list(dict.fromkeys(shards))
        has = {peer.number: [b for b in new if self._home.get(b) is peer] for peer in peers}
        peers.sort(key=lambda peer: (-len(has[peer.number]), self._n_homes[peer.number], peer.number))
        least, more = divmod(len(new), len(peers))
        room = []  # a worker as often as it can take another shard
        for i, peer in enumerate(peers):
            kept = has[peer.number][: least + (i < more)]
            new = [b for b in new if b not in kept]
            room.append([peer] * (least + (i < more) - len(kept)))
        by_turns = [peer for turn in zip_longest(*room) for peer in turn if peer is not None]
        for b, peer in zip(new, chain(*room) if together else by_turns, strict=True):
            self.move(b, peer)

    def move(self, b: int, peer: Peer) -> None:
        if b in self._home:
            self._n_homes[self._home[b].number] -= 1
            LOG.info("shard %d goes from %r to %r", b, self._home[b], peer)
        self._home[b] = peer
        self._n_homes[peer.number] += 1

    def copy(self, visited: Visited, *remembered: ObjectRef) -> bool:
        """Has a worker of another node hold what the shard remembers, if that is wanted or its node is about to go;
        whether there is one."""
        if not remembered:
            return False
        node = visited.report.place.node
        others = self._on_other_nodes(node) if self.copies or node in self.pool.leaving else []
        holder = others[visited.shard % len(others)] if others else None
        place = holder.place if holder else None
        self._copies[visited.shard] = Copy(visited._replace(stats=None), remembered, holder, place)
        if holder is None:
            return False
        self.calls.ask(("copy", visited.shard), holder, "keep_copy", self.opening, visited.shard, *remembered)
        self.traffic.copied += visited.report.memory_bytes + (len(remembered) > 1) * visited.report.stats_bytes
        return True

    def _on_other_nodes(self, node: str) -> list[Peer]:
        return [other for other in self.pool.staying() if other.node != node and not other.is_late]

    def _copy_again(self, but: set[int]) -> set[int]:
        """Copies of shards that have none: their worker was alone when they were visited, or the holder was lost, or
        their node is about to go. Returns those that are on their way. Not of `but`, which are visited next and copied
        then, unless their node goes."""
        alone = [c for b, c in self._copies.items() if not self._is_safe(c, b in but)]
        return {c.visited.shard for c in alone if self.copy(c.visited, *c.remembered)}

    def _is_safe(self, copy: Copy, is_next: bool = False) -> bool:
        stays = copy.visited.report.place.node not in self.pool.leaving
        return copy.is_there(self.pool.leaving) or (stays and (is_next or not self.copies))

    def let_go(self) -> None:
        """Workers whose machine is about to go end, once all that they had is elsewhere."""
        if self.pool.leaving and all(map(self._is_safe, self._copies.values())):
            self.pool.let_go()

    def status(self) -> dict[str, float]:
        """Of the last pass, for its record."""
        return self.traffic.status()

    def home(self, b: int) -> Peer | None:
        return self._home.get(b)

    def place(self, model: M) -> M:
        return model

    def recall(self) -> dict[int, Memory]:
        return dict(zip(self._memory, ray.get(list(self._memory.values()))))

    def restore(self, memory: Mapping[int, Memory]) -> None:
        self._memory = {b: ray.put(value) for b, value in memory.items()}

    def forget(self) -> None:
        self._memory, self._copies = {}, {}

    def close(self) -> None:
        self.pool.users.discard(self)
        self.calls.drop()
        self.traffic.look_at_disks(at_least=0.5)
        for peer in self.pool.alive():
            peer.actor.close.remote(self.opening[0])
        self._memory, self._messages, self._columns, self._copies = {}, {}, {}, {}

    def _begin(self, b: int, peer: Peer, tables: Tables) -> None:
        made = tables(self._cols(b))
        self.traffic.sent += n_bytes(made)
        args = self.opening, b, self._message(b), ray.put(made), self._memory.get(b)
        self.calls.ask(("step", b), peer, "step", *args, n_returns=3)

    def _message(self, b: int) -> list[ObjectRef]:
        """In a list, so that a worker who has the shard does not fetch it again."""
        if b not in self._messages:
            self._messages[b] = [ray.put(self.shards.message(b))]
        return self._messages[b]

    def _ask_columns(self, shards: Sequence[int]) -> None:
        """Words of shards that only their workers have read."""
        if isinstance(self.shards.corpus, Rows) or self.shards.corpus.path is None:
            return
        unknown = [b for b in dict.fromkeys(shards) if b not in self._columns]
        for b in unknown:
            peer = self.calls.best(self._home[b])
            self.calls.ask(("columns", b), peer, "columns", self.opening, b, self._message(b))
        while any(b not in self._columns for b in unknown):
            for (_, b), _, _, cols in self.calls.answers():
                self._columns[b] = ray.put(cols)  # here, so that no node takes it away

    def _cols(self, b: int) -> np.ndarray:
        return ray.get(self._columns[b]) if b in self._columns else self.shards[b].cols


class RayRounds:
    def __init__(self, workers: RayWorkers, memo: Memo):
        self.workers, self.memo = workers, RayMemo(memo)

    def visit(self, tables: Tables, shards: Sequence[int]) -> Round:
        new, ref, visits = self._made(tables, shards, keep=True)
        old = self.remembered(shards)
        self.workers.accept(visits)
        for visited in visits:
            self.memo.refs[visited.shard] = visited.stats
        self.memo.sums = {key: sum_ for key, sum_ in self.memo.sums.items() if not set(key) & set(shards)}
        self.memo.sums[tuple(shards)] = ref
        self.workers.traffic.look_at_disks()
        self.workers.let_go()
        return Round(new, old, _info(visits))

    def visit_once(self, tables: Tables, shards: Sequence[int]) -> tuple[Stats, Info]:
        new, _, visits = self._made(tables, shards, keep=False)
        self.workers.accept(visits)
        return new, _info(visits)

    def remembered(self, shards: Sequence[int]) -> Stats | None:
        known = [b for b in shards if b in self.memo.refs]
        if not known:
            return None
        if tuple(known) in self.memo.sums:
            try:
                return ray.get(self.memo.sums[tuple(known)])
            except ObjectLostError:
                LOG.warning("a sum of shards %d to %d was lost with its node: it is made again", known[0], known[-1])
        tree, calls = Tree(self.workers.calls, len(known)), self.workers.calls
        for i, b in enumerate(known):
            tree.put((i, i + 1), self.memo.refs[b], calls.best(self.workers.home(b)))
        while tree.sum is None:
            for answer in calls.answers():
                self.workers.traffic.added += tree.added(answer)
        return ray.get(tree.sum)

    def _made(self, tables: Tables, shards: Sequence[int], *, keep: bool) -> tuple[Stats, ObjectRef, list[Visited]]:
        """The sum of a round, where it lies, and its visits in the order of shards."""
        self.workers.find_homes(shards, together=True)
        for left in range(ATTEMPTS, 0, -1):
            try:
                ref, visits = self._attempt(tables, shards, keep)
                new = ray.get(ref)
            except (LostData, ObjectLostError) as error:
                self.workers.calls.drop()
                was_memory = isinstance(error, LostData) and error.key[0] == "step"
                if was_memory or left == 1:
                    raise LostForGood(error) from error
                LOG.warning(
                    "results of shards %d to %d were lost with their node: the round is made again from where it began",
                    shards[0], shards[-1],
                )  # fmt: skip
            else:
                self.workers.traffic.received += n_bytes(new)
                return new, ref, visits
        raise AssertionError("unreachable")

    def _attempt(self, tables: Tables, shards: Sequence[int], keep: bool) -> tuple[ObjectRef, list[Visited]]:
        calls, traffic = self.workers.calls, self.workers.traffic
        tree, visits, copies = Tree(calls, len(shards)), dict[int, Visited](), set[int]()
        position = {b: i for i, b in enumerate(shards)}

        def answered(answer: Answer) -> None:
            what, b = answer.key
            if what == "add":
                traffic.added += tree.added(answer)
            else:
                copies.discard(b)

        for visited in self.workers.visits(tables, shards, in_order=False):
            if isinstance(visited, Answer):
                answered(visited)
                continue
            visits[visited.shard] = visited if keep else visited._replace(stats=None)
            remembered = [visited.memory] if visited.memory is not None else []
            if self.workers.copy(visited, *remembered, *([visited.stats] if keep else [])):
                copies.add(visited.shard)
            i = position[visited.shard]
            tree.put((i, i + 1), visited.stats, visited.peer)
        while tree.sum is None or copies:
            for answer in calls.answers():
                answered(answer)
        return tree.sum, [visits[b] for b in shards]


def _info(visits: Sequence[Visited]) -> Info:
    info = Info()
    for visited in visits:
        add_info(info, visited.report.info)
    return info
