"""Corpora for benchmarks: counts, vocabulary, and documents held out, for testing or for choosing settings.

They are looked for in $TOPMIX_DATA and then in ../shared/data beside the repository: a folder a corpus, with X.npz (a
scipy CSR of counts) and vocab.txt. "generated" is drawn from LDA's own model and needs no file.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import NamedTuple

import numpy as np
import scipy.sparse as sp

CORPORA = ("kos", "nips", "wiki", "20ng", "arxiv_100k", "arxiv")
GENERATED = "generated"
ROLES = ("test", "validation")


class Dataset(NamedTuple):
    name: str
    train: sp.csr_array  # [D, V] float32
    test: sp.csr_array  # to be scored: test or validation documents, as the role says
    vocabulary: list[str]


class MissingData(FileNotFoundError):
    """The corpus is nowhere we looked."""


def folders() -> list[Path]:
    given = [Path(os.environ["TOPMIX_DATA"])] if os.environ.get("TOPMIX_DATA") else []
    return [*given, Path(__file__).resolve().parents[2] / "shared" / "data"]


def load(name: str, *, split: int = 0, role: str = "test", n_test: int = 500) -> Dataset:
    """Documents of one split, without empty ones.

    A split is a random order: the first n_test documents, or 10% where that is fewer, are for testing, as many after
    them for validation, the rest for training. With role="test" the validation documents are trained on too. With
    role="validation" they are scored, and the test documents are in neither part: settings can be chosen on a split
    without having seen what they are then reported on. (On the same split: another one has other test documents.)
    """
    if role not in ROLES:
        raise ValueError(f"role={role!r} is not one of {', '.join(map(repr, ROLES))}")
    X, vocabulary = _read(name)
    rows = np.random.default_rng(split).permutation(np.flatnonzero(np.diff(X.indptr)))
    n = min(n_test, len(rows) // 10)
    test, validation, rest = rows[:n], rows[n : 2 * n], rows[2 * n :]
    if role == "test":
        return Dataset(name, X[rows[n:]], X[test], vocabulary)
    return Dataset(name, X[rest], X[validation], vocabulary)


def find(name: str) -> Path | None:
    """The folder of a corpus; None where it needs no file."""
    if name == GENERATED:
        return None
    for folder in folders():
        if (folder / name / "X.npz").exists():
            return folder / name
    looked = " or ".join(str(f / name) for f in folders())
    raise MissingData(f"the corpus {name!r} is not in {looked}; set TOPMIX_DATA to the folder that has it")


def _read(name: str) -> tuple[sp.csr_array, list[str]]:
    folder = find(name)
    if folder is None:
        from topmix.data import sample_lda

        X = sample_lda(800, 600, 20, doc_length=80, topic_sizes=1 / (1 + np.arange(20)), random_state=0).corpus
        return sp.csr_array(X.to_scipy(), dtype=np.float32), [f"w{v}" for v in range(X.n_words)]
    X = sp.csr_array(sp.load_npz(folder / "X.npz"), dtype=np.float32)
    X.sum_duplicates()
    return X, (folder / "vocab.txt").read_text(encoding="utf-8").split("\n")[: X.shape[1]]
