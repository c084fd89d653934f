"""read_corpus takes text as it takes counts."""

import gzip
import json

import pytest

from topmix.data import CorpusError, from_texts, read_corpus, sample_lda, write_corpus

TEXTS = ["the cat sat on the mat", "a dog and a cat", "", "mat mat dog"]


@pytest.fixture
def expected():
    return from_texts(TEXTS)


def same(corpus, expected):
    assert list(corpus.vocabulary) == list(expected.vocabulary)
    assert (corpus.to_scipy() != expected.to_scipy()).nnz == 0


def test_a_folder(tmp_path, expected):
    for n, text in enumerate(TEXTS):
        (tmp_path / f"{n}.txt").write_text(text)
    corpus = read_corpus(tmp_path)
    same(corpus, expected)
    assert list(corpus.names) == ["0.txt", "1.txt", "2.txt", "3.txt"]


def test_json_lines_with_settings_of_the_vectoriser(tmp_path):
    path = tmp_path / "docs.jsonl.gz"
    with gzip.open(path, "wt") as f:
        f.writelines(json.dumps({"body": text}) + "\n" for text in TEXTS)
    same(read_corpus(path, field="body", min_df=2), from_texts(TEXTS, min_df=2))


def test_a_document_a_line_unless_the_lines_are_counts(tmp_path, expected):
    path = tmp_path / "docs.txt"
    path.write_text("\n".join(TEXTS) + "\n")
    same(read_corpus(path), expected)

    counts = tmp_path / "docword.docs.txt"
    write_corpus(expected, counts)
    same(read_corpus(counts), expected)


def test_a_saved_corpus_on_disk_from_text(tmp_path, expected):
    path = tmp_path / "docs.txt"
    path.write_text("\n".join(TEXTS) + "\n")
    corpus = read_corpus(path, out=tmp_path / "docs.topmix")
    same(corpus, expected)
    assert corpus.path == tmp_path / "docs.topmix"


def test_settings_for_text_are_refused_for_counts(tmp_path):
    path = tmp_path / "counts.npz"
    write_corpus(sample_lda(5, 10, 2, random_state=0).corpus, path)
    with pytest.raises(ValueError, match="min_df: for text only"):
        read_corpus(path, min_df=2)


def test_an_empty_folder_says_what_is_missing(tmp_path):
    with pytest.raises((CorpusError, ValueError), match=r"no .*txt"):
        read_corpus(tmp_path)


def test_a_parquet_file_of_texts_is_not_one_of_counts(tmp_path, expected):
    pa = pytest.importorskip("pyarrow")
    import pyarrow.parquet as pq

    path = tmp_path / "docs.parquet"
    pq.write_table(pa.table({"key": [7, 8, 9, 10], "body": [*TEXTS[:2], None, TEXTS[3]]}), path)
    corpus = read_corpus(path, field="body", id_field="key")
    same(corpus, expected)
    assert list(corpus.names) == ["7", "8", "9", "10"]
    with pytest.raises(CorpusError, match="key, body"):
        read_corpus(path)
    write_corpus(expected, path)
    same(read_corpus(path), expected)
