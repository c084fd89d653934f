"""One script per paper, run from the repository root as `python -m papers.NAME`."""
