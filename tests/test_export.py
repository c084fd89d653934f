"""Exports hold the same topics, words and priors as the model, with the same topic numbers."""

from __future__ import annotations

import csv
import json
import sys

import numpy as np
import pytest

from topmix import LDA, MultinomialMixture
from topmix.data import Corpus, CorpusError, sample_lda
from topmix.export import EXPORTS, export, to_gensim, to_pyldavis, to_sklearn, write_csv, write_parquet, write_tsv


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
    pytest.importorskip("gensim.models", reason="gensim is not installed")
    lda = to_gensim(model)
    mean = model.components_ / model.components_.sum(axis=1, keepdims=True)
    np.testing.assert_allclose(lda.get_topics(), mean, rtol=1e-6)
    for k, words in enumerate(model.top_words(5, relevance=1)):
        assert [word for word, _ in lda.show_topic(k, 5)] == words
    np.testing.assert_allclose(lda.alpha, 0.2)
    bow = list(zip(corpus[0].index.tolist(), corpus[0].value.tolist()))
    theta = np.zeros(5)
    for k, p in lda.get_document_topics(bow, minimum_probability=0):
        theta[k] = p
    assert theta.argmax() == model.transform(corpus[0])[0].argmax()


def test_gensim_keeps_priors_that_differ_by_topic(corpus):
    pytest.importorskip("gensim.models", reason="gensim is not installed")
    eta = np.random.default_rng(0).uniform(0.01, 2.0, (3, 40))
    seeded = LDA(3, max_iter=3, random_state=0, topic_word_prior=eta).fit(corpus)
    lda = to_gensim(seeded)
    np.testing.assert_allclose(lda.eta, eta)
    np.testing.assert_allclose(lda.state.get_lambda(), seeded.components_)
    assert lda.state.sstats.min() > -1e-9  # tokens, without the prior


def test_gensim_saves_and_loads_the_model(model, tmp_path):
    models = pytest.importorskip("gensim.models", reason="gensim is not installed")
    to_gensim(model).save(str(tmp_path / "model.gensim"))
    lda = models.LdaModel.load(str(tmp_path / "model.gensim"))
    mean = model.components_ / model.components_.sum(axis=1, keepdims=True)
    np.testing.assert_allclose(lda.get_topics(), mean, rtol=1e-6)
    assert [lda.id2word[v] for v in range(40)] == model.feature_names_in_.tolist()


def test_without_gensim_the_error_says_how_to_install_it(model, monkeypatch):
    monkeypatch.setitem(sys.modules, "gensim", None)
    monkeypatch.setitem(sys.modules, "gensim.corpora", None)
    with pytest.raises(ImportError, match="pip install gensim"):
        to_gensim(model)


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

    for name in ("topics.csv", "topics.tsv", "topics.parquet"):
        export(model, tmp_path / name)
    header, *rows = csv.reader((tmp_path / "topics.csv").read_text(encoding="utf-8").splitlines())
    lines = (tmp_path / "topics.tsv").read_text(encoding="utf-8").splitlines()
    assert [line.split("\t") for line in lines] == [header, *rows]
    table = pq.read_table(tmp_path / "topics.parquet")
    assert header == table.column_names == ["topic", "share", "rank", "word", "probability"]
    assert [row[3] for row in rows] == table["word"].to_pylist()
    np.testing.assert_allclose(table["probability"], np.array([row[4] for row in rows], float), rtol=1e-5)
    assert [int(row[0]) for row in rows] == np.repeat(range(5), 40).tolist()
    assert [int(row[2]) for row in rows] == [*range(1, 41)] * 5
    shares = np.array([row[1] for row in rows], float).reshape(5, 40)
    assert shares[:, 0].sum() == pytest.approx(1, abs=1e-5)
    assert np.ptp(shares, axis=1).max() == 0
    assert len(rows) == 5 * 40
    np.testing.assert_allclose(np.array([row[4] for row in rows], float).reshape(5, 40).sum(axis=1), 1, rtol=1e-4)
    assert [row[3] for row in rows[40:45]] == model.top_words(5)[1]


@pytest.mark.parametrize("write", [write_csv, write_tsv, write_parquet])
def test_tables_have_as_many_words_as_asked_for(model, tmp_path, write):
    import pyarrow.parquet as pq

    for n_words, n_rows in ((3, 15), (None, 200)):
        write(model, tmp_path / "t", n_words=n_words)
        found = pq.read_table(tmp_path / "t").num_rows if write is write_parquet else _n_lines(tmp_path / "t") - 1
        assert found == n_rows


def _n_lines(path):
    return len(path.read_text(encoding="utf-8").splitlines())


