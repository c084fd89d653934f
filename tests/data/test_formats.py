"""Every format: what is written reads back, in memory and on disk; what is wrong is named by file and line."""

from __future__ import annotations

import gzip

import numpy as np
import pytest
import scipy.io
import scipy.sparse as sp
from sklearn.datasets import dump_svmlight_file

from topmix.data import Corpus, CorpusError, read_corpus, write_corpus
from topmix.data.formats import FORMATS, triples

FILES = ["docword.x.txt", "docword.x.txt.gz", "x.ldac", "x.dat.gz", "x.svmlight", "x.svm.gz", "x.mtx", "x.mtx.gz",
         "x.npz", "x.parquet", "x.arrow", "x.topmix"]  # fmt: skip
CASES = {
    "empty": Corpus([0], [], [], 7, list("abcdefg")),
    "empty documents": Corpus([0, 0, 0], [], [], 7, list("abcdefg")),
    "one document": Corpus([0, 2], [1, 6], [3, 1], 7, list("abcdefg")),
}


def same(a: Corpus, b: Corpus) -> bool:
    return a.shape == b.shape and (a.to_scipy() != b.to_scipy()).nnz == 0 and a.vocabulary == b.vocabulary


@pytest.mark.parametrize("name", FILES)
def test_what_is_written_reads_back(small, medium, tmp_path, name):
    for i, c in enumerate([small, medium, *CASES.values()]):
        folder = tmp_path / str(i)
        folder.mkdir()
        write_corpus(c, folder / name)
        if c.n_docs or name not in ("x.dat.gz",):  # an empty .dat says nothing of what it is
            assert same(read_corpus(folder / name), c)
            on_disk = read_corpus(folder / name, out=folder / "out.topmix")
            assert on_disk.path == folder / "out.topmix"
            assert same(on_disk, c)
            on_disk.verify()
        assert not [f for f in folder.iterdir() if f.name.endswith("-tmp")]


@pytest.mark.parametrize("name", ["x.svmlight", "x.mtx", "x.npz", "x.parquet", "x.topmix"])
def test_fractions_read_back_to_the_bit(tmp_path, name):
    rng = np.random.default_rng(0)
    value = np.abs(rng.normal(size=2000) * 10.0 ** rng.integers(-30, 30, 2000)).astype(np.float32)
    c = Corpus(np.arange(0, 2001, 10), np.tile(np.arange(10), 200), value, 10)
    write_corpus(c, tmp_path / name)
    np.testing.assert_array_equal(read_corpus(tmp_path / name).value, c.value)


@pytest.mark.parametrize("name", ["docword.x.txt", "x.ldac"])
def test_integer_formats_refuse_fractions(tmp_path, name):
    with pytest.raises(CorpusError, match="integer counts"):
        write_corpus(Corpus([0, 1], [0], [0.5], 1), tmp_path / name)
    assert list(tmp_path.iterdir()) == []


def test_entries_in_any_order(medium, tmp_path, monkeypatch):
    monkeypatch.setattr(triples, "BUCKET_ENTRIES", 500)
    monkeypatch.setattr(triples, "SPAN", 100)
    scipy.io.mmwrite(tmp_path / "x.mtx", medium.to_scipy().tocsc())  # column by column
    write_corpus(medium, tmp_path / "docword.y.txt")
    head, lines = (t := (tmp_path / "docword.y.txt").read_text().splitlines(keepends=True))[:3], t[3:]
    np.random.default_rng(0).shuffle(lines)
    (tmp_path / "docword.y.txt").write_text("".join(head + lines))
    for name in ("x.mtx", "docword.y.txt"):
        for out in (None, tmp_path / "out.topmix"):
            assert (read_corpus(tmp_path / name, out=out).to_scipy() != medium.to_scipy()).nnz == 0
    assert not [f for f in tmp_path.iterdir() if f.name.endswith("-tmp")]


def test_blocks_may_cut_anywhere(small, medium, tmp_path, monkeypatch):
    """Blocks of a few bytes: every line is cut somewhere, and some are longer than a block."""
    for name in ("docword.x.txt", "docword.x.txt.gz", "x.ldac", "x.svmlight", "x.mtx"):
        write_corpus(small, tmp_path / name)
    for size in (1, 2, 5, 13, 64):
        monkeypatch.setattr("topmix.data.textfile.TextFile.__init__.__defaults__", (size,))
        for name in ("docword.x.txt", "docword.x.txt.gz", "x.mtx"):
            assert same(read_corpus(tmp_path / name), small)


def test_matrix_market_of_others(tmp_path):
    path = tmp_path / "x.mtx"
    # gensim writes the sizes last, into a line that it padded with spaces.
    path.write_text("%%MatrixMarket matrix coordinate real general\n2 3 3                 \n1 1 1\n1 3 0.5\n2 2 1.0\n")
    assert read_corpus(path).to_scipy().toarray().tolist() == [[1, 0, 0.5], [0, 1, 0]]
    path.write_text("%%MatrixMarket matrix coordinate pattern general\n% hello\n\n2 3 2\n1 1\n2\t3\r\n")
    assert read_corpus(path).to_scipy().toarray().tolist() == [[1, 0, 0], [0, 0, 1]]
    for banner in ("array real general", "coordinate complex general", "coordinate real symmetric"):
        path.write_text(f"%%MatrixMarket matrix {banner}\n1 1 1\n1 1 1\n")
        with pytest.raises(CorpusError, match=r"x\.mtx: line 1: expected a general coordinate matrix"):
            read_corpus(path)


