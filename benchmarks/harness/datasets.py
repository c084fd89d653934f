"""Corpora for benchmarks, in three disjoint parts: training, validation and test documents.

They are looked for in $TOPMIX_DATA and then in ../shared/data beside the repository: one folder per corpus, with X.npz
(a SciPy CSR matrix of counts) and vocab.txt. "generated" is drawn from LDA's own model and needs no file.
"""

from __future__ import annotations

import os
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from benchmarks.harness.machine import ROOT, digest

CORPORA = ("kos", "nips", "wiki", "20ng", "arxiv_100k", "arxiv")
GENERATED = "generated"
ROLES = ("test", "validation")
MOST_HELD_OUT = 500  # documents for testing, and as many for validation; 10% of a smaller corpus
DRAW = 1  # random seed of the test documents: the same for every split


class Dataset(NamedTuple):
    name: str
    train: sp.csr_array  # [D, V] float32
    validation: sp.csr_array  # choose settings on these
    test: sp.csr_array  # report on these
    vocabulary: list[str]
    sha256: str
    split: int = 0
    role: str = "test"

    @property
    def scored(self) -> sp.csr_array:
        """The documents that the role says."""
        return self.test if self.role == "test" else self.validation

    @property
    def about(self) -> dict[str, Any]:
        """For a result row."""
        return {"name": self.name, "sha256": self.sha256, "split": self.split, "role": self.role}


class MissingData(FileNotFoundError):
    """The data is in none of the folders."""


def load(name: str, *, split: int = 0, role: str = "test", most: int = MOST_HELD_OUT) -> Dataset:
    """A corpus without its empty documents, in three disjoint parts.

    Test documents are drawn once per corpus. They are the same for every split, and no split has them in another part.
    `split` says which of the other documents are for validation; the rest is for training. `role` says which part
    `scored` is. Training documents are the same for both roles. `most` is how many documents a part may hold out.
    """
    if role not in ROLES:
        raise ValueError(f"role={role!r} is not one of {', '.join(map(repr, ROLES))}")
    X, vocabulary = _read(name)
    train, validation, test = parts(np.flatnonzero(np.diff(X.indptr)), split, most)
    return Dataset(name, X[train], X[validation], X[test], vocabulary, sha256(name), split, role)


def parts(rows: np.ndarray, split: int, most: int = MOST_HELD_OUT) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """(training, validation, test) rows, in random order."""
    n = min(most, len(rows) // 10)
    order = np.random.default_rng(DRAW).permutation(rows)
    test, others = order[:n], np.random.default_rng([DRAW, split]).permutation(order[n:])
    return others[n:], others[:n], test


def folders() -> list[Path]:
    given = [Path(os.environ["TOPMIX_DATA"])] if os.environ.get("TOPMIX_DATA") else []
    return [*given, ROOT.parent / "shared" / "data"]


def check(name: str) -> None:
    """Raises MissingData if there is no such corpus."""
    if name != GENERATED:
        find(name)


def find(name: str, file: str = "X.npz") -> Path:
    """A file of a corpus or of other data."""
    for folder in folders():
        if (folder / name / file).exists():
            return folder / name / file
    looked = " or ".join(str(f / name) for f in folders())
    raise MissingData(f"the file {file} of {name!r} is not in {looked}; set TOPMIX_DATA to the folder that has {name}")


def sha256(name: str) -> str:
    """Of the corpus's X.npz, as the command sha256sum has it; of the counts, if the corpus is generated."""
    if name == GENERATED:
        X, _ = generated()
        return digest([X.indptr.astype(np.int64), X.indices.astype(np.int32), X.data])
    path = find(name)
    return _sha256_of_file(path, path.stat().st_mtime_ns)


@cache
def _sha256_of_file(path: Path, modified: int) -> str:
    with path.open("rb") as f:
        return digest(iter(lambda: f.read(1 << 24), b""))


def _read(name: str) -> tuple[sp.csr_array, list[str]]:
    if name == GENERATED:
        return generated()
    path = find(name)
    X = sp.csr_array(sp.load_npz(path), dtype=np.float32)
    X.sum_duplicates()
    return X, path.with_name("vocab.txt").read_text(encoding="utf-8").split("\n")[: X.shape[1]]


@cache
def generated() -> tuple[sp.csr_array, list[str]]:
    from topmix.data import sample_lda

    corpus = sample_lda(300, 400, 20, doc_length=60, topic_sizes=1 / (1 + np.arange(20)), random_state=0).corpus
    return sp.csr_array(corpus.to_scipy(), dtype=np.float32), [f"w{v}" for v in range(corpus.n_words)]
