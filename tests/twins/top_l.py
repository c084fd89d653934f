"""Slow twin of cpp/simd/top_l.hpp: one row of an L-sparse posterior, in float64."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray


def select(scores: ArrayLike, L: int) -> NDArray[np.int64]:
    """Indices of the min(L, K) largest scores, ascending. Of equal scores, the lower index is kept. NaN is -inf."""
    s = np.asarray(scores)
    s = np.where(np.isnan(s), -np.inf, s)
    return np.sort(np.argsort(-s, kind="stable")[:L])


def softmax_top_l(scores: ArrayLike, L: int) -> tuple[NDArray[np.int64], NDArray[np.float64], float]:
    """(idx, r, entropy of r in nats): r is the softmax of the L largest scores."""
    idx = select(scores, L)
    s = np.asarray(scores, np.float64)[idx]
    s = np.where(np.isnan(s), -np.inf, s)
    high = s.max()
    w = np.exp(s - high) if np.isfinite(high) else (s == high).astype(np.float64)
    return idx, *_normalised(w)


def normalise_top_l(weights: ArrayLike, L: int) -> tuple[NDArray[np.int64], NDArray[np.float64], float]:
    """(idx, r, entropy of r in nats): r = w / sum(w) of the L largest weights. Weights below 0 and NaN count as 0."""
    idx = select(weights, L)
    w = np.asarray(weights, np.float64)[idx]
    w = np.where(w > 0, w, 0)
    high = w.max()
    w = w / high if 0 < high < np.inf else (w == high).astype(np.float64)
    return idx, *_normalised(w)


def _normalised(w: NDArray[np.float64]) -> tuple[NDArray[np.float64], float]:
    r = w / w.sum()
    inside = r[r > 0]
    return r, float(-np.sum(inside * np.log(inside)))
