"""Forest cover: time to the held-out log likelihood of scikit-learn's diagonal mixture.

    python benchmarks/covtype.py [--quick] [--K 100] [--seconds 120]

The ten continuous columns, standardised, a tenth of the 581,012 rows held out, reg_covar 1e-6 for both. The target is
scikit-learn's best score within the time; initialisation counts.
"""

from __future__ import annotations

import argparse

from vectors import covtype, run_sklearn, run_topmix


def main() -> None:
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--K", type=int, default=100)
    p.add_argument("--seconds", type=float, default=120)
    p.add_argument("--passes", type=int, default=40)
    p.add_argument("--quick", action="store_true", help="few rows, K = 10, seconds: that it runs")
    a = p.parse_args()
    X, test = covtype()
    if a.quick:
        X, test, a.K, a.seconds, a.passes = X[:20_000], test[:2_000], 10, 3.0, 5
    print(f"{len(X):,} training rows, {len(test):,} test rows, K = {a.K}, diag")
    theirs = run_sklearn(X, test, a.K, a.seconds, "diag")
    best = max(s for t, s in theirs.points)
    print(f"scikit-learn: {best:.4f} nats after {len(theirs.points)} steps, {theirs.time_to(best):.1f} s")
    print("  " + "  ".join(f"{t:.1f}s {s:.3f}" for t, s in theirs.points[:: max(1, len(theirs.points) // 10)]))
    watch, seconds = run_topmix(X, test, a.K, a.passes, covariance_type="diag")
    for target in (best, *(s for _, s in theirs.points[:: max(1, len(theirs.points) // 4)])):
        t, hers = watch.time_to(target), theirs.time_to(target)
        print(f"topmix: {target:.4f} after {t:.2f} s, scikit-learn {hers:.2f} s: {hers / t:.1f} times sooner")
    print(f"topmix: {len(X) / min(seconds):,.0f} rows/s; {watch.points[-1][1]:.4f} after {watch.points[-1][0]:.1f} s")
    print("  " + "  ".join(f"{t:.1f}s {s:.3f}" for t, s in watch.points[:: max(1, len(watch.points) // 10)]))


if __name__ == "__main__":
    main()
