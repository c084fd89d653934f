"""All experiments of the five papers, each job in a process of its own with one thread.

    python -m papers.everything --small                                  # some minutes on two cores
    python -m papers.everything --jobs 16 --minutes 11 --out rows        # what papers/results has
    python -m papers.NAME --small                                        # those of one paper
    python -m papers.everything --list

Jobs that a conclusion rests on come first. A job that would not end in time is not started, one that runs is told when
to end, and rows are written as they come. Run it again with the same --out to do what is missing: a job whose rows are
there is not done again. At the end, rows are collected in one file per paper; --collect does only that.
"""

from __future__ import annotations

import sys

from benchmarks.harness import runner
from papers import PAPERS, RESULTS


def main(argv: list[str] | None = None, only: tuple[str, ...] = PAPERS) -> int:
    return runner.main(__doc__, "papers", PAPERS, RESULTS, argv, only)


if __name__ == "__main__":
    sys.exit(main())
