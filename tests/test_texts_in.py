"""Texts, tables, files and single cells in: every kind of input that holds the same documents gives the same topics."""

import gc
import os
import sys
import traceback

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.feature_extraction.text import CountVectorizer, TfidfVectorizer
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline

import topmix
from topmix import HDP, LDA, CombinatorialLDA, GaussianAdmixture, GaussianMixture, GibbsLDA, MultinomialMixture
from topmix.data import CorpusError, Vectorizer, from_texts
from topmix.io.documents import read

SEA = ["boat", "sail", "sea", "harbour", "wind", "ship", "mast"]
CHESS = ["chess", "rook", "queen", "king", "board", "pawn", "mate"]


def make_texts(n, seed=0):
    rng = np.random.default_rng(seed)
    return [" ".join(["the", "and", "of"] * 3 + list(rng.choice((CHESS, SEA)[i % 2], 12))) for i in range(n)]


TEXTS = make_texts(60)
FRAME = pd.DataFrame({"id": range(60), "body": TEXTS, "stars": 1.5})


def lda(**settings):
    return LDA(2, random_state=0, max_iter=4, **settings)


@pytest.fixture(scope="module")
def wanted():
    return lda().fit(TEXTS).transform(TEXTS)


def test_a_list_of_strings_gives_topics_of_words(wanted):
    model = lda().fit(TEXTS)
    assert set(model.feature_names_in_) <= {*SEA, *CHESS}  # stop words and words of most documents are gone
    topics = [set(words) for words in model.top_words(5)]
    assert {*topics[0]} <= set(SEA) or {*topics[0]} <= set(CHESS)
    np.testing.assert_array_equal(model.transform(make_texts(5, 1)).argmax(1)[[0, 2, 4]], wanted.argmax(1)[[0, 0, 0]])


COLUMNS = {
    "tuple": tuple(TEXTS),
    "ndarray": np.array(TEXTS),
    "objects": np.array(TEXTS, dtype=object),
    "pandas": FRAME.body,
    "polars": pl.Series(TEXTS),
    "arrow": pa.array(TEXTS),
    "chunked": pa.chunked_array([TEXTS[:7], TEXTS[7:]]),
}


@pytest.mark.parametrize("kind", COLUMNS)
def test_a_column_of_texts_is_a_list_of_texts(kind, wanted):
    np.testing.assert_array_equal(lda().fit_transform(COLUMNS[kind]), wanted)


def test_an_iterator_is_read_once(wanted):
    np.testing.assert_array_equal(lda().fit(iter(TEXTS)).transform(iter(TEXTS)), wanted)
    with pytest.raises(ValueError, match="pass a list"):
        lda().fit_transform(iter(TEXTS))
    with pytest.raises(ValueError, match="gives int"):
        lda().fit(iter([1, 2]))


class Capsule:
    """Nothing but the Arrow PyCapsule interface."""

    def __init__(self, table):
        self.table = table

    def __arrow_c_stream__(self, requested_schema=None):
        return self.table.__arrow_c_stream__(requested_schema)


TABLES = {
    "pandas": lambda: FRAME,
    "polars": lambda: pl.from_pandas(FRAME),
    "lazy": lambda: pl.from_pandas(FRAME).lazy(),
    "arrow": lambda: pa.Table.from_pandas(FRAME),
    "capsule": lambda: Capsule(pa.Table.from_pandas(FRAME)),
    "reader": lambda: pa.Table.from_pandas(FRAME).to_reader(max_chunksize=7),
}


@pytest.mark.parametrize("kind", TABLES)
def test_a_table_with_a_column_of_texts(kind, wanted, tmp_path):
    model = lda().fit(TABLES[kind](), text="body")
    np.testing.assert_array_equal(model.transform(TABLES[kind]()), wanted)
    model.save(tmp_path / "model")
    np.testing.assert_array_equal(topmix.load(tmp_path / "model").transform(TABLES[kind]()), wanted)
    with pytest.raises(ValueError, match="pass text='body'"):
        lda().fit(TABLES[kind]())
    with pytest.raises(ValueError, match="no column 'words'"):
        lda().fit(TABLES[kind](), text="words")


def test_duckdb_relations_are_tables(wanted):
    duckdb = pytest.importorskip("duckdb", reason="duckdb is not installed")
    np.testing.assert_array_equal(
        lda().fit_transform(duckdb.from_arrow(pa.Table.from_pandas(FRAME)), text="body"), wanted
    )


