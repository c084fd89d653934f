"""Data that can be learned from, and is hardly what its owner meant: they are told."""

from __future__ import annotations

import itertools
import os
import re
import tracemalloc
import warnings

import numpy as np
import pytest
from scipy.sparse import csr_array
from sklearn.feature_extraction.text import TfidfVectorizer

from topmix import (
    HDP,
    LDA,
    CombinatorialLDA,
    GaussianAdmixture,
    GaussianMixture,
    GibbsLDA,
    MultinomialMixture,
    VonMisesFisherMixture,
)
from topmix.corpus import rows
from topmix.corpus.rows import sums_between
from topmix.corpus.shard import row_sums
from topmix.data import Corpus
from topmix.estimators.odd_data import not_whole
from topmix.metrics import completion_score, completion_scorer, half_split_score, npmi_coherence
from topmix.models.topics import restarted
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


def test_a_count_that_no_sampler_can_draw_is_an_error_at_once():
    """A count of a thousand millions kept the sampler busy without a word."""
    X = COUNTS.copy()
    X[3, 3] = 1e9
    for sampler in ("parallel", "sequential"):
        with pytest.raises(ValueError, match=r"at most 16,777,216 tokens of a document; document 3 has 1,000,000,0"):
            GibbsLDA(3, sampler=sampler).fit(X)
    model = LDA(3, random_state=0).fit(X)  # samples in between, where it can
    assert np.all(np.isfinite(model.components_))
    assert {record.phase for record in model.history_} == {"learning"}


@pytest.mark.parametrize("model", [GibbsLDA(3, max_iter=1), CombinatorialLDA(3, max_iter=1)])
def test_many_tokens_of_few_counts_are_a_warning(model):
    X = COUNTS.copy()
    X[3, 3] = X[4, 4] = 1.1e7
    with pytest.warns(UserWarning, match=r"visits all 22,000,\d* of them .* use LDA"):
        model.fit(X)


@pytest.mark.parametrize("model", [GibbsLDA(3), CombinatorialLDA(3)])
def test_more_tokens_than_memory_has_room_for_are_an_error_at_once(model, monkeypatch):
    monkeypatch.setattr(os, "sysconf", lambda name: {"SC_PHYS_PAGES": 2**20, "SC_PAGE_SIZE": 4096}[name])
    with pytest.raises(ValueError, match="topics of 3,000,000,000 tokens, one for each, need about 24 GB, and there"):
        model.fit(np.full((300, 10), 1_000_000))


def test_a_perplexity_over_the_largest_float_is_infinite():
    model = HDP(3, doc_topic_prior=1e10, search=None, max_iter=2, random_state=0).fit(COUNTS)
    assert model.perplexity(COUNTS) > 1e10


@pytest.mark.parametrize("model", [lda(), HDP(3, search=None, max_iter=3), MultinomialMixture(2), GibbsLDA(3)])
@pytest.mark.parametrize("form", [np.asarray, csr_array])
def test_counts_that_no_float_holds_are_an_error(model, form):
    with pytest.raises(ValueError, match=r"too large for dtype.* Divide X by a constant"):
        model.fit(form(1e300 * COUNTS))
    with pytest.raises(ValueError, match=r"all are zero in single precision: multiply X"):
        model.fit(form(1e-300 * COUNTS))


@pytest.mark.parametrize("model", [lda(), MultinomialMixture(2)])
def test_counts_that_sum_to_nothing_are_an_error(model):
    with pytest.raises(ValueError, match=r"all of X sums to .*e-10, which is too little"):
        model.fit(1e-12 * COUNTS)


NUMBERS = np.concatenate([rng.normal(size=(40, 4)) + 5, rng.normal(size=(40, 4)) - 5])


@pytest.mark.parametrize("kind", ["full", "diag", "spherical", "tied"])
@pytest.mark.parametrize(
    ("scale", "error"), [(1e-200, "multiply X"), (1e-160, "multiply X"), (1e150, "divide X"), (1e300, "divide X")]
)
def test_numbers_whose_squares_no_float_holds_are_an_error(kind, scale, error):
    with pytest.raises(ValueError, match=error):
        GaussianMixture(2, covariance_type=kind).fit(scale * NUMBERS)


