"""Twin of cpp/steps/gaussian.hpp, visit.hpp and moments.hpp and of cpp/models/wishart.hpp: plainly, in float64."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.linalg import solve_triangular
from scipy.special import entr, logsumexp


def features(z: ArrayLike, quadratic: str, linear: bool) -> NDArray[np.float64]:
    """[N, F]: products z_i z_j with i <= j, squares, the squared norm or nothing; then z, if asked for."""
    z = np.asarray(z, np.float64)
    i, j = np.triu_indices(z.shape[1])
    parts = {
        "products": z[:, i] * z[:, j],
        "squares": z**2,
        "norm": np.sum(z**2, axis=1, keepdims=True),
        "none": z[:, :0],
    }
    return np.concatenate([parts[quadratic], z if linear else z[:, :0]], axis=1)


def log_density(x: ArrayLike, means: ArrayLike, covariances: ArrayLike) -> NDArray[np.float64]:
    """[N, K]: log N(x_n | m_k, C_k), by the Cholesky factor of each C_k."""
    x, means = np.asarray(x, np.float64), np.asarray(means, np.float64)
    out = np.empty((len(x), len(means)))
    for k, (m, C) in enumerate(zip(means, np.asarray(covariances, np.float64))):
        root = np.linalg.cholesky(C)
        y = solve_triangular(root, (x - m).T, lower=True)
        out[:, k] = -0.5 * np.sum(y**2, axis=0) - np.log(np.diagonal(root)).sum() - 0.5 * len(m) * np.log(2 * np.pi)
    return out


def moments(
    z: ArrayLike, r: ArrayLike, quadratic: str, weight: ArrayLike | None = None
) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
    """N [K], first [K, D] and second [K, Q] of dense responsibilities r [N, K]."""
    r = np.asarray(r, np.float64) * (1.0 if weight is None else np.asarray(weight, np.float64)[:, None])
    return r.sum(axis=0), r.T @ np.asarray(z, np.float64), r.T @ features(z, quadratic, linear=False)


def visit(
    z: ArrayLike,
    W: ArrayLike,
    constant: ArrayLike,
    quadratic: str,
    linear: bool,
    weight: ArrayLike,
    L: int,
    least: float,
) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64], float]:
    """`moments` and the entropy of posteriors that keep the L best of the scores constant + features W'. A cluster
    that has less than `least` of what the best one has, or of the row, does not count."""
    w = np.asarray(weight, np.float64)
    s = features(z, quadratic, linear) @ np.asarray(W, np.float64).T + np.asarray(constant, np.float64)
    np.put_along_axis(s, np.argsort(-s, axis=1, kind="stable")[:, L:], -np.inf, axis=1)
    s[s - s.max(axis=1, keepdims=True) < np.log(least)] = -np.inf
    r = np.exp(s - logsumexp(s, axis=1, keepdims=True))
    entropy = float(w @ entr(r).sum(axis=1))
    return *moments(z, np.where(r < least, 0.0, r), quadratic, w), entropy


def precisions(
    second: NDArray[np.float64],
    N: NDArray[np.float64],
    base: NDArray[np.float64],
    reg: NDArray[np.float64],
    beta: NDArray[np.float64],
    m: NDArray[np.float64],
) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
    """B_k = base + S_k + N_k reg - beta_k m_k m_k', its inverse and log |B_k|, with upper triangles S_k in `second`."""
    i, j = np.triu_indices(m.shape[1])
    B = np.empty((len(N), *base.shape))
    for k in range(len(N)):
        S = np.zeros_like(base)
        S[i, j] = S[j, i] = second[k]
        B[k] = base + S + N[k] * reg - beta[k] * np.outer(m[k], m[k])
    return B, np.linalg.inv(B), np.linalg.slogdet(B)[1]


def left_out(
    y: NDArray[np.float64], w: NDArray[np.float64], common: NDArray[np.float64], n: float, kind: str, zero_mean: bool
) -> NDArray[np.float64]:
    """[N]: the log density of each row of one cluster under the others and n rows with the common covariance [D, D]."""
    out, D = np.empty(len(y)), y.shape[1]
    for i in range(len(y)):
        others, weight = np.delete(y, i, axis=0), np.delete(w, i)
        mean = np.zeros(D) if zero_mean else weight @ others / weight.sum()
        C = (n * common + (weight[:, None] * (others - mean)).T @ (others - mean)) / (n + weight.sum())
        if kind == "diag":
            C = np.diag(np.diagonal(C))
        if kind == "spherical":
            C = np.eye(D) * np.trace(C) / D
        out[i] = log_density(y[i : i + 1], mean[None], C[None])[0, 0]
    return out
