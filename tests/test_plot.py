"""Plots draw the numbers of the model, on the given axes."""

from __future__ import annotations

from colorsys import rgb_to_hls

import matplotlib
import numpy as np
import pandas as pd
import pytest
import sklearn.mixture
from matplotlib import pyplot as plt

import topmix
from topmix import LDA, GaussianMixture, plot
from topmix.data import Corpus, sample_lda
from topmix.priors import ByGroup
from topmix.results.names import relevant_words
from topmix.selection.views import view_of

matplotlib.use("Agg")
EFFECTS = {  # as `effects` of a model gives them
    "topic": [0, 0, 1, 1, 2, 2],
    "name": ["a", "a", "b", "b", "c", "c"],
    "term": ["Intercept", "year"] * 3,
    "estimate": [-3.0, 0.5, -2.0, -1.0, -2.5, 0.0],
    "low": [-4.0, 0.3, -2.5, -1.5, -3.0, -0.4],
    "high": [-2.0, 0.7, -1.5, -0.5, -2.0, 0.4],
}


@pytest.fixture(scope="module")
def corpus():
    sample = sample_lda(150, 60, 6, doc_length=60, random_state=1).corpus
    return Corpus.from_scipy(sample.to_scipy(), vocabulary=[f"word{v}" for v in range(60)])


@pytest.fixture(scope="module")
def model(corpus):
    return LDA(6, max_iter=8, n_active=4, tol=-np.inf, random_state=0).fit(corpus)


@pytest.fixture
def ax():
    figure, ax = plt.subplots()
    yield ax
    figure.canvas.draw()  # fails here if something cannot be drawn
    plt.close("all")


