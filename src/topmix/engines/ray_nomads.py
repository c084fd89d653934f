"""The driver's side of blocks that travel between actors: it deals them out, watches, and collects rounds that end."""

from __future__ import annotations

import secrets
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
import ray
from ray import ObjectRef
from ray.exceptions import RayActorError, RayError, RayTaskError

from topmix.engines.nomad_ledger import LedgerError, LostWorker, Offer, Routes, check_mass, missing
from topmix.engines.ray_nomad import EndOfRound, Links, Maker, News, Run
from topmix.engines.ray_pool import LOG, Peer, Pool

LEAD = 2  # rounds that workers may make before the last one is read
POLL_SECONDS = 0.5  # that a worker waits for news before it says that there is none
QUIET = 3  # polls in a row without anything from anybody: then a block is missing
RETURN_SECONDS = 20.0  # for a lost worker to come back, before the others go on without it


class Round(NamedTuple):
    """A round that is over: the blocks as they ended it, and the posts of all threads."""

    number: int
    contents: list[np.ndarray]
    posts: list[Any]


@dataclass
class Collected:
    contents: dict[int, np.ndarray] = field(default_factory=dict)
    posts: dict[tuple[int, int], Any] = field(default_factory=dict)  # by worker and thread


class RayNomads:
    links = Links()  # tests put another in its place
    allowance: int | None = None  # bytes of a worker, for tests and benchmarks

    def __init__(self, pool: Pool, threads: int):
        self.pool, self.threads = pool, threads
        self.visitors = threads  # of each worker: its threads visit blocks one after another, or together as one
        self.peers: list[Peer] = pool.wait_for_one()
        self.session = ""
        self.sent = self.received = self.added = 0  # bytes: dealt out, collected, and from worker to worker
        self.busy = 0.0  # seconds of visits
        self.n_runs = 0
        self._news: dict[int, News] = {}
        self._before: dict[str, float] = {}
        self._since = time.monotonic()
        self.block_bytes: list[int] = []  # of each worker, the most so far

    @property
    def n_workers(self) -> int:
        return len(self.peers)

    def gather(self) -> None:
        """Those that are there; one that was lost has some time to come back. All are asked: it may have been another
        one than the worker that missed a block."""
        deadline = time.monotonic() + RETURN_SECONDS
        for peer in self.pool.peers:
            if peer.is_alive:
                peer.lost()
        while len(self.pool.alive()) < len(self.pool.peers) and time.monotonic() < deadline:
            time.sleep(0.1)
        self.peers = self.pool.wait_for_one()

    def regroup(self) -> bool:
        """Whether others are to go on, because some joined or are about to go; those are the workers from now on."""
        self.pool.look_around()
        if (now := self.pool.wait_for_one()) == self.peers:
            return False
        self.close()
        self.peers = now
        self.pool.let_go()
        return True

    def open(self, makers: Sequence[Maker], rows: Sequence[object]) -> None:
        """Maker i is made by makers[i] from rows[i], by worker i."""
        self.close()
        self.pool.users.add(self)
        self.session = secrets.token_hex(8)
        self.block_bytes = [0] * len(self.peers)
        calls = [
            peer.actor.nomad_open.remote(self.session, make, [ray.put(mine)], self.threads)
            for peer, make, mine in zip(self.peers, makers, rows, strict=True)
        ]
        self._answers(calls)

    def run(
        self,
        contents: Sequence[np.ndarray],
        rounds: int,
        seed: int,
        settings: object,
        *,
        arrays: int = 1,
        collect_all: bool = True,
        redraw: bool = False,
    ) -> Iterator[Round]:
        """Blocks, of so many arrays each, make so many rounds, on routes that are drawn once or for each round. Workers
        go on while somebody looks at a round, but for no more than LEAD."""
        self.n_runs += 1
        self._news.clear()
        run = Run(
            self.n_runs,
            len(contents),
            rounds,
            Routes(len(self.peers), seed, len(contents) if redraw else 0),
            settings,
            arrays,
            collect_all,
            self.links,
            self.allowance,
        )
        actors = [peer.actor for peer in self.peers]
        self._answers([a.nomad_start.remote(self.session, run, number, actors) for number, a in enumerate(actors)])
        dealt: list[list[Offer]] = [[] for _ in actors]  # one message each: in the order that a single worker repeats
        for b, content in enumerate(contents):
            dealt[run.routes.at(b, 0)].append(Offer(b, 0, float(content.sum()), [ray.put(content)], -1))
            self.sent += content.nbytes
        for actor, offers in zip(actors, dealt):
            actor.nomad_offer.remote(self.session, run.number, *offers)
        del dealt
        found: dict[int, Collected] = {}
        polls = {self._poll(peer, run): number for number, peer in enumerate(self.peers)}
        for n_round in range(rounds) if collect_all else [rounds - 1]:
            for actor in actors:
                actor.nomad_allow.remote(self.session, run.number, n_round + 1 + LEAD)
            quiet = 0
            while not self._is_whole(found.get(n_round), run):
                for ref in ray.wait(list(polls), num_returns=1, timeout=POLL_SECONDS)[0]:
                    number = polls.pop(ref)
                    news = self._answer(ref, self.peers[number])
                    self._collect(number, news, found)
                    polls[self._poll(self.peers[number], run)] = number
                    quiet = quiet + 1 if news.is_idle else 0
                if quiet >= QUIET * len(self.peers):
                    self._audit(run)
            end = found.pop(n_round)
            yield Round(
                n_round, [end.contents[b] for b in range(run.n_blocks)], [*map(end.posts.get, sorted(end.posts))]
            )

    def _poll(self, peer: Peer, run: Run) -> ObjectRef:
        return peer.actor.nomad_collect.remote(self.session, run.number, POLL_SECONDS)

    def _is_whole(self, found: Collected | None, run: Run) -> bool:
        wanted = run.n_blocks, self.visitors * len(self.peers)
        return found is not None and (len(found.contents), len(found.posts)) == wanted

    def _collect(self, number: int, news: News, found: dict[int, Collected]) -> None:
        before = self._news.get(number)
        self.added += news.bytes_sent - (before.bytes_sent if before else 0)
        self.busy += news.busy - (before.busy if before else 0.0)
        self._news[number] = news
        self.block_bytes[number] = max(self.block_bytes[number], news.block_bytes)
        for item in news.items:
            into = found.setdefault(item.n_round, Collected())
            if isinstance(item, EndOfRound):
                if item.block in into.contents:
                    raise LedgerError(f"block {item.block} ended round {item.n_round} twice")
                try:
                    content = ray.get(item.content[0])
                except RayError as error:
                    raise self._lost(self.peers[number], error) from error
                check_mass(Offer(item.block, 0, item.mass, content, number), content)
                self.received += content.nbytes
                into.contents[item.block] = content
            else:
                into.posts[item.worker, item.thread] = item.value

    def _audit(self, run: Run) -> None:
        """Everybody waits: who for?"""
        ledgers = self._answers([p.actor.nomad_ledger.remote(self.session, run.number) for p in self.peers])
        raise LedgerError(missing([seen for seen, _ in ledgers], [sent for _, sent in ledgers], run.routes))

    def _answers(self, calls: Sequence[ObjectRef]) -> list[Any]:
        return [self._answer(call, peer) for call, peer in zip(calls, self.peers, strict=True)]

    def _answer(self, call: ObjectRef, peer: Peer) -> Any:
        try:
            return ray.get(call)
        except RayActorError as error:
            peer.lost()
            raise self._lost(peer, error) from error
        except RayTaskError as error:
            cause = error.cause or error
            if isinstance(cause, LostWorker):
                raise self._lost(peer, cause) from error
            raise cause from error

    def _lost(self, peer: Peer, error: BaseException) -> LostWorker:
        what = str(error) if isinstance(error, LostWorker) else "its process or its node ended"
        return LostWorker(f"{peer!r} (process {peer.pid}) was lost: {what}")

    def status(self, n_rows: float) -> dict[str, float]:
        """Of the time since it was last asked."""
        now, news = time.monotonic(), self._news.values()
        took = max(now - self._since, 1e-9)
        totals = {
            "sent": float(self.sent),
            "received": float(self.received),
            "added": float(self.added),
            "copied": 0.0,
            "busy": self.busy,
            "processor": sum(n.processor for n in news),
        }
        spent = {name: max(0.0, x - self._before.get(name, 0.0)) for name, x in totals.items()}
        self._since, self._before = now, totals
        return {
            "workers": float(len(self.peers)),
            "rows_per_second": n_rows / took,
            "worker_bytes": float(max((n.own_bytes + n.block_bytes for n in news), default=0)),
            "own_bytes": float(max((n.own_bytes for n in news), default=0)),
            "block_bytes": float(max(self.block_bytes, default=0)),
            "busy": spent.pop("busy") / (took * len(self.peers) * self.visitors),
            **spent,
        }

    def close(self) -> None:
        self.pool.users.discard(self)
        if self.session:
            calls = [peer.actor.nomad_close.remote(self.session) for peer in self.peers if peer.is_alive]
            try:
                ray.wait(calls, num_returns=len(calls), timeout=5.0) if calls else None
            except RayError as error:
                LOG.info("a worker was gone before it could be asked to end: %s", error)
            self.session = ""
