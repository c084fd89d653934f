"""Topics of a stream: how well they predict a batch, and which of them grow, shrink and appear."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from topmix.data.corpus import Corpus
from topmix.metrics.completion import completion_scores

SCORED = 200  # documents of a batch, at most: enough for a mean
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


def score(model: Any, corpus: Corpus) -> float:
    """Nats per token that some documents, spread over a batch, hold out; NaN where none of them has two words."""
    rows = np.unique(np.linspace(0, corpus.n_docs - 1, min(SCORED, corpus.n_docs)).astype(np.int64))
    scores = completion_scores(model.topic_word_, corpus[rows])
    return scores.mean if scores.n_tokens.sum() else float("nan")
