"""Hard assignment (n_active=1) as k-means: Lloyd iterations per second beside scikit-learn's and faiss's.

    python benchmarks/kmeans.py [--quick] [--rows 200000] [--K 1000] [--iterations 10]

Spherical clusters whose precision and weights are fixed by a prior that nothing outweighs: then the local step is the
nearest mean and the global step the mean, which is Lloyd's algorithm. All start from the same K rows; the inertia
beside the speed must agree. faiss is skipped, saying so, where it is not installed.
"""

from __future__ import annotations

import argparse
import time
import warnings
from typing import Any

import numpy as np
from sklearn.cluster import KMeans
from sklearn.exceptions import ConvergenceWarning

from topmix import GaussianMixture
from vectors import training_patches

CERTAIN = 1e15  # rows that the prior is worth


def inertia(X: np.ndarray, means: np.ndarray) -> float:
    total, norm = 0.0, np.square(means).sum(axis=1)
    for a in range(0, len(X), 10_000):
        x = X[a : a + 10_000].astype(np.float64)
        total += float((np.square(x).sum(axis=1) + (norm - 2 * x @ means.T).min(axis=1)).sum())
    return total


def lloyd(X: np.ndarray, start: np.ndarray, iterations: int) -> tuple[np.ndarray, list[float]]:
    K = len(start)
    at: list[float] = []
    model = GaussianMixture(
        K, covariance_type="spherical", objective="map", n_active=1, learner="batch", reg_covar=0.0, tol=-np.inf,
        mean_precision_prior=1e-9, degrees_of_freedom_prior=CERTAIN, covariance_prior=CERTAIN * float(X.var()),
        weight_concentration_prior=CERTAIN, means_init=start, precisions_init=np.full(K, 1 / float(X.var())),
        weights_init=np.full(K, 1 / K), init_params="random_from_data", max_iter=iterations, random_state=0,
        callbacks=[lambda *_: at.append(time.perf_counter())],
    )  # fmt: skip
    model.fit(X)
    return model.means_, list(np.diff(at))


def main() -> None:
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--rows", type=int, default=200_000)
    p.add_argument("--K", type=int, default=1000)
    p.add_argument("--iterations", type=int, default=10)
    p.add_argument("--quick", action="store_true", help="few rows, K = 20: that it runs")
    a = p.parse_args()
    if a.quick:
        a.rows, a.K, a.iterations = 5_000, 20, 3
    rng = np.random.default_rng(0)
    X = training_patches(32 if a.quick else 4)
    X = np.ascontiguousarray(X[rng.permutation(len(X))[: a.rows]])
    start = X[rng.choice(len(X), a.K, replace=False)].astype(np.float64)
    print(f"{len(X):,} rows of {X.shape[1]}, K = {a.K}, {a.iterations} iterations")

    means, seconds = lloyd(X, start, a.iterations)
    print(f"topmix        {1 / np.mean(seconds):8.3f} iterations/s   inertia {inertia(X, means):.6e}", flush=True)

    for algorithm in ("lloyd", "elkan"):

        def fit(n: int, algorithm: str = algorithm) -> tuple[float, Any]:
            t = time.perf_counter()
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", ConvergenceWarning)
                model = KMeans(a.K, init=start, n_init=1, max_iter=n, tol=0, algorithm=algorithm).fit(X)  # type: ignore[arg-type]
            return time.perf_counter() - t, model

        once, _ = fit(1)
        all_, model = fit(a.iterations)
        speed = (a.iterations - 1) / max(all_ - once, 1e-9)
        print(f"scikit-learn  {speed:8.3f} iterations/s   inertia {inertia(X, model.cluster_centers_):.6e}  "
              f"({algorithm})", flush=True)  # fmt: skip
    try:
        import faiss
    except ImportError:
        print("faiss is not installed: pip install faiss-cpu")
        return
    seconds_faiss = []
    for n in (1, a.iterations):
        k = faiss.Kmeans(X.shape[1], a.K, niter=n, max_points_per_centroid=len(X), min_points_per_centroid=1)
        t = time.perf_counter()
        k.train(X, init_centroids=start.astype(np.float32))
        seconds_faiss.append(time.perf_counter() - t)
    speed = (a.iterations - 1) / max(seconds_faiss[1] - seconds_faiss[0], 1e-9)
    print(f"faiss         {speed:8.3f} iterations/s   inertia {inertia(X, k.centroids.astype(np.float64)):.6e}")


if __name__ == "__main__":
    main()
