"""What the weights of a mixture must offer."""

from __future__ import annotations

from typing import Protocol, Self

import numpy as np

from topmix.files.writer import Writer


class Allocation(Protocol):
    """q(pi). `update` and `bound` receive N, the expected number of rows in each cluster."""

    def log_weights(self) -> np.ndarray: ...
    def weights(self) -> np.ndarray: ...
    def counts(self) -> np.ndarray: ...
    def update(self, N: np.ndarray) -> Self: ...
    def bound(self, N: np.ndarray) -> float: ...
    def write(self, out: Writer) -> None: ...
