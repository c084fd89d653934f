"""Benchmarks: one script per question, run from the repository root as `python -m benchmarks.NAME`."""
