"""Every format: a corpus that is written reads back equal, in memory and on disk. Errors name the file and the line."""

from __future__ import annotations

import gzip

import numpy as np
import pytest
import scipy.io
import scipy.sparse as sp
from hypothesis import HealthCheck, given, settings, strategies as st

from topmix.data import Corpus, CorpusError, read_corpus, write_corpus
from topmix.io.readers import FORMATS

FILES = ["docword.x.txt", "docword.x.txt.gz", "x.mtx", "x.mtx.gz", "x.npz", "x.parquet", "x.topmix"]  # fmt: skip
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
        assert same(read_corpus(folder / name), c)
        on_disk = read_corpus(folder / name, out=folder / "out.topmix")
        assert on_disk.path == folder / "out.topmix"
        assert same(on_disk, c)
        on_disk.verify()
        assert not [f for f in folder.iterdir() if f.name.endswith("-tmp")]


@pytest.mark.parametrize("name", ["x.mtx", "x.npz", "x.parquet", "x.topmix"])
def test_fractions_read_back_to_the_bit(tmp_path, name):
    rng = np.random.default_rng(0)
    value = np.abs(rng.normal(size=2000) * 10.0 ** rng.integers(-30, 30, 2000)).astype(np.float32)
    c = Corpus(np.arange(0, 2001, 10), np.tile(np.arange(10), 200), value, 10)
    write_corpus(c, tmp_path / name)
    np.testing.assert_array_equal(read_corpus(tmp_path / name).value, c.value)


ODD_WORDS = [
    "",
    " ",
    "a b",
    "#x",
    "3:4",
    "\t",
    "\x00",
    "\x0b\x0c",
    "\x85",
    "\u2028",
    "\ufeff",
    "naïve",
    "猫",
    "\U0001f600",
    "a",
    "a",
]
word = st.sampled_from(ODD_WORDS) | st.text(
    st.characters(exclude_characters="\r\n", exclude_categories=["Cs"]), max_size=4
)
whole = st.integers(1, 300) | st.sampled_from([2**24, 2**31, 2**53, 2**62])
fraction = st.sampled_from([3e20]) | st.floats(2.0**-149, float(np.finfo(np.float32).max), width=32)


@st.composite
def corpora(draw, count):
    """A few documents over up to eight words. Documents may be empty, words unused, and the vocabulary missing."""
    vocabulary = draw(st.lists(word, max_size=8))
    ids = st.integers(0, max(len(vocabulary) - 1, 0))
    rows = draw(st.lists(st.dictionaries(ids, count, max_size=len(vocabulary)), max_size=6))
    with_words = draw(st.booleans())
    return Corpus.from_rows(rows, vocabulary if with_words else None, n_words=len(vocabulary))


def read_back(c, folder, name):
    """The corpus after one round through a file and one through a file and a mapped corpus; both must be the same."""
    write_corpus(c, folder / name)
    try:
        back = read_corpus(folder / name)
        assert back.equals(read_corpus(folder / name, out=folder / "out.topmix"))
    finally:
        for file in folder.iterdir():
            file.unlink()
    return back


per_example = settings(suppress_health_check=[HealthCheck.function_scoped_fixture])  # read_back empties the folder


@given(c=corpora(whole), name=st.sampled_from(["docword.x.txt", "docword.x.txt.gz"]))
@per_example
def test_uci_reads_back_every_array_and_word(c, name, tmp_path):
    assert read_back(c, tmp_path, name).equals(c)


@given(c=corpora(whole | fraction), name=st.sampled_from(["x.mtx", "x.mtx.gz"]))
@per_example
def test_matrix_market_reads_back_every_array_and_word(c, name, tmp_path):
    assert read_back(c, tmp_path, name).equals(c)


@pytest.mark.parametrize("vocabulary", [["a", "b\n"], ["a", "\rb"], ["a", "\ud800"]])
@pytest.mark.parametrize("name", ["docword.x.txt", "x.mtx", "x.npz"])
def test_words_that_a_vocabulary_file_cannot_hold_are_refused(tmp_path, name, vocabulary):
    with pytest.raises(CorpusError, match="word 1 "):
        write_corpus(Corpus([0], [], [], 2, vocabulary), tmp_path / name)
    assert list(tmp_path.iterdir()) == []


def test_uci_refuses_fractions(tmp_path):
    with pytest.raises(CorpusError, match="integers below"):
        write_corpus(Corpus([0, 1], [0], [0.5], 1), tmp_path / "docword.x.txt")
    assert list(tmp_path.iterdir()) == []


