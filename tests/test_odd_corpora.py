"""LDA where there is little or nothing to learn: finite, and as documented."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

import topmix
from topmix import LDA
from topmix.data import Corpus
from topmix.inference import Collapsed, Variational
from topmix.learners import Batch, Memoized, Stochastic

from .pairs import pairs

INFERENCE = {"collapsed": Collapsed, "variational": Variational}
LEARNER = {"memoized": Memoized, "batch": Batch, "stochastic": Stochastic}
WAYS = list(itertools.product(["collapsed", "variational"], ["memoized", "batch", "stochastic"]))
X = np.random.default_rng(0).poisson(0.6, (25, 12)).astype(np.float32)
CORPORA = {
    "all empty": 0 * X,
    "one document": X[:1],
    "one token": np.eye(1, 12, dtype=np.float32),
    "one word": np.ones((6, 1), np.float32),
    "mostly empty": np.vstack([0 * X, X[:2], 0 * X]),
    "equal documents": np.repeat(X[:1], 9, axis=0),
    "fractions": X / 7,
    "a very long document": np.vstack([X, 1e6 * X[:1]]),
    "whole": X,
}
SETTINGS = {
    "L = K": {"n_active": 5},
    "L > K": {"n_active": 99},
    "L = 1": {"n_active": 1},
    "more topics than documents": {"n_components": 60},
    "one topic": {"n_components": 1},
    "learned priors": {"doc_topic_prior": "auto", "topic_word_prior": "auto"},
    "tiny priors": {"doc_topic_prior": 1e-6, "topic_word_prior": 1e-6},
    "restarts": {"inference": {"restarts": 3, "min_topic_mass": 0.0}},
    "more batches than documents": {"learner": {"batch_size": 1}},
}


def lda(**parameters):
    return LDA(**{"n_components": 5, "max_iter": 4, "tol": -np.inf, "random_state": 0, "n_jobs": 1} | parameters)


def in_this_way(inference, learner, setting=None):
    """Parameters of LDA; those of components are tables in SETTINGS. Batch has none."""
    own = SETTINGS.get(setting, {})
    of_learner = {} if learner == "batch" else own.get("learner", {})
    of_inference = own.get("inference", {})
    return own | {"inference": INFERENCE[inference](**of_inference), "learner": LEARNER[learner](**of_learner)}


@pytest.mark.parametrize(
    ("name", "setting", "inference", "learner"), pairs(list(CORPORA), list(SETTINGS), list(INFERENCE), list(LEARNER))
)
def test_everything_is_finite(name, setting, inference, learner):
    data = CORPORA[name]
    model = lda(**in_this_way(inference, learner, setting)).fit(data)
    K = model.n_components
    assert model.components_.shape == (K, data.shape[1])
    assert np.all(np.isfinite(model.components_))
    np.testing.assert_allclose(model.topic_word_.sum(axis=1), 1)
    assert np.isfinite(model.elbo_)
    assert np.all(np.isfinite(model.doc_topic_prior_))
    theta = model.transform(data)
    assert theta.shape == (len(data), K)
    assert np.all(theta >= 0)
    np.testing.assert_allclose(theta.sum(axis=1), 1, rtol=1e-5)
    assert np.isfinite(model.score(data))
    assert np.isfinite(model.perplexity(data))
    assert model.partial_fit(data).components_.shape == (K, data.shape[1])
    assert np.all(np.isfinite(model.components_))


@pytest.mark.parametrize(("inference", "learner"), WAYS)
def test_a_document_without_words_has_the_proportions_of_the_prior(inference, learner):
    alpha = np.array([0.1, 0.2, 0.3, 0.4, 0.5])
    model = lda(inference=inference, learner=learner, doc_topic_prior=alpha).fit(CORPORA["mostly empty"])
    theta = model.transform(CORPORA["mostly empty"])
    np.testing.assert_allclose(np.delete(theta, [25, 26], axis=0), np.tile(alpha / alpha.sum(), (50, 1)))
    assert model.score(0 * X) == pytest.approx(0, abs=1e-9)  # nothing was said, so nothing was unlikely
    assert model.perplexity(0 * X) == pytest.approx(1)


@pytest.mark.parametrize("inference", ["collapsed", "variational"])
@pytest.mark.parametrize("learner", [Memoized(batch_size=1000), Batch()], ids=str)
def test_empty_documents_do_not_change_the_topics(inference, learner):
    """What they say of alpha aside: nothing."""
    start = np.random.default_rng(1).gamma(1, 1, (5, 12))
    padded = np.vstack([X, 0 * X])
    a, b = (lda(inference=inference, learner=learner, init=start).fit(data) for data in (X, padded))
    np.testing.assert_allclose(a.components_, b.components_, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("learner", ["memoized", "batch"])
def test_a_corpus_without_words_leaves_topics_at_the_prior(learner):
    model = lda(learner=learner, topic_word_prior=0.3).fit(0 * X)
    np.testing.assert_allclose(model.components_, 0.3, atol=1e-9)
    np.testing.assert_allclose(model.topic_word_, 1 / 12)


def test_all_k_kept_is_the_dense_step():
    """n_active = K, more than K and None are one thing."""
    fits = [lda(n_active=L).fit(X) for L in (5, 99, None)]
    for other in fits[1:]:
        np.testing.assert_array_equal(other.components_, fits[0].components_)


def test_odd_models_are_saved_checkpointed_and_edited(tmp_path):
    for i, (name, data) in enumerate(CORPORA.items()):
        explored = {"inference": Collapsed(sweeps=12), "max_iter": 6}
        model = lda(**explored | {"max_iter": 4}).fit(data, checkpoint=tmp_path / f"{i}")
        again = lda(**explored).fit(data, checkpoint=tmp_path / f"{i}")
        np.testing.assert_array_equal(again.components_, lda(**explored).fit(data).components_, name)
        model.save(tmp_path / "model")
        loaded = topmix.load(tmp_path / "model").set_params(warm_start=True)
        loaded.merge_topics([(0, 1)]).drop_topics([0]).seed_topics([[0]]).fit(Corpus.from_scipy(data))
        assert np.all(np.isfinite(loaded.components_))
