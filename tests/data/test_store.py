"""The file: whole or refused, readable by safetensors, mapped and not loaded."""

from __future__ import annotations

import json
import subprocess
import sys

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings, strategies as st
from safetensors import safe_open
from safetensors.numpy import load_file

from topmix.base.atomic import temporary_path
from topmix.corpus.store import Part, write_store
from topmix.data import Corpus, CorpusError, read_corpus

EMPTY = [Corpus([0], [], [], 0), Corpus([0], [], [], 3), Corpus([0, 0], [], [], 0, [], ["ü"])]


def test_a_round_trip_keeps_everything(small, tmp_path):
    names = ["one", "", "drei", "四", "five"]
    meta = {"lower": True, "words": ["µ", None, 1.5]}
    full = Corpus(small.indptr, small.index, small.value, 7, small.vocabulary, names, meta)
    for i, c in enumerate([small, full, full[1:4], full[:0], *EMPTY]):
        path = tmp_path / f"{i}.topmix"
        c.save(path)
        back = Corpus.open(path, verify=True)
        assert back.equals(c)
        assert back.n_tokens == c.n_tokens
        assert read_corpus(path).equals(c)


def test_safetensors_reads_it(small, tmp_path):
    small.save(tmp_path / "a.topmix")
    arrays = load_file(tmp_path / "a.topmix")
    for name in ("indptr", "index", "value"):
        np.testing.assert_array_equal(arrays[name], getattr(small, name))
    assert bytes(arrays["vocabulary"]).decode() == "".join(small.vocabulary)
    with safe_open(tmp_path / "a.topmix", "np") as file:
        assert file.metadata()["n_tokens"] == "274.0"


def test_arrays_are_aligned(medium, tmp_path):
    medium.save(tmp_path / "a.topmix")
    data = (tmp_path / "a.topmix").read_bytes()
    assert (8 + int.from_bytes(data[:8], "little")) % 64 == 0
    c = Corpus.open(tmp_path / "a.topmix")
    for a in (c.indptr, c.index, c.value):
        assert a.ctypes.data % a.itemsize == 0
        assert not a.flags.writeable


def test_every_truncation_is_refused(small, tmp_path):
    small.save(tmp_path / "whole.topmix")
    data = (tmp_path / "whole.topmix").read_bytes()
    path = tmp_path / "cut.topmix"
    for n in range(len(data)):
        path.write_bytes(data[:n])
        with pytest.raises(CorpusError, match=r"cut\.topmix: byte \d+"):
            Corpus.open(path)
    path.write_bytes(data + b"\0")
    with pytest.raises(CorpusError, match="bytes were added"):
        Corpus.open(path)


def attempt(read):
    """What was read, or the message of a CorpusError; anything else is a fault of ours."""
    try:
        return read(), ""
    except CorpusError as error:
        return None, str(error)


def test_every_flipped_byte_is_found_or_harmless(small, tmp_path):
    small.save(tmp_path / "whole.topmix")
    data = (tmp_path / "whole.topmix").read_bytes()
    path = tmp_path / "flip.topmix"
    harmless = 0
    for n in range(len(data)):
        for mask in (1, 255):
            path.write_bytes(data[:n] + bytes([data[n] ^ mask]) + data[n + 1 :])
            found, error = attempt(lambda: Corpus.open(path, verify=True))
            assert "flip.topmix" in error if error else found.equals(small)
            harmless += not error
    assert harmless < 10


@settings(max_examples=200, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.binary(max_size=300))
def test_noise_is_refused(tmp_path, noise):
    path = tmp_path / "noise.topmix"
    path.write_bytes(noise)
    with pytest.raises(CorpusError, match=r"noise\.topmix"):
        Corpus.open(path)
    path.write_bytes(len(noise).to_bytes(8, "little") + noise)
    with pytest.raises(CorpusError, match=r"noise\.topmix"):
        Corpus.open(path)


STRANGE = [
    "[]",
    "{}",
    '{"__metadata__": 3}',
    '{"a": {}}',
    '{"a": NaN}',
    "[" * 100_000,
    '{"a": {"dtype": "F32", "shape": [-1], "data_offsets": [0, -4]}}',
]


@pytest.mark.parametrize("header", STRANGE, ids=range(len(STRANGE)))
def test_strange_headers_are_refused(tmp_path, header):
    path = tmp_path / "a.topmix"
    path.write_bytes(len(header).to_bytes(8, "little") + header.encode())
    with pytest.raises(CorpusError, match=r"a\.topmix: byte 8"):
        Corpus.open(path)


def test_a_newer_version_says_so(small, tmp_path, monkeypatch):
    monkeypatch.setattr("topmix.corpus.store.FORMAT_VERSION", 2)
    small.save(tmp_path / "a.topmix")
    monkeypatch.undo()
    with pytest.raises(CorpusError, match="format version '2'"):
        Corpus.open(tmp_path / "a.topmix")


def test_verify_finds_rows_that_are_not_a_corpus(tmp_path):
    """Good checksums over bad rows: somebody else's writer."""
    bad = Part.of((np.array([0, 1]), np.array([5], np.int32), np.array([1], np.float32)), None)
    write_store(tmp_path / "a.topmix", lambda: iter([bad]), 3, is_named=False, vocabulary=None, meta={})
    with pytest.raises(CorpusError, match=r"a\.topmix: row 0, column 5: the column is outside"):
        Corpus.open(tmp_path / "a.topmix").verify()


def test_a_temporary_file_is_never_opened(small, tmp_path):
    left = temporary_path(tmp_path / "a.topmix")
    small.save(left)
    for read in (Corpus.open, read_corpus):
        with pytest.raises(CorpusError, match="unfinished temporary file"):
            read(left)


def test_meta_must_fit_in_json(tmp_path):
    for meta in ({"a": {1, 2}}, {"a": float("nan")}):
        with pytest.raises(CorpusError, match="JSON"):
            Corpus([0], [], [], 0, meta=meta).save(tmp_path / "a.topmix")
    assert list(tmp_path.iterdir()) == []


def test_a_missing_file_is_a_missing_file(tmp_path):
    for read in (Corpus.open, read_corpus):
        with pytest.raises(FileNotFoundError):
            read(tmp_path / "no.topmix")


@pytest.mark.skipif(sys.platform != "linux", reason="RssAnon is Linux's")
def test_opening_and_verifying_do_not_load(tmp_path):
    """80 MB of arrays, and a few MB of memory."""
    n = 10_000_000
    c = Corpus(np.arange(0, n + 1, 100), np.tile(np.arange(100, dtype=np.int32), n // 100), np.ones(n, np.float32), 100)
    c.save(tmp_path / "a.topmix")
    del c
    code = """if True:
        import json, sys
        from topmix.data import Corpus
        def anon():
            line = next(x for x in open("/proc/self/status") if x.startswith("RssAnon"))
            return int(line.split()[1]) / 1024
        before = anon()
        c = Corpus.open(sys.argv[1])
        opened = anon()
        c.verify()
        print(json.dumps([opened - before, anon() - before, c.n_tokens, c.nnz]))
    """
    out = subprocess.run(
        [sys.executable, "-c", code, tmp_path / "a.topmix"], capture_output=True, text=True, check=True
    )
    opened, verified, n_tokens, nnz = json.loads(out.stdout)
    assert n_tokens == nnz == n
    assert opened < 5
    assert verified < 25
