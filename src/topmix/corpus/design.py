"""Rows of a design matrix, one per document. Documents with equal rows share one: categories have few different rows,
however many documents there are."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True, eq=False)
class DesignRows:
    x: NDArray[np.float64]  # [distinct rows, P]
    row: NDArray[np.int32]  # [documents] which of them each document has

    @classmethod
    def of(cls, design: NDArray[np.float64]) -> DesignRows:
        """Of a matrix [documents, P]."""
        x, row = np.unique(design, axis=0, return_inverse=True)
        return cls(x, row.ravel().astype(np.int32))

    @staticmethod
    def combinations(codes: Sequence[NDArray[np.int64]]) -> tuple[NDArray[np.int64], NDArray[np.int32]]:
        """Of columns of codes, [documents] each: a document with each combination of them that there is, and which of
        these each document has."""
        found, *others = codes
        for code in others:
            found = np.unique(found, return_inverse=True)[1] * (int(code.max(initial=0)) + 1) + code
        _, first, row = np.unique(found, return_index=True, return_inverse=True)
        return first, row.ravel().astype(np.int32)

    def __len__(self) -> int:
        return len(self.row)

    def __getitem__(self, documents: slice | np.ndarray) -> DesignRows:
        """Of some documents, with the rows that they have."""
        used, row = np.unique(self.row[documents], return_inverse=True)
        return DesignRows(self.x[used], row.ravel().astype(np.int32))
