"""Is asynchronous learning of Gaussian mixtures ahead of the other learners at every second (ESVI, Fig. 3)?

    python -m benchmarks.asynchronous_mixtures [--data toy covtype] [--seconds 30] [--threads 2] [--quick]

toy      30,000 rows of 128 numbers from 256 clusters with covariances of their own; full covariances
covtype  the ten continuous columns of forest cover, standardised; diagonal covariances

K = 256 for both. All methods start by k-means++ and have the same priors: the paper's alpha = 5 and beta = 1, and prior
means at the mean of the data. The paper tunes its prior of covariances. On the toy ours expects I, with the weight of
1000 rows (the paper's has that of 300,000); on covtype it is the library's default. VI is the batch learner and SVI the
stochastic one, both with all K clusters for every row, as in the paper, and with the L = 8 best, as the asynchronous
one has. SVI is the best, by its last bound, of a small grid of step sizes and batches, the paper's 100 rows and
0.1 / (1 + t) among them. The bound is that of all training rows under the method's posterior; SVI's own bound is an
estimate, so it is computed again, and SVI is looked at after each batch. Seconds count initialisation and no scoring:
one worker waits while it is scored. Each row has a curve: `elbo` is the bound, the score is the mean log likelihood of
held-out rows.
"""

from __future__ import annotations

from contextlib import suppress
from typing import Any

import numpy as np

from benchmarks.harness import arguments
from benchmarks.harness.curve import Curve
from benchmarks.harness.engines import ReportingThreads
from benchmarks.harness.internals import bound_of_mixture
from benchmarks.harness.methods import ours
from benchmarks.harness.methods.method import TimeIsUp
from benchmarks.harness.results import Results
from benchmarks.harness.stopwatch import Milestones, Stopwatch
from benchmarks.harness.vectors import Vectors, covtype, held_out

Settings = dict[str, Any]
NU, WITHIN = 1000.0, 0.98  # of the toy: what its prior is worth in rows, and the mean variance within its clusters
KINDS = {"toy": "full", "covtype": "diag"}
METHODS: dict[str, Settings] = {
    "ESVI": {"learner": "asynchronous", "n_active": 8},
    "VI": {"learner": "batch", "n_active": None},
    "VI, L = 8": {"learner": "batch", "n_active": 8},
    "memoized, L = 8": {"learner": "memoized", "n_active": 8},
}
SVI: dict[str, Settings] = {
    name: {"learner": "stochastic"} | settings
    for name, settings in {
        "SVI, 100 rows, 0.1 / (1 + t)": {
            "learner__batch_size": 100, "learner__scale": 0.1, "learner__offset": 1.0, "learner__decay": 1.0,
            "n_active": None,
        },
        "SVI, 4096 rows, 1 / (10 + t)^0.7": {"learner__batch_size": 4096, "n_active": None},
        "SVI, 1024 rows, 1 / (1 + t)^0.55, L = 8": {
            "learner__batch_size": 1024, "learner__offset": 1.0, "learner__decay": 0.55, "n_active": 8,
        },
    }.items()
}  # fmt: skip
PAPERS = ("VI", "SVI, 100 rows, 0.1 / (1 + t)")


def main(argv: list[str] | None = None) -> int:
    p = arguments.parser(__doc__, quick="a small toy, seconds")
    p.add_argument("--data", nargs="+", choices=[*KINDS], default=[*KINDS])
    p.add_argument("--seconds", type=float, default=30, help="of training, for each method")
    a = p.parse_args(argv)
    if a.quick:
        a.data, a.seconds = ["toy"], 0.15
    out = Results(a.out, "asynchronous_mixtures")
    for name in a.data:
        compare(name, a.quick, a.seconds, a.threads, out)
    return 0


