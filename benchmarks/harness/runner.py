"""Runs the jobs of a package at the same time, each in a process of its own, until a deadline.

Jobs of the lowest rank come first, and of these the longest. A job that would not end in time is not started, one that
runs is told when to end. Run it again with the same --out to do what is missing: a job whose rows are there is not done
again, unless --fresh is given. At the end, rows are collected in one file per group.
"""

from __future__ import annotations

import argparse
import os
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from benchmarks.harness import machine
from benchmarks.harness.jobs import Job, command, jobs_of

RESERVE = 20.0  # seconds before the deadline at which runs end, for their evaluation
GRACE = 10.0  # seconds after the deadline at which a job is ended


def main(
    doc: str | None, package: str, groups: Sequence[str], results: Path, argv: list[str] | None = None,
    only: Sequence[str] | None = None,
) -> int:  # fmt: skip
    """The command line of everything.py; `results` is where rows go unless --out or --small says otherwise."""
    p = argparse.ArgumentParser(description=doc, formatter_class=argparse.RawDescriptionHelpFormatter)
    size = p.add_mutually_exclusive_group()
    size.add_argument("--small", action="store_true", help="small sizes: shows that it runs")
    size.add_argument("--full", action="store_true", help="the sizes of the stored rows (the default)")
    p.add_argument("--jobs", type=int, default=machine.cores(), help="threads of all processes together")
    p.add_argument("--minutes", type=float, default=60.0, help="after which everything has ended")
    p.add_argument("--out", type=Path, metavar="FOLDER", help="default: the stored rows, a new folder with --small")
    p.add_argument("--only", nargs="+", choices=groups, default=list(only or groups))
    p.add_argument("--experiments", nargs="+", help="only these functions")
    p.add_argument("--match", metavar="REGEX", help="only jobs whose names match (--list shows them)")
    p.add_argument("--ranks", nargs="+", type=int, help="only jobs of these ranks (--list shows them)")
    p.add_argument("--fresh", action="store_true", help="do jobs again whose rows are there")
    p.add_argument("--commit", help="of the code, where there is no git")
    p.add_argument("--list", action="store_true", help="print the jobs, in order")
    p.add_argument("--collect", action="store_true", help="only collect the rows that are there")
    a = p.parse_args(argv)
    found = [job for group in a.only for job in jobs_of(package, group, a.small)]
    if a.experiments:
        found = [job for job in found if job.experiment in a.experiments]
    if a.match:
        found = [job for job in found if re.search(a.match, job.name)]
    if a.ranks:
        found = [job for job in found if job.rank in a.ranks]
    jobs = sorted(found, key=lambda job: (job.rank, -job.seconds))
    if a.list:
        for job in jobs:
            print(f"{job.rank} {job.seconds:6.0f} s  {job.name}")
        print(f"{len(jobs)} jobs, {sum(j.seconds * j.threads for j in jobs) / 60:.0f} processor minutes")
        return 0
    out = a.out or (Path(tempfile.mkdtemp(prefix=f"{package}-small-")) if a.small else results)
    print(f"rows go to {out}", flush=True)
    if a.fresh and not a.collect:
        for job in jobs:
            (out / "parts" / f"{job.name}.jsonl").unlink(missing_ok=True)
    failed = 0 if a.collect else run(package, jobs, out, a.jobs, time.time() + 60 * a.minutes, a.commit)
    collect(out, a.only)
    return min(failed, 1)


def run(package: str, jobs: list[Job], out: Path, threads: int, deadline: float, commit: str | None) -> int:
    """Runs jobs until the deadline. Returns how many failed."""
    parts = out / "parts"
    parts.mkdir(parents=True, exist_ok=True)
    waiting = [job for job in jobs if not (parts / f"{job.name}.jsonl").exists()]
    running: dict[subprocess.Popen[bytes], Job] = {}
    failed = 0
    while waiting or running:
        for process, job in list(running.items()):
            if process.poll() is None and time.time() > deadline + GRACE:
                process.kill()
                process.wait()
            if process.poll() is not None:
                del running[process]
                failed += process.returncode != 0
                ended = "done" if process.returncode == 0 else f"failed ({process.returncode})"
                print(f"{ended}: {job.name}; {len(waiting)} waiting, {deadline - time.time():.0f} s left", flush=True)
        free = threads - sum(job.threads for job in running.values())
        left = deadline - time.time()
        fits = [job for job in waiting if job.seconds < left and job.threads <= max(free, 1)]
        if waiting and not running and not fits:
            print(f"{len(waiting)} jobs were not started: {', '.join(job.name for job in waiting)}", flush=True)
            return failed
        if fits and free > 0:
            waiting.remove(fits[0])
            running[start(package, fits[0], parts, deadline, commit)] = fits[0]
        else:
            time.sleep(0.2)
    return failed


def start(package: str, job: Job, parts: Path, deadline: float, commit: str | None) -> subprocess.Popen[bytes]:
    limits = {f"{library}_NUM_THREADS": str(job.threads) for library in ("OMP", "OPENBLAS", "MKL")}
    line = command(package, job, (parts / f"{job.name}.jsonl").resolve(), deadline - RESERVE, commit)
    with (parts / f"{job.name}.log").open("wb") as log:
        return subprocess.Popen(
            [sys.executable, *line], cwd=machine.ROOT, env=os.environ | limits, stdout=log, stderr=subprocess.STDOUT
        )


def collect(out: Path, groups: Sequence[str]) -> None:
    """One file per group, of all the parts."""
    for group in groups:
        parts = sorted((out / "parts").glob(f"{group}-*.jsonl")) + sorted((out / "parts").glob(f"{group}_*.jsonl"))
        if parts:
            rows = "".join(part.read_text(encoding="utf-8") for part in parts)
            (out / f"{group}.jsonl").write_text(rows, encoding="utf-8")
