"""A job: one independent piece of work that one process does and that writes rows as they come.

`python -m benchmarks.harness.jobs PACKAGE '{"group": ...}' --out FILE` is the process that does one. runner.py runs
many of them, until a deadline.
"""

from __future__ import annotations

import argparse
import importlib
import json
import time
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Protocol

from benchmarks.harness import results

LEAST = 1.0  # seconds that a run gets at the least


@dataclass(frozen=True)
class Job:
    """`experiment` is a function of the module PACKAGE.group, called as f(write, budget, **arguments)."""

    group: str
    experiment: str
    arguments: dict[str, Any]
    seconds: float  # about how long it takes
    rank: int = 2  # the lower, the sooner it is started: 1 is what a conclusion rests on
    threads: int = 1

    @property
    def name(self) -> str:
        said = "-".join(str(v) for v in self.arguments.values() if isinstance(v, str | int | float))
        return "".join(c if c.isalnum() else "_" for c in f"{self.group}-{self.experiment}-{said}")[:150]


class Budget:
    """Seconds that are left until everything has to be written."""

    def __init__(self, deadline: float) -> None:
        self.deadline = deadline

    @property
    def left(self) -> float:
        return max(LEAST, self.deadline - time.time())

    def at_most(self, seconds: float, reserve: float = 15.0) -> float:
        """What a run may take, if `reserve` is kept for its evaluation."""
        return max(LEAST, min(seconds, self.left - reserve))


class Write(Protocol):
    """Writes a row: what was found, with which settings, from which data."""

    def __call__(self, result: dict[str, Any], settings: dict[str, Any], data: results.Data | None = None) -> None: ...


def jobs_of(package: str, group: str, small: bool) -> list[Job]:
    """What the function `jobs` of a group's module says."""
    return importlib.import_module(f"{package}.{group}").jobs(small)


def do(package: str, job: Job, out: Path, deadline: float, commit: str | None) -> None:
    """Rows go to `out` as they come."""

    def write(result: dict[str, Any], settings: dict[str, Any], data: results.Data | None = None) -> None:
        about = {"threads": job.threads} | settings
        row = results.row(f"{package.split('.')[0]}.{job.group}", result, about, data.about if data else None)
        results.append(out, row | ({"commit": commit} if commit else {}))

    experiment = getattr(importlib.import_module(f"{package}.{job.group}"), job.experiment)
    experiment(write, Budget(deadline), **job.arguments)


def command(package: str, job: Job, out: Path, deadline: float, commit: str | None) -> list[str]:
    """What runs a job in a process of its own."""
    given = [package, json.dumps(asdict(job)), "--out", str(out), "--deadline", str(deadline)]
    return ["-m", "benchmarks.harness.jobs", *given, *(["--commit", commit] if commit else [])]


def main() -> None:
    p = argparse.ArgumentParser(description=__doc__)
    p.add_argument("package")
    p.add_argument("job")
    p.add_argument("--out", type=Path, required=True)
    p.add_argument("--deadline", type=float, default=float("inf"))
    p.add_argument("--commit")
    a = p.parse_args()
    do(a.package, Job(**json.loads(a.job)), a.out, a.deadline, a.commit)


if __name__ == "__main__":
    main()
