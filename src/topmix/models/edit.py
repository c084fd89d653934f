"""Topics merged, dropped, split and seeded, words banned or taken out: a topic model in, another out.

The next pass adapts documents to it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import scipy.sparse as sp

from topmix.allocations.stick_prior import StickPrior
from topmix.allocations.topic_sticks import Sticks
from topmix.models.topics import Prior, TopicModel
from topmix.stats import PseudoCounts, WordTotal

BANNED = 1e-9  # the prior of a banned word, over that of the rarest
OWN = 0.5  # share of a new topic that comes from its seed words at the start


def merged(model: TopicModel, groups: Sequence[Sequence[int]]) -> TopicModel:
    """Each group becomes one topic, in the place of its first. Counts and alpha add; of the priors the larger holds."""
    counts, alpha = model.words.total.counts(), model.prior.alpha.copy()
    eta, extra = model.words.eta.copy(), _extra(model)
    gone: list[int] = []
    for first, *others in groups:
        counts[:, first] += counts[:, others].sum(axis=1)
        alpha[first] += alpha[others].sum()
        if eta.shape[1] > 1:
            eta[:, first] = eta[:, [first, *others]].max(axis=1)
        for other in others:
            extra[:, [first]] = extra[:, [first]].maximum(extra[:, [other]])
        gone += others
    return _with(model, counts, alpha, eta, extra, np.delete(np.arange(model.n_components), gone))


def dropped(model: TopicModel, topics: Sequence[int]) -> TopicModel:
    """Without these topics. Their tokens find others when documents are next visited."""
    kept = np.delete(np.arange(model.n_components), np.asarray(topics, np.int64))
    words = model.words
    return _with(model, words.total.counts(), model.prior.alpha, words.eta, _extra(model), kept)


def split(model: TopicModel, topic: int, share: np.ndarray, weight: float) -> TopicModel:
    """A topic in two: share [V] of each word's tokens go to a new topic, the last one, and `weight` of its prior.
    Seeds stay with the first."""
    counts, alpha = model.words.total.counts(), model.prior.alpha
    eta, extra = model.words.eta, _extra(model)
    born = counts[:, topic] * share
    counts[:, topic] -= born
    alpha = np.append(alpha, weight * alpha[topic])
    alpha[topic] *= 1.0 - weight
    if eta.shape[1] > 1:
        eta = np.hstack([eta, eta[:, [topic]]])
    extra = sp.csc_array(sp.hstack([extra, sp.csc_array((extra.shape[0], 1))]))
    return _with(model, np.hstack([counts, born[:, None]]), alpha, eta, extra, np.arange(len(alpha)))


def banned(model: TopicModel, topic: int, words: Sequence[int]) -> TopicModel:
    """These words hardly ever belong to a topic: its prior for them is next to nothing, and their tokens go to the
    topics that have them too."""
    counts, rows = model.words.total.counts(), np.asarray(words)
    own = counts[rows, topic].copy()
    counts[rows, topic] = 0.0
    rest = counts[rows].sum(axis=1)
    counts[rows] *= np.where(rest > 0, (rest + own) / np.maximum(rest, 1e-300), 1.0)[:, None]
    eta = np.array(np.broadcast_to(model.words.eta, model.words.shape))
    eta[rows, topic] = BANNED * eta.min()
    extra = _extra(model)
    extra[rows, topic] = 0.0
    fixed = replace(model, words=replace(model.words, learned=False))  # a prior that differs by word is not learned
    return _with(fixed, counts, model.prior.alpha, eta, extra, np.arange(model.n_components))


def seeded(model: TopicModel, seeds: sp.csc_array, topics: Sequence[int] | None) -> TopicModel:
    """Pseudo-counts seeds [V, n] go into the prior of these topics, for good, or into that of n new ones.

    A new topic has the mean size of the others. It begins as half its seed words, half the mean of all topics: the
    others are sharp by now, and a topic that is mostly the mean would never win a word from them.
    """
    total, alpha, eta, extra = model.words.total.counts(), model.prior.alpha, model.words.eta, _extra(model)
    n = seeds.shape[1]
    if topics is None:
        share = np.maximum(total, 0.0).sum(axis=1) + 1e-300
        own = seeds.toarray() / np.asarray(seeds.sum(axis=0)).ravel()
        start = (1.0 - OWN) * (share / share.sum())[:, None] + OWN * own
        total = np.hstack([total, start * model.words.total.totals.mean()])
        alpha = np.concatenate([alpha, np.full(n, alpha.mean())])
        if eta.shape[1] > 1:
            eta = np.hstack([eta, np.repeat(eta.mean(axis=1, keepdims=True), n, axis=1)])
        extra = sp.csc_array(sp.hstack([extra, seeds]))
    else:
        place = sp.csr_array((np.ones(n), (np.arange(n), np.asarray(topics))), shape=(n, extra.shape[1]))
        extra = sp.csc_array(extra + seeds @ place)
    fixed = replace(model, words=replace(model.words, learned=False))  # a prior that differs by word is not learned
    return _with(fixed, total, alpha, eta, extra, np.arange(len(alpha)))


def with_words(model: TopicModel, kept: np.ndarray) -> TopicModel:
    """The words of this mask [V] alone. The tokens of the others are gone."""
    words = model.words
    eta = words.eta if len(words.eta) == 1 else np.ascontiguousarray(words.eta[kept])
    extra = None if words.extra is None else PseudoCounts.sparse(sp.csr_array(words.extra.by_word()[kept]))
    total = WordTotal.of(np.ascontiguousarray(words.total.counts()[kept]))
    return replace(model, words=replace(words, eta=eta, total=total, extra=extra))


def _extra(model: TopicModel) -> sp.lil_array:
    extra = model.words.extra
    return sp.lil_array(model.words.shape) if extra is None else sp.lil_array(extra.by_word())


def _with(
    model: TopicModel, counts: np.ndarray, alpha: np.ndarray, eta: np.ndarray, extra: sp.sparray, kept: np.ndarray
) -> TopicModel:
    total = WordTotal.of(np.ascontiguousarray(counts[:, kept]))
    eta = np.ascontiguousarray(eta[:, kept]) if eta.shape[1] > 1 else eta
    rows = sp.csr_array(sp.csc_array(extra)[:, kept])
    words = replace(model.words, eta=eta, total=total, extra=PseudoCounts.sparse(rows) if rows.nnz else None)
    return replace(model, prior=_prior(model.prior, alpha[kept]), words=words)


def _prior(prior: Prior, alpha: np.ndarray) -> Prior:
    if not isinstance(prior, StickPrior):
        return replace(prior, alpha=alpha)
    shares, left = alpha / prior.concentration, prior.sticks.shares()[-1]
    shares *= min(1.0, (1.0 - left) / shares.sum())  # new topics leave as much over as there was
    sticks = Sticks.of_shares(shares, max(prior.D, 1.0), prior.stick_prior)
    return replace(prior, sticks=sticks, D=0.0, T=np.zeros(0))
