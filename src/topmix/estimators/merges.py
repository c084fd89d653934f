"""Pairs of topics that could be one, and what the objective of documents would say to it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from topmix.data.corpus import Corpus
from topmix.estimators.topic_view import TopicView
from topmix.metrics.hellinger import hellinger


class Pair(NamedTuple):
    topic: int
    other: int
    distance: float  # Hellinger
    change: float  # of the score per token


def nearest_pairs(view: TopicView, n: int) -> list[tuple[int, int, float]]:
    """The n nearest pairs of topics that are not empty, with their distances."""
    used = np.flatnonzero(~view.is_empty())
    first, second = np.triu_indices(len(used), 1)
    distance = hellinger(view.topic_word[used])[first, second]
    order = np.argsort(distance, kind="stable")[:n]
    return [(int(used[first[i]]), int(used[second[i]]), float(distance[i])) for i in order]


def weighed(model: Any, merged: Callable[[tuple[int, int]], Any], pairs: Any, corpus: Corpus) -> list[Pair]:
    """The pairs with the change of the score of these documents if they were merged, best first."""
    before = model.score(corpus)
    found = [
        Pair(j, k, distance, float(merged((j, k)).score(corpus) - before) / float(corpus.n_tokens))
        for j, k, distance in pairs
    ]
    return sorted(found, key=lambda pair: -pair.change)


def sampled(corpus: Corpus, n: int, seed: int) -> Corpus:
    """At most n random documents."""
    if corpus.n_tokens == 0:
        raise ValueError("no word of the documents is known to the model: pass documents with the words of the model")
    if corpus.n_docs <= n:
        return corpus
    return corpus[np.sort(np.random.default_rng(seed).choice(corpus.n_docs, n, replace=False))]
