"""Clusters as native workers have them: what workers are made from, and what the numbers of a cluster mean.

A cluster travels as a row of numbers: N, the statistics of its likelihood and, for dense rows, where these are summed
about. docs/math.md, section G.1.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, Generic, NamedTuple, Protocol, TypeVar

import numpy as np

from topmix import _core
from topmix.data.corpus import Corpus
from topmix.data.rows import Rows, SparseRows
from topmix.data.shard import Shard
from topmix.data.vectors import VectorShard
from topmix.likelihoods.categorical import Categorical
from topmix.likelihoods.gaussian import TOLERANCE, Gaussian, GaussianStats
from topmix.likelihoods.likelihood import Likelihood
from topmix.models.mixture import Mixture
from topmix.stats import WordTotal


class Deal(NamedTuple):
    """How the workers of one process share rows and clusters."""

    bounds: np.ndarray  # [workers + 1] the first row of each
    cluster: np.ndarray  # [rows, L] int32
    r: np.ndarray  # [rows, L]
    blocks: int
    most: int  # blocks that a worker holds at a time
    rows_at_once: int  # solved between two updates
    threads: int  # of each worker
    seed: int

    def native(self) -> _core.Deal:
        return _core.Deal(self.bounds, self.blocks, self.most, self.rows_at_once, self.threads, self.seed)


class StationSettings(NamedTuple):
    """What the rows of one process need to know of the clusters that visit them."""

    all_rows: float  # of all processes
    n_clusters: int
    n_active: int
    blocks: int
    rows_at_once: int
    threads: int


class NativeWorkers(Protocol):
    """Of one process: they go on by themselves."""

    def start(self, passes: int) -> None: ...
    def next(self) -> tuple[np.ndarray, float] | None: ...
    def assignments(self) -> tuple[np.ndarray, np.ndarray]: ...
    def stop(self) -> None: ...


class NativeStation(Protocol):
    """The rows of one process of several."""

    @property
    def of_rows(self) -> int: ...
    def put(self, block: int, rows: np.ndarray) -> None: ...
    def take(self, block: int) -> np.ndarray: ...
    def forget(self) -> None: ...
    def settle(self) -> None: ...
    def compare(self, blocks: list[int]) -> None: ...
    def contribute(self, blocks: list[int]) -> None: ...
    def visit(self, blocks: list[int]) -> None: ...
    def entropy(self) -> float: ...
    def assignments(self) -> tuple[np.ndarray, np.ndarray]: ...


ShardKind = TypeVar("ShardKind", Shard, VectorShard)


class TravellingClusters(ABC, Generic[ShardKind]):
    """Without the clusters themselves, so that it can be sent."""

    dtype = "float32"  # of shares

    @abstractmethod
    def workers(self, model: Mixture, rows: ShardKind, deal: Deal) -> NativeWorkers:
        """Native workers of one process, on all rows."""

    @abstractmethod
    def station(self, rows: ShardKind, settings: StationSettings) -> NativeStation:
        """Native rows of one process of several, which blocks visit."""

    @abstractmethod
    def numbers(self, model: Mixture) -> np.ndarray:
        """[K, numbers of a cluster] as it travels."""

    @abstractmethod
    def statistics(self, numbers: np.ndarray) -> Any:
        """The likelihood's statistic, from numbers without or with where rows are summed about."""

    def without_rows(self, numbers: np.ndarray) -> np.ndarray:
        return np.zeros_like(numbers)

    def serves(self, model: Mixture) -> bool:
        """Whether rows are computed in the precision that these clusters need."""
        return True


@dataclass(frozen=True)
class GaussianClusters(TravellingClusters[VectorShard]):
    """Dense rows."""

    model: Gaussian  # without clusters
    weight_prior: float
    dtype: str

    def prior(self) -> _core.NormalWishart:
        g, p = self.model, self.model.prior
        B, reg = (self.model.shape.packed(np.asarray(x)[None])[0].ravel() for x in (p.B, p.reg))
        is_bayes = g.objective == "vb"
        return _core.NormalWishart(
            g.shape.quadratic, not g.zero_mean, is_bayes, p.beta, p.m, p.nu, B, reg, self.weight_prior
        )

    def in_frame(self, rows: VectorShard, threads: int) -> np.ndarray:
        frame, x = self.model.frame, rows.rows_as(self.dtype)
        z = np.empty_like(x)
        _core.to_frame(x, frame.origin, np.ascontiguousarray(frame.scale), threads, z)
        return z

    def workers(self, model: Mixture, rows: VectorShard, deal: Deal) -> NativeWorkers:
        make = _core.AsynchronousGaussian32 if self.dtype == "float32" else _core.AsynchronousGaussian64
        z, centre = self.in_frame(rows, deal.threads), self._gaussian(model).posterior.m.astype(self.dtype)
        return make(self.prior(), z, rows.weight, deal.cluster, deal.r, centre, deal.native())

    def station(self, rows: VectorShard, settings: StationSettings) -> NativeStation:
        make = _core.NomadicGaussian32 if self.dtype == "float32" else _core.NomadicGaussian64
        z = self.in_frame(rows, settings.threads)
        return make(self.prior(), z, rows.weight, _core.StationSettings(*settings))

    def numbers(self, model: Mixture) -> np.ndarray:
        g = self._gaussian(model)
        return np.column_stack([g.total.N, g.total.first, g.total.second, g.posterior.m])

    def statistics(self, numbers: np.ndarray) -> GaussianStats:
        shape = self.model.shape
        D, Q = shape.D, shape.quadratic_size()
        return GaussianStats(numbers[:, 0].copy(), numbers[:, 1 : 1 + D].copy(), numbers[:, 1 + D : 1 + D + Q].copy())

    def without_rows(self, numbers: np.ndarray) -> np.ndarray:
        empty = np.zeros_like(numbers)
        empty[:, -self.model.shape.D :] = numbers[:, -self.model.shape.D :]  # rows are summed about their centres
        return empty

    def serves(self, model: Mixture) -> bool:
        return self.dtype == precision(model.likelihood)

    @staticmethod
    def _gaussian(model: Mixture) -> Gaussian:
        assert isinstance(model.likelihood, Gaussian)
        return model.likelihood


