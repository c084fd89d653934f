"""What learners and engines see of a model, and of the statistics that it is made from."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar, NamedTuple, Protocol, Self, TypeAlias

import numpy as np

from topmix.base.fields import CheckedReader, Writer
from topmix.corpus.rows import Rows
from topmix.corpus.shard import SomeShard

# What each kind of model has as a type of its own, which its own steps and learners know.
SomeModel: TypeAlias = Any  # a Mixture, an Admixture, a TopicModel or TokenTopics
SomeTotal: TypeAlias = Any  # statistics of all rows, which this model is made from: see Stats
SomeSums: TypeAlias = Any  # a likelihood's own statistic, such as WordStats; a total has what these add up to
SomeTables: TypeAlias = Any  # what steps see of a model, or of its likelihood


class Stats(Protocol):
    """Of some rows, or of all of them. What shards report adds up with `plus`; a total changes in place."""

    @property
    def n_rows(self) -> float: ...
    def add(self, other: SomeTotal, weight: float = 1.0) -> Self: ...
    def scale(self, c: float) -> Self: ...
    def copy(self) -> Self: ...


class Model(Protocol):
    @property
    def n_components(self) -> int: ...
    def tables(self, cols: np.ndarray) -> SomeTables: ...
    def no_stats(self) -> SomeTotal:
        """The empty total that shards are added to."""

    def update(self, total: SomeTotal) -> Self: ...
    def bound(self, total: SomeTotal) -> dict[str, float]: ...
    def on_host(self) -> Self: ...


# Float32 scores are kept while rounding is expected to stay under this many nats for a row of its own cluster.
TOLERANCE = 1e-3

# Where clusters and dimensions make at most this many sums, they stay in a core's cache while rows are added.
FEW_SUMS = 1 << 17

# A share of a row below this counts as none: it would not show in the sum of the row's shares, and costs D additions.
LEAST_SHARE = {np.dtype(np.float32): 2.0**-30, np.dtype(np.float64): 2.0**-60}


def most_of(value: np.ndarray, N: np.ndarray) -> float:
    """The largest value of clusters that hold 99 of 100 rows, those with small values first."""
    order = np.argsort(value)
    n_rows = np.cumsum(np.maximum(N, 0.0)[order])
    return float(value[order[min(np.searchsorted(n_rows, 0.99 * n_rows[-1]), len(order) - 1)]])


Pieces = Sequence[tuple[np.ndarray, SomeSums]]  # ([new, K] how much new ones have of each of K clusters, their sums)


class Assignment(NamedTuple):
    """An L-sparse posterior over the clusters of each row, and what else `summarise` needs."""

    cluster: np.ndarray  # [N, L] int32 ascending
    r: np.ndarray  # [N, L]
    entropy: np.ndarray  # [N]
    likelihood: np.ndarray  # [N] log of the summed weights of the chosen clusters
    x: np.ndarray = np.zeros((0, 0))  # [N, D] rows of numbers, in the frame of these tables if they have one
    tables: SomeTables = None


# What rows give to clusters, without their assignment: the likelihood's own statistic, N [K], and the summed entropy.
ClusterSums: TypeAlias = tuple[SomeSums, np.ndarray, float]


class Likelihood(Protocol):
    """q(phi). The static half runs where a worker runs and sees tables only; the rest runs where the learner is.

    S is the likelihood's own statistic, N the expected number of rows in each cluster.
    """

    rows: ClassVar[str]  # that it takes: "counts" of words, "vectors" or "directions"
    objectives: ClassVar[tuple[str, ...]]  # the usual one first
    has_scatter: ClassVar[bool] = False  # whether it says how rows scatter, which passes with momentum ask

    objective: str
    total: SomeSums

    def tables(self, cols: np.ndarray) -> SomeTables: ...
    def update(self, S: SomeSums, N: np.ndarray) -> Self: ...
    def bound(self, S: SomeSums, N: np.ndarray) -> float: ...
    def mean(self) -> np.ndarray: ...
    def zeros(self, n_features: int, K: int) -> SomeSums: ...
    def regrouped(self, pieces: Pieces, N: np.ndarray) -> Self:
        """Other clusters, from statistics of some."""

    def write(self, out: Writer, *, without: str = "") -> None: ...
    def for_file(self) -> Any: ...
    def read_sums(self, file: CheckedReader, K: int) -> SomeSums:
        """The statistic of a shard, which wrote itself."""

    def n_parameters(self) -> int:
        """Numbers that are free."""

    @classmethod
    def read(cls, file: CheckedReader, **given: object) -> Self:
        """What `write` wrote, of D columns (words: V), K clusters and an objective."""

    @staticmethod
    def assign(shard: SomeShard, tables: SomeTables, log_weights: np.ndarray, L: int) -> Assignment: ...
    @staticmethod
    def summarise(shard: SomeShard, assignment: Assignment, K: int) -> SomeSums: ...

    # A likelihood that can make its statistics in one visit to the rows has `assign` and `summarise` in one.

    @staticmethod
    def reads_once(tables: SomeTables) -> bool:
        """Whether it can with these tables."""
        return False

    @staticmethod
    def visit(shard: SomeShard, tables: SomeTables, log_weights: np.ndarray, L: int) -> ClusterSums:
        raise TypeError("rows are assigned first: see `reads_once`")

    def on_host(self) -> Likelihood:
        """Itself: a likelihood on a device has a copy to give."""
        return self

    # What clusters of vectors have.

    def of_rows(self, table: Rows, r: np.ndarray, weight: np.ndarray | None = None) -> SomeSums:
        """The statistic of rows with these responsibilities [rows, K]."""
        raise TypeError("rows are words")

    def scatter(self, S: SomeSums, N: np.ndarray) -> np.ndarray:
        """Of rows about the means of their clusters; not yet a covariance."""
        raise TypeError("rows are words")

    # What a fit that goes on needs besides what files have of a model.

    def write_candidates(self, out: Writer) -> None:
        return

    def with_candidates(self, file: CheckedReader, least: int) -> Likelihood:
        """Scores rows by `least` candidates or more."""
        return self
