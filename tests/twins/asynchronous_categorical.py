"""Twin of cpp/asynchronous/sparse_rows.hpp: dense counts, float64."""

from __future__ import annotations

from functools import partial

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import digamma

from tests.twins import asynchronous_mixture as mixture
from topmix.models.categorical import Categorical
from topmix.models.mixture import Mixture
from topmix.models.statistics import MixtureStats
from topmix.models.words import WordTotal


def scores(model: Mixture, X: ArrayLike) -> NDArray[np.float64]:
    """[N, K] of rows of counts.  Eq. (2.2), as it is written there."""
    words = model.likelihood
    assert isinstance(words, Categorical)
    expected = digamma if words.objective == "vb" else np.log
    Elogphi = expected(words.lam) - expected(words.lam.sum(axis=0))  # [V, K]
    return model.allocation.log_weights() + np.asarray(X, np.float64) @ Elogphi


def statistics(model: Mixture, X: ArrayLike, r: ArrayLike, weight: ArrayLike | None = None) -> MixtureStats:
    """Of rows with responsibilities r [N, K].  Eqs. (1.7), (2.3)."""
    r, X = np.asarray(r, np.float64), np.asarray(X, np.float64)
    w = np.ones(len(r)) if weight is None else np.asarray(weight, np.float64)
    counts = X.T @ (w[:, None] * r)
    return MixtureStats(WordTotal.of(counts), w @ r, mixture.entropy(r, w), float(w.sum()))


visit = partial(mixture.visit, scores, statistics)
