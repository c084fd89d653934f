"""STAND-IN, dropped at merge: the agreed interface of Corpus, in memory, so that the text layer can be tested."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import scipy.sparse as sp


@dataclass
class Corpus:
    indptr: np.ndarray  # [D + 1] int64
    index: np.ndarray  # [nnz] int32, sorted in a row
    value: np.ndarray  # [nnz] float32
    shape: tuple[int, int]
    vocabulary: list[str] | None = None
    names: list[str] | None = None
    meta: dict[str, Any] = field(default_factory=dict)

    def to_scipy(self) -> sp.csr_array:
        return sp.csr_array((self.value, self.index, self.indptr), shape=self.shape)
