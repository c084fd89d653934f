"""Topics merged, dropped, split, seeded and frozen, words banned, pinned or taken out, documents moved.

Each is a function from a topic model to another one. The next pass adapts documents to it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np
import scipy.sparse as sp

from topmix.allocations.covariate_prior import CovariatePrior
from topmix.allocations.label_prior import LabelPrior
from topmix.allocations.stick_prior import StickPrior, Sticks
from topmix.likelihoods.held_words import HeldWords
from topmix.models.topics import Prior, TopicModel
from topmix.stats import PseudoCounts, WordTotal

OWN = 0.5  # share of a new topic that comes from its seed words at the start


def merged(model: TopicModel, groups: Sequence[Sequence[int]]) -> TopicModel:
    """Each group becomes one topic, in the place of its first. Counts and alpha add; of the priors the larger holds. A
    word is banned from it if all of the group had banned it, and it is frozen no more."""
    alpha, changed = model.prior.alpha.copy(), dict[int, np.ndarray]()
    eta, extra, held = model.words.eta.copy(), _extra(model), _held(model)
    banned, frozen = sp.lil_array(held.banned) if held.banned.nnz else held.banned, held.frozen
    gone: list[int] = []
    for first, *others in groups:
        own, of_others = _columns(model, [first]), _columns(model, others)
        changed[first] = own[:, 0] + of_others.sum(axis=1)
        alpha[first] += alpha[others].sum()
        if eta.shape[1] > 1:
            eta[:, first] = eta[:, [first, *others]].max(axis=1)
        for other in others if extra.nnz else ():
            extra[:, [first]] = extra[:, [first]].maximum(extra[:, [other]])
        if held.banned.nnz:
            banned[:, [first]] = held.banned[:, [first, *others]].toarray().all(axis=1)[:, None]
        frozen = {k: own for k, own in frozen.items() if k not in (first, *others)}
        gone += others
    kept = np.delete(np.arange(model.n_components), gone)
    return _with(_holding(model, banned, frozen), alpha, eta, extra, kept, changed)


def dropped(model: TopicModel, topics: Sequence[int]) -> TopicModel:
    """Without these topics. Their tokens find others when documents are next visited. A word that was pinned to them
    is free."""
    kept = np.delete(np.arange(model.n_components), np.asarray(topics, np.int64))
    words, held = model.words, _held(model)
    banned = held.banned.toarray() if held.banned.nnz else None
    if banned is not None:
        banned[banned[:, kept].all(axis=1)] = False
        model = _holding(model, sp.csr_array(banned), held.frozen)
    return _with(model, model.prior.alpha, words.eta, _extra(model), kept)


def split(model: TopicModel, topic: int, share: np.ndarray, weight: float) -> TopicModel:
    """A topic in two: share [V] of each word's tokens go to a new topic, the last one, and `weight` of its prior. Seeds
    stay with the first, both lack the words that it lacked, and neither is frozen."""
    tokens, alpha = _columns(model, [topic])[:, 0], model.prior.alpha
    eta, extra, held = model.words.eta, _extra(model), _held(model)
    born = tokens * share
    alpha = np.append(alpha, weight * alpha[topic])
    alpha[topic] *= 1.0 - weight
    if eta.shape[1] > 1:
        eta = np.hstack([eta, eta[:, [topic]]])
    extra = sp.csc_array(sp.hstack([extra, sp.csc_array((extra.shape[0], 1))]))
    banned = sp.hstack([held.banned, held.banned[:, [topic]]])
    frozen = {k: own for k, own in held.frozen.items() if k != topic}
    model = _holding(model, banned, frozen)
    changed = {topic: tokens - born, len(alpha) - 1: born}
    return _with(model, alpha, eta, extra, np.arange(len(alpha)), changed)


def banned(model: TopicModel, topics: Sequence[int], words: Sequence[int]) -> TopicModel:
    """These words belong to none of these topics. Their tokens go to the topics that have them too, or to all others
    alike where none has."""
    counts, held, rows = model.words.total.counts(), _held(model), np.asarray(words, np.int64)
    of = np.ix_(rows, np.asarray(topics, np.int64))
    pairs = sp.lil_array(held.banned)
    pairs[of] = True
    frozen = {k: own.copy() for k, own in held.frozen.items()}
    allowed = ~pairs.tocsr()[rows].toarray()
    if not allowed.any(axis=1).all():
        raise ValueError("each word needs a topic that it may belong to")
    now = np.maximum(counts[rows], 0.0)
    rest = np.where(allowed, now, 0.0)
    shares = np.where(rest.sum(axis=1, keepdims=True) > 0, rest, allowed)
    counts[rows] = now.sum(axis=1, keepdims=True) * shares / shares.sum(axis=1, keepdims=True)
    for k in set(topics) & set(frozen):
        frozen[k][rows] = 0.0
    extra = _extra(model)
    if extra.nnz:
        extra[of] = 0.0
    fixed = _holding(_counting(model, counts), pairs, frozen)
    return _with(fixed, model.prior.alpha, model.words.eta, extra, np.arange(model.n_components))


def pinned(model: TopicModel, topic: int, words: Sequence[int]) -> TopicModel:
    """These words belong to this topic alone, with all their tokens."""
    held = _held(model)
    pairs = sp.lil_array(held.banned)
    pairs[np.asarray(words), topic] = False
    others = [k for k in range(model.n_components) if k != topic]
    return banned(_holding(model, pairs, held.frozen), others, words)


def frozen(model: TopicModel, topics: Sequence[int], *, is_frozen: bool = True) -> TopicModel:
    """The words of these topics stay as they are now, or are free again."""
    held, counts = _held(model), model.words.total.counts()
    now = held.frozen
    for k in topics:
        if is_frozen and k not in now:
            now[k] = np.maximum(counts[:, k], 0.0)
        elif not is_frozen and k in now:
            counts[:, k] = now.pop(k)
    fixed = _holding(_counting(model, counts), held.banned, now)
    return _with(fixed, model.prior.alpha, model.words.eta, _extra(model), np.arange(model.n_components))


def moved(model: TopicModel, had: sp.csc_array, topic: int) -> TopicModel:
    """The tokens of a document, had [V, K] by the topics that they are in, are all in this topic."""
    topics = sorted({topic, *had.nonzero()[1].tolist()})
    counts = model.words.total.columns(topics) - had[:, topics].toarray()
    counts[:, topics.index(topic)] += np.asarray(had.sum(axis=1)).ravel()
    changed = dict(zip(topics, np.maximum(counts, 0.0).T))
    return _with(model, model.prior.alpha, model.words.eta, _extra(model), np.arange(model.n_components), changed)


def seeded(model: TopicModel, seeds: sp.csc_array, topics: Sequence[int] | None) -> TopicModel:
    """Pseudo-counts seeds [V, n] go into the prior of these topics, for good, or into that of n new ones.

    A new topic has the mean size of the others. It begins as half its seed words, half the mean of all topics: the
    others are sharp by now, and a topic that is mostly the mean would never win a word from them. A word that has one
    topic alone keeps it, unless it is a seed. What was banned and is a seed now is no longer banned.
    """
    total, alpha, eta, extra = model.words.total, model.prior.alpha, model.words.eta, _extra(model)
    held, n, changed = _held(model), seeds.shape[1], dict[int, np.ndarray]()
    pairs = held.banned
    if topics is None:
        share = np.maximum(total.by_word(), 0.0) + 1e-300
        own = seeds.toarray() / np.asarray(seeds.sum(axis=0)).ravel()
        start = (1.0 - OWN) * (share / share.sum())[:, None] + OWN * own
        changed = dict(enumerate(start.T * total.totals.mean(), len(alpha)))
        alpha = np.concatenate([alpha, np.full(n, alpha.mean())])
        if eta.shape[1] > 1:
            eta = np.hstack([eta, np.repeat(eta.mean(axis=1, keepdims=True), n, axis=1)])
        extra = sp.csc_array(sp.hstack([extra, seeds]))
        only = np.asarray(pairs.sum(axis=1)).ravel() == max(model.n_components - 1, 1)
        pairs = sp.hstack([pairs, sp.csr_array(only[:, None] & (seeds.toarray() == 0))])
    else:
        place = sp.csr_array((np.ones(n), (np.arange(n), np.asarray(topics))), shape=(n, extra.shape[1]))
        extra = sp.csc_array(extra + seeds @ place)
        pairs = sp.lil_array(pairs)
        pairs[(seeds @ place).nonzero()] = False
    fixed = replace(model, words=replace(model.words, learned=False))  # it differs by word
    return _with(_holding(fixed, pairs, held.frozen), alpha, eta, extra, np.arange(len(alpha)), changed)


def with_words(model: TopicModel, kept: np.ndarray) -> TopicModel:
    """The words of this mask [V] alone. The tokens of the others are gone."""
    words = model.words
    eta = words.eta if len(words.eta) == 1 else np.ascontiguousarray(words.eta[kept])
    extra = None if words.extra is None else PseudoCounts.sparse(sp.csr_array(words.extra.by_word()[kept]))
    total = WordTotal.of(np.ascontiguousarray(words.total.counts()[kept]))
    held = words.held
    if held is not None:
        held = HeldWords.of(held.banned[kept], {k: own[kept] for k, own in held.frozen.items()})
    return replace(model, words=replace(words, eta=eta, total=total, extra=extra, held=held))


def _extra(model: TopicModel) -> sp.sparray:
    """[V, K] to be written to, where there is something."""
    extra = model.words.extra
    return sp.csc_array(model.words.shape) if extra is None else sp.lil_array(extra.by_word())


def _columns(model: TopicModel, topics: Sequence[int]) -> np.ndarray:
    """[V, topics] tokens, with those of frozen topics as they are held."""
    counts, held = model.words.total.columns(topics), _held(model).frozen
    for n, k in enumerate(topics):
        if k in held:
            counts[:, n] = held[k]
    return counts


def _counting(model: TopicModel, counts: np.ndarray) -> TopicModel:
    return replace(model, words=model.words.update(WordTotal.of(counts)))


def _held(model: TopicModel) -> HeldWords:
    return model.words.held or HeldWords.none(*model.words.shape)


def _holding(model: TopicModel, banned: sp.sparray, frozen: dict[int, np.ndarray]) -> TopicModel:
    held = HeldWords.of(banned, frozen)
    learned = model.words.learned and held is None  # a prior that differs by word is not learned
    return replace(model, words=replace(model.words, held=held, learned=learned))


def _with(
    model: TopicModel,
    alpha: np.ndarray,
    eta: np.ndarray,
    extra: sp.sparray,
    kept: np.ndarray,
    changed: Mapping[int, np.ndarray] | None = None,
) -> TopicModel:
    """The topics `kept`, where those of `changed` have other counts [V], or are new."""
    total = model.words.total.with_columns(kept, changed or {})
    eta = np.ascontiguousarray(eta[:, kept]) if eta.shape[1] > 1 else eta
    rows = sp.csr_array(sp.csc_array(extra)[:, kept]) if extra.nnz else extra
    held, new = model.words.held, {int(k): n for n, k in enumerate(kept)}
    if held is not None:
        held = HeldWords.of(sp.csc_array(held.banned)[:, kept], {new[k]: c for k, c in held.frozen.items() if k in new})
    words = replace(model.words, eta=eta, total=total, extra=PseudoCounts.sparse(rows) if rows.nnz else None, held=held)
    return replace(model, prior=_prior(model.prior, alpha, kept), words=words)


def _prior(prior: Prior, alpha: np.ndarray, kept: np.ndarray) -> Prior:
    if isinstance(prior, CovariatePrior):
        if not np.array_equal(alpha, prior.alpha):
            raise ValueError("topics that depend on Covariates cannot be merged, split or added: fit again")
        K, P = prior.coefficients.shape
        draws = prior.draws.reshape(-1, K, P)[:, kept]
        return replace(prior, alpha=alpha[kept], coefficients=prior.coefficients[kept], draws=draws)
    if isinstance(prior, LabelPrior):
        if not np.array_equal(alpha[kept], prior.alpha):
            raise ValueError("topics of labels cannot be merged, split, dropped or added")
        return prior
    alpha = alpha[kept]
    if not isinstance(prior, StickPrior):
        return replace(prior, alpha=alpha)
    shares, left = alpha / prior.concentration, prior.sticks.shares()[-1]
    shares *= min(1.0, (1.0 - left) / shares.sum())  # new topics leave as much over as there was
    sticks = Sticks.of_shares(shares, max(prior.D, 1.0), prior.stick_prior)
    return replace(prior, sticks=sticks, D=0.0, T=np.zeros(0))
