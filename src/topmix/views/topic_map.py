"""Topics on a plane: near each other where they use the same words.

Distances are Hellinger's, from 0 (the same) to 1 (no word in common). Classical scaling gives a start, and a few steps
of stress majorisation (SMACOF) with weights 1 / distance^2 then respect near neighbours. Among hundreds of topics most
are about equally far, which no plane can hold, and only the shortest distances say something: then t-SNE goes on.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

Floats = NDArray[np.float64]
MANY = 100  # topics


def hellinger(topic_word: NDArray[np.floating], block: int = 4096) -> Floats:
    """[K, K] distances of distributions [K, V], some words at a time."""
    K, V = topic_word.shape
    affinity = np.zeros((K, K))
    for begin in range(0, V, block):
        roots = np.sqrt(topic_word[:, begin : begin + block])
        affinity += roots @ roots.T
    distance = np.sqrt(np.maximum(1.0 - affinity, 0.0))
    np.fill_diagonal(distance, 0.0)
    return distance


def place(distance: Floats) -> Floats:
    """[K, 2] positions in the unit disc; the same for the same distances."""
    K = len(distance)
    with threadpool_limits(1):  # the same on any number of cores
        X = _classical(distance)
        if K > 2:
            X = _majorise(X, np.maximum(distance, 1e-3), 60 if K <= MANY else 10)
        if K > MANY:
            X = _neighbours(X, distance)
    X = X - X.mean(axis=0)
    radius = np.sqrt((X**2).sum(axis=1))
    return X / radius.max() if radius.max() > 0 else X


def _neighbours(X: Floats, distance: Floats) -> Floats:
    """t-SNE from there. It flings topics that have no neighbours far out: beyond most, distance is compressed."""
    from sklearn.manifold import TSNE

    start = 1e-2 * X / max(float(np.abs(X).max()), 1e-12)
    tsne = TSNE(metric="precomputed", init=start, perplexity=20, max_iter=500, random_state=0)
    X = np.asarray(tsne.fit_transform(distance), dtype=np.float64)
    X -= np.median(X, axis=0)
    radius = np.sqrt((X**2).sum(axis=1, keepdims=True)) / np.quantile(np.sqrt((X**2).sum(axis=1)), 0.9)
    return X * np.where(radius > 1, (1 + np.log(np.maximum(radius, 1))) / np.maximum(radius, 1e-12), 1.0)


def _classical(distance: Floats) -> Floats:
    K = len(distance)
    square = distance**2
    centred = -0.5 * (square - square.mean(axis=0) - square.mean(axis=1)[:, None] + square.mean())
    values, vectors = np.linalg.eigh(centred)
    X = np.zeros((K, 2))
    for axis in range(min(2, K)):
        vector = vectors[:, -1 - axis]
        sign = 1.0 if vector[np.argmax(np.abs(vector))] > 0 else -1.0  # eigenvectors have no sign of their own
        X[:, axis] = sign * vector * np.sqrt(max(values[-1 - axis], 0.0))
    return X


def _majorise(X: Floats, distance: Floats, n_steps: int) -> Floats:
    """X minimising sum w_ij (d_ij - |x_i - x_j|)^2, w = 1 / d^2: each step solves a Laplacian system V X' = B(X) X."""
    K = len(X)
    X = X + 1e-6 * np.random.default_rng(0).normal(size=X.shape)  # points on one another could never part
    weight = distance**-2.0
    np.fill_diagonal(weight, 0.0)
    laplacian = np.diag(weight.sum(axis=1)) - weight
    inverse = np.linalg.inv(laplacian + 1.0 / K) - 1.0 / K  # of a centred configuration
    for _ in range(n_steps):
        gap = np.sqrt(np.maximum(((X[:, None] - X[None]) ** 2).sum(axis=2), 1e-18))
        ratio = weight * distance / gap
        np.fill_diagonal(ratio, 0.0)
        X = inverse @ (ratio.sum(axis=1)[:, None] * X - ratio @ X)
    return X
