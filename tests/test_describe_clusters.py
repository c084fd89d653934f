"""Clusters of documents described by words, with the weights of BERTopic."""

from __future__ import annotations

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.preprocessing import normalize

from topmix import GaussianMixture, VonMisesFisherMixture, describe_clusters
from topmix.results.mixture import class_tfidf

SUBJECTS = ["boat sail sea harbour wind ship mast", "chess rook queen king board pawn mate", "piano chord tune singer"]


@pytest.fixture(scope="module")
def texts():
    rng = np.random.default_rng(0)
    return [" ".join(rng.choice(SUBJECTS[i % 3].split(), 12)) + " the" for i in range(90)]


@pytest.fixture(scope="module")
def vectors():
    """Embeddings with one direction per subject."""
    rng = np.random.default_rng(1)
    rows = np.eye(3)[np.arange(90) % 3] + 0.1 * rng.normal(size=(90, 3))
    return rows / np.linalg.norm(rows, axis=1, keepdims=True)


def as_bertopic_computes_it(counts):
    """ClassTfidfTransformer of BERTopic 0.17, written out: fit, then transform, without its options."""
    df = np.squeeze(np.asarray(counts.sum(axis=0)))
    average = int(counts.sum(axis=1).mean())
    idf = sp.diags(np.log((average / df) + 1), offsets=0, shape=(len(df), len(df)), format="csr")
    return normalize(counts, axis=1, norm="l1", copy=True) * idf


def test_weights_are_those_of_bertopic(texts):
    labels = np.arange(90) % 3 - (np.arange(90) % 7 == 0)  # -1, 0, 1, 2
    clusters = np.unique(labels)
    counts = CountVectorizer().fit_transform([" ".join(np.array(texts)[labels == c]) for c in clusters])
    expected = as_bertopic_computes_it(counts)
    np.testing.assert_allclose(class_tfidf(sp.csr_array(counts)).toarray(), expected.toarray(), rtol=1e-12)
    table = describe_clusters(labels, texts, vectorizer=CountVectorizer(), n_words=5)
    for cluster, weights in zip(table["cluster"], table["weights"]):
        row = expected[list(clusters).index(cluster)].toarray().ravel()
        np.testing.assert_allclose(weights, np.sort(row)[::-1][:5], rtol=1e-12)


@pytest.mark.parametrize("model", [
    VonMisesFisherMixture(3, random_state=0), GaussianMixture(3, random_state=0, covariance_type="diag", n_init=3)
])  # fmt: skip
def test_clusters_of_embeddings_are_described_by_their_words(texts, vectors, model):
    labels = model.fit(vectors).predict(vectors)
    table = describe_clusters(labels, texts, n_words=4)
    assert table["size"].tolist() == [30, 30, 30]
    found = {next(s for s, line in enumerate(SUBJECTS) if set(words) <= set(line.split())) for words in table["words"]}
    assert found == {0, 1, 2}


def test_outliers_are_last_or_left_out(texts):
    labels = np.where(np.arange(90) < 60, -1, 5)
    table = describe_clusters(labels, texts)
    assert table["cluster"].tolist() == [5, -1]
    assert table["share"].tolist() == [30 / 90, 60 / 90]
    alone = describe_clusters(labels, texts, outliers=False)
    assert alone["cluster"].tolist() == [5]
    assert alone["weights"][0] == table["weights"][0]


def test_documents_may_be_counts_tables_or_texts_and_labels_names(texts):
    names = [["sea", "chess", "music"][i % 3] for i in range(90)]
    table = describe_clusters(names, pl.DataFrame({"body": texts}), text="body", n_words=3)
    assert isinstance(table, pl.DataFrame)
    assert set(table["cluster"]) == {"sea", "chess", "music"}
    counter = CountVectorizer()
    counts = counter.fit_transform(texts)
    by_counts = describe_clusters(pd.Series(names), counts, feature_names=counter.get_feature_names_out(), n_words=3)
    by_texts = describe_clusters(names, texts, vectorizer=CountVectorizer(), n_words=3)
    assert by_counts["words"].tolist() == by_texts["words"].tolist()
    assert describe_clusters([1.0, 1.0, 0.0], np.eye(3), n_words=2)["words"].tolist() == [["0", "1"], ["2"]]


def test_a_cluster_without_words_is_no_error():
    table = describe_clusters([0, 1], np.array([[2, 1], [0, 0]]))
    assert table["words"].tolist() == [["1", "0"], []] or table["words"].tolist() == [["0", "1"], []]
    assert table["name"][1] == "(empty)"


@pytest.mark.parametrize(("labels", "said"), [
    ([0, 1], r"shape \(2,\), and there are 90 documents"),
    (np.zeros((90, 2)), "one label each"),
    ([0.5] * 90, "whole numbers or names"),
    ([np.nan] * 90, "whole numbers or names"),
    ([None] * 90, "a label is missing"),
    (VonMisesFisherMixture(2), r"pass model\.labels_"),
])  # fmt: skip
def test_bad_labels_are_explained(texts, labels, said):
    with pytest.raises(ValueError, match=said):
        describe_clusters(labels, texts)
