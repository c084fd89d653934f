"""How much sooner than scikit-learn's are Gaussian mixtures with diagonal covariances, and those of little data?

    python -m benchmarks.small_and_diagonal diagonal --columns 10 --seconds 120 --out results.jsonl
    python -m benchmarks.small_and_diagonal small --out results.jsonl

One thread each, and processor time, which a busy machine does not change. `diagonal` is covtype, K = 100: seconds to
scikit-learn's held-out score at the end of its time (its own starts k-means++ and kmeans, whichever ends higher). Our
start is counted, and so is theirs; ours has default settings, and `learner=Memoized(momentum=2)`. `small` is whole fits
with default settings of data that scikit-learn ships: the mean of --repeats seeds, after a fit that is not counted.
"""

from __future__ import annotations

import time
import warnings

import numpy as np
from sklearn import datasets as sklearn_data
from sklearn.mixture import GaussianMixture as Theirs
from threadpoolctl import threadpool_limits

from benchmarks.harness import arguments, vectors
from benchmarks.harness.curve import Curve
from benchmarks.harness.methods import sklearn, topmix
from benchmarks.harness.results import Results
from topmix import GaussianMixture
from topmix.learners import Memoized

SMALL = {"iris": 3, "wine": 3, "breast_cancer": 2, "digits": 10}
KINDS = ("full", "diag", "tied", "spherical")


def diagonal(a):
    data, clock = vectors.covtype(columns=a.columns).some(a.rows, 10_000), time.process_time
    with threadpool_limits(1):
        theirs = [sklearn.gaussian_mixture(data, a.clusters, a.seconds, "diag", how, 0, clock) for how in a.starts]
        best = max(theirs, key=Curve.last)
        settings = {"K": a.clusters, "columns": a.columns, "rows": len(data.train), "threads": 1, "clock": "processor"}
        for curve in theirs:
            a.out.add({"curve": curve.to_dict()}, settings | {"method": curve.name}, data)
            print(f"{curve.name}: {curve.last():.3f} after {curve.seconds[-1]:.0f} s, {len(curve)} iterations")
        for name, learner in (("default", "memoized"), ("momentum=2", Memoized(momentum=2))):
            for seed in range(a.seeds):
                curve = topmix.gaussian_mixture(
                    data, a.clusters, 100, clock, a.seconds / 2, covariance_type="diag", n_jobs=1, random_state=seed,
                    learner=learner,
                )  # fmt: skip
                a.out.add({"curve": curve.to_dict()}, settings | {"method": f"topmix, {name}", "seed": seed}, data)
                at = curve.time_to(best.last())
                each, theirs_each = (np.median(np.diff(c.seconds)) for c in (curve, best))
                print(
                    f"topmix, {name}, seed {seed}: {at:.2f} s, {best.seconds[-1] / at:.1f} times sooner; "
                    f"{each:.3f} s per pass, {theirs_each:.3f} per iteration of theirs; "
                    f"ends at {curve.last():.3f}",
                    flush=True,
                )


def small(a):
    with threadpool_limits(1), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for name in a.data:
            K = SMALL[name]
            X = getattr(sklearn_data, f"load_{name}")().data
            for kind in KINDS:
                seconds = [mean_seconds(C, K, kind, X, a.repeats) for C in (GaussianMixture, Theirs)]
                a.out.add(
                    {"seconds": seconds[0], "sklearn_seconds": seconds[1]},
                    {"data": name, "K": K, "covariance_type": kind, "threads": 1, "clock": "processor"},
                )
                print(f"{name}, {kind}: {1e3 * seconds[0]:.1f} ms, scikit-learn {1e3 * seconds[1]:.1f} ms", flush=True)


def mean_seconds(estimator, K, kind, X, repeats):
    found, one = [], {"n_jobs": 1} if estimator is GaussianMixture else {}
    for seed in range(repeats + 1):
        begin = time.process_time()
        estimator(K, covariance_type=kind, random_state=max(seed - 1, 0), **one).fit(X)
        found.append(time.process_time() - begin)
    return float(np.mean(found[1:]))


def main(argv: list[str] | None = None) -> int:
    p = arguments.parser(__doc__)
    p.add_argument("what", choices=["diagonal", "small"])
    p.add_argument("--clusters", type=int, default=100)
    p.add_argument("--columns", type=int, choices=[10, 54], default=10)
    p.add_argument("--rows", type=int, default=None, help="training rows; all of them")
    p.add_argument("--seconds", type=float, default=60.0, help="of each start of scikit-learn")
    p.add_argument("--starts", nargs="+", default=["k-means++", "kmeans"])
    p.add_argument("--seeds", type=int, default=2)
    p.add_argument("--data", nargs="+", choices=list(SMALL), default=list(SMALL), help="for small")
    p.add_argument("--repeats", type=int, default=5)
    a = p.parse_args(argv)
    a.out = Results(a.out, "small_and_diagonal")
    {"diagonal": diagonal, "small": small}[a.what](a)
    return 0


if __name__ == "__main__":
    arguments.command(main)
