"""How much topics depend on covariates: effects, and the shares that they lead one to expect."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, logit, stdtrit

from topmix.allocations.covariate_prior import CovariatePrior
from topmix.fitted.frames import Columns
from topmix.fitted.topics import FittedTopics
from topmix.priors import Design

Array = NDArray[np.float64]


def effects(f: FittedTopics, level: float) -> Columns:
    """One row per topic and term, in the user's units."""
    prior, design = _covariates(f)
    units, names = design.units(), design.names
    K, P = prior.coefficients.shape
    estimate, low, high = _interval(prior.coefficients @ units.T, prior.draws.reshape(-1, K, P) @ units.T, level)
    return {
        "topic": np.repeat(np.arange(K), P),
        "name": [name for name in f.topic_names for _ in range(P)],
        "term": names * K,
        "estimate": estimate.ravel(),
        "low": low.ravel(),
        "high": high.ravel(),
    }


def expected_shares(f: FittedTopics, metadata: object, level: float) -> Columns:
    """One row per row of the metadata and topic: alpha_k / sum alpha, before any word is seen."""
    prior, design = _covariates(f)
    rows = design.rows(metadata)
    x, (n, K) = rows.x[rows.row], (len(rows), f.n_topics)

    def log_odds(coefficients: Array) -> Array:
        scores = x @ np.swapaxes(coefficients, -1, -2)
        share = np.exp(scores - scores.max(axis=-1, keepdims=True))
        share /= share.sum(axis=-1, keepdims=True)
        return np.asarray(logit(np.clip(share, 1e-300, 1.0 - 1e-16)))

    draws = np.array([log_odds(draw) for draw in prior.draws]).reshape(-1, n, K)
    estimate, low, high = map(expit, _interval(log_odds(prior.coefficients), draws, level))
    return {
        "row": np.repeat(np.arange(n), K),
        "topic": np.tile(np.arange(K), n),
        "name": f.topic_names * n,
        "share": estimate.ravel(),
        "low": low.ravel(),
        "high": high.ravel(),
    }


def _covariates(f: FittedTopics) -> tuple[CovariatePrior, Design]:
    prior, design = f.topics.prior, f.reading.design
    if not isinstance(prior, CovariatePrior) or design is None:
        raise ValueError("this model has no covariates: fit it with doc_topic_prior=Covariates(...)")
    return prior, design


def _interval(mean: Array, draws: Array, level: float) -> tuple[Array, Array, Array]:
    """The mean, and where the truth is with this probability; NaN where nothing was drawn. Each draw is like the one
    before it, so they say as much of the spread as half as many would."""
    if len(draws) < 2:
        return mean, np.full_like(mean, np.nan), np.full_like(mean, np.nan)
    reach = stdtrit(len(draws) / 2, 0.5 + level / 2) * draws.std(axis=0, ddof=1)
    return mean, mean - reach, mean + reach
