"""Topics edited by hand: each edit is a function from fitted topics to others. Names stay with their topics.

An edit changes the topics and their number; the history and the objective stay those of the last fit.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import TypeVar

import numpy as np
import scipy.sparse as sp

from topmix.data.corpus import Corpus
from topmix.data.vocabulary import columns_of
from topmix.fitted.documents import Solver, proportions, score
from topmix.fitted.frames import Columns
from topmix.fitted.mixture import FittedMixture
from topmix.fitted.seeds import STRENGTH, Seed, Word, seed_counts, seed_weights
from topmix.fitted.tables import checked_topic
from topmix.fitted.topics import Fitted, FittedTopics
from topmix.metrics.matching import hellinger
from topmix.models import edit
from topmix.models.admixture import Admixture
from topmix.models.mixture import Mixture
from topmix.models.topics import TopicModel
from topmix.parameters.checks import count_of_components
from topmix.search.split import split_of
from topmix.stats import MixtureStats

F = TypeVar("F", FittedTopics, FittedMixture)


def merge(f: F, groups: Iterable[Sequence[int]]) -> F:
    """One topic of each group, in the place of its lowest. Groups that share a topic join."""
    joined: list[set[int]] = []
    for given in groups:
        group = set(_topics(f, given))
        if len(group) < 2:
            raise ValueError(f"{tuple(given)!r} is not two topics or more, to be merged")
        overlapping = [other for other in joined if other & group]
        joined = [other for other in joined if not other & group] + [group.union(*overlapping)]
    return _merged(f, [sorted(group) for group in joined])


def _merged(f: F, groups: Sequence[Sequence[int]]) -> F:
    gone = [k for _, *others in groups for k in others]
    if isinstance(f, FittedTopics):
        sizes = f.topics.words.total.totals
        largest = {group[0]: max(group, key=sizes.__getitem__) for group in groups}
        return _edited(f, edit.merged(f.topics, groups), gone, largest)
    parts = np.eye(f.n_topics)
    for first, *others in groups:
        parts[first, others] = 1.0
    return regrouped(f, np.delete(parts, gone, axis=0), gone)


def suggest_merges(f: F, corpus: Corpus, solver: Solver, n: int) -> Columns:
    """The n nearest pairs of topics, and what merging each alone would do to the score of documents, per token; of
    clusters, per document."""
    view, names, before = f.view, f.topic_names, score(f, corpus, solver)
    used = np.flatnonzero(~view.is_empty())
    first, second = np.triu_indices(len(used), 1)
    distance = hellinger(view.topic_word[used])[first, second]
    nearest = np.argsort(distance, kind="stable")[:n]

    def change(j: int, k: int) -> float:
        is_mixture: bool = isinstance(f.model, Mixture | Admixture)
        size = corpus.n_docs if is_mixture else corpus.n_tokens
        return float(score(_merged(f, [(j, k)]), corpus, solver) - before) / float(size)

    pairs = [(int(used[first[i]]), int(used[second[i]]), float(distance[i])) for i in nearest]
    found = sorted(((j, k, near, change(j, k)) for j, k, near in pairs), key=lambda row: -row[3])
    return {
        "topic": [j for j, _, _, _ in found],
        "other": [k for _, k, _, _ in found],
        "name": [names[j] for j, _, _, _ in found],
        "other_name": [names[k] for _, k, _, _ in found],
        "distance": [near for _, _, near, _ in found],
        "share": [float(view.share[[j, k]].sum()) for j, k, _, _ in found],
        "change": [gain for _, _, _, gain in found],
    }


def split(f: FittedTopics, corpus: Corpus, solver: Solver, topic: int, seed: int) -> FittedTopics:
    """Two topics of one, by the documents that have most of it; the second is the last topic."""
    [k] = _topics(f, [topic])
    count_of_components(f.n_topics + 1)
    alpha, words = f.alpha, f.topics.words
    tokens = sp.csr_array(proportions(f, corpus, solver, normalize=False, sparse=True))
    tokens.data -= alpha[tokens.indices]
    found = split_of(k, corpus.to_scipy(), tokens, words.table_of, alpha, np.random.default_rng(seed))
    if found is None:
        raise ValueError(f"topic {k} cannot be split: too few documents have it")
    return _edited(f, edit.split(f.topics, k, found.share, found.weight))


def drop(f: F, topics: Iterable[int]) -> F:
    """Without these topics; later ones move up."""
    gone = sorted(set(_topics(f, topics)))
    if len(gone) == f.n_topics:
        raise ValueError(f"all {len(gone)} topics would be dropped; one has to stay")
    if isinstance(f, FittedTopics):
        return _edited(f, edit.dropped(f.topics, gone), gone)
    return regrouped(f, np.delete(np.eye(f.n_topics), gone, axis=0), gone)


def regrouped(
    f: FittedMixture, parts: np.ndarray, gone: Sequence[int] = (), *born: tuple[np.ndarray, MixtureStats]
) -> FittedMixture:
    """Other clusters: parts [new, K] is how much they have of each. `born` is as in `Mixture.regrouped`; their words
    are for the caller to give."""
    texts = None if f.texts is None else f.texts.regrouped(parts)
    model = f.model.regrouped(parts, *born) if isinstance(f.model, Mixture) else f.model.edited(parts, *born)
    places = _moved_places(f, model.n_components, gone, {})
    found = f.reproducibility
    if found is not None:
        is_whole = ((parts == 1.0).sum(axis=1) == 1) & ((parts != 0.0).sum(axis=1) == 1)
        same = [int(row.argmax()) if whole else None for row, whole in zip(parts, is_whole)]
        found = found.after(same + [None] * (model.n_components - len(same)))
    names = _moved_up(f, gone)
    return replace(f, model=model, names=names, places=places, texts=texts, labels=None, reproducibility=found)


def seed(
    f: FittedTopics, seeds: Iterable[Seed], topics: Iterable[int] | None = None, strength: float = STRENGTH
) -> FittedTopics:
    """A topic for each seed, or existing topics pulled towards the words of theirs."""
    if not (np.isfinite(strength) and strength > 0):
        raise ValueError(f"strength must be positive, got {strength!r}")
    columns = [_seed_column(f, words, strength) for words in seeds]
    if not columns:
        raise ValueError("no seeds were given")
    where = None if topics is None else _topics(f, topics)
    if where is not None and len(set(where)) != len(columns):
        raise ValueError(f"{len(columns)} seeds need as many different topics, got {where}")
    if fixed := sorted(set(where or ()) & set(frozen_topics(f))):
        raise ValueError(f"topic {fixed[0]} is frozen, and cannot be pulled to words: unfreeze_topics([{fixed[0]}])")
    if where is None:
        count_of_components(f.n_topics + len(columns))
    return _edited(f, edit.seeded(f.topics, sp.csc_array(sp.hstack(columns)), where))


def ban(f: FittedTopics, topic: int, words: Iterable[Word]) -> FittedTopics:
    """Words kept out of a topic."""
    [k], ids = _topics(f, [topic]), _given_words(f, words)
    if f.n_topics < 2 or len(ids) >= f.reading.n_features:
        raise ValueError("the words must have another topic to go to, and the topic must keep some words")
    return _edited(f, edit.banned(f.topics, [k], ids))


def pin(f: FittedTopics, topic: int, words: Iterable[Word]) -> FittedTopics:
    """Words kept in a topic and out of all others."""
    [k] = _topics(f, [topic])
    if k in frozen_topics(f):
        raise ValueError(f"topic {k} is frozen, and cannot get words: unfreeze_topics([{k}])")
    ids = _given_words(f, words)
    if f.n_topics < 2 or len(ids) >= f.reading.n_features:
        raise ValueError("a pinned word needs other topics to stay out of, and they must keep some words")
    return _edited(f, edit.pinned(f.topics, k, ids))


def freeze(f: FittedTopics, topics: Iterable[int], *, is_frozen: bool = True) -> FittedTopics:
    """The words of topics stay as they are while learning continues, or learn again."""
    return _edited(f, edit.frozen(f.topics, _topics(f, topics), is_frozen=is_frozen))


def move(f: FittedTopics, corpus: Corpus, solver: Solver, document: object, topic: int) -> FittedTopics:
    """All tokens of a document in one topic."""
    [k] = _topics(f, [topic])
    if not isinstance(document, int | np.integer) or not 0 <= document < corpus.n_docs:
        raise ValueError(f"{document!r} is not a document: they are numbered from 0 to {corpus.n_docs - 1}")
    row = corpus[int(document) : int(document) + 1]
    if not row.nnz:
        raise ValueError(f"document {document} has no word that the model knows")
    return _edited(f, edit.moved(f.topics, _tokens_by_topic(f, row, solver), k))


def keep_words(f: FittedTopics, kept: np.ndarray) -> FittedTopics:
    """The topics with the words of this mask alone, for a stream whose vocabulary is bounded."""
    if f.topics.words.eta.shape[0] > 1:
        raise ValueError("words cannot retire where topic_word_prior is one value per word: make it one number")
    words = f.reading.words
    # The settings of the vectorizer are in `tokenizer`, and its words are the names of the columns.
    reading = replace(f.reading, vectorizer=None).renamed(None if words is None else words[kept], int(kept.sum()))
    return replace(f, model=edit.with_words(f.topics, kept), reading=reading)


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


def _edited(
    f: FittedTopics, model: TopicModel, gone: Sequence[int] = (), place_of: Mapping[int, int] | None = None
) -> FittedTopics:
    """With another model. Topics after those that are gone move up, and names and places with them; `place_of` are
    topics that go to the place of another."""
    places = _moved_places(f, model.n_components, gone, place_of or {})
    after = replace(f, model=model, names=_moved_up(f, gone), places=places, response=None)
    if f.reproducibility is None:
        return after
    before: list[int | None] = [k for k in range(f.n_topics) if k not in gone]
    before += [None] * (after.n_topics - len(before))
    same = [
        old if old is not None and np.allclose(f.topic_word[old], after.topic_word[k], rtol=1e-6, atol=0.0) else None
        for k, old in enumerate(before)
    ]
    return replace(after, reproducibility=f.reproducibility.after(same))


def _moved_places(f: Fitted, K: int, gone: Sequence[int], place_of: Mapping[int, int]) -> np.ndarray | None:
    if f.places is None:
        return None
    rows = [place_of.get(k, k) for k in range(len(f.places)) if k not in gone]
    return np.vstack([f.places[rows], np.full((K - len(rows), 2), np.nan)])


def _moved_up(f: Fitted, gone: Sequence[int]) -> dict[int, str]:
    return {k - sum(other < k for other in gone): name for k, name in f.names.items() if k not in gone}


def _tokens_by_topic(f: FittedTopics, row: Corpus, solver: Solver) -> sp.csc_array:  # [V, K]
    """The tokens of a document, divided among its topics."""
    theta, words = sp.csr_array(proportions(f, row, solver, normalize=False, sparse=True)), f.topics.words
    alpha = f.alpha[theta.indices]
    used = theta.indices[theta.data > alpha] if (theta.data > alpha).any() else theta.indices
    weight = theta.toarray()[0, used] * words.table_of(row.index)[:, used].astype(np.float64)
    tokens = row.value[:, None] * weight / weight.sum(axis=1, keepdims=True)
    where = (np.repeat(row.index, len(used)), np.tile(used, len(row.index)))
    return sp.csc_array((tokens.ravel(), where), shape=words.shape)


def _topics(f: Fitted, topics: object) -> list[int]:
    if not isinstance(topics, Iterable) or isinstance(topics, str):
        raise ValueError(f"topics are given as a list, such as [{topics!r}], and pairs to merge as [(2, 7)]")
    return [checked_topic(f, k) for k in topics]


def _given_words(f: FittedTopics, words: Iterable[Word]) -> list[int]:
    given: list[Word] = [words] if isinstance(words, str | int) else list(words)
    if not given:
        raise ValueError("no words were given")
    return sorted(set(_word_ids(f, given)))


def _seed_column(f: FittedTopics, words: Seed, strength: float) -> sp.csc_array:  # [V, 1]
    weights = seed_weights(words)
    ids = _word_ids(f, list(weights))
    total = f.topics.words.total
    tokens = np.maximum(total.rows(np.asarray(ids, np.int64)), 0.0).sum(axis=1)
    counts = seed_counts(weights.values(), tokens, strength)
    return sp.csc_array((counts, (ids, np.zeros(len(ids), int))), shape=(f.reading.n_features, 1))


def _word_ids(f: FittedTopics, words: list[Word]) -> list[int]:
    names, V = f.reading.words, f.reading.n_features
    ids = columns_of(words, names, V)
    unknown = [word for word, v in zip(words, ids) if v < 0]
    if unknown:
        listed = ", ".join(map(repr, unknown[:5])) + (" and others" if len(unknown) > 5 else "")
        hint = " (the model was fitted without names of words: give column numbers)" if names is None else ""
        raise ValueError(f"not among the {V} words of this model: {listed}{hint}")
    return ids
