"""Blocks of parameters that travel between workers who keep their rows: what one worker does with those that come.

A block visits every worker once in a round. A worker is asked for the next round only when all blocks have made the
last one, so its summary of a round belongs to the blocks as they ended it, and all of it adds up to one state.
"""

from __future__ import annotations

import threading
import time
from abc import ABC, abstractmethod
from typing import Any, NamedTuple

import numpy as np


class BlockError(RuntimeError):
    """A block was lost, doubled or changed on its way. The message names it."""


class LostWorker(ConnectionError):
    """A worker is gone, and with it what its rows and its blocks were."""


class News(NamedTuple):
    """What a worker says of a visit."""

    changes: np.ndarray | None  # that it has made so far in the sums over all blocks
    seconds: float
    processor: float  # seconds of this process, since its last news
    block_bytes: int  # peak of the blocks that were here at a time
    own_bytes: int


class BlockRows(ABC):
    """The rows of one process, whose threads visit one block after another."""

    def __init__(self, threads: int):
        self.lock, self.turns = threading.Lock(), [threading.Lock() for _ in range(threads)]

    @abstractmethod
    def begin(self, settings: Any) -> None: ...
    @abstractmethod
    def put(self, block: int, content: np.ndarray) -> None: ...
    @abstractmethod
    def visit(self, thread: int, blocks: list[int], n_round: int) -> None: ...
    @abstractmethod
    def take(self, block: int) -> np.ndarray: ...
    @abstractmethod
    def summary(self, thread: int) -> object:
        """Statistics of a thread's rows after a round."""

    @abstractmethod
    def n_bytes(self) -> int:
        """Of what stays: the rows and what belongs to them."""

    def own_changes(self) -> np.ndarray | None:
        """What this process has changed in the sums over all blocks, since `begin`; None where nobody needs them."""
        return None

    def apply_changes(self, delta: np.ndarray) -> None:
        """Others have changed the sums over all blocks."""
        raise AssertionError("there are no sums")

    # What the driver asks

    def start(self, settings: object) -> None:
        """Some rounds under these settings."""
        self.begin(settings)
        self.rounds: dict[int, int] = {}  # block -> the last round in which it came
        self.applied: float | np.ndarray = 0.0  # changes of others
        self.last_call, self.held, self.peak, self.processor = -1, 0, 0, time.process_time()

    def solve(
        self, call: int, n_round: int, blocks: list[int], others: np.ndarray | None, *contents: np.ndarray
    ) -> tuple[News | np.ndarray, ...]:
        """Blocks as they leave, after what there is to say. `others` is what all other workers have changed before this
        call; calls may arrive in another order, and overlap."""
        seconds, n_bytes = 0.0, sum(content.nbytes for content in contents)
        with self.lock:
            for b in blocks:
                expected = self.rounds.get(b, -1) + 1
                if n_round < expected:
                    raise BlockError(
                        f"block {b} came twice: the rows here were solved for it in round {n_round} already"
                    )
                if n_round > expected:
                    raise BlockError(f"block {b} lost a visit: it came in round {n_round}, and not in round {expected}")
                self.rounds[b] = n_round
            if others is not None and call > self.last_call:
                self.apply_changes(others - self.applied)
                self.applied, self.last_call = others, call
            self.held += n_bytes
            self.peak = max(self.peak, self.held)
        for b, content in zip(blocks, contents, strict=True):
            self.put(b, content)
        for thread, turn in enumerate(self.turns):
            with turn:
                began = time.perf_counter()
                self.visit(thread, blocks, n_round)
                seconds += time.perf_counter() - began
        found = [self.take(b) for b in blocks]
        with self.lock:
            self.held -= n_bytes
            before, self.processor = self.processor, time.process_time()
            return News(self.own_changes(), seconds, self.processor - before, self.peak, self.n_bytes()), *found

    def summaries(self) -> list[object]:
        return [self.summary(thread) for thread in range(len(self.turns))]
