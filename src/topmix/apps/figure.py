"""What plots share: figures, colours, intervals, legends, the look of axes, and the tables that they are drawn from."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

if TYPE_CHECKING:
    from matplotlib.axes import Axes

Floats = NDArray[np.float64]
Frame = Mapping[str, ArrayLike]  # or a DataFrame
Look = dict[str, Any]  # keywords of matplotlib
BLUE, GREY = "#4477aa", "#888888"
# Colours that differ in hue or lightness, also from their neighbours. Markers differ too, for prints in grey.
PALETTE = (
    "#1f77b4", "#d62728", "#2ca02c", "#ff7f0e", "#9467bd", "#8c564b", "#17becf", "#e377c2", "#7f7f7f", "#bcbd22",
    "#08306b", "#67000d", "#00441b", "#fdae6b", "#3f007d", "#d2b48c", "#7fcdbb", "#7a0177", "#252525", "#a1d99b",
)  # fmt: skip
MARKERS = "os^Dv"
DASHED: Look = {"color": GREY, "linewidth": 1, "linestyle": "--"}
LONGEST = 44  # letters of a label


def grid(n_rows: int, n_columns: int, figsize: tuple[float, float] | None = None, **shared: bool) -> np.ndarray:
    """[rows, columns] axes of a new figure; shared are sharex and sharey."""
    try:
        import matplotlib.pyplot as plt
    except ImportError as error:
        raise ImportError("plots need matplotlib: pip install 'topmix[plot]'") from error
    look: Look = {"figsize": figsize, "squeeze": False, **shared}
    return np.asarray(plt.subplots(n_rows, n_columns, layout="constrained", **look)[1])


def axes_of(ax: Axes | None, figsize: tuple[float, float] | None = None) -> Axes:
    """The axes that were given, or those of a new figure."""
    return grid(1, 1, figsize)[0, 0] if ax is None else ax


def intervals(ax: Axes, y: np.ndarray, values: Floats, **look: Any) -> None:
    """A dot for each value, with its interval from left to right. `values` are [3, n]: value, low and high."""
    value, low, high = values
    error = np.nan_to_num(np.maximum([value - low, high - value], 0.0))
    ax.errorbar(value, y, xerr=error, **{"fmt": "o", "markersize": 4, "linewidth": 1, "color": BLUE, **look})


def colour_of(i: int) -> str:
    return PALETTE[i % len(PALETTE)]


def series(i: int, label: str) -> Look:
    """The look of one of several lines."""
    marker = MARKERS[(i + i // len(PALETTE)) % len(MARKERS)]  # another one where colours begin again
    look = {"color": colour_of(i), "marker": marker, "markersize": 4}
    return {**look, "label": short(label)}


def legend(ax: Axes, *, is_own: bool) -> None:
    """Beside the axes where the figure is ours, so that it covers nothing and is not cut off; else inside the axes."""
    handles, labels = ax.get_legend_handles_labels()
    if not is_own:
        ax.legend(frameon=False, fontsize="small", ncols=1 + len(labels) // 21)
        return
    figure = ax.get_figure(root=True)
    assert figure is not None
    width, height = figure.get_size_inches()
    figure.set_size_inches(width + 0.6 + 0.075 * max(map(len, labels)), max(height, 0.4 + 0.2 * len(labels)))
    figure.legend(handles, labels, frameon=False, fontsize="small", loc="outside right upper")


def finish(ax: Axes, *, rows: Sequence[str] | None = None, **labels: object) -> Axes:
    """The look of all plots: labels, a name for each row from the top, and no lines above and at the right."""
    if rows is not None:
        ax.set_yticks(np.arange(len(rows)), rows)
        ax.invert_yaxis()
    ax.set(**labels)
    ax.spines[["top", "right"]].set_visible(False)
    return ax


def short(label: str, most: int = LONGEST) -> str:
    return label if len(label) <= most else f"{label[: most - 1]}…"


def prevalence(
    table: Frame, what: str, topics: Sequence[int] | None, n: int
) -> tuple[list[str], list[str], Floats]:  # fmt: skip
    """The groups of a table of pandas or polars, or of a dict; the names of the topics to draw; and [topics, 3, groups]
    shares with the ends of their intervals."""
    method = "topics_over_time(X, column)" if what == "period" else "topics_by(X, column)"
    column = table_columns(table, (what, "topic", "name", "share", "low", "high"), method)
    groups = list(dict.fromkeys(column[what].astype(str).tolist()))
    known = sorted(set(column["topic"].tolist()))
    values = np.stack([column[name].astype(float).reshape(len(groups), -1) for name in ("share", "low", "high")])
    rows = chosen_rows(topics, known, np.nan_to_num(values[0]).sum(axis=0), n)
    return groups, [f"{known[i]}  {column['name'][i]}" for i in rows], values.transpose(2, 0, 1)[rows]


def table_columns(table: Frame, names: Sequence[str], method: str) -> dict[str, NDArray[np.generic]]:
    """These columns of a table that a method of a model gives."""
    try:
        return {name: np.asarray(table[name]) for name in names}
    except Exception as error:  # each kind of table has its own
        raise ValueError(f"pass the table that model.{method} gives, with the columns {', '.join(names)}") from error


def chosen_rows(topics: Sequence[int] | None, known: list[int], score: Floats, n: int) -> NDArray[np.intp]:
    """Positions of the topics to draw: those that are asked for, or the n with the highest score."""
    if topics is None:
        return np.argsort(-score, kind="stable")[:n]
    if unknown := [k for k in topics if k not in known]:
        raise ValueError(f"{unknown[0]!r} is not a topic of the table")
    return np.array([known.index(k) for k in topics], np.intp)
