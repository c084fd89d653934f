"""Dirichlet expectations and their part of an objective.  docs/math.md Eqs. (0.1)-(0.5).

Objectives are "vb", a bound on the evidence under a full posterior; "map", the log posterior at a point; and "ml", the
log likelihood at a point. The update of "ml" is that of "map" under a NEGLIGIBLE prior, which decides only where the
data says nothing.
"""

from __future__ import annotations

import numpy as np
from scipy.special import digamma, gammaln, polygamma

OBJECTIVES = ("vb", "map", "ml")
NEGLIGIBLE = 10 * float(np.finfo(np.float64).eps)


def expected_log(q: np.ndarray, axis: int = 0, objective: str = "vb") -> np.ndarray:
    """E[log x] under Dir(q) along `axis`, Eq. (0.1); at a point, log x at the mode of its log odds, Eq. (0.4)."""
    if objective == "vb":
        return digamma(q) - digamma(q.sum(axis=axis, keepdims=True))
    return np.log(q) - np.log(q.sum(axis=axis, keepdims=True))


def log_normaliser(a: np.ndarray, axis: int = 0) -> np.ndarray:
    """c_Dir(a) = log Gamma(sum a) - sum log Gamma(a).  Eq. (0.2)."""
    return gammaln(a.sum(axis=axis)) - gammaln(a).sum(axis=axis)


def bound(counts: np.ndarray, p: np.ndarray, q: np.ndarray, objective: str = "vb") -> float:
    """What x adds to the objective, summed over columns: Eq. (0.3) under Dir(q), Eq. (0.5) at its point.

    Largest, over q, at q = p + counts.
    """
    p = np.broadcast_to(p, q.shape)
    log_x = expected_log(q, objective=objective)
    if objective == "ml":
        return float(np.sum(counts * log_x))
    if objective == "map":
        return float(np.sum(log_normaliser(p)) + np.sum((counts + p) * log_x))
    return float(np.sum(log_normaliser(p)) - np.sum(log_normaliser(q)) + np.sum((counts + p - q) * log_x))


def most_likely(mean_log: np.ndarray, start: np.ndarray, max_iter: int = 50) -> np.ndarray:
    """The a that maximises c_Dir(a) + sum_k a_k mean_log_k, by Newton steps in time linear in K (Minka 2000, Sec. 1).

    A step is halved until it stays positive and does not lower the objective, so the result is never below `start`.
    """

    def objective(a: np.ndarray) -> float:
        return float(log_normaliser(a) + a @ mean_log)

    if len(start) == 1:  # a share of one, whatever a is
        return start
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