def test_every_plot_takes_an_ax_and_returns_it(model, corpus, ax):
    X = np.random.default_rng(0).normal(size=(200, 4))
    gaussian = GaussianMixture(3, random_state=0).fit(X)
    swept = topmix.sweep(corpus, [3, 6], seeds=2, estimator=LDA(max_iter=2), verbose=0)
    halves = ["a", "b"] * (len(corpus) // 2) + ["a"] * (len(corpus) % 2)
    days = [f"2024-{1 + d % 12:02}-01" for d in range(len(corpus))]
    by_half = LDA(3, topic_word_prior=ByGroup("half"), max_iter=2).fit(corpus, metadata={"half": halves})
    calls = {
        "top_words": lambda **more: plot.top_words(model, 2, **more),
        "topic_map": lambda **more: plot.topic_map(model, **more),
        "ellipses": lambda **more: plot.ellipses(gaussian, X, **more),
        "topic_tree": lambda **more: plot.topic_tree(model, **more),
        "sweep": lambda **more: plot.sweep(swept, **more),
        "topics_over_time": lambda **more: plot.topics_over_time(model.topics_over_time(corpus, days), **more),
        "topics_by": lambda **more: plot.topics_by(model.topics_by(corpus, halves), **more),
        "effects": lambda **more: plot.effects(EFFECTS, **more),
        "words_by": lambda **more: plot.words_by(by_half, 2, **more),
    }
    assert calls.keys() == set(topmix.plot.__all__)
    for draw in calls.values():
        ax = plt.figure().add_subplot()
        assert draw(ax=ax) is ax
        assert draw().figure is not ax.figure
        plt.close("all")


def test_top_words_are_those_of_the_model(model, ax):
    plot.top_words(model, 3, ax=ax, n=5)
    assert [label.get_text() for label in ax.get_yticklabels()] == model.top_words(5)[3]
    bars = [bar.get_width() for bar in ax.patches]
    words = list(model.feature_names_in_)
    ids = [words.index(word) for word in model.top_words(5)[3]]
    np.testing.assert_allclose(bars[:5], model.topic_word_[3, ids])
    np.testing.assert_allclose(bars[5:], view_of(model).frequency[ids])
    assert ax.get_title().startswith("topic 3, ")
    ax.clear()
    plot.top_words(model, 3, ax=ax, n=5, relevance=0.0)
    specific = [label.get_text() for label in ax.get_yticklabels()]
    lift = model.topic_word_[3] / view_of(model).frequency
    assert specific == [words[v] for v in np.argsort(-lift, kind="stable")[:5]]
    with pytest.raises(ValueError, match="from 0 to 5"):
        plot.top_words(model, 6, ax=ax)


def test_the_map_has_a_circle_per_topic_and_names_the_largest(model, ax):
    plot.topic_map(model, ax=ax, n_labels=4)
    view = view_of(model)
    circles = ax.collections[0]
    np.testing.assert_allclose(circles.get_offsets(), view.places)
    areas = circles.get_widths() ** 2
    np.testing.assert_allclose(areas / areas.sum(), view.share)
    hues = [rgb_to_hls(*colour[:3])[0] * 360 for colour in circles.get_facecolors()]
    np.testing.assert_allclose(hues, np.degrees(np.arctan2(view.places[:, 1], view.places[:, 0])) % 360, atol=1e-6)
    top = relevant_words(view, 2)
    wanted = [f"{k} {' '.join(top[k])}" for k in view.by_size()[:4]]
    shown = [text.get_text() for text in ax.texts]
    assert shown[0] == wanted[0]
    assert shown == [text for text in wanted if text in shown]  # the largest, except where labels would overlap


def test_labels_of_the_map_do_not_overlap(corpus, ax):
    model = LDA(40, max_iter=2, random_state=0).fit(corpus)
    plot.topic_map(model, ax=ax, n_labels=40)
    ax.figure.canvas.draw()
    boxes = [text.get_window_extent() for text in ax.texts]
    assert len(boxes) >= 3
    assert not [1 for i, one in enumerate(boxes) for other in boxes[:i] if one.overlaps(other)]


def test_every_plot_of_topics_carries_their_ids(model, corpus, ax):
    by = model.topics_by(corpus, ["a", "b"] * (len(corpus) // 2) + ["a"] * (len(corpus) % 2))
    shown = sorted(set(by["topic"]))[:3]
    plot.topics_by(by, ax=ax, topics=shown)
    assert [int(label.get_text().split()[0]) for label in ax.get_yticklabels()] == shown
    ax.clear()
    years = [2020 + n % 3 for n in range(len(corpus))]
    plot.topics_over_time(model.topics_over_time(corpus, years, freq="year"), ax=ax, topics=shown)
    assert [int(name.split()[0]) for name in ax.get_legend_handles_labels()[1]] == shown
    ax.clear()
    plot.topic_tree(model, ax=ax)
    assert sorted(int(text.get_text().split()[0]) for text in [*ax.texts, *ax.get_yticklabels()]) == list(range(6))


@pytest.mark.parametrize("n_std", [1.0, 2.0])
@pytest.mark.parametrize("library", [topmix, sklearn.mixture])
@pytest.mark.parametrize("kind", ["full", "diag", "spherical", "tied"])
def test_ellipses_hold_the_rows_that_they_should(kind, library, n_std, ax):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(2000, 2)) @ np.array([[2.0, 0.0], [1.2, 0.5]]) + [3, -1]
    fitted = library.GaussianMixture(1, covariance_type=kind, random_state=0).fit(X)
    plot.ellipses(fitted, X, ax=ax, n_std=n_std)
    np.testing.assert_array_equal(ax.collections[0].get_offsets(), X)
    np.testing.assert_allclose(ax.patches[0].get_center(), fitted.means_[0])
    ellipse = ax.patches[0]
    inside = ellipse.contains_points(ellipse.get_data_transform().transform(X))
    wanted = 1 - np.exp(-(n_std**2) / 2)  # share of two normal features within n_std standard deviations
    assert np.mean(inside) == pytest.approx(wanted, abs=0.03 if kind in ("full", "tied") else 0.13)


@pytest.mark.parametrize("kind", ["full", "diag", "spherical", "tied"])
def test_ellipses_show_the_chosen_features_of_every_cluster(kind, ax):
    rng = np.random.default_rng(0)
    centres = np.array([[0.0, 0.0, 0.0], [30.0, -20.0, 10.0]])
    X = centres[np.repeat([0, 1], [300, 100])] + rng.normal(size=(400, 3)) * [1.0, 2.0, 4.0]
    frame = pd.DataFrame(X, columns=["a", "b", "c"])
    fitted = GaussianMixture(2, covariance_type=kind, random_state=0, n_init=3).fit(frame)
    plot.ellipses(fitted, ax=ax, features=(2, 0))
    assert len(ax.collections) == 0  # no rows were given
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("c", "a")
    assert len(ax.patches) == len(ax.lines) == 2
    for k, (ellipse, mark) in enumerate(zip(ax.patches, ax.lines)):
        mean = fitted.means_[k][[2, 0]]
        np.testing.assert_allclose(ellipse.get_center(), mean)
        np.testing.assert_allclose(np.ravel(mark.get_data()), mean)
        C = full_covariance(fitted, k)[np.ix_([2, 0], [2, 0])]
        axes = np.sort([ellipse.width, ellipse.height])
        np.testing.assert_allclose(axes, 2 * 2.0 * np.sqrt(np.linalg.eigvalsh(C)), rtol=1e-6)
    heavy = int(np.argmax(fitted.weights_))
    assert ax.patches[heavy].get_linewidth() > ax.patches[1 - heavy].get_linewidth()


def full_covariance(fitted, k):
    C, D = np.asarray(fitted.covariances_), fitted.means_.shape[1]
    kind = fitted.covariance_type
    return {
        "full": lambda: C[k],
        "tied": lambda: C,
        "diag": lambda: np.diag(C[k]),
        "spherical": lambda: C[k] * np.eye(D),
    }[kind]()


def test_the_tree_shows_every_topic_with_its_name(model, ax):
    plot.topic_tree(model, ax=ax)
    shown = [label.get_text() for label in ax.get_yticklabels()]
    order = model.topic_tree()["topics"].iloc[-1]
    assert shown == [f"{k}  {model.topic_names_[k]}" for k in order]
    with pytest.raises(ValueError, match="needs two topics"):
        plot.topic_tree(LDA(1, max_iter=1).fit(np.eye(3)))


@pytest.mark.parametrize("kind", ["pandas", "polars"])
def test_topics_over_time_and_by_group_are_drawn_from_their_tables(kind):
    rng = np.random.default_rng(0)
    X = rng.poisson(0.5, (60, 20)) + np.eye(60, 20)
    model = topmix.LDA(8, max_iter=3, random_state=0).fit(X).set_output(transform=kind)
    table = model.topics_over_time(X, [f"2024-{1 + i // 20:02}-01" for i in range(60)])
    ax = topmix.plot.topics_over_time(table, topics=[3, 0])
    share = np.asarray(table["share"]).reshape(3, 8)
    for line, k in zip(ax.get_lines(), (3, 0), strict=True):
        np.testing.assert_allclose(line.get_ydata(), share[:, k])
        assert line.get_label().startswith(f"{k}  ")
    assert len(topmix.plot.topics_over_time(table, n=4).get_lines()) == 4

    table = model.topics_by(X, ["a", "b"] * 30)
    ax = topmix.plot.topics_by(table, n=5)
    assert [text.get_text() for text in ax.figure.legends[0].get_texts()] == ["a", "b"]
    largest = np.argsort(-np.asarray(table["share"]).reshape(2, 8).sum(axis=0), kind="stable")[:5]
    assert [int(label.get_text().split()[0]) for label in ax.get_yticklabels()] == largest.tolist()
    with pytest.raises(ValueError, match=r"model\.topics_over_time"):
        topmix.plot.topics_over_time(table)
    with pytest.raises(ValueError, match=r"model\.topics_by"):
        topmix.plot.topics_by(model)
    with pytest.raises(ValueError, match="9 is not a topic"):
        topmix.plot.topics_by(table, topics=[9])


def table_of(n_groups, n_topics, what="group"):
    rng = np.random.default_rng(0)
    share = rng.dirichlet(np.ones(n_topics), n_groups).ravel()
    groups = [f"a group with a long name, {g}" if what == "group" else f"{1980 + g}-01-01" for g in range(n_groups)]
    return {
        what: np.repeat(groups, n_topics),
        "topic": np.tile(np.arange(n_topics), n_groups),
        "name": np.tile([f"first, second, third word of {k}" for k in range(n_topics)], n_groups),
        "share": share,
        "low": 0.9 * share,
        "high": 1.1 * share,
    }


@pytest.mark.parametrize(
    ("what", "n"),
    [
        ("group", 3),
        ("group", 20),
        pytest.param("group", 40, marks=pytest.mark.slow),
        ("period", 3),
        ("period", 12),
    ],
)
def test_everything_is_inside_the_figure_and_nobody_has_the_look_of_another(n, what):
    if what == "group":
        ax = plot.topics_by(table_of(n, 10))
    else:
        ax = plot.topics_over_time(table_of(12, n, "period"), n=n)
    figure = ax.figure
    figure.draw_without_rendering()
    whole = figure.bbox
    for legend in figure.legends:
        place = legend.get_window_extent()
        assert whole.x0 <= place.x0
        assert place.x1 <= whole.x1
        assert whole.y0 <= place.y0
        assert place.y1 <= whole.y1
        assert not place.overlaps(ax.get_window_extent())
        assert len(legend.get_texts()) == n
        lines = [handle if hasattr(handle, "get_color") else handle.lines[0]
                 for handle in ax.get_legend_handles_labels()[0]]  # fmt: skip
        assert len({(line.get_color(), line.get_marker()) for line in lines}) == n
    assert len(figure.legends) == 1
    for a in figure.axes:
        for label in a.get_yticklabels():
            assert label.get_window_extent().x0 >= whole.x0 - 1
    plt.close(figure)


def test_effects_of_a_term_are_drawn_with_their_intervals(ax):
    plot.effects(pd.DataFrame(EFFECTS), ax=ax, n=2)
    assert [label.get_text() for label in ax.get_yticklabels()] == ["0  a", "1  b"]  # c may be zero; the largest first
    assert ax.get_xlabel() == "effect of year"
    np.testing.assert_array_equal(ax.lines[0].get_xdata(), [0.5, -1.0])
    plot.effects(EFFECTS, "Intercept", ax=ax, topics=[2])
    for table, said in ((EFFECTS, "'month' is not a term"), ({"topic": [1]}, "model.effects")):
        with pytest.raises(ValueError, match=said):
            plot.effects(table, "month", ax=ax)
    with pytest.raises(ValueError, match="7 is not a topic"):
        plot.effects(EFFECTS, topics=[7], ax=ax)


def test_a_dollar_in_words_and_names_is_a_dollar(ax, tmp_path):
    words = ["$a_{", "$x$", "\\frac$", "b$", "cost", "$5"]
    X = np.random.default_rng(0).integers(0, 4, (30, 6))
    groups = ["$5", "$10 $20"] * 15
    by_group = LDA(2, topic_word_prior=ByGroup("g"), max_iter=2, random_state=0)
    by_group.fit(pd.DataFrame(X, columns=words), metadata={"g": groups}).name_topics(["$\\frac$ {", "a $ b $ c"])
    effects = {
        "topic": [0], "name": ["$\\frac$"], "term": ["$\\t$"], "estimate": [1.0], "low": [0.5], "high": [1.5]
    }  # fmt: skip
    gaussian = GaussianMixture(2, max_iter=2, tol=-1, random_state=0).fit(pd.DataFrame(X[:, :2], columns=words[1:3]))
    drawn = [
        plot.top_words(by_group, 0), plot.topic_map(by_group), plot.topic_tree(by_group),
        plot.topics_by(by_group.topics_by(pd.DataFrame(X, columns=words), groups)), plot.words_by(by_group, 0),
        plot.effects(effects, "$\\t$"), plot.ellipses(gaussian),
    ]  # fmt: skip
    shown = ""
    with matplotlib.rc_context({"svg.fonttype": "none"}):
        for n, axes in enumerate(drawn):
            axes.figure.savefig(tmp_path / f"{n}.svg")
            shown += (tmp_path / f"{n}.svg").read_text()
    for text in ("$a_{", "$x$", "\\frac$", "$\\frac$ {", "a $ b $ c", "$10 $20", "effect of $\\t$", "$\\frac$"):
        assert f">{text}<" in shown or f" {text}<" in shown, text
