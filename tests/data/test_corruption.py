"""Damage to any file, at any byte: a clear error or the same corpus, never a crash, a hang or a quiet mistake.

Text formats carry no checksum, so a changed digit may be another corpus; then it must still be a sound one.
"""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, given, settings, strategies as st

from topmix.data import Corpus, CorpusError, read_corpus, write_corpus

FILES = {"docword.x.txt": "uci", "docword.x.txt.gz": "uci", "x.mtx": "mtx", "x.mtx.gz": "mtx", "x.npz": "npz",
         "x.parquet": "parquet", "x.topmix": "topmix"}  # fmt: skip
CHECKED = {"docword.x.txt.gz", "x.mtx.gz", "x.npz", "x.topmix"}  # formats with a checksum over all data

CORPUS = Corpus.from_rows([{0: 1, 3: 12}, {}, {1: 7, 2: 1, 6: 3}, {5: 250}, {2: 31, 4: 15}])


def attempt(path):
    """What was read, or the message of a CorpusError; anything else is a fault of ours."""
    try:
        corpus = read_corpus(path, format=FILES[path.name])
        return corpus.verify(), ""
    except CorpusError as error:
        message = str(error)
    assert path.name in message
    return None, message


def same(a: Corpus, b: Corpus) -> bool:
    return a.shape == b.shape and (a.to_scipy() != b.to_scipy()).nnz == 0


def some_of(data: bytes) -> range:
    """Places all over a file; every one of a short file."""
    return range(0, len(data), 1 + len(data) // 300)


@pytest.fixture(params=FILES)
def whole(request, tmp_path):
    path = tmp_path / request.param
    write_corpus(CORPUS, path)
    assert same(attempt(path)[0], CORPUS)
    return path, path.read_bytes()


def test_truncation_anywhere(whole):
    path, data = whole
    for n in some_of(data):
        path.write_bytes(data[:n])
        corpus, error = attempt(path)
        assert error or same(corpus, CORPUS), (n, corpus)


def test_any_byte_changed(whole):
    path, data = whole
    for i, n in enumerate(some_of(data)):
        path.write_bytes(data[:n] + bytes([data[n] ^ (1, 16, 128)[i % 3]]) + data[n + 1 :])
        corpus, error = attempt(path)
        if path.name in CHECKED and not error:
            assert same(corpus, CORPUS), n


@settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
@given(st.data())
def test_bytes_changed_dropped_and_added(whole, data):
    path, text = whole
    at = data.draw(st.integers(0, len(text)))
    drop = data.draw(st.integers(0, 20))
    add = data.draw(st.binary(max_size=20) | st.text("0123456789 :.-+eE\n\t", max_size=20).map(str.encode))
    path.write_bytes(text[:at] + add + text[at + drop :])
    corpus, error = attempt(path)
    if path.name in CHECKED and not error:
        assert same(corpus, CORPUS)
