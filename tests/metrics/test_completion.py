"""Completion against its slow twin and against what it must be."""

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.special import psi

from topmix.data import Corpus, sample_lda
from topmix.metrics import completion_score, completion_scores, half_split_score, split_tokens, split_types
from topmix.results.completion import fold_in, fold_in_log


@pytest.fixture(scope="module")
def sample():
    return sample_lda(60, 300, 8, doc_length=80, doc_topic_prior=0.1, topic_word_prior=0.1, random_state=0)


def slow_completion(phi, X, alpha, seed):
    """Appendix E line by line: every topic, every iteration."""
    rng, total, n = np.random.default_rng(seed), 0.0, 0.0
    for row in X.toarray():
        w = np.flatnonzero(row)
        order = rng.permutation(len(w))
        if len(w) < 2:
            continue
        cut = min(int(np.ceil(0.8 * len(w))), len(w) - 1)
        A, B = w[order[:cut]], w[order[cut:]]
        N = sum(row[v] * phi[:, v] / phi[:, v].sum() for v in A)
        for _ in range(100):
            weight = [phi[:, v] * np.exp(psi(N + alpha)) for v in A]
            M = sum(row[v] * r / r.sum() for v, r in zip(A, weight))
            done, N = np.abs(M - N).max() < 0.05, M
            if done:
                break
        pi = (N + alpha) / (N + alpha).sum()
        total += sum(row[v] * np.log(pi @ phi[:, v]) for v in B)
        n += row[B].sum()
    return total / n


@pytest.mark.parametrize("K", [1, 8, 50])
@pytest.mark.parametrize("prior", [None, 0.3, "array"])
def test_equals_the_slow_twin(sample, K, prior):
    rng = np.random.default_rng(K)
    phi = rng.dirichlet(np.full(300, 0.1), size=K) + 1e-6
    phi /= phi.sum(axis=1, keepdims=True)
    prior = rng.random(K) + 0.01 if isinstance(prior, str) else prior
    alpha = np.broadcast_to(0.5 / K if prior is None else prior, K)
    X = sample.corpus.to_scipy()
    expected = slow_completion(phi, X, alpha, seed=3)
    assert completion_score(phi, X, doc_topic_prior=prior, random_state=3) == pytest.approx(expected, rel=1e-10)


@pytest.mark.parametrize("K", [3, 40, 600])
def test_leaving_topics_out_changes_nothing(K):
    # At K = 600 all but a few weights underflow to exactly zero.
    rng = np.random.default_rng(K)
    for concentration in (0.01, 0.1, 1.0):
        W = rng.dirichlet(np.full(120, concentration), size=K).T + 1e-9
        c, alpha = rng.integers(1, 6, 120).astype(float), np.full(K, 0.5 / K)
        np.testing.assert_allclose(fold_in(W, c, alpha), fold_in_log(W, c, alpha), rtol=1e-6, atol=1e-9)


def test_a_short_document_survives_weights_that_all_underflow():
    # One token over 2000 equal topics: every exp ψ(N + α) is e^-1333, which is 0 in float64.
    K = 2000
    N = fold_in(np.full((1, K), 1 / K), np.ones(1), np.full(K, 0.5 / K))
    np.testing.assert_allclose(N, 1 / K)
    assert completion_score(np.ones((K, 5)), [[1, 1, 0, 0, 0]]) == pytest.approx(-np.log(5))


def test_a_topic_left_out_too_soon_is_noticed(monkeypatch):
    rng = np.random.default_rng(0)
    W = rng.dirichlet(np.full(60, 0.1), size=40).T + 1e-9
    c, alpha = rng.integers(1, 6, 60).astype(float), np.full(40, 0.3)
    monkeypatch.setattr("topmix.results.completion._UNSEEN", 5.0)
    np.testing.assert_allclose(fold_in(W, c, alpha), fold_in_log(W, c, alpha), atol=1e-9)


def test_words_that_no_topic_has_are_left_out_of_A_and_damn_B():
    phi = np.array([[0.5, 0.5, 0.0], [0.9, 0.1, 0.0]])
    W = phi.T
    alpha = np.full(2, 0.25)
    known = fold_in(W[:2], np.array([3.0, 1.0]), alpha)
    np.testing.assert_allclose(fold_in(W, np.array([3.0, 1.0, 9.0]), alpha), known, rtol=1e-12)
    np.testing.assert_array_equal(fold_in(W[2:], np.array([9.0]), alpha), 0)
    X = np.tile([1, 1, 1], (20, 1))
    assert completion_score(phi, X) == -np.inf


def test_one_true_topic_scores_its_entropy():
    # With a single topic nothing is inferred: the score is the log probability of the words of B, whose mean is −H
    # over tokens (each token is as likely to be in B as any other type's, so weigh by the split's own words).
    sample = sample_lda(4000, 50, 1, doc_length=40, topic_word_prior=5.0, random_state=1)
    _, B = split_types(sample.corpus, random_state=0)
    phi = sample.topic_word
    exact = float(B.sum(axis=0) @ np.log(phi[0])) / B.sum()
    assert completion_score(phi, sample.corpus) == pytest.approx(exact, rel=1e-12)
    entropy = -float(phi[0] @ np.log(phi[0]))
    assert half_split_score(phi, sample.corpus) == pytest.approx(-entropy, abs=0.01)


