"""Twin of cpp/asynchronous/row_shares.hpp and mixture_worker.hpp: dense responsibilities, float64, statistics summed
again at every step.

A visit is a loop over rows, and a cluster is updated by the model of the other learners.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tests.twins.top_l import softmax_top_l
from topmix.models.mixture import Mixture
from topmix.models.statistics import MixtureStats

LEAST_MASS = 1e-3  # on the clusters held, for a row to be solved

Scores = Callable[[Mixture, Any], NDArray[np.float64]]  # (model, rows) -> [rows, K]
Statistics = Callable[[Mixture, Any, ArrayLike, ArrayLike | None], MixtureStats]  # (model, rows, r [rows, K], weight)


def solved(r: ArrayLike, s: ArrayLike, held: ArrayLike, L: int) -> NDArray[np.float64]:
    """A row's r [K] with the part that lies on `held` solved anew under its scores s [K].  Eq. (G.10)."""
    held, s = np.asarray(held), np.asarray(s, np.float64)
    new = np.array(r, np.float64)
    new[held] = 0
    mass, room = 1.0 - new.sum(), min(L - int(np.count_nonzero(new)), len(held))
    best, share, _ = softmax_top_l(s[held], room)
    new[held[best]] = mass * share
    return new


def visit(
    scores: Scores, statistics: Statistics, model: Mixture, X: Any, r: NDArray[np.float64], held: ArrayLike, L: int,
    rows_at_once: int, rows: ArrayLike | None = None, weight: ArrayLike | None = None,
) -> Iterator[tuple[Mixture, MixtureStats]]:  # fmt: skip
    """A worker that owns `rows` of X (None: all) has the clusters `held`: the model and its total after each update.

    r [N, K] is changed in place.
    """
    held = np.asarray(held)
    mine = np.arange(len(r)) if rows is None else np.asarray(rows)
    outside = np.delete(np.arange(r.shape[1]), held)
    batch = [n for n in mine if 1.0 - r[n, outside].sum() >= LEAST_MASS]
    for begin in range(0, max(len(batch), 1), rows_at_once):
        now = batch[begin : begin + rows_at_once]
        s = scores(model, X[now])
        for i, n in enumerate(now):
            r[n] = solved(r[n], s[i], held, L)
        total = statistics(model, X, r, weight)
        model = model.update(total)
        yield model, total


def entropy(r: NDArray[np.float64], weight: NDArray[np.float64]) -> float:
    return float(-np.sum(weight[:, None] * r * np.log(np.where(r > 0, r, 1.0))))
