"""Twin of models/von_mises_fisher.py and its learners: plain EM with dense posteriors, one shard.

Bessel functions come from scipy.special.ive and concentrations from a root finder, so that nothing is shared with what
it checks; that holds up to a few hundred dimensions, beyond which I_nu underflows. `em_step` takes float32 too, which
is what benchmarks/von_mises_fisher.py runs.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import brentq
from scipy.special import ive

Array = NDArray[np.floating]


class Clusters(NamedTuple):
    weights: Array  # [K]
    mu: Array  # [K, D]
    kappa: Array  # [K]


def log_constant(D: int, kappa: Array) -> Array:
    """log C_D(kappa)"""
    nu = D / 2 - 1
    return nu * np.log(kappa) - 0.5 * D * np.log(2 * np.pi) - np.log(ive(nu, kappa)) - kappa


def concentration(D: int, r: Array, largest: float = 1e6) -> Array:
    """The kappa with I_{D/2}(kappa) / I_{D/2-1}(kappa) = r, one root at a time."""
    nu = D / 2 - 1

    def root(each: float) -> float:
        def excess(x: float) -> float:
            return float(ive(nu + 1, x) / ive(nu, x)) - each

        return largest if excess(largest) <= 0 else float(brentq(excess, each, largest, xtol=1e-12, rtol=1e-14))

    return np.array([root(float(each)) for each in r])


def log_density(x: Array, c: Clusters, constant: Callable[[int, Array], Array] = log_constant) -> Array:
    """[N, K] log pi_k p(x_n | mu_k, kappa_k), in the type of x."""
    scores = x @ (c.kappa[:, None] * c.mu).astype(x.dtype).T
    scores += (np.log(c.weights) + constant(x.shape[1], c.kappa)).astype(x.dtype)
    return scores


def em_step(
    x: Array,
    c: Clusters,
    prior_rows: float = 0.0,
    prior_resultant: float = 0.0,
    weight_prior: float = 0.0,
    block: int | None = None,
    constant: Callable[[int, Array], Array] = log_constant,
    solve: Callable[[int, Array], Array] = concentration,
) -> tuple[Clusters, float]:
    """One iteration of EM, and the log likelihood of the clusters that it started from. `block` rows at a time."""
    (n, D), K = x.shape, len(c.weights)
    N, R, likelihood = np.zeros(K), np.zeros((K, D)), 0.0
    rows = block or n
    for a in range(0, n, rows):
        part = x[a : a + rows]
        s = log_density(part, c, constant)
        top = s.max(axis=1, keepdims=True)
        s -= top
        np.exp(s, out=s)
        Z = s.sum(axis=1, keepdims=True)
        s /= Z
        likelihood += float(top.sum(dtype=np.float64) + np.log(Z).sum(dtype=np.float64))
        N += s.sum(axis=0)
        R += s.T @ part
    length = np.linalg.norm(R, axis=1)
    weights = N + weight_prior
    r = (length + prior_rows * prior_resultant) / (N + prior_rows)
    return Clusters(weights / weights.sum(), R / length[:, None], solve(D, r)), likelihood
