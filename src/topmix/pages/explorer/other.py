"""Another model beside this one: pairs of topics, over the words that both know."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from topmix.metrics import match_topics
from topmix.metrics.matching import hellinger
from topmix.pages.assets import Json
from topmix.pages.explorer.snapshot import Snapshot
from topmix.pages.topics import labels
from topmix.views.model import Model, ModelView

LEAST_SHARED = 0.2  # of the tokens of both, that must be of words that both know
FARTHEST_PART = 0.8  # Hellinger distance of a topic from the one that it is a part of


class OtherModel:
    def __init__(self, model: Model, title: str):
        self.title, self.view = title, ModelView(model)
        self.topics = self.view.topics
        self.labels = labels(self.topics, 8)
        self._id_of = {word: v for v, word in enumerate(self.topics.words)}
        self._found: tuple[Snapshot, Json] | None = None  # the last answer

    def beside(self, snapshot: Snapshot) -> Json:
        """Pairs with the smallest total Hellinger distance, nearest first, and topics without a partner. Of those, the
        ones that are near a topic of the other model are its parts: it was split, or they were merged."""
        kept = self._found
        if kept is not None and kept[0] is snapshot:
            return kept[1]
        this, other = snapshot.topics, self.topics
        known = [(v, self._id_of[word]) for v, word in enumerate(this.words) if word in self._id_of]
        here, there = np.array(known, np.intp).reshape(-1, 2).T
        shared = float(min(this.frequency[here].sum(), other.frequency[there].sum()))  # of the tokens of each
        if shared < LEAST_SHARED:
            raise ValueError(f"the two models have only {shared:.0%} of their tokens in words that both know")
        found = match_topics(this.topic_word[:, here], other.topic_word[:, there], metric="hellinger")
        order = np.argsort(found.distance, kind="stable")
        pairs = [[int(found.a[i]), int(found.b[i]), round(float(found.distance[i]), 3)] for i in order]
        alone = np.setdiff1d(np.arange(this.n_topics), found.a).tolist()
        left = np.setdiff1d(np.arange(other.n_topics), found.b).tolist()
        parts = _parts(this.topic_word[np.ix_(alone, here)], other.topic_word[:, there], alone, range(other.n_topics))
        parts += [
            [k, j, near]
            for j, k, near in _parts(
                other.topic_word[np.ix_(left, there)], this.topic_word[:, here], left, range(this.n_topics)
            )
        ]
        answer: Json = {
            "title": self.title[:200],
            "shared": round(shared, 4),
            "pairs": [*pairs, *([k, None, None] for k in alone), *([None, j, None] for j in left)],
            "parts": parts,
            "names": self.view.name_of(),
            "labels": self.labels,
            "share": [float(f"{s:.5g}") for s in other.share],
        }
        self._found = (snapshot, answer)
        return answer


def _parts(
    some: NDArray[np.float64], others: NDArray[np.float64], rows: Sequence[int], columns: Sequence[int]
) -> list[list[float]]:
    """[topic, the nearest one of the others, distance] of topics that are near enough."""
    if not len(some):
        return []
    total = [np.maximum(x.sum(axis=1, keepdims=True), 1e-300) for x in (some, others)]
    distance = hellinger(some / total[0], others / total[1])
    nearest = np.argmin(distance, axis=1).tolist()
    found = [[rows[i], columns[j], round(float(distance[i, j]), 3)] for i, j in enumerate(nearest)]
    return [part for part in found if part[2] < FARTHEST_PART]
