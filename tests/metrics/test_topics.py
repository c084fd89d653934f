"""Diversity, matching, agreement and likelihoods of assigned tokens, where the answer is known."""

import itertools

import numpy as np
import pytest

from topmix.data import sample_lda
from topmix.metrics import (
    adjusted_rand,
    discrete_log_likelihood,
    duplicate_topics,
    empty_topics,
    largest_share,
    match_topics,
    nmi,
    token_log_likelihood,
    topic_diversity,
    topic_recovery_error,
)
from topmix.results.measures import top_ids
from topmix.results.topic_map import _near, _pushed_apart, map_positions, plane_positions
from topmix.results.view import TopicView


@pytest.fixture
def phi():
    return np.random.default_rng(0).dirichlet(np.full(40, 0.1), size=6)


def test_diversity_is_one_for_disjoint_topics_and_one_kth_for_equal_ones():
    blocks = np.kron(np.eye(4), np.ones(10))
    assert topic_diversity(blocks, top_n=10) == 1.0
    assert topic_diversity(np.tile(blocks[:1], (4, 1)), top_n=10) == 0.25


def test_top_words_break_ties_by_id():
    phi = np.array([[1.0, 2.0, 2.0, 1.0, 2.0, 0.0]])
    np.testing.assert_array_equal(top_ids(phi, 4), [[1, 2, 4, 0]])
    phi = np.random.default_rng(0).integers(0, 5, (20, 30)).astype(float)
    np.testing.assert_array_equal(top_ids(phi, 7), np.argsort(-phi, axis=1, kind="stable")[:, :7])
    with pytest.raises(ValueError, match="from 1 to the 30"):
        top_ids(phi, 31)


