"""The driver's side of workers on a Ray cluster: which shard is whose, and where everything lies.

The driver holds references. Rows of a corpus in memory go into the object store once; those of a saved corpus are read
by the worker that visits them. What a shard remembers lies on the node that visited it last, and its next visit happens
there. One copy of it on another node makes the loss of a node an incident and not an end.

A visit is a pure function of its arguments, which lie in the object store: where a worker is lost, another one makes
its visits again. A round counts as a whole, when what its shards remember has a copy and its sum has arrived. Until
then shards are as they were before it, so nothing is counted twice. Each incident is a line in the log "topmix.ray".
"""

from __future__ import annotations

import secrets
from collections import Counter, deque
from collections.abc import Iterable, Iterator, Mapping, MutableMapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import ray
from ray import ObjectRef
from ray.exceptions import (
    ObjectLostError,
    ObjectStoreFullError,
    OutOfDiskError,
    OutOfMemoryError,
    RayActorError,
    RayTaskError,
)

from topmix.corpus.shard import Shards
from topmix.engines.engine import Memo, Round, Rounds, ShardResult, Tables, Workers, add_info
from topmix.engines.ray_actor import Report, n_bytes
from topmix.engines.ray_pool import LOG, ClusterError, Peer, Pool, Traffic
from topmix.models.model import SomeTotal, Stats
from topmix.models.statistics import tree_sum
from topmix.steps import Info, LocalStep, Memory

ATTEMPTS = 5  # to make a visit, a sum or a round, before something is wrong that trying again does not mend
MOST_LOST = 6  # workers that one visit may cost, before it is taken to be the cause
CALLS_PER_WORKER = 2  # visits that a worker has at a time: the next one's tables travel while it computes


def lost_for_good(cause: BaseException) -> ClusterError:
    """What a shard remembers is nowhere any more."""
    return ClusterError(
        f"what a shard remembers was lost with its node: {str(cause).partition(chr(10))[0]}. With Ray(copies=1) one "
        "node can be lost at a time; a fit with a checkpoint continues from there when it is called again."
    )


@dataclass
class ShardVisit:
    """A visit, and where its results lie."""

    shard: int
    peer: Peer
    refs: list[ObjectRef]  # statistics, what is remembered, and the report
    is_made: bool = False
    report: Report = field(init=False)  # when it is made
    stats: SomeTotal = None  # where they were fetched


Part: TypeAlias = tuple[ObjectRef, Peer | None]  # of a sum, and the worker who has it


