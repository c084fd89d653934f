"""A vocabulary belongs to its file: no corpus takes the words of another that lies beside it."""

from __future__ import annotations

import pytest

from topmix.data import Corpus, read_corpus, write_corpus

A = Corpus.from_rows([{0: 1, 2: 3}, {1: 2}], ["apple", "pear", "plum"])
B = Corpus.from_rows([{0: 4, 1: 3}, {2: 2}], ["keel", "mast", "sail"])
NAMES = ["y.mtx", "y.npz", "y.mtx.gz", "docword.y.txt"]


def words(path):
    found = read_corpus(path).vocabulary
    return None if found is None else list(found)


@pytest.mark.parametrize("first", NAMES)
@pytest.mark.parametrize("second", NAMES)
def test_corpora_of_one_name_keep_their_own_words(tmp_path, first, second):
    if first == second:
        return
    write_corpus(A, tmp_path / first)
    write_corpus(B, tmp_path / second)
    assert words(tmp_path / first) == list(A.vocabulary)
    assert words(tmp_path / second) == list(B.vocabulary)


def test_words_of_a_name_are_for_every_file_of_that_name_without_its_own(tmp_path):
    (tmp_path / "y.vocab.txt").write_text("a\nb\nc\n")
    for name in ("y.mtx", "y.mm"):
        (tmp_path / name).write_text("%%MatrixMarket matrix coordinate real general\n1 3 1\n1 1 1\n")
        assert words(tmp_path / name) == ["a", "b", "c"]
        assert read_corpus(tmp_path / name, vocabulary=False).vocabulary is None
    (tmp_path / "y.vocab.txt").rename(tmp_path / "y.mtx.vocab.txt")
    assert words(tmp_path / "y.mtx") == ["a", "b", "c"]
    assert words(tmp_path / "y.mm") is None


def test_the_words_of_a_folder_are_for_all_its_files(tmp_path):
    (tmp_path / "vocab.txt").write_text("a\nb\nc\n")
    for name in ("train.mtx", "test.mtx"):
        (tmp_path / name).write_text("%%MatrixMarket matrix coordinate real general\n1 3 1\n1 1 1\n")
        assert words(tmp_path / name) == ["a", "b", "c"]
