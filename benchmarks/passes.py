"""Seconds a pass against the number of topics, at equal L.

    python benchmarks/passes.py --corpus arxiv_100k --K 100 200 500 1000 2000
    python benchmarks/passes.py --quick

LDA with its defaults, for a fixed number of passes. The first passes visit documents from their words alone, the later
ones go on where they left off and are cheaper, so first, last and all are printed, with processor seconds of all passes
beside (they do not mind a busy machine), all as times those of the first K, and the score, because a fast pass that
learns nothing is not fast. The best of --repeat. Then where the seconds went: making tables of topics, solving
documents and summing them by word, and the rest, which is sums and updates of topics and the objective.
"""

from __future__ import annotations

import argparse
import sys
import time
from typing import Any

import datasets
from timed_engine import timed_engine
from topmix import LDA
from topmix.metrics import completion_score


def main(argv: list[str] | None = None) -> int:
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--corpus", default="arxiv_100k")
    p.add_argument("--K", nargs="+", type=int, default=[100, 200, 500, 1000, 2000])
    p.add_argument("--L", type=int, default=16)
    p.add_argument("--passes", type=int, default=5)
    p.add_argument("--repeat", type=int, default=1)
    p.add_argument("--role", choices=datasets.ROLES, default="validation")
    p.add_argument("--threads", type=int, default=2)
    p.add_argument("--quick", action="store_true", help="a generated corpus and few topics, to see that it runs")
    a = p.parse_args(argv)
    if a.quick:
        a.corpus, a.K, a.passes = datasets.GENERATED, [20, 40], 3
    data = datasets.load(a.corpus, role=a.role)
    print(f"{a.corpus}, L = {a.L}, {a.passes} passes, {a.threads} threads, best of {a.repeat}; seconds")
    head = ("init", "first", "last", "all", "processor", "first", "last", "all", "processor", "tables", "step", "rest")
    print(f"{'K':>6}" + "".join(f"{h:>10}" for h in head) + f"{'score':>10}")
    smallest: dict[str, float] = {}
    for K in a.K:
        tries = [measure(data, K, a.L, a.passes, a.threads) for _ in range(a.repeat)]
        m = {name: min(t[name] for t in tries) for name in tries[0]}
        smallest = smallest or m
        times = "".join(f"{m[name] / smallest[name]:>9.2f}x" for name in ("first", "last", "all", "processor"))
        seconds = "".join(f"{m[name]:>10.2f}" for name in ("init", "first", "last", "all", "processor"))
        parts = "".join(f"{m[name]:>10.2f}" for name in ("tables", "step", "rest"))
        print(f"{K:>6}{seconds}{times}{parts}{m['score']:>10.4f}", flush=True)
    return 0


def measure(data: datasets.Dataset, K: int, L: int, passes: int, threads: int) -> dict[str, float]:
    ends: list[float] = []
    processor: list[float] = []

    def mark(*_: Any) -> None:
        ends.append(time.perf_counter())
        processor.append(time.process_time())

    with timed_engine() as times:
        begin = time.perf_counter()
        lda = LDA(
            K, n_active=L, max_iter=passes, tol=-float("inf"), n_jobs=threads, random_state=0, callbacks=[mark],
            engine="timed",
        ).fit(data.train)  # fmt: skip
    seconds = [b - a for a, b in zip([times.begin, *ends], ends)]
    return {
        "init": times.begin - begin, "first": seconds[0], "last": seconds[-1], "all": sum(seconds),
        "processor": processor[-1] - times.begin_processor, "tables": times.tables, "step": times.step,
        "rest": sum(seconds) - times.tables - times.step, "score": completion_score(lda.topic_word_, data.test),
    }  # fmt: skip


if __name__ == "__main__":
    sys.exit(main())