def test_several_text_columns_are_joined_and_missing_texts_are_empty():
    frame = pd.DataFrame({"title": ["boat", None, "chess"] * 9, "abstract": ["sea", "wind", None] * 9})
    model = lda().fit(frame, text=["title", "abstract"], vectorizer=Vectorizer())
    assert list(model.feature_names_in_) == ["boat", "chess", "sea", "wind"]
    assert model.transform(frame).shape == (27, 2)


COUNTS = np.random.default_rng(0).integers(0, 4, (50, 6)).astype(float)


@pytest.mark.parametrize("kind", ["pandas", "polars", "arrow", "blocks", "array blocks"])
def test_count_columns_equal_the_matrix(kind, monkeypatch):
    frame = pd.DataFrame(COUNTS, columns=list("abcdef"))
    wanted = lda().fit_transform(COUNTS)
    X = {"polars": pl.from_pandas(frame), "arrow": pa.Table.from_pandas(frame), "array blocks": COUNTS}.get(kind, frame)
    if "blocks" in kind:
        for module in (topmix.io.documents, topmix.io.rows, topmix.io.libraries):
            monkeypatch.setattr(module, "BLOCK_CELLS", 40)
    model = lda().fit(X)
    np.testing.assert_array_equal(model.transform(X), wanted)
    if kind != "array blocks":
        assert list(model.feature_names_in_) == list("abcdef")
        with pytest.raises(ValueError, match=r"vocabulary|feature names"):
            model.transform(frame[list("bacdef")])
        with pytest.raises(ValueError, match=r"for matrices|has the names"):
            lda().fit(X, feature_names=list("abcdef"))


def test_feature_names_name_the_columns_of_a_matrix():
    counter = CountVectorizer().fit(TEXTS)
    X, words = counter.transform(TEXTS), counter.get_feature_names_out()
    model = lda().fit(X, feature_names=words)
    assert set(model.top_words(1)[0]) <= set(words)
    model.transform(X)  # without a warning that X has no names
    model.transform(sp.csr_array(X))
    with pytest.raises(ValueError, match=f"feature_names has 2 names, but X has {len(words)} columns"):
        lda().fit(X, feature_names=["a", "b"])
    with pytest.raises(ValueError, match="feature name 0 is not a str but int"):
        lda().fit(X, feature_names=range(len(words)))


@pytest.mark.parametrize("suffix", ["csv", "semicolon.csv", "tsv", "jsonl", "parquet"])
def test_paths_of_tables(suffix, wanted, tmp_path):
    path = tmp_path / f"reviews.{suffix}"
    if suffix.endswith("sv"):
        FRAME.to_csv(path, index=False, sep={"semicolon.csv": ";", "tsv": "\t"}.get(suffix, ","))
    elif suffix == "jsonl":
        FRAME.to_json(path, orient="records", lines=True)
    else:
        FRAME.to_parquet(path)
    model = lda().fit(path, text="body")
    np.testing.assert_array_equal(model.transform(str(path)), wanted)
    np.testing.assert_array_equal(model.transform(TEXTS), wanted)
    with pytest.raises(ValueError, match=r"body.*[Pp]ass text="):
        lda().fit(path)


def test_paths_of_texts_and_counts(wanted, tmp_path):
    (tmp_path / "docs").mkdir()
    for n, text in enumerate(TEXTS):
        (tmp_path / "docs" / f"{n:03}.txt").write_text(text)
    (tmp_path / "lines.txt").write_text("\n".join(TEXTS))
    from_texts(TEXTS, stop_words="english", min_df=2, max_df=0.5).save(tmp_path / "saved.topmix")
    for name in ("docs", "lines.txt", "saved.topmix"):
        model = lda().fit(tmp_path / name)
        np.testing.assert_array_equal(model.transform(tmp_path / name), wanted)
        np.testing.assert_array_equal(model.transform(TEXTS), wanted)
    others = from_texts(TEXTS, min_df=1)  # in the columns of the model by the names of words
    others.save(tmp_path / "others.topmix")
    assert others.n_words > model.n_features_in_
    np.testing.assert_array_equal(model.transform(tmp_path / "others.topmix"), wanted)
    with pytest.raises(FileNotFoundError, match="pass a list of strings"):
        lda().fit("the boat and the sea")


