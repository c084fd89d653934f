"""Conversion of data in memory (arrays, DataFrames, lists of pairs) to the rows of a corpus."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice
from typing import Any

import numpy as np
import scipy.sparse as sp

from topmix.data.errors import CorpusError
from topmix.data.parts import CorpusParts
from topmix.data.row_builder import RowBuilder
from topmix.data.rows import Rows, as_rows, check_n_words
from topmix.data.sparse import check_sparse

Row = Mapping[int, float] | Iterable[tuple[int, float]]


def rows_from_array(X: Any) -> tuple[tuple[*Rows, int], Sequence[str] | None, Sequence[str] | None]:
    """(indptr, index, value, n_words), vocabulary and names; the last two from a DataFrame.

    The rows may be unsorted and may hold duplicates and zeros.
    """
    vocabulary = names = None
    if hasattr(X, "columns") and hasattr(X, "to_numpy"):
        vocabulary = [str(c) for c in X.columns]
        if getattr(X, "index", None) is not None and type(X.index).__name__ != "RangeIndex":
            names = [str(i) for i in X.index]
        X = _frame_values(X)
    if sp.issparse(X):
        check_sparse(X)
    else:
        X = np.asarray(X)
        if X.ndim != 2:
            raise CorpusError(f"expected an array of shape (documents, words), found an array with {X.ndim} dimensions")
    if X.dtype.kind not in "iufb":
        raise CorpusError(f"counts must be real numbers, not {X.dtype}")
    X = sp.csr_array(X)  # sums the duplicates of COO; keeps NaN, which a later check reports
    check_n_words(X.shape[1])
    return (*as_rows(X.indptr, X.indices, X.data), int(X.shape[1])), vocabulary, names


def build_from_rows(
    rows: Iterable[Row],
    vocabulary: Sequence[str] | None = None,
    names: Sequence[str] | None = None,
    *,
    n_words: int | None = None,
    out: str | os.PathLike[str] | None = None,
    block: int = 4096,
) -> CorpusParts:
    """The parts of a corpus from documents that come one by one; `block` documents are in memory at a time."""
    with RowBuilder(out) as builder:
        source = iter(rows)
        d = 0
        while chunk := list(islice(source, block)):
            part = None if names is None else names[d : d + len(chunk)]
            builder.append(*_pack(chunk, d), names=part)
            d += len(chunk)
        if names is not None and len(names) != d:
            raise CorpusError(f"there are {len(names)} names for {d} documents")
        return builder.finish_parts(vocabulary, n_words)


def _pack(chunk: list[Row], first_row: int) -> Rows:
    indptr = np.zeros(len(chunk) + 1, np.int64)
    index: list[int] = []
    value: list[float] = []
    for n, row in enumerate(chunk):
        try:
            for word, count in _pairs(row):
                index.append(word)
                value.append(count)
        except (TypeError, ValueError) as error:
            raise CorpusError(f"row {first_row + n}: expected pairs (word id, count) or a mapping: {error}") from error
        indptr[n + 1] = len(index)
    try:
        return as_rows(indptr, np.array(index, np.int64), np.array(value, np.float64))
    except (TypeError, ValueError, OverflowError) as error:
        raise CorpusError(f"rows {first_row} to {first_row + len(chunk) - 1}: {error}") from error


def _pairs(row: Row) -> Iterator[tuple[int, float]]:
    for word, count in row.items() if isinstance(row, Mapping) else row:
        if not isinstance(word, int | np.integer):
            raise TypeError(f"{word!r} is not a word id, which is an integer")
        yield int(word), count


def _frame_values(X: Any) -> Any:
    """The numbers of a DataFrame. The result is sparse if all columns are sparse."""
    if hasattr(X, "sparse") and all(hasattr(t, "fill_value") for t in X.dtypes) and len(X.columns):
        return X.sparse.to_coo()
    return X.to_numpy()
