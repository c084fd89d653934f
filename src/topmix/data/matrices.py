"""Matrices of counts in memory, sparse, dense or as DataFrames: checked, and as the rows of a corpus.

A sparse matrix in memory is whatever somebody has put into its arrays. Conversions of SciPy (`tocsr`, sums, slices) run
in C++ and trust them: an index that lies outside makes them write outside. SciPy checks indices only when it is asked
to. So `check_sparse` comes first.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NoReturn, Protocol, TypeAlias, runtime_checkable

import numpy as np
import scipy.sparse as sp

from topmix import _core
from topmix.data.counts import CountRows, as_rows, check_n_words
from topmix.data.errors import CorpusError

Sparse: TypeAlias = sp.sparray | sp.spmatrix


@runtime_checkable
class Frame(Protocol):
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
    if isinstance(X, Frame):
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
    if X.format == "csr":
        _check_compressed(X, n_rows, n_cols, "column")
    elif X.format == "csc":
        _check_compressed(X, n_cols, n_rows, "row")
    elif X.format == "bsr":
        _check_blocks(X, n_rows, n_cols)
    elif X.format == "coo":
        _check_numbers(X, "row", X.row, n_rows)
        _check_numbers(X, "column", X.col, n_cols)
        if not (np.ndim(X.data) == 1 and len(X.row) == len(X.col) == len(X.data)):
            _refuse(X, "does not have one row, one column and one number for each entry")
    elif X.format == "dok":
        for key in X.keys():  # noqa: SIM118 - a dok_array iterates over rows
            if not (isinstance(key, tuple) and len(key) == 2 and 0 <= key[0] < n_rows and 0 <= key[1] < n_cols):
                _refuse(X, f"has an entry at {key!r}, outside its shape {n_rows} × {n_cols}")
    elif X.format == "lil":
        _check_lists(X, n_rows, n_cols)
    elif X.format == "dia":
        offsets = np.asarray(X.offsets)
        if offsets.ndim != 1 or offsets.dtype.kind not in "iu" or len(np.unique(offsets)) != len(offsets):
            _refuse(X, "does not have one offset for each of its diagonals")
        if X.data.ndim != 2 or len(X.data) != len(offsets):
            _refuse(X, f"has {len(offsets)} offsets for diagonals of shape {X.data.shape}")


def _check_compressed(X: Sparse, n_major: int, n_minor: int, minor: str) -> None:
    _check_offsets(X, n_major)
    if np.ndim(X.data) != 1 or len(X.data) < int(X.indptr[-1]):
        _refuse(X, f"has {np.shape(X.data)} numbers for {X.indptr[-1]} entries")
    _check_numbers(X, minor, X.indices, n_minor)


def _check_blocks(X: Sparse, n_rows: int, n_cols: int) -> None:
    if np.ndim(X.data) != 3:
        _refuse(X, f"has blocks of shape {np.shape(X.data)}")
    _, height, width = X.data.shape
    if not height or not width or n_rows % height or n_cols % width:
        _refuse(X, f"has blocks of {height} × {width}, which do not divide {n_rows} × {n_cols}")
    _check_offsets(X, n_rows // height)
    if len(X.data) < int(X.indptr[-1]):
        _refuse(X, f"has {len(X.data)} blocks, but indptr ends at {X.indptr[-1]}")
    _check_numbers(X, "column of blocks", X.indices, n_cols // width)


def _check_offsets(X: Sparse, n: int) -> None:
    indptr, indices = np.asarray(X.indptr), np.asarray(X.indices)
    if indptr.ndim != 1 or len(indptr) != n + 1 or indptr.dtype.kind not in "iu":
        _refuse(X, f"has an indptr of {indptr.dtype} and shape {indptr.shape}; expected {n + 1} whole numbers")
    if indptr[0] != 0 or indptr[-1] > len(indices) or np.any(indptr[1:] < indptr[:-1]):
        _refuse(X, f"has an indptr that does not rise from 0 to {len(indices)}")


def _check_numbers(X: Sparse, what: str, numbers: np.ndarray, n: int) -> None:
    a = np.asarray(numbers)
    if a.ndim != 1 or (a.dtype.kind not in "iu" and a.size):
        _refuse(X, f"has {what} numbers of {a.dtype} and shape {a.shape}; expected whole numbers")
    native = a.dtype in (np.int32, np.int64) and a.dtype.isnative and a.flags.c_contiguous and a.flags.aligned
    fine = _core.all_below(a, n) if native else not a.size or (a.min() >= 0 and a.max() < n)
    if not fine:
        at = int(np.flatnonzero((a < 0) | (a >= n))[0])
        _refuse(X, f"has the {what} {a[at]} at entry {at}, but its {what}s go from 0 to {n - 1}")


def _check_lists(X: Sparse, n_rows: int, n_cols: int) -> None:
    if np.shape(X.rows) != (n_rows,) or np.shape(X.data) != (n_rows,):
        _refuse(X, f"does not have one list for each of its {n_rows} rows")
    for d, (columns, numbers) in enumerate(zip(X.rows, X.data)):
        if not isinstance(columns, list) or not isinstance(numbers, list) or len(columns) != len(numbers):
            _refuse(X, f"does not have as many columns as numbers in row {d}")
        for column in columns:
            if not isinstance(column, int | np.integer) or not 0 <= column < n_cols:
                _refuse(X, f"has the column {column!r} in row {d}, but its columns go from 0 to {n_cols - 1}")


def _refuse(X: Sparse, problem: str) -> NoReturn:
    raise CorpusError(f"the sparse matrix ({X.format}) {problem}")
