"""Tables out: topics, documents and words as DataFrames of the user's kind; main topics; names."""

import sys
import tomllib
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pytest

import topmix
from topmix import LDA, CombinatorialLDA, GibbsLDA
from topmix.results.names import distinct, same_form
from topmix.results.view import frame

SEA = ["boat", "sail", "sea", "harbour", "wind", "ship", "mast"]
CHESS = ["chess", "rook", "queen", "king", "board", "pawn", "mate"]
RNG = np.random.default_rng(0)
TEXTS = [" ".join(RNG.choice((CHESS, SEA)[i % 2], 12)) for i in range(40)]
UNKNOWN = "zebra quagga"


@pytest.fixture(scope="module", params=[LDA, GibbsLDA, CombinatorialLDA])
def model(request):
    return request.param(2, random_state=0, max_iter=10).fit(TEXTS)


def test_topics(model):
    table = model.topic_info(TEXTS, n_words=4)
    assert isinstance(table, pd.DataFrame)
    assert list(table.columns) == [
        "topic",
        "name",
        "size",
        "share",
        "coherence",
        "words",
        "nearest",
        "documents",
        "quality",
    ]
    assert table["size"].is_monotonic_decreasing
    assert table["share"].sum() == pytest.approx(1)
    assert table["size"].sum() == pytest.approx(480, rel=0.01)
    for words, name in zip(table["words"], table["name"]):
        assert set(words) < set(SEA) or set(words) < set(CHESS)
        assert name == ", ".join(words[:3])
    assert table["coherence"].between(-1, 1).all()
    assert model.topic_info()["coherence"].isna().all()
    assert (table["quality"] == "good").all()
    assert model.topic_info()["documents"].tolist() == [[], []]
    for documents, topic in zip(table["documents"], table["topic"]):
        assert len(documents) == 3
        assert (model.predict([TEXTS[d] for d in documents]) == topic).all()
    assert [row.tolist() if hasattr(row, "tolist") else row for row in table["nearest"]] == [
        [1 - k] for k in table["topic"]
    ]


def test_documents(model):
    theta = np.asarray(model.transform([*TEXTS, UNKNOWN]))
    table = model.document_info([*TEXTS, UNKNOWN], n_topics=2)
    np.testing.assert_array_equal(table["topic"][:-1], theta[:-1].argmax(1))
    np.testing.assert_allclose(table["weight"][:-1], theta[:-1].max(1), rtol=1e-5)
    with np.errstate(divide="ignore", invalid="ignore"):
        entropy = -np.nansum(theta * np.log(theta), axis=1)
    np.testing.assert_allclose(table["entropy"][:-1], entropy[:-1], rtol=1e-4, atol=1e-9)
    last = table.iloc[-1]
    assert (last["topic"], last["topics"], last["tokens"]) == (-1, [], 0)
    assert last["name"] is None or np.isnan(last["name"])  # as the version of pandas has it
    assert np.isnan(last["weight"])
    assert np.isnan(last["entropy"])


def test_documents_keep_their_names(model):
    corpus = topmix.data.Vectorizer.of(model).transform(TEXTS[:3], names=["a", "b", "c"])
    assert list(model.document_info(corpus)["document"]) == ["a", "b", "c"]


def test_words(model):
    table = model.word_info("rook")
    topic = model.predict(["rook king queen board"])[0]
    assert table["topic"][0] == topic
    assert table["share"].sum() == pytest.approx(1)
    assert table["probability"][0] == pytest.approx(
        model.topic_word_[topic, list(model.feature_names_in_).index("rook")]
    )
    assert "rook" in model.top_words(table["rank"][0])[topic][table["rank"][0] - 1 :]
    with pytest.raises(ValueError, match="did you mean 'rook'"):
        model.word_info("roook")
    with pytest.raises(ValueError, match="no word 99"):
        model.word_info(99)


