"""Dirichlet expectations and their part of the bound.  docs/math.md Eqs. (0.1)-(0.3)."""

from __future__ import annotations

import numpy as np
from scipy.special import digamma, gammaln, polygamma


def expected_log(q: np.ndarray, axis: int = 0) -> np.ndarray:
    """E[log x] under Dir(q) along `axis`.  Eq. (0.1)."""
    return digamma(q) - digamma(q.sum(axis=axis, keepdims=True))


def log_normaliser(a: np.ndarray, axis: int = 0) -> np.ndarray:
    """c_Dir(a) = log Gamma(sum a) - sum log Gamma(a).  Eq. (0.2)."""
    return gammaln(a.sum(axis=axis)) - gammaln(a).sum(axis=axis)


def bound(counts: np.ndarray, p: np.ndarray, q: np.ndarray) -> float:
    """E_q[log of the counts' likelihood] - KL(Dir(q) || Dir(p)), summed over columns.  Eq. (0.3).

    Largest, over q, at q = p + counts; there the middle term vanishes.
    """
    p = np.broadcast_to(p, q.shape)
    middle = np.sum((counts + p - q) * expected_log(q))
    return float(np.sum(log_normaliser(p)) - np.sum(log_normaliser(q)) + middle)


def most_likely(mean_log: np.ndarray, start: np.ndarray, max_iter: int = 50) -> np.ndarray:
    """The a that maximises c_Dir(a) + sum_k a_k mean_log_k, by Newton steps in time linear in K (Minka 2000, Sec. 1).

    A step is halved until it stays positive and does not lower the objective, so the result is never below `start`.
    """

    def objective(a: np.ndarray) -> float:
        return float(log_normaliser(a) + a @ mean_log)

    a, now = start, objective(start)
    for _ in range(max_iter):
        g = digamma(a.sum()) - digamma(a) + mean_log
        q, z = -polygamma(1, a), polygamma(1, a.sum())
        step = (g - (g / q).sum() / (1.0 / z + (1.0 / q).sum())) / q
        size = 1.0
        while size > 1e-6 and not (np.all(a > size * step) and objective(a - size * step) >= now):
            size /= 2
        if size <= 1e-6:
            break
        a = a - size * step
        gain, now = objective(a) - now, objective(a)
        if gain < 1e-12 * abs(now):
            break
    return a
