"""Figure 3: what sparsity costs and saves, for topics."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from benchmarks.harness import datasets, drawing
from benchmarks.harness.engines import TimedThreads
from benchmarks.harness.internals import cost_of_local_step, shard_of
from benchmarks.harness.methods import ours
from benchmarks.harness.methods.method import ETA
from benchmarks.harness.runs import Runs
from benchmarks.harness.stopwatch import PassTimes
from papers.sparse_posteriors.settings import DENSE
from topmix import presets
from topmix.learners import Memoized


def figure_3(
    runs: Runs, corpus: str, Ks: list[int], passes: int, n_docs: int, peers: dict[str, str], seconds: float,
    folder: Path,
) -> None:  # fmt: skip
    data, K = datasets.load(corpus, split=runs.split, role=runs.role), max(Ks)
    print(f"\nFigure 3a: {corpus}, K = {K}, {passes} passes; seconds per pass")
    bars = {f"L = {L}" if L else "dense": cost_of_pass(data, K, L, passes, runs.threads) for L in (1, 8, 16, None)}
    for name, parts in bars.items():
        detail, total = ", ".join(f"{part} {s:.2f}" for part, s in parts.items()), sum(parts.values())
        print(f"  {name:<10}{total:9.2f}   {data.train.shape[0] / total:9.0f} docs/s   ({detail})")
    rates = {}
    for method, setting in peers.items():
        curve = runs.run(method, setting, corpus, K, 0, seconds).curve
        rates[method] = curve.last("documents") / curve.seconds[-1]
        print(f"  {method:<10}{data.train.shape[0] / rates[method]:9.2f}   {rates[method]:9.0f} docs/s")

    print(f"Figures 3b, 3c: seconds of the local step and of the sums, {n_docs} documents")
    costs: dict[int, list[tuple[int, float, float, float]]] = {}
    distances: dict[int, np.ndarray] = {}
    for k in Ks:
        settings = {"inference": "variational", "topic_word_prior": ETA, "max_iter": 3}
        fitted = ours.lda(k, n_jobs=runs.threads, random_state=0, **settings).fit(data.train)
        shard = shard_of(data.train[:n_docs])
        proportions: dict[int, np.ndarray] = {}
        for L in [n for n in (1, 2, 4, 8, 16, 32, 64) if n < k] + [k]:
            often = cost_of_local_step(shard, fitted, L, "often")[0]
            local, both, proportions[L] = cost_of_local_step(shard, fitted, L, "last")
            costs.setdefault(k, []).append((L, local, max(both - local, 0.0), often))
            cells = f"local {local:8.3f} ({often:.3f} when selecting often)   sums {both - local:8.3f}"
            print(f"  K = {k:<6}L = {L:<6}{cells}", flush=True)
        distances = {L: 0.5 * np.abs(x - proportions[k]).sum(axis=1) for L, x in proportions.items() if k > L}
    print(f"Figure 3d: variational distance from dense at K = {Ks[-1]}: median and 90% of documents")
    for L, d in distances.items():
        print(f"  L = {L:<6}{np.median(d):8.4f}{np.quantile(d, 0.9):8.4f}")
    if runs.results is not None:
        found = {"seconds_per_pass": bars, "documents_per_second_of_peers": rates, "costs": costs}
        found["median_distance"] = {L: np.median(d) for L, d in distances.items()}
        runs.results.add(found, {"figure": 3, "K": Ks, "passes": passes, "documents": n_docs}, data)
    draw_3(corpus, K, data.train.shape[0], bars, rates, costs, distances, folder)


def cost_of_pass(
    data: datasets.Dataset, K: int, L: int | None, passes: int, threads: int, selects_often: bool = False
) -> dict[str, float]:
    """Seconds per pass of memoized learning: tables, local step with its sums; the rest is the global step.

    Documents are solved as our variational LDA solves them, or as the paper does where `selects_often`.
    """
    settings = dict(DENSE) if L is None else {"n_active": L}
    settings |= {
        "inference": "variational",
        "topic_word_prior": ETA,
        "inference__cold_visits": None,
        "max_iter": passes,
    }
    if selects_often:
        about = presets.sparse_lda(K, L)
        settings |= {"inference": about.inference, "doc_topic_prior": about.doc_topic_prior}
        settings = {name: value for name, value in settings.items() if "__" not in name}
    wall, engine = PassTimes(), TimedThreads()
    ours.lda(
        K, tol=-np.inf, n_jobs=threads, random_state=0, engine=engine, callbacks=[wall],
        learner=Memoized(-(-data.train.shape[0] // 10)), **settings,
    ).fit(data.train)  # fmt: skip
    times = engine.times
    rest = sum(wall.seconds(times.begin)) - times.tables - times.step
    return {part: s / passes for part, s in (("local", times.step), ("tables", times.tables), ("global", rest))}


def draw_3(
    corpus: str, K: int, D: int, bars: dict[str, dict[str, float]], rates: dict[str, float],
    costs: dict[int, list[tuple[int, float, float, float]]], distances: dict[int, np.ndarray], folder: Path,
) -> None:  # fmt: skip
    page = drawing.page(folder, "sparse_posteriors_3.png", (8.5, 6), 2, 2, dpi=110)
    if page is None:
        return
    panels = page.panels
    axes = panels[0, 0]
    longest = max(sum(parts.values()) for parts in bars.values())
    for x, parts in enumerate(bars.values()):
        bottom = 0.0
        for (part, s), color in zip(parts.items(), (drawing.BLUE, drawing.ORANGE, drawing.GREEN)):
            axes.bar(x, s, 0.7, bottom, color=color, label=part if x == 0 else None)
            bottom += s
        axes.text(x, bottom, f"{D / bottom:,.0f}", ha="center", va="bottom", fontsize=8)
    for x, rate in enumerate(rates.values(), start=len(bars)):
        height = min(D / rate, 1.25 * longest)
        axes.bar(x, height, 0.7, color=drawing.GREY, label="peers" if x == len(bars) else None)
        cut = "" if height == D / rate else f"\n({D / rate:,.0f} s)"
        axes.text(x, height, f"{rate:,.0f}{cut}", ha="center", va="bottom", fontsize=8)
    axes.set_xticks(range(len(bars) + len(rates)), [*bars, *rates], fontsize=8)
    axes.set(ylabel="seconds per pass", title=f"(a) {corpus}, K = {K}; documents per second above")
    axes.set_ylim(0, 1.5 * longest)
    axes.grid(axis="x", visible=False)
    axes.legend(loc="upper left", ncols=2)
    for axes, column, title in ((panels[0, 1], 1, "(b) local step"), (panels[1, 0], 2, "(c) sums by word")):
        drawing.lines(axes, [(f"K = {k}", [(c[0], c[column]) for c in some], {}) for k, some in costs.items()])
        axes.set_xscale("log", base=2)
        axes.xaxis.set_major_formatter("{x:g}")
        axes.set(xlabel="L (the last point is L = K)", ylabel="seconds", title=title)
    often = [(c[0], c[3]) for c in costs[max(costs)]]
    panels[0, 1].plot(*zip(*often), ls=":", color=drawing.GREY, label=f"K = {max(costs)}, selecting often")
    for axes in (panels[0, 1], panels[1, 0]):
        axes.set_ylim(0, None)
        axes.legend()
    axes = panels[1, 1]
    for (L, d), color in zip(distances.items(), drawing.PALETTE):
        axes.step(np.sort(d), np.arange(1, len(d) + 1) / len(d), where="post", color=color, label=f"L = {L}")
    axes.set(xlabel="variational distance from dense", ylabel="share of documents", title=f"(d) K = {max(costs)}")
    axes.set_xlim(0, max((np.quantile(d, 0.98) for d in distances.values()), default=1.0) + 0.01)
    axes.legend(loc="lower right")
    page.save()
