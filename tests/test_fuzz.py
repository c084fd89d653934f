"""Ten thousand damaged files: each raises the one documented error, or loads as a model that works.

Half of the files have random damage, which the checksums nearly always catch. The other half are forged: an entry of
the header or a number of an array is changed and the checksums are corrected, so that the later checks run too. Each
file must also be handled in little time and memory, whatever sizes its header claims.
"""

from __future__ import annotations

import json
import random
import resource
import time
import tracemalloc
import warnings
import zlib
from contextlib import suppress
from pathlib import Path

import numpy as np
import pytest

import topmix
from tools.fuzz_files import models
from topmix.base.fields import ModelFileError
from topmix.base.layout import metadata_crc
from topmix.data import Corpus, CorpusError

MODELS = ("LDA", "GibbsLDA", "MultinomialMixture")  # of tools.fuzz_files.models
N_FILES = 4_000
NASTY = [None, True, -1, 0, 1, 2**31, 2**63, 10**40, -0.5, 1e308, "", "x", "__class__", "../etc/passwd", "\ud800", [],
         {}, [[]], ["x"] * 40, {"float": "nan"}, {"float": "inf"}, "9" * 400, [0] * 1000]  # fmt: skip
NUMBERS = [np.nan, np.inf, -np.inf, -1.0, 0.0, 5e-324, 1e-200, 1e100, 1.1e100, 1e308]


def damaged(data: bytes, rng: random.Random) -> bytes:
    """Flipped bits, or bytes removed, added or repeated."""
    hurt = bytearray(data)
    at, length = rng.randrange(len(data)), rng.choice((1, 2, 8, 64, 1000))
    kind = rng.randrange(6)
    if kind == 0:
        for _ in range(rng.choice((1, 1, 2, 8))):
            hurt[rng.randrange(len(hurt))] ^= 1 << rng.randrange(8)
    elif kind == 1:
        del hurt[at : at + length]
    elif kind == 2:
        hurt[at:at] = rng.randbytes(length)
    elif kind == 3:
        hurt[at : at + length] = hurt[:length]
    elif kind == 4:
        del hurt[at:]
    else:
        hurt[:8] = rng.choice((rng.randbytes(8), rng.randrange(2 * len(data)).to_bytes(8, "little")))
    return bytes(hurt)


def forged(data: bytes, rng: random.Random) -> bytes:
    """One changed entry of the header or number of an array, with correct checksums."""
    length = int.from_bytes(data[:8], "little")
    table, blob = json.loads(data[8 : 8 + length]), bytearray(data[8 + length :])
    metadata = table["__metadata__"]
    del metadata["metadata_crc32"]
    inner = "model" if "model" in metadata else "meta"
    about = json.loads(metadata[inner])
    kind = rng.randrange(4)
    if kind == 0 and blob:
        begin = rng.randrange(len(blob)) // 8 * 8
        blob[begin : begin + 8] = np.float64(rng.choice(NUMBERS)).tobytes()[: len(blob) - begin]
    else:
        _change(about if kind < 3 and about else metadata if kind == 1 else table, rng)
    metadata[inner] = json.dumps(about)
    crcs = {}
    for name, entry in table.items():
        if name != "__metadata__" and isinstance(entry, dict):
            offsets = entry.get("data_offsets")
            if isinstance(offsets, list) and len(offsets) == 2 and all(type(n) is int for n in offsets):
                crcs[name] = f"{zlib.crc32(blob[slice(*offsets)]):08x}"
    if isinstance(metadata, dict):
        metadata["crc32"] = json.dumps(crcs)
        if all(isinstance(k, str) and isinstance(v, str) for k, v in metadata.items()):
            metadata["metadata_crc32"] = metadata_crc(metadata)
    header = json.dumps(table).encode()
    return len(header).to_bytes(8, "little") + header + bytes(blob)


