"""Draws from a von Mises-Fisher distribution (Wood 1994).  docs/math.md Eq. (V.9)."""

from __future__ import annotations

import numpy as np


def sample(mu: np.ndarray, kappa: float, n: int, rng: np.random.Generator) -> np.ndarray:
    """[n, D] rows of unit length around mu [D]."""
    D = len(mu)
    if D == 1:
        up = rng.random(n) < 1.0 / (1.0 + np.exp(-2.0 * min(kappa, 350.0)))
        return np.where(up, 1.0, -1.0)[:, None] * mu
    v = rng.standard_normal((n, D))
    v -= (v @ mu)[:, None] * mu
    v /= np.maximum(np.linalg.norm(v, axis=1, keepdims=True), 1e-300)
    along, across = cosines(D, kappa, n, rng)
    return along[:, None] * mu + across[:, None] * v


def cosines(D: int, kappa: float, n: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """mu'x of n rows, and the sine that goes with each: rejection from a transformed Beta.

    Written in t = 1 - w rather than in the cosine w, which has no digits left where kappa is large.
    """
    m = D - 1
    b = m / (2 * kappa + np.hypot(2 * kappa, m))
    x0 = (1 - b) / (1 + b)
    rest = 2 * b / (1 + b)  # 1 - x0
    log_c = np.log(rest * (1 + x0))  # log (1 - x0^2)
    t, found = np.empty(n), 0
    while found < n:
        size = int(1.2 * (n - found)) + 16
        z = rng.beta(0.5 * m, 0.5 * m, size)
        tried = 2 * b * z / (1 - (1 - b) * z)  # 1 - w
        # kappa w + m log(1 - x0 w) - (kappa x0 + m log(1 - x0^2)), with 1 - x0 w = rest + x0 t
        accept = kappa * (rest - tried) + m * (np.log(rest + x0 * tried) - log_c)
        kept = tried[accept >= np.log(1.0 - rng.random(size))][: n - found]
        t[found : found + len(kept)] = kept
        found += len(kept)
    return 1 - t, np.sqrt(t * (2 - t))
