"""Agreement: of two labellings of the same tokens or rows, and of the topics of two models, in pairs by the Hungarian
algorithm."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from topmix.metrics.counts import Floats, as_distributions


def nmi(true: ArrayLike, predicted: ArrayLike) -> float:
    """Normalized mutual information, from 0 to 1: I divided by the arithmetic mean of the two entropies. The values of
    the labels do not matter."""
    from sklearn.metrics import normalized_mutual_info_score  # here, because it comes with half of SciPy

    return float(normalized_mutual_info_score(np.ravel(true), np.ravel(predicted)))


def adjusted_rand(true: ArrayLike, predicted: ArrayLike) -> float:
    """Adjusted Rand index: 1 for equal partitions, about 0 for independent ones. It may be negative."""
    from sklearn.metrics import adjusted_rand_score

    return float(adjusted_rand_score(np.ravel(true), np.ravel(predicted)))


class TopicMatch(NamedTuple):
    """min(K_a, K_b) pairs, in the order of the topics of a. Topics of the larger model may have no partner."""

    a: NDArray[np.intp]  # [pairs] topics of the first model
    b: NDArray[np.intp]  # [pairs] the partners in the second model
    distance: Floats  # [pairs]


def match_topics(a: ArrayLike, b: ArrayLike, *, metric: str = "l1") -> TopicMatch:
    """One-to-one pairs of topics with the smallest total distance.

    Parameters
    ----------
    a, b : [K_a, V] and [K_b, V]
        Topics of two models over one vocabulary. Rows are normalised.
    metric : {"l1", "cosine", "hellinger"}
        Σ|p − q|, from 0 to 2; 1 − cos, from 0 to 1; or sqrt(1 − Σ sqrt(pq)), from 0 to 1. The last two are faster.
    """
    from scipy.optimize import linear_sum_assignment  # here, because it takes a while to load

    p, q = as_distributions(a, "a"), as_distributions(b, "b")
    if p.shape[1] != q.shape[1]:
        raise ValueError(f"the models have {p.shape[1]} and {q.shape[1]} words: both need the same vocabulary")
    if metric not in _METRICS:
        raise ValueError(f"metric={metric!r} is not one of {', '.join(map(repr, _METRICS))}")
    distance = _METRICS[metric](p, q)
    rows, cols = linear_sum_assignment(distance)
    return TopicMatch(rows, cols, distance[rows, cols])


def topic_recovery_error(estimated: ArrayLike, true: ArrayLike) -> float:
    """Mean ℓ1 distance from each true topic to its partner among the estimated topics, from 0 to 2.

    Pairs come from `match_topics` with ℓ1. The mean is over the K true topics. A true topic without a partner costs 2,
    the distance of topics that share no word. An estimated topic without a partner costs nothing: report the number of
    topics together with this error. Papers that use half the ℓ1 distance report half of this value.
    """
    match = match_topics(true, estimated, metric="l1")
    K = len(np.asarray(true))
    return float((match.distance.sum() + 2.0 * (K - len(match.a))) / K)


def hellinger(a: NDArray[np.floating], b: NDArray[np.floating] | None = None, block: int = 4096) -> Floats:
    """[K_a, K_b] Hellinger distances of distributions over V words, from 0 (equal) to 1 (no common word); without b,
    [K_a, K_a] among those of a. Memory holds `block` words at a time."""
    affinity = np.zeros((len(a), len(a if b is None else b)))
    for begin in range(0, a.shape[1], block):
        roots = np.sqrt(a[:, begin : begin + block])
        affinity += roots @ (roots if b is None else np.sqrt(b[:, begin : begin + block])).T
    distance: Floats = np.sqrt(np.maximum(1.0 - affinity, 0.0))
    if b is None:
        np.fill_diagonal(distance, 0.0)
    return distance


def _l1(p: Floats, q: Floats) -> Floats:
    from scipy.spatial.distance import cdist

    return cdist(p, q, "cityblock")


def _cosine(p: Floats, q: Floats) -> Floats:
    p, q = (x / np.linalg.norm(x, axis=1, keepdims=True) for x in (p, q))
    return np.maximum(1.0 - p @ q.T, 0.0)


_METRICS: dict[str, Callable[[Floats, Floats], Floats]] = {"l1": _l1, "cosine": _cosine, "hellinger": hellinger}
