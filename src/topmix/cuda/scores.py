"""Log weights of rows under clusters, as products of features and weights.

Where the model asks for float32, numbers are split into two halves and three products of them are added
(kernels/features.cu); precision "tf32" makes one product, of the high halves, which have as many digits as TF32 does.
Where the model asks for float64, products are of doubles.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from topmix.cuda.device import Device

LOW = 2.0**-11  # what low halves are to be multiplied by
TOGETHER = 544  # features of a product: tensor cores round sums towards zero, so long ones lose digits
PRECISIONS = ("float32", "tf32")


def padded(n: int, to: int) -> int:
    return -(-max(n, 1) // to) * to


def features_of(D: int, quadratic: str, linear: bool) -> np.ndarray:
    """[F] uint32, which two coordinates each feature is the product of; coordinates D, D + 1 and D + 2 are one, the
    squared norm and zero. F is a multiple of 32."""
    d = np.arange(D)
    first, second = np.triu_indices(D) if quadratic == "products" else (d[:0], d[:0])
    if quadratic == "squares":
        first = second = d
    if quadratic == "norm":
        first, second = np.array([D + 1]), np.array([D])
    if linear:
        first, second = np.concatenate([first, d]), np.concatenate([second, np.full(D, D)])
    nothing = np.full(padded(len(first), 32) - len(first), D + 2)
    first, second = np.concatenate([first, nothing]), np.concatenate([second, nothing])
    return (first | second << 16).astype(np.uint32)


@dataclass(eq=False)
class Weights:
    """What clusters say of features, on the device."""

    D: int
    K: int
    quadratic: str
    linear: bool
    dtype: np.dtype
    pairs: Any  # [F] see features_of
    W: Any  # [K padded, F] doubles; or halves, [K padded, 2 F]: high ones, then low ones
    scale: Any  # [K padded] float32 for halves; else None

    @property
    def F(self) -> int:
        return len(self.pairs)


def made(device: Device, D: int, quadratic: str, linear: bool, W: Any, K: int, dtype: np.dtype) -> Weights:
    """From W [K padded, F] on the device, of `dtype`, zero where there is no cluster or feature."""
    pairs = device.constant(("features", D, quadratic, linear), lambda: features_of(D, quadratic, linear))
    if dtype == np.float64:
        return Weights(D, K, quadratic, linear, dtype, pairs, W, None)
    rows, F = W.shape
    split, scale = device.empty((rows, 2 * F), np.float16), device.empty(rows, np.float32)
    device.launch("split_weights", "WeightArgs", rows, 256, {"W": W, "split": split, "scale": scale, "D": D, "F": F})
    return Weights(D, K, quadratic, linear, dtype, pairs, split, scale)


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

    def __call__(self, z: Any) -> dict[str, Any]:
        """The scores of rows z, as the kernel that chooses among them takes them."""
        device, t, n = self.device, self.weights, len(z)
        given = {
            "z": z,
            "pairs": t.pairs,
            "scale": self.row_scale,
            "n": n,
            "D": t.D,
            "F": t.F,
            "rows": self.rows,
            "has_norm": int(t.quadratic == "norm"),
        }
        blocks = min(-(-n // self.rows), 16 * device.n_processors)
        features, scores = self.features[:n], self.scores[:n]
        if t.dtype == np.float64:
            device.launch("wide_features", "FeatureArgs", blocks, 256, given | {"wide": features}, shared=self.shared)
            device.product(features, t.W, scores, columns=(slice(t.F), slice(t.F)), scale=1.0, is_added=False)
            return {"scores": scores, "pitch": scores.shape[1]}
        device.launch("split_features", "FeatureArgs", blocks, 256, given | {"split": features}, shared=self.shared)
        is_added = self.precision == "float32"
        if is_added:  # low x high + high x low: in one product, of twice as many columns
            both = slice(2 * t.F), slice(2 * t.F)
            device.product(features, t.W, scores, columns=both, scale=LOW, is_added=False)
        for begin in range(0, t.F, TOGETHER if is_added else t.F):
            end = min(begin + TOGETHER, t.F) if is_added else t.F
            high = slice(t.F + begin, t.F + end), slice(begin, end)
            device.product(features, t.W, scores, columns=high, scale=1.0, is_added=is_added)
        scales = {"row_scale": self.row_scale, "cluster_scale": t.scale}
        return {"scores": scores, "pitch": scores.shape[1]} | scales
