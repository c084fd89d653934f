"""Dense rows on the device, in the frame that clusters are computed in."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np

from topmix import _core
from topmix.cuda.device import Device
from topmix.data.vectors import VectorShard
from topmix.numerics.blas import one_thread
from topmix.numerics.threads import use_threads

AT_ONCE = 1 << 24  # numbers on their way to the device


class DeviceRows:
    """The rows of a shard. They are copied once: the frame does not change during a fit."""

    HOLDS = ("_z",)

    def __init__(self, shard: VectorShard, device: Device, threads: int):
        self.shard, self.device, self.threads = shard, device, threads
        self.cols, self.n_rows, self.D = shard.cols, shard.n_rows, shard.data.shape[1]
        self.n = float(self.n_rows) if shard.weight is None else float(shard.weight.sum())  # or their weight
        self._frame: tuple[Any, ...] = ()
        self._z: Any = None

    @cached_property
    def weight(self) -> Any:
        """[rows] float64, or None."""
        return None if self.shard.weight is None else self.device.array(self.shard.weight, np.float64)

    def z(self, dtype: np.dtype, origin: np.ndarray | None, A: np.ndarray | None) -> Any:
        """[rows, D]: (x - origin) A, by the kernel of the processor; without a frame, the rows."""
        frame = (dtype, *(None if x is None else x.tobytes() for x in (origin, A)))
        if frame != self._frame:
            self._z, self._frame = None, ()
            z = self.device.empty((self.n_rows, self.D), dtype)
            begin = 0
            for x in self._pieces(dtype, origin, A):
                self.device.copy_to(z[begin : begin + len(x)], x)
                begin += len(x)
            self._z, self._frame = self.device.parking.hold(z), frame
        return self._z()

    def scatter(self, origin: np.ndarray, A: np.ndarray, dtype: np.dtype) -> np.ndarray:
        """[D, D] sum of w z z' over all rows, in double."""
        frame = (dtype, origin.tobytes(), A.tobytes())
        if getattr(self, "_scatter", (None,))[0] != frame:
            sum_, begin = np.zeros((self.D, self.D)), 0
            for x in self._pieces(dtype, origin, A):
                z = x.astype(np.float64)
                weight = None if self.shard.weight is None else self.shard.weight[begin : begin + len(z), None]
                sum_ += z.T @ (z if weight is None else weight * z)
                begin += len(z)
            self._scatter = frame, sum_
        return self._scatter[1]

    def squared_norms(self, z: Any, root: np.ndarray) -> np.ndarray:
        """[rows] |z root|^2, of rows on the device."""
        step = max(1, AT_ONCE // max(1, self.D))
        parts = [self.device.get(z[begin : begin + step]) @ root for begin in range(0, self.n_rows, step)]
        return np.concatenate([np.square(part).sum(axis=1) for part in parts] or [np.zeros(0)])

    def _pieces(self, dtype: np.dtype, origin: np.ndarray | None, A: np.ndarray | None) -> Any:
        with use_threads(self.threads):
            for piece in self.shard.pieces(max(1, AT_ONCE // max(1, self.D))):
                x = piece.rows_as(dtype)
                if origin is not None and A is not None:
                    z = np.empty_like(x)
                    with one_thread():
                        _core.to_frame(x, origin, A, self.threads, z)
                    x = z
                yield x
