"""Small files that ask for much, and text that parsers of Python do not expect: an error that names the file."""

from __future__ import annotations

import csv
import io
import json
import os
import resource
import threading
import tracemalloc
import zipfile

import numpy as np
import pytest

from topmix import GaussianMixture
from topmix.data import Corpus, CorpusError, Rows, read_corpus, read_texts

HEADER = "%%MatrixMarket matrix coordinate real general\n"
BOMBS = {
    "docword.a.txt": "2000000000\n2000000000\n0\n",
    "docword.b.txt": "2000000000\n2000000000\n20000000\n2000000000 1 1\n",
    "a.mtx": HEADER + "2000000000 5 0\n",
    "b.mtx": HEADER + "2000000000 5 9999999999\n1 1 1\n1999999999 1 1\n",
    "c.mtx": HEADER + "2000000000 5 20000000\n1999999999 1 1\n1 1 1\n",  # not in order
}


@pytest.mark.parametrize("out", [False, True])
@pytest.mark.parametrize("name", BOMBS)
def test_memory_grows_with_what_is_read(tmp_path, name, out):
    (tmp_path / name).write_text(BOMBS[name])
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    tracemalloc.start()
    try:
        with pytest.raises(CorpusError, match=name):
            read_corpus(tmp_path / name, out=tmp_path / "o.topmix" if out else None)
        assert tracemalloc.get_traced_memory()[1] < 100_000_000
    finally:
        tracemalloc.stop()
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 100_000  # KB
    assert not list(tmp_path.glob(".*"))


def test_many_empty_documents_are_no_bomb(tmp_path):
    (tmp_path / "docword.a.txt").write_text("200000\n5\n2\n1 1 1\n150000 2 1\n")
    assert read_corpus(tmp_path / "docword.a.txt").shape == (200_000, 5)


def test_npz_headers_that_claim_more_than_there_is(tmp_path):
    path = tmp_path / "a.npz"
    arrays = {"format": b"csc", "shape": [4, 3], "data": np.ones(2), "indices": [0, 1], "indptr": [0, 1, 2, 2]}
    with zipfile.ZipFile(path, "w") as archive:
        for name, array in arrays.items():
            file = io.BytesIO()
            np.save(file, np.asarray(array))
            text = file.getvalue()
            if name == "data":
                text = text.replace(b"(2,), }" + b" " * 9, b"(2000000000,), }")
                assert b"2000000000" in text
            archive.writestr(f"{name}.npy", text)
    with pytest.raises(CorpusError, match=r"a\.npz: .*data\.npy has \d+ bytes, too few"):
        read_corpus(path)


STRANGE_JSON = [
    '{"text": ' + "[" * 100_000 + "]" * 100_000 + "}",
    '{"text": "a", "n": ' + "9" * 5000 + "}",
    "[" * 99_999,
]


@pytest.mark.parametrize("line", STRANGE_JSON, ids=range(len(STRANGE_JSON)))
def test_json_that_python_cannot_read(tmp_path, line):
    (tmp_path / "a.jsonl").write_text('{"text": "fine"}\n' + line + "\n")
    for read in (lambda p: list(read_texts(p)), read_corpus):
        with pytest.raises(CorpusError, match=r"a\.jsonl: line 2: not JSON"):
            read(tmp_path / "a.jsonl")


@pytest.mark.parametrize("text", STRANGE_JSON[1:], ids=range(2))
def test_strange_metadata_of_parquet(tmp_path, text):
    pa = pytest.importorskip("pyarrow")
    pq = pytest.importorskip("pyarrow.parquet")
    rows = {"words": pa.array([[0]]), "counts": pa.array([[1.0]])}
    pq.write_table(pa.table(rows).replace_schema_metadata({b"topmix": text}), tmp_path / "a.parquet")
    with pytest.raises(CorpusError, match=r"a\.parquet: the metadata of topmix"):
        read_corpus(tmp_path / "a.parquet")