@pytest.mark.parametrize("zero_based", [False, True])
def test_svmlight_of_scikit_learn(medium, tmp_path, zero_based):
    X = medium.to_scipy()
    y = np.arange(1003) % 3 - 1.5
    dump_svmlight_file(
        X, y, str(tmp_path / "x.svmlight"), zero_based=zero_based, comment="hi", query_id=np.arange(1003)
    )
    for first_id in (None, int(not zero_based)):
        c = read_corpus(tmp_path / "x.svmlight", first_id=first_id, n_words=97)
        assert (c.to_scipy() != X).nnz == 0
        np.testing.assert_array_equal(np.array(c.names, float), y)


def test_npz_of_scipy_in_any_layout(medium, tmp_path):
    X = medium.to_scipy()
    for Y in (X.tocsr(), X.tocsc(), X.tocoo(), sp.csr_matrix(X), X.astype(np.int64)):
        for compressed in (True, False):
            sp.save_npz(tmp_path / "x.npz", Y, compressed)
            assert (read_corpus(tmp_path / "x.npz").to_scipy() != X).nnz == 0


def test_parquet_of_others(tmp_path):
    pa = pytest.importorskip("pyarrow")
    import pyarrow.parquet as pq

    path = tmp_path / "x.parquet"
    pq.write_table(pa.table({"doc": ["a", "a", "b"], "word": ["cat", "dog", "cat"], "count": [1, 2, 3]}), path)
    c = read_corpus(path, out=tmp_path / "o.topmix")
    assert (c.names, c.vocabulary) == (["a", "b"], ["cat", "dog"])
    assert c.to_scipy().toarray().tolist() == [[1, 2], [3, 0]]
    assert read_corpus(path, vocabulary=["dog", "cat", "x"]).to_scipy().toarray().tolist() == [[2, 1, 0], [0, 3, 0]]
    with pytest.raises(CorpusError, match="'dog' is not in the vocabulary"):
        read_corpus(path, vocabulary=["cat"])
    pq.write_table(pa.table({"words": [["b", "a", "b"], []], "counts": [[1.0, 2.0, 1.0], []]}), path)
    assert read_corpus(path).to_scipy().toarray().tolist() == [[2, 2], [0, 0]]
    pq.write_table(pa.table({"doc": [1, 2, 1], "word": [0, 0, 0], "count": [1, 1, 1]}), path)
    with pytest.raises(CorpusError, match=r"x\.parquet: the entries of document 1 are not consecutive"):
        read_corpus(path)
    pq.write_table(pa.table({"a": [1]}), path)
    with pytest.raises(CorpusError, match="expected words and counts"):
        read_corpus(path)
    pq.write_table(pa.table({"words": [[1, None]], "counts": [[1, 1]]}), path)
    with pytest.raises(CorpusError, match="missing"):
        read_corpus(path)


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("docword.x.txt", "2\n3\n2\n1 1 1\n2 3\n", "line 5: expected a count, an integer of at least 1, found the end"),
        ("docword.x.txt", "2\n3\n2\n1 1 1\n2 4 1\n", "line 5: expected a word id from 1 to 3, found '4'"),
        ("docword.x.txt", "2\n3\n2\n1 1 1\n0 3 1\n", "line 5: expected a document id from 1 to 2, found '0'"),
        ("docword.x.txt", "2\n3\n2\n1 1 1\n3 3 1\n", "line 5: expected a document id from 1 to 2, found '3'"),
        ("docword.x.txt", "2\n3\n2\n1 1 0\n2 3 1\n", "line 4: expected a count, an integer of at least 1, found '0'"),
        ("docword.x.txt", "2\n3\n2\n1 1 -1\n2 3 1\n", "line 4: expected a count"),
        ("docword.x.txt", "2\n3\n2\n1 1 1.5\n2 3 1\n", "line 4: expected a count"),
        ("docword.x.txt", "2\n3\n2\n1 1 1 7\n2 3 1\n", "line 4: expected the end of the line, found '7'"),
        ("docword.x.txt", "2\n3\n2\n1 x 1\n2 3 1\n", "line 4: expected a word id, found 'x'"),
        ("docword.x.txt", "2\n3\n2\n\n1 99999999999999999999 1\n", "line 5: expected a word id from 1 to 3"),
        ("docword.x.txt", "2\n3\n3\n1 1 1\n2 3 1\n", "line 6: the file ends after 2 entries, but the header says 3"),
        ("docword.x.txt", "2\n3\n1\n1 1 1\n2 3 1\n", "line 5: 2 entries up to here, but the header says 1"),
        ("docword.x.txt", "2\n3\n2\n1 1 1\n2 3 1", "line 5: the file ends inside this line, without a newline"),
        ("docword.x.txt", "2\n3\n", "line 3: the file ends here, but a line with the number of entries is expected"),
        ("docword.x.txt", "2\nx\n", "line 2: expected the number of words, found 'x'"),
        ("docword.x.txt", "2\n3\n9\n", "line 3: the header says 9 entries, more than 2 × 3"),
        ("docword.x.txt", "99999999999\n3\n9\n", "line 3: the header says 99999999999 documents"),
        ("x.ldac", "2 0:1 3:2\n1 0:1 1:1\n", "line 2: expected 1 pairs word:count, as the line says, found '1:1'"),
        (
            "x.ldac",
            "2 0:1 3:2\n2 0:1\n",
            "line 2: expected 2 pairs word:count .there are 1., found the end of the line",
        ),
        ("x.ldac", "1 0:1\n1 0;1\n", "line 2: expected a pair word:count"),
        ("x.ldac", "1 0:1\nx\n", "line 2: expected a number of pairs, found 'x'"),
        ("x.ldac", "1 0:1\n1 0: \n", "line 2: expected a count"),
        ("x.svmlight", "1 1:1\n2 1:nan\n", "line 2: expected a value, a finite number not below 0, found 'nan'"),
        ("x.svmlight", "1 1:1\n2 1:1e99\n", "line 2: expected a value"),
        ("x.svmlight", "1 1:1\n2 1:-1\n", "line 2: expected a value"),
        ("x.svmlight", "1 1:1\n1,2 1:1\n", "line 2: expected a label, one finite number, found '1,2'"),
        ("x.mtx", "%%MatrixMarket matrix coordinate real general\n2 2\n", "line 2: expected three numbers"),
        ("x.mtx", "%%MatrixMarket matrix coordinate real general\n2 2 1\n1 1 inf\n", "line 3: expected a count"),
    ],
)
def test_errors_name_file_and_line(tmp_path, name, text, message):
    for path, data in ((tmp_path / name, text.encode()), (tmp_path / f"{name}.gz", gzip.compress(text.encode()))):
        path.write_bytes(data)
        with pytest.raises(CorpusError, match=f"{name}.*{message}"):
            read_corpus(path)
        with pytest.raises(CorpusError, match=f"{name}.*{message}"):
            read_corpus(path, out=tmp_path / "out.topmix")
        assert not (tmp_path / "out.topmix").exists()
    assert not [f for f in tmp_path.iterdir() if f.name.endswith("-tmp")]


