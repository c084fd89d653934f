"""Texts that are counted in parts make the file that one process makes, byte for byte."""

import warnings
import zlib

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from topmix import _core
from topmix.data import CorpusError, Vectorizer, read_corpus, read_texts
from topmix.data.columns import column_of
from topmix.data.count_parts import MergedTerms, PartTerms, count_in_parts
from topmix.data.parquet_texts import ParquetTexts

WORDS = ["apple", "pear", "été", "plum", "the", "and", "of", "sea", "ship", "Wind", "x1", "日本", "fig", "oak"]


def some_texts(n, seed=0):
    rng = np.random.default_rng(seed)
    rare = [f"word{i}" for i in range(60)]
    texts = [" ".join(rng.choice(WORDS + rare, rng.integers(0, 30))) for _ in range(n)]
    texts[3] = None
    texts[7] = ""
    return texts


def serial(function, job, calls):
    for arguments in calls:
        yield function(job, *arguments)


@pytest.fixture
def folder(tmp_path):
    """Three files with groups of rows of odd sizes, one of them without rows, and one in a folder below."""
    texts, place = some_texts(103), tmp_path / "texts"
    (place / "b").mkdir(parents=True)
    for name, part, rows in (("a", texts[:50], 7), ("b/c", texts[50:], 1000), ("c", [], 5)):
        table = pa.table(
            {"id": pa.array([f"ä{t and t[:3]}" for t in part], pa.string()), "text": pa.array(part, pa.string())}
        )
        pq.write_table(table, place / f"{name}.parquet", row_group_size=rows)
    pq.write_table(pa.table({"text": ["not read"]}), place / ".hidden.parquet")
    return place


def in_parts(source, tmp_path, n_parts, vectorizer, vocabulary=None, **fields):
    texts = ParquetTexts(str(source), **fields)
    parts = texts.cut(n_parts, 1, 1 << 30)
    (tmp_path / "work").mkdir(exist_ok=True)
    out = tmp_path / "parts.topmix"
    return count_in_parts(texts, parts, vectorizer, vocabulary, tmp_path / "work", out, serial), out


SETTINGS = [
    {},
    {"token_pattern": "auto", "stop_words": "auto", "min_df": "auto", "max_df": "auto"},
    {"stop_words": "english", "ngram_range": (1, 2), "phrases": 0.1, "min_df": 2},
    {"max_features": 9, "lowercase": False},
    {"vocabulary": ["plum", "apple", "unseen"]},
]


@pytest.mark.parametrize("settings", SETTINGS, ids=range(len(SETTINGS)))
@pytest.mark.parametrize("n_parts", [1, 5, 200])
def test_the_file_has_the_bytes_of_one_process(folder, tmp_path, settings, n_parts):
    whole = Vectorizer(**settings)
    whole._fit_documents(read_texts(folder), tmp_path / "whole.topmix")
    vectorizer = Vectorizer(**settings)
    corpus, out = in_parts(folder, tmp_path, n_parts, vectorizer, vectorizer._begin_fit())
    assert out.read_bytes() == (tmp_path / "whole.topmix").read_bytes()
    assert list(vectorizer.vocabulary_) == list(whole.vocabulary_)
    assert (vectorizer.stop_words_, vectorizer.n_unknown_) == (whole.stop_words_, whole.n_unknown_)
    assert corpus.n_docs == 103
    assert corpus.names[0].startswith("ä")


def test_documents_without_ids_are_numbered_through_all_files(folder, tmp_path):
    for path in sorted(folder.rglob("[!.]*.parquet")):
        pq.write_table(pq.read_table(path, columns=["text"]), path, row_group_size=9)
    assert [name for name, _ in read_texts(folder)] == [str(n) for n in range(1, 104)]
    read_corpus(folder, out=tmp_path / "whole.topmix")
    assert in_parts(folder, tmp_path, 7, Vectorizer())[1].read_bytes() == (tmp_path / "whole.topmix").read_bytes()


def test_a_column_of_a_folder_has_a_value_for_each_document(folder):
    (folder / ".hidden.parquet").unlink()
    values = column_of(folder, "id", 103)
    assert values == [name for name, _ in read_texts(folder)]


