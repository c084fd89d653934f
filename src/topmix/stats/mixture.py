"""Statistics of rows under a mixture."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from topmix.files.reader import CheckedReader
from topmix.files.writer import Writer
from topmix.stats.additive import Additive


@dataclass(slots=True)
class MixtureStats(Additive):
    """Summary of rows under a mixture.  docs/math.md Eq. (1.7)."""

    S: Any  # the likelihood's own statistic, for instance WordStats; a total holds what these are added to
    N: np.ndarray  # [K] expected rows in each cluster
    H: float  # sum_n H[r_n]
    n_rows: float

    def write(self, out: Writer) -> None:
        self.S.write(out.at("rows"))
        out.array("sizes", self.N)
        out.value("entropy", float(self.H))
        out.value("n_rows", float(self.n_rows))

    @classmethod
    def read(cls, file: CheckedReader, S: object, K: int) -> MixtureStats:
        """Statistics around S, which was read before."""
        return cls(S, file.array("sizes", K), file.number("entropy"), file.number("n_rows", 0.0))