@pytest.mark.parametrize("kind", ["full", "diag", "spherical", "tied"])
@pytest.mark.parametrize("value", [1e20, 3e38, 1e40])
def test_a_row_that_is_far_away_is_a_cluster(kind, value):
    X = NUMBERS.copy()
    X[3, 2] = value
    labels = GaussianMixture(2, covariance_type=kind, random_state=0).fit(X).labels_
    assert np.flatnonzero(labels != labels[0]).tolist() == [3]


@pytest.mark.parametrize("groups", [(), (np.repeat(np.arange(16), 5),)])
def test_groups_that_reg_covar_hides_are_a_warning(groups):
    make = GaussianAdmixture if groups else GaussianMixture
    with pytest.warns(UserWarning, match=r"reg_covar=1e-06 is added .* 2\.\d+e-11 at most") as found:
        make(2, n_init=2, random_state=0).fit(1e-6 * NUMBERS, *groups)
    assert [one.filename for one in found] == [__file__]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for X in (1e-2 * NUMBERS, np.ones((80, 2)), np.concatenate([NUMBERS, np.ones_like(NUMBERS)], axis=1)):
            make(2, random_state=0).fit(X, *groups)


@pytest.mark.parametrize("model", [lda(), lda(inference="variational"), HDP(3, search=None, max_iter=3)])
def test_counts_whose_sums_are_infinite_are_an_error(model):
    with pytest.raises(ValueError, match=r"column \d+ sums to .*Divide X"):
        model.fit(3e37 * COUNTS)
    model.fit(1e30 * COUNTS)
    assert np.all(np.isfinite(model.components_))


@pytest.mark.parametrize("model", [GaussianMixture(2), MultinomialMixture(2), VonMisesFisherMixture(2)])
@pytest.mark.parametrize("weight", [1e300, 1e-300])
def test_weights_that_cannot_be_summed_are_named(model, weight):
    said = re.escape(f"the largest sample_weight is {weight:g}; it must be from 1e-30 to 1e+30")
    for fit in (model.fit, model.partial_fit):
        with pytest.raises(ValueError, match=said):
            fit(COUNTS, sample_weight=np.full(len(COUNTS), weight))


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
    with pytest.raises(ValueError, match="has no topic"):  # by Python's version two sentences
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


def test_a_corpus_in_a_file_is_not_copied_into_memory_to_be_looked_at(tmp_path):
    """By what every fit does: is it odd, can it be sampled, which topics are small?"""
    n_docs, n_words = 40_000, 150
    index = np.tile(np.arange(n_words, dtype=np.int32), n_docs)
    value = rng.integers(1, 4, len(index)).astype(np.float32)
    Corpus(np.arange(n_docs + 1) * n_words, index, value, n_words).save(tmp_path / "corpus")
    corpus, sizes = Corpus.open(tmp_path / "corpus"), np.append(np.ones(9), 0.0)
    lengths, whole = value.reshape(n_docs, n_words).sum(axis=1, dtype=np.float64), len(not_whole(corpus)) == 0
    tracemalloc.start()
    try:
        np.testing.assert_array_equal(row_sums(corpus.indptr, corpus.value), lengths)
        assert whole
        assert len(not_whole(corpus)) == 0
        assert restarted(corpus, sizes, np.random.default_rng(0)) is not None
        assert tracemalloc.get_traced_memory()[1] < 4 * corpus.nnz
    finally:
        tracemalloc.stop()


def test_sums_of_runs_do_not_depend_on_how_many_are_summed_at_a_time(monkeypatch):
    values, lengths = rng.normal(size=5000).astype(np.float32), rng.integers(0, 90, 120)
    starts = np.append(0, np.cumsum(lengths))
    starts = np.minimum(starts, len(values))
    whole = sums_between(values, starts)
    one_by_one = [values[a:b].sum(dtype=np.float64) for a, b in itertools.pairwise(starts)]
    np.testing.assert_allclose(whole, one_by_one, atol=1e-12)
    for at_a_time in (1, 50, 700):
        monkeypatch.setattr(rows, "SUMMED_AT_A_TIME", at_a_time)
        np.testing.assert_array_equal(sums_between(values, starts), whole)
