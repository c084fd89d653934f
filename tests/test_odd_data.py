"""Data that can be learned from, and is hardly what its owner meant: they are told."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from sklearn.feature_extraction.text import TfidfVectorizer

from topmix import HDP, LDA, GibbsLDA
from topmix.metrics import completion_score, completion_scorer, half_split_score, npmi_coherence
from topmix.report import write_report

rng = np.random.default_rng(0)
COUNTS = rng.poisson(0.5, (40, 30)).astype(float) + np.eye(40, 30)
SUBJECTS = [["boat", "sail", "sea", "harbour", "wind", "ship"], ["chess", "rook", "queen", "king", "board", "pawn"]]
TEXTS = [" ".join(rng.choice(SUBJECTS[i % 2], 9)) for i in range(60)]


def lda(K=3, **more):
    return LDA(K, **{"max_iter": 3, "random_state": 0} | more)


@pytest.mark.parametrize("model", [lda(41), GibbsLDA(41, max_iter=3), HDP(41, search=None, max_iter=3)])
def test_more_topics_than_documents_are_a_warning(model):
    with pytest.warns(UserWarning, match=r"more topics \(41\) than documents \(40\)"):
        model.fit(COUNTS)


@pytest.mark.parametrize("X", [COUNTS / COUNTS.sum(1, keepdims=True), TfidfVectorizer().fit_transform(TEXTS)])
def test_proportions_and_tf_idf_are_a_warning(X):
    with pytest.warns(UserWarning, match="X is not counts: a row sums to"):
        lda().fit(X)


@pytest.mark.parametrize("X", [COUNTS, 20.5 * COUNTS, np.eye(30), TEXTS])
def test_counts_and_weights_of_long_documents_are_no_warning(X):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        lda().fit(X)


def test_a_document_without_a_known_word_has_no_topic():
    model = lda().fit(TEXTS)
    assert list(model.predict(["zzz qqq"])) == [-1]
    info = model.document_info(["zzz qqq"])
    assert (info["topic"][0], info["tokens"][0]) == (-1, 0)


def test_scores_take_a_fitted_model_and_what_it_reads():
    model = lda().fit(TEXTS)
    want = completion_score(model.topic_word_, model.counts(TEXTS))
    assert completion_score(model, TEXTS) == completion_score(model, model.counts(TEXTS)) == want
    assert completion_scorer(model, TEXTS) == want
    assert half_split_score(model, TEXTS) == half_split_score(model.topic_word_, model.counts(TEXTS))
    with pytest.raises(ValueError, match="has no topics"):
        completion_score(lda(), TEXTS)
    with pytest.raises(ValueError, match=r"X is texts: pass .* model.counts"):
        completion_score(model.topic_word_, TEXTS)
    with pytest.raises(ValueError, match=r"model\.counts"):
        npmi_coherence(model.top_words(5), TEXTS)


def test_no_document_is_said_plainly():
    with pytest.raises(ValueError, match="X is empty"):
        lda().fit([])


def test_a_report_takes_texts(tmp_path):
    write_report(lda().fit(TEXTS), tmp_path / "report.html", TEXTS)
    assert '"n_docs":60' in (page := (tmp_path / "report.html").read_text())
    assert "harbour" in page
