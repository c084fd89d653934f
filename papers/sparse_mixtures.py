"""Hughes & Sudderth, Fast Learning of Clusters and Topics via Sparse Posteriors (2016): Figs. 1 and 2, redrawn.

    python papers/sparse_mixtures.py                      # half an hour on two cores
    python papers/sparse_mixtures.py --figures 2 --K 200 --rows 96800 --passes 10
    python papers/sparse_mixtures.py --quick              # generated rows, seconds

A zero-mean Gaussian mixture of 8x8 image patches without their means (bsds400; benchmarks/vectors.py says where it is
looked for), Wishart prior, alpha = 10.

Figure 1: (a) the parts of two passes, for each L; (b) responsibilities from given weights and (c) statistics from given
responsibilities, against K; (d) distance of L-sparse responsibilities from dense.
Figure 2: held-out log likelihood against time, for each L, by stochastic and memoized learning.

Time is processor time, so that a busy machine draws the same curves. The paper runs 3.6 million patches and K up to
1600 for hours; here it is --rows patches of a grid of stride 8.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "benchmarks"))

import drawing
from topmix import GaussianMixture, _core
from topmix.data.vectors import VectorShard
from topmix.likelihoods.covariance import Shape
from topmix.likelihoods.gaussian import Gaussian, moments
from vectors import Stopwatch, held_out, training_patches, unseen_patches

FIGURES = Path(__file__).resolve().parent / "figures"
SETTINGS: dict[str, Any] = {"zero_mean": True, "random_state": 0, "tol": -np.inf}
ALL = 10**9  # L for all clusters
Curves = dict[str, list[tuple[float, float]]]


def main(argv: list[str] | None = None) -> int:
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--figures", type=int, nargs="+", choices=[1, 2], default=[1, 2])
    p.add_argument("--K", type=int, nargs="+", default=(200, 400), help="of Figure 2; Figure 1 takes the first")
    p.add_argument("--rows", type=int, default=193_600)
    p.add_argument("--passes", type=int, default=20, help="of Figure 2")
    p.add_argument("--quick", action="store_true", help="generated rows and few clusters, to see that it runs")
    p.add_argument("--out", type=Path, default=FIGURES)
    a = p.parse_args(argv)
    draw(a.figures, a.out, a.quick, tuple(a.K), a.rows, a.passes)
    return 0


def draw(
    figures: list[int], out: Path, quick: bool, Ks: tuple[int, ...] = (200, 400), rows: int = 193_600, passes: int = 20
) -> None:
    if quick:
        X, test, Ks, passes = generated(6_000, seed=1), generated(2_000, seed=2), (20,), 8
    else:
        X, test = training_patches(8), unseen_patches(36_000)
        X = np.ascontiguousarray(X[np.random.default_rng(0).permutation(len(X))[:rows]])
    print(f"{len(X):,} rows of {X.shape[1]}")
    if 1 in figures:
        figure_1(X, test, Ks[0], [10, 20, 40] if quick else [50, 100, 200, 400, 800, 1600], out)
    if 2 in figures:
        figure_2(X, test[:5_000], Ks, passes, out)


def generated(n: int, seed: int, K: int = 20, D: int = 12) -> np.ndarray:
    """Rows of K zero-mean clusters that overlap, each with a few long axes of its own."""
    axes = np.random.default_rng(0).normal(size=(K, 3, D))
    rng = np.random.default_rng(seed)
    x = np.einsum("ni,nid->nd", rng.normal(size=(n, 3)), axes[rng.integers(K, size=n)]) + rng.normal(size=(n, D))
    return x.astype(np.float32)


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


def parts_of_two_passes(X: np.ndarray, K: int) -> dict[str, dict[str, float]]:
    model = GaussianMixture(K, max_iter=1, weight_concentration_prior=10 / K, **SETTINGS).fit(X[:20_000]).model_
    out = {}
    for L in (1, 4, 8, 16, K):
        spent, total = {"scores and top L": 0.0, "summary": 0.0, "update": 0.0}, model.no_stats()
        tables = model.tables(np.zeros(0))
        for piece in VectorShard(X, slice(0, len(X))).pieces(8192):
            start = time.process_time()
            a = Gaussian.assign(piece, tables.likelihood, tables.log_weights, L, 2)
            middle = time.process_time()
            S = Gaussian.summarise(piece, a, K, 2)
            spent["scores and top L"] += 2 * (middle - start)
            spent["summary"] += 2 * (time.process_time() - middle)
            total.S += S
            total.N += S.N
        spent["update"] = 2 * seconds(lambda total=total: model.update(total).tables(np.zeros(0)), 1)  # type: ignore[misc]
        out[label(L, K)] = spent
    return out


def responsibilities(n: int, Ks: list[int]) -> Curves:
    rng = np.random.default_rng(0)
    out: Curves = {}
    for K in Ks:
        s = 30 * rng.standard_normal((n, K), np.float32)
        for L in (1, 4, 16, ALL):
            m = min(L, K)
            to = np.empty((n, m), np.int32), np.empty((n, m), np.float32)
            spent = seconds(lambda s=s, m=m, to=to: _core.top_l_rows(s, m, *to, True, np.empty(n)))  # type: ignore[misc]
            out.setdefault(label(L, max(Ks)), []).append((K, spent))
    return out


def statistics(X: np.ndarray, Ks: list[int]) -> Curves:
    rng, (n, D) = np.random.default_rng(0), X.shape
    out: Curves = {}
    for K in Ks:
        for L in (1, 4, 16, ALL):
            m = min(L, K)
            if m > 200:  # takes minutes, and the line is straight
                continue
            cluster = np.sort((rng.integers(K, size=(n, 1)) + K // m * np.arange(m)) % K, axis=1).astype(np.int32)
            r, centre = np.full((n, m), 1 / m, np.float32), np.zeros((K, D), np.float32)
            args = (X, cluster, r, None, centre, Shape("full", D), 1)
            out.setdefault(label(L, max(Ks)), []).append((K, seconds(lambda args=args: moments(*args), 1)))  # type: ignore[misc]
    return out


def distances(X: np.ndarray, test: np.ndarray, K: int) -> dict[str, np.ndarray]:
    """Half the L1 distance between dense and L-sparse responsibilities: what falls outside the L best."""
    model = GaussianMixture(K, max_iter=5, n_active=None, weight_concentration_prior=10 / K, **SETTINGS).fit(X)
    r = np.sort(np.asarray(model.predict_proba(test)), axis=1)[:, ::-1]
    return {f"L = {L}": np.sort(1 - r[:, :L].sum(axis=1)).clip(1e-6, None) for L in (1, 2, 4, 8, 16)}


def figure_1(X: np.ndarray, test: np.ndarray, K: int, Ks: list[int], out: Path) -> None:
    n = min(len(X), 36_000)
    print(f"\nFigure 1a: two passes, K = {K}; processor seconds")
    bars = parts_of_two_passes(X, K)
    for name, parts in bars.items():
        detail = ", ".join(f"{part} {s:.2f}" for part, s in parts.items())
        print(f"  {name:<8}{sum(parts.values()):9.2f}   ({detail})", flush=True)
    of_rows, of_sums = responsibilities(n, Ks), statistics(np.ascontiguousarray(X[:n]), Ks)
    for letter, what, curves in (("b", "responsibilities", of_rows), ("c", "statistics", of_sums)):
        print(f"Figure 1{letter}: {what} of {n:,} rows; processor seconds at K = {', '.join(map(str, Ks))}")
        for name, points in curves.items():
            print(f"  {name:<8}" + "".join(f"{s:9.3f}" for _, s in points), flush=True)
    outside = distances(X, test, K)
    print(f"Figure 1d: variational distance from dense at K = {K}: median and 90% of rows")
    for name, d in outside.items():
        print(f"  {name:<8}{np.median(d):9.4f}{np.quantile(d, 0.9):9.4f}", flush=True)

    plt = drawing.pyplot()
    if plt is None:
        return
    figure, ((a, b), (c, d)) = plt.subplots(2, 2, figsize=(8, 6.4), layout="constrained")
    bottom = np.zeros(len(bars))
    for part, color in zip(next(iter(bars.values())), drawing.PALETTE):
        heights = np.array([parts[part] for parts in bars.values()])
        a.bar(list(bars), heights, bottom=bottom, label=part, color=color)
        bottom += heights
    a.set(title=f"(a) two passes, K = {K}", ylabel="processor seconds")
    for axes, title, curves in ((b, "(b) responsibilities", of_rows), (c, "(c) statistics", of_sums)):
        drawing.lines(axes, [(name, points, {}) for name, points in curves.items()])
        axes.set(title=f"{title}, {n:,} rows", xlabel="K", ylabel="processor seconds", xscale="log", yscale="log")
    for (name, x), color in zip(outside.items(), drawing.PALETTE):
        d.step(x, np.arange(1, len(x) + 1) / len(x), where="post", label=name, color=color)
    d.set(title=f"(d) K = {K}", xlabel="variational distance from dense", ylabel="share of rows", xscale="log")
    for axes in (a, b, c, d):
        axes.legend()
    drawing.save(figure, out / "sparse_posteriors_1.png", dpi=110)
    plt.close(figure)


def curve(X: np.ndarray, test: np.ndarray, K: int, L: int, learner: str, passes: int) -> Stopwatch:
    def take(_: Any, m: Any) -> None:
        g = m.likelihood
        watch.take(lambda: held_out(test, m.allocation.weights(), g.mean(), g.covariances()))

    batch = max(len(X) // 20, 1_000)
    model = GaussianMixture(K, n_active=min(L, K), learner=learner, max_iter=passes, batch_size=batch,
                            learning_offset=1.0, learning_decay=0.65, weight_concentration_prior=10 / K,
                            callbacks=[take], **SETTINGS)  # fmt: skip
    watch = Stopwatch(time.process_time)
    model.fit(X)
    return watch


def figure_2(X: np.ndarray, test: np.ndarray, Ks: tuple[int, ...], passes: int, out: Path) -> None:
    known: dict[int, Curves] = {}
    for K in Ks:
        print(f"\nFigure 2: K = {K}, {passes} passes: held-out nats a row, processor seconds")
        for learner in ("stochastic", "memoized"):
            for L in (1, 4, 16, ALL):
                name = f"{learner} {label(L, K)}"
                points = known.setdefault(K, {})[name] = curve(X, test, K, L, learner, passes).points
                print(f"  {name:<20}{points[-1][1]:10.3f}{points[-1][0]:9.1f}", flush=True)
    plt = drawing.pyplot()
    if plt is None:
        return
    figure, panels = plt.subplots(
        1, len(Ks), figsize=(max(8, 1 + 4 * len(Ks)), 4.6), layout="constrained", squeeze=False
    )
    colors = dict(zip((label(L, ALL) for L in (1, 4, 16, ALL)), drawing.PALETTE))
    for K, axes in zip(Ks, panels[0]):
        curves = known[K]
        styles = {
            name: {"color": colors[name.split(" ", 1)[1]], "ls": "--" if name[0] == "s" else "-"} for name in curves
        }
        drawing.lines(axes, [(name, points, styles[name]) for name, points in curves.items()])
        axes.set(title=f"K = {K}", xlabel="processor seconds of training", xscale="log")
        drawing.zoom(axes, [s for points in curves.values() for _, s in points])
    panels[0][0].set_ylabel("held-out log likelihood (nats a row)")
    drawing.legend_below(figure, panels.ravel())
    drawing.save(figure, out / "sparse_posteriors_2.png", dpi=110)
    plt.close(figure)


if __name__ == "__main__":
    sys.exit(main())
