"""The top words of topics."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray


def top_ids(topic_word: NDArray[np.float64], top_n: int) -> NDArray[np.intp]:
    """[K, top_n] word ids, most probable first. Of equally probable words, the smaller id comes first."""
    K, V = topic_word.shape
    if not 1 <= top_n <= V:
        raise ValueError(f"top_n={top_n}: pass a number from 1 to the {V} words of the vocabulary")
    # Take all words with at least the top_n-th largest value: then ties at the cut are broken by id.
    cut = -np.partition(-topic_word, top_n - 1, axis=1)[:, top_n - 1]
    out = np.empty((K, top_n), dtype=np.intp)
    for k, row in enumerate(topic_word):
        ids = np.flatnonzero(row >= cut[k])
        out[k] = ids[np.argsort(-row[ids], kind="stable")[:top_n]]
    return out
