"""Forest cover: how soon do we reach the likelihood of scikit-learn's diagonal mixture?

    python -m benchmarks.covtype [--quick] [--K 100] [--seconds 120]

The ten continuous columns, standardised, a tenth of the 581,012 rows for testing, reg_covar 1e-6 for both. The target
is scikit-learn's best score within the time; initialisation counts.
"""

from __future__ import annotations

from benchmarks.harness import arguments
from benchmarks.harness.methods import sklearn, topmix
from benchmarks.harness.results import Results
from benchmarks.harness.vectors import covtype


def main(argv: list[str] | None = None) -> int:
    p = arguments.parser(__doc__, quick="few rows, K = 10, seconds")
    p.add_argument("--K", type=int, default=100)
    p.add_argument("--seconds", type=float, default=120)
    p.add_argument("--passes", type=int, default=40)
    a = p.parse_args(argv)
    data = covtype()
    if a.quick:
        data, a.K, a.seconds, a.passes = data.some(20_000, 2_000), 10, 0.3, 5
    out = Results(a.out, "covtype")
    print(f"{len(data.train):,} training rows, {len(data.test):,} test rows, K = {a.K}, diag")
    theirs = sklearn.gaussian_mixture(data, a.K, a.seconds, "diag")
    best = theirs.best()
    print(f"scikit-learn: {best:.4f} nats after {len(theirs)} iterations, {theirs.time_to(best):.1f} s")
    print(f"  {theirs.brief()}", flush=True)
    ours = topmix.gaussian_mixture(data, a.K, a.passes, covariance_type="diag", n_jobs=a.threads)
    for target in (best, *(s for _, s in theirs.series()[:: max(1, len(theirs) // 4)])):
        t, hers = ours.time_to(target), theirs.time_to(target)
        print(f"topmix: {target:.4f} after {t:.2f} s, scikit-learn {hers:.2f} s: {hers / t:.1f} times sooner")
    speed = len(data.train) / min(ours.pass_seconds())
    print(f"topmix: {speed:,.0f} rows/s; {ours.last():.4f} after {ours.seconds[-1]:.1f} s\n  {ours.brief()}")
    for method, curve in (("sklearn", theirs), ("topmix", ours)):
        settings = {"method": method, "K": a.K, "seconds": a.seconds, "passes": a.passes, "threads": a.threads}
        out.add({"curve": curve.to_dict()}, settings, data)
    return 0


if __name__ == "__main__":
    arguments.command(main)
