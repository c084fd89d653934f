"""Twin of cpp/asynchronous/gaussian_rows.hpp, normal_wishart.hpp and sparse_rows.hpp: dense rows, float64."""

from __future__ import annotations

from functools import partial

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tests.twins import asynchronous_mixture as mixture
from tests.twins.asynchronous_mixture import solved as solved
from tests.twins.gaussian import moments
from topmix.models.frame import GaussianStats
from topmix.models.gaussian import Gaussian
from topmix.models.mixture import Mixture
from topmix.models.statistics import MixtureStats


def scores(model: Mixture, z: ArrayLike) -> NDArray[np.float64]:
    """[N, K] of rows in the frame.  Eq. (G.4), as it is written there."""
    g = model.likelihood
    assert isinstance(g, Gaussian)
    q, shape = g.posterior, g.shape
    away = np.asarray(z, np.float64)[:, None, :] - q.m  # [N, K, D]
    if shape.is_matrix:
        distance = np.einsum("nki,kij,nkj->nk", away, q.P, away, optimize=True)
    else:
        distance = np.einsum("nkd,kd->nk", away**2, q.P.reshape(len(q.P), -1) * np.ones(shape.D))
    constant = 0.5 * (shape.repeat * q.Elog - q.mean_uncertainty - shape.D * np.log(2 * np.pi))
    return model.allocation.log_weights() + constant - 0.5 * distance


def statistics(model: Mixture, z: ArrayLike, r: ArrayLike, weight: ArrayLike | None = None) -> MixtureStats:
    """Of rows in the frame with responsibilities r [N, K].  Eqs. (1.7), (G.5)."""
    g = model.likelihood
    assert isinstance(g, Gaussian)
    r = np.asarray(r, np.float64)
    w = np.ones(len(r)) if weight is None else np.asarray(weight, np.float64)
    N, first, second = moments(z, r, g.shape.quadratic, w)
    return MixtureStats(GaussianStats(N, first, second), N, mixture.entropy(r, w), float(w.sum()))


visit = partial(mixture.visit, scores, statistics)
