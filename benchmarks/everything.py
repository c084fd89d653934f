"""How good are our topics and clusters beside those of other libraries, and how soon? Several runs at a time.

    python -m benchmarks.everything --small                                   # shows that it runs, a minute
    python -m benchmarks.everything --fresh --jobs 14 --minutes 20 --out rows   # --ranks 1 2: a part of it
    python -m benchmarks.everything --list

Every run has two threads and a process of its own. Each is scored on validation and test documents along its curve;
settings of peers are chosen on validation documents (benchmarks/peers). Runs share the machine's memory with the others
at the same time, all alike. Jobs that would not end in time are not started, and those that matter most come first.
Rows are collected in topics.jsonl, hdp.jsonl and mixtures.jsonl.
"""

from __future__ import annotations

import sys

from benchmarks.harness import results, runner
from benchmarks.peers import GROUPS


def main(argv: list[str] | None = None) -> int:
    return runner.main(__doc__, "benchmarks.peers", GROUPS, results.FOLDER, argv)


if __name__ == "__main__":
    sys.exit(main())