def _change(tree, rng: random.Random) -> None:
    """Replace or delete one entry anywhere in the tree."""
    holder, key = tree, rng.choice(list(tree))
    while isinstance(holder[key], dict | list) and holder[key] and rng.random() < 0.8:
        holder = holder[key]
        key = rng.choice(list(holder)) if isinstance(holder, dict) else rng.randrange(len(holder))
    if rng.random() < 0.2:
        del holder[key]
    else:
        holder[key] = rng.choice(NASTY)


def check_model(path: Path, n: int) -> bool:
    try:
        model = topmix.load(path)
    except ModelFileError as error:
        assert str(path) in str(error)  # noqa: PT017
        return False
    assert np.isfinite(model.components_ if hasattr(model, "components_") else model.means_).all()
    if n % 8:
        return True
    X = np.eye(3, model.n_features_in_, dtype=np.float32)
    with warnings.catch_warnings(), suppress(ValueError):  # some parameters are checked only when they are used
        warnings.simplefilter("ignore")  # priors of 1e100 overflow a float32
        rows = model.transform(X) if hasattr(model, "transform") else model.predict_proba(X)
        assert rows.shape[0] == 3
    return True


def check_corpus(path: Path, n: int) -> bool:
    try:
        Corpus.open(path).verify()
    except CorpusError as error:
        assert str(path) in str(error)  # noqa: PT017
        return False
    return True


@pytest.fixture(scope="module")
def corpus_file(tmp_path_factory) -> Path:
    path = tmp_path_factory.mktemp("corpus") / "small.topmix"
    counts = np.arange(60).reshape(12, 5) % 4
    Corpus.from_scipy(counts, vocabulary=list("abcdé"), names=[f"n{d}" for d in range(12)]).save(path)
    return path


class Cost:
    """CPU time and memory of one case, relative to the size of its file.

    tracemalloc counts what Python and NumPy ask for, also pages that are never written. The peak of the resident memory
    also counts native code, in every case; tracing makes a case four times as long, so only some cases have it.
    """

    def __init__(self, file_size: int, *, traces: bool = True) -> None:
        self.traces = traces
        self.allowed = 2_000_000 + 50 * file_size  # bytes; measured: 0.6 MB for files of 4 to 9 KB

    def __enter__(self) -> None:
        self.began = time.process_time()
        self.resident = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        if self.traces:
            tracemalloc.start()

    def __exit__(self, *_: object) -> None:
        traced = tracemalloc.get_traced_memory()[1] if self.traces else 0
        tracemalloc.stop()
        assert traced < self.allowed, f"{traced:,} bytes for a small file"
        assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - self.resident < 50_000  # KB
        assert time.process_time() - self.began < 10  # seconds: no loop has the length that a file claims


def test_the_cost_of_a_case_is_measured():
    with pytest.raises(AssertionError, match="bytes for a small file"), Cost(1000):
        np.empty(1_000_000)  # never written, so it does not become resident
    with Cost(1000):
        np.empty(100_000)


@pytest.mark.parametrize(  # each estimator has files of its own, and the same reader
    "name", ["LDA", "corpus", *(pytest.param(x, marks=pytest.mark.slow) for x in MODELS if x != "LDA")]
)
def test_a_damaged_file_raises_or_loads_at_little_cost(name, corpus_file, tmp_path):
    found = {path.stem: path for path in models()}
    source, check = (corpus_file, check_corpus) if name == "corpus" else (found[name], check_model)
    data, path = source.read_bytes(), tmp_path / "hurt"
    rng = random.Random(name)
    path.write_bytes(data)
    assert check(path, 0)  # also imports everything before memory is measured
    n_loaded, n_cases = 0, -(-N_FILES // (len(MODELS) + 1))
    for n in range(n_cases):
        path.write_bytes((forged if n % 2 else damaged)(data, rng))
        with Cost(len(data), traces=n // 2 % 4 == 0):
            n_loaded += check(path, n // 2)
    assert n_loaded > 0.035 * n_cases  # many forged files are valid, so the checks after the checksums were reached
