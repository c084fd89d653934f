"""The papers that have experiments, and their jobs."""

from __future__ import annotations

from benchmarks.harness import jobs
from benchmarks.harness.jobs import Budget, Job, Write

__all__ = ["PAPERS", "Budget", "Job", "Write", "jobs_of"]

PAPERS = ("sparse_posteriors", "scvb0", "esvi", "hdp", "combinatorial")


def jobs_of(paper: str, small: bool) -> list[Job]:
    return jobs.jobs_of("papers.experiments", paper, small)