def toy(n: int, D: int, K: int, spread: float = 0.5, seed: int = 0) -> Vectors:
    """Clusters that overlap: their means are a few deviations apart.

    But not so much that the bound would prefer fewer: with this spread and prior one cluster alone comes to -194.3 per
    row, below what 256 have. A spread of 0.3 and the library's prior was tried first, and there one cluster has -187.3,
    more than any of 256 reached: the best of SVI had -188.0 after 16 s, memoized and ESVI -192.9, VI -211.9.
    """
    rng = np.random.default_rng(seed)
    mean, label = spread * rng.normal(size=(K, D)), rng.choice(K, n + n // 5, p=rng.dirichlet(np.full(K, 5.0)))
    X = np.empty((len(label), D), np.float32)
    for k in range(K):
        rows = np.flatnonzero(label == k)
        mix = 0.7 * np.eye(D) + 0.7 * rng.normal(size=(D, D)) / np.sqrt(D)
        X[rows] = mean[k] + rng.normal(size=(len(rows), D)) @ mix
    return Vectors("toy", X[:n], X[n : n + n // 10], X[n + n // 10 :])


def compare(name: str, quick: bool, seconds: float, threads: int, out: Results) -> None:
    K = 12 if quick else 256
    if name == "toy":
        data = toy(1_500, 8, K) if quick else toy(30_000, 128, K)
        data = data._replace(test=data.test[:1_000])
    else:
        data = covtype().some(4_000, 500) if quick else covtype().some(None, 10_000)
    N, D = data.train.shape
    print(f"\n{name}: {N:,} rows x {D}, K = {K}, {KINDS[name]}, {threads} threads", flush=True)
    curves: dict[str, Curve] = {}
    for method, settings in (METHODS | SVI).items():
        curves[method] = curve = run(method, settings, data, K, KINDS[name], seconds, threads)
        print(f"  {method:<42}{curve.last('elbo') / N:10.3f} after {curve.seconds[-1]:.1f} s", flush=True)
    best = max(SVI, key=lambda method: curves[method].last("elbo"))
    for method, curve in curves.items():
        about = {"panel": "fig3", "method": method, "K": K, "threads": threads, "seconds": seconds}
        shown = method not in SVI or method == best
        out.add({"curve": curve.to_dict(), "best": shown}, about | {"settings": (METHODS | SVI)[method]}, data)
    table({m: c for m, c in curves.items() if m not in SVI or m == best}, N, seconds)
    others = [m for m in curves if "VI" in m and m != "ESVI"]
    ahead(curves["ESVI"], [curves[m] for m in others if m in PAPERS], "the paper's VI and SVI")
    ahead(curves["ESVI"], [curves[m] for m in others], "all of VI and SVI")


def run(
    name: str, settings: Settings, data: Vectors, K: int, kind: str, seconds: float, threads: int,
    more: Settings | None = None,
) -> Curve:  # fmt: skip
    """Bounds and held-out scores of one method, at some of the times; `more` are other priors than the toy's."""
    curve, due = Curve(name), Milestones(seconds, 2)

    def after_pass(record: Any, view: Any) -> bool:
        with watch.pause():
            if due.due(watch.seconds):
                score = held_out(data.test, *ours.gaussians_of(view.fitted()))
                curve.add(watch.seconds, score, record.n_pass, elbo=record.objective)
        return watch.seconds >= seconds

    def after_batch(now: Any, n_pass: float) -> None:
        with watch.pause():
            if due.due(watch.seconds):
                fitted = ours.fitted_with(model, now)
                score = held_out(data.test, *ours.gaussians_of(fitted))
                curve.add(watch.seconds, score, n_pass, elbo=bound_of_mixture(fitted, data.train))
        if watch.seconds >= seconds:
            raise TimeIsUp

    priors: Settings = {"weight_concentration_prior": 5.0, "mean_precision_prior": 1.0, "init_params": "k-means++"}
    if kind == "full" and data.name == "toy":  # 117 rows per cluster say little of 8,256 covariances
        covariance = NU * WITHIN * np.eye(data.train.shape[1])
        priors |= {"degrees_of_freedom_prior": NU, "covariance_prior": covariance}
    common = {"random_state": 0, "max_iter": 1_000_000, "tol": -np.inf, "n_jobs": threads}
    model = ours.gaussian_mixture(K, covariance_type=kind, **common, **priors | (more or {}), **settings)
    if settings["learner"] == "stochastic":
        model.set_params(engine=ReportingThreads(after_batch))
    else:
        model.set_params(callbacks=[after_pass])
    watch = Stopwatch()
    with suppress(TimeIsUp):
        model.fit(data.train)
    return curve


def table(curves: dict[str, Curve], N: int, seconds: float) -> None:
    when = [seconds * 1.05 / 2**i for i in range(4, -1, -1)]
    print("  bound per row after " + "".join(f"{t:>9.3g} s" for t in when) + "   held-out at the end")
    for name, c in curves.items():
        bounds = [c.value_at(t, "elbo") for t in when]
        cells = "".join(f"{'-':>11}" if b is None else f"{b / N:>11.3f}" for b in bounds)
        print(f"  {name[:18]:<20}{cells}{c.last():>14.3f}")


def ahead(curve: Curve, others: list[Curve], whose: str) -> None:
    times = [t for t, _ in curve.series("elbo") if any(c.value_at(t, "elbo") is not None for c in others)]

    def at(c: Curve, t: float) -> float:
        value = c.value_at(t, "elbo")
        return float("-inf") if value is None else value

    above = sum(at(curve, t) >= max(at(c, t) for c in others) for t in times)
    print(f"  ESVI is above {whose} at {above} of {len(times)} times at which one of them has a bound", flush=True)


if __name__ == "__main__":
    arguments.command(main)