@pytest.mark.parametrize(
    ("X", "match"),
    [
        ({"a": "b"}, "pass a list of texts"),
        ([b"boat"], "decode them"),
        ([[(0, 1), (2, 1)]], "from_gensim"),
        ([{"text": "boat"}], r"\[row\['text'\]"),
        ([*TEXTS, None], "text 60 is not a string but NoneType"),
        (FRAME.body.where(FRAME.index > 0), "text 0 is not a string"),
        (FRAME[["body", "stars"]], "pass text='body'"),
    ],
)
def test_errors_say_what_to_pass_instead(X, match):
    with pytest.raises((ValueError, TypeError), match=match):
        lda().fit(X)


def test_tokens_are_counted_as_they_are():
    model = lda().fit([["New York", "BOAT"], ["boat", "New York"], []] * 5)
    assert list(model.feature_names_in_) == ["BOAT", "New York", "boat"]


@pytest.mark.parametrize("vectorizer", [CountVectorizer(stop_words="english"), Vectorizer(min_df=3), TfidfVectorizer()])
def test_a_vectorizer_is_fitted_with_the_model(vectorizer, tmp_path):
    model = lda().fit(TEXTS, vectorizer=vectorizer)
    before = model.transform(TEXTS)
    assert not hasattr(vectorizer, "vocabulary_")  # a clone was fitted
    model.save(tmp_path / "model")
    loaded = topmix.load(tmp_path / "model")
    if isinstance(vectorizer, TfidfVectorizer):
        with pytest.raises(ValueError, match=r"TfidfVectorizer.*pass the counts"):
            loaded.transform(TEXTS)
        np.testing.assert_array_equal(loaded.transform(model.vectorizer_.transform(TEXTS)), before)
    else:
        np.testing.assert_array_equal(loaded.transform(TEXTS), before)


def test_a_tokenizer_of_the_user_is_asked_for_after_loading(tmp_path):
    model = lda().fit(TEXTS, vectorizer=Vectorizer(tokenizer=str.split))
    model.save(tmp_path / "model")
    loaded = topmix.load(tmp_path / "model")
    with pytest.raises(ValueError, match=r"pass it as tokenizer= of topmix\.data\.Vectorizer.of"):
        loaded.transform(TEXTS)
    counts = Vectorizer.of(loaded, tokenizer=str.split).transform(TEXTS)
    np.testing.assert_array_equal(loaded.transform(counts), model.transform(TEXTS))


def test_the_vectorizer_is_a_transformer_of_scikit_learn():
    pipeline = make_pipeline(Vectorizer(stop_words="english"), lda()).fit(TEXTS)
    np.testing.assert_array_equal(pipeline[:-1].get_feature_names_out(), sorted({*SEA, *CHESS}))
    assert clone(pipeline).fit_transform(TEXTS).shape == (60, 2)
    search = GridSearchCV(pipeline, {"vectorizer__min_df": [1, 2], "lda__n_components": [2]}, cv=2).fit(TEXTS)
    assert search.best_params_["vectorizer__min_df"] in (1, 2)
    words = ["a", "b"]
    vectorizer = clone(Vectorizer(stop_words=words, ngram_range=(1, 2)))
    assert vectorizer.get_params()["stop_words"] == words
    assert repr(vectorizer) == "Vectorizer(ngram_range=(1, 2), stop_words=['a', 'b'])"
    with pytest.raises(ValueError, match="Invalid parameter 'colour'"):
        vectorizer.set_params(colour=1)
    with pytest.raises(ValueError, match="min_df"):
        vectorizer.set_params(min_df=0)


def test_a_corpus_can_be_split_by_scikit_learn():
    search = GridSearchCV(lda(), {"n_components": [2, 3]}, cv=2).fit(from_texts(TEXTS))
    assert search.best_params_["n_components"] in (2, 3)


@pytest.mark.parametrize("cls", [GibbsLDA, HDP, CombinatorialLDA, MultinomialMixture])
def test_every_estimator_of_counts_takes_texts(cls):
    model = cls(2, random_state=0, max_iter=3, **({"tol": -1} if cls is MultinomialMixture else {})).fit(TEXTS)
    assert model.n_features_in_ == len(model.feature_names_in_)
    assert model.score(TEXTS) < 0


