"""One module per paper: its experiments with the paper's own algorithms (topmix.presets), and ours beside them.

Run from the repository root. `python -m papers.NAME` does the experiments of one paper, `python -m papers.everything`
those of all five; rows go to papers/results, those of --small to a temporary folder. `python -m papers.draw` makes the
figures of docs/papers.md from the rows, and `python -m papers.tables` its tables.

A paper's experiments are jobs: independent pieces of work that one process does with one thread, each of which writes
rows (benchmarks/harness/jobs.py).
"""

from pathlib import Path

RESULTS = Path(__file__).resolve().parent / "results"
PAPERS = ("sparse_posteriors", "scvb0", "esvi", "hdp", "combinatorial")