def test_disjoint_true_topics_score_the_entropy_within_a_topic():
    # One topic a document and no word in two topics: A tells the topic for certain, and B costs log of the block size.
    phi = np.kron(np.eye(5), np.full(20, 1 / 20))
    sample = sample_lda(200, topic_word=phi, doc_topic_prior=1e-4, doc_length=60, random_state=2)
    pure = sample.doc_topic.max(axis=1) > 1 - 1e-9
    X = sample.corpus.to_scipy()[pure]
    assert completion_score(phi, X, doc_topic_prior=1e-6) == pytest.approx(-np.log(20), abs=1e-5)
    assert half_split_score(phi, X, doc_topic_prior=1e-6) == pytest.approx(-np.log(20), abs=1e-5)


def test_truth_beats_a_blurred_truth(sample):
    phi = sample.topic_word + 1e-6
    blurred = 0.5 * phi + 0.5 * phi.mean(axis=0)
    assert completion_score(phi, sample.corpus) > completion_score(blurred, sample.corpus) + 0.05


def test_order_and_scale_of_topics_do_not_matter(sample):
    rng = np.random.default_rng(0)
    phi, alpha = sample.topic_word + 1e-6, rng.random(8)
    order = rng.permutation(8)
    score = completion_score(phi, sample.corpus, doc_topic_prior=alpha)
    assert completion_score(phi[order], sample.corpus, doc_topic_prior=alpha[order]) == pytest.approx(score, rel=1e-9)
    scaled = phi * rng.uniform(1, 1e6, (8, 1))
    assert completion_score(scaled, sample.corpus, doc_topic_prior=alpha) == pytest.approx(score, rel=1e-9)


def test_every_kind_of_input_gives_the_same_score(sample):
    X = sample.corpus.to_scipy()
    messy = sp.csr_array(X, copy=True)
    for d in range(X.shape[0]):  # words of a row in reverse order
        row = slice(X.indptr[d], X.indptr[d + 1])
        messy.indices[row], messy.data[row] = X.indices[row][::-1].copy(), X.data[row][::-1].copy()
    messy.has_sorted_indices = False
    kinds = [X, X.tocsc(), X.tocoo(), X.toarray(), sp.csr_matrix(X), messy, Corpus.from_scipy(X)]
    assert len({completion_score(sample.topic_word + 1e-6, kind) for kind in kinds}) == 1


def test_the_mean_is_over_tokens(sample):
    phi = sample.topic_word + 1e-6
    scores = completion_scores(phi, sample.corpus)
    assert scores.log_likelihood.shape == scores.n_tokens.shape == (60,)
    assert completion_score(phi, sample.corpus) == scores.log_likelihood.sum() / scores.n_tokens.sum()


def test_short_documents_are_skipped_and_keep_their_place():
    X = np.array([[0, 0, 0], [5, 0, 0], [1, 1, 0], [2, 2, 2]])
    scores = completion_scores(np.ones((2, 3)), X)
    np.testing.assert_array_equal(scores.n_tokens > 0, [False, False, True, True])
    np.testing.assert_allclose(scores.log_likelihood, scores.n_tokens * -np.log(3))
    with pytest.raises(ValueError, match="long enough"):
        completion_score(np.ones((2, 3)), X[:2])


def test_types_are_split_whole_four_to_one(sample):
    X = sample.corpus.to_scipy()
    A, B = split_types(X, random_state=0)
    assert abs(A + B - X).sum() == 0
    assert (A.astype(bool).multiply(B.astype(bool))).nnz == 0
    n = np.diff(X.indptr)
    np.testing.assert_array_equal(np.diff(A.indptr), np.minimum(np.ceil(0.8 * n), n - 1))
    again, other = split_types(X, random_state=0)[0], split_types(X, random_state=1)[0]
    assert abs(again - A).sum() == 0
    assert abs(other - A).sum() > 0


def test_tokens_are_split_in_halves(sample):
    X = sample.corpus.to_scipy()
    A, B = split_tokens(X, random_state=0)
    assert abs(A + B - X).sum() == 0
    n = X.sum(axis=1)
    np.testing.assert_array_equal(B.sum(axis=1), n // 2)
    A, B = split_tokens([[1, 0], [0, 0], [2, 0]])
    np.testing.assert_array_equal(A.toarray(), [[0, 0], [0, 0], [1, 0]])
    np.testing.assert_array_equal(B.toarray(), [[0, 0], [0, 0], [1, 0]])


@pytest.mark.parametrize(
    ("topic_word", "X", "kwargs", "match"),
    [
        (np.ones(3), np.ones((1, 3)), {}, "topics, words"),
        ([[1, -1]], [[1, 1]], {}, "not negative"),
        ([[1, np.nan]], [[1, 1]], {}, "finite"),
        ([[1, 1], [0, 0]], [[1, 1]], {}, "row 1 of topic_word"),
        ([[1, 1]], [[1, 1, 1]], {}, "3 words, the topics 2"),
        ([[1, 1]], [[1, -1]], {}, "not negative"),
        ([[1, 1]], [[1, 1]], {"doc_topic_prior": 0}, "positive"),
        ([[1, 1]], [[1, 1]], {"doc_topic_prior": [1, 1]}, "have 1 entries"),
        ([[1, 1]], [[1, 1]], {"fraction": 1}, "between 0 and 1"),
    ],
)
def test_bad_arguments_are_refused(topic_word, X, kwargs, match):
    with pytest.raises(ValueError, match=match):
        completion_score(topic_word, X, **kwargs)


def test_halves_need_whole_tokens():
    with pytest.raises(ValueError, match="whole numbers"):
        half_split_score([[1, 1]], [[1.5, 2]])
