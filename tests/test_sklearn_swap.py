"""LDA where LatentDirichletAllocation was: the same names, in the same tools."""

from __future__ import annotations

import warnings

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.decomposition import LatentDirichletAllocation
from sklearn.exceptions import NotFittedError
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline

import topmix
from topmix import LDA
from topmix.data import sample_lda
from topmix.inference import Collapsed

TEXTS = ["apples pears plums pears", "wheels engines brakes", "plums apples", "brakes wheels wheels engines"] * 8


@pytest.fixture(scope="module")
def X():
    return sample_lda(90, 30, 4, doc_length=40, random_state=1).corpus.to_scipy()


def lda(**parameters):
    return LDA(**{"n_components": 4, "max_iter": 4, "random_state": 0, "n_jobs": 1} | parameters)


def test_it_has_every_attribute_of_scikit_learn(X):
    theirs = LatentDirichletAllocation(4, max_iter=4, random_state=0).fit(X)
    ours = lda().fit(X)
    public = [name for name in vars(theirs) if name.endswith("_") and not name.startswith("_")]
    assert {"components_", "exp_dirichlet_component_", "bound_", "random_state_"} <= set(public)
    for name in public:
        assert isinstance(getattr(theirs, name), type(getattr(ours, name))), name
        assert np.shape(getattr(ours, name)) == np.shape(getattr(theirs, name)), name
    for name in ("exp_dirichlet_component_", "random_state_", "bound_"):
        assert not hasattr(lda(), name)
    with pytest.raises(NotFittedError):
        lda().exp_dirichlet_component_  # noqa: B018


@pytest.mark.parametrize(
    ("given", "shape"), [(None, ()), (0.2, ()), (np.linspace(0.1, 0.4, 4), (4,)), ("auto", (4,)), (np.full(4, 0.2), ())]
)
def test_document_priors_are_numbers_where_one_says_it_all(X, given, shape):
    model = lda(doc_topic_prior=given).fit(X)
    assert np.shape(model.doc_topic_prior_) == shape
    assert isinstance(model.doc_topic_prior_, float) == (shape == ())


@pytest.mark.parametrize("shape", [(), (30,), (4,), (4, 30)])
def test_word_priors_come_back_as_they_were_given(X, shape, tmp_path):
    given = np.random.default_rng(0).uniform(0.01, 0.1, shape)
    model = lda(topic_word_prior=given).fit(X)
    np.testing.assert_array_equal(model.topic_word_prior_, given)
    model.save(tmp_path / "model")
    np.testing.assert_array_equal(topmix.load(tmp_path / "model").topic_word_prior_, given)
    assert isinstance(lda(topic_word_prior="auto").fit(X).topic_word_prior_, float)


@pytest.mark.parametrize("inference", ["variational", "collapsed"])
def test_the_bound_is_a_perplexity(X, inference, tmp_path):
    model = lda(inference=inference).fit(X)
    assert np.log(model.bound_) == pytest.approx(-model.elbo_ / X.sum())
    assert model.perplexity(X) == pytest.approx(np.exp(-model.score(X) / X.sum()))
    assert 1 < model.perplexity(X) < X.shape[1]
    model.save(tmp_path / "model")
    assert topmix.load(tmp_path / "model").bound_ == model.bound_


def test_rows_sum_to_one_or_to_tokens_and_prior(X):
    model = lda().fit(X)
    np.testing.assert_allclose(model.transform(X).sum(axis=1), 1, rtol=1e-6)
    tokens = np.asarray(X.sum(axis=1)).ravel() + 4 * model.doc_topic_prior_
    np.testing.assert_allclose(model.transform(X, normalize=False).sum(axis=1), tokens, rtol=1e-5)
    np.testing.assert_allclose(model.fit_transform(X, normalize=False), model.transform(X, normalize=False))


def test_pandas_in_and_out(X):
    frame = pd.DataFrame(X.toarray(), columns=[f"w{v}" for v in range(30)], index=[f"d{d}" for d in range(90)])
    out = lda().set_output(transform="pandas").fit_transform(frame)
    assert list(out.columns) == ["lda0", "lda1", "lda2", "lda3"]
    assert list(out.index) == list(frame.index)
    np.testing.assert_allclose(out, lda().fit_transform(X))


def test_in_a_pipeline_and_a_grid(X):
    labels = [0, 1, 0, 1] * 8
    pipeline = make_pipeline(CountVectorizer(), lda(n_components=2), LogisticRegression())
    assert pipeline.fit(TEXTS, labels).score(TEXTS, labels) == 1.0
    search = GridSearchCV(lda(), {"n_components": [2, 5], "inference": ["collapsed", "variational"]}, cv=2).fit(X)
    assert np.all(np.isfinite(search.cv_results_["mean_test_score"]))
    assert search.best_estimator_.transform(X).shape == (90, search.best_params_["n_components"])
    grid = GridSearchCV(pipeline, {"lda__n_components": [1, 2]}, cv=2).fit(TEXTS, labels)
    assert grid.best_params_ == {"lda__n_components": 2}


def test_clones_start_anew(X):
    model = lda(doc_topic_prior=np.linspace(0.1, 0.4, 4), inference=Collapsed(stopping="mean")).fit(X)
    copy = clone(model)
    assert not hasattr(copy, "model_")
    np.testing.assert_array_equal(copy.fit(X).components_, model.components_)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert "inference=Collapsed(stopping='mean')" in repr(copy)
