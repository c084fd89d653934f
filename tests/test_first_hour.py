"""What a new user meets in the first hour: mistakes that are easily made have an answer that says what to do."""

from __future__ import annotations

import json
import warnings

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.pipeline import make_pipeline
from typer.testing import CliRunner

import topmix
from topmix import LDA, CombinatorialLDA, GaussianMixture, GibbsLDA, MultinomialMixture, VonMisesFisherMixture
from topmix.apps.command import app
from topmix.apps.page.topics import labels, overview
from topmix.data import Vectorizer, sample_lda
from topmix.metrics import cv_coherence, npmi_coherence, umass_coherence
from topmix.results.view import TopicView, best_first, quality
from topmix.selection.views import ModelView, view_of

TEXTS = ["the boat and the sail in the wind at sea", "chess: the rook, the queen and the king on the board"] * 15


@pytest.fixture(scope="module")
def lda():
    return LDA(2, random_state=0, max_iter=3).fit(TEXTS)


def test_words_come_through_a_pipeline_or_the_model_says_how_to_name_them(tmp_path):
    counter, lda = CountVectorizer(), LDA(2, random_state=0, max_iter=3)
    pipeline = make_pipeline(counter, lda).fit(TEXTS)
    for show in (lda.top_words, lda.topic_info, lda.topic_tree):
        with pytest.warns(UserWarning, match=r"model\.name_words\(counter\.get_feature_names_out\(\)\)"):
            show()
    pipeline[-1].name_words(counter.get_feature_names_out())
    assert {"boat", "sail", "wind"} & set(lda.top_words(20)[0] + lda.top_words(20)[1])
    lda.save(tmp_path / "model")
    assert topmix.load(tmp_path / "model").top_words() == lda.top_words()
    assert np.array_equal(pipeline.transform(TEXTS), lda.transform(counter.transform(TEXTS)))  # without a warning
    with pytest.raises(ValueError, match="2 names, but X has"):
        lda.name_words(["a", "b"])
    ours = make_pipeline(Vectorizer(), LDA(2, random_state=0, max_iter=3)).fit(TEXTS)
    assert "boat" in ours[-1].feature_names_in_


COUNTS = {"array": np.asarray, "sparse": sp.csr_array, "frame": pd.DataFrame, "columns": sp.csc_array}


@pytest.mark.parametrize("kind", COUNTS)
@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_a_missing_count_is_named_by_its_place(kind, value):
    X = np.ones((20, 5))
    X[3, 2] = X[7, 1] = value
    for estimator in (LDA(2), MultinomialMixture(2)):
        with pytest.raises(ValueError, match=r"(row 3, column 2|row 7, column 1), and 2 such values") as error:
            estimator.fit(COUNTS[kind](X))
        assert "Boosting" not in str(error.value)


@pytest.mark.parametrize(
    "estimator", [LDA(2), GibbsLDA(2), CombinatorialLDA(2), MultinomialMixture(2), GaussianMixture(2)]
)
def test_y_of_another_length_is_refused(estimator):
    X = np.ones((20, 5)) + np.eye(20, 5)
    with pytest.raises(ValueError, match="y has 5 values, but X has 20 rows"):
        estimator.fit(X, ["a", "b", "c", "d", "e"])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        estimator.set_params(max_iter=1).fit(X, np.arange(20))


@pytest.mark.parametrize("mixture", [GaussianMixture, VonMisesFisherMixture, MultinomialMixture])
def test_more_clusters_than_rows_is_a_warning(mixture):
    X = np.random.default_rng(0).poisson(3.0, (20, 3)) + 1.0
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        mixture(30, random_state=0, max_iter=1).fit(X)
    assert any("more clusters (30) than rows (20)" in str(warning.message) for warning in found)


def test_rows_without_a_text_are_a_warning():
    with pytest.warns(UserWarning, match="2 of the 32 rows have no text in 'text'"):
        LDA(2, max_iter=1).fit(pd.DataFrame({"text": [*TEXTS, None, None]}))


