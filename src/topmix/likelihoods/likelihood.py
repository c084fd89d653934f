"""What a likelihood must offer."""

from __future__ import annotations

from typing import Any, ClassVar, Protocol, Self, runtime_checkable

import numpy as np

from topmix.files.writer import Writer


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
    def write(self, out: Writer) -> None: ...

    @staticmethod
    def assign(shard: Any, tables: Any, log_weights: np.ndarray, L: int) -> Any: ...
    @staticmethod
    def summarise(shard: Any, assignment: Any, K: int) -> Any: ...


@runtime_checkable
class OnDevice(Protocol):
    """A likelihood whose total is on a device."""

    def on_host(self) -> Likelihood: ...
