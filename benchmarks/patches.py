"""Natural image patches: how soon do we reach the likelihood that scikit-learn has after 90 seconds?

    python -m benchmarks.patches [--quick] [--K 200] [--seconds 90] [--passes 10]

8x8 patches of the bsds400 images on a grid of stride 4, projected on the 63-dimensional complement of the constant
vector; scored on BSD68 patches by one evaluator. scikit-learn's GaussianMixture(full) runs on subsamples of several
sizes, because on all rows it would not finish an iteration; its best score within the time is the target. topmix runs
with its defaults on the rows of that best run, where passes are short, and on all rows; there also dense. Times count
initialisation; reg_covar is 1e-6 for all.
"""

from __future__ import annotations

import numpy as np

from benchmarks.harness import arguments
from benchmarks.harness.methods import sklearn, topmix
from benchmarks.harness.results import Results
from benchmarks.harness.vectors import patches


def main(argv: list[str] | None = None) -> int:
    p = arguments.parser(__doc__, quick="few rows, K = 20, seconds")
    p.add_argument("--K", type=int, default=200)
    p.add_argument("--seconds", type=float, default=90)
    p.add_argument("--passes", type=int, default=10)
    p.add_argument("--peer-rows", type=int, nargs="+", default=[25_000, 50_000, 100_000])
    a = p.parse_args(argv)
    if a.quick:
        a.K, a.seconds, a.passes, a.peer_rows = 20, 0.3, 3, [5_000]
    data = patches(32 if a.quick else 4).some(None, 2_000 if a.quick else 20_000)
    n, out = len(data.train), Results(a.out, "patches")
    print(f"{n:,} training patches, {len(data.test):,} test patches, K = {a.K}")

    best, best_rows = -np.inf, 0
    for rows in a.peer_rows:
        some = data._replace(train=data.train[:rows])
        curve = sklearn.gaussian_mixture(some, a.K, a.seconds, "full")
        score, steps = curve.best(a.seconds), sum(t <= a.seconds for t in curve.seconds)
        print(f"scikit-learn, {rows:,} rows: {score:.3f} nats after {steps} iterations in {a.seconds:g} s", flush=True)
        out.add({"curve": curve.to_dict()}, {"method": "sklearn", "K": a.K, "seconds": a.seconds}, some)
        best, best_rows = max((best, best_rows), (score, rows))

    passes, final = {}, {}
    for rows, L in ((best_rows, 8), (n, 8), (n, None)):
        some = data._replace(train=data.train[:rows])
        curve = topmix.gaussian_mixture(some, a.K, a.passes, n_active=L, n_jobs=a.threads)
        passes[L], final[L] = min(curve.pass_seconds()), curve.last()
        reached = curve.time_to(best)
        name = "dense" if L is None else f"L = {L}"
        print(f"topmix, {rows:,} rows, {name}: target {best:.3f} after {reached:.2f} s, {a.seconds / reached:.0f} "
              f"times sooner; {rows / passes[L]:,.0f} rows/s; {final[L]:.3f} after {a.passes} passes, "
              f"{curve.seconds[-1]:.1f} s\n  {curve.brief()}", flush=True)  # fmt: skip
        settings = {"method": "topmix", "K": a.K, "n_active": L, "passes": a.passes, "threads": a.threads}
        out.add({"curve": curve.to_dict(), "target": best, "reached": reached}, settings, some)
    print(f"a pass with L = 8 is {passes[None] / passes[8]:.2f} times faster than dense; final score {final[8]:.3f} "
          f"against {final[None]:.3f}")  # fmt: skip
    return 0


if __name__ == "__main__":
    arguments.command(main)
