"""A table whose rows are mostly zero. Rows that are read come out dense, so only who works on entries knows of it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike, NDArray

from topmix.data.errors import CorpusError
from topmix.data.table import Table


class SparseArray:
    """Sparse rows in the place of an array of shape (N, D)."""

    def __init__(self, csr: sp.csr_array) -> None:
        self.csr = csr

    @property
    def shape(self) -> tuple[int, int]:
        n, D = self.csr.shape
        return int(n), int(D)

    @property
    def dtype(self) -> np.dtype[Any]:
        found: np.dtype[Any] = self.csr.dtype
        return found

    @property
    def itemsize(self) -> int:
        return int(self.dtype.itemsize)

    def __len__(self) -> int:
        return self.shape[0]

    def __getitem__(self, rows: int | slice | np.ndarray) -> NDArray[Any]:
        """Dense rows, or one."""
        if isinstance(rows, int):
            return np.asarray(self.csr[[rows]].toarray())[0]
        return np.asarray(self.csr[rows].toarray())

    def part(self, rows: slice | np.ndarray) -> SparseArray:
        """The chosen rows, sparse."""
        return SparseArray(self.csr[rows])


class SparseTable(Table):
    """N sparse rows of D numbers, float32 or float64. Immutable.

    Parameters
    ----------
    X : csr_array of shape (N, D)
        The rows, checked before (data/matrices.py).
    feature_names : sequence of str, optional
        The names of the columns.
    """

    data: Any  # SparseArray

    def __init__(self, X: sp.csr_array, feature_names: Sequence[str] | None = None) -> None:
        X = sp.csr_array(X)
        if not X.has_canonical_format:
            X = X.copy()
            X.sum_duplicates()
        self.data = SparseArray(X)
        self.feature_names = None if feature_names is None else tuple(feature_names)
        self.path = None

    @property
    def csr(self) -> sp.csr_array:
        found: sp.csr_array = self.data.csr
        return found

    @property
    def nnz(self) -> int:
        return int(self.csr.nnz)

    def __getitem__(self, rows: slice | ArrayLike) -> SparseTable:
        return SparseTable(self.csr[rows if isinstance(rows, slice) else np.asarray(rows)], self.feature_names)

    def check(self) -> SparseTable:
        """Raise CorpusError at the first NaN or infinity, naming row and column. Returns the table."""
        fine = np.isfinite(self.csr.data)
        if not fine.all():
            at = int(np.argmin(fine))
            row = int(np.searchsorted(self.csr.indptr, at, side="right")) - 1
            raise CorpusError(f"row {row}, column {self.csr.indices[at]}: {self.csr.data[at]}")
        return self

    def __repr__(self) -> str:
        n, D = self.shape
        return f"SparseTable({n:,} rows × {D:,} features, {self.nnz:,} entries, {self.data.dtype})"
