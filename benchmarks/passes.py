"""How do the seconds of a pass grow with the number of topics, at equal L?

    python -m benchmarks.passes --corpus arxiv_100k --K 100 200 500 1000 2000
    python -m benchmarks.passes --quick

LDA with its defaults, for a fixed number of passes. The first passes visit documents from their words alone; later ones
go on from the last visit and are cheaper. So the first pass, the last and all are printed, with processor seconds of
all passes (a busy machine does not change those), then all as multiples of the first K. The score stands beside them,
because a fast pass that learns nothing is not fast. The best of --repeat. Then the parts: making tables of topics,
solving documents and summing them by word, and the rest, which is sums and updates of topics and the objective.
"""

from __future__ import annotations

import time

from benchmarks.harness import arguments, datasets
from benchmarks.harness.engines import TimedThreads
from benchmarks.harness.methods import ours
from benchmarks.harness.results import Results
from benchmarks.harness.stopwatch import PassTimes
from topmix.metrics import completion_score


def main(argv: list[str] | None = None) -> int:
    p = arguments.parser(__doc__, quick="a generated corpus and few topics")
    arguments.add_corpus(p, "arxiv_100k", role="validation")
    p.add_argument("--K", nargs="+", type=int, default=[100, 200, 500, 1000, 2000])
    p.add_argument("--L", type=int, default=16)
    p.add_argument("--passes", type=int, default=5)
    p.add_argument("--repeat", type=int, default=1)
    a = p.parse_args(argv)
    if a.quick:
        a.corpus, a.K, a.passes = datasets.GENERATED, [20, 40], 3
    out, data = Results(a.out, "passes"), datasets.load(a.corpus, split=a.split, role=a.role)
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
        out.add(m, {"K": K, "L": a.L, "passes": a.passes, "threads": a.threads, "best_of": a.repeat}, data)
    return 0


def measure(data: datasets.Dataset, K: int, L: int, passes: int, threads: int) -> dict[str, float]:
    wall, processor = PassTimes(), PassTimes(time.process_time)
    engine = TimedThreads()
    lda = ours.lda(
        K, n_active=L, max_iter=ours.with_sweeps(passes), tol=-float("inf"), n_jobs=threads, random_state=0,
        callbacks=[wall, processor], engine=engine,
    ).fit(data.train)  # fmt: skip
    times = engine.times
    seconds = wall.seconds(times.begin)
    return {
        "init": times.begin - wall.begin, "first": seconds[0], "last": seconds[-1], "all": sum(seconds),
        "processor": sum(processor.seconds(times.begin_processor)), "tables": times.tables, "step": times.step,
        "rest": sum(seconds) - times.tables - times.step, "score": completion_score(lda.topic_word_, data.scored),
    }  # fmt: skip


if __name__ == "__main__":
    arguments.command(main)
