"""Natural image patches: time to the held-out log likelihood that scikit-learn has after 90 seconds.

    python benchmarks/patches.py [--quick] [--K 200] [--seconds 90] [--passes 10]

8x8 patches of the bsds400 images on a grid of stride 4, projected on the 63-dimensional complement of the constant
vector; scored on BSD68 patches by one evaluator. scikit-learn's GaussianMixture(full) runs on subsamples of several
sizes, because on all rows it would not finish a step, and its best score within the time is the target. topmix runs
with its defaults on the rows of that best run, where passes are short, and on all rows; there also dense. Times count
initialisation; reg_covar is 1e-6 for all.
"""

from __future__ import annotations

import argparse

import numpy as np

from vectors import run_sklearn, run_topmix, training_patches, unseen_patches


def main() -> None:
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--K", type=int, default=200)
    p.add_argument("--seconds", type=float, default=90)
    p.add_argument("--passes", type=int, default=10)
    p.add_argument("--peer-rows", type=int, nargs="+", default=[25_000, 50_000, 100_000])
    p.add_argument("--quick", action="store_true", help="few rows, K = 20, seconds: that it runs")
    a = p.parse_args()
    if a.quick:
        a.K, a.seconds, a.passes, a.peer_rows = 20, 3.0, 3, [5_000]
    X, test = training_patches(32 if a.quick else 4), unseen_patches(2_000 if a.quick else 20_000)
    X = X[np.random.default_rng(0).permutation(len(X))]
    print(f"{len(X):,} training patches, {len(test):,} test patches, K = {a.K}")

    best, best_rows = -np.inf, 0
    for rows in a.peer_rows:
        watch = run_sklearn(X[:rows], test, a.K, a.seconds, "full")
        within = [(t, s) for t, s in watch.points if t <= a.seconds]
        score = max((s for _, s in within), default=-np.inf)
        print(f"scikit-learn, {rows:,} rows: {score:.3f} nats after {len(within)} steps in {a.seconds:g} s", flush=True)
        best, best_rows = max((best, best_rows), (score, rows))

    passes, final = {}, {}
    for rows, L in ((best_rows, 8), (len(X), 8), (len(X), None)):
        watch, seconds = run_topmix(X[:rows], test, a.K, a.passes, n_active=L)
        passes[L], final[L] = min(seconds), watch.points[-1][1]
        reached = watch.time_to(best)
        name = "dense" if L is None else f"L = {L}"
        print(f"topmix, {rows:,} rows, {name}: target {best:.3f} after {reached:.2f} s, {a.seconds / reached:.0f} times "
              f"sooner; {rows / passes[L]:,.0f} rows/s; {final[L]:.3f} after {a.passes} passes, "
              f"{watch.points[-1][0]:.1f} s", flush=True)  # fmt: skip
        print("  " + "  ".join(f"{t:.1f}s {s:.2f}" for t, s in watch.points))
    print(f"a pass with L = 8 is {passes[None] / passes[8]:.2f} times faster than dense; final score {final[8]:.3f} "
          f"against {final[None]:.3f}")  # fmt: skip


if __name__ == "__main__":
    main()
