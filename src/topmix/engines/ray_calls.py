"""Calls to workers that are answered whatever happens to a worker, and what they cost.

Every call is a pure function of its arguments, which lie in the object store. So a call whose worker was lost, or is
late, is made again to another one; the first answer counts, and there is one answer per key. Each incident is one line
in the log "topmix.ray".
"""

from __future__ import annotations

import statistics
import time
from collections import deque
from dataclasses import dataclass
from typing import Any, NamedTuple

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

from topmix.engines.ray_actor import Report
from topmix.engines.ray_pool import LOG, ClusterError, Peer, Pool

Key = tuple[str, Any]  # what is asked, and of which shard or part of a sum

LATE = 4.0  # times the median of the last visits: then another worker that has nothing to do takes over
LATE_AT_LEAST = 2.0  # seconds
MOST_LOST = 6  # workers that one call may cost, before it is taken to be the cause
FULL_SECONDS = 120.0  # that a full object store has to make room
STATE_SECONDS = 2.0  # to wait for what Ray says of its object stores


@dataclass
class Call:
    key: Key
    method: str
    args: tuple[object, ...]
    n_returns: int
    peer: Peer
    refs: tuple[ObjectRef, ...] = ()  # results, in the order of the method's; the last is small
    n_lost: int = 0  # workers that were lost with it

    @property
    def end(self) -> ObjectRef:
        return self.refs[-1]


class Answer(NamedTuple):
    key: Key
    peer: Peer
    refs: tuple[ObjectRef, ...]
    last: Any  # the value of the last result


class LostData(Exception):
    """An argument of a call is gone, with the node that had it."""

    def __init__(self, key: Key, cause: BaseException):
        super().__init__(str(cause).partition("\n")[0])
        self.key = key


class LostForGood(ClusterError):
    """What a shard remembers is nowhere any more."""

    def __init__(self, cause: BaseException):
        super().__init__(
            f"what a shard remembers was lost with its node: {cause}. With Ray(copies=1) one node can be lost at a "
            "time; a fit with a checkpoint continues from there when it is called again."
        )


class Calls:
    def __init__(self, pool: Pool):
        self.pool = pool
        self._open: dict[Key, list[Call]] = {}  # by key: the call, and those that repeat it
        self._took: deque[float] = deque(maxlen=64)  # seconds of visits
        self._full_since: float | None = None

    def __len__(self) -> int:
        return len(self._open)

    def ask(self, key: Key, peer: Peer, method: str, *args: object, n_returns: int = 1) -> None:
        call = Call(key, method, args, n_returns, peer)
        self._send(call)
        self._open.setdefault(key, []).append(call)

    def forget_times(self) -> None:
        """Calls of another kind follow: what is late is not known yet."""
        self._took.clear()

    def took(self, seconds: float) -> None:
        """A visit was as long as this."""
        self._took.append(seconds)

    def answers(self, seconds: float = 0.2) -> list[Answer]:
        """Calls that were answered; waits for at most so long. What workers raise is raised here."""
        self.pool.look_around()
        by_ref = {call.end: call for calls in self._open.values() for call in calls}
        others = [ref for peer in self.pool.peers for ref in peer.waiting if ref not in by_ref]
        ready, _ = ray.wait([*by_ref, *others], num_returns=1, timeout=seconds)
        if ready:  # and whatever else is there
            ready, _ = ray.wait([*by_ref, *others], num_returns=len(by_ref) + len(others), timeout=0)
        found = []
        for ref in ready:
            if ref not in by_ref:
                self._not_waited_for(ref)
            elif by_ref[ref].key in self._open and (answer := self._answer(by_ref[ref])) is not None:
                found.append(answer)
        self._take_over()
        return found

    def drop(self) -> None:
        """Nobody waits for the open calls any more."""
        for calls in self._open.values():
            for call in calls:
                call.peer.is_late = True  # until it has answered them
        self._open.clear()

    def _send(self, call: Call) -> None:
        peer = call.peer
        method = getattr(peer.actor, call.method).options(num_returns=call.n_returns)
        refs = method.remote(*call.args)
        call.refs = tuple(refs) if call.n_returns > 1 else (refs,)
        if not peer.waiting:
            peer.since = time.monotonic()
        peer.waiting.add(call.end)

    def _answer(self, call: Call) -> Answer | None:
        """The answer to a call that is over; None where it has to be made again."""
        try:
            last = ray.get(call.end)
        except (RayActorError, OutOfMemoryError) as error:
            self._lost(call.peer, error)
            return None
        except (ObjectStoreFullError, OutOfDiskError) as error:
            self._full(call, error)
            return None
        except ObjectLostError as error:
            del self._open[call.key]
            call.peer.answered(call.end)
            raise LostData(call.key, error) from error
        except RayTaskError as error:
            self.drop()
            raise (error.cause or error) from error
        self._full_since = None
        call.peer.answered(call.end)
        del self._open[call.key]
        return Answer(call.key, call.peer, call.refs, last)

    def _not_waited_for(self, ref: ObjectRef) -> None:
        """The answer to a call that another worker has answered meanwhile, or that was dropped."""
        for peer in self.pool.peers:
            if ref in peer.waiting:
                try:
                    ray.get(ref)
                except (RayActorError, OutOfMemoryError) as error:
                    self._lost(peer, error)
                except (RayTaskError, ObjectLostError, ObjectStoreFullError, OutOfDiskError):
                    peer.answered(ref)  # another worker has the answer, or the error
                else:
                    peer.answered(ref)
                return

    def _lost(self, peer: Peer, error: BaseException) -> None:
        mine = [call for calls in self._open.values() for call in calls if call.peer is peer]
        peer.lost()
        alive = self.pool.wait_for_one()
        LOG.warning(
            "%r (process %d) was lost: %s; its %d open calls are made again, by %d of %d workers: nothing counts twice",
            peer, peer.pid, _reason(error), len(mine), len(alive), len(self.pool.peers),
        )  # fmt: skip
        for call in mine:
            call.n_lost += 1
            if call.n_lost == MOST_LOST:
                self.drop()
                raise ClusterError(
                    f"{MOST_LOST} workers were lost one after another in the same call ({call.method} of "
                    f"{call.key[1]}): {_reason(error)}. Perhaps a batch needs more memory than a worker has: use a "
                    "smaller batch_size."
                ) from error
            call.peer = self.best(peer)
            self._send(call)

    def _full(self, call: Call, error: BaseException) -> None:
        now = time.monotonic()
        if self._full_since is None:
            self._full_since = now
            LOG.warning("the object store of %r is full: the call is made again until there is room", call.peer)
        if now - self._full_since > FULL_SECONDS:
            self.drop()
            raise MemoryError(
                f"the object stores of the cluster are full, and nothing was freed for {FULL_SECONDS:.0f} seconds. Use "
                "smaller batches (batch_size), more nodes, or a larger object_store_memory."
            ) from error
        call.peer.answered(call.end)
        time.sleep(0.5)
        self._send(call)

    def _take_over(self) -> None:
        """Calls of a worker that has not answered for long go to one that has nothing to do as well."""
        if not self._took:
            return
        now, usual = time.monotonic(), statistics.median(self._took)
        limit = max(LATE_AT_LEAST, LATE * usual)
        idle = [peer for peer in self.pool.staying() if not peer.waiting]
        for peer in self.pool.peers:
            if not idle or not peer.waiting or now - peer.since < limit:
                continue
            mine = [calls[0] for calls in self._open.values() if len(calls) == 1 and calls[0].peer is peer]
            if mine and not peer.is_late:
                LOG.warning(
                    "%r (process %d) has not answered for %.1f seconds, and visits take %.2g: others compute its %d "
                    "calls as well, and the first answer counts",
                    peer, peer.pid, now - peer.since, usual, len(mine),
                )  # fmt: skip
            for call in mine:
                peer.is_late = True
                self.ask(call.key, idle[0], call.method, *call.args, n_returns=call.n_returns)
                idle.append(idle.pop(0))

    def best(self, home: Peer | None = None) -> Peer:
        """The home of a shard if it answers and stays, else the worker with the least to do."""
        ready = self.pool.wait_for_one()
        if home in ready and not home.is_late:
            return home
        return min(ready, key=lambda peer: (peer.is_late, len(peer.waiting), peer.number))