def test_partial_fit_learns_new_words_of_texts():
    model = lda().partial_fit(TEXTS[:30])
    before = model.n_features_in_
    new = [text + (" zebra" if i % 3 == 0 else "") for i, text in enumerate(TEXTS[30:])]
    model.partial_fit([*new, "once"])
    assert set(model.feature_names_in_[before:]) >= {"zebra"}
    assert "once" not in model.feature_names_in_  # in one document of 31
    assert model.transform(TEXTS).shape == (60, 2)


def test_stop_words_are_found_out():
    assert from_texts(TEXTS, stop_words="auto").meta["tokenizer"]["stop_words"] == "english"
    german = ["der Hund und die Katze", "das Boot und der Wind"] * 5
    assert from_texts(german, stop_words="auto").meta["tokenizer"]["stop_words"] is None


def test_stop_words_of_other_languages():
    assert list(from_texts(["der Hund und die Katze"], stop_words="german").vocabulary) == ["hund", "katze"]


def test_stems():
    pytest.importorskip("snowballstemmer", reason="snowballstemmer is not installed")
    corpus = from_texts(["Sailing the sails", "sailed having"], stemmer="english", stop_words=["the", "having"])
    assert list(corpus.vocabulary) == ["sail"]
    again = Vectorizer.from_dict(corpus.meta["tokenizer"], vocabulary=corpus.vocabulary)
    assert again.transform(["sailor sails"]).n_tokens == 1
    with pytest.raises(ValueError, match="stemmer='klingon'"):
        Vectorizer(stemmer="klingon")


def test_phrases_occur_together_more_than_by_chance():
    rng = np.random.default_rng(0)
    texts = [" ".join([*rng.choice(SEA, 8), "new", "york", *rng.choice(SEA, 8)]) for _ in range(20)]
    words = set(from_texts(texts, ngram_range=(1, 2), phrases=0.4).vocabulary)
    assert {word for word in words if " " in word} == {"new york"}
    with pytest.raises(ValueError, match=r"ngram_range=\(1, 2\)"):
        Vectorizer(phrases=0.3)


def test_words_are_kept_and_dropped_by_name():
    corpus = from_texts(["red fox", "blue fox fox", "red"])
    kept = corpus.drop_words(["fox", "unknown"])
    assert list(kept.vocabulary) == ["blue", "red"]
    np.testing.assert_array_equal(kept.to_scipy().toarray(), [[0, 1], [1, 0], [0, 1]])
    np.testing.assert_array_equal(corpus.keep_words(["fox"]).to_scipy().toarray(), [[1], [2], [0]])
    with pytest.raises(ValueError, match="no words would be left"):
        corpus.keep_words(["dog"])


@pytest.mark.parametrize("form", ["csr", "csc", "dense"])
def test_single_cells(form, tmp_path):
    anndata = pytest.importorskip("anndata", reason="anndata is not installed")
    X = sp.csr_matrix(COUNTS)
    counts = {"csr": X, "csc": X.tocsc(), "dense": COUNTS}[form]
    names = pd.DataFrame(index=[f"g{v}" for v in range(6)]), pd.DataFrame(index=[f"c{d}" for d in range(50)])
    adata = anndata.AnnData(np.log1p(COUNTS), var=names[0], obs=names[1], layers={"counts": counts})
    wanted = lda().fit_transform(COUNTS)
    model = lda().fit(adata, layer="counts")
    assert list(model.feature_names_in_) == list(adata.var_names)
    np.testing.assert_array_equal(model.transform(adata), wanted)
    adata.write_h5ad(tmp_path / "cells.h5ad")
    np.testing.assert_array_equal(lda().fit_transform(tmp_path / "cells.h5ad", layer="counts"), wanted)
    backed = anndata.read_h5ad(tmp_path / "cells.h5ad", backed="r")
    np.testing.assert_array_equal(lda().fit_transform(backed, layer="counts"), wanted)
    backed.file.close()
    with pytest.raises(ValueError, match="no layer 'raw'; the layers are 'counts'"):
        lda().fit(adata, layer="raw")


