"""What a likelihood must offer."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar, NamedTuple, Protocol, Self, runtime_checkable

import numpy as np

from topmix.files.reader import CheckedReader
from topmix.files.writer import Writer

# Where clusters and dimensions make at most this many sums, they stay in a core's cache while rows are added.
FEW_SUMS = 1 << 17

# A share of a row below this counts as none: it would not show in the sum of the row's shares, and costs D additions.
LEAST_SHARE = {np.dtype(np.float32): 2.0**-30, np.dtype(np.float64): 2.0**-60}


Pieces = Sequence[tuple[np.ndarray, Any]]  # ([new, K] how much of each of K clusters new ones have, statistics of K)


class Likelihood(Protocol):
    """q(phi). The static half runs where a worker runs and sees tables only; the rest runs where the learner is.

    S is the likelihood's own statistic, N the expected number of rows in each cluster.
    """

    rows: ClassVar[str]  # that it takes: "counts" of words, "vectors" or "directions"
    objectives: ClassVar[tuple[str, ...]]  # the usual one first

    @property
    def total(self) -> Any: ...

    def tables(self, cols: np.ndarray) -> Any: ...
    def update(self, S: Any, N: np.ndarray) -> Self: ...
    def bound(self, S: Any, N: np.ndarray) -> float: ...
    def mean(self) -> np.ndarray: ...
    def zeros(self, n_features: int, K: int) -> Any: ...
    def regrouped(self, pieces: Pieces, N: np.ndarray) -> Self: ...
    def write(self, out: Writer) -> None: ...
    def read_sums(self, file: CheckedReader, K: int) -> Any:
        """The statistic of a shard, which wrote itself."""

    @staticmethod
    def assign(shard: Any, tables: Any, log_weights: np.ndarray, L: int) -> Any: ...
    @staticmethod
    def summarise(shard: Any, assignment: Any, K: int) -> Any: ...


class Visited(NamedTuple):
    """What rows give to clusters, without their assignment."""

    S: Any  # the likelihood's own statistic
    N: np.ndarray  # [K]
    entropy: float  # summed over rows


@runtime_checkable
class ReadsOnce(Protocol):
    """A likelihood that can make its statistics in one visit to the rows: `assign` and `summarise` in one."""

    @staticmethod
    def reads_once(tables: Any) -> bool:
        """Whether it can with these tables."""

    @staticmethod
    def visit(shard: Any, tables: Any, log_weights: np.ndarray, L: int) -> Visited: ...


@runtime_checkable
class OnDevice(Protocol):
    """A likelihood whose total is on a device."""

    def on_host(self) -> Likelihood: ...


@runtime_checkable
class Elsewhere(Protocol):
    """Statistics or a likelihood on a device."""

    def for_file(self) -> Any:
        """As a file holds it: on the host, and exactly."""
