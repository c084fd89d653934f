"""Rows of counts: checked as they come in, and rows of a file, checked before anybody sees them."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import NoReturn

import numpy as np
from numpy.typing import ArrayLike, NDArray

from topmix import _core
from topmix.data.errors import CorpusError
from topmix.data.layout import MappedFile
from topmix.numerics.threads import threads

MAX_WORDS = 2**31 - 1  # word ids are int32
SUM_TOLERANCE = 1e-6  # of n_tokens in the header of a file, which is a sum in another order

CountRows = tuple[NDArray[np.int64], NDArray[np.int32], NDArray[np.float32]]  # indptr [D + 1], index [nnz], value [nnz]


def check_n_words(n_words: int) -> int:
    if not 0 <= n_words <= MAX_WORDS:
        raise CorpusError(f"n_words is {n_words}, but must be from 0 to {MAX_WORDS}")
    return int(n_words)


def check_lengths(n_docs: int, n_words: int, vocabulary: Sequence[str] | None, names: Sequence[str] | None) -> None:
    if vocabulary is not None and len(vocabulary) != n_words:
        raise CorpusError(f"the vocabulary has {len(vocabulary)} words, but the data has {n_words} columns")
    if names is not None and len(names) != n_docs:
        raise CorpusError(f"there are {len(names)} names for {n_docs} documents")


def as_rows(indptr: ArrayLike, index: ArrayLike, value: ArrayLike) -> CountRows:
    """The three arrays in the types of a corpus. An array that has its type already is not copied."""
    p, i, x = np.asarray(indptr), np.asarray(index), np.asarray(value)
    for name, a in (("indptr", p), ("index", i)):
        if a.ndim != 1 or (a.dtype.kind not in "iu" and a.size):
            raise CorpusError(f"{name} must be a one-dimensional array of integers, not {a.ndim}-d {a.dtype}")
    if x.ndim != 1 or x.dtype.kind not in "iufb":
        raise CorpusError(f"counts must be a one-dimensional array of real numbers, not {x.ndim}-d {x.dtype}")
    if len(i) != len(x):
        raise CorpusError(f"index has {len(i)} entries, but value has {len(x)}")
    if len(p) < 1 or p[0] != 0 or p[-1] != len(i):
        raise CorpusError(f"indptr must start at 0 and end at {len(i)}, the number of entries")
    if i.dtype != np.int32 and i.size and (i.min() < 0 or i.max() > MAX_WORDS):
        raise CorpusError(f"word ids must be from 0 to {MAX_WORDS}; they go from {i.min()} to {i.max()}")
    with np.errstate(over="ignore"):  # a count that overflows becomes infinite; a later check names its row
        return (np.ascontiguousarray(p, np.int64), np.ascontiguousarray(i, np.int32),
                np.ascontiguousarray(x, np.float32))  # fmt: skip


def tidy(
    indptr: NDArray[np.int64],
    index: NDArray[np.int32],
    value: NDArray[np.float32],
    n_words: int,
    *,
    remap: NDArray[np.int64] | None = None,
    first_row: int = 0,
    room: tuple[NDArray[np.int32], NDArray[np.float32]] | None = None,
) -> CountRows:
    """New rows with sorted columns, duplicates summed and zeros dropped. `remap` renumbers columns; -1 drops one.

    The new columns and counts stand at the beginning of `room`, if given.
    """
    out_indptr = np.empty_like(indptr)
    out_index, out_value = room or (np.empty_like(index), np.empty_like(value))
    try:
        nnz = _core.tidy_rows(
            indptr, index, value, remap, n_words, first_row, threads(), out_indptr, out_index, out_value
        )
    except ValueError as error:
        raise CorpusError(str(error)) from None
    return out_indptr, out_index[:nnz], out_value[:nnz]


@dataclass
class StoredRows:
    """The rows of a saved corpus, behind a door: nobody gets rows out of a file that were not checked.

    A file may be damaged, or written by somebody else, and a kernel that follows a bad word id reads or writes whatever
    lies there. So rows are checked natively when they are taken out: some of them each time, or all of them once.
    Offsets of rows are checked as a whole before the first row is taken: they are few, and every row needs them.
    """

    file: MappedFile
    indptr: NDArray[np.int64]
    index: NDArray[np.int32]
    value: NDArray[np.float32]
    n_words: int
    n_tokens: float
    verified: bool  # whether the checksums were compared when the file was opened
    checked: bool = field(default=False, init=False)  # all rows
    _offsets_checked: bool = field(default=False, init=False)

    @property
    def arrays(self) -> CountRows:
        """Unchecked: to count rows and entries, and to take out what is checked then."""
        return self.indptr, self.index, self.value

    def offsets(self) -> NDArray[np.int64]:
        """indptr, checked."""
        self.file.check_length()
        if not self._offsets_checked:
            falls = np.flatnonzero(self.indptr[1:] < self.indptr[:-1])
            if len(falls):
                d = int(falls[0])
                self._refuse(f"row {d}: indptr goes from {self.indptr[d]} to {self.indptr[d + 1]}, but must not fall")
            self._offsets_checked = True  # the ends were compared with the header
        return self.indptr

    def all(self) -> CountRows:
        """All rows, checked once."""
        self.file.ready(self.index)
        self.file.ready(self.value)
        if not self.checked:
            problem, n_tokens = _core.check_saved_rows(*self.arrays, self.n_words, 0, threads())
            if problem:
                self._refuse(problem)
            if not math.isclose(n_tokens, self.n_tokens, rel_tol=SUM_TOLERANCE):
                self._refuse(f"the header says {self.n_tokens:g} tokens, but the counts sum to {n_tokens:g}")
            self.checked = self._offsets_checked = True
        return self.arrays

    def ready(self, begins: ArrayLike, ends: ArrayLike) -> None:
        """Before entries are taken out: these ranges of them."""
        self.file.ready(self.index, begins, ends)
        self.file.ready(self.value, begins, ends)

    def check(self, rows: CountRows, numbers: Iterable[int]) -> None:
        """Check rows that were taken out: `numbers` says which they are."""
        if self.checked:
            return
        problem, _ = _core.check_saved_rows(*rows, self.n_words, 0, threads())
        if problem:
            for n, d in enumerate(numbers):
                a, b = rows[0][n], rows[0][n + 1]
                one = np.array([0, b - a]), rows[1][a:b], rows[2][a:b]
                problem, _ = _core.check_saved_rows(*one, self.n_words, int(d), 1)
                if problem:
                    self._refuse(problem)
            self._refuse(problem)

    @property
    def path(self) -> Path:
        return self.file.path

    def _refuse(self, problem: str) -> NoReturn:
        raise CorpusError(f"{self.path}: {problem}")
