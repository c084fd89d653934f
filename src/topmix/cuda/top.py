"""The L best clusters of rows, and their shares."""

from __future__ import annotations

from typing import Any

import numpy as np

from topmix.cuda.device import Device

LEAST_SHARE = {np.dtype(np.float32): 2.0**-30, np.dtype(np.float64): 2.0**-60}  # less counts as none


class Top:
    """Posteriors of blocks of at most n rows, in memory that is used again and again."""

    def __init__(self, device: Device, n: int, K: int, L: int, dtype: np.dtype, *, keep: bool = True):
        self.device, self.K, self.L, self.dtype = device, K, L, dtype
        self.cluster = device.empty((n, L), np.int32) if keep and L < K else None
        self.r = device.empty((n, L), dtype) if keep else None
        self.entropy, self.likelihood = device.empty(n, np.float64), device.empty(n, np.float64)
        self.C = -(-K // 32) | 1  # scores of a lane
        row = 32 * self.C * dtype.itemsize
        self.warps = min(8, (device.shared_per_block - 1024) // row)
        if self.warps == 0:
            most = (device.shared_per_block - 1024) // (32 * dtype.itemsize) * 32
            raise ValueError(
                f"engine='cuda' has at most about {most} clusters in {dtype}, not {K}: use engine='threads'"
            )
        self.shared = self.warps * row

    def __call__(self, kernel: str, n: int, constant: Any, given: dict[str, Any]) -> None:
        """The first n rows from now on are those that `given` describes."""
        given = given | {
            "constant": constant,
            "cluster": self.cluster,
            "r": self.r,
            "entropy": self.entropy,
            "likelihood": self.likelihood,
            "least": LEAST_SHARE[self.dtype],
            "n": n,
            "K": self.K,
            "L": self.L,
            "C": self.C,
        }
        blocks = min(-(-n // self.warps), 32 * self.device.n_processors)
        self.device.launch(kernel, "TopArgs", blocks, 32 * self.warps, given, shared=self.shared)

    def on_host(self, n: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """cluster [n, L], r [n, L] and likelihood [n]; the first two are empty where they are not kept."""
        likelihood = self.device.get(self.likelihood[:n])
        if self.r is None:
            return np.empty((0, self.L), np.int32), np.empty((0, self.L), self.dtype), likelihood
        r = self.device.get(self.r[:n])
        if self.cluster is None:
            return np.tile(np.arange(self.K, dtype=np.int32), (n, 1)), r, likelihood
        return self.device.get(self.cluster[:n]), r, likelihood
