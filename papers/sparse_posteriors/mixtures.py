"""Hughes & Sudderth, Fast Learning of Clusters and Topics via Sparse Posteriors (2016): Figs. 1 and 2, redrawn.

    python -m papers.sparse_posteriors.mixtures                      # half an hour on two cores
    python -m papers.sparse_posteriors.mixtures --figures 2 --K 200 --rows 96800 --passes 10
    python -m papers.sparse_posteriors.mixtures --quick              # generated rows, seconds

How much does it save, and what does it cost, to keep only the L best clusters of a row?

A zero-mean Gaussian mixture of 8x8 image patches without their means (bsds400; benchmarks/harness/datasets.py says
where it is looked for), Wishart prior, alpha = 10.

Figure 1: (a) the parts of two passes, for each L; (b) responsibilities from given weights and (c) statistics from given
responsibilities, against K; (d) distance of L-sparse responsibilities from dense.
Figure 2: held-out log likelihood against time, for each L, by stochastic and memoized learning.

Time is processor time, so that a busy machine draws the same curves. The paper runs 3.6 million patches and K up to
1600 for hours; here it is --rows patches of a grid of stride 8.
"""

from __future__ import annotations

import time
from pathlib import Path

import numpy as np

from benchmarks.harness import arguments, drawing
from benchmarks.harness.methods import topmix
from benchmarks.harness.results import Results
from benchmarks.harness.vectors import Vectors, patches
from papers import FIGURES
from papers.sparse_posteriors.mixture_costs import (
    ALL,
    SETTINGS,
    Points,
    distances,
    label,
    parts_of_two_passes,
    responsibilities,
    statistics,
)


def main(argv: list[str] | None = None) -> int:
    p = arguments.parser(__doc__, quick="generated rows and few clusters")
    p.add_argument("--figures", type=int, nargs="+", choices=[1, 2], default=[1, 2])
    p.add_argument("--K", type=int, nargs="+", default=(200, 400), help="of Figure 2; Figure 1 takes the first")
    p.add_argument("--rows", type=int, default=193_600)
    p.add_argument("--passes", type=int, default=20, help="of Figure 2")
    arguments.add_draw(p, FIGURES)
    a = p.parse_args(argv)
    figures(a.figures, a.draw, Results(a.out, "sparse_posteriors"), a.quick, tuple(a.K), a.rows, a.passes)
    return 0


def figures(
    wanted: list[int], folder: Path, out: Results, quick: bool, Ks: tuple[int, ...] = (200, 400), rows: int = 193_600,
    passes: int = 20,
) -> None:  # fmt: skip
    if quick:
        data = Vectors("generated", *(generated(n, seed) for seed, n in ((1, 4_000), (3, 1_000), (2, 1_000))))
        Ks, passes = (20,), 8
    else:
        data = patches(8).some(rows, 36_000)
    print(f"{len(data.train):,} rows of {data.train.shape[1]}")
    if 1 in wanted:
        figure_1(data, Ks[0], [10, 20, 40] if quick else [50, 100, 200, 400, 800, 1600], folder, out)
    if 2 in wanted:
        figure_2(data._replace(test=data.test[:5_000]), Ks, passes, folder, out)


def generated(n: int, seed: int, K: int = 20, D: int = 12) -> np.ndarray:
    """Rows of K zero-mean clusters that overlap, each with a few long axes of its own."""
    axes = np.random.default_rng(0).normal(size=(K, 3, D))
    rng = np.random.default_rng(seed)
    x = np.einsum("ni,nid->nd", rng.normal(size=(n, 3)), axes[rng.integers(K, size=n)]) + rng.normal(size=(n, D))
    return x.astype(np.float32)


def figure_1(data: Vectors, K: int, Ks: list[int], folder: Path, out: Results) -> None:
    X = data.train
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
    outside = distances(X, data.test, K)
    print(f"Figure 1d: variational distance from dense at K = {K}: median and 90% of rows")
    for name, d in outside.items():
        print(f"  {name:<8}{np.median(d):9.4f}{np.quantile(d, 0.9):9.4f}", flush=True)

    found = {"two_passes": bars, "responsibilities": of_rows, "statistics": of_sums}
    found["median_distance"] = {name: np.median(d) for name, d in outside.items()}
    out.add(found, {"figure": 1, "K": K, "Ks": Ks, "rows": n}, data)
    page = drawing.page(folder, "sparse_posteriors_1.png", (8, 6.4), 2, 2, dpi=110)
    if page is None:
        return
    (a, b), (c, d) = page.panels
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
    page.save()


def figure_2(data: Vectors, Ks: tuple[int, ...], passes: int, folder: Path, out: Results) -> None:
    known: dict[int, dict[str, Points]] = {}
    batch = max(len(data.train) // 20, 1_000)
    for K in Ks:
        print(f"\nFigure 2: K = {K}, {passes} passes: held-out nats per row, processor seconds")
        for learner in ("stochastic", "memoized"):
            step = {"learner__offset": 1.0, "learner__decay": 0.65} if learner == "stochastic" else {}
            for L in (1, 4, 16, ALL):
                name = f"{learner} {label(L, K)}"
                settings = {"learner": learner, "n_active": min(L, K), "learner__batch_size": batch} | step | SETTINGS
                settings["weight_concentration_prior"] = 10 / K
                curve = topmix.gaussian_mixture(data, K, passes, time.process_time, **settings)
                known.setdefault(K, {})[name] = curve.series()
                print(f"  {name:<20}{curve.last():10.3f}{curve.seconds[-1]:9.1f}", flush=True)
                out.add({"curve": curve.to_dict()}, settings | {"figure": 2, "K": K, "clock": "processor"}, data)
    size = (max(8, 1 + 4 * len(Ks)), 4.6)
    page = drawing.page(folder, "sparse_posteriors_2.png", size, columns=len(Ks), dpi=110)
    if page is None:
        return
    colors = dict(zip((label(L, ALL) for L in (1, 4, 16, ALL)), drawing.PALETTE))
    for K, axes in zip(Ks, page.panels[0]):
        curves = known[K]
        styles = {
            name: {"color": colors[name.split(" ", 1)[1]], "ls": "--" if name[0] == "s" else "-"} for name in curves
        }
        drawing.lines(axes, [(name, points, styles[name]) for name, points in curves.items()])
        axes.set(title=f"K = {K}", xlabel="processor seconds of training", xscale="log")
        drawing.zoom(axes, [s for points in curves.values() for _, s in points])
    page.panels[0, 0].set_ylabel("held-out log likelihood (nats per row)")
    drawing.legend_below(page.figure, page.panels.ravel())
    page.save()


if __name__ == "__main__":
    arguments.command(main)
