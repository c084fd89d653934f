"""Diversity of topics, and counts of empty, duplicate and dominating topics."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from topmix.metrics.counts import as_topics, top_ids


def topic_diversity(topic_word: ArrayLike, top_n: int = 10) -> float:
    """Share of distinct words among the top_n words of all topics: 1 if no word is shared, 1/K if all are."""
    top = top_ids(as_topics(topic_word), top_n)
    return len(np.unique(top)) / top.size


def empty_topics(counts: ArrayLike, threshold: float = 1.0) -> NDArray[np.intp]:
    """Topics with fewer than `threshold` expected tokens. counts: [K] tokens per topic, without priors."""
    return np.flatnonzero(_counts(counts) < threshold)


def largest_share(counts: ArrayLike) -> float:
    """Share of all tokens that are in the largest topic. counts: [K] tokens per topic, without priors."""
    N = _counts(counts)
    return float(N.max() / N.sum()) if N.sum() > 0 else 0.0


def duplicate_topics(topic_word: ArrayLike, threshold: float = 0.9) -> NDArray[np.intp]:
    """Topics whose cosine with an earlier topic is over `threshold`.

    The first topic of a group is not a duplicate, so the length of the result is the number of redundant topics. Empty
    topics all equal the prior: remove them first, so that they do not count as duplicates too.
    """
    phi = as_topics(topic_word)
    norm = np.sqrt(np.einsum("kv,kv->k", phi, phi))
    unit = phi / np.where(norm > 0, norm, 1.0)[:, None]
    return np.flatnonzero(np.tril(unit @ unit.T > threshold, k=-1).any(axis=1))


def _counts(counts: ArrayLike) -> NDArray[np.float64]:
    N = np.asarray(counts, dtype=np.float64)
    if N.ndim != 1 or not len(N) or not np.all(np.isfinite(N)):
        raise ValueError("counts must be a one-dimensional array with one finite number per topic")
    return N
