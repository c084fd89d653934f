"""Figures 4 and 5: score against seconds for all learners, and the bound against passes with and without restarts."""

from __future__ import annotations

from pathlib import Path

from benchmarks import restarts
from benchmarks.harness import drawing
from benchmarks.harness.methods import SETTINGS
from benchmarks.harness.runs import NO_LIMIT, Run, Runs
from papers.sparse_posteriors.settings import LEARNERS, STYLES


def figure_4(
    runs: Runs, corpora: list[str], Ks: list[int], seconds: float, peers: dict[str, str], folder: Path
) -> None:  # fmt: skip
    known: dict[tuple[str, int], dict[str, Run]] = {}
    for corpus in corpora:
        for K in Ks:
            some = {name: runs.run("topmix", name, corpus, K, 0, seconds, s) for name, s in LEARNERS.items()}
            some |= {
                m: runs.run(m, setting, corpus, K, 0, seconds, SETTINGS[m][setting]) for m, setting in peers.items()
            }
            known[corpus, K] = some
            when = ", ".join(f"{seconds / n:g}" for n in (8, 4, 2, 1))
            print(f"\nFigure 4: {corpus}, K = {K}: score after {when} s")
            for name, run in some.items():
                scores = (run.curve.best(1.1 * seconds / n) for n in (8, 4, 2, 1))
                print(f"  {name:<30}" + "".join(f"{s:>10.4f}" for s in scores), flush=True)
    size = (1 + 3 * len(Ks), 1 + 2.5 * len(corpora))
    page = drawing.page(folder, "sparse_posteriors_4.png", size, len(corpora), len(Ks), dpi=110)
    if page is None:
        return
    for row, corpus in zip(page.panels, corpora):
        for axes, K in zip(row, Ks):
            some = known[corpus, K]
            lines = [(name, run.curve.series(), STYLES[name] | {"marker": None}) for name, run in some.items()]
            drawing.lines(axes, lines)
            axes.set(xscale="log", title=f"{corpus}, K = {K}")
            drawing.zoom(axes, [s for _, points, _ in lines for t, s in points if t > seconds / 30])
        row[0].set_ylabel("completion score (nats per token)")
    for axes in page.panels[-1]:
        axes.set_xlabel("seconds of training")
    drawing.legend_below(page.figure, page.panels.ravel())
    page.save()


def figure_5(runs: Runs, corpora: list[str], K: int, passes: int, folder: Path) -> None:
    known: dict[tuple[str, str], dict[str, Run]] = {}
    for corpus in corpora:
        for kind, L in (("L = 16", 16), ("dense", None)):
            shown = "bound per token, score, restarts accepted, seconds"
            print(f"\nFigure 5: {corpus}, K = {K}, {kind}, {passes} passes: {shown}")
            for name, settings in restarts.grid(passes, masses=(0.0,), n_active=L).items():
                run = runs.run("topmix", f"{kind}, {name}", corpus, K, 0, NO_LIMIT, settings)
                known.setdefault((corpus, kind), {})[name.rsplit(",", 1)[0]] = run
                share = restarts.accepted([run.curve])
                ends = f"{run.curve.last('objective'):10.4f}{run.final['score']:10.4f}"
                accepted = f"{share:9.1%}" if share == share else f"{'':>9}"
                print(f"  {name:<30}{ends}{accepted}{run.curve.seconds[-1]:9.1f}", flush=True)
    size = (8.5, 0.8 + 2.8 * len(corpora))
    page = drawing.page(folder, "sparse_posteriors_5.png", size, len(corpora), 2, dpi=110)
    if page is None:
        return
    for row, corpus in zip(page.panels, corpora):
        for axes, kind in zip(row, ("L = 16", "dense")):
            restarts.draw_bounds(axes, known[corpus, kind])
            axes.set_title(f"{corpus}, K = {K}, {kind}")
    drawing.legend_below(page.figure, page.panels.ravel())
    page.save()
