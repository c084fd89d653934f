"""Parameters of the metrics that no other test exercises: each has an effect, and the right one."""

from __future__ import annotations

import numpy as np
import pytest

from topmix.data import sample_lda
from topmix.metrics import (
    completion_score,
    completion_scores,
    cv_coherence,
    duplicate_topics,
    empty_topics,
    half_split_score,
    npmi_coherence,
    split_types,
    topic_diversity,
    umass_coherence,
)


@pytest.fixture(scope="module")
def sample():
    return sample_lda(50, 60, 4, doc_length=60, random_state=0)


@pytest.fixture(scope="module")
def phi(sample):
    return sample.topic_word + 1e-6


def test_fraction_is_the_share_of_words_in_A(sample, phi):
    X = sample.corpus.to_scipy()
    n = np.diff(X.indptr)
    for fraction in (0.2, 0.5):
        A, B = split_types(X, fraction=fraction, random_state=1)
        np.testing.assert_array_equal(np.diff(A.indptr), np.ceil(fraction * n))
        scores = completion_scores(phi, X, fraction=fraction, random_state=1)
        np.testing.assert_array_equal(scores.n_tokens, B.sum(axis=1))


@pytest.mark.parametrize("score", [completion_score, half_split_score])
def test_iterations_end_after_max_iter_or_at_tol(sample, phi, score):
    start, once, many, loose = (
        score(phi, sample.corpus, max_iter=max_iter, tol=tol)
        for max_iter, tol in ((0, 0.0), (1, 0.0), (500, 0.0), (500, 1e9))
    )
    assert start != once != many
    assert loose == once  # the first change is below such a tolerance
    assert many == pytest.approx(score(phi, sample.corpus), abs=0.01)


def test_half_splits_depend_on_the_seed_and_the_prior(sample, phi):
    a, b, c = (half_split_score(phi, sample.corpus, random_state=seed) for seed in (0, 0, 1))
    assert a == b != c
    assert half_split_score(phi, sample.corpus, doc_topic_prior=100.0) < a  # all documents then have the same mixture


def test_thresholds():
    counts = [0.5, 3.0, 10.0]
    np.testing.assert_array_equal(empty_topics(counts), [0])
    np.testing.assert_array_equal(empty_topics(counts, threshold=5.0), [0, 1])
    phi = np.array([[1.0, 0.0], [1.0, 1.0]])  # cosine 0.707
    np.testing.assert_array_equal(duplicate_topics(phi), [])
    np.testing.assert_array_equal(duplicate_topics(phi, threshold=0.7), [1])


def test_top_n_is_the_number_of_words():
    phi = np.array([[4.0, 3.0, 2.0, 1.0], [4.0, 1.0, 2.0, 3.0]])
    assert topic_diversity(phi, top_n=1) == 0.5
    assert topic_diversity(phi, top_n=2) == 0.75
    X = np.array([[1, 1, 0, 0], [1, 1, 0, 0], [0, 0, 1, 1]])
    assert npmi_coherence(phi[:1], X, top_n=2) == pytest.approx(1)
    assert npmi_coherence(phi[:1], X, top_n=3) < 1


@pytest.mark.parametrize("measure", [npmi_coherence, umass_coherence, cv_coherence])
def test_eps_smooths_pairs_that_never_occur_together(measure):
    X = np.array([[1, 0], [0, 1], [0, 0]])
    topics = [[0, 1]]
    large, small = (measure(topics, X, eps=eps) for eps in (1e-2, 1e-12))
    assert small < large if measure is not cv_coherence else small != large
