"""A sweep measures every fit on the same held-out documents, and ends with a recommendation and its reason."""

from __future__ import annotations

import re

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp
from sklearn.decomposition import LatentDirichletAllocation

import topmix
from topmix import HDP, LDA, GaussianAdmixture, LabelledLDA, MultinomialMixture
from topmix.data import Corpus, sample_lda
from topmix.inference import Collapsed
from topmix.metrics import completion_score, match_topics, npmi_coherence, topic_diversity
from topmix.report import write_report
from topmix.selection.measure import hold_out

QUICK = LDA(inference=Collapsed(sweeps=0), max_iter=6)


@pytest.fixture(scope="module")
def corpus():
    sample = sample_lda(320, 90, 5, doc_length=50, random_state=3).corpus
    return Corpus.from_scipy(sample.to_scipy(), vocabulary=[f"word{v}" for v in range(90)])


@pytest.fixture(scope="module")
def result(corpus):
    return topmix.sweep(corpus, [10, 2, 5], seeds=2, estimator=QUICK, held_out=90, verbose=0)


def test_planted_topics_are_counted(result):
    assert result.recommended == 5
    assert [size.n_components for size in result.sizes] == [2, 5, 10]  # in any order as they were given
    assert result.sizes[1].mean("stability") > result.sizes[2].mean("stability")
    assert "5" in result.reason


def test_measures_are_those_of_the_metrics(corpus, result):
    split = hold_out(corpus, 90, 0)
    topics = [LDA(5, inference=Collapsed(sweeps=0), max_iter=6, random_state=s).fit(split.train) for s in (0, 1)]
    for fit, model in zip(result.sizes[1].fits, topics):
        assert fit.score == pytest.approx(completion_score(model.topic_word_, split.test), abs=1e-12)
        assert fit.coherence == pytest.approx(npmi_coherence(model.topic_word_, split.train), abs=1e-12)
        assert fit.diversity == topic_diversity(model.topic_word_)
        similarity = 1 - match_topics(topics[0].topic_word_, topics[1].topic_word_, metric="cosine").distance.mean()
        assert fit.stability == pytest.approx(similarity, abs=1e-12)


def test_the_split_is_disjoint_and_has_no_word_that_nobody_learned():
    X = sp.csr_array(np.vstack([np.tile([1, 1, 0, 0], (9, 1)), [[0, 1, 1, 0]], np.tile([0, 0, 0, 3], (4, 1))]))
    X = sp.csr_array(np.hstack([X.toarray(), np.eye(14)]))  # a word of its own for each document
    split = hold_out(Corpus.from_scipy(X), 4, 0)
    assert (split.train.n_docs, split.test.n_docs) == (10, 4)
    assert np.all(np.bincount(split.train.index, minlength=split.train.n_words) > 0)
    assert split.train.n_words == split.test.n_words < X.shape[1]


@pytest.mark.parametrize(("n", "wanted", "expected"), [
    (12, None, 4), (100, None, 33), (150, None, 50), (3000, None, 300), (30_000, None, 2000),
    (100, 0.2, 20), (100, 7, 7),
])  # fmt: skip
def test_how_many_documents_are_held_out(n, wanted, expected):
    assert hold_out(Corpus.from_scipy(sp.csr_array(np.ones((n, 2)))), wanted, 0).test.n_docs == expected


def test_tables_have_a_row_per_size_and_per_fit(corpus, result):
    assert isinstance(result.table, pd.DataFrame)
    assert result.table["n_components"].tolist() == [2, 5, 10]
    assert result.table["score"][1] == pytest.approx(result.fits_table["score"][2:4].mean())
    assert result.table["score_spread"][1] == pytest.approx(result.fits_table["score"][2:4].std())
    assert result.fits_table["seed"].tolist() == [0, 1] * 3
    words = [" ".join(f"w{v}" for v in row.indices) for row in corpus.to_scipy()[:40]]
    found = topmix.sweep(pl.DataFrame({"body": words}), [2], seeds=[7], estimator=QUICK, text="body", verbose=0)
    assert isinstance(found.table, pl.DataFrame)
    assert found.fits_table["seed"].to_list() == [7]
    assert np.isnan(found.table["stability"][0])
    assert "one seed" in found.reason


