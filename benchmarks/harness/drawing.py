"""The style of all figures. Without matplotlib nothing is drawn, and a line says so."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import cycle, pairwise
from pathlib import Path
from typing import Any

# Colours that can be told apart in grey and by colour-blind readers (Okabe & Ito).
BLUE, ORANGE, GREEN, RED, SKY, PURPLE, YELLOW = (
    "#0072b2", "#e69f00", "#009e73", "#d55e00", "#56b4e9", "#cc79a7", "#b8a800",
)  # fmt: skip
BLACK, GREY = "#000000", "#888888"
PALETTE = (BLUE, RED, GREEN, ORANGE, PURPLE, SKY, YELLOW, BLACK)
MARKS = ("o", "s", "^", "D", "v", "P", "X", "<")


def pyplot() -> Any | None:
    """matplotlib's pyplot, set up for figures of a paper; None, with a message, if it is not installed."""
    try:
        import matplotlib
    except ImportError:
        print("  (no figure: matplotlib is not installed)")
        return None
    matplotlib.use("Agg")
    matplotlib.rcParams.update(
        {
            "font.size": 9, "axes.titlesize": 10, "axes.labelsize": 9, "legend.fontsize": 8, "legend.frameon": False,
            "axes.spines.top": False, "axes.spines.right": False, "axes.grid": True, "grid.alpha": 0.25,
            "grid.linewidth": 0.6, "lines.linewidth": 1.4, "lines.markersize": 3.5, "figure.dpi": 150,
            "svg.fonttype": "none", "svg.hashsalt": "topmix",
        }
    )  # fmt: skip
    from matplotlib import pyplot as plt

    return plt


def lines(axes: Any, curves: Sequence[tuple[str, Sequence[tuple[float, float]], dict[str, Any]]]) -> None:
    """Each (label, points, style) as a line with marks. Styles are keywords of matplotlib, with defaults."""
    styles = cycle(zip(PALETTE, MARKS))
    for label, points, style in curves:
        color, mark = next(styles)
        if points:
            x, y = zip(*points)
            axes.plot(x, y, label=label, **{"color": color, "marker": mark} | style)


def looks(names: Iterable[str]) -> dict[str, dict[str, Any]]:
    """A colour, mark and dash for each name, no two alike: for a method that several panels and figures show."""
    dashes = ("-", (0, (5, 2)), (0, (1, 1.5)))
    unique = list(dict.fromkeys(names))
    return {
        name: {"color": PALETTE[i % len(PALETTE)], "marker": MARKS[i % len(MARKS)], "ls": dashes[i // len(PALETTE) % 3]}
        for i, name in enumerate(unique)
    }


def label_ends(axes: Any, most: int = 8) -> None:
    """The name of each line at its end, in its colour, where there are few enough to read. Call it last."""
    ends = []
    axes.autoscale_view()  # limits that nobody set are as yet those of nothing
    for line in axes.get_lines():
        x, y = line.get_xdata(), line.get_ydata()
        if len(x) and not line.get_label().startswith("_"):
            at = axes.transAxes.inverted().transform(axes.transData.transform((x[-1], y[-1])))
            ends.append([float(min(max(at[1], 0.02), 0.98)), float(at[0]), line])
    if not ends or len(ends) > most:
        return
    ends.sort(key=lambda end: end[0])
    gap = 0.075
    for low, high in pairwise(ends):  # apart from each other, and then down again from the top
        high[0] = max(high[0], low[0] + gap)
    ends[-1][0] = min(ends[-1][0], 1.0)
    for low, high in reversed(list(pairwise(ends))):
        low[0] = min(low[0], high[0] - gap)
    for y, _, line in ends:
        axes.annotate(
            line.get_label(), (1.01, y), xycoords="axes fraction", va="center", fontsize=6.5, color=line.get_color()
        )


def zoom(axes: Any, values: Sequence[float], share: float = 0.85, above: float = 0.03) -> None:
    """The y axis on the upper `share` of these values: where curves end, not where they start."""
    ordered = sorted(v for v in values if v == v and abs(v) != float("inf"))
    if len(ordered) < 2:
        return
    low, high = ordered[int((1 - share) * (len(ordered) - 1))], ordered[-1]
    room = above * (high - low) or 0.01
    axes.set_ylim(low - room, high + room)


INCHES_PER_COLUMN = 2.0


def legend_below(figure: Any, axes: Sequence[Any], columns: int = 4) -> None:
    """One legend for all panels, with every label that any of them has; fewer columns in a narrow figure."""
    entries: dict[str, Any] = {}
    for a in axes:
        for handle, label in zip(*a.get_legend_handles_labels()):
            entries.setdefault(label, handle)
    figure.legend(entries.values(), entries.keys(), loc="outside lower center",
                  ncols=max(1, min(columns, int(figure.get_figwidth() / INCHES_PER_COLUMN))))  # fmt: skip


@dataclass
class Page:
    """A figure that is being drawn."""

    path: Path
    dpi: int
    figure: Any
    panels: Any  # [rows, columns] axes
    plt: Any

    def save(self) -> None:
        self.path.parent.mkdir(parents=True, exist_ok=True)
        metadata = {"Date": None} if self.path.suffix == ".svg" else None
        self.figure.savefig(self.path, dpi=self.dpi, metadata=metadata)
        self.plt.close(self.figure)
        print(f"  {self.path.name} drawn", flush=True)


def page(
    folder: Path | None, name: str, size: tuple[float, float], rows: int = 1, columns: int = 1, dpi: int = 150
) -> Page | None:
    """A figure with panels to draw on; None if no folder was given, or matplotlib is not installed."""
    plt = pyplot() if folder is not None else None
    if plt is None or folder is None:
        return None
    figure, panels = plt.subplots(rows, columns, figsize=size, layout="constrained", squeeze=False)
    return Page(folder / name, dpi, figure, panels, plt)
