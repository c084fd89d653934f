"""Which worker has which block, across processes: routes, visit numbers and checksums.

A block visits every worker once in a round, in an order of its own, drawn once or for each round. Its visits are
numbered from the beginning of a run: visit n is of round n // P, by worker route[n % P]. So whoever gets a block knows
which number it must have, and a block that comes twice, or after one that never came, is found by the worker that it
comes to. One that never comes is found when nobody has anything left to do (`missing`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

TOLERANCE = 1e-9  # of a block's checksum: its bytes are the same, but two machines may add in another order


class LedgerError(RuntimeError):
    """A block was lost, doubled or changed on its way. The message names it."""


class LostWorker(ConnectionError):
    """A worker is gone, and with it what its rows and its blocks were."""


class Offer(NamedTuple):
    """A block that waits at its sender until the receiver has room for it."""

    block: int
    visit: int
    mass: float  # the sum of its numbers
    content: np.ndarray | list[Any]  # the array, or a list with its reference
    sender: int  # -1: the driver
    changes: np.ndarray | None = None  # what the sender has changed in the sums over all blocks so far
    n_changes: int = 0  # which of the sender's messages this is: an older one says nothing new


@lru_cache(maxsize=8)
def _shuffled(seed: int, n_round: int, n_blocks: int) -> np.ndarray:
    return np.random.default_rng((seed, n_round)).permutation(n_blocks)


@dataclass(frozen=True)
class Routes:
    workers: int
    seed: int
    redrawn: int = 0  # blocks, if routes are drawn for each round: so that each block meets all others; 0: once

    def of(self, block: int, n_round: int = 0) -> np.ndarray:
        """[P] the workers in the order in which the block visits them. First visits are dealt evenly."""
        if self.redrawn:
            first = int(_shuffled(self.seed, n_round, self.redrawn)[block]) % self.workers
            rng = np.random.default_rng((self.seed, block, n_round))
        else:
            first, rng = block % self.workers, np.random.default_rng((self.seed, block))
        return np.concatenate([[first], rng.permutation(np.delete(np.arange(self.workers), first))])

    def at(self, block: int, visit: int) -> int:
        return int(self.of(block, visit // self.workers)[visit % self.workers])

    def visit(self, block: int, worker: int, n_round: int) -> int:
        """The number that the block's visit to this worker has."""
        return n_round * self.workers + int(np.flatnonzero(self.of(block, n_round) == worker)[0])


@dataclass
class Ledger:
    """Of one worker in one run."""

    worker: int
    routes: Routes
    received: dict[int, int] = field(default_factory=dict)  # block -> its last visit here
    sent: dict[int, int] = field(default_factory=dict)  # block -> the visit that it was sent on to
    n_received: int = 0
    n_sent: int = 0

    def receive(self, offer: Offer) -> None:
        b, n = offer.block, offer.visit
        if self.routes.at(b, n) != self.worker:
            raise LedgerError(f"block {b} came to worker {self.worker}, but its visit {n} is another worker's")
        n_round = self.received[b] // self.routes.workers + 1 if b in self.received else 0
        expected = self.routes.visit(b, self.worker, n_round)
        if n < expected:
            raise LedgerError(f"block {b} came twice: visit {n} to worker {self.worker} was made already")
        if n > expected:
            raise LedgerError(f"block {b} lost a visit: {n} came to worker {self.worker}, expected {expected}")
        self.received[b] = n
        self.n_received += 1

    def send(self, block: int, visit: int) -> None:
        if self.received.get(block) != visit - 1:
            raise LedgerError(f"block {block} leaves worker {self.worker} for visit {visit}, but is not there")
        self.sent[block] = visit
        self.n_sent += 1


def check_mass(offer: Offer, content: np.ndarray) -> None:
    found = float(content.sum())
    if not abs(found - offer.mass) <= TOLERANCE * (1.0 + abs(offer.mass)):
        raise LedgerError(f"block {offer.block} changed on its way to visit {offer.visit}: {found} for {offer.mass}")


def missing(received: Sequence[Mapping[int, int]], sent: Sequence[Mapping[int, int]], routes: Routes) -> str:
    """Of a run that goes nowhere: what was sent and has not arrived, by the ledgers of all workers."""
    for worker, out in enumerate(sent):
        for b, n in sorted(out.items()):
            to = routes.at(b, n)
            if received[to].get(b, -1) < n:
                return f"block {b} was sent by worker {worker} to worker {to} (visit {n}) and never arrived"
    blocks = {b for seen in received for b in seen}
    return f"no worker has anything to do, and {len(blocks)} blocks are somewhere else"
