"""Zhang et al., Extreme Stochastic Variational Inference (AISTATS 2019): Figs. 3, 4, 6, 7 and 8, redrawn from our runs.

    python -m papers.esvi --small | --full   # with the paper's own algorithms: papers/experiments
    python -m papers.esvi                   # an hour on two cores; runs are remembered
    python -m papers.esvi --figures 3 --fresh
    python -m papers.esvi --quick           # generated data, a minute

Is asynchronous learning ahead of batch and stochastic learning?

Figure 3: Gaussian mixtures, bound and held-out log likelihood against seconds. Figure 4: topics, bound against seconds,
for several K. Figure 6: the same runs, perplexity of held-out documents. Figure 7: topics that keep C of K
responsibilities per token. Figure 8: C = 16 and large K. Our corpora replace the paper's, and one machine replaces its
cluster; Figure 5, and the multi-machine panels of the others, have no counterpart. VI and SVI are our own batch and
stochastic learners. The runs are rows of benchmarks/asynchronous_mixtures.py (Fig. 3) and benchmarks/asynchronous.py
(the others), which say what they count; --runs says where they are.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any, NamedTuple

from benchmarks import asynchronous, asynchronous_mixtures
from benchmarks.harness import arguments, drawing, results
from benchmarks.harness.curve import Curve
from papers import FIGURES, everything

MIXTURES, TOPICS = "asynchronous_mixtures", "asynchronous"
SOURCES = {"3": MIXTURES, "4": TOPICS, "6": TOPICS, "7": TOPICS, "8": TOPICS}
TITLES = {
    "3": "Gaussian mixtures, bound and held-out likelihood against seconds",
    "4": "topics, bound against seconds",
    "6": "topics, perplexity against seconds",
    "7": "C of K responsibilities kept",
    "8": "C = 16, large K",
}
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


class Line(NamedTuple):
    """One run, as a figure has it."""

    panel: str
    corpus: str
    K: int
    method: str
    curve: Curve


class Panel(NamedTuple):
    title: str
    y: str
    of: str  # the series that is drawn
    lines: list[Line]


def lines_of(source: str, folder: Path, quick: bool, fresh: bool) -> list[Line]:
    """The rows that a benchmark has written, or now writes; the last row of the same run counts."""
    path = folder / f"{source}{'-quick' if quick else ''}.jsonl"
    if fresh or not path.exists():
        print(f"running benchmarks.{source}", file=sys.stderr, flush=True)
        run = {MIXTURES: asynchronous_mixtures.main, TOPICS: asynchronous.main}[source]
        run(["--out", str(path), *(["--quick"] if quick else [])])
    found: dict[tuple[Any, ...], Line] = {}
    rows = [row for row in results.read(path) if "curve" in row["result"] and row["result"].get("best", True)]
    for row in rows:
        about = row["settings"]
        key = about["panel"], row["corpus"]["name"], about["K"], about["method"]
        found[key] = Line(*key, Curve.from_dict(row["result"]["curve"]))
    print(f"{source}: runs on {', '.join(sorted({row['machine']['processor'] for row in rows}))}")
    return list(found.values())


def panels(figure: str, known: list[Line]) -> list[Panel]:
    wanted = [x for x in known if x.panel == f"fig{figure}"]
    what = {"3": ["elbo", "score"], "6": ["perplexity"]}.get(figure, ["elbo"])
    labels = {"elbo": "bound (millions of nats)", "score": "held-out nats per row", "perplexity": "test perplexity"}
    by_K = figure != "8"  # whose lines differ by it
    groups = dict.fromkeys((x.corpus, x.K if by_K else None) for x in wanted)
    out = []
    for name in what:
        for corpus, K in groups:
            these = [x for x in wanted if x.corpus == corpus and K in (None, x.K) and x.curve.series(name)]
            if these:
                out.append(Panel(corpus if K is None else f"{corpus}, K = {K}", labels[name], name, these))
    return out


def label(line: Line, figure: str) -> str:
    name = line.method
    if figure in ("7", "8"):  # which have no other learner
        name = name.removeprefix("asynchronous, ")
    return f"{name}, K = {line.K}" if figure == "8" else name


def style(method: str) -> dict[str, Any]:
    return next((s for start, s in STYLES.items() if method.startswith(start)), {})


def table(figure: str, found: list[Panel]) -> None:
    print(f"\nFigure {figure}: {TITLES[figure]}")
    for panel in found:
        last = max(x.curve.seconds[-1] for x in panel.lines)
        when = [last / 2**i for i in range(3, -1, -1)]
        print(f"  {panel.title}: {panel.of} after" + "".join(f"{t:>14.3g} s" for t in when))
        for x in panel.lines:
            values = [x.curve.value_at(1.001 * t, panel.of) for t in when]
            cells = "".join(f"{'-':>16}" if v is None else f"{v:>16,.3f}" for v in values)
            print(f"    {label(x, figure):<40}{cells}")


def draw(figure: str, found: list[Panel], folder: Path) -> None:
    columns = min(3, len(found)) if figure != "3" else max(1, len(found) // 2)
    rows = -(-len(found) // columns)
    page = drawing.page(folder, f"esvi_{figure}.png", (1 + 3.6 * columns, 0.8 + 2.9 * rows), rows, columns, dpi=110)
    if page is None:
        return
    for panel, axes in zip(found, page.panels.flat):
        scale = 1e6 if panel.of == "elbo" else 1.0
        one_colour_each = len({x.method.split(",")[0] for x in panel.lines}) == 1  # C or K alone differ
        lines = []
        for x in panel.lines:
            look = {"markersize": 2.0} | ({} if one_colour_each else style(x.method))
            lines.append((label(x, figure), [(t, v / scale) for t, v in x.curve.series(panel.of)], look))
        drawing.lines(axes, lines)
        axes.set(xscale="log", xlabel="seconds", title=panel.title, ylabel=panel.y)
        axes.xaxis.set_minor_formatter(page.plt.NullFormatter())
        axes.xaxis.set_major_formatter(page.plt.FuncFormatter(lambda x, _: f"{x:g}"))
        late = [v for _, points, _ in lines for _, v in points[len(points) // 4 :]]
        if panel.of == "perplexity":
            drawing.zoom(axes, [-v for v in late], share=0.95)
            axes.set_ylim(*(-v for v in axes.get_ylim()[::-1]))
        else:
            drawing.zoom(axes, late, share=0.95)
    for axes in page.panels.flat[len(found) :]:
        axes.set_axis_off()
    longest = max(len(label(x, figure)) for panel in found for x in panel.lines)
    columns = max(1, int(page.figure.get_figwidth() / (0.6 + 0.065 * longest)))
    drawing.legend_below(page.figure, list(page.panels.flat), columns)
    page.save()


def main(argv: list[str] | None = None) -> int:
    if everything.is_asked(argv):
        return everything.main(argv, ("esvi",))
    p = arguments.parser(__doc__, quick="small generated data")
    p.add_argument("--figures", nargs="+", choices=[*SOURCES], default=[*SOURCES])
    p.add_argument("--fresh", action="store_true", help="run everything again")
    p.add_argument("--runs", type=Path, default=results.FOLDER, metavar="FOLDER", help="where the rows are")
    arguments.add_draw(p, FIGURES)
    a = p.parse_args(argv)
    out = results.Results(a.out, "esvi")
    known = {s: lines_of(s, a.runs, a.quick, a.fresh) for s in dict.fromkeys(SOURCES[f] for f in a.figures)}
    for figure in a.figures:
        found = panels(figure, known[SOURCES[figure]])
        if not found:
            print(f"\nFigure {figure}: no runs of it in {SOURCES[figure]}.jsonl")
            continue
        table(figure, found)
        draw(figure, found, a.draw)
        for panel in found:
            ends = {label(x, figure): x.curve.last(panel.of) for x in panel.lines}
            out.add({f"last_{panel.of}": ends}, {"figure": figure, "panel": panel.title})
    return 0


if __name__ == "__main__":
    arguments.command(main)
