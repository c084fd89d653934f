"""Seconds of training: the one clock of all benchmarks.

Initialisation is counted, evaluation is not: a stopwatch is started before a method makes its first topics or means,
and it is paused while somebody scores what the method has learned.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

Clock = Callable[[], float]


class Stopwatch:
    """Runs from when it is made, except inside `pause`. Pauses may be nested.

    `clock` is the time of the wall; time.process_time counts processor seconds, which a busy machine does not change.
    """

    def __init__(self, clock: Clock = time.perf_counter) -> None:
        self._clock, self._start, self._paused = clock, clock(), 0.0
        self._pause_began: float | None = None

    @property
    def seconds(self) -> float:
        now = self._clock() if self._pause_began is None else self._pause_began
        return now - self._start - self._paused

    @contextmanager
    def pause(self) -> Iterator[None]:
        if self._pause_began is not None:
            yield
            return
        self._pause_began = self._clock()
        try:
            yield
        finally:
            self._paused += self._clock() - self._pause_began
            self._pause_began = None


class Milestones:
    """When to evaluate: at times that are even on a logarithmic axis, and at the end of the budget.

    Evaluations take time too, so there are `per_octave` of them while the seconds double, and no more.
    """

    def __init__(self, budget: float, per_octave: int = 3, first: float = 0.1) -> None:
        n = max(0, int(np.floor(per_octave * np.log2(budget / first)))) if budget > first else 0
        times = first * 2 ** (np.arange(n + 1) / per_octave)
        self.times = [*(float(t) for t in times if t < 0.9 * budget), budget]
        self._passed = 0

    def due(self, seconds: float) -> bool:
        """Whether a milestone was passed since the last call. After the budget every call is due."""
        if seconds < self.times[min(self._passed, len(self.times) - 1)]:
            return False
        self._passed = int(np.searchsorted(self.times, seconds, side="right"))
        return True


class PassTimes:
    """A callback of a fit that notes when each pass ended."""

    def __init__(self, clock: Clock = time.perf_counter) -> None:
        self._clock, self.begin = clock, clock()
        self.ends: list[float] = []

    def __call__(self, *_: Any) -> None:
        self.ends.append(self._clock())

    def seconds(self, begin: float | None = None) -> list[float]:
        """Of each pass. The first one includes initialisation, unless `begin` says when that was over."""
        return np.diff([self.begin if begin is None else begin, *self.ends]).tolist()

    def summary(self) -> dict[str, Any]:
        """For a result: the first pass with initialisation (`start`), the later ones, and their median."""
        start, *passes = self.seconds()
        return {"start": start, "passes": passes, "median": float(np.median(passes)) if passes else None}


def best_of(repeat: int, work: Callable[[], Any], clock: Clock = time.perf_counter) -> float:
    """Seconds of the fastest of some calls."""
    return best_in_turn(repeat, {"": work}, clock)[""]


def best_in_turn(
    repeat: int, works: dict[str, Callable[[], Any]], clock: Clock = time.perf_counter
) -> dict[str, float]:
    """Seconds of the fastest call of each. They take turns, so that a busy machine slows all of them."""
    best = dict.fromkeys(works, float("inf"))
    for _ in range(repeat):
        for name, work in works.items():
            begin = clock()
            work()
            best[name] = min(best[name], clock() - begin)
    return best
