"""What does keeping the L best topics of a word buy: how much sooner is the score of a dense run reached?

    python -m benchmarks.sparsity --corpus wiki nips --K 100 400 800 --seconds 120
    python -m benchmarks.sparsity --quick

Dense is the same kernel with n_active=None and min_topic_mass=0, from the same topics and with the same batches; sparse
runs have L = 8 and 16 and the default min_topic_mass, or 0 with --plain. All have alpha = 0.5/K and eta = 0.1 and train
for the same seconds. Printed for each: end score, the time until the score at which the dense run ended, how many times
sooner that is than the dense run's own time to it, and the difference of the scores at the end.

scikit-learn's online LDA (--sklearn-K) runs with one job and with as many as threads. The better end counts as its
score, and the time until ours has that score is printed.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from benchmarks.harness import arguments, datasets, drawing
from benchmarks.harness.curve import NEVER
from benchmarks.harness.methods.method import ETA
from benchmarks.harness.results import Results
from benchmarks.harness.runs import Run, Runs


def variants(inference: str, L: list[int], batch_size: int, plain: bool) -> dict[str, dict[str, Any]]:
    # Points within passes for all: scikit-learn has them too, and a dense pass is long.
    shared = {"inference": inference, "topic_word_prior": ETA, "learner__batch_size": batch_size, "within_passes": True}
    found = {"dense": shared | {"n_active": None, "inference__min_topic_mass": 0.0}}
    for n in L:
        found[f"L = {n}"] = shared | {"n_active": n}
        if plain:
            found[f"L = {n}, ε = 0"] = shared | {"n_active": n, "inference__min_topic_mass": 0.0}
    return found


def main(argv: list[str] | None = None) -> int:
    p = arguments.parser(__doc__, quick="a generated corpus and seconds")
    arguments.add_corpus(p, ["wiki", "nips"])
    p.add_argument("--K", nargs="+", type=int, default=[100, 400, 800])
    p.add_argument("--sklearn-K", nargs="*", type=int, default=[200, 800])
    p.add_argument("--L", nargs="+", type=int, default=[8, 16])
    p.add_argument("--inference", choices=["variational", "collapsed"], default="variational")
    p.add_argument("--plain", action="store_true", help="sparse runs with min_topic_mass=0 too")
    p.add_argument("--seconds", type=float, default=120, help="of training, for each run")
    p.add_argument("--seed", type=int, default=0)
    arguments.add_runs(p)
    arguments.add_draw(p)
    a = p.parse_args(argv)
    if a.quick:
        a.corpus, a.K, a.sklearn_K, a.seconds = [datasets.GENERATED], [40], [40], 0.2
    out = Results(a.out, "sparsity")
    runs = Runs(a.runs, a.threads, a.fresh, a.split, a.role, own_process=not a.quick, results=out)
    for corpus in a.corpus:
        batch_size = -(-datasets.load(corpus, split=a.split, role=a.role).train.shape[0] // 10)
        ours: dict[int, list[Run]] = {}
        for K in sorted({*a.K, *a.sklearn_K}):
            settings = variants(a.inference, a.L, batch_size, a.plain)
            ours[K] = [
                runs.run("topmix", f"{a.inference}, {name}", corpus, K, a.seed, a.seconds, s)
                for name, s in settings.items()
                if name != "dense" or K in a.K
            ]
            if K in a.K:
                print(against_dense(ours[K]), flush=True)
            if K in a.sklearn_K:
                peers = [
                    runs.run("sklearn", f"online, {n} jobs", corpus, K, a.seed, a.seconds, {"n_jobs": n})
                    for n in sorted({1, a.threads})
                ]
                print(against_sklearn(ours[K], peers), flush=True)
                ours[K] += [max(peers, key=lambda r: r.final["score"])]
        draw(corpus, ours, a.draw)
    return 0


def against_dense(runs: list[Run]) -> str:
    dense = runs[0]
    goal = dense.final["score"]
    own = dense.curve.time_to(goal)
    lines = [
        f"\n{dense.plan.corpus}, K = {dense.plan.K}, {dense.plan.seconds:g} s each: the dense run ends at {goal:.4f}",
        f"  {'':<28}{'end score':>10}{'over dense':>12}{'there after':>14}{'times sooner':>14}{'passes':>8}",
    ]
    for r in runs:
        at, end = r.curve.time_to(goal), r.final["score"]
        there, sooner = (f"{at:.2f} s", f"{own / at:.1f}") if at < NEVER else ("not reached", "")
        passes = len(r.curve.series("objective"))
        lines.append(f"  {r.plan.setting:<28}{end:>10.4f}{end - goal:>+12.4f}{there:>14}{sooner:>14}{passes:>8}")
    return "\n".join(lines)


def against_sklearn(runs: list[Run], peers: list[Run]) -> str:
    best = max(peers, key=lambda r: r.final["score"])
    goal = best.final["score"]
    at = best.curve.time_to(goal)
    ends = ", ".join(f"{r.plan.setting} {r.final['score']:.4f}" for r in peers)
    lines = [f"\n{best.plan.corpus}, K = {best.plan.K}: scikit-learn ({ends}) is at {goal:.4f} after {at:.1f} s"]
    for r in runs:
        t = r.curve.time_to(goal)
        there = f"{t:8.2f} s, {at / t:6.1f} times sooner" if t < NEVER else "not reached"
        lines.append(f"  {r.plan.setting:<28}{there}")
    return "\n".join(lines)


def draw(corpus: str, runs: dict[int, list[Run]], folder: Path | None) -> None:
    page = drawing.page(folder, f"sparsity_{corpus}.png", (1 + 3 * len(runs), 3.4), columns=len(runs))
    if page is None:
        return
    for axes, (K, some) in zip(page.panels[0], runs.items()):
        drawing.lines(axes, [(r.plan.setting, r.curve.series(), {}) for r in some])
        axes.set(xscale="log", title=f"{corpus}, K = {K}", xlabel="seconds of training")
        drawing.zoom(axes, [s for r in some for _, s in r.curve.series()])
    page.panels[0, 0].set_ylabel("completion score (nats per token)")
    drawing.legend_below(page.figure, page.panels[0])
    page.save()


if __name__ == "__main__":
    arguments.command(main)
