"""What a new user meets in the first hour: mistakes that are easily made have an answer that says what to do."""

from __future__ import annotations

import warnings

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.pipeline import make_pipeline

import topmix
from topmix import LDA, CombinatorialLDA, GaussianMixture, GibbsLDA, MultinomialMixture, VonMisesFisherMixture
from topmix.data import Vectorizer
from topmix.metrics import cv_coherence, npmi_coherence, umass_coherence

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
