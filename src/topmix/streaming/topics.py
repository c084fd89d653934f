"""Topics of a stream: how well they predict a batch, and which of them grow, shrink and appear."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from topmix.api.variational import VariationalTopics
from topmix.data.corpus import Corpus
from topmix.metrics.splits import split_types

SCORED = 1000  # documents of a batch, at most: enough for a mean
BLOCK = 1 << 22  # probabilities at a time
LEAST_PROBABILITY = 1e-300
TIMES = 2.0  # a topic has grown, or shrunk, if its share is that many times another
LEAST = 0.2  # of the mean topic: changes of smaller ones are noise
ABSENT = 0.05  # of the mean topic: it was not there


class Drift(NamedTuple):
    """Of the topics of a batch from those of the past."""

    distance: float = 0.0
    grown: tuple[int, ...] = ()
    shrunk: tuple[int, ...] = ()
    appeared: tuple[int, ...] = ()

    @classmethod
    def between(cls, before: np.ndarray, now: np.ndarray) -> Drift:
        """Shares [K] of the past and of a batch."""
        is_large, was_large = now * len(now) > LEAST, before * len(now) > LEAST
        found = (
            is_large & (now > TIMES * before),
            was_large & (now < before / TIMES),
            is_large & (before * len(now) < ABSENT),
        )
        return cls(0.5 * float(np.abs(now - before).sum()), *(tuple(np.flatnonzero(f).tolist()) for f in found))


def score(model: VariationalTopics, corpus: Corpus) -> float:
    """Nats per token of held-out words: `completion_score`, where the model itself finds the topics of documents, which
    is much faster. NaN where no document has two words."""
    rows = np.unique(np.linspace(0, corpus.n_docs - 1, min(SCORED, corpus.n_docs)).astype(np.int64))
    seen, held_out = split_types(corpus[rows])
    if not held_out.nnz:
        return float("nan")
    theta = model.transform(Corpus.from_scipy(seen))
    document = np.repeat(np.arange(len(rows)), np.diff(held_out.indptr))
    total, topics = 0.0, model.topic_word_.T
    for part in np.array_split(np.arange(held_out.nnz), -(-held_out.nnz * len(topics.T) // BLOCK)):
        p = np.einsum("nk,nk->n", theta[document[part]], topics[held_out.indices[part]])
        total += float(held_out.data[part] @ np.log(np.maximum(p, LEAST_PROBABILITY)))
    return total / float(held_out.data.sum())
