"""Every parameter of the data functions that no other test exercises: each has an effect, and the right one."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest

from topmix import LDA
from topmix.data import (
    Corpus,
    CorpusError,
    Rows,
    Vectorizer,
    from_gensim,
    from_texts,
    read_corpus,
    read_texts,
    sample_lda,
    write_corpus,
)

ONE_ENTRY = "%%MatrixMarket matrix coordinate real general\n1 {} 1\n1 2 2\n"
TEXTS = ["red fox", "blue fox fox", "", "green owl"]


def same(a: Corpus, b: Corpus) -> bool:
    return (a.to_scipy() != b.to_scipy()).nnz == 0 and list(a.vocabulary) == list(b.vocabulary)


# read_corpus and write_corpus


@pytest.mark.parametrize("form", ["topmix", "parquet", "npz", "mtx", "uci"])
def test_format_overrides_the_name(small, tmp_path, form):
    write_corpus(small, tmp_path / "data.csv", format=form)
    more = {} if form in ("topmix", "parquet") else {"vocabulary": list(small.vocabulary)}
    assert same(read_corpus(tmp_path / "data.csv", format=form, **more), small)


def test_write_corpus_refuses_an_unknown_format(small, tmp_path):
    with pytest.raises(ValueError, match="unknown format 'xls'; pass one of topmix, "):
        write_corpus(small, tmp_path / "x.mtx", format="xls")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("name", ["x.vocab.txt", "x.vocab", "x.tokens", "vocab.txt", "vocab.x.txt"])
def test_a_vocabulary_is_found_in_the_same_folder(tmp_path, name):
    (tmp_path / "x.mtx").write_text(ONE_ENTRY.format(3))
    (tmp_path / name).write_text("a\nb\nc\n")
    (tmp_path / "y.vocab.txt").write_text("d\ne\nf\n")  # belongs to another file
    c = read_corpus(tmp_path / "x.mtx")
    assert (c.shape, c.vocabulary) == ((1, 3), ("a", "b", "c"))


def test_a_vocabulary_may_be_a_path_or_a_list_or_false(tmp_path):
    (tmp_path / "x.mtx").write_text(ONE_ENTRY.format(3))
    (tmp_path / "x.vocab.txt").write_text("a\nb\nf\n")
    other = tmp_path / "other words.txt"
    other.write_text("c\nd\ne\n")
    for given, found in ((other, "cde"), (str(other), "cde"), (["p", "q", "r"], "pqr"), (None, "abf")):
        assert "".join(read_corpus(tmp_path / "x.mtx", vocabulary=given).vocabulary) == found
    assert read_corpus(tmp_path / "x.mtx", vocabulary=False).vocabulary is None


def test_a_vocabulary_is_refused_for_saved_corpora(small, tmp_path):
    small.save(tmp_path / "x.topmix")
    with pytest.raises(CorpusError, match="leave out vocabulary"):
        read_corpus(tmp_path / "x.topmix", vocabulary=list("abcdefg"))


def test_a_fixed_vocabulary_reaches_texts(tmp_path):
    (tmp_path / "x.txt").write_text("red fox\nblue fox\n")
    c = read_corpus(tmp_path / "x.txt", vocabulary=["fox", "red", "owl"])
    assert c.to_scipy().toarray().tolist() == [[1, 1, 0], [1, 0, 0]]


# read_texts


@pytest.mark.parametrize(
    ("form", "text", "found"),
    [
        ("lines", "id,text\n7,fox\n", [("1", "id,text"), ("2", "7,fox")]),
        ("csv", "id,text\n7,fox\n", [("7", "fox")]),
        ("tsv", "id\ttext\n7\tfox\n", [("7", "fox")]),
        ("jsonl", '{"id": 7, "text": "fox"}\n', [("7", "fox")]),
    ],
)
def test_the_format_of_texts_overrides_the_name(tmp_path, form, text, found):
    for name in ("data.bin", "data.csv", "data.txt"):
        (tmp_path / name).write_text(text)
        assert list(read_texts(tmp_path / name, format=form)) == found
    assert list(read_corpus(tmp_path / "data.bin", format=form, token_pattern="[a-z]+").names) == [n for n, _ in found]


def test_parquet_texts_have_fields(tmp_path):
    frame = pd.DataFrame({"key": ["a", "b"], "title": ["One", "Two"], "text": ["x", None]})
    frame.to_parquet(tmp_path / "x.parquet")
    assert list(read_texts(tmp_path / "x.parquet")) == [("1", "x"), ("2", "")]
    both = read_texts(tmp_path / "x.parquet", field=["title", "text"], id_field="key")
    assert list(both) == [("a", "One\nx"), ("b", "Two")]
    frame.to_parquet(tmp_path / "x.data")
    assert list(read_texts(tmp_path / "x.data", format="parquet", field="title")) == [("1", "One"), ("2", "Two")]
    with pytest.raises(CorpusError, match="no column 'body' for the text; the columns are key, title, text"):
        list(read_texts(tmp_path / "x.parquet", field="body"))


def test_pattern_and_encoding_reach_a_folder(tmp_path):
    (tmp_path / "a.md").write_bytes("caf\xe9 fox".encode("latin-1"))
    (tmp_path / "b.txt").write_text("not read")
    c = read_corpus(tmp_path, pattern="*.md", encoding="latin-1")
    assert (list(c.names), list(c.vocabulary)) == (["a.md"], ["caf\xe9", "fox"])
    with pytest.raises(CorpusError, match=r"no file matches '\*\.rst'"):
        read_texts(tmp_path, pattern="*.rst")


# from_texts and Vectorizer


def test_out_builds_the_corpus_in_a_file(tmp_path):
    expected = from_texts(TEXTS, names=list("abcd"))
    made = [
        from_texts(TEXTS, names=list("abcd"), out=tmp_path / "1.topmix"),
        Vectorizer().fit_transform(iter(TEXTS), names=iter("abcd"), out=tmp_path / "2.topmix"),
        Vectorizer(vocabulary=list(expected.vocabulary)).transform(TEXTS, names="abcd", out=tmp_path / "3.topmix"),
    ]
    for n, c in enumerate(made, 1):
        assert c.path == tmp_path / f"{n}.topmix"
        assert same(c, expected)
        assert c.names == expected.names
        c.verify()


def test_names_become_strings():
    assert list(from_texts(TEXTS, names=[1, "é", 2.5, "x"]).names) == ["1", "é", "2.5", "x"]
    assert from_texts(TEXTS).names is None


def test_vectorizer_of_a_model_cuts_as_the_training_texts_were_cut():
    settings = {"lowercase": False, "token_pattern": r"[A-Za-z]{2,}", "stop_words": ["of"], "ngram_range": (1, 2)}
    texts = ["New York City of New York", "York of Old"] * 3
    model = LDA(2, max_iter=1, random_state=0).fit(from_texts(texts, **settings))
    found = Vectorizer.of(model).transform(["New York new york of Old Zoo"])
    counts = dict(zip(found.vocabulary, found.to_scipy().toarray()[0].tolist()))
    assert {word for word, n in counts.items() if n} == {"New", "York", "Old", "New York"}
    with pytest.raises(ValueError, match="without a vocabulary"):
        Vectorizer.of(LDA(2, max_iter=1).fit(np.ones((3, 4))))


def test_vectorizer_of_a_model_needs_its_tokenizer_again():
    model = LDA(2, max_iter=1, random_state=0).fit(from_texts(["a b", "b c"], tokenizer=str.split))
    with pytest.raises(ValueError, match="pass it as tokenizer="):
        Vectorizer.of(model)
    assert Vectorizer.of(model, tokenizer=str.split).transform(["c c"]).to_scipy().toarray().tolist() == [[0, 0, 2]]


def test_a_model_of_counts_keeps_the_case_of_its_words():
    X = np.eye(2)
    for words, text in ((["Fox", "owl"], "Fox fox"), (["fox", "owl"], "Fox owl")):
        model = LDA(1, max_iter=1).fit(Corpus.from_scipy(X, vocabulary=words))
        counts = Vectorizer.of(model).transform([text]).to_scipy().toarray()[0].tolist()
        assert counts == ([1, 0] if "Fox" in words else [1, 1])


# Corpus and Rows


def test_from_rows_and_from_gensim_build_in_a_file(tmp_path):
    rows = [{1: 2.0}, {}, {0: 1.0, 2: 3.0}]
    for n, make in enumerate((Corpus.from_rows, from_gensim)):
        documents = rows if make is Corpus.from_rows else [list(row.items()) for row in rows]
        c = make(documents, ["a", "b", "c"], out=tmp_path / f"{n}.topmix")
        assert c.path == tmp_path / f"{n}.topmix"
        assert c.verify().to_scipy().toarray().tolist() == [[0, 2, 0], [0, 0, 0], [1, 0, 3]]
    assert Corpus.from_rows(rows, n_words=5).shape == (3, 5)
    assert Corpus.from_rows(rows, names=["x", "y", "z"]).names == ["x", "y", "z"]
    with pytest.raises(CorpusError, match="word id 2 occurs, but there are only 2 words"):
        Corpus.from_rows(rows, n_words=2)


def test_open_verifies_unless_told_not_to(small, tmp_path):
    path = tmp_path / "a.topmix"
    small.save(path)
    data = bytearray(path.read_bytes())
    at = data.index(np.float32(250).tobytes())
    data[at : at + 4] = np.float32(251).tobytes()
    path.write_bytes(data)
    for read in (Corpus.open, read_corpus):
        assert read(path, verify=False).n_docs == 5
        with pytest.raises(CorpusError, match="value does not match its checksum"):
            read(path)


def test_meta_travels_with_a_corpus(small, tmp_path):
    c = Corpus(small.indptr, small.index, small.value, 7, meta={"source": ["here", 1]})
    c.save(tmp_path / "a.topmix")
    assert Corpus.open(tmp_path / "a.topmix")[1:2].meta == {"source": ["here", 1]}
    with pytest.raises(CorpusError, match="meta cannot be written as JSON"):
        Corpus([0], [], [], 0, meta={"a": object()}).save(tmp_path / "b.topmix")
    assert not (tmp_path / "b.topmix").exists()


def test_a_table_is_checked_when_asked(tmp_path):
    X = np.array([[1.0, np.nan]])
    with pytest.raises(CorpusError, match="row 0, column 1"):
        Rows(X)
    unchecked = Rows(X, ["a", "b"], check=False)
    with pytest.raises(CorpusError, match=r"row 0, column 1 \('b'\)"):
        unchecked.check()
    unchecked.save(tmp_path / "x.npy")
    opened = Rows.open(tmp_path / "x.npy", feature_names=["p", "q"])
    assert opened.feature_names == ("p", "q")
    with pytest.raises(CorpusError, match=r"x\.npy: row 0, column 1 \('q'\)"):
        opened.check()
    frame = pd.DataFrame({"a": [1.0]})
    assert Rows(frame, feature_names=["z"]).feature_names == ("z",)


# sample_lda


def test_priors_may_be_arrays():
    eta = np.full(20, 1e-3)
    eta[:3] = 50.0
    s = sample_lda(300, 20, 2, topic_word_prior=eta, doc_topic_prior=[9.0, 1.0], random_state=0)
    assert s.topic_word[:, :3].sum(axis=1).min() > 0.99
    np.testing.assert_allclose(s.doc_topic.mean(axis=0), [0.9, 0.1], atol=0.03)


def test_doc_length_is_the_mean_and_random_state_may_be_a_generator():
    a, b = (sample_lda(500, 30, 2, doc_length=7.5, random_state=np.random.default_rng(3)) for _ in range(2))
    np.testing.assert_array_equal(a.assignments, b.assignments)
    assert a.corpus.n_tokens / 500 == pytest.approx(7.5, abs=0.5)
    generator = np.random.default_rng(3)
    c, d = (sample_lda(500, 30, 2, random_state=generator) for _ in range(2))
    assert not np.array_equal(c.topic_word, d.topic_word)  # the generator moves on


def test_settings_of_a_vectorizer_are_json():
    settings = Vectorizer(min_df=2, max_df=0.5, max_features=10, strip_accents="ascii", token_pattern="x+").to_dict()
    assert json.loads(json.dumps(settings)) == settings
    assert settings["max_features"] == 10
    assert Vectorizer.from_dict(settings).to_dict() == settings
