"""Scores of rows, the best clusters of each, and what rows give to them: the kernels of mixtures.

Log weights are products of features and weights. Where the model asks for float32, numbers are split into two halves
and three products of them are added (kernels/features.cu); precision "tf32" makes one product, of the high halves,
which have as many digits as TF32 does. Where the model asks for float64, products are of doubles.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

import numpy as np
from sklearn.utils import gen_batches

from topmix.cuda.device import Device, DeviceArray, Given, padded

LOW = 2.0**-11  # what low halves are to be multiplied by
TOGETHER = 544  # features of a product: tensor cores round sums towards zero, so long ones lose digits
LEAST_SHARE = {np.dtype(np.float32): 2.0**-30, np.dtype(np.float64): 2.0**-60}  # less counts as none
PART = 512  # pairs that a block sums in float32
TILE = 2048  # pairs that a warp sorts
KINDS = {"none": 0, "norm": 1, "squares": 2, "products": 3}
SQUARE = 64  # coordinates of a square of products: kTile of moments.cu


@cache
def features_of(D: int, quadratic: str, linear: bool) -> np.ndarray:
    """[F] uint32, which two coordinates each feature is the product of; coordinates D, D + 1 and D + 2 are one, the
    squared norm and zero. F is a multiple of 32."""
    d = np.arange(D)
    if quadratic == "products":
        pairs = np.stack(np.triu_indices(D))
    else:
        pairs = np.array({"none": (d[:0], d[:0]), "norm": ([D + 1], [D]), "squares": (d, d)}[quadratic])
    if linear:
        pairs = np.concatenate([pairs, [d, np.full(D, D)]], axis=1)
    nothing = np.full((2, padded(pairs.shape[1], 32) - pairs.shape[1]), D + 2)
    first, second = np.concatenate([pairs, nothing], axis=1)
    return (first | second << 16).astype(np.uint32)


@dataclass(eq=False)
class Weights:
    """What clusters say of features, on the device."""

    D: int
    K: int
    F: int
    quadratic: str
    dtype: np.dtype
    pairs: DeviceArray  # [F] see features_of
    W: DeviceArray  # [K padded, F] doubles; or halves, [K padded, 2 F]: high ones, then low ones
    scale: DeviceArray | None  # [K padded] float32 for halves; else None


def made(device: Device, D: int, quadratic: str, linear: bool, W: DeviceArray, K: int, dtype: np.dtype) -> Weights:
    """From W [K padded, F] on the device, of `dtype`, zero where there is no cluster or feature."""
    pairs, (rows, F) = device.mirror(features_of(D, quadratic, linear), np.uint32), W.shape
    if dtype == np.float64:
        return Weights(D, K, F, quadratic, dtype, pairs, W, None)
    split, scale = device.empty((rows, 2 * F), np.float16), device.empty(rows, np.float32)
    device.launch("split_weights", rows, 256, {"W": W, "split": split, "scale": scale, "D": D, "F": F})
    return Weights(D, K, F, quadratic, dtype, pairs, split, scale)


def from_host(device: Device, D: int, quadratic: str, linear: bool, W: np.ndarray) -> Weights:
    """From W [K, features] as the model has it."""
    K, size = W.shape
    wide = np.zeros((padded(K, 8), len(features_of(D, quadratic, linear))), W.dtype)
    wide[:K, :size] = W
    return made(device, D, quadratic, linear, device.array(wide), K, W.dtype)


class Scorer:
    """Scores of blocks of rows, into memory that is used again and again."""

    def __init__(self, device: Device, weights: Weights, n_rows: int, precision: str):
        self.device, self.weights, self.precision = device, weights, precision
        width = weights.F if weights.dtype == np.float64 else 2 * weights.F
        kind = np.float64 if weights.dtype == np.float64 else np.float16
        self.features = device.empty((n_rows, width), kind)
        self.row_scale = device.empty(n_rows, np.float32)
        self.scores = device.empty((n_rows, len(weights.W)), weights.dtype)
        room = device.shared_per_block - 2048
        self.rows = max(1, min(8, room // ((weights.D + 4) * weights.dtype.itemsize)))
        self.shared = self.rows * (weights.D + 4) * weights.dtype.itemsize
        if self.shared > device.shared_per_block:
            raise ValueError(f"engine='cuda' has no room for rows of {weights.D} numbers: use engine='threads'")

    def __call__(self, z: DeviceArray) -> Given:
        """The scores of rows z, as the kernel that chooses among them takes them."""
        device, t, n = self.device, self.weights, len(z)
        given: Given = {"z": z, "pairs": t.pairs, "scale": self.row_scale, "n": n, "D": t.D, "F": t.F}
        given |= {"rows": self.rows, "has_norm": int(t.quadratic == "norm")}
        blocks = min(-(-n // self.rows), 16 * device.n_processors)
        features, scores = self.features[:n], self.scores[:n]
        if t.dtype == np.float64:
            device.launch("wide_features", blocks, 256, given | {"wide": features}, shared=self.shared)
            device.product(features, t.W, scores, 1.0, is_added=False)
            return {"scores": scores, "pitch": scores.shape[1]}
        device.launch("split_features", blocks, 256, given | {"split": features}, shared=self.shared)
        is_added = self.precision == "float32"
        if is_added:  # low x high + high x low: in one product, of twice as many columns
            device.product(features, t.W, scores, LOW, is_added=False)
        for part in gen_batches(t.F, TOGETHER if is_added else t.F):
            high = slice(t.F + part.start, t.F + part.stop)
            device.product(features[:, high], t.W[:, part], scores, 1.0, is_added=is_added)
        scales = {"row_scale": self.row_scale, "cluster_scale": t.scale}
        return {"scores": scores, "pitch": scores.shape[1]} | scales


class Top:
    """Posteriors of blocks of at most n rows, in memory that is used again and again."""

    def __init__(self, device: Device, n: int, K: int, L: int, dtype: np.dtype, *, keep: bool = True):
        self.device, self.K, self.L, self.dtype = device, K, L, dtype
        self.cluster = device.empty((n, L), np.int32) if keep and L < K else None
        self.r = device.empty((n, L), dtype) if keep else None
        self.entropy, self.likelihood = device.empty(n, np.float64), device.empty(n, np.float64)
        self.C, self.warps, self.shared = self.room(device, K, dtype)

    @staticmethod
    def room(device: Device, K: int, dtype: np.dtype) -> tuple[int, int, int]:
        """Scores of a lane, warps of a block, and the bytes that these share."""
        of_lane = -(-K // 32) | 1
        row = 32 * of_lane * dtype.itemsize
        warps = min(8, (device.shared_per_block - 1024) // row)
        if warps == 0:
            most = (device.shared_per_block - 1024) // (32 * dtype.itemsize) * 32
            raise ValueError(
                f"engine='cuda' has at most about {most} clusters in {dtype}, not {K}: use engine='threads'"
            )
        return of_lane, warps, warps * row

    def __call__(self, kernel: str, n: int, constant: DeviceArray, given: Given) -> None:
        """The first n rows from now on are those that `given` describes."""
        given = given | {"constant": constant, "cluster": self.cluster, "r": self.r, "entropy": self.entropy}
        given |= {"likelihood": self.likelihood, "least": LEAST_SHARE[self.dtype], "n": n, "K": self.K}
        given |= {"L": self.L, "C": self.C}
        blocks = min(-(-n // self.warps), 32 * self.device.n_processors)
        self.device.launch(kernel, blocks, 32 * self.warps, given, shared=self.shared)

    def on_host(self, n: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """cluster [n, L], r [n, L] and likelihood [n]; the first two are empty where they are not kept."""
        likelihood = self.device.get(self.likelihood[:n])
        if self.r is None:
            return np.empty((0, self.L), np.int32), np.empty((0, self.L), self.dtype), likelihood
        r = self.device.get(self.r[:n])
        if self.cluster is None:
            return np.tile(np.arange(self.K, dtype=np.int32), (n, 1)), r, likelihood
        return self.device.get(self.cluster[:n]), r, likelihood


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
        self,
        z: DeviceArray | None,
        cluster: DeviceArray | None,
        r: DeviceArray | None,
        entropy: DeviceArray,
        weight: DeviceArray | None = None,
        centre: DeviceArray | None = None,
        L: int = 1,
    ) -> None:
        """Rows z [n, D] with shares r [n, L] in `cluster` [n, L], or in all clusters where that is None."""
        n = len(entropy)
        if n == 0:
            return
        device, K, n_pairs = self.device, self.K, n * L
        n_tiles, kind = -(-n_pairs // self.tile), "double" if self.dtype == np.float64 else "float"
        order = {"start": self.start, "part_start": self.part_start, "order": self.order}  # of pairs, by cluster
        given: Given = order | {"cluster": cluster, "r": r, "counts": self.counts, "n_pairs": n_pairs, "K": K}
        given |= {"tile": self.tile, "n_tiles": n_tiles, "part": PART}
        device.launch(f"count_pairs_{kind}", n_tiles, 128, given, shared=4 * K)
        device.launch("sum_over_tiles", -(-K // 256), 256, given)
        device.launch("sum_over_clusters", 1, 256, given)
        device.launch(f"place_pairs_{kind}", n_tiles, 32, given, shared=4 * K)

        given = order | {"z": z, "r": r, "weight": weight, "centre": centre, "part_sums": self.part_sums}
        given |= {"part_products": self.part_products if self.quadratic == "products" else None, "N": self.N}
        given |= {"first": self.first, "second": self.second, "entropy": entropy, "partial": self.partial}
        given |= {"n": n, "L": L, "D": self.D, "Q": self.Q, "K": K, "part": PART, "kind": KINDS[self.quadratic]}
        parts = min(self.n_parts, n_pairs // PART + min(K, n_pairs))
        device.launch(f"sums_{kind}", parts, 256, given)
        if self.quadratic == "products":
            across = -(-self.D // SQUARE)
            device.launch(f"products_{kind}", parts * (across * (across + 1) // 2), 256, given)
        device.launch(f"gather_{kind}", K, 256, given, shared=8 * (1 + self.D))
        device.launch("add_entropy", device.blocks_of_a_sum, 256, given)

    def entropy(self) -> float:
        return float(self.device.get(self.partial).sum())