def test_entries_in_any_order(medium, tmp_path):
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
    for name in ("docword.x.txt", "docword.x.txt.gz", "x.mtx"):
        write_corpus(small, tmp_path / name)
    for size in (1, 2, 5, 13, 64):
        monkeypatch.setattr("topmix.io.textfile.TextFile.__init__.__defaults__", (size,))
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
        with pytest.raises(CorpusError, match=r"x\.mtx: (expected a general|not a Matrix)"):
            read_corpus(path)


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
    assert read_corpus(path).to_scipy().toarray().tolist() == [[2], [1]]  # in any order
    pq.write_table(pa.table({"a": [1]}), path)
    with pytest.raises(CorpusError, match="expected words and counts"):
        read_corpus(path)
    pq.write_table(pa.table({"words": [[1, None]], "counts": [[1, 1]]}), path)
    with pytest.raises(CorpusError, match="missing"):
        read_corpus(path)


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("docword.x.txt", "2\n3\n2\n1 1 1\n2 3\n", "line 5: expected a line 'doc word count'"),
        ("docword.x.txt", "2\n3\n2\n1 1 1\n2 4 1\n", "line 5: expected a word id from 1 to 3, found '4'"),
        ("docword.x.txt", "2\n3\n2\n1 1 1\n0 3 1\n", "line 5: expected a document id from 1 to 2, found '0'"),
        ("docword.x.txt", "2\n3\n2\n1 1 1\n3 3 1\n", "line 5: expected a document id from 1 to 2, found '3'"),
        (
            "docword.x.txt",
            "2\n3\n2\n1 1 0\n2 3 1\n",
            "line 4: expected a count from 1 to 9223372036854775806, found '0'",
        ),
        ("docword.x.txt", "2\n3\n2\n1 1 -1\n2 3 1\n", "line 4: expected a whole number, found '-1'"),
        ("docword.x.txt", "2\n3\n2\n1 1 1.5\n2 3 1\n", r"line 4: expected a whole number, found '\.5'"),
        ("docword.x.txt", "2\n3\n2\n1 1 1 7\n2 3 1\n", "line 4: expected a line 'doc word count'"),
        ("docword.x.txt", "2\n3\n2\n1 x 1\n2 3 1\n", "line 4: expected a whole number, found 'x'"),
        ("docword.x.txt", "2\n3\n2\n\n1 99999999999999999999 1\n", "line 5: expected a word id from 1 to 3"),
        ("docword.x.txt", "2\n3\n3\n1 1 1\n2 3 1\n", "line 6: the file ends after 2 entries, but the header says 3"),
        ("docword.x.txt", "2\n3\n1\n1 1 1\n2 3 1\n", "line 5: 2 entries up to here, but the header says 1"),
        ("docword.x.txt", "2\n3\n2\n1 1 1\n2 3 1", "line 5: the file ends inside this line, without a newline"),
        ("docword.x.txt", "2\n3\n", "line 3: the file ends here, but a line with the number of entries is expected"),
        ("docword.x.txt", "2\nx\n", "line 2: expected the number of words, found 'x'"),
        ("docword.x.txt", "2\n3\n9\n", "line 3: the header says 9 entries, more than 2 × 3"),
        ("docword.x.txt", "99999999999\n3\n9\n", "line 3: the header says 99999999999 documents"),
        ("x.mtx", "%%MatrixMarket matrix coordinate real general\n2 2\n", "not a Matrix Market file: Invalid integer"),
        (
            "x.mtx",
            "%%MatrixMarket matrix coordinate real general\n2 2 1\n1 1 inf\n",
            "row 0, column 0: the count is infinite",
        ),
    ],
)
def test_errors_name_the_file_and_what_is_wrong(tmp_path, name, text, message):
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
    with pytest.raises(CorpusError, match="line break"):
        write_corpus(Corpus([0], [], [], 1, ["a\nb"]), tmp_path / "z.mtx")


@pytest.mark.parametrize("name", ["docword.x.txt", "x.mtx", "x.npz"])
def test_a_corpus_without_words_does_not_get_those_of_the_one_before(small, tmp_path, name):
    path = tmp_path / name
    write_corpus(small, path)
    assert read_corpus(path).vocabulary == list(small.vocabulary)
    write_corpus(Corpus(small.indptr, small.index, small.value, small.n_words), path)
    assert read_corpus(path).vocabulary is None


def test_formats_are_recognised_by_content(medium, tmp_path):
    for name, f in FORMATS.items():
        if name == "h5ad":  # read by its name, and not written
            continue
        path = tmp_path / f"{name}.data"
        f.write(medium, path)
        back = read_corpus(path)
        assert (back.to_scipy() != medium.to_scipy()).nnz == 0, name
    (tmp_path / "a.bin").write_bytes(b"what is this")
    with pytest.raises(CorpusError, match=r"a\.bin: byte 0: neither the name nor"):
        read_corpus(tmp_path / "a.bin")
    with pytest.raises(ValueError, match="unknown format 'x'"):
        read_corpus(tmp_path / "a.bin", format="x")
    with pytest.raises(ValueError, match="the name does not tell the format"):
        write_corpus(medium, tmp_path / "a.bin")


def test_the_format_of_an_npz_is_a_word(tmp_path):
    X = sp.csr_array(np.eye(4))
    parts = {"data": X.data, "indices": X.indices, "indptr": X.indptr, "shape": np.array(X.shape)}
    for word in ("csr", b"csr"):
        np.savez(tmp_path / "x.npz", format=word, **parts)
        assert read_corpus(tmp_path / "x.npz").n_tokens == 4
    for wrong in (3, 2.5, "zzz", b"\xff", "", ["csr", "csr"]):
        np.savez(tmp_path / "x.npz", format=wrong, **parts)
        with pytest.raises(CorpusError, match=r"not a complete scipy \.npz file"):
            read_corpus(tmp_path / "x.npz")
