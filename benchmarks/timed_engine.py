"""Where the seconds of a fit go: an engine that keeps the time of what it does."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from topmix.engines import ENGINES, Threads


@dataclass
class Times:
    """Seconds, of the wall and of the processor. What is in neither of the parts is the learner's: sums and updates."""

    begin: float = 0.0  # when the first shard was asked for: initialisation is over
    begin_processor: float = 0.0
    tables: float = 0.0  # topics made into the tables that a shard needs
    step: float = 0.0  # documents solved and summed by word


@contextmanager
def timed_engine() -> Iterator[Times]:
    """While it lasts, LDA(engine="timed") fills these times in; for one fit."""
    times = Times()

    class Timed(Threads):
        def run(self, tables: Callable[..., Any], shards: Iterable[int]) -> Iterator[tuple[int, Any]]:
            if not times.begin:
                times.begin, times.begin_processor = time.perf_counter(), time.process_time()
            for b in shards:
                start = time.perf_counter()
                made = tables(self.worker.columns(b))
                ready = time.perf_counter()
                stats = self.worker.step(b, made)
                times.tables += ready - start
                times.step += time.perf_counter() - ready
                yield b, stats

    ENGINES["timed"] = Timed
    try:
        yield times
    finally:
        del ENGINES["timed"]
