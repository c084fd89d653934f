"""Dense rows under clusters on the device: what Gaussians and directions have in common."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cached_property, partial
from typing import NamedTuple

import numpy as np
from sklearn.utils import gen_batches

from topmix import _core
from topmix.base.threads import one_thread, use_threads
from topmix.corpus.shard import VectorShard
from topmix.cuda.device import Device, DeviceArray, Spillable
from topmix.cuda.row_sums import Moments, Scorer, Top, Weights, from_host
from topmix.models.frame import GaussianStats
from topmix.models.gaussian import GaussianTables
from topmix.models.statistics import MixtureStats
from topmix.models.von_mises_fisher import DirectionStats, DirectionTables

AT_ONCE = 1 << 24  # numbers on their way to the device
BLOCK_BYTES = 1 << 30  # features, scores and shares that are held at a time
BLOCK_PAIRS = 1 << 23
BLOCK_ROWS = 1 << 17


class DeviceRows:
    """The rows of a shard. They are copied once: the frame does not change during a fit."""

    def __init__(self, shard: VectorShard, device: Device, threads: int):
        self.shard, self.device, self.threads = shard, device, threads
        self.cols, self.n_rows, self.D = shard.cols, shard.n_rows, shard.data.shape[1]
        self.n = float(self.n_rows) if shard.weight is None else float(shard.weight.sum())  # or their weight
        self.at_once = max(1, AT_ONCE // max(1, self.D))  # rows
        self._frame: tuple[object, ...] = ()
        self._z: Spillable | None = None
        self._scatter: tuple[tuple[object, ...], np.ndarray] | None = None  # a frame, and the sum in it

    @cached_property
    def weight(self) -> DeviceArray | None:
        """[rows] float64, or None."""
        return None if self.shard.weight is None else self.device.array(self.shard.weight, np.float64)

    def z(self, dtype: np.dtype, origin: np.ndarray | None, A: np.ndarray | None) -> DeviceArray:
        """[rows, D]: (x - origin) A, by the kernel of the processor; without a frame, the rows."""
        frame = (dtype, *(None if x is None else x.tobytes() for x in (origin, A)))
        if frame != self._frame:
            self._z, self._frame = None, ()
            z = self.device.empty((self.n_rows, self.D), dtype)
            begin = 0
            for x in self._pieces(dtype, origin, A):
                self.device.copy_to(z[begin : begin + len(x)], x)
                begin += len(x)
            self._z, self._frame = self.device.spillable(z), frame
        assert self._z is not None
        return self._z()

    def scatter(self, origin: np.ndarray, A: np.ndarray, dtype: np.dtype) -> np.ndarray:
        """[D, D] sum of w z z' over all rows, in double."""
        frame = (dtype, origin.tobytes(), A.tobytes())
        if self._scatter is None or self._scatter[0] != frame:
            sum_, begin = np.zeros((self.D, self.D)), 0
            for x in self._pieces(dtype, origin, A):
                z = x.astype(np.float64)
                weight = None if self.shard.weight is None else self.shard.weight[begin : begin + len(z), None]
                sum_ += z.T @ (z if weight is None else weight * z)
                begin += len(z)
            self._scatter = frame, sum_
        return self._scatter[1]

    def squared_norms(self, z: DeviceArray, root: np.ndarray) -> np.ndarray:
        """[n] |z root|^2, of rows z [n, D] on the device."""
        parts = [self.device.get(z[part]) @ root for part in gen_batches(len(z), self.at_once)]
        return np.concatenate([np.square(part).sum(axis=1) for part in parts] or [np.zeros(0)])

    def _pieces(self, dtype: np.dtype, origin: np.ndarray | None, A: np.ndarray | None) -> Iterator[np.ndarray]:
        with use_threads(self.threads):
            for piece in self.shard.pieces(self.at_once):
                x = piece.rows_as(dtype)
                if origin is not None and A is not None:
                    z = np.empty_like(x)
                    with one_thread():
                        _core.to_frame(x, origin, A, self.threads, z)
                    x = z
                yield x


