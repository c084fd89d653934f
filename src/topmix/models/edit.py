"""Topics merged, dropped and seeded by hand: a topic model in, another out. The next pass settles what follows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from topmix.allocations.stick_prior import StickPrior
from topmix.allocations.topic_sticks import Sticks
from topmix.models.topics import Prior, TopicModel
from topmix.stats import WordTotal

SEED = 0.5  # share of a new topic that is its seed's at the start


def merged(model: TopicModel, groups: Sequence[Sequence[int]]) -> TopicModel:
    """Each group becomes one topic, in the place of its first. Counts and alpha add; the larger eta of a word holds."""
    counts, alpha = model.words.total.counts(), model.prior.alpha.copy()
    eta = model.words.eta.copy()
    gone: list[int] = []
    for first, *others in groups:
        counts[:, first] += counts[:, others].sum(axis=1)
        alpha[first] += alpha[others].sum()
        if eta.shape[1] > 1:
            eta[:, first] = eta[:, [first, *others]].max(axis=1)
        gone += others
    return _with(model, counts, alpha, eta, np.delete(np.arange(model.n_components), gone))


def dropped(model: TopicModel, topics: Sequence[int]) -> TopicModel:
    """Without these topics. Their tokens find others when documents are next visited."""
    kept = np.delete(np.arange(model.n_components), np.asarray(topics, np.int64))
    return _with(model, model.words.total.counts(), model.prior.alpha, model.words.eta, kept)


def seeded(model: TopicModel, seeds: np.ndarray, topics: Sequence[int] | None) -> TopicModel:
    """Pseudo-counts seeds [V, n] go into the prior of these topics, for good, or into that of n new ones.

    A new topic has the mean size of the others and begins as half its seed, half the mean of all topics: the others are
    sharp by now, and a topic that is mostly the mean would never win a word from them.
    """
    (V, n), K = seeds.shape, model.n_components
    total, alpha = model.words.total.counts(), model.prior.alpha
    eta = np.array(np.broadcast_to(model.words.eta, (V, K)))
    if topics is None:
        base = np.broadcast_to(model.words.eta.mean(axis=1, keepdims=True), (V, n))
        share = np.maximum(total, 0.0).sum(axis=1) + 1e-300
        start = (1.0 - SEED) * (share / share.sum())[:, None] + SEED * seeds / seeds.sum(axis=0)
        total = np.hstack([total, start * model.words.total.totals.mean()])
        alpha = np.concatenate([alpha, np.full(n, alpha.mean())])
        eta = np.hstack([eta, base + seeds])
    else:
        eta[:, np.asarray(topics, np.int64)] += seeds  # they are different topics
    fixed = replace(model, words=replace(model.words, learned=False))  # a matrix is not learned
    return _with(fixed, total, alpha, eta, np.arange(len(alpha)))


def _with(model: TopicModel, counts: np.ndarray, alpha: np.ndarray, eta: np.ndarray, kept: np.ndarray) -> TopicModel:
    raw = np.ascontiguousarray(counts[:, kept])
    total = WordTotal.of(raw)
    eta = np.ascontiguousarray(eta[:, kept]) if eta.shape[1] > 1 else eta
    return replace(model, prior=_prior(model.prior, alpha[kept]), words=replace(model.words, eta=eta, total=total))


def _prior(prior: Prior, alpha: np.ndarray) -> Prior:
    if not isinstance(prior, StickPrior):
        return replace(prior, alpha=alpha)
    shares, left = alpha / prior.concentration, prior.sticks.shares()[-1]
    shares *= min(1.0, (1.0 - left) / shares.sum())  # new topics leave as much over as there was
    sticks = Sticks.of_shares(shares, max(prior.D, 1.0), prior.stick_prior)
    return replace(prior, sticks=sticks, D=0.0, T=np.zeros(0))