def test_main_topics_and_documents_without_one(model):
    labels = model.predict([*TEXTS, UNKNOWN])
    assert labels[-1] == -1
    np.testing.assert_array_equal(labels[:-1] == labels[0], np.arange(40) % 2 == 0)
    mixed = " ".join(SEA + CHESS)
    assert model.predict([mixed], min_weight=0.9)[0] == -1
    assert model.predict(TEXTS[:1], min_weight=0.9)[0] == labels[0]
    with pytest.raises(ValueError, match="min_weight"):
        model.predict(TEXTS, min_weight=2)


def test_tables_are_of_the_users_kind():
    polars = LDA(2, random_state=0, max_iter=2).fit(pl.DataFrame({"text": TEXTS}))
    assert isinstance(polars.topic_info(), pl.DataFrame)
    assert isinstance(polars.document_info(TEXTS), pl.DataFrame)
    polars.set_output(transform="pandas")
    assert isinstance(polars.word_info("boat"), pd.DataFrame)
    assert isinstance(polars.transform(TEXTS), pd.DataFrame)
    assert polars.predict(TEXTS).shape == (40,)


def test_a_plain_install_makes_tables(model, monkeypatch):
    project = tomllib.loads((Path(__file__).parents[1] / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert any(name.startswith("pandas") for name in project["dependencies"])
    assert "tables" not in project["optional-dependencies"]
    monkeypatch.setitem(sys.modules, "polars", None)
    assert isinstance(model.topic_info(), pd.DataFrame)
    with pytest.raises(ImportError, match="polars"):
        frame({"topic": [0]}, "polars")


def test_names_are_edited_and_saved(tmp_path):
    model = LDA(4, random_state=0, max_iter=3).fit(TEXTS)
    made = model.topic_names_
    model.name_topics({2: " the  sea ", 3: "games"}).save(tmp_path / "model")
    assert topmix.load(tmp_path / "model").topic_names_ == [*made[:2], "the sea", "games"]
    model.drop_topics([1])
    assert model.topic_names_[1:] == ["the sea", "games"]
    model.merge_topics([(0, 1)])
    assert model.topic_names_[1] == "games"
    assert model.name_topics(lambda words: words[0].upper()).topic_names_[0].isupper()
    assert model.fit(TEXTS).names_ == {}  # other topics
    for bad, match in (({9: "x"}, "9 is not a topic"), (["a", "b", "c", "d"], "4 names for"), ({0: "  "}, "1 to 200")):
        with pytest.raises(ValueError, match=match):
            model.name_topics(bad)


def test_empty_topics_have_no_words():
    model = LDA(9, random_state=0, max_iter=5).fit(TEXTS[:2])
    sizes = model.topic_info()
    empty = sizes[sizes["size"] < 1]
    assert len(empty)
    assert all(not words for words in empty["words"])
    assert set(empty["name"]) == {"(empty)"}


def test_edits_say_how_topics_are_given():
    model = LDA(3, random_state=0, max_iter=1).fit(TEXTS)
    for edit in (lambda: model.merge_topics((0, 1)), lambda: model.drop_topics(1)):
        with pytest.raises(ValueError, match="given as a list"):
            edit()


def test_other_forms_of_a_word_are_left_out():
    assert distinct(["network", "networks", "general", "generate", "learning", "learned", "new", "news"], 9) == [
        "network",
        "general",
        "generate",
        "learning",
        "new",
        "news",
    ]
    assert same_form("state", "stated")
    assert not same_form("mode", "model")


def test_single_cells_are_annotated():
    anndata = pytest.importorskip("anndata", reason="anndata is not installed")
    counts = np.random.default_rng(0).poisson(0.7, (30, 8)).astype(np.float32)
    counts[3] = 0
    adata = anndata.AnnData(counts, obs=pd.DataFrame(index=[f"c{d}" for d in range(30)]))
    model = LDA(3, random_state=0, max_iter=3).fit(adata)
    model.annotate(adata)
    np.testing.assert_array_equal(adata.obsm["X_topics"], model.transform(adata))
    np.testing.assert_array_equal(adata.varm["topics"], model.topic_word_.T)
    np.testing.assert_array_equal(adata.obs["topics"], model.predict(adata))
    assert adata.obs["topics"].iloc[3] == -1
    assert list(adata.uns["topics"]["names"]) == model.topic_names_
