"""Where topics lie on the map, also while they are learned: from pass to pass a topic moves a little."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from topmix.metrics.topic_map import hellinger, plane_positions

Floats = NDArray[np.float64]
MOST_BY_DISTANCE = 250  # topics; with more, distances of all pairs take too long to embed between two passes
WIDEST = 4000  # words that a projection looks at ...
MOST_NUMBERS = 10_000_000  # ... and their probabilities in all topics
SUBSPACE, ITERATIONS = 8, 12


def map_positions(topic_word: Floats, before: Floats | None = None) -> Floats:
    """[K, 2] positions in the unit disc, turned to lie as near as they can to those from before."""
    K = len(topic_word)
    found = plane_positions(hellinger(topic_word)) if K <= MOST_BY_DISTANCE else _projected(topic_word)
    if before is not None and before.shape == found.shape:
        found = _aligned(found, before)
    return found


def _projected(topic_word: Floats) -> Floats:
    """The two directions in which topics differ most, spread so that the crowd in the middle can be seen."""
    mean = topic_word.mean(axis=0)
    columns = np.sort(np.argsort(-mean, kind="stable")[: min(WIDEST, max(MOST_NUMBERS // len(topic_word), 100))])
    root = np.sqrt(topic_word[:, columns])
    root -= root.mean(axis=0)
    X = np.random.default_rng(0).normal(size=(len(root), SUBSPACE))
    for _ in range(ITERATIONS):  # subspace iteration: only two directions are wanted
        X = np.linalg.qr(root @ (root.T @ X))[0]
    X = X @ np.linalg.svd(X.T @ root, full_matrices=False)[0][:, :2]
    X = X * np.where(X[np.argmax(np.abs(X), axis=0), [0, 1]] < 0, -1.0, 1.0)  # the sign of a vector is arbitrary
    radius = np.sqrt((X**2).sum(axis=1))
    rank = np.argsort(np.argsort(radius, kind="stable"), kind="stable")
    return X / np.maximum(radius, 1e-300)[:, None] * np.sqrt((rank + 0.5) / len(X))[:, None]


def _aligned(X: Floats, before: Floats) -> Floats:
    """Procrustes: the rotation or reflection of X that is nearest to `before`."""
    U, _, Vt = np.linalg.svd(X.T @ before)
    return X @ (U @ Vt)
