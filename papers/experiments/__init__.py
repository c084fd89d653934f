"""The experiments of the five papers, with the papers' own algorithms (topmix.presets) and ours beside them.

A paper's experiments are jobs: independent pieces of work that one process does with one thread, each of which writes
rows. papers/everything.py runs them, papers/draw.py draws figures from the rows in papers/results, and docs/papers.md
shows them beside the published numbers.
"""

from papers.experiments.job import PAPERS, Budget, Job, Write, jobs_of

__all__ = ["PAPERS", "Budget", "Job", "Write", "jobs_of"]