def test_ctrl_c_returns_what_has_been_measured(corpus, monkeypatch):
    fit, calls = LDA.fit, []

    def stop_at_the_fourth(self, *args, **kwargs):
        calls.append(self.n_components)
        if len(calls) == 4:
            raise KeyboardInterrupt
        return fit(self, *args, **kwargs)

    monkeypatch.setattr(LDA, "fit", stop_at_the_fourth)
    found = topmix.sweep(corpus, [2, 5, 10], seeds=2, estimator=QUICK, verbose=0)
    assert found.interrupted
    assert [(size.n_components, size.n_seeds) for size in found.sizes] == [(2, 2), (5, 1)]
    assert "after 3 of 6 fits" in found.reason
    calls[:] = [0] * 3
    with pytest.raises(KeyboardInterrupt):  # nothing was measured
        topmix.sweep(corpus, [2], estimator=QUICK, verbose=0)


@pytest.mark.parametrize(("arguments", "said"), [
    ({"n_components": []}, "n_components is empty"),
    ({"n_components": "20,50"}, "must be a list of numbers of topics"),
    ({"n_components": [5, 0]}, "n_components must be an integer from 1"),
    ({"n_components": [5, 300]}, r"300, but there are only 270 documents.* try fewer topics"),
    ({"seeds": 0}, "seeds must be a positive integer"),
    ({"seeds": [1, 1]}, "a list of different seeds"),
    ({"held_out": 1.5}, "share between 0 and 1"),
    ({"held_out": 319}, "only 320 documents"),
    ({"tolerance": -1}, "tolerance must be a number"),
    ({"random_state": None}, "random_state must be"),
    ({"estimator": GaussianAdmixture()}, "0 groups with two rows"),
    ({"estimator": MultinomialMixture()}, "must be a topic model"),
    ({"estimator": LatentDirichletAllocation()}, "must be a topic model"),
    ({"estimator": LabelledLDA()}, "need documents alone"),
    ({"estimator": HDP()}, "searches the number of topics by itself"),
    ({"estimator": "LDA"}, "str is none"),
])  # fmt: skip
def test_bad_input_is_explained(corpus, arguments, said):
    with pytest.raises(ValueError, match=said):
        topmix.sweep(corpus, **({"n_components": [2, 5], "verbose": 0} | arguments))


def test_too_few_documents_are_explained():
    with pytest.raises(ValueError, match="3 documents with two different words"):
        topmix.sweep(np.ones((3, 4)), [2], verbose=0)


def test_progress_is_a_line_per_fit_where_there_is_no_terminal(corpus, capsys):
    topmix.sweep(corpus, [2], seeds=2, estimator=QUICK)
    assert re.findall(r"sweep: (\d) of 2: 2 topics, seed (\d)", capsys.readouterr().err) == [("1", "0"), ("2", "1")]
    topmix.sweep(corpus, [2], seeds=1, estimator=QUICK, verbose=0)
    assert capsys.readouterr() == ("", "")


def test_it_prints_as_a_table_and_the_reason(result):
    lines = str(result).splitlines()
    assert lines[0].split() == ["topics", "score", "coherence", "diversity", "stability", "seconds"]
    assert sum(line.lstrip().startswith(("2 ", "5 ", "10 ")) for line in lines) >= 3
    assert "Recommended: 5 topics." in str(result)
    assert repr(result) == str(result)
    assert "<table>" in result._repr_html_()


def test_the_page_is_whole_and_runs_nothing(result, tmp_path):
    write_report(result, tmp_path / "page.html", title="<b>mine</b>")
    page = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert page.count("<svg") == 1
    again = page.replace("mine", "again")
    write_report(result, tmp_path / "again.html", title="<b>again</b>")
    assert (tmp_path / "again.html").read_text(encoding="utf-8") == again
    assert "&lt;b&gt;mine" in page
    assert "<b>mine" not in page
    assert "<script" not in page
    assert "http://" not in page
    assert "https://" not in page
    assert "<h2>5 topics</h2>" in page


def test_the_plot_has_a_panel_per_measure(result):
    pyplot = pytest.importorskip("matplotlib.pyplot")
    figure = topmix.plot.sweep(result).figure
    assert [ax.get_xlabel() for ax in figure.axes] == ["topics"] * 4
    assert [label.get_text() for label in figure.axes[0].get_xticklabels()] == ["2", "5", "10"]
    figure.canvas.draw()
    pyplot.close("all")
    with pytest.raises(ValueError, match="measure='speed' is not one of"):
        topmix.plot.sweep(result, "speed")


def test_stability_has_an_interval_and_empty_topics_are_not_reproduced(result):
    table = result.table
    assert np.all((table["stability_low"] < table["stability"]) & (table["stability"] < table["stability_high"]))
    assert table["reproducibility"][1] >= 0.8  # five planted topics
    assert table["reproducibility"][2] < table["reproducibility"][1]  # of ten, half are not there
    assert set(result.to_dict()["sizes"][0]["stability"]) == {"mean", "spread", "low", "high"}
