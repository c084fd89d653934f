"""What keeping the L best topics of a word buys: time to the dense run's score, and to scikit-learn's.

    python benchmarks/sparsity.py --corpus wiki nips --K 100 400 800 --seconds 120
    python benchmarks/sparsity.py --quick

Dense is the same kernel with n_active=None and min_topic_mass=0, from the same topics and with the same batches; sparse
runs have L = 8 and 16 and the default min_topic_mass, or 0 with --plain. All have alpha = 0.5/K and eta = 0.1 and are
given the same seconds. Printed for each: end score, the time until the score at which the dense run ended, how many
times sooner that is than the dense run's own time to it, and what the score lacks at the end.

scikit-learn's online LDA (--sklearn-K) runs with one job and with as many as threads; the better end counts, and ours
is asked when it had that score.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import Any

import datasets
import drawing
from curves import Curve
from methods import ETA
from runs import HERE, Runs


def variants(posterior: str, L: list[int], batch_size: int, plain: bool) -> dict[str, dict[str, Any]]:
    # Points within passes for all: scikit-learn has them too, and a dense pass is long.
    shared = {"posterior": posterior, "topic_word_prior": ETA, "batch_size": batch_size, "within_passes": True}
    found = {"dense": shared | {"n_active": None, "min_topic_mass": 0.0}}
    for n in L:
        found[f"L = {n}"] = shared | {"n_active": n}
        if plain:
            found[f"L = {n}, ε = 0"] = shared | {"n_active": n, "min_topic_mass": 0.0}
    return found


def main(argv: list[str] | None = None) -> int:
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--corpus", nargs="+", default=["wiki", "nips"])
    p.add_argument("--K", nargs="+", type=int, default=[100, 400, 800])
    p.add_argument("--sklearn-K", nargs="*", type=int, default=[200, 800])
    p.add_argument("--L", nargs="+", type=int, default=[8, 16])
    p.add_argument("--posterior", choices=["variational", "collapsed"], default="variational")
    p.add_argument("--plain", action="store_true", help="sparse runs with min_topic_mass=0 too")
    p.add_argument("--seconds", type=float, default=120, help="of training, for each run")
    p.add_argument("--seed", type=int, default=0)
    p.add_argument("--split", type=int, default=0)
    p.add_argument("--role", choices=datasets.ROLES, default="test")
    p.add_argument("--threads", type=int, default=2)
    p.add_argument("--fresh", action="store_true")
    p.add_argument("--quick", action="store_true", help="a generated corpus and seconds, to see that it runs")
    p.add_argument("--out", type=Path, default=HERE / "results")
    a = p.parse_args(argv)
    if a.quick:
        a.corpus, a.K, a.sklearn_K, a.seconds = [datasets.GENERATED], [40], [40], 1.0
    runs = Runs(a.out, a.threads, a.fresh, a.split, a.role, own_process=not a.quick)
    for corpus in a.corpus:
        batch_size = -(-datasets.load(corpus, split=a.split, role=a.role).train.shape[0] // 10)
        ours: dict[int, list[Curve]] = {}
        for K in sorted({*a.K, *a.sklearn_K}):
            settings = variants(a.posterior, a.L, batch_size, a.plain)
            ours[K] = [
                runs.curve("topmix", f"{a.posterior}, {name}", corpus, K, a.seed, a.seconds, s)
                for name, s in settings.items()
                if name != "dense" or K in a.K
            ]
            if K in a.K:
                print(against_dense(ours[K]), flush=True)
            if K in a.sklearn_K:
                jobs = sorted({1, a.threads})
                peers = [
                    runs.curve("sklearn", f"online, {n} jobs", corpus, K, a.seed, a.seconds, {"n_jobs": n})
                    for n in jobs
                ]
                print(against_sklearn(ours[K], peers), flush=True)
                ours[K] += [max(peers, key=lambda c: c.final["score"])]
        draw(corpus, ours, a.out)
    return 0


def against_dense(curves: list[Curve]) -> str:
    dense = curves[0]
    goal = dense.final["score"]
    own = dense.time_to(goal)
    lines = [
        f"\n{dense.corpus}, K = {dense.K}, {dense.budget:g} s each: the dense run ends at {goal:.4f}",
        f"  {'':<28}{'end score':>10}{'over dense':>12}{'there after':>14}{'times sooner':>14}{'passes':>8}",
    ]
    for c in curves:
        at, end = c.time_to(goal), c.final["score"]
        there, sooner = (f"{at:.2f} s", f"{own / at:.1f}") if at < float("inf") else ("not reached", "")
        passes = sum("objective" in entry for entry in c.log)
        lines.append(f"  {c.setting:<28}{end:>10.4f}{end - goal:>+12.4f}{there:>14}{sooner:>14}{passes:>8}")
    return "\n".join(lines)


def against_sklearn(ours: list[Curve], peers: list[Curve]) -> str:
    best = max(peers, key=lambda c: c.final["score"])
    goal = best.final["score"]
    at = best.time_to(goal)
    ends = ", ".join(f"{c.setting} {c.final['score']:.4f}" for c in peers)
    lines = [f"\n{best.corpus}, K = {best.K}: scikit-learn ({ends}) is at {goal:.4f} after {at:.1f} s"]
    for c in ours:
        t = c.time_to(goal)
        there = f"{t:8.2f} s, {at / t:6.1f} times sooner" if t < float("inf") else "not reached"
        lines.append(f"  {c.setting:<28}{there}")
    return "\n".join(lines)


def draw(corpus: str, curves: dict[int, list[Curve]], folder: Path) -> None:
    plt = drawing.pyplot()
    if plt is None:
        return
    figure, panels = plt.subplots(
        1, len(curves), figsize=(1 + 3 * len(curves), 3.4), layout="constrained", squeeze=False
    )
    for axes, (K, some) in zip(panels[0], curves.items()):
        drawing.lines(axes, [(c.setting, c.points, {}) for c in some])
        axes.set(xscale="log", title=f"{corpus}, K = {K}", xlabel="seconds of training")
        drawing.zoom(axes, [s for c in some for _, s in c.points])
    panels[0][0].set_ylabel("completion score (nats a token)")
    drawing.legend_below(figure, panels[0])
    drawing.save(figure, folder / f"sparsity_{corpus}.png")
    plt.close(figure)


if __name__ == "__main__":
    sys.exit(main())
