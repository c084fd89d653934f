"""What fits say of the topics of a model: how many have each, how clearly, and how probable it is that it is real.

The probability is a function of one number per topic, the mean similarity to its partners in the fits. It was chosen on
planted corpora, as was the similarity from which on a topic is called real, and checked on others:
`python -m benchmarks.consensus planted`, and docs/consensus.md.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from topmix.fitted.reproducibility import WORDS, Pairs, Reproducibility
from topmix.metrics.agreement import Comparison
from topmix.metrics.counts import Floats, top_ids

ALIKE = 0.7  # cosine of centred topics from which on they are the same topic
AMONG = 2  # a word of the n best is there in another fit if it is among the best AMONG n
LEAST_CONFUSED = 0.1  # of the fits
LEAST_WEIGHT = 1e-3  # of the most probable word: others are there by the prior
Z = 1.959963984540054  # of an interval that holds with probability 0.95
# Mean similarity, and how often a topic with it matched a planted topic. Between them it is linear.
CALIBRATION: tuple[tuple[float, float], ...] = (
    (0.3, 0.0), (0.4, 0.05), (0.45, 0.16), (0.5, 0.45), (0.55, 0.61), (0.6, 0.75), (0.65, 0.82), (0.7, 0.93),
    (0.8, 0.98), (0.9, 1.0),
)  # fmt: skip


def reliability_of(similarity: Floats) -> Floats:
    """The probability that topics with these mean similarities are real."""
    at, probability = zip(*CALIBRATION)
    return np.interp(similarity, at, probability)


def interval(share: Floats, n: int) -> tuple[Floats, Floats]:
    """Wilson's interval of a share of n."""
    middle = (share + Z**2 / (2 * n)) / (1 + Z**2 / n)
    half = Z / (1 + Z**2 / n) * np.sqrt(share * (1 - share) / n + (Z / (2 * n)) ** 2)
    return np.maximum(middle - half, 0.0), np.minimum(middle + half, 1.0)


def reproducibility_of(
    found: Comparison, topics: NDArray[np.float32] | None, fits: Sequence[NDArray[np.float32] | None]
) -> Reproducibility:
    """`topics` and `fits` are probabilities of words, where there are words."""
    n, K = found.similarity.shape
    is_there = found.similarity >= ALIKE
    share = is_there.mean(axis=0)
    low, high = interval(share, n)
    similarity = found.similarity.mean(axis=0)
    return Reproducibility(
        n_fits=n,
        found=share,
        low=low,
        high=high,
        similarity=similarity,
        sharpness=(found.similarity - found.other).mean(axis=0),
        reliability=reliability_of(similarity),
        words=_words(found, is_there, topics, fits) if topics is not None else ((),) * K,
        confused=_confused(found),
    )


def _words(
    found: Comparison,
    is_there: NDArray[np.bool_],
    topics: NDArray[np.float32],
    fits: Sequence[NDArray[np.float32] | None],
) -> tuple[Pairs, ...]:
    """The best words of each topic, and the share of the fits with the topic that have them too."""
    n = min(WORDS, topics.shape[1])
    best = top_ids(np.asarray(topics, np.float64), n)  # [K, n]
    times, of = np.zeros(best.shape), np.maximum(is_there.sum(axis=0), 1)
    for of_fit, partner, has in zip(fits, found.partner, is_there):
        assert of_fit is not None
        theirs = top_ids(np.asarray(of_fit, np.float64), min(AMONG * n, topics.shape[1]))
        for k in np.flatnonzero(has).tolist():
            times[k] += np.isin(best[k], theirs[partner[k]])
    shares = times / of[:, None]
    weight = np.take_along_axis(topics, best, axis=1)
    says = weight > LEAST_WEIGHT * weight[:, :1]  # no word of an empty topic does
    return tuple(
        tuple(zip(best[k, says[k]].tolist(), np.round(shares[k, says[k]], 4).tolist())) for k in range(len(best))
    )


def _confused(found: Comparison) -> tuple[Pairs, ...]:
    """Of each topic the topics whose partner is nearer to it than its own, and in which share of the fits."""
    n, K = found.similarity.shape
    times = np.zeros((K, K))
    for partner, nearest in zip(found.partner, found.nearest):
        owner = np.full(max(int(partner.max()), int(nearest.max())) + 1, -1, np.intp)
        owner[partner[partner >= 0]] = np.flatnonzero(partner >= 0)
        other = owner[nearest]
        wrong = np.flatnonzero((other >= 0) & (other != np.arange(K)))
        times[wrong, other[wrong]] += 1
    shares = times / n
    order = np.argsort(-shares, axis=1, kind="stable")
    return tuple(
        tuple((int(j), round(float(shares[k, j]), 4)) for j in order[k] if shares[k, j] >= LEAST_CONFUSED)
        for k in range(K)
    )
