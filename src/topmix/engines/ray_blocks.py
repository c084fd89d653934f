"""The driver's side of blocks that travel between actors: it sends each to a worker that has time, and collects rounds.

Blocks lie in the object stores of the nodes, and go from worker to worker: the driver has references alone, until a
round is over. The next round begins before the learner looks at the last, so workers do not wait for it.
"""

from __future__ import annotations

import secrets
import threading
import time
from collections.abc import Callable, Generator, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, NamedTuple

import numpy as np
import ray
from ray import ObjectRef
from ray.exceptions import RayActorError, RayError, RayTaskError

from topmix.corpus.shard import SomeShard
from topmix.engines.blocks import BlockRows, LostWorker, News
from topmix.engines.ray_pool import Peer, Pool, Traffic
from topmix.models.model import SomeTotal

POLL_SECONDS = 0.5  # between two looks whether the fit is over
RETURN_SECONDS = 20.0  # for a lost worker to come back, before the others go on without it


class BlockRound(NamedTuple):
    """The blocks as they ended a round, and the summaries of all threads."""

    contents: list[np.ndarray]
    summaries: list[SomeTotal]


class BlockVisit(NamedTuple):
    """A call that was not answered yet."""

    worker: int
    blocks: list[int]
    contents: list[ObjectRef]


class Run:
    """Blocks that make rounds, `together` in a visit where that is possible. Each goes to whichever worker has time for
    it and was not visited in the round."""

    def __init__(self, workers: BlockWorkers, contents: Sequence[np.ndarray], seed: int, together: int):
        self.workers, self.seed, self.together = workers, seed, together
        self.blocks = [ray.put(content) for content in contents]
        self.bytes = [content.nbytes for content in contents]
        self.holder = [-1] * len(contents)  # the worker where each was last; -1: the driver
        self.changes: list[np.ndarray | None] = [None] * len(workers.peers)  # in the sums over all blocks
        self.n_calls, self.stopped = 0, threading.Event()
        # One that computes and, where others do too, one that is on its way.
        self.most_calls = 1 if together > 1 else workers.n_visitors // len(workers.peers) + (len(workers.peers) > 1)

    def round(self, n_round: int) -> tuple[list[ObjectRef], list[SomeTotal]]:
        """The blocks after it, and the summaries. The order is drawn again, so that all blocks meet."""
        calls, workers, traffic = dict[ObjectRef, BlockVisit](), self.workers, self.workers.traffic
        waiting = np.random.default_rng((self.seed, n_round)).permutation(len(self.blocks)).tolist()
        left: list[set[int]] = [set(waiting) for _ in workers.peers]  # of each worker
        while any(left) or calls:
            for worker, mine in enumerate(left):
                while blocks := self._next(worker, mine, waiting, calls):
                    mine -= set(blocks)
                    waiting = [b for b in waiting if b not in blocks]
                    theirs = [made for w, made in enumerate(self.changes) if w != worker and made is not None]
                    others = np.sum(theirs, axis=0) if theirs else None
                    traffic.added += sum(self.bytes[b] for b in blocks if self.holder[b] not in (-1, worker))
                    traffic.sent += sum(self.bytes[b] for b in blocks if self.holder[b] == -1)
                    self.n_calls += 1
                    ask = workers.peers[worker].actor.blocks_ask.options(num_returns=1 + len(blocks))
                    about, contents = (self.n_calls, n_round, blocks, others), [self.blocks[b] for b in blocks]
                    ref, *refs = ask.remote(workers.session, BlockRows.solve, *about, *contents)
                    calls[ref] = BlockVisit(worker, blocks, refs)
            for ref in ray.wait(list(calls), timeout=POLL_SECONDS)[0]:
                worker, blocks, refs = calls.pop(ref)
                news: News = answered(ref, workers.peers[worker])
                self.changes[worker], workers.news[worker] = news.changes, news
                for b, content in zip(blocks, refs):
                    self.blocks[b], self.holder[b] = content, worker
                traffic.busy += news.seconds
                traffic.processor += news.processor
                waiting += blocks
            if self.stopped.is_set():
                return [], []
        return list(self.blocks), [summary for mine in workers.ask(BlockRows.summaries) for summary in mine]

    def _next(self, worker: int, left: set[int], waiting: list[int], calls: dict[ObjectRef, BlockVisit]) -> list[int]:
        """What this worker visits next; nothing where it has enough to do, or more will come."""
        if sum(visit.worker == worker for visit in calls.values()) >= self.most_calls:
            return []
        here = [b for b in waiting if b in left][: self.together]
        return here if 2 * len(here) >= min(self.together, len(left)) or not calls else []