def test_exports_and_metrics_take_what_fit_takes(lda, tmp_path):
    counts = lda.counts(TEXTS)
    found, expected = topmix.export.to_pyldavis(lda, TEXTS), topmix.export.to_pyldavis(lda, counts)
    assert all(np.array_equal(found[name], expected[name]) for name in expected)
    topmix.export.export(lda, tmp_path / "mallet", "mallet", TEXTS)
    assert len((tmp_path / "mallet" / "doc-topics.txt").read_text().splitlines()) == len(TEXTS)
    for measure in (npmi_coherence, umass_coherence, cv_coherence):
        assert measure(lda, TEXTS, top_n=4) == measure(lda.topic_word_, counts, top_n=4)


def test_a_file_of_another_kind_is_no_model(tmp_path):
    (tmp_path / "reviews.csv").write_text("id,text\n1,good\n")
    with pytest.raises(ValueError, match=r"reviews\.csv: this is not a topmix model"):
        topmix.load(tmp_path / "reviews.csv")


def test_words_are_in_one_order_everywhere(lda, tmp_path):
    words = lda.top_words(6)
    info = lda.topic_info(n_words=6)
    assert [list(found) for found in info.sort_values("topic")["words"]] == words
    assert labels(view_of(lda), 6) == words
    lda.save(tmp_path / "model")
    done = CliRunner().invoke(app, ["topics", str(tmp_path / "model"), "--json", "-n", "6"])
    shown = {topic["topic"]: topic["words"] for topic in json.loads(done.stdout)["topics"]}
    assert [shown[k] for k in range(2)] == words
    most_probable = np.argsort(-lda.components_, axis=1, kind="stable")[:, :6]
    assert lda.top_words(6, relevance=1) == [[lda.feature_names_in_[v] for v in row] for row in most_probable]


def view(topic_word, share, tokens=1000.0):
    phi = np.asarray(topic_word, float)
    return TopicView(phi / phi.sum(axis=1, keepdims=True), np.asarray(share), tokens, list("abcdefghijklmnopqrst"))


def test_topics_that_are_not_worth_reading_say_why_and_come_last():
    own = np.full((5, 20), 1e-6) + np.kron(np.eye(5), np.ones(4))
    own[1] = own[0] + own[2] + own[3]  # the words of all others
    found = quality(view(own, [0.3, 0.05, 0.35, 0.3, 0.0]))
    assert [why.split(":")[0] for why in found] == ["good", "filler", "good", "good", "empty"]
    assert best_first(view(own, [0.2, 0.3, 0.3, 0.2, 0.0]), found).tolist() == [2, 0, 3, 1, 4]
    apart = np.kron(np.eye(5), np.ones(4))
    assert quality(view(apart, [0.39, 0.2, 0.2, 0.2, 0.01]))[4] == "small: 1.0% of all tokens"
    coherence, documents = np.array([0.2, 0.3, 0.2, 0.01, 0.2]), np.array([9, 9, 2, 9, 9])
    judged = quality(view(apart, np.full(5, 0.2)), coherence, documents)
    assert [why.split(":")[0] for why in judged] == ["good", "good", "few documents", "low coherence", "good"]


def test_representative_documents_are_about_their_topic(lda):
    table = lda.representative_documents(["boat", *TEXTS], n=2)
    assert list(table.columns) == ["topic", "name", "document", "weight", "text"]
    assert table["topic"].value_counts().to_dict() == {0: 2, 1: 2}
    assert "boat" not in set(table["text"])  # all of it is about the sea, and it is one word
    assert (lda.predict(list(table["text"])) == table["topic"]).all()
    assert table.groupby("topic")["weight"].is_monotonic_decreasing.all()


def test_pages_fold_poor_topics_and_count_their_own_documents():
    corpus = sample_lda(60, 80, 5, doc_length=30, random_state=0).corpus
    model = LDA(8, max_iter=12, random_state=0).fit(corpus)
    shown = overview(ModelView(model), corpus[:7], np.zeros((8, 2)), ["good", "filler: why"] + ["good"] * 6)
    assert shown["quality"] == [None, "filler: why", *[None] * 6]
    about = shown["about"]
    assert (about["n_docs"], about["corpus_tokens"], about["tokens"]) == (7, corpus[:7].n_tokens, corpus.n_tokens)
    n_sweeps = sum(record.phase == "sampling" for record in model.history_)
    assert about["passes"] == f"{model.n_iter_ - n_sweeps} passes and {n_sweeps} sampling sweeps"
