"""What rows give to clusters: pairs of a row and one of its clusters, sorted by cluster, and their moments."""

from __future__ import annotations

from typing import Any

import numpy as np

from topmix.cuda.device import Device

PART = 512  # pairs that a block sums in float32
TILE = 2048  # pairs that a warp sorts
KINDS = {"none": 0, "norm": 1, "squares": 2, "products": 3}
SQUARE = 64  # coordinates of a square of products: kTile of moments.cu


class Moments:
    """Sums over rows, which come a block at a time. N [K], first [K, D] and second [K, Q] are on the device."""

    def __init__(self, device: Device, K: int, D: int, quadratic: str, dtype: np.dtype, n_pairs: int):
        self.device, self.K, self.D, self.quadratic, self.dtype = device, K, D, quadratic, dtype
        self.Q = {"none": 0, "norm": 1, "squares": D, "products": D * (D + 1) // 2}[quadratic]
        self.N, self.first = device.zeros(K, np.float64), device.zeros((K, D), np.float64)
        self.second = device.zeros((K, self.Q), np.float64)
        self.partial = device.zeros(device.blocks_of_a_sum, np.float64)
        self.tile = max(TILE, K)
        self.n_parts = n_pairs // PART + min(K, n_pairs)
        self.counts = device.empty((-(-n_pairs // self.tile), K), np.int32)
        self.start, self.part_start = device.empty(K + 1, np.int32), device.empty(K + 1, np.int32)
        self.order = device.empty(n_pairs, np.int32)
        self.part_sums = device.empty((self.n_parts, 1 + 2 * D), np.float64)
        self.part_products = device.empty((self.n_parts if quadratic == "products" else 0, self.Q), dtype)

    def add(
        self, z: Any, cluster: Any, r: Any, entropy: Any, weight: Any = None, centre: Any = None, L: int = 1
    ) -> None:
        """Rows z [n, D] with shares r [n, L] in `cluster` [n, L], or in all clusters where that is None."""
        n = len(entropy)
        if n == 0:
            return
        self._sort(cluster, r, n * L)
        device = self.device
        kind = "double" if self.dtype == np.float64 else "float"
        given = {
            "z": z,
            "r": r,
            "weight": weight,
            "centre": centre,
            "order": self.order,
            "start": self.start,
            "part_start": self.part_start,
            "part_sums": self.part_sums,
            "part_products": self.part_products if self.quadratic == "products" else None,
            "N": self.N,
            "first": self.first,
            "second": self.second,
            "entropy": entropy,
            "partial": self.partial,
            "n": n,
            "L": L,
            "D": self.D,
            "Q": self.Q,
            "K": self.K,
            "part": PART,
            "kind": KINDS[self.quadratic],
        }
        parts = min(self.n_parts, n * L // PART + min(self.K, n * L))
        device.launch(f"sums_{kind}", "MomentArgs", parts, 256, given)
        if self.quadratic == "products":
            across = -(-self.D // SQUARE)
            device.launch(f"products_{kind}", "MomentArgs", parts * (across * (across + 1) // 2), 256, given)
        device.launch(f"gather_{kind}", "MomentArgs", self.K, 256, given, shared=8 * (1 + self.D))
        device.launch("add_entropy", "MomentArgs", device.blocks_of_a_sum, 256, given)

    def _sort(self, cluster: Any, r: Any, n_pairs: int) -> None:
        device, K, n_tiles = self.device, self.K, -(-n_pairs // self.tile)
        kind = "double" if self.dtype == np.float64 else "float"
        given = {
            "cluster": cluster,
            "r": r,
            "counts": self.counts,
            "start": self.start,
            "part_start": self.part_start,
            "order": self.order,
            "n_pairs": n_pairs,
            "K": K,
            "tile": self.tile,
            "n_tiles": n_tiles,
            "part": PART,
        }
        device.launch(f"count_pairs_{kind}", "SegmentArgs", n_tiles, 128, given, shared=4 * K)
        device.launch("sum_over_tiles", "SegmentArgs", -(-K // 256), 256, given)
        device.launch("sum_over_clusters", "SegmentArgs", 1, 256, given)
        device.launch(f"place_pairs_{kind}", "SegmentArgs", n_tiles, 32, given, shared=4 * K)

    def entropy(self) -> float:
        return float(self.device.get(self.partial).sum())