class RayWorkers(Workers):
    def __init__(self, shards: Shards, step: LocalStep, pool: Pool, threads: int, copies: int):
        self.n_shards, self.n_rows = len(shards), shards.n_rows
        self.shards, self.pool, self.copies = shards, pool, copies
        self.opening = (secrets.token_hex(8), step, threads)
        self.traffic = Traffic(pool, self.n_rows)
        self._messages: dict[int, list[ObjectRef]] = {}
        self._columns: dict[int, ObjectRef] = {}
        self._memory: dict[int, ObjectRef] = {}
        self._n_lost = Counter[int]()  # by shard: workers that were lost with its visits
        pool.users.add(self)

    def run(self, tables: Tables, shards: Iterable[int]) -> Iterator[ShardResult]:
        order, found = deque(shards), dict[int, ShardVisit]()
        for visit in self.visits(tables, list(order), keep=None):
            found[visit.shard] = visit
            while order and order[0] in found:
                visit = found.pop(order.popleft())
                self.accept([visit])
                self.traffic.received += visit.report.stats_bytes
                yield ShardResult(visit.shard, visit.stats, visit.report.info)

    def rounds(self, memo: Memo) -> RayRounds:
        return RayRounds(self, memo)

    def visits(self, tables: Tables, shards: Sequence[int], *, keep: bool | None) -> Iterator[ShardVisit]:
        """Visits, in the order in which they end, each with a copy of what is remembered; and of its statistics where
        workers are to `keep` these. With None statistics come here, and only the next few shards are begun."""
        in_order = keep is None
        todo, position = list(dict.fromkeys(shards)), {b: i for i, b in enumerate(shards)}
        waiting = dict[ObjectRef, ShardVisit]()  # by what is answered when they are made, or copied
        # Words of shards that only their workers have read.
        while unknown := [b for b in todo if b not in self._columns and self.shards.saved is not None]:
            peers = self.pool.wait_for_one()
            asked = [peers[b % len(peers)].actor.columns.remote(self.opening, b, self._message(b)) for b in unknown]
            for b, ref in zip(unknown, asked):
                try:
                    self._columns[b] = ray.put(_value(ref))  # here, so that no node takes it away
                except RayActorError:
                    self.pool.look_again()
                except RayTaskError as error:
                    raise (error.cause or error) from error
        members, homes = list[Peer](), dict[int, Peer]()
        while todo or waiting:
            self.pool.look_around()
            if (now := self.pool.wait_for_one()) != members:  # some have joined, or are gone
                members, homes = now, self.homes(list(position), now, together=not in_order)
            first = min((position[b] for b in (*todo, *(visit.shard for visit in waiting.values()))), default=0)
            window = CALLS_PER_WORKER * len(members) + first if in_order else len(position)
            busy = Counter(visit.peer.number for visit in waiting.values() if not visit.is_made)
            for b in [b for b in todo if position[b] < window]:
                if busy[(peer := homes[b]).number] < CALLS_PER_WORKER:
                    busy[peer.number] += 1
                    todo.remove(b)
                    begun = self._begin(b, peer, tables)
                    waiting[begun.refs[-1]] = begun
            for ref in _ready(list(waiting)):
                if ref in waiting and (visit := self._answered(ref, waiting, todo, keep)) is not None:
                    yield visit

    def _answered(
        self, ref: ObjectRef, waiting: dict[ObjectRef, ShardVisit], todo: list[int], keep: bool | None
    ) -> ShardVisit | None:
        """The visit that was made, and copied where that is wanted; None: it is waited for, or has to be made again."""
        visit = waiting[ref]
        try:
            answer = ray.get(ref)
            if keep is None and not visit.is_made:
                visit.stats = ray.get(visit.refs[0])
        except (RayActorError, OutOfMemoryError) as error:
            if not visit.is_made:
                todo[:0] = self._lost(visit.peer, error, waiting)
                return None
        except ObjectLostError as error:
            todo.insert(0, waiting.pop(ref).shard)
            self._n_lost[visit.shard] += 1
            if self._n_lost[visit.shard] == ATTEMPTS:
                raise lost_for_good(error) from error
            LOG.warning("a result of shard %d was lost with its node: it is visited again", visit.shard)
            return None
        except (ObjectStoreFullError, OutOfDiskError) as error:
            raise MemoryError(
                "the object stores of the cluster are full. Use smaller batches (batch_size), more nodes, or a larger "
                "object_store_memory."
            ) from error
        except RayTaskError as error:
            raise (error.cause or error) from error
        del waiting[ref]
        if not visit.is_made and (copied := self._made(visit, answer, bool(keep))) is not None:
            waiting[copied] = visit
            return None
        return visit

    def _begin(self, b: int, peer: Peer, tables: Tables) -> ShardVisit:
        made = tables(ray.get(self._columns[b]) if b in self._columns else self.shards[b].cols)
        self.traffic.sent += n_bytes(made)
        args = self.opening, b, self._message(b), ray.put(made), self._memory.get(b)
        return ShardVisit(b, peer, peer.actor.step.options(num_returns=3).remote(*args))

    def _made(self, visit: ShardVisit, report: Report, keep: bool) -> ObjectRef | None:
        """Notes a visit that was made, and has a worker of another node hold on to what is to stay of it, if that is
        wanted and there is one: what is answered then."""
        visit.report, visit.is_made, peer = report, True, visit.peer
        peer.resident, peer.place = report.resident, report.place
        self.traffic.busy += report.seconds
        self.traffic.processor += report.processor
        stays = visit.refs[0 if keep else 1 : 2 if report.has_memory else 1]
        others = [other for other in self.pool.alive() if other.place.node != report.place.node] if self.copies else []
        if not stays or not others:
            return None
        self.traffic.copied += report.memory_bytes + keep * report.stats_bytes
        holder = others[visit.shard % len(others)]
        return holder.actor.keep_copy.remote(self.opening, visit.shard, *stays)

    def _lost(self, peer: Peer, error: BaseException, waiting: dict[ObjectRef, ShardVisit]) -> list[int]:
        """Shards whose visits were lost with a worker: they are no longer waited for."""
        peer.lost()
        mine = [ref for ref, visit in waiting.items() if visit.peer is peer and not visit.is_made]
        again = [waiting.pop(ref).shard for ref in mine]
        why = "its node ran out of memory" if isinstance(error, OutOfMemoryError) else "its process or its node ended"
        alive = self.pool.wait_for_one()
        LOG.warning(
            "%r (process %d) was lost: %s; its %d open visits are made again, by %d of %d workers: nothing counts "
            "twice", peer, peer.place.pid, why, len(mine), len(alive), len(self.pool.peers),
        )  # fmt: skip
        self._n_lost.update(again)
        if any(self._n_lost[b] >= MOST_LOST for b in again):
            raise ClusterError(
                f"{MOST_LOST} workers were lost one after another in the same visit: {why}. Perhaps a batch needs more "
                "memory than a worker has: use a smaller batch_size."
            ) from error
        return again

    def accept(self, visits: Iterable[ShardVisit]) -> None:
        """These visits count: their shards continue from what they found."""
        for visit in visits:
            if visit.report.has_memory:
                self._memory[visit.shard] = visit.refs[1]
            del self._n_lost[visit.shard]

    def homes(self, shards: Sequence[int], members: list[Peer], *, together: bool) -> dict[int, Peer]:
        """Deals shards to workers evenly: neighbours together, whose sums then need no message, or one by one. It
        depends on the shards and on who is there alone, so the same round has the same workers in every pass."""
        n, first = len(members), min(shards, default=0)
        return {b: members[(first + (i * n // len(shards) if together else i)) % n] for i, b in enumerate(shards)}

    def status(self) -> dict[str, float]:
        """Of the last pass, for its record."""
        return self.traffic.status()

    def recall(self) -> dict[int, Memory]:
        return dict(zip(self._memory, ray.get(list(self._memory.values()))))

    def restore(self, memory: Mapping[int, Memory]) -> None:
        self._memory = {b: ray.put(value) for b, value in memory.items()}

    def close(self) -> None:
        self.pool.users.discard(self)
        for peer in self.pool.alive():
            peer.actor.close.remote(self.opening[0])
        self._memory, self._messages, self._columns = {}, {}, {}

    def _message(self, b: int) -> list[ObjectRef]:
        """In a list, so that a worker who has the shard does not fetch it again."""
        if b not in self._messages:
            self._messages[b] = [ray.put(self.shards.message(b))]
        return self._messages[b]

    def sum(self, parts: Sequence[Part]) -> tuple[ObjectRef, Stats]:
        """By workers, in the tree of every engine: two parts are added where the first of them lies."""
        for _ in range(ATTEMPTS):
            there, added = self.pool.wait_for_one(), list[ObjectRef]()

            def plus(a: Part, b: Part, there: list[Peer] = there, added: list[ObjectRef] = added) -> Part:
                peer = a[1] if a[1] is not None and a[1].is_alive else there[0]
                total, size = peer.actor.add.options(num_returns=2).remote(a[0], b[0])
                added.append(size)
                return total, peer

            try:
                ref, _ = tree_sum(parts, plus)
                found: Stats = _value(ref)
                self.traffic.added += sum(ray.get(added))
            except RayActorError as error:
                LOG.warning("a worker was lost while it added, and others add again: %s", type(error).__name__)
                self.pool.look_again()
            except RayTaskError as error:
                raise (error.cause or error) from error
            else:
                return ref, found
        raise ClusterError(f"{ATTEMPTS} workers were lost one after another while they added")


def _ready(refs: list[ObjectRef]) -> list[ObjectRef]:
    """What is there; waits a moment for the first, so that Ctrl-C is heard."""
    ready, _ = ray.wait(refs, num_returns=1, timeout=0.2)
    return ray.wait(refs, num_returns=len(refs), timeout=0)[0] if ready else []


def _value(ref: ObjectRef) -> Any:
    while not _ready([ref]):
        pass
    return ray.get(ref)


class RayMemo(MutableMapping[int, Stats]):
    """The last statistics of each shard, on the node that visited it. Reading one fetches it."""

    def __init__(self, memo: Memo):
        self.parts: dict[int, Part] = {}
        self.sums: dict[tuple[int, ...], ObjectRef] = {}  # of rounds, while none of their shards has changed
        self.update(memo)

    def __getitem__(self, b: int) -> Stats:
        return ray.get(self.parts[b][0])

    def __setitem__(self, b: int, stats: Stats) -> None:
        self.parts[b] = ray.put(stats), None
        self.sums.clear()

    def __delitem__(self, b: int) -> None:
        del self.parts[b]
        self.sums.clear()

    def __iter__(self) -> Iterator[int]:
        return iter(self.parts)

    def __len__(self) -> int:
        return len(self.parts)


class RayRounds(Rounds):
    """Workers keep their statistics and add among themselves."""

    workers: RayWorkers
    memo: RayMemo

    def __init__(self, workers: RayWorkers, memo: Memo):
        super().__init__(workers, RayMemo(memo))

    def visit(self, tables: Tables, shards: Sequence[int]) -> Round:
        new, info, ref, visits = self._made(tables, shards, keep=True)
        old, memo = self.remembered(shards), self.memo
        self.workers.accept(visits)
        for visit in visits:
            memo.parts[visit.shard] = visit.refs[0], visit.peer
        memo.sums = {key: sum_ for key, sum_ in memo.sums.items() if not set(key) & set(shards)}
        memo.sums[tuple(shards)] = ref
        return Round(new, old, info)

    def visit_once(self, tables: Tables, shards: Sequence[int]) -> tuple[Stats, Info]:
        new, info, _, visits = self._made(tables, shards, keep=False)
        self.workers.accept(visits)
        return new, info

    def remembered(self, shards: Sequence[int]) -> Stats | None:
        known = [b for b in shards if b in self.memo.parts]
        if not known:
            return None
        if tuple(known) in self.memo.sums:
            try:
                found: Stats = _value(self.memo.sums[tuple(known)])
            except ObjectLostError:
                LOG.warning("a sum of shards %d to %d was lost with its node: it is made again", known[0], known[-1])
            else:
                return found
        _, total = self.workers.sum([self.memo.parts[b] for b in known])
        return total

    def _made(
        self, tables: Tables, shards: Sequence[int], *, keep: bool
    ) -> tuple[Stats, Info, ObjectRef, list[ShardVisit]]:
        """The sum of a round and what there is to say of it, where it lies, and its visits in the order of shards."""
        for _ in range(ATTEMPTS):
            found = {visit.shard: visit for visit in self.workers.visits(tables, shards, keep=keep)}
            visits = [found[b] for b in shards]
            try:
                ref, new = self.workers.sum([(visit.refs[0], visit.peer) for visit in visits])
            except ObjectLostError as error:
                lost = error
                LOG.warning(
                    "results of shards %d to %d were lost with their node: the round is made again from where it began",
                    shards[0], shards[-1],
                )  # fmt: skip
            else:
                self.workers.traffic.received += n_bytes(new)
                info = Info()
                for visit in visits:
                    add_info(info, visit.report.info)
                return new, info, ref, visits
        raise lost_for_good(lost) from lost
