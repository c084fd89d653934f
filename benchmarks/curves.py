"""A method's score against its training time, and a file that remembers the curves of slow peers.

A cached curve counts only on the machine that made it: the key has the machine's fingerprint, and beside each curve
stands a short calibration, seconds of fixed work, which shows whether the machine is as fast now as it was then.
"""

from __future__ import annotations

import hashlib
import json
import os
import platform
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np


@dataclass
class Curve:
    """What one run of one method gave."""

    method: str
    setting: str
    version: str
    corpus: str
    K: int
    seed: int
    budget: float  # seconds of training allowed
    points: list[tuple[float, float]] = field(default_factory=list)  # (seconds of training, score)
    final: dict[str, float] = field(default_factory=dict)  # score, npmi, diversity, ..., resident_mb
    settings: dict[str, Any] = field(default_factory=dict)
    machine: str = ""
    calibration: float = 0.0
    split: int = 0
    role: str = "test"  # which documents were scored
    evaluator: str = "completion"
    log: list[dict[str, float]] = field(default_factory=list)  # what the method said of itself, report by report

    @property
    def key(self) -> tuple[Any, ...]:
        settings = json.dumps(self.settings, sort_keys=True)
        run = (self.method, self.setting, self.version, self.corpus, self.K, self.seed, self.budget, settings)
        return (*run, self.machine, self.split, self.role, self.evaluator)

    def score_at(self, seconds: float) -> float:
        """The best score within so many seconds; -inf if there was none yet."""
        return max((s for t, s in self.points if t <= seconds), default=float("-inf"))

    def time_to(self, score: float) -> float:
        """Seconds until the score was first reached at a measured point; inf if never."""
        return next((t for t, s in self.points if s >= score), float("inf"))

    @classmethod
    def from_dict(cls, d: dict[str, Any]) -> Curve:
        return cls(**d | {"points": [(t, s) for t, s in d["points"]]})


class Stopwatch:
    """Seconds of training: runs from when it is made, except inside `pause`."""

    def __init__(self) -> None:
        self.start, self.paused = time.perf_counter(), 0.0

    def __call__(self) -> float:
        return time.perf_counter() - self.start - self.paused

    @contextmanager
    def pause(self) -> Iterator[None]:
        begin = time.perf_counter()
        try:
            yield
        finally:
            self.paused += time.perf_counter() - begin


def milestones(budget: float, per_octave: int = 3, first: float = 0.1) -> list[float]:
    """When to evaluate: evenly on a logarithmic axis, the budget last. Not more often: evaluations take time too."""
    n = max(0, int(np.floor(per_octave * np.log2(budget / first)))) if budget > first else 0
    times = first * 2 ** (np.arange(n + 1) / per_octave)
    return [*(float(t) for t in times if t < 0.9 * budget), budget]


def fingerprint() -> str:
    """Names the processor and how many of its cores we may use."""
    model = platform.processor() or platform.machine()
    info = Path("/proc/cpuinfo")
    if info.exists():
        lines = info.read_text(encoding="utf-8", errors="replace").splitlines()
        model = next((line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")), model)
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    text = f"{model}, {cores} cores, {platform.system()}"
    return f"{text} [{hashlib.sha256(text.encode()).hexdigest()[:8]}]"


@cache
def calibrate(repeat: int = 5) -> float:
    """Seconds of fixed work that, like topic models, reads memory out of order. The best of a few; once a process."""
    rng = np.random.default_rng(0)
    table, ids = rng.random((20_000, 64), dtype=np.float32), rng.integers(20_000, size=200_000)

    def work() -> float:
        begin = time.perf_counter()
        np.add.reduceat(table[ids], np.arange(0, len(ids), 100)).sum()
        return time.perf_counter() - begin

    return min(work() for _ in range(repeat))


class Cache:
    """Curves in a file, a JSON object a line; the last line with a key wins."""

    def __init__(self, path: Path):
        self.path = path
        lines = path.read_text(encoding="utf-8").splitlines() if path.exists() else []
        self.curves = {c.key: c for c in (Curve.from_dict(json.loads(line)) for line in lines if line.strip())}

    def get(self, like: Curve) -> Curve | None:
        return self.curves.get(like.key)

    def put(self, curve: Curve) -> None:
        self.curves[curve.key] = curve
        self.path.parent.mkdir(parents=True, exist_ok=True)
        with self.path.open("a", encoding="utf-8") as f:
            f.write(json.dumps(asdict(curve)) + "\n")
