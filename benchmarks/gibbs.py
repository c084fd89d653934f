"""How fast is Gibbs sampling, and how soon has it tomotopy's completion score?

    python -m benchmarks.gibbs                          # arxiv_100k, K = 200, two threads
    python -m benchmarks.gibbs --seconds 60 --corpus nips
    python -m benchmarks.gibbs --engine cuda --seconds 0        # the speed on a GPU, without peers

First the speed: the median of sweeps, after enough of them that documents have settled on their topics, and tomotopy's
after as many. Then completion scores against seconds of training: tomotopy, GibbsLDA from a random start, and GibbsLDA
from two passes of LDA, which are counted.
"""

from __future__ import annotations

import sys
from typing import Any

import numpy as np

from benchmarks.harness import arguments, datasets
from benchmarks.harness.curve import NEVER, Curve
from benchmarks.harness.methods import SETTINGS, is_installed, ours, tomotopy
from benchmarks.harness.methods.method import ETA
from benchmarks.harness.results import Results
from benchmarks.harness.runs import Plan, train
from benchmarks.harness.stopwatch import Milestones, PassTimes, Stopwatch
from topmix.metrics import completion_score


def main(argv: list[str] | None = None) -> int:
    p = arguments.parser(__doc__, quick="a generated corpus and seconds")
    arguments.add_corpus(p, "arxiv_100k")
    p.add_argument("--K", type=int, default=200)
    p.add_argument("--sweeps", type=int, default=60, help="of the measurement of speed; 0 leaves it out")
    p.add_argument("--seconds", type=float, default=120, help="of training, each; 0 leaves the curves out")
    p.add_argument("--engine", default="threads", help="threads or cuda, which has no sequential sampler")
    a = p.parse_args(argv)
    if a.quick:
        a.corpus, a.K, a.sweeps, a.seconds = datasets.GENERATED, 20, 6, 0.2
    data, out = datasets.load(a.corpus, split=a.split, role=a.role), Results(a.out, "gibbs")
    common = {"K": a.K, "threads": a.threads, "engine": a.engine}
    if a.sweeps:
        out.add(speed(data.train, a.K, a.threads, a.sweeps, a.engine), common | {"sweeps": a.sweeps}, data)
    if a.seconds:
        curves = [sampled(data, a.K, a.threads, a.seconds, start, a.engine) for start in ("random", "lda")]
        if is_installed("tomotopy"):
            settings = SETTINGS["tomotopy"]["fixed"]
            plan = Plan("tomotopy", "fixed", a.corpus, a.K, 0, a.seconds, settings, a.threads, a.split, a.role)
            curves.append(train(plan, data).curve)
            compare(curves[-1], curves[:-1], a.seconds)
        else:
            print("tomotopy is not installed: pip install --group bench", file=sys.stderr)
        for c in curves:
            print(f"{c.name}: ends at {c.last():.4f} after {c.seconds[-1]:.1f} s", flush=True)
            out.add({"curve": c.to_dict()}, common | {"method": c.name, "seconds": a.seconds}, data)
    return 0


def priors(K: int) -> dict[str, Any]:
    return {"doc_topic_prior": 0.5 / K, "topic_word_prior": ETA}


def speed(X: Any, K: int, threads: int, sweeps: int, engine: str) -> dict[str, float]:
    """Millions of tokens per second: settled, at best and in the first sweep; on the processor also of the exact
    sampler and of tomotopy."""
    n, how = float(X.sum()) / 1e6, priors(K) | {"random_state": 0}
    passes = PassTimes()
    ours.gibbs_lda(K, max_iter=sweeps, n_jobs=threads, callbacks=[passes], engine=engine, **how).fit(X)
    seconds = passes.seconds()
    late = seconds[sweeps // 2 :]
    found = {"settled": n / float(np.median(late)), "best": n / min(late), "first": n / seconds[1]}
    print(f"parallel:   {found['settled']:6.1f} M tokens/s, best {found['best']:.1f} M, ", end="")
    print(f"first sweep {found['first']:.1f} M; {engine if engine == 'cuda' else f'{threads} threads'}", flush=True)
    if engine == "cuda":
        return found
    exact = PassTimes()
    ours.gibbs_lda(K, max_iter=3, sampler="sequential", n_jobs=threads, callbacks=[exact], **how).fit(X)
    found["sequential"] = n / min(exact.seconds())
    print(f"sequential: {found['sequential']:6.1f} M tokens/s, exact, one thread", flush=True)
    if is_installed("tomotopy"):
        found["tomotopy"] = n / tomotopy.seconds_per_sweep(X, K, threads, sweeps)
        print(
            f"tomotopy:   {found['tomotopy']:6.1f} M tokens/s; {found['settled'] / found['tomotopy']:.1f} times slower"
        )
    return found


def sampled(data: datasets.Dataset, K: int, threads: int, budget: float, start: str, engine: str) -> Curve:
    curve, due, watch = Curve(f"GibbsLDA from {start}"), Milestones(budget), Stopwatch()

    def report(record: Any, view: Any) -> bool:
        with watch.pause():
            if due.due(watch.seconds):
                score = completion_score(view.counts().T + ETA, data.scored)
                curve.add(watch.seconds, score, record.n_pass)
        return watch.seconds >= budget

    init, common = None, {"random_state": 0, "n_jobs": threads, "engine": engine}
    if start == "lda":
        init = ours.lda(K, topic_word_prior=ETA, max_iter=2, tol=-np.inf, **common).fit(data.train)
    ours.gibbs_lda(K, max_iter=1_000_000, init=init, callbacks=[report], **priors(K), **common).fit(data.train)
    return curve


def compare(peer: Curve, found: list[Curve], budget: float) -> None:
    print(f"{'tomotopy after':>16}{'score':>10}" + "".join(f"{c.name:>22}" for c in found))
    for share in (0.125, 0.25, 0.5, 1.0):
        score = peer.best(1.1 * share * budget)
        at = peer.time_to(score)
        times = [c.time_to(score) for c in found]
        cells = [f"{t:.1f} s ({at / t:.1f} x)" if t < NEVER else "not reached" for t in times]
        print(f"{at:>14.1f} s{score:>10.4f}" + "".join(f"{x:>22}" for x in cells))


if __name__ == "__main__":
    arguments.command(main)
