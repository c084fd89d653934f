"""A table: dense rows of numbers, in memory or mapped from a .npy file."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from topmix.data.atomic import atomic_write
from topmix.data.errors import CorpusError

BLOCK_BYTES = 1 << 24


class Table:
    """N rows of D numbers, float32 or float64. Immutable; other real types become float64.

    Parameters
    ----------
    X : array of shape (N, D), or DataFrame
        The rows. An array of floats is not copied: do not change it afterwards.
    feature_names : sequence of str, optional
        The names of the columns. None takes the columns of a DataFrame.
    check : bool
        Whether to look for NaN and infinity now. `Table.open` does not, because it must not read the whole file: call
        `check()`.
    """

    def __init__(self, X: Any, feature_names: Sequence[str] | None = None, *, check: bool = True) -> None:
        if hasattr(X, "columns") and hasattr(X, "to_numpy"):
            feature_names = [str(c) for c in X.columns] if feature_names is None else feature_names
            X = X.to_numpy()
        a = np.asarray(X)
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
        self.data: NDArray[Any] = a  # [N, D]
        self.feature_names = None if feature_names is None else tuple(feature_names)
        self.path: Path | None = None
        if check:
            self.check()

    @classmethod
    def open(cls, path: str | os.PathLike[str], feature_names: Sequence[str] | None = None) -> Table:
        """Map a .npy file of float32 or float64. Pages are read when they are used."""
        path = Path(path)
        try:
            data = np.load(path, mmap_mode="r", allow_pickle=False)
        except (FileNotFoundError, PermissionError, IsADirectoryError):
            raise
        except Exception as error:  # NumPy parses the header as Python: a damaged one raises nearly anything
            raise CorpusError(f"{path}: not a complete .npy file: {error}") from error
        if not isinstance(data, np.ndarray):
            data.close()
            raise CorpusError(f"{path}: this is an archive of several arrays; save one array with numpy.save")
        if data.dtype not in (np.float32, np.float64):
            raise CorpusError(f"{path}: the array is {data.dtype}; save it as float32 or float64")
        try:
            table = cls(data, feature_names, check=False)
        except CorpusError as error:
            raise CorpusError(f"{path}: {error}") from error
        table.path = path
        return table

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write a .npy file, atomically. The feature names are not saved."""
        with atomic_write(path) as file:
            header = {"descr": self.data.dtype.str, "fortran_order": False, "shape": self.shape}
            np.lib.format.write_array_header_1_0(file, header)
            for block in self.blocks():
                file.write(np.ascontiguousarray(block).data)

    @property
    def shape(self) -> tuple[int, int]:
        return self.data.shape[0], self.data.shape[1]

    def __len__(self) -> int:
        return self.shape[0]

    def __getitem__(self, rows: slice | ArrayLike) -> Table:
        """The chosen rows. A slice shares memory; an array or mask copies."""
        return Table(self.data[rows if isinstance(rows, slice) else np.asarray(rows)], self.feature_names, check=False)

    def blocks(self, n_rows: int | None = None) -> Iterator[NDArray[Any]]:
        """Consecutive blocks of n_rows rows, or of about 16 MB if None. The last block may be shorter."""
        if n_rows is None:
            n_rows = max(1, BLOCK_BYTES // max(1, self.shape[1] * self.data.itemsize))
        for begin in range(0, len(self), n_rows):
            yield self.data[begin : begin + n_rows]

    def check(self) -> Table:
        """Raise CorpusError at the first NaN or infinity, naming row and column. Returns the table."""
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
        return f"Table({self.shape[0]:,} rows × {self.shape[1]:,} features, {self.data.dtype}{where})"
