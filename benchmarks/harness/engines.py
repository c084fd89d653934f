"""Engines of topmix that look at a fit from inside: one measures its parts, one reports within passes."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from typing import Any

from benchmarks.harness.methods import ours
from benchmarks.harness.methods.method import Topics
from topmix.engines import ENGINES, Engine, Threads


@dataclass
class Times:
    """Seconds of a fit, by part. What is in neither part is the learner's: sums and updates of topics."""

    begin: float = 0.0  # when the first shard was asked for: initialisation is over
    begin_processor: float = 0.0
    tables: float = 0.0  # topics made into the tables that a shard needs
    step: float = 0.0  # documents solved and summed by word


@contextmanager
def timed_engine() -> Iterator[tuple[str, Times]]:
    """(engine, times) for one fit: LDA(engine=engine) fills the times in."""
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

    with _named("timed", Timed) as engine:
        yield engine, times


@contextmanager
def reporting_engine(report: Callable[[Callable[[], Topics], float], None] | None) -> Iterator[str | None]:
    """An engine that calls `report(topics, n_pass)` after each batch; None without a report."""
    if report is None:
        yield None
        return

    class Reporting(Threads):
        batches = 0

        def run(self, tables: Callable[..., Any], shards: Iterable[int]) -> Iterator[tuple[int, Any]]:
            view = tables.__self__  # type: ignore[attr-defined]  # learners pass a method of the model they have so far
            for b in shards:
                if self.batches:
                    report(partial(ours.topics_in, view), self.batches / self.n_shards)
                self.batches += 1
                yield from super().run(tables, [b])

    with _named("reporting", Reporting) as engine:
        yield engine


@contextmanager
def _named(name: str, engine: type[Engine]) -> Iterator[str]:
    ENGINES[name] = engine
    try:
        yield name
    finally:
        del ENGINES[name]
