"""Twin of cpp/steps/groups.hpp: the rows of groups that mix clusters, plainly, in float64."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import digamma, entr

from tests.twins.top_l import select, softmax_top_l


class SolvedGroups(NamedTuple):
    r: NDArray[np.float64]  # [rows, K]
    N: NDArray[np.float64]  # [groups, K] what the rows of each group sum to
    entropy: NDArray[np.float64]  # [rows]


def log_weights(N: ArrayLike, alpha: ArrayLike, collapsed: bool) -> NDArray[np.float64]:
    """[groups, K] E log pi_dk, or log pi_dk at its point.  Eq. (A.5)."""
    theta = np.asarray(N, np.float64) + np.asarray(alpha, np.float64)
    log = np.log if collapsed else digamma
    return np.asarray(log(theta) - log(theta.sum(axis=1, keepdims=True)))


def solve(
    s: ArrayLike,
    starts: ArrayLike,
    alpha: ArrayLike,
    N: ArrayLike,
    L: int,
    C: int,
    *,
    collapsed: bool,
    weight: ArrayLike | None = None,
    max_iter: int = 1,
    tol: float = 0.0,
) -> SolvedGroups:
    """Groups of consecutive rows with scores s [rows, K], from the counts N.  Eqs. (A.4)-(A.6)."""
    s, starts, N = np.asarray(s, np.float64), np.asarray(starts), np.array(N, np.float64)
    w = np.ones(len(s)) if weight is None else np.asarray(weight, np.float64)
    r, entropy = np.zeros_like(s), np.zeros(len(s))
    for d in range(len(N)):
        rows = range(starts[d], starts[d + 1])
        log_p = log_weights(N[d : d + 1], alpha, collapsed)[0]
        candidates = {n: select(s[n] + log_p, C) for n in rows}
        for _ in range(max_iter):
            for n in rows:
                among, shares, _ = softmax_top_l((s[n] + log_p)[candidates[n]], L)
                r[n] = 0.0
                r[n, candidates[n][among]] = shares
                entropy[n] = entr(r[n]).sum()
            before, N[d] = N[d].copy(), w[rows.start : rows.stop] @ r[rows.start : rows.stop]
            log_p = log_weights(N[d : d + 1], alpha, collapsed)[0]
            if not np.abs(N[d] - before).sum() > tol * N[d].sum():
                break
    return SolvedGroups(r, N, entropy)