@pytest.mark.parametrize("relevance", [1.0, 0.6, 0.0])
def test_top_words_are_those_of_a_full_sort(relevance):
    """Of few words and of many, with ties, zeros and words that most topics lack."""
    rng = np.random.default_rng(0)
    for V, n in ((7, 7), (50, 5), (3000, 3), (20_000, 15)):
        p = rng.gamma(0.1, size=(4, V)).round(3) * (rng.random((4, V)) < 0.5)
        p[:, 0] += 1e-3
        p[3] = 0.0
        p[3, [V // 2, 1]] = 0.5
        view = TopicView(p / p.sum(axis=1, keepdims=True), np.full(4, 0.25), 100.0, [str(v) for v in range(V)])
        for k in range(4):
            whole = np.argsort(-view.relevance(view.topic_word[k], relevance), kind="stable")[:n]
            np.testing.assert_array_equal(view.top(n, relevance)[k], whole)


def test_a_topic_far_from_the_others_leaves_the_map_to_them(monkeypatch):
    rng = np.random.default_rng(0)
    there = np.vstack([rng.normal(size=(99, 2)) * 0.1, [[30.0, 0.0]]])
    monkeypatch.setattr("topmix.results.topic_map.plane_positions", lambda distance: there)
    X = map_positions(rng.dirichlet(np.ones(50), 100), np.full(100, 0.01))
    away = np.sqrt((X**2).sum(axis=1))
    assert away[99] == away.max()
    assert away[99] < 2 * np.quantile(away, 0.9)


@pytest.mark.parametrize("seed", range(4))
def test_circles_of_very_different_sizes_do_not_overlap(seed):
    rng = np.random.default_rng(seed)
    radius = np.append(rng.uniform(0.01, 0.02, 300), [0.3, 0.25, 0.1])
    X = _pushed_apart(rng.normal(size=(303, 2)) * 0.1, radius)
    distance = np.sqrt(((X[:, None] - X[None]) ** 2).sum(axis=2)) + np.diag(np.full(303, np.inf))
    assert (radius[:, None] + radius - distance < 0.12 * np.minimum(radius[:, None], radius)).all()
    i, j = _near(X, radius)
    near = {(min(a, b), max(a, b)) for a, b in zip(i.tolist(), j.tolist())}
    assert len(near) == len(i)
    assert set(zip(*np.nonzero(np.triu(distance < 1.03 * (radius[:, None] + radius))))) <= near


@pytest.mark.parametrize("metric", ["l1", "cosine", "hellinger"])
def test_a_permuted_copy_matches_by_the_permutation(phi, metric):
    order = np.random.default_rng(1).permutation(6)
    match = match_topics(phi, 7.0 * phi[order], metric=metric)
    np.testing.assert_array_equal(order[match.b], match.a)
    np.testing.assert_allclose(match.distance, 0, atol=1e-7)


def test_matching_is_the_best_of_all_permutations(phi):
    other = np.random.default_rng(2).dirichlet(np.full(40, 0.1), size=6)
    cost = np.abs(phi[:, None] - other).sum(axis=2)
    best = min(sum(cost[k, p[k]] for k in range(6)) for p in itertools.permutations(range(6)))
    assert match_topics(phi, other).distance.sum() == pytest.approx(best)
    assert topic_recovery_error(other, phi) == pytest.approx(best / 6)


def test_a_missing_true_topic_costs_two_and_a_spare_one_nothing(phi):
    assert topic_recovery_error(phi[:4], phi) == pytest.approx(2 * 2 / 6)
    assert topic_recovery_error(phi, phi[:4]) == pytest.approx(0)
    assert topic_recovery_error([[1, 0]], [[0, 1]]) == 2.0
    assert len(match_topics(phi[:4], phi).a) == 4


def test_match_refuses_other_vocabularies_and_metrics(phi):
    with pytest.raises(ValueError, match="40 and 39 words"):
        match_topics(phi, phi[:, 1:])
    with pytest.raises(ValueError, match="is not one of"):
        match_topics(phi, phi, metric="l7")


def test_agreement_does_not_care_what_labels_are_called():
    z = np.random.default_rng(0).integers(5, size=3000)
    assert nmi(z, (z + 2) % 5) == pytest.approx(1)
    assert adjusted_rand(z, (z + 2) % 5) == 1
    other = np.random.default_rng(1).integers(5, size=3000)
    assert nmi(z, other) == pytest.approx(0, abs=0.01)
    assert adjusted_rand(z, other) == pytest.approx(0, abs=0.01)


def test_empty_swollen_and_duplicate_topics(phi):
    counts = np.array([0.0, 0.99, 1.0, 8.0])
    np.testing.assert_array_equal(empty_topics(counts), [0, 1])
    assert largest_share(counts) == pytest.approx(8 / 9.99)
    assert largest_share(np.zeros(3)) == 0.0
    np.testing.assert_array_equal(duplicate_topics(phi), [])
    np.testing.assert_array_equal(duplicate_topics(np.vstack([phi, 3 * phi[2], phi[0] + 1e-3, phi[2]])), [6, 7, 8])
    with pytest.raises(ValueError, match="one finite number per topic"):
        empty_topics([[1.0]])


def test_likelihoods_are_means_over_tokens():
    sample = sample_lda(30, 50, 3, doc_length=40, random_state=0)
    phi, theta = sample.topic_word + 1e-3, sample.doc_topic + 1e-3
    phi /= phi.sum(axis=1, keepdims=True)
    theta /= theta.sum(axis=1, keepdims=True)
    X = sample.corpus.to_scipy()
    dense = X.toarray()
    mixed = (dense * np.log(theta @ phi)).sum() / dense.sum()
    assert token_log_likelihood(7 * theta, 9 * phi, X) == pytest.approx(mixed)

    doc, word = np.nonzero(dense)
    n = dense[doc, word].astype(int)
    discrete = np.mean(np.log(phi[sample.assignments, np.repeat(word, n)]))
    assert discrete_log_likelihood(phi, X, sample.assignments) == pytest.approx(discrete)
    # One topic for all tokens of a word in a document is the same as repeating it.
    z = np.random.default_rng(0).integers(3, size=len(n))
    assert discrete_log_likelihood(phi, X, z) == pytest.approx(discrete_log_likelihood(phi, X, np.repeat(z, n)))


def test_the_best_topic_of_each_token_bounds_any_mixture():
    sample = sample_lda(20, 50, 4, doc_length=40, random_state=3)
    phi, X = sample.topic_word, sample.corpus.to_scipy()
    best = discrete_log_likelihood(phi, X, phi.argmax(axis=0)[X.indices])
    assert best >= token_log_likelihood(sample.doc_topic, phi, X)


@pytest.mark.parametrize(
    ("assignments", "match"),
    [([0, 1], "2 assignments for 4 tokens"), ([0, 0, 5], "from 0 to 1"), ([0.0, 0.5, 1.0], "whole numbers")],
)
def test_bad_assignments_are_refused(assignments, match):
    with pytest.raises(ValueError, match=match):
        discrete_log_likelihood([[1, 1], [1, 2]], [[1, 1], [0, 2]], assignments)


def test_equal_topics_have_one_place_on_a_map():
    assert not plane_positions(np.zeros((4, 4))).any()
