"""Plots of fitted models with matplotlib (`pip install 'topmix[plot]'`).

Each function draws on `ax`, or on a new figure if `ax` is None, and returns the axes.

    import topmix
    ax = topmix.plot.topic_map(model)
    ax.figure.savefig("map.png")
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from colorsys import hls_to_rgb
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator

from topmix.api.lda import LDA
from topmix.fitted.names import RELEVANCE, relevant_ids, relevant_words
from topmix.fitted.tree import tree_of
from topmix.metrics.topic_map import map_hues, map_radii
from topmix.views.model import is_topic_model, proportions, view_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.transforms import BboxBase

__all__ = [
    "convergence",
    "effects",
    "ellipses",
    "patch_covariances",
    "sparsity",
    "sweep",
    "top_words",
    "topic_map",
    "topic_sizes",
    "topic_tree",
    "topics_by",
    "topics_over_time",
    "words_by",
]

BLUE, GREY = "#4477aa", "#888888"
# Colours that differ in hue or lightness, also from their neighbours. Markers differ too, for prints in grey.
PALETTE = (
    "#1f77b4", "#d62728", "#2ca02c", "#ff7f0e", "#9467bd", "#8c564b", "#17becf", "#e377c2", "#7f7f7f", "#bcbd22",
    "#08306b", "#67000d", "#00441b", "#fdae6b", "#3f007d", "#d2b48c", "#7fcdbb", "#7a0177", "#252525", "#a1d99b",
)  # fmt: skip
MARKERS = "os^Dv"
MOST_LINES = 8  # in one plot
LONGEST = 44  # letters of a label
Floats = NDArray[np.float64]
Frame = Mapping[str, ArrayLike]  # or a DataFrame


def convergence(
    *models: BaseEstimator, ax: Axes | None = None, against: str = "seconds", labels: Sequence[str] | None = None
) -> Axes:
    """The objective after each pass of one or several models, against "seconds" or "pass"."""
    if against not in ("seconds", "pass"):
        raise ValueError(f"against={against!r}: pass 'seconds' or 'pass'")
    is_own, ax = ax is None, _axes(ax)
    for n, model in enumerate(models):
        history = model.history_
        x = [record.seconds if against == "seconds" else record.n_pass for record in history]
        label = labels[n] if labels else type(model).__name__
        ax.plot(x, [record.objective for record in history], marker=".", color=_colour(n), label=label)
    ax.set_xlabel("seconds" if against == "seconds" else "passes")
    ax.set_ylabel("objective")
    if len(models) > 1:
        _legend(ax, is_own=is_own)
    return _tidy(ax)


def topic_sizes(model: BaseEstimator, ax: Axes | None = None) -> Axes:
    """The share of each topic or cluster, largest first. The dashed line is the share if all were equal."""
    ax = _axes(ax)
    share = np.sort(view_of(model).share if is_topic_model(model) else np.asarray(model.weights_))[::-1]
    ax.bar(np.arange(1, len(share) + 1), share, width=1.0 if len(share) > 60 else 0.8, color=BLUE)
    ax.axhline(1 / len(share), color=GREY, linewidth=1, linestyle="--")
    ax.locator_params(axis="x", integer=True)
    ax.set_xlabel("topics, by size")
    ax.set_ylabel("share")
    return _tidy(ax)


def top_words(
    model: BaseEstimator, topic: int, ax: Axes | None = None, *, n: int = 15, relevance: float = RELEVANCE
) -> Axes:
    """Probabilities of the best words of a topic. The light part of a bar is the probability in the whole corpus."""
    ax = _axes(ax)
    view = view_of(model)
    if not 0 <= topic < view.n_topics:
        raise ValueError(f"topic={topic}: pass a number from 0 to {view.n_topics - 1}")
    best = np.array(relevant_ids(view, n, relevance)[topic] or view.top(n)[topic], np.intp)
    y = np.arange(len(best))
    ax.barh(y, view.topic_word[topic, best], color=BLUE, height=0.75)
    ax.barh(y, view.frequency[best], color="white", alpha=0.55, height=0.75)
    ax.set_yticks(y, view.words_of(best))
    ax.invert_yaxis()
    ax.set_xlabel("probability")
    ax.set_title(f"topic {topic}, {view.share[topic]:.1%}", fontsize="medium")
    return _tidy(ax)


def topic_map(model: BaseEstimator, ax: Axes | None = None, *, n_labels: int = 30) -> Axes:
    """Topics as circles in the plane: near each other if they use the same words, with areas by their share.

    Positions and colours are those of the report and of the explorer. The largest n_labels topics show their number and
    two most relevant words, where no larger one has its label.
    """
    from matplotlib.collections import EllipseCollection

    ax = _axes(ax)
    view = view_of(model)
    X, radius = view.places, map_radii(view.share)
    colours = [hls_to_rgb(hue / 360, 0.56, 0.48) for hue in map_hues(X).tolist()]
    size = 2 * radius
    ax.add_collection(
        EllipseCollection(
            size, size, np.zeros(len(X)), units="xy", offsets=X, offset_transform=ax.transData,
            facecolors=colours, alpha=0.72, linewidths=0,
        )
    )  # fmt: skip
    ax.set_aspect("equal")
    for axis, (low, high) in zip("xy", np.stack([(X - radius[:, None]).min(0), (X + radius[:, None]).max(0)], axis=1)):
        ax.set(**{f"{axis}lim": (low - 0.04 * (high - low), high + 0.04 * (high - low))})
    # Readable on any circle, light or dark.
    behind = {"facecolor": ax.get_facecolor(), "alpha": 0.6, "pad": 0.6, "linewidth": 0}
    ax.apply_aspect()  # now, because texts are measured on the figure as it will be
    words = relevant_words(view, 2)
    taken: list[BboxBase] = []
    for k in view.by_size()[:n_labels].tolist():
        label = ax.annotate(
            f"{k} {' '.join(words[k])}", X[k], ha="center", va="center", fontsize="x-small", bbox=behind
        )  # fmt: skip
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
    ax = grid(1, 1, figsize=(7.5, 0.8 + 0.21 * len(tree.leaves)))[0, 0] if ax is None else ax
    labels = [_short(f"{k}  {names[k]}") for k in tree.leaves]
    dendrogram(
        tree.linkage, orientation="left", labels=labels, ax=ax, color_threshold=0, above_threshold_color=BLUE
    )  # fmt: skip
    ax.invert_yaxis()  # the first topic of the order is at the top
    ax.tick_params(axis="y", labelsize="small")
    ax.set_xlabel("Hellinger distance")
    ax.spines["left"].set_visible(False)
    return _tidy(ax)


def topics_over_time(table: Frame, ax: Axes | None = None, *, topics: Sequence[int] | None = None, n: int = 6) -> Axes:
    """Shares of topics in each period, with their intervals, from the table that `topics_over_time` of a model gives.

    `topics` are those to draw; None draws the n topics with the largest shares. More than eight have a small plot each,
    unless `ax` is given; the first of them is returned.
    """
    drawn = _prevalence(table, "period", topics, n)
    days = np.asarray(drawn.groups).astype("datetime64[D]")
    top = 1.05 * max(float(np.nanmax(high)) for _, _, _, high in drawn.rows)
    is_many = ax is None and len(drawn.rows) > MOST_LINES
    panels = _panels(len(drawn.rows), 1.5) if is_many else [_axes(ax)] * len(drawn.rows)
    for i, (panel, (name, share, low, high)) in enumerate(zip(panels, drawn.rows)):
        colour = BLUE if is_many else _colour(i)
        panel.plot(days, share, marker="." if is_many else _marker(i), markersize=4, color=colour, label=_short(name))
        panel.fill_between(days, low, high, color=colour, alpha=0.15, linewidth=0)
        panel.set_ylim(0.0, top)
        panel.tick_params(axis="x", rotation=30)
        if is_many:
            panel.set_title(_short(name), fontsize="x-small")
            panel.tick_params(labelsize="x-small")
    panels[0].set_ylabel("share")
    if not is_many:
        _legend(panels[0], is_own=ax is None)
    for panel in panels:
        _tidy(panel)
    return panels[0]


def topics_by(table: Frame, ax: Axes | None = None, *, topics: Sequence[int] | None = None, n: int = 10) -> Axes:
    """Shares of topics in each group, with their intervals, from the table that `topics_by` of a model gives.

    `topics` are those to draw; None draws the n topics with the largest shares. Each topic is a line with one dot per
    group. Where there are more than 20 groups, each topic has a small plot with a line per group instead, unless `ax`
    is given; the first of them is returned.
    """
    drawn = _prevalence(table, "group", topics, n)
    G, T = len(drawn.groups), len(drawn.rows)
    if ax is None and len(drawn.groups) > len(PALETTE):
        return _topics_in_groups(drawn)
    is_own = ax is None
    ax = grid(1, 1, figsize=(6.4, 1.2 + T * max(0.4, 0.09 * G)))[0, 0] if ax is None else ax
    y = np.arange(T)
    for g, group in enumerate(drawn.groups):
        share, low, high = (np.array([row[i][g] for row in drawn.rows]) for i in (1, 2, 3))
        error = np.nan_to_num(np.maximum([share - low, high - share], 0.0))
        at = y + 0.7 * ((g + 0.5) / G - 0.5)  # groups beside each other
        style: dict[str, Any] = {"fmt": _marker(g), "color": _colour(g), "markersize": 4, "linewidth": 1}
        ax.errorbar(share, at, xerr=error, label=_short(str(group)), **style)
    ax.set_yticks(y, [_short(row[0]) for row in drawn.rows])
    ax.invert_yaxis()
    ax.set_xlim(left=0.0)
    ax.set_xlabel("share")
    _legend(ax, is_own=is_own)
    return _tidy(ax)


def _topics_in_groups(drawn: _Prevalence) -> Axes:
    """A small plot per topic, with a line per group."""
    G = len(drawn.groups)
    panels, y = _panels(len(drawn.rows), 0.6 + 0.13 * G, sharey=True), np.arange(G)
    right = 1.05 * max(float(np.nanmax(high)) for _, _, _, high in drawn.rows)
    for panel, (name, share, low, high) in zip(panels, drawn.rows):
        error = np.nan_to_num(np.maximum([share - low, high - share], 0.0))
        panel.errorbar(share, y, xerr=error, fmt="o", color=BLUE, markersize=3, linewidth=1)
        panel.set_title(_short(name, 22), fontsize="x-small")
        panel.set_yticks(y, [_short(str(group), 24) for group in drawn.groups])
        panel.set_xlim(0.0, right)
        panel.tick_params(labelsize="x-small")
        _tidy(panel)
    panels[0].invert_yaxis()  # of all, which share it
    panels[0].set_ylim(G - 0.4, -0.6)
    panels[0].figure.supxlabel("share", fontsize="small")
    return panels[0]


def effects(
    table: Frame, term: str | None = None, ax: Axes | None = None, *, topics: Sequence[int] | None = None, n: int = 20
) -> Axes:
    """Effects of one term on topics, with their intervals, from the table that `effects` of a model gives.

    `term` is a value of its column `term`; None is the first after the intercept. `topics` are those to draw; None
    draws the n topics that depend on it most, by their distance from zero in standard errors.
    """
    wanted = ("topic", "name", "term", "estimate", "low", "high")
    if isinstance(table, BaseEstimator) or not set(wanted) <= set(getattr(table, "columns", table)):
        raise ValueError(f"pass the table that model.effects() gives, with the columns {', '.join(wanted)}")
    column = {name: np.asarray(table[name]) for name in wanted}
    terms = list(dict.fromkeys(column["term"].tolist()))
    term = terms[min(1, len(terms) - 1)] if term is None else term
    if term not in terms:
        raise ValueError(f"{term!r} is not a term of the table; it has {', '.join(map(repr, terms))}")
    of_term = {name: values[column["term"] == term] for name, values in column.items()}
    estimate, low, high = (of_term[name].astype(float) for name in ("estimate", "low", "high"))
    known = of_term["topic"].tolist()
    if topics is None:
        sure = np.abs(estimate) / np.where(high > low, high - low, 1.0)
        topics = [known[i] for i in np.argsort(-sure, kind="stable")[:n]]
    if unknown := [k for k in topics if k not in known]:
        raise ValueError(f"{unknown[0]!r} is not a topic of the table")
    places = np.array([known.index(k) for k in topics])
    places = places[np.argsort(-estimate[places], kind="stable")]
    ax = grid(1, 1, figsize=(6.4, 1.2 + 0.28 * len(places)))[0, 0] if ax is None else ax
    error = np.nan_to_num(np.maximum([estimate - low, high - estimate], 0.0))[:, places]
    ax.errorbar(estimate[places], np.arange(len(places)), xerr=error, fmt="o", markersize=4, linewidth=1, color=BLUE)
    ax.axvline(0.0, color=GREY, linewidth=1, linestyle="--")
    ax.set_yticks(np.arange(len(places)), [f"{known[i]}  {of_term['name'][i]}" for i in places])
    ax.invert_yaxis()
    ax.set_xlabel(f"effect of {term}")
    return _tidy(ax)


def words_by(
    model: LDA, topic: int, ax: Axes | None = None, *, words: Sequence[str] | None = None, n: int = MOST_LINES
) -> Axes:
    """How probable words of a topic are in each of its versions, of a model with `OverTime` or `ByGroup`.

    `words` are those to draw; None draws the n words that differ most between versions.
    """
    found, names = model.changed_words(topic, n_words=n), model.versions_
    chosen = list(np.asarray(found["word"])) if words is None else list(words)
    place = {word: v for v, word in enumerate(view_of(model).words)}
    if unknown := [word for word in chosen if word not in place]:
        raise ValueError(f"the model has no word {unknown[0]!r}")
    weight = np.array([model.topic_word_of(name)[topic] for name in names])
    is_own, ax = ax is None, _axes(ax)
    for i, word in enumerate(chosen):
        ax.plot(names, weight[:, place[word]], color=_colour(i), marker=_marker(i), markersize=4, label=_short(word))
    ax.set_ylabel("share of the topic")
    ax.set_ylim(bottom=0.0)
    ax.set_title(_short(model.topic_names_[topic]))
    if len(names) > 4:
        ax.tick_params(axis="x", labelrotation=60)
    _legend(ax, is_own=is_own)
    return _tidy(ax)


class _Prevalence(NamedTuple):
    groups: list[object]
    rows: list[tuple[str, Floats, Floats, Floats]]  # per topic: name, and share, low, high by group


def _prevalence(table: Frame, what: str, topics: Sequence[int] | None, n: int) -> _Prevalence:
    """The columns of a table of pandas or polars, or of a dict, by topic."""
    wanted = (what, "topic", "name", "share", "low", "high")
    if isinstance(table, BaseEstimator) or not set(wanted) <= set(getattr(table, "columns", table)):
        method = "topics_over_time" if what == "period" else "topics_by"
        raise ValueError(f"pass the table that model.{method}(X, column) gives, with the columns {', '.join(wanted)}")
    column = {name: np.asarray(table[name]) for name in wanted}
    groups = list(dict.fromkeys(column[what].tolist()))
    known = sorted(set(column["topic"].tolist()))
    values = {name: column[name].astype(float).reshape(len(groups), len(known)) for name in ("share", "low", "high")}
    if topics is None:
        topics = [known[i] for i in np.argsort(-np.nan_to_num(values["share"]).sum(axis=0), kind="stable")[:n]]
    if unknown := [k for k in topics if k not in known]:
        raise ValueError(f"{unknown[0]!r} is not a topic of the table")
    places = [known.index(k) for k in topics]
    rows = [
        (f"{known[i]}  {column['name'][i]}", values["share"][:, i], values["low"][:, i], values["high"][:, i])
        for i in places
    ]
    if what == "period":
        groups = list(np.unique(column[what].astype("datetime64[D]")))
    return _Prevalence(groups, rows)


def sparsity(model: BaseEstimator, X: object, ax: Axes | None = None, *, most: int = 32) -> Axes:
    """The share of the posterior that the largest topics of a document hold: the mean and the middle 80% of documents.

    Where the curve reaches 1, a larger `n_active` changes nothing. X are documents or rows; `most` is the largest
    number of topics on the x axis.
    """
    ax = _axes(ax)
    theta = -np.sort(-proportions(model, X), axis=1)[:, :most]
    held = np.cumsum(theta, axis=1)
    L = np.arange(1, held.shape[1] + 1)
    low, high = np.quantile(held, [0.1, 0.9], axis=0)
    ax.fill_between(L, low, high, color=BLUE, alpha=0.2, linewidth=0)
    ax.plot(L, held.mean(axis=0), color=BLUE, marker=".")
    n_active = model.get_params().get("n_active")
    if n_active is not None and n_active <= held.shape[1]:
        ax.axvline(n_active, color=GREY, linewidth=1, linestyle="--", label=f"n_active = {n_active}")
        ax.legend(frameon=False, loc="lower right")
    ax.set_xlabel("largest topics")
    ax.set_ylabel("share that they hold")
    ax.set_ylim(0, 1.02)
    return _tidy(ax)


def ellipses(
    model: BaseEstimator,
    X: ArrayLike | None = None,
    ax: Axes | None = None,
    *,
    features: tuple[int, int] = (0, 1),
    n_std: float = 2.0,
) -> Axes:
    """The clusters of a Gaussian mixture in two of its features, as ellipses at n_std standard deviations.

    Clusters with more weight have thicker lines. The rows X, if given, are drawn as points below the ellipses.
    """
    from matplotlib.patches import Ellipse

    ax = _axes(ax)
    means, covariances = np.asarray(model.means_)[:, features], _covariances(model)[:, features][:, :, features]
    if X is not None:
        rows = np.asarray(X)
        ax.scatter(rows[:, features[0]], rows[:, features[1]], s=3, color=GREY, alpha=0.4, linewidths=0)
    weights = np.asarray(model.weights_) / np.max(model.weights_)
    for k, (mean, covariance) in enumerate(zip(means, covariances)):
        values, vectors = np.linalg.eigh(covariance)
        width, height = 2 * n_std * np.sqrt(np.maximum(values[::-1], 0))
        angle = np.degrees(np.arctan2(vectors[1, 1], vectors[0, 1]))
        colour = _colour(k)
        ax.add_patch(
            Ellipse(mean, width, height, angle=angle, fill=False, edgecolor=colour, linewidth=0.6 + 1.6 * weights[k])
        )
        ax.plot(*mean, marker="+", color=colour)
    ax.autoscale_view()
    names = getattr(model, "feature_names_in_", None)
    x, y = (f"feature {v}" if names is None else str(names[v]) for v in features)
    ax.set_xlabel(x)
    ax.set_ylabel(y)
    return _tidy(ax)


def patch_covariances(
    model: BaseEstimator,
    ax: Axes | None = None,
    *,
    shape: tuple[int, int] | None = None,
    n_clusters: int = 12,
    n_directions: int = 8,
) -> Axes:
    """Clusters of image patches: one row per cluster, heaviest first, with the directions of its largest variance.

    `shape` is the shape of a patch; None means square. Each direction is an eigenvector of the covariance, drawn as an
    image that is scaled from its smallest to its largest value.
    """
    ax = _axes(ax)
    covariances = _covariances(model)
    D = covariances.shape[1]
    if shape is None:
        shape = (int(np.sqrt(D)),) * 2
    if shape[0] * shape[1] != D:
        raise ValueError(
            f"shape={shape}: such patches have {shape[0] * shape[1]} pixels, but the model has {D} features"
        )
    heaviest = np.argsort(-np.asarray(model.weights_), kind="stable")[:n_clusters]
    n_directions = min(n_directions, D)
    high, wide = shape[0] + 1, shape[1] + 1
    grid = np.full((len(heaviest) * high + 1, n_directions * wide + 1), np.nan)
    for row, k in enumerate(heaviest.tolist()):
        vectors = np.linalg.eigh(covariances[k])[1][:, ::-1]
        for column in range(n_directions):
            patch = vectors[:, column] * np.sign(vectors[np.argmax(np.abs(vectors[:, column])), column])
            patch = (patch - patch.min()) / max(np.ptp(patch), 1e-12)
            y, x = row * high + 1, column * wide + 1
            grid[y : y + shape[0], x : x + shape[1]] = patch.reshape(shape)
    ax.imshow(grid, cmap="gray", interpolation="nearest")
    ax.set_yticks([row * high + high / 2 for row in range(len(heaviest))], [str(k) for k in heaviest])
    ax.set_xticks([])
    ax.set_ylabel("cluster")
    ax.set_xlabel("directions of most variance")
    for side in ax.spines.values():
        side.set_visible(False)
    ax.tick_params(length=0)
    return ax


def sweep(result: Any, measure: str = "score", ax: Axes | None = None) -> Axes:
    """A measure of a `SweepResult` against the number of topics: means over seeds, with their standard deviations.

    Grey dots are single fits. The upright line is the recommended size, and the dashed line how low a score is as good
    as the best.
    """
    measures = ("score", "coherence", "diversity", "stability", "seconds")
    if measure not in measures:
        raise ValueError(f"measure={measure!r} is not one of {', '.join(map(repr, measures))}")
    ax = _axes(ax)
    K = [size.n_components for size in result.sizes]
    mean = np.array([size.mean(measure) for size in result.sizes])
    spread = np.nan_to_num([size.spread(measure) for size in result.sizes])
    each = [(fit.n_components, fit.value(measure)) for fit in result.fits]
    ax.plot(*zip(*each), ".", color=GREY, markersize=5, alpha=0.7, zorder=3)
    ax.errorbar(K, mean, yerr=spread, color=BLUE, marker="o", markersize=5, linewidth=1.5)
    if measure == "score" and np.isfinite(mean).any():
        ax.axhline(np.nanmax(mean[np.isfinite(mean)]) - result.allowed, color=GREY, linewidth=1, linestyle="--")
    if result.recommended is not None:
        ax.axvline(result.recommended, color=BLUE, linewidth=1, alpha=0.5)
    ax.set_xscale("log")
    ax.set_xticks(K, [str(k) for k in K])
    ax.minorticks_off()
    ax.set_xlabel("topics")
    ax.set_ylabel({"score": "score, nats per token", "coherence": "coherence, NPMI"}.get(measure, measure))
    return _tidy(ax)


def _covariances(model: BaseEstimator) -> np.ndarray:
    """[K, D, D] covariances for all covariance types."""
    C = np.asarray(model.covariances_)
    K, D = np.asarray(model.means_).shape
    kind = model.covariance_type
    if kind == "tied":
        return np.broadcast_to(C, (K, D, D))
    if kind == "diag":
        return C[:, :, None] * np.eye(D)
    if kind == "spherical":
        return C[:, None, None] * np.eye(D)
    return C


def _axes(ax: Axes | None) -> Axes:
    return ax if ax is not None else grid(1, 1)[0, 0]


def grid(
    n_rows: int,
    n_columns: int,
    figsize: tuple[float, float] | None = None,
    *,
    sharex: bool = False,
    sharey: bool = False,
) -> np.ndarray:
    """[rows, columns] axes of a new figure."""
    try:
        import matplotlib.pyplot as plt
    except ImportError as error:
        raise ImportError("plots need matplotlib: pip install 'topmix[plot]'") from error
    shape: dict[str, Any] = {"squeeze": False, "figsize": figsize, "sharex": sharex, "sharey": sharey}
    return plt.subplots(n_rows, n_columns, layout="constrained", **shape)[1]


def _panels(n: int, height: float, *, sharey: bool = False) -> list[Axes]:
    """n small axes of a new figure, at most five in a row, each `height` inches high."""
    columns = min(n, 5 if n > 12 else 4)
    rows = -(-n // columns)
    cells = grid(rows, columns, figsize=(2.1 * columns + 1.2, height * rows), sharex=True, sharey=sharey).ravel()
    for cell in cells[n:]:
        cell.set_axis_off()
    return list(cells[:n])


def _legend(ax: Axes, *, is_own: bool) -> None:
    """Beside the axes where the figure is ours, so that it covers nothing and is not cut off; else inside the axes."""
    from matplotlib.figure import Figure

    labels = ax.get_legend_handles_labels()[1]
    if not is_own:
        ax.legend(frameon=False, fontsize="small", ncols=1 + len(labels) // 21)
        return
    assert isinstance(ax.figure, Figure)
    width, height = ax.figure.get_size_inches()
    ax.figure.set_size_inches(width + 0.6 + 0.075 * max(map(len, labels)), max(height, 0.4 + 0.2 * len(labels)))
    ax.figure.legend(*ax.get_legend_handles_labels(), frameon=False, fontsize="small", loc="outside right upper")


def _colour(i: int) -> str:
    return PALETTE[i % len(PALETTE)]


def _marker(i: int) -> str:
    return MARKERS[i % len(MARKERS)]


def _short(label: str, most: int = LONGEST) -> str:
    return label if len(label) <= most else f"{label[: most - 1]}…"


def _tidy(ax: Axes) -> Axes:
    for side in ("top", "right"):
        ax.spines[side].set_visible(False)
    return ax
