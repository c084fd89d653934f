"""Gibbs sampling: tokens a second, and the time to tomotopy's completion score.

    python benchmarks/gibbs.py                          # arxiv_100k, K = 200, two threads
    python benchmarks/gibbs.py --seconds 60 --corpus nips

First the speed: the median of sweeps, after enough of them that documents have settled on their topics. Then curves of
completion scores on the test documents against seconds of training, tomotopy's first: GibbsLDA from a random start, and
from two passes of LDA, which are counted. Making tables, learning nothing, scoring aside, all time counts.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable
from typing import Any

import numpy as np

import datasets
from curves import Curve, Stopwatch, milestones
from methods import ETA, plan, run
from topmix import LDA, GibbsLDA
from topmix.metrics import completion_score


def speed(X: Any, K: int, threads: int, sweeps: int) -> None:
    seconds: list[float] = []
    last = [time.perf_counter()]

    def watch(record: Any, chain: Any) -> None:
        now = time.perf_counter()
        seconds.append(now - last[0])
        last[0] = now

    how: dict[str, Any] = {"doc_topic_prior": 0.5 / K, "topic_word_prior": ETA, "random_state": 0, "n_jobs": threads}
    GibbsLDA(K, max_iter=sweeps, callbacks=[watch], **how).fit(X)
    settled = np.array(seconds[sweeps // 2 :])
    n = X.sum()
    print(f"parallel:   {n / np.median(settled) / 1e6:6.1f} M tokens/s, best {n / settled.min() / 1e6:.1f} M, ", end="")
    print(f"first sweep {n / seconds[1] / 1e6:.1f} M; {threads} threads", flush=True)
    seconds.clear()
    last[0] = time.perf_counter()
    GibbsLDA(K, max_iter=3, sampler="sequential", callbacks=[watch], **how).fit(X)
    print(f"sequential: {n / min(seconds) / 1e6:6.1f} M tokens/s, exact, one thread", flush=True)


def curve(data: datasets.Dataset, K: int, threads: int, budget: float, start: str) -> Curve:
    points: list[tuple[float, float]] = []
    due = milestones(budget)
    watch = Stopwatch()

    def report(record: Any, chain: Any) -> bool:
        seconds = watch()
        with watch.pause():
            if seconds >= due[0]:
                while due and due[0] <= seconds:
                    due.pop(0)
                points.append((seconds, completion_score(chain.word.T + ETA, data.test)))
        return seconds >= budget

    init = None
    if start == "lda":
        init = LDA(K, topic_word_prior=ETA, max_iter=2, tol=-np.inf, random_state=0, n_jobs=threads).fit(data.train)
    GibbsLDA(
        K, doc_topic_prior=0.5 / K, topic_word_prior=ETA, max_iter=1_000_000, init=init, random_state=0, n_jobs=threads,
        callbacks=[report],
    ).fit(data.train)  # fmt: skip
    return Curve("GibbsLDA", start, "", data.name, K, 0, budget, points)


def main(argv: list[str] | None = None) -> int:
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--corpus", default="arxiv_100k")
    p.add_argument("--K", type=int, default=200)
    p.add_argument("--threads", type=int, default=2)
    p.add_argument("--sweeps", type=int, default=60, help="of the measurement of speed; 0 leaves it out")
    p.add_argument("--seconds", type=float, default=120, help="of training, each; 0 leaves the curves out")
    a = p.parse_args(argv)
    try:
        data = datasets.load(a.corpus)
    except datasets.MissingData as error:
        print(error, file=sys.stderr)
        return 2
    if a.sweeps:
        speed(data.train, a.K, a.threads, a.sweeps)
    if a.seconds:
        peer = run(plan("tomotopy", "fixed", a.corpus, a.K, 0, a.seconds), data, a.threads)
        compare(peer, [curve(data, a.K, a.threads, a.seconds, start) for start in ("random", "lda")])
    return 0


def compare(peer: Curve, ours: list[Curve], show: Callable[[str], None] = print) -> None:
    show(f"{'tomotopy after':>16}{'score':>10}" + "".join(f"{'from ' + c.setting:>22}" for c in ours))
    for share in (0.125, 0.25, 0.5, 1.0):
        score = peer.score_at(1.1 * share * peer.budget)
        at = peer.time_to(score)
        cells = [c.time_to(score) for c in ours]
        found = [f"{t:.1f} s ({at / t:.1f} x)" if t < float("inf") else "not reached" for t in cells]
        show(f"{at:>14.1f} s{score:>10.4f}" + "".join(f"{x:>22}" for x in found))
    for c in (peer, *ours):
        show(f"{c.method} {c.setting}: ends at {c.points[-1][1]:.4f} after {c.points[-1][0]:.1f} s")


if __name__ == "__main__":
    sys.exit(main())
