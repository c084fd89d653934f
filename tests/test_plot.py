"""Plots draw what the model says, on the axes that they are given."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.mixture import GaussianMixture

from topmix import LDA, MultinomialMixture
from topmix.data import Corpus, sample_lda

matplotlib = pytest.importorskip("matplotlib", reason="matplotlib is not installed")
matplotlib.use("Agg")
from matplotlib import pyplot as plt  # noqa: E402

from topmix import plot  # noqa: E402


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
    figure.canvas.draw()  # what cannot be drawn fails here
    plt.close("all")


def test_every_plot_takes_an_ax_and_returns_it(model, corpus, ax):
    X = np.random.default_rng(0).normal(size=(200, 4))
    gaussian = GaussianMixture(3, random_state=0).fit(X)
    calls = {
        "convergence": lambda **more: plot.convergence(model, **more),
        "topic_sizes": lambda **more: plot.topic_sizes(model, **more),
        "top_words": lambda **more: plot.top_words(model, 2, **more),
        "topic_map": lambda **more: plot.topic_map(model, **more),
        "sparsity": lambda **more: plot.sparsity(model, corpus, **more),
        "ellipses": lambda **more: plot.ellipses(gaussian, X, **more),
        "patch_covariances": lambda **more: plot.patch_covariances(gaussian, **more),
    }
    assert calls.keys() == set(plot.__all__)
    for draw in calls.values():
        assert draw(ax=ax) is ax
        assert draw().figure is not ax.figure
        plt.close(plt.gcf())


def test_convergence_is_the_history(model, ax):
    plot.convergence(model, ax=ax, against="pass")
    x, y = ax.lines[0].get_data()
    assert x.tolist() == list(range(1, 9))
    assert y[-1] == model.elbo_


def test_top_words_are_those_of_the_model(model, ax):
    plot.top_words(model, 3, ax=ax, n=5)
    assert [label.get_text() for label in ax.get_yticklabels()] == model.top_words(5)[3]
    assert ax.patches[0].get_width() == model.topic_word_[3].max()
    with pytest.raises(ValueError, match="from 0 to 5"):
        plot.top_words(model, 6, ax=ax)


def test_sizes_are_sorted_and_sum_to_one(model, corpus, ax):
    for fitted in (model, MultinomialMixture(4, max_iter=3, random_state=0).fit(corpus)):
        ax.clear()
        plot.topic_sizes(fitted, ax=ax)
        heights = [bar.get_height() for bar in ax.patches]
        assert heights == sorted(heights, reverse=True)
        assert sum(heights) == pytest.approx(1)


def test_sparsity_reaches_one_where_all_topics_are_counted(model, corpus, ax):
    plot.sparsity(model, corpus, ax=ax)
    held = ax.lines[0].get_ydata()
    assert np.all(np.diff(held) >= 0)
    assert held[-1] == pytest.approx(1)


@pytest.mark.parametrize("kind", ["full", "diag", "spherical", "tied"])
def test_ellipses_hold_the_rows_that_they_should(kind, ax):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(2000, 2)) @ np.array([[2.0, 0.0], [1.2, 0.5]]) + [3, -1]
    plot.ellipses(GaussianMixture(1, covariance_type=kind, random_state=0).fit(X), X, ax=ax, n_std=2)
    ellipse = ax.patches[0]
    inside = ellipse.contains_points(ellipse.get_data_transform().transform(X))
    wanted = 1 - np.exp(-2.0)  # of two normal features, within two standard deviations
    assert np.mean(inside) == pytest.approx(wanted, abs=0.02 if kind in ("full", "tied") else 0.1)


def test_patches_show_the_direction_of_most_variance(ax):
    stripe = np.tile([1.0, -1.0, 1.0], 3)
    X = np.random.default_rng(0).normal(size=(500, 1)) * stripe + 0.01 * np.random.default_rng(1).normal(size=(500, 9))
    plot.patch_covariances(GaussianMixture(1, random_state=0).fit(X), ax=ax)
    first = ax.images[0].get_array()[1:4, 1:4]
    np.testing.assert_allclose(np.corrcoef(np.ravel(first), stripe)[0, 1], 1, atol=1e-3)
    with pytest.raises(ValueError, match="9 features"):
        plot.patch_covariances(GaussianMixture(1, random_state=0).fit(X), ax=ax, shape=(2, 4))
