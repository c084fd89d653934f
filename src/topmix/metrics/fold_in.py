"""The topics of a new document, given fixed topics: the dense local step of variational LDA.

    r_nk ∝ φ_k,w_n exp ψ(N_k + α_k),   N_k = Σ_n c_n r_nk

The iteration starts from r ∝ φ and ends when no N_k changes by `tol`, or after `max_iter` iterations. It works in
float64, without restarts and pruning.

exp ψ(N_k + α_k) falls very fast when N_k falls below one token (at K = 800 down to e^-1600). So after a few iterations
most topics of a document have no effect in float64. `fold_in` leaves such topics out during the iteration, and computes
all topics once more at the end. If the topics that were left out would have an effect, the document is computed again
by `fold_in_log`, which keeps all topics and cannot underflow.
"""

from __future__ import annotations

import numpy as np
from scipy.special import psi, softmax

from topmix.metrics.counts import Floats

_UNSEEN = 1e-20  # tokens: a topic with less is left out; its effect on all sums is below rounding
_CHANGED = 1e-9  # tokens that all topics that were left out may have together at the end
_TINY = 1e-250  # weight of a token: if it is smaller, products with φ may have underflowed


def fold_in(W: Floats, c: Floats, alpha: Floats, *, max_iter: int = 100, tol: float = 0.05) -> Floats:
    """[K] expected tokens N of each topic, for n distinct words with likelihoods W [n, K] and counts c [n].

    Words with probability 0 in all topics are left out.
    """
    possible = W.any(axis=1)
    if not possible.all():
        W, c = W[possible], c[possible]
    N = _fold_in_active(W, c, alpha, max_iter, tol)
    return fold_in_log(W, c, alpha, max_iter=max_iter, tol=tol) if N is None else N


def _fold_in_active(W: Floats, c: Floats, alpha: Floats, max_iter: int, tol: float) -> Floats | None:
    """N, computed without the topics that have no effect; None if the topics left out may have an effect."""
    if not len(c):
        return np.zeros(len(alpha))
    unseen = _UNSEEN * min(1.0, c.min())
    active, Wa, a = np.arange(len(alpha)), W, alpha
    N = (c / W.sum(axis=1)) @ W
    for _ in range(max_iter):
        P = np.exp(psi(N + a))
        s = Wa @ P
        if s.min() < _TINY:
            return None
        M = P * ((c / s) @ Wa)
        done, N = np.abs(M - N).max() < tol, M
        if done:
            break
        keep = unseen < N
        if 4 * np.count_nonzero(keep) < 3 * len(N):  # a copy of W pays only if it is much smaller
            active, Wa, a, N = active[keep], Wa[:, keep], a[keep], N[keep]
    out = np.zeros(len(alpha))
    out[active] = N
    if len(active) < len(alpha):
        P = np.exp(psi(out + alpha))
        M = P * ((c / (W @ P)) @ W)
        M[active] = 0.0
        if not M.sum() < _CHANGED:
            return None
    return out


def fold_in_log(W: Floats, c: Floats, alpha: Floats, *, max_iter: int = 100, tol: float = 0.05) -> Floats:
    """`fold_in` with all topics in all iterations, in log space. Slow."""
    with np.errstate(divide="ignore"):
        log_w = np.log(W)  # [n, K]
    N: Floats = c @ softmax(log_w, axis=1)
    for _ in range(max_iter):
        M = c @ softmax(log_w + psi(N + alpha), axis=1)
        done, N = np.abs(M - N).max() < tol, M
        if done:
            break
    return N
