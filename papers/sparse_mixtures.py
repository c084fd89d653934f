"""Figures 1 and 2 of Hughes & Sudderth, Fast Learning of Clusters and Topics via Sparse Posteriors (2016).

    python papers/sparse_mixtures.py [--quick] [--out papers/figures] [--figures 1 2]

A zero-mean Gaussian mixture of 8x8 image patches, Wishart prior, alpha = 10.

1a  processor seconds of the parts of two passes, for each L      1b  responsibilities from given weights, against K
1c  statistics from responsibilities, against K                   1d  distance of L-sparse responsibilities from dense
2   held-out log likelihood against training time, for each L, by stochastic and memoized learning

The paper runs 3.6 million patches and K up to 1600 for hours; without --quick this runs 193,600 patches and K = 200,
400 for some minutes. Needs matplotlib, and the bsds400 images (benchmarks/vectors.py says where).
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import matplotlib as mpl
import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "benchmarks"))

from topmix import GaussianMixture, _core
from topmix.data.vectors import VectorShard
from topmix.likelihoods.covariance import Shape
from topmix.likelihoods.gaussian import Gaussian, moments
from vectors import Stopwatch, held_out, training_patches, unseen_patches

mpl.use("Agg")
from matplotlib import pyplot as plt

LOGS = {"xscale": "log", "yscale": "log"}
SETTINGS: dict[str, Any] = {"zero_mean": True, "random_state": 0, "tol": -np.inf}


def label(L: int, K: int) -> str:
    return "L = K" if L >= K else f"L = {L}"


def seconds(work: Callable[[], Any], repeat: int = 3) -> float:
    """Processor time, the least of a few."""
    best = np.inf
    for _ in range(repeat):
        start = time.process_time()
        work()
        best = min(best, time.process_time() - start)
    return best


def parts_of_a_pass(X: np.ndarray, K: int, Ls: list[int], axes: Any) -> None:
    spent: dict[str, list[float]] = {"scores and top L": [], "summary": [], "update": []}
    model = GaussianMixture(K, max_iter=1, weight_concentration_prior=10 / K, **SETTINGS).fit(X[:20_000]).model_
    for L in Ls:
        step = dict.fromkeys(spent, 0.0)
        total = model.no_stats()
        for piece in VectorShard(X, slice(0, len(X))).pieces(8192):
            start = time.process_time()
            tables = model.tables(piece.cols)
            a = Gaussian.assign(piece, tables.likelihood, tables.log_weights, L, 2)
            middle = time.process_time()
            S = Gaussian.summarise(piece, a, K, 2)
            step["scores and top L"] += middle - start
            step["summary"] += time.process_time() - middle
            total.S += S
            total.N += S.N
        step["update"] = seconds(lambda total=total: model.update(total).tables(np.zeros(0)), 1)
        for name, t in step.items():
            spent[name].append(2 * t)
    bottom = np.zeros(len(Ls))
    for name, values in spent.items():
        axes.bar([label(L, K) for L in Ls], values, bottom=bottom, label=name)
        bottom += np.array(values)
    axes.set(title=f"a  two passes, K = {K}", ylabel="processor seconds")
    axes.legend()


def responsibilities(n: int, Ks: list[int], axes: Any) -> None:
    rng = np.random.default_rng(0)
    for L in (1, 4, 16, 10**9):
        times = []
        for K in Ks:
            s = (30 * rng.normal(size=(n, K))).astype(np.float32)
            m = min(L, K)
            out = np.empty((n, m), np.int32), np.empty((n, m), np.float32)
            times.append(seconds(lambda s=s, m=m, out=out: _core.top_l_rows(s, m, *out, True, np.empty(n))))
        axes.plot(Ks, times, "o-", label=label(L, max(Ks)))
    axes.set(
        title=f"b  responsibilities of {n:,} rows", xlabel="K", ylabel="processor seconds", xscale="log", yscale="log"
    )
    axes.legend()


def statistics(X: np.ndarray, Ks: list[int], axes: Any) -> None:
    rng, (n, D) = np.random.default_rng(0), X.shape
    for L in (1, 4, 16, 10**9):
        times = []
        for K in [K for K in Ks if K <= 200 or L < K]:
            m = min(L, K)
            cluster = np.sort(np.argsort(rng.random((n, K)), axis=1)[:, :m].astype(np.int32), axis=1)
            r, centre = np.full((n, m), 1 / m, np.float32), np.zeros((K, D), np.float32)
            cluster = np.ascontiguousarray(cluster)
            shape = Shape("full", D)
            times.append(seconds(lambda c=cluster, r=r, m=centre, shape=shape: moments(X, c, r, None, m, shape, 1), 1))
        axes.plot(Ks[: len(times)], times, "o-", label=label(L, max(Ks)))
    axes.set(title=f"c  statistics of {n:,} rows", xlabel="K", ylabel="processor seconds", **LOGS)
    axes.legend()


def distances(X: np.ndarray, test: np.ndarray, K: int, passes: int, axes: Any) -> None:
    """Half the L1 distance between dense and L-sparse responsibilities: what falls outside the L best."""
    model = GaussianMixture(K, max_iter=passes, n_active=None, weight_concentration_prior=10 / K, **SETTINGS).fit(X)
    r = np.sort(model.predict_proba(test), axis=1)[:, ::-1]
    for L in (1, 2, 4, 8, 16):
        outside = np.sort(1 - r[:, :L].sum(axis=1)).clip(1e-6, None)
        axes.plot(outside, np.arange(1, len(outside) + 1) / len(outside), label=f"L = {L}")
    axes.set(
        title=f"d  distance from dense, K = {K}", xlabel="variational distance", ylabel="share of rows", xscale="log"
    )
    axes.legend()


def figure_1(X: np.ndarray, test: np.ndarray, K: int, quick: bool, out: Path) -> None:
    figure, axes = plt.subplots(2, 2, figsize=(10, 8))
    Ks = [50, 100, 200] if quick else [50, 100, 200, 400, 800, 1600]
    n = 4_000 if quick else 36_000
    parts_of_a_pass(X, K, [1, 4, 8, 16, K], axes[0, 0])
    responsibilities(n, Ks, axes[0, 1])
    statistics(np.ascontiguousarray(X[:n]), Ks, axes[1, 0])
    distances(X, test[:n], K, 3 if quick else 10, axes[1, 1])
    save(figure, out / "sparse_mixtures_1.png")


def curve(X: np.ndarray, test: np.ndarray, K: int, L: int, learner: str, passes: int) -> Stopwatch:
    def take(_: Any, m: Any) -> None:
        g = m.likelihood
        watch.take(lambda: held_out(test, m.allocation.weights(), g.mean(), g.covariances()))

    batch = max(len(X) // 20, 1_000)
    model = GaussianMixture(K, n_active=L, learner=learner, max_iter=passes, batch_size=batch, learning_offset=1.0,
                            learning_decay=0.65, weight_concentration_prior=10 / K, callbacks=[take],
                            **SETTINGS)  # fmt: skip
    watch = Stopwatch()
    model.fit(X)
    return watch


def figure_2(X: np.ndarray, test: np.ndarray, Ks: list[int], passes: int, out: Path) -> None:
    figure, axes = plt.subplots(1, len(Ks), figsize=(6 * len(Ks), 5), squeeze=False)
    for K, panel in zip(Ks, axes[0]):
        for learner, line in (("stochastic", "--"), ("memoized", "-")):
            for i, L in enumerate((1, 4, 16, K)):
                points = np.array(curve(X, test, K, L, learner, passes).points)
                panel.plot(*points.T, line, marker=".", color=f"C{i}", label=f"{learner}, {label(L, K)}")
                print(f"K = {K}, {learner}, {label(L, K)}: {points[-1, 1]:.3f} after {points[-1, 0]:.1f} s", flush=True)
        panel.set(title=f"K = {K}", xlabel="seconds", ylabel="held-out log likelihood a patch", xscale="log")
        panel.legend()
    save(figure, out / "sparse_mixtures_2.png")


def save(figure: Any, path: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.tight_layout()
    figure.savefig(path, dpi=110)
    print(f"wrote {path}", flush=True)


def main(argv: list[str] | None = None) -> None:
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--quick", action="store_true", help="few patches and clusters, under two minutes")
    p.add_argument("--out", type=Path, default=Path(__file__).resolve().parent / "figures")
    p.add_argument("--figures", type=int, nargs="+", choices=[1, 2], default=[1, 2])
    a = p.parse_args(argv)
    X, test = training_patches(24 if a.quick else 8), unseen_patches(3_000 if a.quick else 36_000)
    X = X[np.random.default_rng(0).permutation(len(X))]
    if 1 in a.figures:
        figure_1(X, test, 50 if a.quick else 200, a.quick, a.out)
    if 2 in a.figures:
        figure_2(X, test[:5_000], [50] if a.quick else [200, 400], 8 if a.quick else 20, a.out)


if __name__ == "__main__":
    main()
