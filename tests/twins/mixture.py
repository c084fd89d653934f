"""Twin of cpp/steps/mixture.hpp, cpp/models/categorical.hpp and cpp/models/word_stats.hpp: dense rows, float64."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tests.twins.top_l import softmax_top_l


class Assigned(NamedTuple):
    cluster: NDArray[np.int64]  # [N, L] ascending
    r: NDArray[np.float64]  # [N, L]
    entropy: NDArray[np.float64]  # [N]
    likelihood: NDArray[np.float64]  # [N] log of the summed weights of the chosen clusters


def scores(X: ArrayLike, Elogphi: ArrayLike, Elogpi: ArrayLike) -> NDArray[np.float64]:
    """s_nk = E[log pi_k] + sum_v x_nv E[log phi_kv], from X [N, V] and Elogphi [V, K]."""
    return np.asarray(X, np.float64) @ np.asarray(Elogphi, np.float64) + np.asarray(Elogpi, np.float64)


def assign(X: ArrayLike, Elogphi: ArrayLike, Elogpi: ArrayLike, L: int) -> Assigned:
    """Every row to its L best clusters."""
    s = scores(X, Elogphi, Elogpi)
    rows = [softmax_top_l(row, L) for row in s]
    cluster = np.array([idx for idx, _, _ in rows]).reshape(len(s), L)
    r = np.array([r for _, r, _ in rows]).reshape(len(s), L)
    H = np.array([h for _, _, h in rows])
    return Assigned(cluster, r, H, (r * np.take_along_axis(s, cluster, axis=1)).sum(axis=1) + H)


def responsibilities(a: Assigned, K: int) -> NDArray[np.float64]:
    """[N, K], zero outside the chosen clusters."""
    out = np.zeros((len(a.r), K))
    np.put_along_axis(out, a.cluster, a.r, axis=1)
    return out


def statistics(
    X: ArrayLike, a: Assigned, K: int, weight: ArrayLike | None = None
) -> tuple[NDArray[np.float64], NDArray[np.float64], float]:
    """S [V, K] = sum_n w_n x_n r_n', N [K] = sum_n w_n r_n, H = sum_n w_n H[r_n]."""
    r = responsibilities(a, K)
    w = np.ones(len(r)) if weight is None else np.asarray(weight, np.float64)
    return np.asarray(X, np.float64).T @ (w[:, None] * r), w @ r, float(w @ a.entropy)
