"""All experiments of the five papers, each job in a process of its own with one thread.

    python -m papers.everything --small                                  # some minutes on two cores
    python -m papers.everything --jobs 16 --minutes 11 --out rows        # what papers/results has
    python -m papers.everything --list

Jobs that a conclusion rests on come first. A job that would not end in time is not started, one that runs is told when
to end, and rows are written as they come. Run it again with the same --out to do what is missing: a job whose rows are
there is not done again. At the end, rows are collected in one file per paper; --collect does only that.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import time
from pathlib import Path

from benchmarks.harness import machine
from papers import RESULTS
from papers.experiments import PAPERS, Job, jobs_of
from papers.experiments.job import command

RESERVE = 20.0  # seconds before the deadline at which runs end, for their evaluation
GRACE = 10.0  # seconds after the deadline at which a job is ended


def main(argv: list[str] | None = None, only: tuple[str, ...] = PAPERS) -> int:
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    size = p.add_mutually_exclusive_group()
    size.add_argument("--small", action="store_true", help="small sizes: minutes on two cores")
    size.add_argument("--full", action="store_true", help="the sizes of papers/results (the default)")
    p.add_argument("--jobs", type=int, default=machine.cores(), help="processes at a time")
    p.add_argument("--minutes", type=float, default=60.0, help="after which everything has ended")
    p.add_argument("--out", type=Path, default=RESULTS, metavar="FOLDER")
    p.add_argument("--only", nargs="+", choices=PAPERS, default=list(only))
    p.add_argument("--experiments", nargs="+", help="only these functions of papers/experiments")
    p.add_argument("--commit", help="of the code, where there is no git")
    p.add_argument("--list", action="store_true", help="print the jobs, in order")
    p.add_argument("--collect", action="store_true", help="only collect the rows that are there")
    a = p.parse_args(argv)
    found = [job for paper in a.only for job in jobs_of(paper, a.small)]
    if a.experiments:
        found = [job for job in found if job.experiment in a.experiments]
    jobs = sorted(found, key=lambda job: (job.rank, -job.seconds))
    if a.list:
        for job in jobs:
            print(f"{job.rank} {job.seconds:6.0f} s  {job.name}")
        print(f"{len(jobs)} jobs, {sum(j.seconds * j.threads for j in jobs) / 60:.0f} processor minutes")
        return 0
    failed = 0 if a.collect else run(jobs, a.out, a.jobs, time.time() + 60 * a.minutes, a.commit)
    collect(a.out, a.only)
    return min(failed, 1)


def run(jobs: list[Job], out: Path, processes: int, deadline: float, commit: str | None) -> int:
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
        free = processes - sum(job.threads for job in running.values())
        left = deadline - time.time()
        fits = [job for job in waiting if job.seconds < left and job.threads <= max(free, 1)]
        if waiting and not running and not fits:
            print(f"{len(waiting)} jobs were not started: {', '.join(job.name for job in waiting)}", flush=True)
            return failed
        if fits and free > 0:
            waiting.remove(fits[0])
            running[start(fits[0], parts, deadline, commit)] = fits[0]
        else:
            time.sleep(0.2)
    return failed


def start(job: Job, parts: Path, deadline: float, commit: str | None) -> subprocess.Popen[bytes]:
    limits = {f"{library}_NUM_THREADS": str(job.threads) for library in ("OMP", "OPENBLAS", "MKL")}
    line = command(job, (parts / f"{job.name}.jsonl").resolve(), deadline - RESERVE, commit)
    with (parts / f"{job.name}.log").open("wb") as log:
        return subprocess.Popen(
            [sys.executable, *line], cwd=machine.ROOT, env=os.environ | limits, stdout=log, stderr=subprocess.STDOUT
        )


def collect(out: Path, papers: list[str]) -> None:
    """One file per paper, of all the parts."""
    for paper in papers:
        parts = sorted((out / "parts").glob(f"{paper}-*.jsonl")) + sorted((out / "parts").glob(f"{paper}_*.jsonl"))
        if parts:
            rows = "".join(part.read_text(encoding="utf-8") for part in parts)
            (out / f"{paper}.jsonl").write_text(rows, encoding="utf-8")


if __name__ == "__main__":
    sys.exit(main())
