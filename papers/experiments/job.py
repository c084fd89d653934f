"""What a job is, and the process that does one: `python -m papers.experiments.job '{"paper": ...}' --out FILE`."""

from __future__ import annotations

import argparse
import importlib
import json
import time
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Protocol

from benchmarks.harness import results

PAPERS = ("sparse_posteriors", "scvb0", "esvi", "hdp", "combinatorial")
LEAST = 1.0  # seconds that a run gets at the least


@dataclass(frozen=True)
class Job:
    """`experiment` is a function of papers.experiments.PAPER, called as f(write, budget, **arguments)."""

    paper: str
    experiment: str
    arguments: dict[str, Any]
    seconds: float  # about how long it takes
    rank: int = 2  # the lower, the sooner it is started: 1 is what a conclusion rests on
    threads: int = 1

    @property
    def name(self) -> str:
        said = "-".join(str(v) for v in self.arguments.values() if isinstance(v, str | int | float))
        return "".join(c if c.isalnum() else "_" for c in f"{self.paper}-{self.experiment}-{said}")[:150]


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


def jobs_of(paper: str, small: bool) -> list[Job]:
    return importlib.import_module(f"papers.experiments.{paper}").jobs(small)


def do(job: Job, out: Path, deadline: float, commit: str | None) -> None:
    """Rows go to `out` as they come."""

    def write(result: dict[str, Any], settings: dict[str, Any], data: results.Data | None = None) -> None:
        about = {"threads": job.threads} | settings
        row = results.row(f"papers.{job.paper}", result, about, data.about if data else None)
        results.append(out, row | ({"commit": commit} if commit else {}))

    experiment = getattr(importlib.import_module(f"papers.experiments.{job.paper}"), job.experiment)
    experiment(write, Budget(deadline), **job.arguments)


def command(job: Job, out: Path, deadline: float, commit: str | None) -> list[str]:
    """What runs a job in a process of its own."""
    given = [json.dumps(asdict(job)), "--out", str(out), "--deadline", str(deadline)]
    return ["-m", "papers.experiments.job", *given, *(["--commit", commit] if commit else [])]


def main() -> None:
    p = argparse.ArgumentParser(description=__doc__)
    p.add_argument("job")
    p.add_argument("--out", type=Path, required=True)
    p.add_argument("--deadline", type=float, default=float("inf"))
    p.add_argument("--commit")
    a = p.parse_args()
    do(Job(**json.loads(a.job)), a.out, a.deadline, a.commit)


if __name__ == "__main__":
    main()
