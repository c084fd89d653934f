"""Dirichlet expectations and their part of the bound.  docs/math.md Eqs. (0.1)-(0.3)."""

from __future__ import annotations

import numpy as np
from scipy.special import digamma, gammaln


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