class BlockWorkers:
    def __init__(self, pool: Pool, threads: int, n_rows: float):
        self.pool, self.threads, self.traffic = pool, threads, Traffic(pool, n_rows)
        self.peers: list[Peer] = pool.wait_for_one()
        self.session, self.n_visitors = "", 1  # threads that visit blocks, of all workers
        self.news: dict[int, News] = {}  # the last of each worker

    @property
    def n_workers(self) -> int:
        return len(self.peers)

    def gather(self) -> None:
        """Those that are there go on; one that was lost has some time to come back. All are asked: it may have been
        another one than the worker that missed a block."""
        deadline = time.monotonic() + RETURN_SECONDS
        for peer in self.pool.alive():
            peer.lost()
        while len(self.pool.alive()) < len(self.pool.peers) and time.monotonic() < deadline:
            time.sleep(0.1)
        self.peers = self.pool.wait_for_one()

    def regroup(self) -> bool:
        """Whether others are to go on, because some joined; those are the workers from now on."""
        self.pool.look_around()
        before, self.peers = self.peers, self.pool.wait_for_one()
        return self.peers != before

    def open(self, make: Callable[[SomeShard, int], BlockRows], rows: Sequence[object]) -> None:
        """Each worker gets its rows, and makes of them what blocks visit, for so many threads."""
        self.close()
        self.pool.users.add(self)
        self.session = secrets.token_hex(8)
        self.news.clear()
        given = [(self.session, make, [ray.put(mine)], self.threads) for mine in rows]
        opened = [peer.actor.blocks_open.remote(*mine) for peer, mine in zip(self.peers, given, strict=True)]
        self.n_visitors = sum(answered(call, peer) for call, peer in zip(opened, self.peers))

    def run(
        self, contents: Sequence[np.ndarray], rounds: int, seed: int, settings: object, together: int = 1
    ) -> Generator[BlockRound]:
        self.ask(BlockRows.start, settings)
        run = Run(self, contents, seed, together)
        with ThreadPoolExecutor(1) as ahead:
            try:
                coming = ahead.submit(run.round, 0)
                for n_round in range(rounds):
                    refs, summaries = coming.result()
                    if n_round + 1 < rounds:
                        coming = ahead.submit(run.round, n_round + 1)
                    found = [answered(ref, self.peers[w]) for ref, w in zip(refs, run.holder)]
                    self.traffic.received += sum(run.bytes)
                    yield BlockRound(found, summaries)
            finally:
                run.stopped.set()

    def ask(self, method: Callable[..., object], *arguments: object) -> list[Any]:
        """All workers."""
        calls = [peer.actor.blocks_ask.remote(self.session, method, *arguments) for peer in self.peers]
        return [answered(call, peer) for call, peer in zip(calls, self.peers)]

    def status(self) -> dict[str, float]:
        """Of the time since it was last asked. Memory is that of rows and blocks."""
        status, news = self.traffic.status(), self.news.values()
        return status | {
            "workers": float(len(self.peers)),
            "worker_bytes": float(max((n.own_bytes + n.block_bytes for n in news), default=0)),
            "block_bytes": float(max((n.block_bytes for n in news), default=0)),
            "busy": status["busy"] * len(self.peers) / self.n_visitors,
        }

    def close(self) -> None:
        """Without waiting: a worker that is gone has nothing to close."""
        self.pool.users.discard(self)
        for peer in self.pool.peers:
            peer.actor.blocks_close.remote(self.session)


def answered(call: ObjectRef, peer: Peer) -> Any:
    """What a worker found. What its code raises is raised here; all else is a worker that is lost."""
    try:
        return ray.get(call)
    except RayError as error:
        cause = error.cause if isinstance(error, RayTaskError) else error
        if not isinstance(cause, LostWorker | RayError):
            raise cause or error from error
        why = "its process or its node ended" if isinstance(cause, RayActorError) else str(cause).partition("\n")[0]
        raise LostWorker(f"{peer!r} (process {peer.place.pid}) was lost: {why}") from error
