"""Corpora for benchmarks: counts, vocabulary, and one fixed split into training and test documents.

They are looked for in $TOPMIX_DATA and then in ../shared/data beside the repository: a folder a corpus, with X.npz (a
scipy CSR of counts) and vocab.txt.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import NamedTuple

import numpy as np
import scipy.sparse as sp

CORPORA = ("kos", "nips", "wiki", "20ng", "arxiv_100k", "arxiv")


class Dataset(NamedTuple):
    name: str
    train: sp.csr_array  # [D, V] float32
    test: sp.csr_array
    vocabulary: list[str]


class MissingData(FileNotFoundError):
    """The corpus is nowhere we looked."""


def folders() -> list[Path]:
    given = [Path(os.environ["TOPMIX_DATA"])] if os.environ.get("TOPMIX_DATA") else []
    return [*given, Path(__file__).resolve().parents[2] / "shared" / "data"]


def load(name: str, *, seed: int = 0, n_test: int = 500) -> Dataset:
    """Documents in random order, without empty ones; the first n_test, or 10% where that is fewer, are for testing."""
    folder = find(name)
    X = sp.csr_array(sp.load_npz(folder / "X.npz"), dtype=np.float32)
    X.sum_duplicates()
    rows = np.random.default_rng(seed).permutation(np.flatnonzero(np.diff(X.indptr)))
    n_test = min(n_test, len(rows) // 10)
    vocabulary = (folder / "vocab.txt").read_text(encoding="utf-8").split("\n")[: X.shape[1]]
    return Dataset(name, X[rows[n_test:]], X[rows[:n_test]], vocabulary)


def find(name: str) -> Path:
    for folder in folders():
        if (folder / name / "X.npz").exists():
            return folder / name
    looked = " or ".join(str(f / name) for f in folders())
    raise MissingData(f"the corpus {name!r} is not in {looked}; set TOPMIX_DATA to the folder that has it")