@pytest.mark.parametrize("kind", [LDA, HDP, GibbsLDA, CombinatorialLDA])
def test_texts_that_are_read_in_parts_have_the_same_topics(kind, monkeypatch):
    model = kind(2, max_iter=5, random_state=0).fit(TEXTS[:40])
    frame = pd.DataFrame({"text": [*TEXTS, "", "nothing known"], "by": ["a", "b"] * 31})

    def answers():
        return [
            model.transform(frame), model.transform(frame, sparse_output=True).toarray(), model.predict(frame),
            model.document_info(frame), model.topics_by(frame, "by"),
        ]  # fmt: skip

    whole = answers()
    monkeypatch.setattr("topmix.corpus.documents.BLOCK_TEXTS", 7)
    monkeypatch.setattr("topmix.corpus.documents.RUN_TEXTS", 7)
    monkeypatch.setattr("topmix.io.documents.PART_CHARS", 1000)
    parts = []
    counted = Vectorizer._count
    monkeypatch.setattr(Vectorizer, "_count", lambda self, *given: parts.append(1) or counted(self, *given))
    in_parts = answers()
    assert len(parts) > 4 * len(whole)
    for one, other in zip(whole, in_parts):
        (pd.testing.assert_frame_equal if isinstance(one, pd.DataFrame) else np.testing.assert_array_equal)(one, other)


@pytest.mark.parametrize("source", ["texts", "csv", "h5ad"])
def test_counts_that_become_many_are_learned_from_a_temporary_file(source, tmp_path, monkeypatch, wanted):
    made = tmp_path / "temporary"
    made.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(made))
    X = TEXTS
    if source == "csv":
        X = tmp_path / "texts.csv"
        FRAME.rename(columns={"body": "text"}).to_csv(X, index=False)
    elif source == "h5ad":
        anndata = pytest.importorskip("anndata", reason="anndata is not installed")
        counts = Vectorizer(stop_words="english").fit_transform(TEXTS)
        X = tmp_path / "cells.h5ad"
        anndata.AnnData(counts.to_scipy().astype(np.float32)).write_h5ad(X)
    kept = lda().fit(X)
    seen = []
    monkeypatch.setattr("topmix.io.documents.MOST_ENTRIES", 50)
    look = lda(callbacks=[lambda *_: seen.append(len(list(made.iterdir())))]).fit(X)
    assert set(seen) == {1}
    np.testing.assert_array_equal(look.components_, kept.components_)
    gc.collect()
    assert list(made.iterdir()) == []


def test_a_cluster_and_a_gpu_get_counts_in_memory(monkeypatch):
    monkeypatch.setattr("topmix.io.documents.MOST_ENTRIES", 50)
    for engine, is_mapped in (("threads", True), ("serial", True), ("ray", False), ("cuda", False)):
        model = lda(engine=engine)
        corpus, _ = read(TEXTS, engine=model._engine())
        assert (corpus.path is not None) == is_mapped


@pytest.mark.parametrize(
    ("X", "way"),
    [
        (TEXTS, ["io/documents.py", "corpus/documents.py", "io/rows.py"]),
        (COUNTS, ["io/documents.py", "io/rows.py"]),
        (sp.csr_array(COUNTS), ["io/documents.py", "io/rows.py", "corpus/counts.py"]),
    ],
    ids=["texts", "array", "matrix"],
)
def test_the_way_of_data_is_short_and_never_goes_back(X, way):
    """The modules that X meets before it is a Corpus, each once, in ARCHITECTURE.md's order; base/ only says what kind
    of value it is."""
    home, met = os.path.dirname(topmix.__file__) + os.sep, []

    def module(frame):
        return frame.f_code.co_filename.removeprefix(home)

    def note(frame, event, _):
        code = frame.f_code
        if event == "call" and code.co_filename.startswith(home) and not module(frame).startswith("base/"):
            given = [frame.f_locals.get(name) for name in code.co_varnames[: code.co_argcount]]
            is_inside = module(frame) in [module(f) for f, _ in traceback.walk_stack(frame.f_back)]
            if any(value is X for value in given) and not is_inside and met[-1:] != [module(frame)]:
                met.append(module(frame))

    sys.setprofile(note)
    try:
        lda().fit(X)
    finally:
        sys.setprofile(None)
    assert met == ["estimators/variational.py", *way]