def test_parts_have_every_row_once_and_about_the_same_size(folder):
    texts = ParquetTexts(str(folder))
    for n_parts in (1, 2, 3, 11, 1000):
        parts = texts.cut(n_parts, 1, 1 << 30)
        assert [d for part in parts for d in texts.read(part)] == list(texts.documents())
        assert len(parts) <= 2 * n_parts + 1
    assert len(texts.cut(1000, 1 << 20, 1 << 30)) == 1
    assert len(texts.cut(1, 1, 500)) > 5


def test_a_url_is_read_as_a_path_is(folder, tmp_path):
    for source in (folder, folder / "a.parquet"):
        assert list(read_texts(f"file://{source}")) == list(read_texts(source))
        read_corpus(f"file://{source}", out=tmp_path / "url.topmix")
        read_corpus(source, out=tmp_path / "path.topmix")
        assert (tmp_path / "url.topmix").read_bytes() == (tmp_path / "path.topmix").read_bytes()
    with pytest.raises(CorpusError, match=r"file:///nowhere/x\.parquet"):
        read_corpus("file:///nowhere/x.parquet")


def test_what_is_wrong_is_said_as_by_one_process(folder, tmp_path):
    with pytest.raises(CorpusError) as cut:
        ParquetTexts(str(folder), "body").cut(3, 1, 100)
    with pytest.raises(CorpusError) as read:
        list(read_texts(folder, field="body"))
    assert str(cut.value) == str(read.value)
    (tmp_path / "none").mkdir()
    with pytest.raises(CorpusError, match=r"none: no \*\.parquet file"):
        ParquetTexts(str(tmp_path / "none")).cut(3, 1, 100)
    pq.write_table(pa.table({"text": [1, 2]}), folder / "d.parquet")
    with pytest.raises(CorpusError, match=r"d\.parquet: row 1: the field 'text' is not a string but int"):
        in_parts(folder, tmp_path, 5, Vectorizer())
    with pytest.raises(ValueError, match=r"max_df=0\.0"):
        in_parts(folder / "a.parquet", tmp_path, 5, Vectorizer(max_df=0.0))
    assert not [p for p in tmp_path.iterdir() if p.name not in ("texts", "none", "work")]


def test_texts_without_spaces_are_warned_of(tmp_path):
    pq.write_table(pa.table({"text": ["日本語の文章です。これは長い文です" * 3] * 5}), tmp_path / "x.parquet")
    with pytest.warns(UserWarning, match="no spaces between words"):
        in_parts(tmp_path / "x.parquet", tmp_path, 2, Vectorizer())
    with warnings.catch_warnings():
        in_parts(tmp_path / "x.parquet", tmp_path, 2, Vectorizer(token_pattern="auto"))


def test_merged_terms_are_those_of_one_counter(monkeypatch):
    monkeypatch.setattr("topmix.data.count_parts.BLOCK_TERMS", 7)
    texts, rule = (
        [t or "" for t in some_texts(61)],
        (bytes([c > 47 for c in range(128)]), 1, False, True, [], 1, 2, None),
    )
    documents = [text if text.isascii() else text.split() for text in texts]
    whole, merged, ids = _core.TermCounter(*rule), MergedTerms(), []
    whole.count([*documents, ["\ud800"]])
    for part in (documents[:20], [], documents[20:21], [*documents[21:], ["\ud800"]]):
        counter = _core.TermCounter(*rule)
        counter.count(part)
        ids.append(merged.add(PartTerms.of(counter)))
    every = np.arange(whole.n_terms, dtype=np.int32)
    assert merged.terms(every) == whole.terms(every)
    assert (merged.n_rows, merged.n_terms) == (whole.n_rows, whole.n_terms)
    for name in ("document_frequency", "term_frequency"):
        np.testing.assert_array_equal(getattr(merged, name)(), getattr(whole, name)())
    assert ids[0].tolist() == list(range(len(ids[0])))


@pytest.mark.parametrize("cut", [0, 1, 8, 1000, 4099, 5000])
def test_checksums_of_pieces_are_joined(cut, core):
    data = np.random.default_rng(0).integers(0, 256, 5000, dtype=np.uint8)
    a, b = data[:cut].tobytes(), data[cut:].tobytes()
    assert core.crc32_joined(zlib.crc32(a), zlib.crc32(b), len(b)) == zlib.crc32(a + b)
