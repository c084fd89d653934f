"""Rows of unit length, which have a direction alone."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from topmix.base.checks import CorpusError
from topmix.corpus.rows import Rows, mapped_root, whole

TOLERANCE = {np.dtype(np.float32): 1e-6, np.dtype(np.float64): 1e-12}  # of a length that counts as one


class Directions(Rows):
    """Rows that all have unit length.

    An array in memory that has other lengths is copied; of one that is mapped from a file, rows are divided by their
    lengths as they are read, so that it is never in memory as a whole.

    Parameters
    ----------
    X : array of shape (N, D), or DataFrame
        Finite numbers. A row of zeros has no direction: it raises CorpusError.
    feature_names : sequence of str, optional
    normalize : bool
        Whether to divide rows by their lengths. False raises CorpusError where a length is not one, up to rounding.
    """

    def __init__(self, X: object, feature_names: Sequence[str] | None = None, *, normalize: bool = True) -> None:
        mapped = mapped_root(X) is not None
        super().__init__(X, feature_names, check=False)
        norms = np.concatenate([np.zeros(0), *(lengths(np.ascontiguousarray(block)) for block in self.blocks())])
        if not np.all(np.isfinite(norms)):
            try:
                self.check()
            except CorpusError as error:
                raise CorpusError(f"a value is NaN or infinity: {error}") from None
            raise CorpusError(f"row {int(np.argmin(np.isfinite(norms)))} is too long for its length to be a number")
        if len(norms) and norms.min() == 0:
            raise CorpusError(f"row {int(np.argmin(norms))} is zero, so it has no direction")
        off = np.abs(norms - 1.0)
        if not len(norms) or off.max() <= TOLERANCE[self.data.dtype]:
            return
        if not normalize:
            row = int(np.argmax(off))
            raise CorpusError(f"row {row} has length {norms[row]:g}, not 1, and normalize=False leaves it as it is")
        self._data = UnitRows(self.data, norms) if mapped else _divided(self.data, norms)  # type: ignore[assignment]


class UnitRows:
    """Reads as an array of rows divided by their lengths; `data` stays where it is. Offers what shards ask of one."""

    def __init__(self, data: np.ndarray, norms: NDArray[np.float64]):
        self.data, self.norms = data, norms
        self.shape, self.dtype, self.itemsize, self.ndim = data.shape, data.dtype, data.itemsize, data.ndim

    def __len__(self) -> int:
        return len(self.data)

    def __getitem__(self, rows: int | slice | np.ndarray) -> np.ndarray:
        return _divided(np.atleast_2d(whole(self.data)[rows]), np.atleast_1d(self.norms[rows]))


def lengths(x: np.ndarray) -> NDArray[np.float64]:
    """[rows] Euclidean norms. Where squares would leave the range of the type, the largest entry is taken out first."""
    with np.errstate(over="ignore", under="ignore", invalid="ignore"):
        norms = np.sqrt(np.einsum("nd,nd->n", x, x)).astype(np.float64)
        odd = np.flatnonzero(~((norms > 1e-15) & (norms < 1e15)))
        if len(odd):
            y = x[odd].astype(np.float64)
            largest = np.abs(y).max(axis=1, initial=1e-300)
            y /= largest[:, None]
            norms[odd] = largest * np.sqrt(np.einsum("nd,nd->n", y, y))
    return norms


def _divided(x: np.ndarray, norms: NDArray[np.float64]) -> np.ndarray:
    out = np.empty(x.shape, x.dtype)
    usual = norms.min(initial=1.0) > 1e-15 and norms.max(initial=1.0) < 1e15
    for a in range(0, len(x), 1024):  # a piece that stays in cache
        rows = slice(a, a + 1024)
        if usual:
            np.multiply(x[rows], (1.0 / norms[rows, None]).astype(x.dtype), out=out[rows])
        else:
            np.divide(x[rows], norms[rows, None], out=out[rows], casting="unsafe", dtype=np.float64)
    return out
