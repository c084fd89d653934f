"""Zhang et al., Extreme Stochastic Variational Inference (AISTATS 2019): Figs. 3, 4, 6, 7 and 8, redrawn from our runs.

    python papers/esvi.py                   # an hour on two cores; runs are remembered
    python papers/esvi.py --figures 3 --fresh
    python papers/esvi.py --quick           # generated data, a minute

Figure 3: Gaussian mixtures, bound and held-out log likelihood against seconds. Figure 4: topics, bound against seconds,
for several K. Figure 6: the same runs, perplexity of held-out documents. Figure 7: topics that keep C of K
responsibilities a token. Figure 8: C = 16 and large K. Our corpora are in the place of the paper's, and one machine in
that of its cluster; Figure 5, and the multi-machine panels of the others, have no counterpart. VI and SVI are our own
batch and stochastic learners. The runs are those of benchmarks/asynchronous_mixtures.py (Fig. 3) and
benchmarks/asynchronous.py (the others), which say what they count.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "benchmarks"))

import drawing

BENCHMARKS = Path(drawing.__file__).resolve().parent
FIGURES = Path(__file__).resolve().parent / "figures"
SOURCES = {
    "3": "asynchronous_mixtures",
    "4": "asynchronous",
    "6": "asynchronous",
    "7": "asynchronous",
    "8": "asynchronous",
}
TITLES = {
    "3": "Gaussian mixtures, bound and held-out likelihood by the second",
    "4": "topics, bound by the second",
    "6": "topics, perplexity by the second",
    "7": "C of K responsibilities kept",
    "8": "C = 16, large K",
}
Curve = dict[str, Any]
# By how a method's name begins; the first that fits.
STYLES: dict[str, dict[str, Any]] = {
    "ESVI": {"color": drawing.RED, "lw": 2.0},
    "asynchronous, no opening": {"color": drawing.ORANGE},
    "asynchronous": {"color": drawing.RED, "lw": 2.0},
    "VI, L": {"color": drawing.SKY},
    "VI": {"color": drawing.BLUE},
    "batch, L": {"color": drawing.SKY},
    "batch": {"color": drawing.BLUE},
    "SVI": {"color": drawing.GREEN},
    "stochastic": {"color": drawing.GREEN},
    "memoized": {"color": drawing.GREY, "ls": "--"},
}


def curves(source: str, results: Path, quick: bool, fresh: bool) -> list[Curve]:
    """Of a benchmark: as it left them, or of a run that is made now."""
    path = results / f"{source}{'-quick' if quick else ''}.json"
    if fresh or not path.exists():
        print(f"running benchmarks/{source}.py", file=sys.stderr, flush=True)
        command = [
            sys.executable,
            str(BENCHMARKS / f"{source}.py"),
            "--out",
            str(path),
            *(["--quick"] if quick else []),
        ]
        subprocess.run(command, check=True, stdout=sys.stderr)
    read = json.loads(path.read_text(encoding="utf-8"))
    print(f"{source}: runs on {read['machine'].get('name', 'an unnamed machine')}")
    return [c for c in read["curves"] if c["seconds"] and c.get("best", True)]


def panels(figure: str, known: list[Curve]) -> list[tuple[str, str, str, list[Curve]]]:
    """(title, label of the y axis, what is drawn, curves) of each panel."""
    wanted = [c for c in known if c["panel"] == f"fig{figure}"]
    what = {"3": ["elbo", "held_out"], "6": ["perplexity"]}.get(figure, ["elbo"])
    labels = {"elbo": "bound (millions of nats)", "held_out": "held-out nats a row", "perplexity": "test perplexity"}
    by_K = figure != "8"  # whose lines differ by it
    groups = dict.fromkeys((c["corpus"], c["K"] if by_K else None) for c in wanted)
    out = []
    for name in what:
        for corpus, K in groups:
            these = [c for c in wanted if c["corpus"] == corpus and K in (None, c["K"]) and c.get(name)]
            if these:
                out.append((corpus if K is None else f"{corpus}, K = {K}", labels[name], name, these))
    return out


def label(curve: Curve, figure: str) -> str:
    name = str(curve["method"])
    if figure in ("7", "8"):  # where all are
        name = name.removeprefix("asynchronous, ")
    return f"{name}, K = {curve['K']}" if figure == "8" else name


def style(method: str) -> dict[str, Any]:
    return next((s for start, s in STYLES.items() if method.startswith(start)), {})


def table(figure: str, found: list[tuple[str, str, str, list[Curve]]]) -> None:
    print(f"\nFigure {figure}: {TITLES[figure]}")
    for title, _, what, these in found:
        last = max(c["seconds"][-1] for c in these)
        when = [last / 2**i for i in range(3, -1, -1)]
        print(f"  {title}: {what.replace('_', '-')} after" + "".join(f"{t:>14.3g} s" for t in when))
        for c in these:
            values = [value_at(c, what, 1.001 * t) for t in when]
            print(
                f"    {label(c, figure):<40}"
                + "".join(f"{v:>16,.3f}" if v is not None else f"{'-':>16}" for v in values)
            )


def points(curve: Curve, what: str) -> list[tuple[float, float]]:
    """(seconds, value): of bounds there may be more than of what has to be computed."""
    more = what == "elbo" and "all_elbo" in curve
    return list(zip(curve["all_seconds" if more else "seconds"], curve["all_elbo" if more else what]))


def value_at(curve: Curve, what: str, seconds: float) -> float | None:
    """The last within so many seconds."""
    return next((v for t, v in reversed(points(curve, what)) if t <= seconds), None)


def draw(figure: str, found: list[tuple[str, str, str, list[Curve]]], path: Path) -> None:
    plt = drawing.pyplot()
    if plt is None:
        return
    columns = min(3, len(found)) if figure != "3" else max(1, len(found) // 2)
    rows = -(-len(found) // columns)
    page, axes = plt.subplots(
        rows, columns, figsize=(1 + 3.6 * columns, 0.8 + 2.9 * rows), layout="constrained", squeeze=False
    )
    for (title, y, what, these), panel in zip(found, axes.flat):
        scale = 1e6 if what == "elbo" else 1.0
        one_colour_each = len({c["method"].split(",")[0] for c in these}) == 1  # C or K alone differ
        lines = []
        for c in these:
            look = {"markersize": 2.0} | ({} if one_colour_each else style(c["method"]))
            lines.append((label(c, figure), [(t, v / scale) for t, v in points(c, what)], look))
        drawing.lines(panel, lines)
        panel.set(xscale="log", xlabel="seconds", title=title)
        panel.set_ylabel(y)
        panel.xaxis.set_minor_formatter(plt.NullFormatter())
        panel.xaxis.set_major_formatter(plt.FuncFormatter(lambda x, _: f"{x:g}"))
        late = [v for _, line, _ in lines for _, v in line[len(line) // 4 :]]
        if what == "perplexity":
            drawing.zoom(panel, [-v for v in late], share=0.95)
            panel.set_ylim(*(-v for v in panel.get_ylim()[::-1]))
        else:
            drawing.zoom(panel, late, share=0.95)
    for panel in axes.flat[len(found) :]:
        panel.set_axis_off()
    longest = max(len(label(c, figure)) for *_, these in found for c in these)
    drawing.legend_below(page, list(axes.flat), columns=max(1, int(page.get_figwidth() / (0.6 + 0.065 * longest))))
    drawing.save(page, path, dpi=110)
    plt.close(page)


def main(argv: list[str] | None = None) -> int:
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--figures", nargs="+", choices=[*SOURCES], default=[*SOURCES])
    p.add_argument("--fresh", action="store_true", help="run everything again")
    p.add_argument("--quick", action="store_true", help="small generated data, to see that it runs")
    p.add_argument("--results", type=Path, default=BENCHMARKS / "results", help="where runs are remembered")
    p.add_argument("--out", type=Path, default=FIGURES)
    a = p.parse_args(argv)
    known = {s: curves(s, a.results, a.quick, a.fresh) for s in dict.fromkeys(SOURCES[f] for f in a.figures)}
    for figure in a.figures:
        found = panels(figure, known[SOURCES[figure]])
        if found:
            table(figure, found)
            draw(figure, found, a.out / f"esvi_{figure}.png")
        else:
            print(f"\nFigure {figure}: no runs of it in {SOURCES[figure]}.json")
    return 0


if __name__ == "__main__":
    sys.exit(main())
