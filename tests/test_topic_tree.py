"""A hierarchy of topics by average linkage, and pairs of topics that could be merged."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import polars as pl
import pytest
from scipy.cluster.hierarchy import linkage
from scipy.spatial.distance import squareform

from topmix import HDP, LDA, CombinatorialLDA, GibbsLDA
from topmix.data import Corpus, sample_lda
from topmix.models.words import WordTotal
from topmix.results.measures import hellinger
from topmix.results.tables import tree_of
from topmix.results.view import TopicView
from topmix.selection.views import view_of


@pytest.fixture(scope="module")
def corpus():
    sample = sample_lda(150, 60, 6, doc_length=60, random_state=1).corpus
    return Corpus.from_scipy(sample.to_scipy(), vocabulary=[f"word{v}" for v in range(60)])


@pytest.fixture(scope="module")
def model(corpus):
    return LDA(6, max_iter=8, random_state=0).fit(corpus)


def test_the_tree_is_average_linkage_of_hellinger_distances(model):
    table = model.topic_tree()
    expected = linkage(squareform(hellinger(model.topic_word_), checks=False), "average")
    np.testing.assert_allclose(table["distance"], expected[:, 2])
    assert table["node"].tolist() == list(range(6, 11))
    below: dict[int, set[int]] = {k: {k} for k in range(6)}
    for node, left, right, topics in zip(table["node"], table["left"], table["right"], table["topics"]):
        below[node] = below.pop(left) | below.pop(right)
        assert set(topics) == below[node]
    assert list(below) == [10]
    assert table["share"].iloc[-1] == pytest.approx(1.0)


def test_near_topics_are_next_to_each_other_in_the_order(model):
    table = model.topic_tree()
    order = table["topics"].iloc[-1]
    for topics in table["topics"]:  # every branch is a stretch of the whole
        begin = order.index(topics[0])
        assert order[begin : begin + len(topics)] == topics


def test_words_of_a_branch_are_those_of_its_topics():
    topic_word = np.full((4, 8), 0.01)
    for k, words in enumerate([(0, 1), (1, 2), (4, 5), (5, 6)]):
        topic_word[k, list(words)] = 0.47
    view = TopicView(topic_word, np.full(4, 0.25), 1000.0, list("abcdefgh"))
    tree = tree_of(view, 1)
    assert [sorted(branch.topics) for branch in tree.branches[:2]] == [[0, 1], [2, 3]]
    assert [branch.words for branch in tree.branches[:2]] == [["b"], ["f"]]
    assert (tree.branches[2].left, tree.branches[2].right) in [(4, 5), (5, 4)]


def test_the_nested_tree_has_every_topic_once(model):
    leaves = []

    def visit(node):
        for child in node.get("children", ()):
            visit(child)
        if "topic" in node:
            leaves.append(node["topic"])
            assert node["name"] == model.topic_names_[node["topic"]]
        else:
            assert node["share"] == pytest.approx(sum(child["share"] for child in node["children"]))

    visit(model.topic_tree(nested=True))
    assert leaves == model.topic_tree()["topics"].iloc[-1]


def test_every_topic_model_has_a_tree_and_tables_are_of_the_users_kind(corpus):
    for estimator in (GibbsLDA(3, max_iter=5), CombinatorialLDA(3, max_iter=3), HDP(3, search=None, max_iter=3)):
        assert len(estimator.set_params(random_state=0).fit(corpus).topic_tree()) <= 2
    polars = LDA(3, max_iter=2, random_state=0).set_output(transform="polars").fit(corpus)
    assert isinstance(polars.topic_tree(), pl.DataFrame)


def test_empty_and_single_topics_are_left_out(corpus):
    one = LDA(1, max_iter=2, random_state=0).fit(corpus)
    assert len(one.topic_tree()) == 0
    assert one.topic_tree(nested=True)["topic"] == 0
    assert len(one.suggest_merges(corpus)) == 0
    counts = one.model_.words.total.counts()
    three = LDA(3, max_iter=0, random_state=0).fit(corpus)
    three = _with_counts(three, np.column_stack([counts * 0.6, 0 * counts, counts * 0.4]))
    assert three.topic_tree()["topics"].tolist() == [[0, 2]]


def _with_counts(lda, counts):
    words = replace(lda.model_.words, total=WordTotal.of(np.ascontiguousarray(counts)))
    return lda._with(replace(lda._fitted, model=replace(lda.model_, words=words)))


def test_a_topic_in_two_halves_is_the_best_merge(model, corpus):
    counts = model.model_.words.total.counts()
    halves = np.column_stack([counts, 0.5 * counts[:, 2]])
    halves[:, 2] *= 0.5
    split = LDA(7, max_iter=0, random_state=0).fit(corpus)
    split = _with_counts(split, halves)
    table = split.suggest_merges(corpus, n_pairs=30)
    assert len(table) == 7 * 6 // 2
    first = table.iloc[0]
    assert (first["topic"], first["other"]) == (2, 6)
    assert first["distance"] < 0.05
    assert first["change"] > -0.01
    assert first["share"] == pytest.approx(view_of(model).share[2], rel=1e-6)
    assert table["change"].iloc[1:].max() < first["change"] - 0.005
    assert split.n_components == 7  # nothing was merged


@pytest.mark.parametrize("estimator", [LDA(5, inference="variational"), HDP(5, search=None)])
def test_the_change_is_that_of_the_score_after_the_merge(corpus, estimator):
    estimator.set_params(max_iter=4, random_state=0).fit(corpus)
    pair = estimator.suggest_merges(corpus, n_pairs=1).iloc[0]
    before = estimator.score(corpus)
    after = estimator.merge_topics([(int(pair["topic"]), int(pair["other"]))]).score(corpus)
    assert pair["change"] == pytest.approx((after - before) / corpus.n_tokens, abs=1e-9)


def test_empty_documents_say_nothing_of_merges(model, corpus):
    """Found by tools/fuzz_estimators.py: the documents that were drawn may all be empty."""
    counts = corpus.to_scipy().tolil()
    counts[1:] = 0
    tables = [model.suggest_merges(counts, max_docs=1, random_state=seed) for seed in range(2)]
    assert all((table["change"] == 0).all() for table in tables)


def test_bad_input_is_explained(model, corpus):
    with pytest.raises(ValueError, match="n_words must be a positive integer"):
        model.topic_tree(n_words=0)
    with pytest.raises(ValueError, match="n_pairs must be a positive integer"):
        model.suggest_merges(corpus, n_pairs=0)
    with pytest.raises(ValueError, match="no word of the documents is known"):
        model.suggest_merges(Corpus.from_scipy(np.zeros((2, 60)), vocabulary=corpus.vocabulary))
