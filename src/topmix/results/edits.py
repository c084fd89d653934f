"""Topics edited by hand: each edit is a function from fitted topics to others. Names stay with their topics.

An edit changes the topics and their number; the history and the objective stay those of the last fit. The next pass
adapts documents to the edited topics.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import TypeVar

import numpy as np
import scipy.sparse as sp

from topmix.base.checks import as_list, count_of_components, is_plural, positive_number
from topmix.base.component import is_whole
from topmix.corpus.corpus import Corpus
from topmix.learn.topic_moves import splits
from topmix.models.statistics import MixtureStats, PseudoCounts
from topmix.models.topic_words import HeldWords
from topmix.models.words import WordTotal
from topmix.results.measures import hellinger
from topmix.results.mixture import FittedMixture
from topmix.results.seeds import LEAST_COUNT, STRENGTH, Seed, Word, known_columns, seed_words
from topmix.results.tables import checked_topic
from topmix.results.topics import Fitted, FittedTopics, Solver
from topmix.results.view import Columns, by_columns

F = TypeVar("F", FittedTopics, FittedMixture)

OWN = 0.5  # share of a new topic that comes from its seed words at the start


class _Draft:
    """The parts of a topic model that an edit writes to, by topic: columns [V, K]. `made` puts them together."""

    def __init__(self, f: FittedTopics):
        words = f.topics.words
        held = words.held or HeldWords.none(*words.shape)
        self.f, self.total, self.alpha, self.eta = f, words.total, f.alpha.copy(), words.eta.copy()
        self.extra = sp.lil_array(words.shape if words.extra is None else words.extra.by_word())
        self.banned, self.frozen = sp.lil_array(held.banned), {k: own.copy() for k, own in held.frozen.items()}
        self.changed: dict[int, np.ndarray] = {}  # counts [V] of topics that have others now, or are new
        self.learned = words.learned

    def columns(self, topics: Sequence[int]) -> np.ndarray:
        """[V, topics] tokens, with those of frozen topics as they are held."""
        counts = self.total.columns(topics)
        for n, k in enumerate(topics):
            if k in self.frozen:
                counts[:, n] = self.frozen[k]
        return counts

    def refuse_frozen(self, topics: Iterable[int]) -> None:
        if fixed := sorted(set(topics) & set(self.frozen)):
            raise ValueError(f"topic {fixed[0]} is frozen, and cannot get words: unfreeze_topics([{fixed[0]}])")

    def add(self, alpha: np.ndarray, like: Sequence[int], extra: sp.sparray, banned: sp.sparray) -> None:
        """New topics, the last ones. The prior of their words is the mean of those of the topics `like`."""
        if self.eta.shape[1] > 1:
            new = self.eta[:, like].mean(axis=1, keepdims=True)
            self.eta = np.hstack([self.eta, np.repeat(new, len(alpha), axis=1)])
        self.alpha = np.append(self.alpha, alpha)
        self.extra = sp.lil_array(sp.hstack([self.extra, extra]))
        self.banned = sp.lil_array(sp.hstack([self.banned, banned]))

    def made(self, gone: Sequence[int] = (), place_of: Mapping[int, int] | None = None) -> FittedTopics:
        """Topics after those that are gone move up. `place_of` are topics that take the place of another."""
        f, model = self.f, self.f.topics
        kept = np.delete(np.arange(len(self.alpha)), np.asarray(gone, np.int64))
        frozen = {new: self.frozen[k] for new, k in enumerate(kept.tolist()) if k in self.frozen}
        extra = sp.csr_array(self.extra.tocsc()[:, kept])
        held = HeldWords.of(self.banned.tocsc()[:, kept], frozen)
        words = replace(
            model.words,
            total=self.total.with_columns(kept, self.changed),
            eta=np.ascontiguousarray(self.eta[:, kept]) if self.eta.shape[1] > 1 else self.eta,
            extra=PseudoCounts.sparse(extra) if extra.nnz else None,
            held=held,
            # A prior that differs by word is not learned.
            learned=self.learned and held is None,
        )
        model = replace(model, prior=model.prior.with_alpha(self.alpha, kept), words=words)
        after = replace(_renumbered(f, len(kept), gone, place_of or {}), model=model, response=None)
        if f.reproducibility is None:
            return after
        before = [k if k < f.n_topics else None for k in kept.tolist()]
        same = [
            k if k is not None and np.allclose(f.topic_word[k], of_topic, rtol=1e-6, atol=0.0) else None
            for k, of_topic in zip(before, after.topic_word)
        ]
        return replace(after, reproducibility=f.reproducibility.after(same))


def merge(f: F, groups: Iterable[Sequence[int]]) -> F:
    """One topic of each group, in the place of its lowest. Groups that share a topic join."""
    joined: list[set[int]] = []
    for given in as_list(groups):
        group = set(_topics(f, given))
        if len(group) < 2:
            raise ValueError(f"{tuple(given)!r} is not two topics or more, to be merged")
        overlapping = [other for other in joined if other & group]
        joined = [other for other in joined if not other & group] + [group.union(*overlapping)]
    return _joined(f, [sorted(group) for group in joined])


def drop(f: F, topics: Iterable[int]) -> F:
    """Without these topics; later ones move up. Their tokens find others when documents are next visited."""
    gone = sorted(set(_topics(f, topics)))
    if len(gone) == f.n_topics:
        raise ValueError(f"all {len(gone)} topics would be dropped; one has to stay")
    return _joined(f, [], gone)


def _joined(f: F, groups: Sequence[Sequence[int]], dropped: Sequence[int] = ()) -> F:
    """Counts and alpha of a group add; of the priors the larger holds. A word is banned from it if all of the group had
    banned it, and it is frozen no more. A word that was pinned to dropped topics is free."""
    gone = sorted([*dropped, *(k for _, *others in groups for k in others)])
    if isinstance(f, FittedMixture):
        parts = np.eye(f.n_topics)
        for first, *others in groups:
            parts[first, others] = 1.0
        return regrouped(f, np.delete(parts, gone, axis=0), gone)
    draft, sizes = _Draft(f), f.topics.words.total.totals
    for group in groups:
        first, *others = group
        draft.changed[first] = draft.columns([first])[:, 0] + draft.columns(others).sum(axis=1)
        draft.alpha[first] += draft.alpha[others].sum()
        if draft.eta.shape[1] > 1:
            draft.eta[:, first] = draft.eta[:, group].max(axis=1)
        if draft.extra.nnz:
            draft.extra[:, [first]] = draft.extra[:, group].tocsr().max(axis=1).toarray().reshape(-1, 1)
        if draft.banned.nnz:
            draft.banned[:, [first]] = draft.banned[:, group].toarray().all(axis=1)[:, None]
        draft.frozen = {k: own for k, own in draft.frozen.items() if k not in group}
    if dropped and draft.banned.nnz:
        left = np.delete(draft.banned.toarray(), gone, axis=1)
        draft.banned[np.flatnonzero(left.all(axis=1))] = False
    return draft.made(gone, {group[0]: max(group, key=sizes.__getitem__) for group in groups})


def suggest_merges(f: F, corpus: Corpus, solver: Solver, n: int) -> Columns:
    """The n nearest pairs of topics, and what merging each alone would do to the score of documents, per token; of
    clusters, per document."""
    view, names, before = f.view, f.topic_names, f.score(corpus, solver)
    used = np.flatnonzero(~view.is_empty())
    first, second = np.triu_indices(len(used), 1)
    distance = hellinger(view.topic_word[used])[first, second]
    is_mixture: bool = isinstance(f, FittedMixture)
    size = (corpus.n_docs if is_mixture else corpus.n_tokens) or 1.0  # where all documents are empty nothing changes
    rows = []
    for i in np.argsort(distance, kind="stable")[:n]:
        j, k = int(used[first[i]]), int(used[second[i]])
        change = float(_joined(f, [(j, k)]).score(corpus, solver) - before) / float(size)
        rows.append((j, k, names[j], names[k], float(distance[i]), float(view.share[[j, k]].sum()), change))
    rows.sort(key=lambda row: -row[-1])
    return by_columns(("topic", "other", "name", "other_name", "distance", "share", "change"), rows)


def split(f: FittedTopics, corpus: Corpus, solver: Solver, topic: int, seed: int) -> FittedTopics:
    """Two topics of one, by the documents that have most of it; the second is the last topic. Seeds stay with the
    first, both lack the words that it lacked, and neither is frozen."""
    [k] = _topics(f, [topic])
    count_of_components(f.n_topics + 1)
    alpha, words = f.alpha, f.topics.words
    tokens = sp.csr_array(f.proportions(corpus, solver, normalize=False, sparse=True))
    tokens.data -= alpha[tokens.indices]
    X, rng = corpus.to_scipy(), np.random.default_rng(seed)
    found = splits(X.__getitem__, sp.csc_array(tokens), words.table_of, alpha, [k], rng)
    if not found:
        raise ValueError(f"topic {k} cannot be split: too few documents have it")
    draft = _Draft(f)
    counts = draft.columns([k])[:, 0]
    born = counts * found[0].share
    draft.add(found[0].weight * alpha[[k]], [k], sp.csr_array((words.shape[0], 1)), draft.banned[:, [k]])
    draft.alpha[k] *= 1.0 - found[0].weight
    draft.changed = {k: counts - born, f.n_topics: born}
    draft.frozen.pop(k, None)
    return draft.made()


def regrouped(
    f: FittedMixture, parts: np.ndarray, gone: Sequence[int] = (), *born: tuple[np.ndarray, MixtureStats]
) -> FittedMixture:
    """Other clusters: parts [new, K] is how much they have of each. `born` is as in `Mixture.regrouped`; their words
    are for the caller to give."""
    texts = None if f.texts is None else f.texts.regrouped(parts)
    model = f.model.regrouped(parts, *born)
    after = replace(_renumbered(f, model.n_components, gone, {}), model=model, texts=texts, labels=None)
    if f.reproducibility is None:
        return after
    is_whole = ((parts == 1.0).sum(axis=1) == 1) & ((parts != 0.0).sum(axis=1) == 1)
    same = [int(row.argmax()) if whole else None for row, whole in zip(parts, is_whole)]
    same += [None] * (model.n_components - len(same))
    return replace(after, reproducibility=f.reproducibility.after(same))


def seed(
    f: FittedTopics, seeds: Iterable[Seed], topics: Iterable[int] | None = None, strength: float = STRENGTH
) -> FittedTopics:
    """A topic for each seed, or existing topics pulled towards the words of theirs: pseudo-counts in the prior, for
    good. What was banned and is a seed now is no longer banned.

    A new topic has the mean size of the others. It begins as half its seed words, half the mean of all topics: the
    others are sharp by now, and a topic that is mostly the mean would never win a word from them. A word that has one
    topic alone keeps it, unless it is a seed.
    """
    columns, total, V = [], f.topics.words.total, f.reading.n_features
    strength = positive_number(strength, "strength")
    for words in map(seed_words, as_list(seeds)):
        ids = known_columns(words, f.reading.words, V, "this model")
        tokens = np.maximum(total.rows(np.asarray(ids, np.int64)), 0.0).sum(axis=1)
        counts = np.maximum(strength * tokens, LEAST_COUNT)
        columns.append(sp.csc_array((counts, (ids, np.zeros(len(ids), int))), shape=(V, 1)))
    if not columns:
        raise ValueError("no seeds were given")
    n, extra, draft = len(columns), sp.csc_array(sp.hstack(columns)), _Draft(f)
    draft.learned = False  # the prior differs by word
    if topics is None:
        count_of_components(f.n_topics + n)
        share = np.maximum(total.by_word(), 0.0) + 1e-300
        own = extra.toarray() / np.asarray(extra.sum(axis=0)).ravel()
        start = (1.0 - OWN) * (share / share.sum())[:, None] + OWN * own
        draft.changed = dict(enumerate(start.T * total.totals.mean(), f.n_topics))
        only = np.asarray(draft.banned.sum(axis=1)).ravel() == max(f.n_topics - 1, 1)
        banned = sp.csr_array(only[:, None] & (extra.toarray() == 0))
        draft.add(np.full(n, draft.alpha.mean()), range(f.n_topics), extra, banned)
        return draft.made()
    where = _topics(f, topics)
    if len(set(where)) != n:
        raise ValueError(f"{n} seeds need as many different topics, got {where}")
    draft.refuse_frozen(where)
    extra = extra @ sp.csr_array((np.ones(n), (np.arange(n), where)), shape=(n, f.n_topics))
    draft.extra = sp.lil_array(draft.extra + extra)
    draft.banned[extra.nonzero()] = False
    return draft.made()


def ban(f: FittedTopics, topic: int, words: Iterable[Word]) -> FittedTopics:
    """Words kept out of a topic. Their tokens go to the topics that have them too, or to all others alike where none
    has."""
    return _banned(f, topic, words, is_pinned=False)


def pin(f: FittedTopics, topic: int, words: Iterable[Word]) -> FittedTopics:
    """Words kept in a topic, with all their tokens, and out of all others."""
    return _banned(f, topic, words, is_pinned=True)


def _banned(f: FittedTopics, topic: int, words: Iterable[Word], *, is_pinned: bool) -> FittedTopics:
    """Words banned from a topic, or from all others."""
    topics, names, draft = _topics(f, [topic]), as_list(words), _Draft(f)
    if not names:
        raise ValueError("no words were given")
    ids = sorted(set(known_columns(names, f.reading.words, f.reading.n_features, "this model")))
    if is_pinned:
        draft.refuse_frozen(topics)
        draft.banned[ids, topics[0]] = False
        topics = [k for k in range(f.n_topics) if k != topics[0]]
    if f.n_topics < 2 or len(ids) >= f.reading.n_features:
        raise ValueError("words need another topic to go to, and each topic must keep some words")
    pairs, counts = np.ix_(np.array(ids), np.array(topics)), draft.total.counts()
    draft.banned[pairs] = True
    allowed = ~draft.banned.tocsr()[ids].toarray()
    if not allowed.any(axis=1).all():
        raise ValueError("each word needs a topic that it may belong to")
    now = np.maximum(counts[ids], 0.0)
    rest = np.where(allowed, now, 0.0)
    shares = np.where(rest.sum(axis=1, keepdims=True) > 0, rest, allowed)
    counts[ids] = now.sum(axis=1, keepdims=True) * shares / shares.sum(axis=1, keepdims=True)
    draft.total = WordTotal.of(counts)
    for k in set(topics) & set(draft.frozen):
        draft.frozen[k][ids] = 0.0
    if draft.extra.nnz:
        draft.extra[pairs] = 0.0
    return draft.made()


def freeze(f: FittedTopics, topics: Iterable[int], *, is_frozen: bool = True) -> FittedTopics:
    """The words of topics stay as they are while learning continues, or learn again."""
    draft = _Draft(f)
    for k in _topics(f, topics):
        if is_frozen:
            draft.frozen[k] = np.maximum(draft.columns([k])[:, 0], 0.0)
        elif k in draft.frozen:
            draft.changed[k] = draft.frozen.pop(k)
    return draft.made()


def move(f: FittedTopics, corpus: Corpus, solver: Solver, document: object, topic: int) -> FittedTopics:
    """All tokens of a document in one topic."""
    [k] = _topics(f, [topic])
    if not is_whole(document) or not 0 <= document < corpus.n_docs:
        raise ValueError(f"{document!r} is not a document: they are numbered from 0 to {corpus.n_docs - 1}")
    row = corpus[int(document) : int(document) + 1]
    if not row.nnz:
        raise ValueError(f"document {document} has no word that the model knows")
    # The tokens of the document are divided among its topics.
    theta = sp.csr_array(f.proportions(row, solver, normalize=False, sparse=True))
    alpha = f.alpha[theta.indices]
    used = theta.indices[theta.data > alpha] if (theta.data > alpha).any() else theta.indices
    weight = theta.toarray()[0, used] * f.topics.words.table_of(row.index)[:, used].astype(np.float64)
    tokens = row.value[:, None] * weight / weight.sum(axis=1, keepdims=True)
    topics = sorted({k, *used.tolist()})
    draft, here = _Draft(f), [topics.index(j) for j in used.tolist()]
    counts = draft.total.columns(topics)
    counts[np.ix_(row.index, np.array(here))] -= tokens
    counts[row.index, topics.index(k)] += tokens.sum(axis=1)
    draft.changed = dict(zip(topics, np.maximum(counts, 0.0).T))
    return draft.made()


def keep_words(f: FittedTopics, kept: np.ndarray) -> FittedTopics:
    """The topics with the words of this mask [V] alone, for a stream whose vocabulary is bounded. The tokens of the
    others are gone."""
    old, names = f.topics.words, f.reading.words
    if old.eta.shape[0] > 1:
        raise ValueError("words cannot retire where topic_word_prior is one value per word: make it one number")
    held = old.held
    words = replace(
        old,
        total=WordTotal.of(np.ascontiguousarray(old.total.counts()[kept])),
        extra=None if old.extra is None else PseudoCounts.sparse(sp.csr_array(old.extra.by_word()[kept])),
        held=held and HeldWords.of(held.banned[kept], {k: own[kept] for k, own in held.frozen.items()}),
    )
    # The settings of the vectorizer are in `tokenizer`, and its words are the names of the columns.
    reading = replace(f.reading, vectorizer=None).renamed(None if names is None else names[kept], int(kept.sum()))
    return replace(f, model=replace(f.topics, words=words), reading=reading)


def frozen_topics(f: FittedTopics) -> list[int]:
    held = f.topics.words.held
    return [] if held is None else [int(k) for k in held.topics]


def sampled(corpus: Corpus, n: int, seed: int) -> Corpus:
    """At most n random documents."""
    if corpus.n_tokens == 0 and corpus.vectors is None:
        raise ValueError("no word of the documents is known to the model: pass documents with the words of the model")
    if corpus.n_docs <= n:
        return corpus
    return corpus[np.sort(np.random.default_rng(seed).choice(corpus.n_docs, n, replace=False))]


def _renumbered(f: F, K: int, gone: Sequence[int], place_of: Mapping[int, int]) -> F:
    """Topics after those that are gone move up, and names and places with them."""
    names = {k - sum(other < k for other in gone): name for k, name in f.names.items() if k not in gone}
    if f.places is None:
        return replace(f, names=names)
    rows = [place_of.get(k, k) for k in range(len(f.places)) if k not in gone]
    return replace(f, names=names, places=np.vstack([f.places[rows], np.full((K - len(rows), 2), np.nan)]))


def _topics(f: Fitted, topics: object) -> list[int]:
    if not is_plural(topics):
        raise ValueError(f"topics are given as a list, such as [{topics!r}], and pairs to merge as [(2, 7)]")
    return [checked_topic(f, k) for k in topics]
