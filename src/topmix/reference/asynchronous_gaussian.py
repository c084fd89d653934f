"""Twin of cpp/asynchronous/gaussian_worker.hpp: dense responsibilities, float64, statistics summed again at every step.

A visit is a loop over rows, and a cluster is updated by the model of the other learners.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import ArrayLike, NDArray

from topmix.likelihoods.gaussian import Gaussian, GaussianStats
from topmix.models.mixture import Mixture
from topmix.reference.gaussian import moments
from topmix.reference.top_l import softmax_top_l
from topmix.stats import MixtureStats

LEAST_MASS = 1e-3  # on the clusters held, for a row to be solved


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
    constant = 0.5 * (shape.repeat * q.Elog - q.wobble - shape.D * np.log(2 * np.pi))
    return model.allocation.log_weights() + constant - 0.5 * distance


def solved(r: ArrayLike, s: ArrayLike, held: ArrayLike, L: int) -> NDArray[np.float64]:
    """A row's r [K] with the part that lies on `held` solved anew under its scores s [K].  Eq. (G.10)."""
    held, s = np.asarray(held), np.asarray(s, np.float64)
    new = np.array(r, np.float64)
    new[held] = 0
    mass, room = 1.0 - new.sum(), min(L - int(np.count_nonzero(new)), len(held))
    best, share, _ = softmax_top_l(s[held], room)
    new[held[best]] = mass * share
    return new


def statistics(model: Mixture, z: ArrayLike, r: ArrayLike, weight: ArrayLike | None = None) -> MixtureStats:
    """Of rows in the frame with responsibilities r [N, K].  Eqs. (1.7), (G.5)."""
    g = model.likelihood
    assert isinstance(g, Gaussian)
    r = np.asarray(r, np.float64)
    w = np.ones(len(r)) if weight is None else np.asarray(weight, np.float64)
    N, first, second = moments(z, r, g.shape.quadratic, w)
    H = -np.sum(w[:, None] * r * np.log(np.where(r > 0, r, 1.0)))
    return MixtureStats(GaussianStats(N, first, second), N, float(H), float(w.sum()))


def visit(
    model: Mixture, z: ArrayLike, r: NDArray[np.float64], held: ArrayLike, L: int, rows_at_once: int,
    rows: ArrayLike | None = None, weight: ArrayLike | None = None,
) -> Iterator[tuple[Mixture, MixtureStats]]:  # fmt: skip
    """A worker that owns `rows` (None: all) has the clusters `held`: the model and its total after each update.

    r [N, K] is changed in place.
    """
    held = np.asarray(held)
    mine = np.arange(len(r)) if rows is None else np.asarray(rows)
    outside = np.delete(np.arange(r.shape[1]), held)
    batch = [n for n in mine if 1.0 - r[n, outside].sum() >= LEAST_MASS]
    for begin in range(0, max(len(batch), 1), rows_at_once):
        now = batch[begin : begin + rows_at_once]
        s = scores(model, np.asarray(z)[now])
        for i, n in enumerate(now):
            r[n] = solved(r[n], s[i], held, L)
        total = statistics(model, z, r, weight)
        model = model.update(total)
        yield model, total
