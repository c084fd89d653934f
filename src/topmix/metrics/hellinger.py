"""Hellinger distances between topics, from 0 (equal) to 1 (no common word)."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


def hellinger(topic_word: NDArray[np.floating], block: int = 4096) -> Floats:
    """[K, K] Hellinger distances of distributions [K, V]. Memory holds `block` words at a time."""
    K, V = topic_word.shape
    affinity = np.zeros((K, K))
    for begin in range(0, V, block):
        roots = np.sqrt(topic_word[:, begin : begin + block])
        affinity += roots @ roots.T
    distance = np.sqrt(np.maximum(1.0 - affinity, 0.0))
    np.fill_diagonal(distance, 0.0)
    return distance
