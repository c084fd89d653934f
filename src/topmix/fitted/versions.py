"""Tables of topics with versions: their words in each, what changes between them, and which topics come and go."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from topmix.fitted.frames import Columns
from topmix.fitted.topics import FittedTopics
from topmix.likelihoods.word_versions import WordVersions, words_of
from topmix.priors import VersionColumn

Array = NDArray[np.float64]

SEEN = 0.2  # of its largest share: from there on a topic is there
LEAST_TOKENS = 1.0  # of a word in a topic, in some version, that is worth a row


def versions_of(f: FittedTopics) -> tuple[WordVersions, VersionColumn]:
    if f.versions is None or f.reading.versions is None:
        raise ValueError(
            "this model has one version of each topic: fit it with topic_word_prior=OverTime(...) or ByGroup(...), or "
            "pass words_by(X, column, topic) to describe documents of groups"
        )
    return f.versions, f.reading.versions


def topic_word_of(f: FittedTopics, version: object) -> Array:
    """[K, V] probabilities of words in the topics of one version."""
    versions, column = versions_of(f)
    return versions.mean(column.number(version))


def words_by(f: FittedTopics, topics: Sequence[int], n_words: int) -> Columns:
    """The most probable words of topics in each version."""
    versions, column = versions_of(f)
    rows: list[tuple[int, str, str, str, float]] = []
    for t, name in enumerate(column.names):
        phi = versions.mean(t)
        for k in topics:
            best = np.argsort(-phi[k], kind="stable")[:n_words]
            rows += [(k, f.topic_names[k], name, f.words[v], float(phi[k, v])) for v in best.tolist()]
    rows.sort(key=lambda row: row[0])
    return dict(zip(("topic", "name", "version", "word", "weight"), map(list, zip(*rows))))


def topic_versions(f: FittedTopics) -> Columns:
    """How much of each version belongs to each topic, and how far its words are there from those of all versions."""
    versions, column = versions_of(f)
    sizes, T, K = versions.sizes(), len(versions), f.n_topics
    share = sizes / np.maximum(sizes.sum(axis=1, keepdims=True), 1e-300)
    shared = np.sqrt(versions.mean(None))
    distance = np.array(
        [np.sqrt(np.maximum(1.0 - (shared * np.sqrt(versions.mean(t))).sum(axis=1), 0.0)) for t in range(T)]
    )
    state = np.full((T, K), "", dtype=object)
    if column.freq is not None and T > 1:
        seen = share >= SEEN * share.max(axis=0, keepdims=True)
        first, last = seen.argmax(axis=0), T - 1 - seen[::-1].argmax(axis=0)
        for k in range(K):
            if last[k] < T - 1:
                state[last[k] + 1, k] = "fades"
            if first[k] > 0:
                state[first[k], k] = "begins"
    return {
        "topic": np.repeat(np.arange(K), T),
        "name": [name for name in f.topic_names for _ in range(T)],
        "version": list(column.names) * K,
        "tokens": sizes.T.ravel(),
        "share": share.T.ravel(),
        "distance": distance.T.ravel(),
        "state": state.T.ravel().tolist(),
    }


def changed_words(f: FittedTopics, topics: Sequence[int], n_words: int) -> Columns:
    """The words whose probability in a topic differs most between versions, by their part of the divergence of the
    versions from their mean."""
    versions, column = versions_of(f)
    sizes, T = versions.sizes()[:, topics], len(versions)
    weight = (sizes + 1.0) / (sizes + 1.0).sum(axis=0)  # [T, topics]
    V = versions.n_words
    mean, negative_entropy = np.zeros((len(topics), V)), np.zeros((len(topics), V))
    least, most = np.full((len(topics), V), np.inf), np.zeros((len(topics), V))
    lowest, highest = np.zeros((len(topics), V), np.int64), np.zeros((len(topics), V), np.int64)
    when = np.zeros((len(topics), V))
    tokens = np.zeros((len(topics), V))
    for t in range(T):
        phi, w = versions.mean(t)[topics], weight[t][:, None]
        mean += w * phi
        negative_entropy += w * phi * np.log(phi)
        when += w * phi * t
        lowest[phi < least], highest[phi > most] = t, t
        least, most = np.minimum(least, phi), np.maximum(most, phi)
        counts = np.zeros((f.n_topics, V))
        n = versions.counts[t]
        counts[n.topic, words_of(n)] = n.value
        tokens = np.maximum(tokens, counts[topics])
    change = negative_entropy - mean * np.log(mean)
    change[tokens < LEAST_TOKENS] = 0.0
    rows = []
    for i, k in enumerate(topics):
        middle = float(weight[:, i] @ np.arange(T))
        for v in np.argsort(-change[i], kind="stable")[:n_words].tolist():
            if change[i, v] <= 0:
                break
            trend = "" if column.freq is None else "rises" if when[i, v] / mean[i, v] > middle else "falls"
            rows.append(
                (k, f.topic_names[k], f.words[v], float(change[i, v]), column.names[highest[i, v]], float(most[i, v]),
                 column.names[lowest[i, v]], float(least[i, v]), trend)
            )  # fmt: skip
    names = ("topic", "name", "word", "change", "highest", "weight_there", "lowest", "weight_least", "trend")
    return dict(zip(names, map(list, zip(*rows)))) if rows else {name: [] for name in names}
