"""Draws the figures of docs/papers.md from the rows in papers/results: `python -m papers.draw [--rows FOLDER]`.

A figure whose rows are not there is left out.
"""

from __future__ import annotations

import argparse
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.harness import drawing
from benchmarks.harness.machine import ROOT
from benchmarks.harness.synthetic import SYNTHETIC
from papers import PAPERS, RESULTS
from papers.rows import Row, corpus_of, curve_of, is_first_seed, panels, rows
from papers.surrogate import ALPHAS

FOLDER = ROOT / "docs" / "img" / "papers"
Line = tuple[str, list[tuple[float, float]], dict[str, Any]]


def main(argv: list[str] | None = None) -> int:
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--rows", type=Path, default=RESULTS, metavar="FOLDER")
    p.add_argument("--draw", type=Path, default=FOLDER, metavar="FOLDER")
    a = p.parse_args(argv)
    drawn = {name: figure(a.rows) for name, figure in FIGURES.items()}
    for paper in PAPERS:
        mine = {name: some for name, some in drawn.items() if name.rpartition("_")[0] == paper}
        shown = Counter(label for some in mine.values() for panel in some for label, *_ in panel.lines)
        looks = drawing.looks(label for label, _ in shown.most_common())  # what is shown most is told apart best
        for name, some in mine.items():
            if some:
                page(a.draw, name, some, looks)
            else:
                print(f"  {name}: no rows")
    return 0


class Panel:
    """Lines with their axes. `zoom` shows where curves end instead of where they start."""

    def __init__(
        self, title: str, x: str, y: str, lines: Sequence[Line], *, log: bool = True, zoom: bool = True
    ) -> None:
        self.title, self.x, self.y, self.lines, self.log, self.zoom = title, x, y, lines, log, zoom


