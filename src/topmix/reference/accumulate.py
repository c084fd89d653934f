"""Slow twin of cpp/base/accumulate.hpp: grouping and sums in a fixed order."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray


def group_by(ids: NDArray[np.integer], n_bins: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """starts [n_bins + 1] and order [n]: bin b holds items order[starts[b]:starts[b + 1]], ascending."""
    order = np.argsort(ids, kind="stable")
    starts = np.concatenate([[0], np.cumsum(np.bincount(ids, minlength=n_bins))])
    return starts.astype(np.int64), order.astype(np.int64)


def add_by_id(ids: NDArray[np.integer], values: NDArray[np.float64], out: NDArray[np.float64]) -> None:
    """out[ids[i]] += values[i], in the order of i."""
    for b, v in zip(ids, values, strict=True):
        out[b] += v


def blocked_sum(x: NDArray[np.floating]) -> float:
    """Sums blocks of 512 in order. Then adds the last half of the block sums to the first half, until one is left."""
    parts: list[float] = []
    for at in range(0, len(x), 512):
        s = 0.0
        for v in x[at : at + 512]:
            s += float(v)
        parts.append(s)
    while len(parts) > 1:
        half = len(parts) // 2
        folded = [parts[i] + parts[-1 - i] for i in range(half)]
        parts = folded + parts[half : len(parts) - half]
    return parts[0] if parts else 0.0
