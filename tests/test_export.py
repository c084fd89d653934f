"""Models in the hands of other libraries: the same topics, words and priors, under the same numbers."""

from __future__ import annotations

import csv

import joblib
import numpy as np
import pytest

from topmix import LDA, MultinomialMixture
from topmix.data import Corpus, sample_lda
from topmix.export import EXPORTS, export, to_gensim, to_pyldavis, to_sklearn


@pytest.fixture(scope="module")
def corpus():
    sample = sample_lda(150, 40, 4, doc_length=60, random_state=1).corpus
    return Corpus.from_scipy(
        sample.to_scipy(), vocabulary=[f"wörd{v}" for v in range(40)], names=[f"d{d}" for d in range(150)]
    )


@pytest.fixture(scope="module")
def model(corpus):
    return LDA(5, max_iter=10, doc_topic_prior=0.2, random_state=0).fit(corpus)


def test_scikit_learn_goes_on_with_it(model, corpus):
    X = corpus.to_scipy().astype(np.float64)  # its perplexity mixes up types otherwise, also of a model of its own
    lda = to_sklearn(model)
    np.testing.assert_array_equal(lda.components_, model.components_)
    theirs = lda.transform(X)
    apart = np.abs(theirs - model.transform(corpus)).sum(axis=1)  # variational there, collapsed here
    assert np.median(apart) < 0.25
    assert np.isfinite(lda.perplexity(X))
    before = lda.components_.copy()
    assert not np.array_equal(lda.partial_fit(X).components_, before)
    assert lda.get_feature_names_out()[0] == "latentdirichletallocation0"


def test_gensim_goes_on_with_it(model, corpus):
    pytest.importorskip("gensim", reason="gensim is not installed")
    lda = to_gensim(model)
    mean = model.components_ / model.components_.sum(axis=1, keepdims=True)
    np.testing.assert_allclose(lda.get_topics(), mean, rtol=1e-6)
    for k, words in enumerate(model.top_words(5)):
        assert [word for word, _ in lda.show_topic(k, 5)] == words
    np.testing.assert_allclose(lda.alpha, 0.2)
    bow = list(zip(corpus[0].index.tolist(), corpus[0].value.tolist()))
    theta = np.zeros(5)
    for k, p in lda.get_document_topics(bow, minimum_probability=0):
        theta[k] = p
    assert theta.argmax() == model.transform(corpus[0])[0].argmax()


def test_pyldavis_gets_what_it_asks_for(model, corpus):
    X = corpus.to_scipy().tolil()
    X[3] = 0
    hollow = Corpus.from_scipy(X.tocsr(), vocabulary=corpus.vocabulary)
    data = to_pyldavis(model, hollow)
    assert data["topic_term_dists"].shape == (5, 40)
    assert data["doc_topic_dists"].shape == (149, 5)
    for rows in (data["topic_term_dists"], data["doc_topic_dists"]):
        np.testing.assert_allclose(rows.sum(axis=1), 1)
    assert len(data["vocab"]) == len(data["term_frequency"]) == 40
    assert (data["doc_lengths"] > 0).all()
    pyldavis = pytest.importorskip("pyLDAvis", reason="pyLDAvis is not installed")
    pyldavis.prepare(**data)


def test_mallet_files(model, corpus, tmp_path):
    export(model, tmp_path / "mallet", "mallet", corpus)
    keys = [line.split("\t") for line in (tmp_path / "mallet" / "topic-keys.txt").read_text().splitlines()]
    assert [(int(k), float(alpha)) for k, alpha, _ in keys] == [(k, 0.2) for k in range(5)]
    assert keys[2][2].split()[:5] == model.top_words(5)[2]
    weights = (tmp_path / "mallet" / "topic-word-weights.txt").read_text().splitlines()
    read = np.array([float(line.split("\t")[2]) for line in weights]).reshape(5, 40)
    np.testing.assert_allclose(read, model.components_, rtol=1e-5)
    docs = [line.split("\t") for line in (tmp_path / "mallet" / "doc-topics.txt").read_text().splitlines()]
    assert docs[7][:2] == ["7", "d7"]
    np.testing.assert_allclose(np.array([row[2:] for row in docs], float), model.transform(corpus), atol=1e-5)


def test_tables(model, tmp_path):
    import pyarrow.parquet as pq

    export(model, tmp_path / "topics.csv")
    export(model, tmp_path / "topics.parquet")
    header, *rows = csv.reader((tmp_path / "topics.csv").read_text(encoding="utf-8").splitlines())
    table = pq.read_table(tmp_path / "topics.parquet")
    assert header == table.column_names
    assert [row[3] for row in rows] == table["word"].to_pylist()
    assert len(rows) == 5 * 40
    np.testing.assert_allclose(np.array([row[4] for row in rows], float).reshape(5, 40).sum(axis=1), 1, rtol=1e-4)
    assert [row[3] for row in rows[40:45]] == model.top_words(5)[1]


def test_saved_for_scikit_learn(model, tmp_path):
    export(model, tmp_path / "model.joblib")
    np.testing.assert_array_equal(joblib.load(tmp_path / "model.joblib").components_, model.components_)


def test_what_cannot_be_is_said(model, corpus, tmp_path):
    with pytest.raises(ValueError, match="mallet"):
        export(model, tmp_path / "x.xls")
    with pytest.raises(ValueError, match="corpus"):
        export(model, tmp_path / "x.json")
    mixture = MultinomialMixture(3, max_iter=2, random_state=0).fit(corpus)
    with pytest.raises(ValueError, match="MultinomialMixture"):
        to_sklearn(mixture)
    export(mixture, tmp_path / "clusters.csv")  # but words it has
    assert not (tmp_path / "x.xls").exists()
    assert len(EXPORTS) == 7
