"""Rows of counts: checked as they come in, and rows of a file, checked before anybody sees them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from typing import NoReturn, Protocol, TypeAlias, runtime_checkable

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike, NDArray

from topmix import _core
from topmix.base.checks import CorpusError
from topmix.base.layout import MappedFile
from topmix.base.threads import threads

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
) -> CountRows:
    """New rows with sorted columns, duplicates summed and zeros dropped. `remap` renumbers columns; -1 drops one."""
    out_indptr, out_index, out_value = np.empty_like(indptr), np.empty_like(index), np.empty_like(value)
    try:
        nnz = _core.tidy_rows(
            indptr, index, value, remap, n_words, first_row, threads(), out_indptr, out_index, out_value
        )
    except ValueError as error:
        raise CorpusError(str(error)) from None
    out_index, out_value = out_index[:nnz], out_value[:nnz]
    if 4 * nnz < 3 * len(index):  # waste at most a third
        out_index, out_value = out_index.copy(), out_value.copy()
    return out_indptr, out_index, out_value


class CorpusRows:
    """Rows that were checked."""

    path: Path | None = None  # of the file that they are mapped from

    def __init__(self, rows: CountRows, n_tokens: float | None = None, source: Path | None = None) -> None:
        self.arrays = rows[0].view(), rows[1].view(), rows[2].view()
        for array in self.arrays:
            array.flags.writeable = False
        self.source = source  # the file that they were taken from, if nobody has compared its checksums
        self._n_tokens = n_tokens  # None: nobody has asked

    @property
    def n_tokens(self) -> float:
        if self._n_tokens is None:
            self._n_tokens = float(self.arrays[2].sum(dtype=np.float64))
        return self._n_tokens

    def offsets(self) -> NDArray[np.int64]:
        """indptr, checked."""
        return self.arrays[0]

    def all(self) -> CountRows:
        """All rows, checked once."""
        return self.arrays

    def some(self, numbers: range | NDArray[np.int64]) -> CountRows:
        """Rows of these numbers, checked. Those of a range share memory."""
        offsets, index, value = self.arrays
        if isinstance(numbers, range):
            first, last = int(offsets[numbers.start]), int(offsets[numbers.stop])
            indptr = offsets[numbers.start : numbers.stop + 1]
            return indptr - first if first else indptr, index[first:last], value[first:last]
        starts, lengths = offsets[numbers], offsets[numbers + 1] - offsets[numbers]
        indptr = np.zeros(len(numbers) + 1, np.int64)
        np.cumsum(lengths, out=indptr[1:])
        entries = np.repeat(starts - indptr[:-1], lengths) + np.arange(indptr[-1])
        return indptr, index[entries], value[entries]


class StoredRows(CorpusRows):
    """The rows of a saved corpus, behind a door: nobody gets rows out of a file that were not checked.

    A file may be damaged, or written by somebody else, and a kernel that follows a bad word id reads or writes whatever
    lies there. So rows are checked natively when they are taken out: some of them each time, or all of them once.
    Offsets of rows are checked as a whole before the first row is taken: they are few, and every row needs them.
    `arrays` are not checked: to count rows and entries.
    """

    def __init__(self, file: MappedFile, rows: CountRows, n_words: int, n_tokens: float, *, verified: bool) -> None:
        """`verified`: whether the checksums were compared when the file was opened."""
        super().__init__(rows, n_tokens, None if verified else file.path)
        self.file, self.path, self.n_words = file, file.path, n_words
        self._all_checked = self._offsets_checked = False

    def offsets(self) -> NDArray[np.int64]:
        indptr = self.arrays[0]
        self.file.ready(indptr, 0, 0)
        if not self._offsets_checked:
            falls = np.flatnonzero(indptr[1:] < indptr[:-1])
            if len(falls):
                d = int(falls[0])
                self._refuse(f"row {d}: indptr goes from {indptr[d]} to {indptr[d + 1]}, but must not fall")
            self._offsets_checked = True  # the ends were compared with the header
        return indptr

    def all(self) -> CountRows:
        for array in self.arrays[1:]:
            self.file.ready(array)
        if not self._all_checked:
            problem, n_tokens = _core.check_saved_rows(*self.arrays, self.n_words, 0, threads())
            if problem:
                self._refuse(problem)
            if not math.isclose(n_tokens, self.n_tokens, rel_tol=SUM_TOLERANCE):
                self._refuse(f"the header says {self.n_tokens:g} tokens, but the counts sum to {n_tokens:g}")
            self._all_checked = self._offsets_checked = True
        return self.arrays

    def some(self, numbers: range | NDArray[np.int64]) -> CountRows:
        offsets = self.offsets()
        begins, ends = (numbers.start, numbers.stop) if isinstance(numbers, range) else (numbers, numbers + 1)
        for array in self.arrays[1:]:
            self.file.ready(array, offsets[begins], offsets[ends])
        rows = super().some(numbers)
        problem = "" if self._all_checked else _core.check_saved_rows(*rows, self.n_words, 0, threads())[0]
        if problem:
            for n, d in enumerate(numbers):
                a, b = rows[0][n], rows[0][n + 1]
                one = np.array([0, b - a]), rows[1][a:b], rows[2][a:b]
                problem, _ = _core.check_saved_rows(*one, self.n_words, int(d), 1)
                if problem:
                    self._refuse(problem)
            self._refuse(problem)
        return rows

    def _refuse(self, problem: str) -> NoReturn:
        raise CorpusError(f"{self.path}: {problem}")


# Matrices of counts in memory, sparse, dense or as DataFrames: checked, and as the rows of a corpus.
#
# A sparse matrix in memory is whatever somebody has put into its arrays. Conversions of SciPy (`tocsr`, sums, slices)
# run in C++ and trust them: an index that lies outside makes them write outside. SciPy checks indices only when it is
# asked to. So `check_sparse` comes first.

Sparse: TypeAlias = sp.sparray | sp.spmatrix


@runtime_checkable
class FrameLike(Protocol):
    """A DataFrame of pandas or polars."""

    @property
    def columns(self) -> Sequence[object]: ...
    def to_numpy(self) -> np.ndarray: ...


def rows_from_array(X: object) -> tuple[CountRows, int, Sequence[str] | None, Sequence[str] | None]:
    """The rows, n_words, vocabulary and names; the last two from a DataFrame.

    The rows may be unsorted and may hold duplicates and zeros.
    """
    vocabulary = names = None
    numbers: np.ndarray | Sparse = X
    if isinstance(X, FrameLike):
        vocabulary = [str(c) for c in X.columns]
        index = getattr(X, "index", None)  # which polars does not have
        if index is not None and type(index).__name__ != "RangeIndex":
            names = [str(i) for i in index]
        sparse = getattr(X, "sparse", None)  # pandas has it where all columns are sparse
        numbers = X.to_numpy() if sparse is None or not len(X.columns) else sparse.to_coo()
    if sp.issparse(numbers):
        check_sparse(numbers)
    else:
        numbers = np.asarray(numbers)
        if numbers.ndim != 2:
            raise CorpusError(
                f"expected an array of shape (documents, words), found an array with {numbers.ndim} dimensions"
            )
    if numbers.dtype.kind not in "iufb":
        raise CorpusError(f"counts must be real numbers, not {numbers.dtype}")
    rows = sp.csr_array(numbers)  # sums the duplicates of COO; keeps NaN, which a later check reports
    n_words = check_n_words(int(rows.shape[1]))
    return as_rows(rows.indptr, rows.indices, rows.data), n_words, vocabulary, names


def check_sparse(X: Sparse) -> None:
    """Raise CorpusError unless the arrays of a sparse matrix describe a matrix of its shape."""
    if len(X.shape) != 2:
        _refuse(X, f"has {len(X.shape)} dimensions; expected a matrix of shape (documents, words)")
    n_rows, n_cols = (int(n) for n in X.shape)
    if X.format in ("csr", "csc", "bsr"):
        major, minor, what = (n_cols, n_rows, "row") if X.format == "csc" else (n_rows, n_cols, "column")
        if X.format == "bsr":
            height, width = np.shape(X.data)[1:] if np.ndim(X.data) == 3 else (0, 0)
            if not height or not width or n_rows % height or n_cols % width:
                _refuse(X, f"has blocks of shape {np.shape(X.data)[1:]}, which do not divide {n_rows} × {n_cols}")
            major, minor, what = n_rows // height, n_cols // width, "column of blocks"
        indptr, indices = np.asarray(X.indptr), np.asarray(X.indices)
        if indptr.ndim != 1 or len(indptr) != major + 1 or indptr.dtype.kind not in "iu":
            said = f"has an indptr of {indptr.dtype} and shape {indptr.shape}"
            _refuse(X, f"{said}; expected {major + 1} whole numbers")
        if indptr[0] != 0 or indptr[-1] > len(indices) or np.any(indptr[1:] < indptr[:-1]):
            _refuse(X, f"has an indptr that does not rise from 0 to {len(indices)}")
        if np.ndim(X.data) != (3 if X.format == "bsr" else 1) or len(X.data) < int(indptr[-1]):
            _refuse(X, f"has {np.shape(X.data)} numbers for {indptr[-1]} entries")
        _check_numbers(X, what, indices, minor)
    elif X.format == "coo":
        _check_numbers(X, "row", X.row, n_rows)
        _check_numbers(X, "column", X.col, n_cols)
        if not (np.ndim(X.data) == 1 and len(X.row) == len(X.col) == len(X.data)):
            _refuse(X, "does not have one row, one column and one number for each entry")
    elif X.format == "lil":
        for d, (columns, numbers) in enumerate(zip(X.rows, X.data, strict=True)):
            if len(columns) != len(numbers) or not all(0 <= column < n_cols for column in columns):
                _refuse(X, f"has the columns {columns!r:.60} for {len(numbers)} numbers in row {d}")
    elif X.format == "dok":
        if outside := [key for key in X.keys() if not (0 <= key[0] < n_rows and 0 <= key[1] < n_cols)]:  # noqa: SIM118
            _refuse(X, f"has an entry at {outside[0]!r}, outside its shape {n_rows} × {n_cols}")
    elif len(np.unique(X.offsets)) != len(X.offsets) or X.data.ndim != 2 or len(X.data) != len(X.offsets):
        _refuse(X, "does not have one offset for each of its diagonals")


def _check_numbers(X: Sparse, what: str, numbers: np.ndarray, n: int) -> None:
    a = np.asarray(numbers)
    if a.ndim != 1 or (a.dtype.kind not in "iu" and a.size):
        _refuse(X, f"has {what} numbers of {a.dtype} and shape {a.shape}; expected whole numbers")
    native = a.dtype in (np.int32, np.int64) and a.dtype.isnative and a.flags.c_contiguous and a.flags.aligned
    fine = _core.all_below(a, n) if native else not a.size or (a.min() >= 0 and a.max() < n)
    if not fine:
        at = int(np.flatnonzero((a < 0) | (a >= n))[0])
        _refuse(X, f"has the {what} {a[at]} at entry {at}, but its {what}s go from 0 to {n - 1}")


def _refuse(X: Sparse, problem: str) -> NoReturn:
    raise CorpusError(f"the sparse matrix ({X.format}) {problem}")
