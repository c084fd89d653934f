"""A Parquet file has the rows that it announces, or is refused: nothing is learned from a part of it."""

from pathlib import Path

import pytest

from topmix.data import Corpus, CorpusError, read_corpus, sample_lda, write_corpus

pq = pytest.importorskip("pyarrow.parquet")

SEEDS = Path(__file__).parents[1] / "fuzz_seeds" / "parquet"


def test_row_groups_with_other_rows_than_the_file_are_refused():
    with pytest.raises(CorpusError, match=r"other_rows\.parquet: .* the row groups do not have as many rows"):
        read_corpus(SEEDS / "other_rows.parquet")


def test_rows_that_pyarrow_does_not_find_are_missed(tmp_path, monkeypatch):
    """It ends early, without an error, where the pages of a column do."""
    corpus: Corpus = sample_lda(30, 20, 3, doc_length=10, random_state=0).corpus
    write_corpus(corpus, tmp_path / "a.parquet")
    assert read_corpus(tmp_path / "a.parquet").n_docs == 30
    real = pq.ParquetFile.iter_batches
    monkeypatch.setattr(pq.ParquetFile, "iter_batches", lambda *a, **o: (b.slice(0, 17) for b in real(*a, **o)))
    with pytest.raises(CorpusError, match=r"a\.parquet: .* row 17 is missing: there should be 30"):
        read_corpus(tmp_path / "a.parquet")
