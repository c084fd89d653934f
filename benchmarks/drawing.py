"""Figures in one style: matplotlib where it is installed, and a word where it is not."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import cycle
from pathlib import Path
from typing import Any

# Colours that stay apart in grey and for the colour-blind (Okabe & Ito).
BLUE, ORANGE, GREEN, RED, SKY, PURPLE, YELLOW = (
    "#0072b2", "#e69f00", "#009e73", "#d55e00", "#56b4e9", "#cc79a7", "#b8a800",
)  # fmt: skip
BLACK, GREY = "#000000", "#888888"
PALETTE = (BLUE, RED, GREEN, ORANGE, PURPLE, SKY, YELLOW, BLACK)
MARKS = ("o", "s", "^", "D", "v", "P", "X", "<")


def pyplot() -> Any | None:
    """matplotlib's pyplot, set up for figures of a paper; None, having said so, where it is not installed."""
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


def zoom(axes: Any, values: Sequence[float], share: float = 0.85, above: float = 0.03) -> None:
    """The y axis on the upper `share` of these values: where curves end, not where they start."""
    ordered = sorted(v for v in values if v == v and abs(v) != float("inf"))
    if len(ordered) < 2:
        return
    low, high = ordered[int((1 - share) * (len(ordered) - 1))], ordered[-1]
    room = above * (high - low) or 0.01
    axes.set_ylim(low - room, high + room)


INCHES_A_COLUMN = 2.0


def legend_below(figure: Any, axes: Sequence[Any], columns: int = 4) -> None:
    """One legend for all panels, of everything that is in any of them; a narrow figure has fewer columns of it."""
    entries: dict[str, Any] = {}
    for a in axes:
        for handle, label in zip(*a.get_legend_handles_labels()):
            entries.setdefault(label, handle)
    figure.legend(entries.values(), entries.keys(), loc="outside lower center",
                  ncols=max(1, min(columns, int(figure.get_figwidth() / INCHES_A_COLUMN))))  # fmt: skip


def save(figure: Any, path: Path, dpi: int = 150) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=dpi)
    print(f"  {path.name} drawn", flush=True)