class Clusters(NamedTuple):
    weights: Weights
    constant: np.ndarray  # [K]
    centre: DeviceArray | None  # [K, D] on the device: moments are summed about it; None for zero
    origin: np.ndarray | None  # [D] of the frame; None: rows are as they are
    A: np.ndarray | None
    jacobian: float
    root: np.ndarray | None  # [D, D] tied: a square root of the common precision
    sums: Callable[[Clusters, DeviceRows, Moments], object]  # the likelihood's own statistic of moments

    @classmethod
    def of(cls, device: Device, t: Clusters | DirectionTables | GaussianTables) -> Clusters:
        """Tables of the host, copied once."""
        if isinstance(t, Clusters):
            return t

        def copied() -> Clusters:
            sums = partial(_sums_on_host, t)
            if isinstance(t, DirectionTables):
                weights = from_host(device, t.W.shape[1], "none", True, t.W)
                return cls(weights, t.constant, None, None, None, 0.0, None, sums)
            weights = from_host(device, t.shape.D, t.shape.quadratic, t.linear, t.W)
            root = t.root if t.shape.name == "tied" else None
            return cls(weights, t.constant, device.array(t.centre), t.origin, t.A, t.jacobian, root, sums)

        return device.kept(t, copied)


def _sums_on_host(
    t: DirectionTables | GaussianTables, c: Clusters, rows: DeviceRows, moments: Moments
) -> DirectionStats | GaussianStats:
    """Moments for a model on the host."""
    get = moments.device.get
    if isinstance(t, DirectionTables):
        return DirectionStats(get(moments.first))
    if t.shape.name != "tied":
        return GaussianStats(get(moments.N), get(moments.first), get(moments.second))
    scatter = rows.scatter(t.origin, t.A, c.weights.dtype)  # the same for all clusters and in all passes
    return GaussianStats(get(moments.N), get(moments.first), t.shape.packed(scatter[None]))


def rows_at_a_time(weights: Weights, L: int) -> int:
    """Rows of a block: their scores of all K are held, and no others. It depends on nothing but the model."""
    each = (2 * weights.F + len(weights.W)) * weights.dtype.itemsize + 16 * L
    n = min(BLOCK_BYTES // each, BLOCK_PAIRS // L, BLOCK_ROWS)
    return max(n // 1024 * 1024, 256)


class Blocks:
    """Rows under clusters, a block at a time."""

    def __init__(self, rows: DeviceRows, c: Clusters, log_weights: np.ndarray, L: int, precision: str, *, keep: bool):
        self.device = device = rows.device
        self.rows, self.c, self.L = rows, c, L
        self.z = rows.z(c.weights.dtype, c.origin, c.A)
        self.size = min(rows_at_a_time(c.weights, L), max(rows.n_rows, 1))
        self.parts = list(gen_batches(rows.n_rows, self.size))
        self.scorer = Scorer(device, c.weights, self.size, precision)
        self.top = Top(device, self.size, c.weights.K, L, c.weights.dtype, keep=keep)
        self.constant = device.array(c.constant + log_weights, c.weights.dtype)
        self.kernel = "top_double" if c.weights.dtype == np.float64 else "top_float"

    def assign(self, part: slice) -> None:
        self.top(self.kernel, part.stop - part.start, self.constant, self.scorer(self.z[part]))

    def summarise(self, unit: float) -> MixtureStats:
        """What all rows report."""
        c, rows, L, top = self.c, self.rows, self.L, self.top
        weights = c.weights
        moments = Moments(self.device, weights.K, weights.D, weights.quadratic, weights.dtype, self.size * L)
        for part in self.parts:
            self.assign(part)
            weight = None if rows.weight is None else rows.weight[part]
            entropy = top.entropy[: part.stop - part.start]
            moments.add(self.z[part], top.cluster, top.r, entropy, weight, c.centre, L)
        return MixtureStats(c.sums(c, rows, moments), self.device.get(moments.N), moments.entropy(), rows.n)

    def likelihood(self, scores: np.ndarray) -> np.ndarray:
        """[rows] from summed scores, which lack what is the same for all clusters."""
        if self.c.root is None:
            return scores + self.c.jacobian
        return scores + self.c.jacobian - 0.5 * self.rows.squared_norms(self.z, self.c.root)