# Format -> the topics [5, 40] that the exported file holds.
READ_TOPICS = {
    "csv": lambda path, words: _table_topics(path, ",", words),
    "tsv": lambda path, words: _table_topics(path, "\t", words),
    "parquet": lambda path, words: _parquet_topics(path, words),
    "pyldavis": lambda path, words: np.array(json.loads(path.read_text())["topic_term_dists"]),
    "mallet": lambda path, words: np.array(
        [float(line.split("\t")[2]) for line in (path / "topic-word-weights.txt").read_text().splitlines()]
    ).reshape(5, 40),
}


def _table_topics(path, delimiter, words):
    phi = np.zeros((5, 40))
    with path.open(encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file, delimiter=delimiter):
            phi[int(row["topic"]), words.index(row["word"])] = float(row["probability"])
    return phi


def _parquet_topics(path, words):
    import pyarrow.parquet as pq

    phi = np.zeros((5, 40))
    for row in pq.read_table(path).to_pylist():
        phi[row["topic"], words.index(row["word"])] = row["probability"]
    return phi


@pytest.mark.parametrize("format", EXPORTS)
def test_every_export_holds_the_topics_of_the_model(model, corpus, format, tmp_path):
    by_name, by_format = tmp_path / f"by-name{EXPORTS[format][0]}", tmp_path / "by-format"
    export(model, by_format, format, corpus)
    if format != "mallet":  # a folder has no ending
        export(model, by_name, corpus=corpus)
    words = model.feature_names_in_.tolist()
    # MALLET has the pseudo-counts; tables get the probabilities of the model.
    wanted = model.components_ if format == "mallet" else model.topic_word_
    wanted = wanted / wanted.sum(axis=1, keepdims=True)
    for path in [by_format] if format == "mallet" else [by_format, by_name]:
        phi = READ_TOPICS[format](path, words)
        np.testing.assert_allclose(phi / phi.sum(axis=1, keepdims=True), wanted, rtol=1e-4)


def test_what_cannot_be_is_said(model, corpus, tmp_path):
    with pytest.raises(ValueError, match="mallet"):
        export(model, tmp_path / "x.xls")
    with pytest.raises(ValueError, match="corpus"):
        export(model, tmp_path / "x.json")
    mixture = MultinomialMixture(3, max_iter=2, random_state=0).fit(corpus)
    with pytest.raises(ValueError, match="MultinomialMixture"):
        to_sklearn(mixture)
    export(mixture, tmp_path / "clusters.csv")  # a mixture has words too
    assert _n_lines(tmp_path / "clusters.csv") == 1 + 3 * 40
    assert not (tmp_path / "x.xls").exists()
    assert READ_TOPICS.keys() == EXPORTS.keys()


ODD = ["a\rb", "c\td", "e\nf", 'g"h', "@i,j", "=cmd()", "k\r\nl", " m"]


@pytest.fixture(scope="module")
def odd():
    """Words and names that hold whatever separates cells and lines, and what a spreadsheet would compute."""
    counts = np.random.default_rng(0).poisson(2.0, (8, 8)) + 1
    corpus = Corpus.from_scipy(counts, vocabulary=ODD, names=ODD)
    return LDA(2, max_iter=2, random_state=0).fit(corpus), corpus


@pytest.mark.parametrize(("write", "delimiter"), [(write_csv, ","), (write_tsv, "\t")])
def test_tables_read_back_whatever_words_hold(odd, tmp_path, write, delimiter):
    write(odd[0], tmp_path / "t", n_words=None)
    with open(tmp_path / "t", encoding="utf-8", newline="") as file:
        header, *rows = csv.reader(file, delimiter=delimiter, strict=True)
    assert [row[3] for row in rows] == [word for words in odd[0].top_words(8, relevance=1) for word in words]
    assert {len(row) for row in rows} == {len(header)}
    assert (tmp_path / "t").read_bytes().startswith(delimiter.join(header).encode() + b"\n")


def test_shares_read_back_whatever_names_hold(tmp_path):
    from topmix.apps.export import Shares, write_shares

    for kind, delimiter in (("csv", ","), ("tsv", "\t")):
        write_shares([Shares(ODD, np.ones((8, 2)))], tmp_path / kind, kind, None)
        with open(tmp_path / kind, encoding="utf-8", newline="") as file:
            assert [row[0] for row in csv.reader(file, delimiter=delimiter, strict=True)] == ["id", *ODD]


def test_mallet_refuses_words_and_names_that_it_cannot_hold(odd, model, corpus, tmp_path):
    with pytest.raises(CorpusError, match=r"word 0 is 'a\\rb': tabs and line breaks separate"):
        export(odd[0], tmp_path / "m", "mallet")
    for name in ("a\tb", "a\nb", "a\rb"):
        named = Corpus.from_scipy(corpus, names=[name, *corpus.names[1:]])
        with pytest.raises(CorpusError, match="name 0 is"):
            export(model, tmp_path / "m", "mallet", corpus=named)
    assert not (tmp_path / "m").exists()
