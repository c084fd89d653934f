"""Scoring only clusters near the last one: seconds a pass and held-out score beside those of full scans.

    python benchmarks/candidates.py [--quick] [--K 1600] [--candidates 32] [--passes 6] [--rows 774400] [--seed 0]

8x8 patches of the bsds400 images on a grid of stride 4, scored on BSD68 patches by one evaluator. Memoized learning
with the defaults, from the same start. The first pass of both scores all clusters; passes after it are what is
compared, and the whole run beside them.
"""

from __future__ import annotations

import argparse

import numpy as np

from vectors import run_topmix, training_patches, unseen_patches


def main() -> None:
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--K", type=int, default=1600)
    p.add_argument("--candidates", type=int, nargs="+", default=[32])
    p.add_argument("--passes", type=int, default=6)
    p.add_argument("--rows", type=int, default=774_400)
    p.add_argument("--seed", type=int, default=0)
    p.add_argument("--quick", action="store_true", help="few rows, K = 60: that it runs")
    a = p.parse_args()
    if a.quick:
        a.K, a.passes, a.rows = 60, 3, 20_000
    X, test = training_patches(16 if a.quick else 4), unseen_patches(2_000 if a.quick else 10_000)
    X = np.ascontiguousarray(X[np.random.default_rng(0).permutation(len(X))[: a.rows]])
    print(f"{len(X):,} training patches, {len(test):,} test patches, K = {a.K}")

    full, all_seconds = 0.0, 0.0
    final = 0.0
    for candidates in (None, *a.candidates):
        watch, seconds = run_topmix(X, test, a.K, a.passes, candidates=candidates, random_state=a.seed)
        of_pass, whole, score = float(np.median(seconds)), watch.points[-1][0], watch.points[-1][1]
        name = "full scan" if candidates is None else f"{candidates} candidates"
        print(f"{name}: {of_pass:.2f} s a pass, {whole:.1f} s in all with initialisation; {score:.4f} nats at the end")
        print("  " + "  ".join(f"{t:.1f}s {s:.3f}" for t, s in watch.points), flush=True)
        if candidates is None:
            full, all_seconds, final = of_pass, whole, score
        else:
            print(f"  a pass {full / of_pass:.2f} times faster, the run {all_seconds / whole:.2f} times; "
                  f"score {(score - final) / abs(final):+.4%}", flush=True)  # fmt: skip


if __name__ == "__main__":
    main()
