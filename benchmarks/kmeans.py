"""Is hard assignment (n_active=1) as fast as k-means of scikit-learn and faiss?

    python -m benchmarks.kmeans [--quick] [--rows 200000] [--K 1000] [--iterations 10]

Spherical clusters whose precision and weights are fixed by a prior that no data outweighs: then the local step is the
nearest mean and the global step the mean, which is Lloyd's algorithm. All start from the same K rows. Prints iterations
per second; the inertia beside them must agree. faiss is left out, with a message, if it is not installed.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from functools import partial

import numpy as np
from sklearn.cluster import KMeans
from sklearn.exceptions import ConvergenceWarning

from benchmarks.harness import arguments
from benchmarks.harness.methods import ours
from benchmarks.harness.results import Results
from benchmarks.harness.stopwatch import PassTimes, Stopwatch
from benchmarks.harness.vectors import patches

CERTAIN = 1e15  # rows that the prior is worth


def main(argv: list[str] | None = None) -> int:
    p = arguments.parser(__doc__, quick="few rows, K = 20")
    p.add_argument("--rows", type=int, default=200_000)
    p.add_argument("--K", type=int, default=1000)
    p.add_argument("--iterations", type=int, default=10)
    a = p.parse_args(argv)
    if a.quick:
        a.rows, a.K, a.iterations = 5_000, 20, 3
    data = patches(32 if a.quick else 4).some(a.rows, 0)
    X, out = data.train, Results(a.out, "kmeans")
    start = X[np.random.default_rng(0).choice(len(X), a.K, replace=False)].astype(np.float64)
    print(f"{len(X):,} rows of {X.shape[1]}, K = {a.K}, {a.iterations} iterations")

    def show(method: str, means: np.ndarray, per_second: float) -> None:
        found = {"iterations_per_second": per_second, "inertia": inertia(X, means)}
        print(f"{method:<22}{per_second:8.3f} iterations/s   inertia {found['inertia']:.6e}", flush=True)
        settings = {"method": method, "K": a.K, "iterations": a.iterations, "threads": a.threads}
        out.add(found, settings, data)

    show("topmix", *lloyd(X, start, a.iterations, a.threads))
    for algorithm in ("lloyd", "elkan"):
        show(f"scikit-learn, {algorithm}", *speed_of(partial(of_sklearn, X, start, algorithm), a.iterations))
    try:
        import faiss
    except ImportError:
        print("faiss is not installed: pip install faiss-cpu")
        return 0
    show("faiss", *speed_of(partial(of_faiss, faiss, X, start), a.iterations))
    return 0


def inertia(X: np.ndarray, means: np.ndarray) -> float:
    total, norm = 0.0, np.square(means).sum(axis=1)
    for a in range(0, len(X), 10_000):
        x = X[a : a + 10_000].astype(np.float64)
        total += float((np.square(x).sum(axis=1) + (norm - 2 * x @ means.T).min(axis=1)).sum())
    return total


def lloyd(X: np.ndarray, start: np.ndarray, iterations: int, threads: int) -> tuple[np.ndarray, float]:
    """(means, iterations per second) of ours."""
    K, variance, passes = len(start), float(X.var()), PassTimes()
    init = {"weights": np.full(K, 1 / K), "means": start, "precisions": np.full(K, 1 / variance)}
    model = ours.gaussian_mixture(
        K, covariance_type="spherical", objective="map", n_active=1, learner="batch", reg_covar=0.0, tol=-np.inf,
        mean_precision_prior=1e-9, degrees_of_freedom_prior=CERTAIN, covariance_prior=CERTAIN * variance,
        weight_concentration_prior=CERTAIN, init_params=init, max_iter=iterations, random_state=0, n_jobs=threads,
        callbacks=[passes],
    )  # fmt: skip
    model.fit(X)
    return model.means_, 1 / float(np.mean(passes.seconds()[1:]))


def speed_of(means_after: Callable[[int], np.ndarray], iterations: int) -> tuple[np.ndarray, float]:
    """(means, iterations per second) of a peer: a run of many iterations less a run of one, which has its set-up."""
    seconds = []
    for n in (1, iterations):
        watch = Stopwatch()
        means = means_after(n)
        seconds.append(watch.seconds)
    return means, (iterations - 1) / max(seconds[1] - seconds[0], 1e-9)


def of_sklearn(X: np.ndarray, start: np.ndarray, algorithm: str, n: int) -> np.ndarray:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return KMeans(len(start), init=start, n_init=1, max_iter=n, tol=0, algorithm=algorithm).fit(X).cluster_centers_


def of_faiss(faiss: object, X: np.ndarray, start: np.ndarray, n: int) -> np.ndarray:
    k = faiss.Kmeans(  # type: ignore[attr-defined]
        X.shape[1], len(start), niter=n, max_points_per_centroid=len(X), min_points_per_centroid=1
    )
    k.train(X, init_centroids=start.astype(np.float32))
    return k.centroids.astype(np.float64)


if __name__ == "__main__":
    arguments.command(main)
