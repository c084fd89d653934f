"""Clusters of dense rows as the device has them: what Gaussians and directions have in common."""

from __future__ import annotations

from typing import Any, NamedTuple, Protocol

import numpy as np

from topmix.cuda.device import Device
from topmix.cuda.rows import DeviceRows
from topmix.cuda.scores import Scorer, Weights, from_host
from topmix.cuda.segments import Moments
from topmix.cuda.top import Top
from topmix.likelihoods.covariance import Shape
from topmix.likelihoods.gaussian import GaussianStats, GaussianTables
from topmix.likelihoods.von_mises_fisher import DirectionStats, DirectionTables

BLOCK_BYTES = 1 << 30  # features, scores and shares that are held at a time
BLOCK_PAIRS = 1 << 23
BLOCK_ROWS = 1 << 17


class Sums(Protocol):
    """The likelihood's own statistic of moments."""

    def __call__(self, c: Clusters, rows: DeviceRows, moments: Moments, /) -> Any: ...


class Clusters(NamedTuple):
    weights: Weights
    constant: np.ndarray  # [K]
    centre: Any  # [K, D] on the device: moments are summed about it; None for zero
    origin: np.ndarray | None  # [D] of the frame; None: rows are as they are
    A: np.ndarray | None
    jacobian: float
    root: np.ndarray | None  # [D, D] tied: a square root of the common precision
    sums: Sums

    @classmethod
    def of(cls, device: Device, t: Any) -> Clusters:
        """Tables of the host, copied once."""
        if isinstance(t, Clusters):
            return t
        clusters: Clusters = device.kept(
            t, lambda: _directions(device, t) if isinstance(t, DirectionTables) else _gaussians(device, t)
        )
        return clusters


def _gaussians(device: Device, t: GaussianTables) -> Clusters:
    shape = t.shape
    weights = from_host(device, shape.D, shape.quadratic, t.linear, t.W)
    root = t.root if shape.name == "tied" else None
    return Clusters(weights, t.constant, device.array(t.centre), t.origin, t.A, t.jacobian, root, _SumsOnHost(shape))


def _directions(device: Device, t: DirectionTables) -> Clusters:
    weights = from_host(device, t.W.shape[1], "none", True, t.W)
    return Clusters(weights, t.constant, None, None, None, 0.0, None, _resultants)


def _resultants(clusters: Clusters, rows: DeviceRows, moments: Moments) -> DirectionStats:
    return DirectionStats(moments.device.get(moments.first))


class _SumsOnHost(NamedTuple):
    """Moments for a model on the host."""

    shape: Shape

    def __call__(self, c: Clusters, rows: DeviceRows, moments: Moments) -> GaussianStats:
        N, first, second = (moments.device.get(x) for x in (moments.N, moments.first, moments.second))
        if self.shape.name == "tied":  # sum w z z', the same for all clusters and in all passes
            assert c.origin is not None
            assert c.A is not None
            second = self.shape.packed(rows.scatter(c.origin, c.A, c.weights.dtype)[None])
        return GaussianStats(N, first, second)


def rows_at_a_time(weights: Weights, L: int) -> int:
    """Rows of a block: their scores of all K are held, and no others. It depends on nothing but the model."""
    each = (2 * weights.F + len(weights.W)) * weights.dtype.itemsize + 16 * L
    n = min(BLOCK_BYTES // each, BLOCK_PAIRS // L, BLOCK_ROWS)
    return max(n // 1024 * 1024, 256)


class Blocks:
    """Rows under clusters, a block at a time."""

    def __init__(
        self, device: Device, c: Clusters, log_weights: np.ndarray, L: int, n: int, precision: str, *, keep: bool
    ):
        self.device, self.c, self.L, self.n = device, c, L, n
        self.size = min(rows_at_a_time(c.weights, L), max(n, 1))
        self.scorer = Scorer(device, c.weights, self.size, precision)
        self.top = Top(device, self.size, c.weights.K, L, c.weights.dtype, keep=keep)
        self.constant = device.array(c.constant + log_weights, c.weights.dtype)
        self.kernel = "top_double" if c.weights.dtype == np.float64 else "top_float"

    def __iter__(self) -> Any:
        return (slice(begin, min(begin + self.size, self.n)) for begin in range(0, self.n, self.size))

    def assign(self, z: Any) -> None:
        self.top(self.kernel, len(z), self.constant, self.scorer(z))

    def summarise(self, rows: DeviceRows, z: Any) -> Moments:
        """Moments of all rows."""
        c, L, top = self.c, self.L, self.top
        weights = c.weights
        moments = Moments(self.device, weights.K, weights.D, weights.quadratic, weights.dtype, self.size * L)
        for part in self:
            self.assign(z[part])
            weight = None if rows.weight is None else rows.weight[part]
            entropy = top.entropy[: part.stop - part.start]
            moments.add(z[part], top.cluster, top.r, entropy, weight, c.centre, L)
        return moments
