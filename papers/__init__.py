"""One folder, or one script, per paper; run from the repository root as `python -m papers.NAME`.

With --small or --full a paper's experiments are run with its own algorithms (topmix.presets), and rows are written to
papers/results; papers.everything does that for all five, papers.draw draws the figures of docs/papers.md. Without them,
the scripts compare our own settings: they print tables, draw into papers/figures (--draw) and write rows (--out).
"""

from pathlib import Path

FIGURES = Path(__file__).resolve().parent / "figures"
RESULTS = Path(__file__).resolve().parent / "results"