def test_damaged_npy_headers(tmp_path):
    path = tmp_path / "a.npy"
    np.save(path, np.zeros((5, 3)))
    data = path.read_bytes()
    n_refused = 0
    for at in range(10, 80):
        for byte in b"'({[,)9-\0\xffx\\#\n":
            path.write_bytes(data[:at] + bytes([byte]) + data[at + 1 :])
            try:
                Rows.open(path)
            except CorpusError as error:
                assert "a.npy" in str(error)  # noqa: PT017
                n_refused += 1
    assert n_refused > 300
    deep = b"(" * 5000
    path.write_bytes(data[:8] + (len(deep)).to_bytes(2, "little") + deep)
    with pytest.raises(CorpusError, match=r"a\.npy"):
        Rows.open(path)
    with pytest.raises(FileNotFoundError):
        Rows.open(tmp_path / "no.npy")


def test_threads_read_csv_files_side_by_side(tmp_path):
    """The limit of a field is global to the module, and 300 KB is above its default."""
    path = tmp_path / "a.csv"
    path.write_text("id,text\n" + "".join(f'{n},"{"word " * 60_000}"\n' for n in range(6)))
    before = csv.field_size_limit()
    errors = []

    def read():
        try:
            assert len(list(read_texts(path, field="text"))) == 6
        except Exception as error:
            errors.append(error)

    try:
        csv.field_size_limit(131_072)
        threads = [threading.Thread(target=read) for _ in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert csv.field_size_limit() == 131_072  # as it was
    finally:
        csv.field_size_limit(before)
    assert not errors


def test_two_files_are_read_alternately(tmp_path):
    """One reader ends, and the other still needs the limit: the same without threads and luck."""
    csv.field_size_limit(131_072)
    for name in "ab":
        (tmp_path / f"{name}.csv").write_text("text\n" + f"{'w' * 200_000}\n" * (1 if name == "a" else 5))
    long, short = (read_texts(tmp_path / f"{name}.csv", field="text") for name in "ba")
    assert next(long)
    assert csv.field_size_limit() == 131_072  # others of this process have theirs, also between two rows
    assert len(list(short)) == 1
    assert len(list(long)) == 4
    assert csv.field_size_limit() == 131_072


def test_metadata_of_a_corpus_is_nested_too_deep(tmp_path):
    path = tmp_path / "a.topmix"
    Corpus.from_rows([{0: 1}]).save(path)
    from tools.saved_corpora import parts, sealed

    for text in ("[" * 100_000, '{"a": ' + "9" * 5000 + "}", json.dumps([])):
        table, metadata, blob = parts(path.read_bytes())
        (tmp_path / "b.topmix").write_bytes(sealed(table, metadata | {"meta": text}, blob))
        with pytest.raises(CorpusError, match=r"b\.topmix: byte 8"):
            Corpus.open(tmp_path / "b.topmix")


@pytest.mark.parametrize("url", ["", "file://"])
def test_what_has_no_end_is_refused(tmp_path, monkeypatch, url):
    monkeypatch.setenv("TOPMIX_CACHE", str(tmp_path / "cache"))
    for name in ("a.txt", "a.mtx", "a.csv", "docword.a.txt"):
        (tmp_path / name).symlink_to("/dev/zero")
    for path in (*sorted(tmp_path.glob("*.*")), "/dev/zero"):
        with pytest.raises(CorpusError, match="no regular file, and may have no end"):
            read_corpus(f"{url}{path}")
    with pytest.raises(CorpusError, match="no regular file, and may have no end"):
        GaussianMixture(2).fit(f"{url}{tmp_path}/a.csv")


def test_texts_may_come_through_a_pipe(tmp_path):
    os.mkfifo(tmp_path / "a.txt")
    writer = threading.Thread(target=(tmp_path / "a.txt").write_text, args=("one two\nthree\n",))
    writer.start()
    assert [text for _, text in read_texts(tmp_path / "a.txt")] == ["one two", "three"]
    writer.join()
