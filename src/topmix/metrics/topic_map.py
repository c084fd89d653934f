"""A map of topics: positions in the plane, so that topics with the same words are near each other.

The distance of two topics is the Hellinger distance, from 0 (equal) to 1 (no common word). Classical scaling gives the
first positions. Stress majorisation (SMACOF) with weights 1 / distance^2 improves them; the weights favour small
distances. Among hundreds of topics most distances are nearly equal, which no plane can show. Then t-SNE, which keeps
only the nearest neighbours, computes the final positions.
"""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

from topmix.data.rows import Rows
from topmix.metrics.matching import hellinger

__all__ = ["hellinger", "plane_positions", "row_positions"]

Floats = NDArray[np.float64]
TSNE_ABOVE = 100  # topics
SPREAD = 0.4  # of the rows of a cluster, by the distance to the nearest other one
FARTHEST = 2.5  # a row is at most so many spreads away from its place


def plane_positions(distance: Floats) -> Floats:
    """[K, 2] positions in the unit disc. Equal distances give equal positions: nothing is random."""
    K = len(distance)
    with threadpool_limits(1):  # the same result for any number of cores
        X = _classical_scaling(distance)
        if K > 2:
            X = _majorise_stress(X, np.maximum(distance, 1e-3), 60 if K <= TSNE_ABOVE else 10)
        if K > TSNE_ABOVE:
            X = _tsne(X, distance)
    X = X - X.mean(axis=0)
    radius = np.sqrt((X**2).sum(axis=1))
    return X / radius.max() if radius.max() > 0 else X


def row_positions(rows: Rows, shares: sp.csr_array, means: Floats, places: Floats) -> NDArray[np.float32]:
    """[N, 2] where rows lie on a map of their clusters: around the place of their cluster, between places where they
    belong to several.

    What is left of a row without its cluster moves it towards the clusters that lie in that direction: by the linear
    map that takes the means [K, D] of clusters to their places [K, 2]. Nothing is random, and a row costs 2 D products.
    """
    with threadpool_limits(1):  # the same result for any number of cores
        centred, of_places = means - means.mean(axis=0), places - places.mean(axis=0)
        gram = centred @ centred.T
        gram[np.diag_indices(len(gram))] += 1e-3 * max(float(np.trace(gram)) / len(gram), 1e-300)
        W = centred.T @ np.linalg.solve(gram, of_places)  # [D, 2]
        along = means @ W
        left = np.empty((len(rows), 2))
        begin = 0
        for block in rows.blocks():
            part = slice(begin, begin + len(block))
            left[part] = np.asarray(block @ W.astype(block.dtype), np.float64) - shares[part] @ along
            begin += len(block)
        values, vectors = np.linalg.eigh(left.T @ left / max(len(left), 1))
        left = (left @ vectors) / np.sqrt(np.maximum(values, 1e-12 * max(values[-1], 1e-300))) @ vectors.T
        main = shares.argmax(axis=1).ravel()
    n = np.maximum(np.bincount(main, minlength=len(places)), 1)
    size = np.sqrt(np.bincount(main, weights=(left**2).sum(axis=1), minlength=len(places)) / n)
    left *= (_room(places) / np.maximum(size, 1e-12))[main, None]
    length = np.sqrt((left**2).sum(axis=1)) / np.maximum(_room(places)[main], 1e-12)
    left /= np.maximum(length / FARTHEST, 1.0)[:, None]
    return np.asarray(shares @ places + left, np.float32)


def _room(places: Floats) -> Floats:
    """[K] how far the rows of a cluster spread: by the distance to the nearest other place."""
    distance = np.sqrt(((places[:, None] - places[None]) ** 2).sum(axis=2))
    np.fill_diagonal(distance, np.inf)
    nearest = distance.min(axis=1, initial=np.inf)
    usual = float(np.median(nearest)) if np.isfinite(nearest).all() else 1.0
    return SPREAD * np.clip(nearest, 0.3 * usual, usual) if len(places) > 1 else np.full(1, SPREAD)


def _tsne(X: Floats, distance: Floats) -> Floats:
    """t-SNE, started from X. It puts topics without neighbours far outside, so large radii are compressed."""
    from sklearn.manifold import TSNE

    start = 1e-2 * X / max(float(np.abs(X).max()), 1e-12)
    tsne = TSNE(metric="precomputed", init=start, perplexity=20, max_iter=500, random_state=0)
    X = np.asarray(tsne.fit_transform(distance), dtype=np.float64)
    X -= np.median(X, axis=0)
    radius = np.sqrt((X**2).sum(axis=1, keepdims=True)) / np.quantile(np.sqrt((X**2).sum(axis=1)), 0.9)
    return X * np.where(radius > 1, (1 + np.log(np.maximum(radius, 1))) / np.maximum(radius, 1e-12), 1.0)


def _classical_scaling(distance: Floats) -> Floats:
    K = len(distance)
    square = distance**2
    centred = -0.5 * (square - square.mean(axis=0) - square.mean(axis=1)[:, None] + square.mean())
    values, vectors = np.linalg.eigh(centred)
    X = np.zeros((K, 2))
    for axis in range(min(2, K)):
        vector = vectors[:, -1 - axis]
        sign = 1.0 if vector[np.argmax(np.abs(vector))] > 0 else -1.0  # the sign of an eigenvector is arbitrary
        X[:, axis] = sign * vector * np.sqrt(max(values[-1 - axis], 0.0))
    return X


def _majorise_stress(X: Floats, distance: Floats, n_steps: int) -> Floats:
    """Reduces sum_ij w_ij (d_ij - |x_i - x_j|)^2 with w = 1 / d^2. A step solves the Laplacian system V X' = B(X) X."""
    K = len(X)
    X = X + 1e-6 * np.random.default_rng(0).normal(size=X.shape)  # equal points would never separate
    weight = distance**-2.0
    np.fill_diagonal(weight, 0.0)
    laplacian = np.diag(weight.sum(axis=1)) - weight
    inverse = np.linalg.inv(laplacian + 1.0 / K) - 1.0 / K  # pseudo-inverse: positions have mean 0
    for _ in range(n_steps):
        gap = np.sqrt(np.maximum(((X[:, None] - X[None]) ** 2).sum(axis=2), 1e-18))
        ratio = weight * distance / gap
        np.fill_diagonal(ratio, 0.0)
        X = inverse @ (ratio.sum(axis=1)[:, None] * X - ratio @ X)
    return X
