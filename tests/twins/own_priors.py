"""Twin of cpp/steps/own_priors.hpp: what documents with priors of their own say of them."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.special import digamma, gammaln, polygamma, xlogy

Array = NDArray[np.float64]


def own_alpha(x: Array, coefficients: Array, low: float, high: float) -> Array:
    """[n, K]  Eq. (3.30)"""
    return np.asarray(np.exp(np.clip(x @ coefficients.T, low, high)))


def own_stats(posterior: str, N: Array, alpha: Array, x: Array) -> tuple[tuple[float, float, float], Array, Array]:
    """Of counts N and priors alpha [documents, K], and rows x [documents, P] of the design: the terms G, A and T of Eq.
    (3.31), M [K, P] and Q [K, P, P] of Eq. (3.32)."""
    n, total = N.sum(axis=1), alpha.sum(axis=1)
    used = (N > 0) & (alpha > 0)
    a = np.where(used, alpha, 1.0)
    log = np.where(used, np.log(N + a), 0.0)
    G = A = T = 0.0
    if posterior == "variational":
        G = gammaln(total).sum() - gammaln(total + n).sum() + np.where(used, gammaln(N + a) - gammaln(a), 0.0).sum()
    else:
        A = (N * log).sum() - xlogy(n, n + total).sum()
        density = gammaln(total) + (xlogy(alpha, alpha) - np.where(alpha > 0, gammaln(alpha), 0.0)).sum(axis=1)
        T = (density - total * np.log(n + total)).sum() + np.where(used, a * (log - np.log(a)), 0.0).sum()
    c = np.where(used, a * (digamma(N + a) - digamma(a)), 0.0)
    curve = np.where(used, c + a**2 * (polygamma(1, N + a) - polygamma(1, a)), 0.0)
    return (float(G), float(A), float(T)), c.T @ x, np.einsum("dk,dp,dq->kpq", curve, x, x)
