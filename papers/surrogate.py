"""Figure 2 of the HDP: the surrogate beside the exact value, and what empty topics cost."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from scipy.special import digamma

from topmix.base import dirichlet
from topmix.models.stick_prior import Sticks

ALPHAS = np.logspace(-3, 3, 61)


def pieces(u: np.ndarray) -> np.ndarray:
    """[..., K] sticks to [..., K + 1] pieces, the leftover last."""
    left = np.cumprod(1.0 - u, axis=-1)
    before = np.concatenate([np.ones((*u.shape[:-1], 1)), left[..., :-1]], axis=-1)
    return np.concatenate([u * before, left[..., -1:]], axis=-1)


def surrogate(alpha: np.ndarray | float, u: np.ndarray) -> np.ndarray:
    """Eq. (12)."""
    K = u.shape[-1]
    return K * np.log(alpha) + np.log(u).sum(axis=-1) + np.log1p(-u) @ np.arange(K, 0, -1.0)


def gaps(draws: int) -> Iterator[tuple[int, float, np.ndarray]]:
    """K, gamma and c_Dir(alpha beta) less the surrogate, for each of ALPHAS and of the draws of beta."""
    rng = np.random.default_rng(0)
    for K in (2, 10, 100):
        for gamma in (1.0, 10.0):
            u = np.clip(rng.beta(1.0, gamma, (draws, K)), 1e-9, 1.0 - 1e-9)
            beta = np.maximum(pieces(u), 1e-290)
            gap = np.array([dirichlet.log_normaliser(a * beta, axis=1) - surrogate(a, u) for a in ALPHAS])
            if gap.min() < -1e-6 * np.abs(gap).max():
                raise AssertionError(f"the surrogate is above c_Dir by {-gap.min():.3g}")
            yield K, gamma, gap


def empty_topics(alpha: float = 0.5, gamma: float = 10.0, D: int = 100) -> dict[str, np.ndarray]:
    """What empty topics change per document, if D documents have 20 tokens in each of 5 topics.

    Empty topics have 0.002 of the sticks each, taken from the 0.2 that are left over. A point estimate has the exact
    c_Dir(alpha beta), and the density of its sticks in the place of a divergence.
    """
    N = np.full(5, 20.0)
    out: dict[str, list[float]] = {"surrogate": [], "point estimate of β": []}
    for n in range(21):
        shares = np.concatenate([np.full(5, 0.16), np.full(n, 0.002)])
        sticks = Sticks.of_shares(shares, float(D), gamma)
        prior = alpha * sticks.shares()
        theta = prior + np.concatenate([N, np.zeros(n + 1)])
        T = digamma(theta) - digamma(theta.sum())
        rest = -dirichlet.log_normaliser(theta) + float(np.concatenate([N, np.zeros(n + 1)]) @ T)
        rest -= float((theta - prior) @ T)
        out["surrogate"].append(rest + sticks.log_normaliser(alpha) - sticks.divergence(gamma) / D)
        density = float(np.sum(np.log(gamma) + (gamma - 1.0) * np.log1p(-sticks.rho))) / D
        out["point estimate of β"].append(rest + float(dirichlet.log_normaliser(prior)) + density)
    return {name: np.array(values) - values[0] for name, values in out.items()}