def test_a_long_text_alone_is_not_a_path():
    text = "one long text " * 400
    with pytest.raises(
        FileNotFoundError, match=r"no such file or folder: 'one long.{60,80}\.\.\.'\. To learn from texts"
    ):
        lda().fit(text)
    for fit in (GaussianMixture().fit, lambda X: LDA(2, max_iter=1).fit(["apples pears"] * 9).topics_by(X, "group")):
        with pytest.raises(FileNotFoundError, match="no such file or folder: 'one long"):
            fit(text)
    with pytest.raises(FileNotFoundError, match="To learn from texts"):
        GaussianMixture(2).fit(np.eye(4), texts=text)


def test_half_of_a_surrogate_pair_is_a_question_mark(tmp_path):
    half = "a\udc80b"
    texts = [f"apples pears {half}", f"ships sails {half}"] * 6
    plain = [text.replace("\udc80", "?") for text in texts]
    for vectorizer in (Vectorizer(tokenizer=str.split), CountVectorizer(token_pattern=r"\S+")):
        model = lda().fit(texts, vectorizer=vectorizer)
        assert "a?b" in model.feature_names_in_
        assert set(model.representative_documents(texts)["text"]) == set(plain)
        assert model.transform(texts).tolist() == model.transform(plain).tolist()
        model.save(tmp_path / "model")
        topmix.load(tmp_path / "model")
    tokens = from_texts([text.split() for text in texts], names=[half] * 12)
    assert "a?b" in tokens.vocabulary
    assert set(tokens.names) == {"a?b"}
    assert set(model.topics_by(texts, [half, "b"] * 6)["group"]) == {"a?b", "b"}
    clusters = GaussianAdmixture(2, max_iter=1, tol=-1).fit(np.eye(12), [half, "b"] * 6, texts=texts)
    assert clusters.document_info(np.eye(12), [half, "b"] * 6)["document"].tolist() == ["a?b", "b"]


def test_names_of_columns_are_what_utf_8_holds():
    X, half = np.eye(4), ["a\udc80", "b", "c", "d"]
    for fit in (lambda: lda().fit(X, feature_names=half), lambda: lda().fit(X).name_words(half),
                lambda: lda().fit(pd.DataFrame(X, columns=pd.Index(half, dtype=object)))):  # fmt: skip
        with pytest.raises(ValueError, match="feature name 0 cannot be written as UTF-8"):
            fit()
    with pytest.raises(ValueError, match="feature name 0 is not a str but NoneType"):
        lda().fit(X).name_words(None)


def test_a_missing_text_of_pandas_is_named():
    with pytest.raises(TypeError, match="text 1 is not a string but NoneType: None; drop it"):
        lda().fit(pd.Series(["apples", pd.NA] * 6, dtype="string"))


@pytest.mark.parametrize("kind", ["pandas", "arrow", "parquet", "csv"])
def test_a_column_that_is_asked_for_is_there_once(kind, tmp_path):
    rows = [["apples pears", "u", "u"], ["ships sails", "v", "v"]] * 6
    table = pa.Table.from_arrays([pa.array(column) for column in zip(*rows)], names=["text", "text", "g"])
    path = tmp_path / f"texts.{kind}"
    pq.write_table(table, tmp_path / "texts.parquet")
    (tmp_path / "texts.csv").write_text("\n".join(map(",".join, [["text", "text", "g"], *rows])))
    X = {"pandas": pd.DataFrame(rows, columns=["text", "text", "g"]), "arrow": table}.get(kind, path)
    with pytest.raises(CorpusError, match="2 columns are called 'text'"):
        lda().fit(X)
    columns = pd.DataFrame(rows, columns=["text", "g", "g"])
    model = lda().fit(columns, text="text")  # the others are not asked for
    with pytest.raises(CorpusError, match="2 columns are called 'g'"):
        model.topics_by(columns, "g")


@pytest.mark.parametrize("suffix", ["parquet", "csv"])
def test_numbers_in_two_columns_of_one_name_are_refused(suffix, tmp_path):
    X = np.eye(6)[:, :3]
    pq.write_table(pa.Table.from_arrays([*map(pa.array, X.T)], names=["a", "b", "b"]), tmp_path / "x.parquet")
    np.savetxt(tmp_path / "x.csv", X, delimiter=",", header="a,b,b", comments="")
    with pytest.raises(CorpusError, match="2 columns are called 'b'"):
        GaussianMixture(2).fit(tmp_path / f"x.{suffix}")
