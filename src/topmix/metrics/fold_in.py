"""The topics of a new document, with the topics' words fixed: the dense local step of variational LDA.

    r_nk ∝ φ_k,w_n exp ψ(N_k + α_k),   N_k = Σ_n c_n r_nk

from r ∝ φ, for 100 iterations or until no N_k moves by 0.05. float64, no restarts, no pruning.

exp ψ(N_k + α_k) falls off a cliff as N_k falls under one token (at K = 800 it ends at e^-1600), so after a few
iterations most topics of a document hold nothing that a float64 could notice. `fold_in` leaves those out as it goes and
asks all topics once more at the end; a document where that would have changed anything is done again by `fold_in_log`,
which leaves nothing out and cannot underflow.
"""

from __future__ import annotations

import numpy as np
from scipy.special import psi, softmax

from topmix.metrics.counts import Floats

_UNSEEN = 1e-20  # tokens, of a topic that is left out: under rounding in every sum that it enters
_CHANGED = 1e-9  # tokens, that all left-out topics may hold in the end
_TINY = 1e-250  # a token's weight under which products with φ may have underflowed


def fold_in(W: Floats, c: Floats, alpha: Floats, *, max_iter: int = 100, tol: float = 0.05) -> Floats:
    """[K] expected tokens N of each topic, for n types with likelihoods W [n, K] and counts c [n].

    Types that no topic can emit are left out.
    """
    possible = W.any(axis=1)
    if not possible.all():
        W, c = W[possible], c[possible]
    N = _shrinking(W, c, alpha, max_iter, tol)
    return fold_in_log(W, c, alpha, max_iter=max_iter, tol=tol) if N is None else N


def _shrinking(W: Floats, c: Floats, alpha: Floats, max_iter: int, tol: float) -> Floats | None:
    """N over the topics that hold something, or None if that cannot be told from all topics."""
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
        if 4 * np.count_nonzero(keep) < 3 * len(N):  # a copy of W pays only when it shrinks
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
    """`fold_in` with all topics throughout, in log space. Slow."""
    with np.errstate(divide="ignore"):
        log_w = np.log(W)  # [n, K]
    N: Floats = c @ softmax(log_w, axis=1)
    for _ in range(max_iter):
        M = c @ softmax(log_w + psi(N + alpha), axis=1)
        done, N = np.abs(M - N).max() < tol, M
        if done:
            break
    return N
