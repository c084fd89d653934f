"""Engines of topmix that look at a fit from inside: one measures its parts, one reports within passes."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

from topmix.engines.engine import Memo, Rounds, ShardResult, Workers
from topmix.engines.local import Threads

Tables = Callable[..., Any]  # columns of a shard -> what it needs of the model; a method of the model


@dataclass
class Times:
    """Seconds of a fit, by part. What is in neither part is the learner's: sums and updates of topics."""

    begin: float = 0.0  # when the first shard was asked for: initialisation is over
    begin_processor: float = 0.0
    tables: float = 0.0  # topics made into the tables that a shard needs
    step: float = 0.0  # documents solved and summed by word


@dataclass(frozen=True, repr=False)
class TimedThreads(Threads):
    """For one fit, whose parts it measures."""

    times: Times = field(default_factory=Times)

    def open(self, *args: Any) -> Workers:
        return TimedWorkers(super().open(*args), self.times)


@dataclass(frozen=True, repr=False)
class ReportingThreads(Threads):
    """Calls `report(model, n_pass)` before each batch but the first: the model is what the batches so far led to."""

    report: Callable[[Any, float], None]

    def open(self, *args: Any) -> Workers:
        return ReportingWorkers(super().open(*args), self.report)


class Watched:
    """Workers, as they are; subclasses change `run`."""

    def __init__(self, workers: Workers):
        self._workers = workers

    def rounds(self, memo: Memo) -> Rounds:
        return Rounds(self, memo)  # type: ignore[arg-type]  # as good as workers

    def __getattr__(self, name: str) -> Any:
        return getattr(self._workers, name)


class TimedWorkers(Watched):
    def __init__(self, workers: Workers, times: Times):
        super().__init__(workers)
        self.times = times

    def run(self, tables: Tables, shards: Iterable[int]) -> Iterator[ShardResult]:
        times = self.times
        if not times.begin:
            times.begin, times.begin_processor = time.perf_counter(), time.process_time()

        def timed(cols: Any) -> Any:
            start = time.perf_counter()
            made = tables(cols)
            times.tables += time.perf_counter() - start
            return made

        for b in shards:
            start, before = time.perf_counter(), times.tables
            results = list(self._workers.run(timed, [b]))
            times.step += time.perf_counter() - start - (times.tables - before)
            yield from results


class ReportingWorkers(Watched):
    def __init__(self, workers: Workers, report: Callable[[Any, float], None]):
        super().__init__(workers)
        self.report, self.batches = report, 0

    def run(self, tables: Tables, shards: Iterable[int]) -> Iterator[ShardResult]:
        for b in shards:
            if self.batches:
                self.report(tables.__self__, self.batches / self._workers.n_shards)  # type: ignore[attr-defined]
            self.batches += 1
            yield from self._workers.run(tables, [b])
