"""Topics of a stream: how well they predict a batch, which grow and shrink, which two became one, and where a topic
without tokens starts again."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from topmix.data.corpus import Corpus
from topmix.metrics.completion import DocumentScores, completion_scores
from topmix.models.edit import reborn
from topmix.models.topic_start import PSEUDO_TOKENS, SMALL, restarted
from topmix.models.topics import TopicModel

SCORED = 200  # documents of a batch, at most: enough for a mean, and for finding documents that no topic explains
TIMES = 2.0  # a topic has grown, or shrunk, if its share is that many times another
LEAST_SHARE = 0.2  # of the mean topic: changes of smaller ones are noise
SAME = 0.9  # cosine of two topics that are one
LEAST_EXPLAINED = 10  # new topics start from one document in so many


class Drift(NamedTuple):
    distance: float
    grown: tuple[int, ...]
    shrunk: tuple[int, ...]


def drift(before: np.ndarray, now: np.ndarray) -> Drift:
    """Between shares [K] of the past and of a batch."""
    least = LEAST_SHARE / len(now)
    grown = np.flatnonzero((now > TIMES * before) & (now > least))
    shrunk = np.flatnonzero((now < before / TIMES) & (before > least))
    return Drift(0.5 * float(np.abs(now - before).sum()), tuple(grown.tolist()), tuple(shrunk.tolist()))


class Scores(NamedTuple):
    """Of some documents, spread over a batch: what topics say of the words that each holds out."""

    rows: np.ndarray  # of the batch
    topics: DocumentScores
    frequencies: DocumentScores  # the same words, predicted by how frequent they are

    @classmethod
    def of(cls, model: Any, corpus: Corpus) -> Scores:
        rows = np.unique(np.linspace(0, corpus.n_docs - 1, min(SCORED, corpus.n_docs)).astype(np.int64))
        some = corpus[rows]
        frequency = np.maximum(model.components_.sum(axis=0), 1e-300)[None]
        return cls(rows, completion_scores(model.topic_word_, some), completion_scores(frequency, some))

    @property
    def mean(self) -> float:
        """Nats per token; NaN where no document has two words."""
        return self.topics.mean if self.topics.n_tokens.sum() else float("nan")

    def unexplained(self) -> np.ndarray:
        """Rows of the documents for which topics do least."""
        whole = np.flatnonzero(self.topics.n_tokens)
        gain = (self.topics.log_likelihood - self.frequencies.log_likelihood)[whole] / self.topics.n_tokens[whole]
        worst = np.argsort(gain, kind="stable")[: -(-len(whole) // LEAST_EXPLAINED)]
        return np.sort(self.rows[whole[worst]])


class Moves(NamedTuple):
    model: TopicModel
    born: tuple[int, ...]
    merged: tuple[tuple[int, int], ...]


def renewed(model: TopicModel, topic_word: np.ndarray, documents: Corpus, rng: np.random.Generator) -> Moves | None:
    """The model with one topic of each two that are the same, where topics without tokens start from these documents.

    None: every topic has its own tokens.
    """
    sizes = np.maximum(model.words.total.totals, 0.0)
    merged = same_topics(topic_word, sizes)
    for kept, gone in merged:
        sizes[kept], sizes[gone] = sizes[kept] + sizes[gone], 0.0
    born = np.flatnonzero(sizes < SMALL * sizes.mean())
    if not len(born) or len(born) == len(sizes):
        return None
    size = min(PSEUDO_TOKENS, float(sizes.mean()))
    start = restarted(documents, sizes * (size / sizes.mean()), rng)
    if start is None:
        return None
    return Moves(reborn(model, merged, born, start.counts()[:, born]), tuple(born.tolist()), merged)


def same_topics(topic_word: np.ndarray, sizes: np.ndarray) -> tuple[tuple[int, int], ...]:
    """(kept, gone): the larger first. A topic is in one pair at most, and topics without tokens in none."""
    unit = topic_word / np.sqrt(np.square(topic_word).sum(axis=1, keepdims=True))
    alike = np.triu(unit @ unit.T, 1)
    pairs, used = [], sizes <= 0
    for a, b in np.argwhere(alike > SAME).tolist():
        if not (used[a] or used[b]):
            used[a] = used[b] = True
            pairs.append((a, b) if sizes[a] >= sizes[b] else (b, a))
    return tuple(pairs)
