"""Plots of fitted models with matplotlib (`pip install 'topmix[plot]'`).

Each function draws on `ax`, or on a new figure if `ax` is None, and returns the axes.

    import topmix
    ax = topmix.plot.topic_map(model)
    ax.figure.savefig("map.png")
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from colorsys import hls_to_rgb
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator

from topmix.base.checks import needed, one_of
from topmix.estimators.lda import LDA
from topmix.results.names import RELEVANCE, relevant_ids, relevant_words
from topmix.results.tables import tree_of
from topmix.results.topic_map import map_hues, map_radii
from topmix.selection.result import SweepResult
from topmix.selection.views import view_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.transforms import BboxBase

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
MOST_LINES = 8  # in one plot
SWEEP_LABELS = {
    "score": "score, nats per token", "coherence": "coherence, NPMI", "stability": "stability",
    "diversity": "diversity", "seconds": "seconds",
}  # fmt: skip


def top_words(
    model: BaseEstimator, topic: int, ax: Axes | None = None, *, n: int = 15, relevance: float = RELEVANCE
) -> Axes:
    """Probabilities of the best words of a topic. The light part of a bar is the probability in the whole corpus."""
    ax, view = axes_of(ax), view_of(model)
    if not 0 <= topic < view.n_topics:
        raise ValueError(f"topic={topic}: pass a number from 0 to {view.n_topics - 1}")
    best = np.array(relevant_ids(view, n, relevance)[topic] or view.top(n)[topic], np.intp)
    y = np.arange(len(best))
    ax.barh(y, view.topic_word[topic, best], color=BLUE, height=0.75)
    ax.barh(y, view.frequency[best], color="white", alpha=0.55, height=0.75)
    ax.set_title(f"topic {topic}, {view.share[topic]:.1%}", fontsize="medium")
    return finish(ax, rows=view.words_of(best), xlabel="probability")


def topic_map(model: BaseEstimator, ax: Axes | None = None, *, n_labels: int = 30) -> Axes:
    """Topics as circles in the plane: near each other if they use the same words, with areas by their share.

    Positions and colours are those of the report and of the explorer. The largest n_labels topics show their number and
    two most relevant words, where no larger one has its label.
    """
    ax, view = axes_of(ax), view_of(model)
    from matplotlib.collections import EllipseCollection

    X, radius = view.places, map_radii(view.share)
    colours = [hls_to_rgb(hue / 360, 0.56, 0.48) for hue in map_hues(X).tolist()]
    where: Look = {"units": "xy", "offsets": X, "offset_transform": ax.transData}
    circles = EllipseCollection(2 * radius, 2 * radius, np.zeros(len(X)), **where)
    circles.set(facecolors=colours, alpha=0.72, linewidths=0)
    ax.add_collection(circles)
    low, high = (X - radius[:, None]).min(axis=0), (X + radius[:, None]).max(axis=0)
    (left, bottom), (right, top) = low - 0.04 * (high - low), high + 0.04 * (high - low)
    ax.set(aspect="equal", xlim=(left, right), ylim=(bottom, top))
    ax.apply_aspect()  # now, because texts are measured on the figure as it will be
    # Readable on any circle, light or dark.
    behind: Look = {"facecolor": ax.get_facecolor(), "alpha": 0.6, "pad": 0.6, "linewidth": 0}
    text: Look = {"ha": "center", "va": "center", "fontsize": "x-small", "bbox": behind}
    words = relevant_words(view, 2)
    taken: list[BboxBase] = []
    for k in view.by_size()[:n_labels].tolist():
        label = ax.annotate(plain(f"{k} {' '.join(words[k])}"), X[k], **text)
        place = label.get_window_extent()
        if any(place.overlaps(other) for other in taken):  # a larger topic has its label there
            label.remove()
        else:
            taken.append(place)
    ax.set_axis_off()
    return ax


def topic_tree(model: BaseEstimator, ax: Axes | None = None) -> Axes:
    """The hierarchy of the topics, as `topic_tree` of the model has it: where two branches meet is their distance.

    Each line at the right is a topic with its number and name. Empty topics are left out.
    """
    from scipy.cluster.hierarchy import dendrogram

    tree, names = tree_of(view_of(model)), model.topic_names_
    if len(tree.leaves) < 2:
        raise ValueError(f"a tree needs two topics that are not empty, and the model has {len(tree.leaves)}")
    ax = axes_of(ax, (7.5, 0.8 + 0.21 * len(tree.leaves)))
    labels = [plain(short(f"{k}  {names[k]}")) for k in tree.leaves]
    look: Look = {"orientation": "left", "color_threshold": 0, "above_threshold_color": BLUE}
    dendrogram(tree.linkage, labels=labels, ax=ax, **look)
    ax.invert_yaxis()  # the first topic of the order is at the top
    ax.tick_params(axis="y", labelsize="small")
    ax.spines["left"].set_visible(False)
    return finish(ax, xlabel="Hellinger distance")


def topics_over_time(table: Frame, ax: Axes | None = None, *, topics: Sequence[int] | None = None, n: int = 6) -> Axes:
    """Shares of topics in each period, with their intervals, from the table that `topics_over_time` of a model gives.

    `topics` are those to draw; None draws the n topics with the largest shares.
    """
    periods, names, values = prevalence(table, "period", topics, n)
    days = np.unique(np.asarray(periods).astype("datetime64[D]"))
    is_own, ax = ax is None, axes_of(ax)
    for i, (name, (share, low, high)) in enumerate(zip(names, values)):
        look = series(i, name)
        ax.plot(days, share, **look)
        ax.fill_between(days, low, high, color=look["color"], alpha=0.15, linewidth=0)
    ax.tick_params(axis="x", rotation=30)
    legend(ax, is_own=is_own)
    return finish(ax, ylim=(0.0, 1.05 * np.nanmax(values[:, 2])), ylabel="share")


def topics_by(table: Frame, ax: Axes | None = None, *, topics: Sequence[int] | None = None, n: int = 10) -> Axes:
    """Shares of topics in each group, with their intervals, from the table that `topics_by` of a model gives.

    `topics` are those to draw; None draws the n topics with the largest shares. Each topic is a line with one dot per
    group.
    """
    groups, names, values = prevalence(table, "group", topics, n)
    G, T = len(groups), len(names)
    is_own, ax = ax is None, axes_of(ax, (6.4, 1.2 + T * max(0.4, 0.09 * G)))
    for g, group in enumerate(groups):
        look = series(g, group)
        y = np.arange(T) + 0.7 * ((g + 0.5) / G - 0.5)  # groups beside each other
        intervals(ax, y, values[:, :, g].T, fmt=look.pop("marker"), **look)
    legend(ax, is_own=is_own)
    return finish(ax, rows=[short(name) for name in names], xlim=(0.0, None), xlabel="share")


def effects(
    table: Frame, term: str | None = None, ax: Axes | None = None, *, topics: Sequence[int] | None = None, n: int = 20
) -> Axes:
    """Effects of one term on topics, with their intervals, from the table that `effects` of a model gives.

    `term` is a value of its column `term`; None is the first after the intercept. `topics` are those to draw; None
    draws the n topics that depend on it most, by their distance from zero in standard errors.
    """
    column = table_columns(table, ("topic", "name", "term", "estimate", "low", "high"), "effects()")
    terms = list(dict.fromkeys(column["term"].tolist()))
    term = terms[min(1, len(terms) - 1)] if term is None else term
    if term not in terms:
        raise ValueError(f"{term!r} is not a term of the table; it has {', '.join(map(repr, terms))}")
    of_term = {name: values[column["term"] == term] for name, values in column.items()}
    values = np.stack([of_term[name].astype(float) for name in ("estimate", "low", "high")])
    known, (estimate, low, high) = of_term["topic"].tolist(), values
    rows = chosen_rows(topics, known, np.abs(estimate) / np.where(high > low, high - low, 1.0), n)
    rows = rows[np.argsort(-estimate[rows], kind="stable")]
    ax = axes_of(ax, (6.4, 1.2 + 0.28 * len(rows)))
    intervals(ax, np.arange(len(rows)), values[:, rows])
    ax.axvline(0.0, **DASHED)
    return finish(ax, rows=[f"{known[i]}  {of_term['name'][i]}" for i in rows], xlabel=f"effect of {term}")


def words_by(
    model: LDA, topic: int, ax: Axes | None = None, *, words: Sequence[str] | None = None, n: int = MOST_LINES
) -> Axes:
    """How probable words of a topic are in each of its versions, of a model with `OverTime` or `ByGroup`.

    `words` are those to draw; None draws the n words that differ most between versions.
    """
    names = model.versions_
    chosen = list(np.asarray(model.changed_words(topic, n_words=n)["word"])) if words is None else list(words)
    place = {word: v for v, word in enumerate(view_of(model).words)}
    if unknown := [word for word in chosen if word not in place]:
        raise ValueError(f"the model has no word {unknown[0]!r}")
    weight = np.array([model.topic_word_of(name)[topic] for name in names])
    is_own, ax = ax is None, axes_of(ax)
    for i, word in enumerate(chosen):
        ax.plot([*map(plain, names)], weight[:, place[word]], **series(i, word))
    if len(names) > 4:
        ax.tick_params(axis="x", labelrotation=60)
    legend(ax, is_own=is_own)
    return finish(ax, ylabel="share of the topic", ylim=(0.0, None), title=short(model.topic_names_[topic]))


def ellipses(
    model: BaseEstimator, X: ArrayLike | None = None, ax: Axes | None = None, *, features: tuple[int, int] = (0, 1),
    n_std: float = 2.0,
) -> Axes:  # fmt: skip
    """The clusters of a Gaussian mixture in two of its features, as ellipses at n_std standard deviations.

    Clusters with more weight have thicker lines. The rows X, if given, are drawn as points below the ellipses.
    """
    ax = axes_of(ax)
    from matplotlib.patches import Ellipse

    means, C = np.asarray(model.means_), np.asarray(model.covariances_)
    K, D = means.shape
    if model.covariance_type == "tied":
        C = np.broadcast_to(C, (K, D, D))
    elif model.covariance_type != "full":  # [K, D] or [K]
        C = C.reshape(K, -1, 1) * np.eye(D)
    if X is not None:
        rows = np.asarray(X)
        ax.scatter(rows[:, features[0]], rows[:, features[1]], s=3, color=GREY, alpha=0.4, linewidths=0)
    weights = np.asarray(model.weights_) / np.max(model.weights_)
    for k, (mean, covariance) in enumerate(zip(means[:, features], C[:, features][:, :, features])):
        values, vectors = np.linalg.eigh(covariance)
        width, height = 2 * n_std * np.sqrt(np.maximum(values[::-1], 0))
        colour, angle = PALETTE[k % len(PALETTE)], np.degrees(np.arctan2(vectors[1, 1], vectors[0, 1]))
        look: Look = {"fill": False, "edgecolor": colour, "linewidth": 0.6 + 1.6 * weights[k]}
        ax.add_patch(Ellipse(mean, width, height, angle=angle, **look))
        ax.plot(*mean, marker="+", color=colour)
    ax.autoscale_view()
    names = getattr(model, "feature_names_in_", None)
    x, y = (f"feature {v}" if names is None else str(names[v]) for v in features)
    return finish(ax, xlabel=x, ylabel=y)


def sweep(result: SweepResult, measure: str | None = None, ax: Axes | None = None) -> Axes:
    """A measure of a `SweepResult` against the number of topics: means over seeds, with their standard deviations.
    None draws score, coherence, stability and diversity in one figure, or the score on `ax`.

    Grey dots are single fits. The upright line is the recommended size, and the dashed line how low a score is as good
    as the best.
    """
    if measure is None and ax is None:
        axes = grid(2, 2, figsize=(8.5, 6)).ravel()
        for each, name in zip(axes, SWEEP_LABELS):
            sweep(result, name, ax=each)
        return axes[0]
    measure = one_of(measure or "score", SWEEP_LABELS, "measure")
    ax = axes_of(ax)
    K = [size.n_components for size in result.sizes]
    mean = np.array([size.mean(measure) for size in result.sizes])
    spread = np.nan_to_num([size.spread(measure) for size in result.sizes])
    fits = [(fit.n_components, fit.value(measure)) for fit in result.fits]
    ax.plot(*zip(*fits), ".", color=GREY, markersize=5, alpha=0.7, zorder=3)
    ax.errorbar(K, mean, yerr=spread, color=BLUE, marker="o", markersize=5, linewidth=1.5)
    if measure == "score" and np.isfinite(mean).any():
        ax.axhline(np.nanmax(mean[np.isfinite(mean)]) - result.allowed, **DASHED)
    if result.recommended is not None:
        ax.axvline(result.recommended, color=BLUE, linewidth=1, alpha=0.5)
    ax.set_xscale("log")
    ax.set_xticks(K, [str(k) for k in K])
    ax.minorticks_off()
    return finish(ax, xlabel="topics", ylabel=SWEEP_LABELS[measure])


# What plots share: figures, colours, intervals, legends, the look of axes, and the tables that they are drawn from.


def grid(n_rows: int, n_columns: int, figsize: tuple[float, float] | None = None) -> np.ndarray:
    """[rows, columns] axes of a new figure."""
    with needed("a plot", "matplotlib", "plot"):
        import matplotlib.pyplot as plt
    return np.asarray(plt.subplots(n_rows, n_columns, layout="constrained", figsize=figsize, squeeze=False)[1])


def axes_of(ax: Axes | None, figsize: tuple[float, float] | None = None) -> Axes:
    """The axes that were given, or those of a new figure."""
    return grid(1, 1, figsize)[0, 0] if ax is None else ax


def intervals(ax: Axes, y: np.ndarray, values: Floats, **look: Any) -> None:
    """A dot for each value, with its interval from left to right. `values` are [3, n]: value, low and high."""
    value, low, high = values
    error = np.nan_to_num(np.maximum([value - low, high - value], 0.0))
    ax.errorbar(value, y, xerr=error, **{"fmt": "o", "markersize": 4, "linewidth": 1, "color": BLUE, **look})


def series(i: int, label: str) -> Look:
    """The look of one of several lines."""
    marker = MARKERS[(i + i // len(PALETTE)) % len(MARKERS)]  # another one where colours begin again
    return {"color": PALETTE[i % len(PALETTE)], "marker": marker, "markersize": 4, "label": plain(short(label))}


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
        ax.set_yticks(np.arange(len(rows)), [*map(plain, rows)])
        ax.invert_yaxis()
    ax.set(**{name: plain(label) if isinstance(label, str) else label for name, label in labels.items()})
    ax.spines[["top", "right"]].set_visible(False)
    return ax


def short(label: str) -> str:
    return label if len(label) <= LONGEST else f"{label[: LONGEST - 1]}…"


def plain(text: str) -> str:
    """For matplotlib, which takes what is between two dollars for mathematics."""
    return text.replace("$", r"\$")


def prevalence(table: Frame, what: str, topics: Sequence[int] | None, n: int) -> tuple[list[str], list[str], Floats]:
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
