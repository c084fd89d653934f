"""Rows of a design matrix, one per document. Documents with equal rows share one: categories have few different rows,
however many documents there are."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

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

    def __len__(self) -> int:
        return len(self.row)

    def __getitem__(self, documents: Any) -> DesignRows:
        """Of some documents, with the rows that they have."""
        used, row = np.unique(self.row[documents], return_inverse=True)
        return DesignRows(self.x[used], row.ravel().astype(np.int32))
