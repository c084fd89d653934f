"""Rows of numbers: dense rows in memory or mapped from a .npy file, sparse rows, and rows in groups."""

from __future__ import annotations

import mmap
import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import ClassVar, TypeVar

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike, NDArray

from topmix.base.atomic import atomic_write
from topmix.base.checks import CorpusError
from topmix.base.layout import check_length
from topmix.base.paths import is_damage, is_remote, path_of
from topmix.base.remote_file import local_copy
from topmix.corpus.counts import FrameLike

BLOCK_BYTES = 1 << 24
SUMMED_AT_A_TIME = 1 << 20  # values

T = TypeVar("T")


class Rows:
    """N rows of D numbers, float32 or float64. Immutable; other real types become float64.

    Parameters
    ----------
    X : array of shape (N, D), or DataFrame
        The rows. An array of floats is not copied: do not change it afterwards.
    feature_names : sequence of str, optional
        The names of the columns. None takes the columns of a DataFrame.
    check : bool
        Whether to look for NaN and infinity now. `Rows.open` does not, because it must not read the whole file: call
        `check()`.
    """

    is_sparse: ClassVar[bool] = False
    csr: sp.csr_array | None = None  # of sparse rows
    usual_batch: ClassVar[int] = 4096  # rows of a stochastic step

    def __init__(self, X: object, feature_names: Sequence[str] | None = None, *, check: bool = True) -> None:
        table = X if isinstance(X, FrameLike) else None
        if table is not None and feature_names is None:
            feature_names = [str(c) for c in table.columns]
        a = np.asarray(X) if table is None else table.to_numpy()
        if a.ndim != 2:
            raise CorpusError(f"expected an array of shape (rows, features), found an array with {a.ndim} dimensions")
        if a.dtype.kind not in "iufb":
            raise CorpusError(f"expected an array of real numbers, found {a.dtype}")
        if a.dtype not in (np.float32, np.float64):
            a = a.astype(np.float64)
        if feature_names is not None and len(feature_names) != a.shape[1]:
            raise CorpusError(f"there are {len(feature_names)} feature names for {a.shape[1]} columns")
        a = a.view(np.ndarray)
        a.flags.writeable = False
        self._data: np.ndarray = a
        self.feature_names = None if feature_names is None else tuple(feature_names)
        self.path: Path | None = None
        if check:
            self.check()

    @classmethod
    def open(cls, path: str | os.PathLike[str], feature_names: Sequence[str] | None = None) -> Rows:
        """Map a .npy file of float32 or float64. Pages are read when they are used; a URL is fetched first."""
        path = path_of(path)
        try:
            data = np.load(local_copy(path) if is_remote(path) else path, mmap_mode="r", allow_pickle=False)
        except Exception as error:  # NumPy parses the header as Python: a damaged one raises nearly anything
            if not is_damage(error):
                raise
            raise CorpusError(f"{path}: not a complete .npy file: {error}") from error
        if not isinstance(data, np.ndarray):
            data.close()
            raise CorpusError(f"{path}: this is an archive of several arrays; save one array with numpy.save")
        if data.dtype not in (np.float32, np.float64):
            raise CorpusError(f"{path}: the array is {data.dtype}; save it as float32 or float64")
        try:
            rows = cls(data, feature_names, check=False)
        except CorpusError as error:
            raise CorpusError(f"{path}: {error}") from error
        rows.path = path
        return rows

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write a .npy file, atomically. The feature names are not saved."""
        with atomic_write(path) as file:
            header = {"descr": self.data.dtype.str, "fortran_order": False, "shape": self.shape}
            np.lib.format.write_array_header_1_0(file, header)
            for block in self.blocks():
                file.write(np.ascontiguousarray(block).data)

    @property
    def data(self) -> np.ndarray:
        """[N, D]"""
        return whole(self._data)

    @property
    def shape(self) -> tuple[int, int]:
        return self._data.shape[0], self._data.shape[1]

    def __len__(self) -> int:
        return self.shape[0]

    def __getitem__(self, rows: slice | ArrayLike) -> Rows:
        """The chosen rows. A slice shares memory; an array or mask copies."""
        return Rows(self.data[rows], self.feature_names, check=False)  # type: ignore[index]  # lists, too

    def blocks(self, n_rows: int | None = None) -> Iterator[np.ndarray]:
        """Consecutive blocks of n_rows rows, or of about 16 MB if None. The last block may be shorter."""
        if n_rows is None:
            n_rows = max(1, BLOCK_BYTES // max(1, self.shape[1] * self.data.itemsize))
        for begin in range(0, len(self), n_rows):
            yield self.data[begin : begin + n_rows]

    # What groups of rows have (GroupedRows), for those who need not know whether there are any.

    groups: GroupedRows | None = None  # themselves
    starts: NDArray[np.int64] | None = None
    texts: sp.csr_array | None = None

    @property
    def rows(self) -> Rows:
        """The rows of all groups; here the same."""
        return self

    def alone(self) -> Rows:
        """Without rows that are in no group."""
        return self

    def means(self) -> Rows:
        """The mean row of each group."""
        return self

    def check(self) -> Rows:
        """Raise CorpusError at the first NaN or infinity, naming row and column. Returns itself."""
        begin = 0
        for block in self.blocks():
            fine = np.isfinite(block)
            if not fine.all():
                row, column = np.unravel_index(int(np.argmin(fine)), fine.shape)
                name = f" ({self.feature_names[column]!r})" if self.feature_names else ""
                where = f"{self.path}: " if self.path else ""
                raise CorpusError(f"{where}row {begin + row}, column {column}{name}: {block[row, column]}")
            begin += len(block)
        return self

    def __repr__(self) -> str:
        where = f", mapped from {self.path.name}" if self.path else ""
        return f"Rows({self.shape[0]:,} rows × {self.shape[1]:,} features, {self.data.dtype}{where})"


class SparseArray:
    """Sparse rows in the place of an array of shape (N, D)."""

    def __init__(self, csr: sp.csr_array) -> None:
        n, D = csr.shape
        self.csr, self.shape = csr, (int(n), int(D))
        self.dtype: np.dtype = csr.dtype
        self.itemsize = self.dtype.itemsize

    def __len__(self) -> int:
        return self.shape[0]

    def __getitem__(self, rows: slice | np.ndarray) -> np.ndarray:
        return np.asarray(self.csr[rows].toarray())  # dense


class SparseRows(Rows):
    """N sparse rows of D numbers, float32 or float64, of a csr_array that was checked (corpus/counts.py). Immutable."""

    csr: sp.csr_array
    is_sparse: ClassVar[bool] = True

    def __init__(self, X: sp.csr_array, feature_names: Sequence[str] | None = None) -> None:
        X = sp.csr_array(X)
        if not X.has_canonical_format:
            X = X.copy()
            X.sum_duplicates()
        self.csr, self._data = X, SparseArray(X)  # type: ignore[assignment]  # in the place of an array
        self.feature_names = None if feature_names is None else tuple(feature_names)
        self.path = None

    @property
    def nnz(self) -> int:
        return int(self.csr.nnz)

    def __getitem__(self, rows: slice | ArrayLike) -> SparseRows:
        return SparseRows(self.csr[rows], self.feature_names)

    def check(self) -> SparseRows:
        """Raise CorpusError at the first NaN or infinity, naming row and column. Returns itself."""
        fine = np.isfinite(self.csr.data)
        if not fine.all():
            at = int(np.argmin(fine))
            row = int(np.searchsorted(self.csr.indptr, at, side="right")) - 1
            raise CorpusError(f"row {row}, column {self.csr.indices[at]}: {self.csr.data[at]}")
        return self

    def __repr__(self) -> str:
        n, D = self.shape
        return f"SparseRows({n:,} rows × {D:,} features, {self.nnz:,} entries, {self.data.dtype})"


class GroupedRows(Rows):
    """Rows in groups, as documents have words. Its length is the number of groups: learners deal groups to shards, and
    never part the rows of one."""

    usual_batch: ClassVar[int] = 512
    starts: NDArray[np.int64]

    def __init__(
        self,
        rows: Rows,  # checked
        starts: NDArray[np.int64],  # [groups + 1] where each group begins
        order: NDArray[np.int64] | None = None,  # [N] the rows group by group; None: they lie so
        names: np.ndarray | None = None,  # [groups] what they are called
        texts: sp.csr_array | None = None,  # [N, V] the words beside each row
    ) -> None:
        self._rows, self.starts, self.order, self.names, self.texts = rows, starts, order, names, texts
        self._data, self.feature_names, self.path = rows.data, rows.feature_names, rows.path

    def __len__(self) -> int:
        return len(self.starts) - 1

    @property
    def shape(self) -> tuple[int, int]:
        return len(self), self.rows.shape[1]

    def __getitem__(self, groups: slice | ArrayLike) -> GroupedRows:
        """The chosen groups; their rows stay where they are."""
        order, starts = self.of_groups(np.arange(len(self))[groups])  # type: ignore[index]  # lists, too
        return GroupedRows(self.rows, starts, np.asarray(order), texts=self.texts)

    @property
    def groups(self) -> GroupedRows:  # type: ignore[override]
        return self

    @property
    def rows(self) -> Rows:
        return self._rows

    def alone(self) -> GroupedRows:
        if self.starts[-1] == len(self.rows):
            return self
        rows, _ = self.of_groups(slice(None))
        texts = None if self.texts is None else sp.csr_array(self.texts[rows])
        return GroupedRows(self.rows[rows], self.starts - self.starts[0], None, self.names, texts)

    def of_row(self) -> NDArray[np.int64]:
        """[N] the group of each row; -1 where it is in none."""
        rows, starts = self.of_groups(slice(None))
        group = np.full(len(self.rows), -1)
        group[rows] = np.repeat(np.arange(len(self)), np.diff(starts))
        return group

    def summed(self, of_rows: sp.csr_array) -> sp.csr_array:
        """[groups, V] from [N, V] of rows."""
        each = np.arange(len(self.rows)) if self.order is None else self.order
        ones = np.ones(len(each), of_rows.dtype)
        return sp.csr_array(sp.csr_array((ones, each, self.starts), (len(self), of_rows.shape[0])) @ of_rows)

    def means(self) -> Rows:
        """The mean row of each group, some groups at a time."""
        means = np.zeros(self.shape, np.float32)
        step = max(1, BLOCK_BYTES // max(1, self.rows.shape[1] * 8 * max(1, int(self.lengths().mean()))))
        for begin in range(0, len(self), step):
            rows, starts = self.of_groups(slice(begin, begin + step))
            some = np.flatnonzero(np.diff(starts))
            if len(some):
                sums = np.add.reduceat(np.asarray(self.data[rows], np.float64), starts[some], axis=0)
                means[begin + some] = sums / np.diff(starts)[some, None]
        return Rows(means, self.feature_names, check=False)

    def lengths(self, weight: np.ndarray | None = None) -> NDArray[np.float64]:
        """[groups] rows of each, or their weight."""
        if weight is None:
            return np.diff(self.starts).astype(np.float64)
        return sums_between(weight if self.order is None else weight[self.order], self.starts)

    def of_groups(self, groups: slice | np.ndarray) -> tuple[slice | np.ndarray, NDArray[np.int64]]:
        """The rows of these groups, group by group, and where each group begins among them."""
        if isinstance(groups, slice) and groups.step in (None, 1):
            a, b = groups.indices(len(self))[:2]
            begin, end = self.starts[a], self.starts[max(a, b)]
            rows = slice(int(begin), int(end))
            return rows if self.order is None else self.order[rows], self.starts[a : b + 1] - begin
        chosen = np.arange(len(self))[groups]
        sizes = np.diff(self.starts)[chosen]
        starts = np.concatenate([[0], np.cumsum(sizes)])
        each = np.repeat(self.starts[chosen] - starts[:-1], sizes) + np.arange(starts[-1])
        return each if self.order is None else self.order[each], starts


def sums_between(values: np.ndarray, starts: np.ndarray) -> NDArray[np.float64]:
    """[n] float64: the sum of each run of values; starts is [n + 1]. Values of a mapped file are not copied at once."""
    sums, some, begin = np.zeros(len(starts) - 1), np.flatnonzero(np.diff(starts)), 0
    firsts, ends = starts[some], starts[some + 1]
    while begin < len(some):
        a = firsts[begin]
        end = max(int(np.searchsorted(ends, a + SUMMED_AT_A_TIME, "right")), begin + 1)
        sums[some[begin:end]] = np.add.reduceat(values[a : ends[end - 1]], firsts[begin:end] - a, dtype=np.float64)
        begin = end
    return sums


def whole(X: T) -> T:
    """The same array, if it lies in memory or its file has not become shorter. Ask before its numbers are read."""
    root = mapped_root(X)
    pages: object = None if root is None else root.base
    if root is not None and isinstance(pages, mmap.mmap):
        check_length(root.filename or "a mapped array", pages, root.offset + root.nbytes)
    return X


def mapped_root(X: object) -> np.memmap | None:
    """The outermost mapped array that an array is a view of; None where it lies in memory."""
    while isinstance(X, np.ndarray):
        if isinstance(X, np.memmap) and not isinstance(X.base, np.ndarray):
            return X
        X = X.base
    return None
