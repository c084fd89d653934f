"""Twin of cpp/chains/row_clusters.hpp: the same draws, row by row in float64."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaln

from tests.twins import rng

Array = NDArray[np.float64]


def log_probabilities(x: Array, S: Array, N: Array, eta: Array, eta_total: float, weight_prior: float) -> Array:
    """[K] log p(z = k | rest) of a row x [words], up to a constant; S [words, K] and N [K] lack the row."""
    y, total = S + eta[:, None], S.sum(axis=0) + eta_total
    words = (gammaln(y + x[:, None]) - gammaln(y)).sum(axis=0)
    return np.asarray(np.log(N + weight_prior) + words - gammaln(total + x.sum()) + gammaln(total))


def sweep(
    X: Array,  # [rows, words]
    weight: Array,  # [rows]
    z: NDArray[np.int64],  # [rows] changed in place
    K: int,
    eta: Array,
    eta_total: float,
    weight_prior: float,
    power: float,
    seed: int,
    number: int,
) -> None:
    """Each row given all others."""
    R = weight[:, None] * np.eye(K)[z]
    S, N = X.T @ R, R.sum(axis=0)
    for n, x in enumerate(X):
        S[:, z[n]] -= weight[n] * x
        N[z[n]] -= weight[n]
        s = log_probabilities(x, S, N, eta, eta_total, weight_prior)
        if np.isinf(power):
            z[n] = s.argmax()
        else:
            w = np.exp(power * (s - s.max()))
            at = rng.uniform(rng.words(seed, number, n)) * w.sum()
            z[n] = min(int(np.searchsorted(np.cumsum(w), at, side="right")), K - 1)
        S[:, z[n]] += weight[n] * x
        N[z[n]] += weight[n]
