"""A stream whose vocabulary grows."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp

import topmix
from topmix import LDA
from topmix.data import Corpus, sample_lda

WORDS = [f"w{v}" for v in range(30)]


@pytest.fixture(scope="module")
def X():
    X = sample_lda(80, 30, 3, doc_length=40, random_state=1).corpus.to_scipy().toarray()
    X[:40, 20:] = 0  # the last ten words are new in the second half
    return X


def lda(**parameters):
    return LDA(**{"n_components": 3, "random_state": 0, "init": "documents"} | parameters)


def corpus(X, words):
    return Corpus.from_scipy(X, vocabulary=words)


def both(X, make, order=None):
    """Two steps of a stream: twenty words, then thirty."""
    order = np.arange(30) if order is None else order
    model = lda().partial_fit(make(X[:40, :20], WORDS[:20]))
    return model.partial_fit(make(X[40:][:, order], [WORDS[v] for v in order]))


KINDS = {
    "dense": lambda X, words: X,
    "list": lambda X, words: X.tolist(),
    "csr": lambda X, words: sp.csr_array(X),
    "csc": lambda X, words: sp.csc_matrix(X),
    "frame": lambda X, words: pd.DataFrame(X, columns=words),
    "corpus": corpus,
    "corpus without names": lambda X, words: Corpus.from_scipy(X),
}


@pytest.mark.parametrize("kind", KINDS)
def test_new_words_from_every_kind_of_input(X, kind, tmp_path):
    model = both(X, KINDS[kind])
    assert model.n_features_in_ == 30
    assert model.components_.shape == model.topic_word_.shape == (3, 30)
    np.testing.assert_array_equal(model.components_, both(X, KINDS["dense"]).components_)
    assert list(getattr(model, "feature_names_in_", WORDS)) == WORDS
    assert hasattr(model, "feature_names_in_") == (kind in ("frame", "corpus"))
    assert model.transform(KINDS[kind](X, WORDS)).shape == (80, 3)
    model.save(tmp_path / "model")
    loaded = topmix.load(tmp_path / "model")
    more = KINDS[kind](np.hstack([X, X[:, :2]]), [*WORDS, "x", "y"])
    np.testing.assert_array_equal(loaded.partial_fit(more).components_, model.partial_fit(more).components_)


def test_from_a_path(X, tmp_path):
    corpus(X[40:], WORDS).save(tmp_path / "second")
    model = lda().partial_fit(corpus(X[:40, :20], WORDS[:20])).partial_fit(tmp_path / "second")
    np.testing.assert_array_equal(model.components_, both(X, corpus).components_)


@pytest.mark.parametrize("seed", range(3))
def test_a_corpus_knows_its_words_by_name(X, seed):
    """In any order: new words are numbered as they come, everything else is the same."""
    order = np.random.default_rng(seed).permutation(30)
    model, want = both(X, corpus, order), both(X, corpus)
    assert list(model.feature_names_in_[:20]) == WORDS[:20]
    assert list(model.feature_names_in_[20:]) == [WORDS[v] for v in order if v >= 20]
    place = [WORDS.index(word) for word in model.feature_names_in_]
    np.testing.assert_allclose(model.components_, want.components_[:, place], rtol=1e-4, atol=1e-4)


def test_a_corpus_may_have_some_of_the_words(X):
    """As if it had the others too, and never used them."""
    few, all_of_them = X[40:, 5:25].copy(), np.zeros((40, 30))
    all_of_them[:, 5:25] = few
    a, b = (lda().partial_fit(corpus(X[:40], WORDS)) for _ in range(2))
    a.partial_fit(corpus(few, WORDS[5:25]))
    b.partial_fit(corpus(all_of_them, WORDS))
    np.testing.assert_array_equal(a.components_, b.components_)
    assert a.n_features_in_ == 30


def test_a_new_word_starts_at_the_prior_and_is_learned(X):
    model = lda(topic_word_prior=0.2).partial_fit(X[:40, :20])
    model.partial_fit(np.hstack([X[:40, :20], np.zeros((40, 1))]))
    np.testing.assert_allclose(model.components_[:, 20], 0.2)
    model.partial_fit(np.hstack([X[:40, :20], np.ones((40, 1))]))
    assert model.components_[:, 20].sum() > 0.6


def test_what_cannot_be_matched_is_refused_and_changes_nothing(X):
    named, frame = lda().partial_fit(corpus(X[:40, :20], WORDS[:20])), lda()
    frame.partial_fit(pd.DataFrame(X[:40, :20], columns=WORDS[:20]))
    by_word = lda(topic_word_prior=np.full(20, 0.1)).partial_fit(X[:40, :20])
    nameless = lda().partial_fit(X[:40, :20])
    spoiled = X.copy()
    spoiled[50, 25] = -1
    twice = [*WORDS[:29], "w3"]
    cases = [
        (named, X, "knows its words by name"),
        (named, Corpus.from_scipy(X), "knows its words by name"),
        (named, corpus(X[:0], WORDS), "0 documents"),
        (named, corpus(X, twice), "'w3' is in the vocabulary twice"),
        (named, pd.DataFrame(spoiled, columns=WORDS), "Negative"),
        (frame, pd.DataFrame(X, columns=WORDS[::-1]), "feature names should match"),
        (frame, pd.DataFrame(X, columns=twice), "'w3' is in the vocabulary twice|unique"),
        (frame, pd.DataFrame(X[:, :10], columns=WORDS[:10]), "feature names should match"),
        (by_word, X, "topic_word_prior"),
        (nameless, spoiled, "Negative"),
        (nameless, np.full((3, 30), np.nan), "NaN"),
        (nameless, X[:, :10], "X has 10 features"),
        (nameless, X[0], "1D array|2D array"),
        (nameless, X[:0], "0 sample"),
    ]
    for model, bad, message in cases:
        before = model.components_, model.n_features_in_, model.n_seen_, model.model_.words.shape
        with pytest.raises(ValueError, match=message):
            model.partial_fit(bad)
        assert before[0] is model.components_
        assert before[1:] == (model.n_features_in_, model.n_seen_, model.model_.words.shape)
        assert len(getattr(model, "feature_names_in_", WORDS[:20])) == 20


def test_a_fit_goes_on_in_a_stream_with_new_words(X):
    model = lda(max_iter=3).fit(corpus(X[:40, :20], WORDS[:20])).partial_fit(corpus(X[40:], WORDS))
    assert model.components_.shape == (3, 30)
    assert model.n_batch_iter_ > 3
    assert model.fit(corpus(X[:, :15], WORDS[:15])).components_.shape == (3, 15)  # and a fit begins anew