@dataclass(frozen=True)
class SparseGaussianClusters(TravellingClusters[VectorShard]):
    """Gaussian clusters with variances of each column, of sparse rows."""

    model: Gaussian  # without clusters
    weight_prior: float

    @property
    def zero(self) -> np.ndarray:
        """[D] where the row of zeros is, in the frame."""
        return self.model.frame.points(np.zeros(self.model.shape.D))

    def prior(self) -> _core.SparseGaussian:
        clusters = GaussianClusters(self.model, self.weight_prior, self.dtype)
        return _core.SparseGaussian(clusters.prior(), np.ascontiguousarray(self.model.frame.scale), self.zero)

    def workers(self, model: Mixture, rows: VectorShard, deal: Deal) -> NativeWorkers:
        X, K = _core.SparseRows(*entries(rows)), model.n_components
        return _core.AsynchronousSparseGaussian(self.prior(), X, rows.weight, K, deal.cluster, deal.r, deal.native())

    def station(self, rows: VectorShard, settings: StationSettings) -> NativeStation:
        X = _core.SparseRows(*entries(rows))
        return _core.NomadicSparseGaussian(self.prior(), X, rows.weight, _core.StationSettings(*settings))

    def numbers(self, model: Mixture) -> np.ndarray:
        """N, and what rows add to both moments of a column beyond what rows of zeros would."""
        t, zero = GaussianClusters._gaussian(model).total, self.zero
        excess = np.stack([t.first - np.outer(t.N, zero), t.second - np.outer(t.N, zero**2)], axis=2)
        return np.column_stack([t.N, excess.reshape(len(t.N), -1)])

    def statistics(self, numbers: np.ndarray) -> GaussianStats:
        N, zero = numbers[:, 0].copy(), self.zero
        return GaussianStats(N, np.outer(N, zero) + numbers[:, 1::2], np.outer(N, zero**2) + numbers[:, 2::2])


@dataclass(frozen=True)
class CategoricalClusters(TravellingClusters[Shard]):
    """Bags of words."""

    eta: np.ndarray  # [V]
    is_bayes: bool
    weight_prior: float

    def workers(self, model: Mixture, rows: Shard, deal: Deal) -> NativeWorkers:
        X, K = _core.CountRows(*entries(rows)), model.n_components
        return _core.AsynchronousCategorical(self.prior(), X, rows.weight, K, deal.cluster, deal.r, deal.native())

    def station(self, rows: Shard, settings: StationSettings) -> NativeStation:
        X = _core.CountRows(*entries(rows))
        return _core.NomadicCategorical(self.prior(), X, rows.weight, _core.StationSettings(*settings))

    def prior(self) -> _core.CategoricalPrior:
        return _core.CategoricalPrior(self.is_bayes, self.eta, self.weight_prior)

    def numbers(self, model: Mixture) -> np.ndarray:
        return np.column_stack([model.allocation.counts(), model.likelihood.total.counts().T])

    def statistics(self, numbers: np.ndarray) -> WordTotal:
        return WordTotal.of(np.ascontiguousarray(numbers[:, 1:].T))


Needed = tuple[str, tuple[str | None, ...], str]  # a parameter of an estimator, the values it may have, and why


def required_to_travel(likelihood: type, data: Corpus | Rows) -> list[Needed] | None:
    """What clusters need to be like to travel; None where those of this likelihood cannot."""
    if likelihood not in (Gaussian, Categorical):
        return None
    weights = "weight_concentration_prior_type"
    needed: list[Needed] = [(weights, ("dirichlet_distribution",), "a stick's length depends on all before it")]
    if likelihood is Categorical:
        return needed
    kinds: tuple[str, ...] = ("full", "diag", "spherical")
    why = "clusters travel alone, so they cannot share a covariance"
    if isinstance(data, SparseRows):
        kinds, why = ("diag",), "others would need all rows dense in memory, and X is sparse"
    candidates: Needed = ("candidates", (None,), "a worker scores rows by the clusters that it holds")
    return [("covariance_type", kinds, why), candidates, *needed]


def clusters_of(model: Mixture, *, is_sparse: bool) -> TravellingClusters:
    """How the clusters of this model travel, between dense rows or sparse ones."""
    weight_prior, likelihood = float(model.allocation.prior), model.likelihood
    if isinstance(likelihood, Categorical):
        return CategoricalClusters(likelihood.eta[:, 0], likelihood.objective == "vb", weight_prior)
    assert isinstance(likelihood, Gaussian)
    g = likelihood
    empty = Gaussian(g.covariance_type, g.objective, g.zero_mean, g.dtype, g.frame, g.prior, g.zeros(g.shape.D, 0))
    if is_sparse:
        return SparseGaussianClusters(empty, weight_prior)
    return GaussianClusters(empty, weight_prior, precision(g))


def entries(rows: Shard | VectorShard) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Offsets, columns and values of sparse rows."""
    if isinstance(rows, Shard):
        return rows.indptr, rows.cols[rows.index], rows.value
    csr = rows.sparse_rows()
    return csr.indptr.astype(np.int64), csr.indices.astype(np.int32), csr.data.astype(np.float64)


def precision(g: Likelihood) -> str:
    assert isinstance(g, Gaussian)
    return "float64" if g.dtype == "float64" or g.rounding() > TOLERANCE else "float32"