def page(folder: Path, name: str, drawn: list[Panel], looks: dict[str, dict[str, Any]]) -> None:
    columns = min(3, len(drawn))
    n = -(-len(drawn) // columns)
    made = drawing.page(folder, f"{name}.svg", (1.2 + 3.7 * columns, 1 + 2.9 * n), n, columns)
    if made is None:
        return
    made.plt.rcParams["svg.hashsalt"] = "topmix"
    for panel, axes in zip(drawn, made.panels.flat):
        drawing.lines(
            axes,
            [(label, points, {"markersize": 2.5} | looks[label] | style) for label, points, style in panel.lines],
        )
        axes.set(title=panel.title, xlabel=panel.x, ylabel=panel.y)
        if panel.log:
            axes.set_xscale("log")
            axes.xaxis.set_minor_formatter(made.plt.NullFormatter())
            axes.xaxis.set_major_formatter(made.plt.FuncFormatter(lambda x, _: f"{x:g}"))
        if panel.zoom:
            drawing.zoom(axes, [v for _, points, _ in panel.lines for _, v in points[len(points) // 4 :]], share=0.95)
        drawing.label_ends(axes)
    for axes in made.panels.flat[len(drawn) :]:
        axes.set_axis_off()
    drawing.legend_below(made.figure, list(made.panels.flat), 4)
    made.save()
    path = folder / f"{name}.svg"  # without the date, so that the same rows give the same file
    lines = [line.rstrip() for line in path.read_text(encoding="utf-8").splitlines() if "<dc:date>" not in line]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")


def scores(paper: str, figure: Any, x: str, axis: str, y: str, of: str = "score") -> Callable[[Path], list[Panel]]:
    """One panel per corpus and K: `of` against x, a line per method."""

    def made(folder: Path) -> list[Panel]:
        found = []
        for (corpus, K), by_name in panels(rows(paper, folder, figure=figure)).items():
            lines = [(name, curve_of(row).series(of, x), look(name)) for name, row in by_name.items()]
            found.append(Panel(f"{corpus}, K = {K}", axis, y, lines))
        return found

    return made


def look(name: str) -> dict[str, Any]:
    """Thick: ours."""
    return {"lw": 2.2} if "our" in name else {}


def bounds(folder: Path) -> list[Panel]:
    """Fig. 5 of sparse posteriors: the bound against passes."""
    found: dict[tuple[str, Any], list[Line]] = {}
    for row in rows("sparse_posteriors", folder, figure=5):
        s = row["settings"]
        color = drawing.RED if s["restarts"] else drawing.BLUE
        style = {"color": color, "ls": "-" if s["start"] == "cold" else "--"}
        found.setdefault((corpus_of(row), s["L"]), []).append(
            (s["name"], curve_of(row).series("objective", "n_pass"), style)
        )
    return [
        Panel(f"{corpus}, {f'L = {L}' if L else 'L = K'}", "passes", "bound (nats per token)", lines, log=False)
        for (corpus, L), lines in found.items()
    ]


def costs(folder: Path) -> list[Panel]:
    """Fig. 3 of sparse posteriors: the local step of 1,000 documents, and distance from dense."""
    found: dict[int, dict[str, list[tuple[float, float]]]] = {}
    for row in rows("sparse_posteriors", folder, figure="3bc"):
        s = row["settings"]
        for part, seconds in row["result"].items():
            found.setdefault(s["K"], {}).setdefault(part, []).append((s["L"], seconds))
    names = {
        "often": "local step, selecting often (the paper)",
        "last": "local step, selecting last",
        "sums": "sums by word",
    }
    made = [
        Panel(f"wiki, K = {K}, 1,000 documents", "L (last: K)", "processor seconds",
              [(names[part], sorted(points), {}) for part, points in by_part.items()], zoom=False)
        for K, by_part in found.items()
    ]  # fmt: skip
    for row in rows("sparse_posteriors", folder, figure="3d"):
        lines = [
            (f"L = {L}", list(zip(q, (0.1, 0.25, 0.5, 0.75, 0.9))), {}) for L, q in row["result"]["distance"].items()
        ]
        made.append(
            Panel(
                f"K = {row['settings']['K']}",
                "variational distance from dense",
                "share of documents",
                lines,
                log=False,
                zoom=False,
            )
        )
    return made


def mixture_costs(folder: Path) -> list[Panel]:
    """Fig. 1 of sparse posteriors, (b), (c) and (d); (a) is a table of docs/papers.md."""
    made = []
    for figure, what in (("1b", "responsibilities"), ("1c", "statistics")):
        for row in rows("sparse_posteriors", folder, figure=figure):
            lines = [(name, [tuple(p) for p in points], {}) for name, points in row["result"][what].items()]
            made.append(
                Panel(f"{what} of {row['settings']['rows']:,} patches", "K", "processor seconds", lines, zoom=False)
            )
    for row in rows("sparse_posteriors", folder, figure="1d"):
        lines = [(L, list(zip(q, (0.1, 0.25, 0.5, 0.75, 0.9))), {}) for L, q in row["result"]["distance"].items()]
        made.append(
            Panel(
                f"K = {row['settings']['K']}", "variational distance from dense", "share of patches", lines, zoom=False
            )
        )
    return made


def batch_and_stream(folder: Path) -> list[Panel]:
    """Fig. 3 of SCVB0: batch VB on parts of the corpus beside SCVB0."""
    batch = rows("scvb0", folder, figure=3)
    made = []
    for (corpus, K), by_name in panels(batch).items():
        stream = panels(rows("scvb0", folder, figure=1)).get((corpus, K), {})
        shown = {n: stream[n] for n in ("SCVB0", "SCVB0, our start") if n in stream} | by_name
        lines = [(name, curve_of(row).series(), look(name)) for name, row in shown.items()]
        made.append(Panel(f"{corpus}, K = {K}", "seconds of training", "held-out nats per token", lines))
    return made


def asynchronous(figure: int, of: str, y: str) -> Callable[[Path], list[Panel]]:
    """Figs. 4, 6, 7 and 8 of ESVI: the bound per token, or perplexity."""

    def made(folder: Path) -> list[Panel]:
        found: dict[tuple[str, int, int], list[Line]] = {}
        extra = rows("esvi", folder, figure=4, name="ESVI", workers=1) if figure == 7 else []
        for row in filter(is_first_seed, [*rows("esvi", folder, figure=figure), *extra]):
            s, tokens = row["settings"], row["result"]["tokens"]
            scale = tokens if of == "elbo" else 1.0
            name = "C = K" if figure == 7 and s["name"] == "ESVI" else s["name"]
            points = [(t, v / scale) for t, v in curve_of(row).series(of)]
            found.setdefault((corpus_of(row), s["K"], s["workers"]), []).append((name, points, {}))
        return [
            Panel(f"{corpus}, K = {K}" + (f", {n} workers" if n > 1 else ""), "seconds", y, lines)
            for (corpus, K, n), lines in sorted(found.items())
            if len(lines) > 1 or figure == 8
        ]

    return made


def asynchronous_mixtures(folder: Path) -> list[Panel]:
    """Fig. 3 of ESVI."""
    found: dict[str, list[Row]] = {}
    for row in rows("esvi", folder, figure=3):
        found.setdefault(row["settings"]["data"], []).append(row)
    made = []
    for data, some in found.items():
        for of, y in (("elbo", "bound (nats per row)"), ("score", "held-out nats per row")):
            lines = []
            for row in some:
                scale = row["result"]["rows"] if of == "elbo" else 1.0
                points = [(t, v / scale) for t, v in curve_of(row).series(of)]
                lines.append((row["settings"]["name"], points, look(row["settings"]["name"])))
            made.append(Panel(f"{data}, K = {some[0]['settings']['K']}", "seconds", y, lines))
    return made


def surrogate(folder: Path) -> list[Panel]:
    """Fig. 2 of the HDP."""
    gaps: list[Line] = []
    cost: list[Line] = []
    for row in rows("hdp", folder, figure=2):
        s, result = row["settings"], row["result"]
        if "mean" in result:
            points = [(float(a), max(v, 1e-8)) for a, v in zip(ALPHAS, result["mean"])]
            gaps.append((f"K = {s['K']}, γ = {s['gamma']:g}", points, {"marker": None}))
        else:
            cost = [(name, list(enumerate(v)), {}) for name, v in result["change_by_empty_topics"].items()]
    if not gaps:
        return []
    return [
        Panel("the surrogate is never above", "α", "c_Dir(αβ) − surrogate", gaps, zoom=False),
        Panel("what empty topics change", "empty topics beside 5", "bound, one document", cost, log=False, zoom=False),
    ]


def restarts(folder: Path) -> list[Panel]:
    """Fig. 3 of the HDP: starts of each document, sorted by what restarts gain, and the sparse run.

    The middle one of the starts is drawn, not the worst, and documents where even that is far off are left out: they
    would hide the others.
    """
    made = []
    for row in rows("hdp", folder, figure=3):
        r = row["result"]
        bounds, sparse = np.array(r["bounds"]), np.array(r["with_restarts"])
        order = np.argsort(sparse - bounds[:, 0])
        order = order[np.abs(np.median(bounds, axis=1) - bounds[:, 0])[order] < 0.2]
        best, first = bounds.max(axis=1), bounds[:, 0]
        middle, once = np.median(bounds, axis=1), np.array(r.get("once", sparse))
        at = range(len(order))
        lines: list[Line] = [
            ("best of 50 random starts", [(i, best[d] - first[d]) for i, d in zip(at, order)], {"color": drawing.GREY}),
            ("middle one", [(i, middle[d] - first[d]) for i, d in zip(at, order)], {"color": drawing.SKY}),
            (
                "first start, restarts once",
                [(i, once[d] - first[d]) for i, d in zip(at, order)],
                {"color": drawing.BLACK, "ls": ":"},
            ),
            (
                "restarts until none helps",
                [(i, sparse[d] - first[d]) for i, d in zip(at, order)],
                {"color": drawing.RED},
            ),
        ]
        made.append(Panel(f"{corpus_of(row)}, K = {row['settings']['K']}", "documents, sorted",
                          "bound per token, less that of the first start", lines, log=False, zoom=False))  # fmt: skip
    return made


def chains(folder: Path) -> list[Panel]:
    """Fig. 1 of combinatorial topics: recovery error along Gibbs chains."""
    found: dict[str, list[Line]] = {}
    for row in [*rows("combinatorial", folder, figure=1), *rows("combinatorial", folder, figure="1 right")]:
        sample = row["settings"].get("sample")
        points = [(t, -v if sample else v) for t, v in curve_of(row).series()]
        name = row["settings"]["name"]
        style = {"color": drawing.BLACK, "lw": 2} if name == "random" else {"marker": None}
        found.setdefault(sample or corpus_of(row), []).append((name, points, style))
    return [
        Panel(where, "processor seconds", "recovery error" if where in SYNTHETIC else NATS, lines, zoom=False)
        for where, lines in found.items()
    ]


def spread_of_errors(folder: Path) -> list[Panel]:
    """Fig. 2 of combinatorial topics: recovery errors of all topics, sorted; lambda as in Table 3."""
    best: dict[tuple[str, str], Row] = {}
    for row in rows("combinatorial", folder, table=3, part="test"):
        if row["settings"].get("seed", 0) == 0:
            best[corpus_of(row), row["settings"]["method"]] = row
    found: dict[str, list[Line]] = {}
    for (corpus, method), row in best.items():
        errors = sorted(row["result"]["errors"])
        points = [(e, (i + 1) / len(errors)) for i, e in enumerate(errors)]
        found.setdefault(corpus, []).append((method, points, {"marker": None}))
    return [
        Panel(f"documents like {corpus}", "l1 error of a topic", "share of topics", lines, log=False, zoom=False)
        for corpus, lines in found.items()
    ]


NATS = "held-out nats per token"
FIGURES: dict[str, Callable[[Path], list[Panel]]] = {
    "sparse_posteriors_1": mixture_costs,
    "sparse_posteriors_2": scores("sparse_posteriors", 2, "seconds", "processor seconds", "held-out nats per patch"),
    "sparse_posteriors_3": costs,
    "sparse_posteriors_4": scores("sparse_posteriors", 4, "seconds", "seconds of training", NATS),
    "sparse_posteriors_5": bounds,
    "scvb0_1": scores("scvb0", 1, "seconds", "seconds of training", NATS),
    "scvb0_2": scores("scvb0", 1, "documents", "documents visited", NATS),
    "scvb0_3": batch_and_stream,
    "esvi_3": asynchronous_mixtures,
    "esvi_4": asynchronous(4, "elbo", "bound (nats per token)"),
    "esvi_6": asynchronous(4, "perplexity", "perplexity of new documents"),
    "esvi_7": asynchronous(7, "elbo", "bound (nats per token)"),
    "esvi_8": asynchronous(8, "elbo", "bound (nats per token)"),
    "hdp_2": surrogate,
    "hdp_3": restarts,
    "combinatorial_1": chains,
    "combinatorial_2": spread_of_errors,
}


if __name__ == "__main__":
    raise SystemExit(main())
