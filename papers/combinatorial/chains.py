"""Figure 1: Gibbs chains from a random start and from three passes of Word + Refine."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from benchmarks.harness import drawing
from benchmarks.harness.curve import NEVER, Curve
from benchmarks.harness.stopwatch import Stopwatch
from benchmarks.harness.synthetic import SYNTHETIC
from papers.combinatorial.fits import Sizes, gibbs, hard, priors
from topmix.metrics import half_split_score, topic_recovery_error

PENALTIES_KOS = (8, 30)  # the default, and the best of five up to 45 on validation documents


def figure1(s: Sizes) -> None:
    print("\nFigure 1: Gibbs from a random start and from three passes of Word + Refine; the first samples are drawn")
    plots: dict[str, list[Curve]] = {}
    for name in SYNTHETIC:
        for seed in range(min(s.seeds, 3)):
            sample = s.synthetic(name, s.docs, seed)
            K, (alpha, eta) = len(sample.topic_word), priors(name)

            def score(counts: np.ndarray, truth: np.ndarray = sample.topic_word, eta: float = eta) -> float:
                return -topic_recovery_error(counts + eta, truth)

            curves = run_chains(s, sample.corpus, K, alpha, eta, s.grid(name)[::2], score)
            report(s, f"{name}, sample {seed}", curves, sign=-1)
            if seed == 0:
                plots[f"{name}: minus the recovery error"] = curves
    data = s.real("kos")
    alpha, eta = 0.5 / s.K_real, 0.1
    curves = run_chains(
        s, data.train, s.K_real, alpha, eta, PENALTIES_KOS, lambda counts: half_split_score(counts + eta, data.test)
    )
    report(s, "kos", curves, sign=1)
    draw(s, plots | {"kos: held-out score": curves})


def run_chains(
    s: Sizes, X: Any, K: int, alpha: float, eta: float, grid: tuple[float, ...], score: Callable[[np.ndarray], float]
) -> list[Curve]:
    """Scores along chains; the time of the start counts. "random" is the paper's; "annealed" is ours from the same
    start."""
    curves = []
    due = np.unique(np.geomspace(1, s.sweeps, 12 if s.quick else 40).astype(int))
    for start in ("random", "annealed", *grid):
        curve = Curve(start if isinstance(start, str) else f"from Word + Refine, lambda = {start}")
        watch = Stopwatch()
        init = None if isinstance(start, str) else hard(s, X, K, "word+refine", start, max_iter=3)

        def look(record: Any, view: Any, curve: Curve = curve, watch: Stopwatch = watch) -> None:
            if record.n_pass in due:
                with watch.pause():
                    curve.add(watch.seconds, score(view.counts().T), record.n_pass)

        gibbs(s, X, K, alpha, eta, init=init, callbacks=[look], annealing=0 if start == "random" else None)
        curves.append(curve)
    return curves


def report(s: Sizes, name: str, curves: list[Curve], sign: int) -> None:
    """When each chain first was where the random one ended, in seconds and in sweeps. Errors are negative scores."""
    random, goal = curves[0], curves[0].last()
    reached, after = random.time_to(goal), sweeps_to(random, goal)
    print(f"{name}: random start ends at {sign * goal:.3f} after {random.n_pass[-1]:.0f} sweeps, ", end="")
    print(f"{random.seconds[-1]:.1f} s; first there after {after:.0f} sweeps, {reached:.2f} s")
    for curve in curves[1:]:
        at, n = curve.time_to(goal), sweeps_to(curve, goal)
        there = f"there after {n:.0f} sweeps, {at:.2f} s: {reached / at:.1f} times sooner"
        print(
            f"  {curve.name}: {there if at < NEVER else 'not reached'}; ends at {sign * curve.last():.3f}", flush=True
        )
    for curve in curves:
        s.write({"curve": curve.to_dict()}, figure=1, sample=name, start=curve.name)


def sweeps_to(curve: Curve, score: float) -> float:
    return next((n for n, v in curve.series(against="n_pass") if v >= score), NEVER)


def draw(s: Sizes, plots: dict[str, list[Curve]]) -> None:
    page = drawing.page(s.draw, "combinatorial_figure1.png", (4.5 * len(plots), 4), columns=len(plots))
    if page is None:
        return
    for axes, (title, curves) in zip(page.panels[0], plots.items()):
        named = [(c.name.replace("from Word + Refine", "W+R"), c.series(), {"marker": None}) for c in curves]
        drawing.lines(axes, named)
        axes.set(xscale="log", xlabel="seconds", title=title)
        axes.legend()
    page.save()