def test_vocabularies(small, tmp_path):
    write_corpus(small, tmp_path / "docword.x.txt")
    vocab = tmp_path / "vocab.x.txt"
    assert vocab.read_text() == "".join(w + "\n" for w in small.vocabulary)
    vocab.write_text("\r\n".join("abcdefg"))
    assert read_corpus(tmp_path / "docword.x.txt").vocabulary == list("abcdefg")
    assert read_corpus(tmp_path / "docword.x.txt", vocabulary=False).vocabulary is None
    assert read_corpus(tmp_path / "docword.x.txt", vocabulary=list("gfedcba")).vocabulary == list("gfedcba")
    for text in ("a\nb\n", "a\nb\nc\nd\ne\nf\ng\nh\n"):
        vocab.write_text(text)
        with pytest.raises(CorpusError, match=r"vocab\.x\.txt: line \d: expected 7 words.*found \d"):
            read_corpus(tmp_path / "docword.x.txt")
    vocab.write_bytes(b"a\nb\n\xff\nd\ne\nf\ng\n")
    with pytest.raises(CorpusError, match=r"vocab\.x\.txt: line 3: not UTF-8"):
        read_corpus(tmp_path / "docword.x.txt")
    with pytest.raises(CorpusError, match="the given vocabulary has 1"):
        read_corpus(tmp_path / "docword.x.txt", vocabulary=["a"])
    (tmp_path / "y.ldac").write_text("1 5:1\n")
    with pytest.raises(CorpusError, match="line 1: expected a pair word:count with a word id from 0 to 1"):
        read_corpus(tmp_path / "y.ldac", vocabulary=["a", "b"])
    with pytest.raises(CorpusError, match="line break"):
        write_corpus(Corpus([0], [], [], 1, ["a\nb"]), tmp_path / "z.mtx")


def test_formats_are_recognised_by_content(medium, tmp_path):
    for name, f in FORMATS.items():
        path = tmp_path / f"{name}.data"
        f.write(medium, path)
        back = read_corpus(path, n_words=None if name == "topmix" else 97)
        assert (back.to_scipy() != medium.to_scipy()).nnz == 0, name
    (tmp_path / "a.bin").write_bytes(b"what is this")
    with pytest.raises(CorpusError, match=r"a\.bin: byte 0: neither the name nor"):
        read_corpus(tmp_path / "a.bin")
    with pytest.raises(ValueError, match="unknown format 'x'"):
        read_corpus(tmp_path / "a.bin", format="x")
    with pytest.raises(ValueError, match="the name does not tell the format"):
        write_corpus(medium, tmp_path / "a.bin")