def _reason(error: BaseException) -> str:
    return "its node ran out of memory" if isinstance(error, OutOfMemoryError) else "its process or its node ended"


class Traffic:
    """Bytes of messages and seconds of work, added up by whoever sends and receives."""

    def __init__(self, pool: Pool, n_rows: float):
        self.pool, self.n_rows = pool, n_rows
        self.sent = 0  # tables, from the driver to workers
        self.received = 0  # sums, from workers to the driver
        self.added = 0  # from worker to worker, on the way to a sum
        self.copied = 0  # what shards remember, to another node
        self.busy = 0.0  # seconds of visits
        self.processor = 0.0  # the same in processor time, which other programs do not change
        self._since, self._before = time.monotonic(), self._totals()
        self._spilled, self._looked = spilled_bytes(), time.monotonic()

    def visited(self, report: Report) -> None:
        self.busy += report.seconds
        self.processor += report.processor

    def status(self) -> dict[str, float]:
        """Of the time since it was last asked: a pass."""
        now, totals = time.monotonic(), self._totals()
        took = max(now - self._since, 1e-9)
        spent = {name: totals[name] - self._before[name] for name in totals}
        self._since, self._before = now, totals
        alive = self.pool.alive()
        return {
            "workers": float(len(alive)),
            "rows_per_second": self.n_rows / took,
            "worker_bytes": float(max((peer.resident for peer in alive), default=0)),
            "busy": spent.pop("busy") / (took * max(len(alive), 1)),
            **spent,
        }

    def _totals(self) -> dict[str, float]:
        names = ("sent", "received", "added", "copied", "busy", "processor")
        return {name: float(getattr(self, name)) for name in names}

    def look_at_disks(self, at_least: float = 10.0) -> None:
        """Says so when object stores were full and Ray has moved objects to disk; it fetches them when they are used.
        Looks no more than once in so many seconds, and not while a worker is late: Ray would wait for it."""
        if time.monotonic() - self._looked < at_least or any(peer.is_late for peer in self.pool.peers):
            return
        spilled, self._looked = spilled_bytes(), time.monotonic()
        if spilled is None:
            return
        if self._spilled is not None and spilled > self._spilled:
            megabytes = (spilled - self._spilled) / 1e6
            LOG.warning("object stores were full: %.0f MB went to disk, and the fit goes on", megabytes)
        self._spilled = spilled


def spilled_bytes() -> int | None:
    """Bytes that Ray has moved from full object stores to disk so far; None where it does not say."""
    try:
        from ray._private.internal_api import get_memory_info_reply, get_state_from_address

        reply = get_memory_info_reply(
            get_state_from_address(ray.get_runtime_context().gcs_address), timeout_seconds=STATE_SECONDS
        )
        return int(reply.store_stats.spilled_bytes_total)
    except Exception:  # not part of Ray's interface: whatever it raises, a fit does not depend on it
        return None
