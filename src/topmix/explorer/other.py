"""Another model beside this one: pairs of topics, over the words that both know."""

from __future__ import annotations

from typing import Any

import numpy as np

from topmix.explorer.snapshot import Snapshot
from topmix.fitted.names import relevant_words
from topmix.metrics import match_topics
from topmix.views.topics import view_of

LEAST_SHARED = 0.2  # of the tokens of both, that must be of words that both know


class OtherModel:
    def __init__(self, model: Any, title: str):
        self.title, self.view = title, view_of(model)
        self.labels = [[word[:200] for word in words] for words in relevant_words(self.view, 8)]
        self.names = getattr(model, "names_", {})
        self._id_of = {word: v for v, word in enumerate(self.view.words)}
        self._found: tuple[Snapshot, dict[str, Any]] | None = None  # the last answer

    def beside(self, snapshot: Snapshot) -> dict[str, Any]:
        """Pairs with the smallest total Hellinger distance, nearest first, and topics without a partner."""
        kept = self._found
        if kept is not None and kept[0] is snapshot:
            return kept[1]
        mine = [(v, self._id_of[word]) for v, word in enumerate(snapshot.view.words) if word in self._id_of]
        here, there = np.array(mine, np.intp).reshape(-1, 2).T
        shared = min(
            float(snapshot.view.frequency[here].sum()), float(self.view.frequency[there].sum())
        )  # of the tokens of each
        if shared < LEAST_SHARED:
            raise ValueError(f"the two models have only {shared:.0%} of their tokens in words that both know")
        found = match_topics(snapshot.view.topic_word[:, here], self.view.topic_word[:, there], metric="hellinger")
        order = np.argsort(found.distance, kind="stable")
        pairs = [[int(found.a[i]), int(found.b[i]), round(float(found.distance[i]), 3)] for i in order]
        alone = np.setdiff1d(np.arange(snapshot.n_topics), found.a).tolist()
        left = np.setdiff1d(np.arange(self.view.n_topics), found.b).tolist()
        answer = {
            "title": self.title[:200],
            "shared": round(shared, 4),
            "pairs": pairs + [[k, None, None] for k in alone] + [[None, j, None] for j in left],
            "names": [self.names.get(j) for j in range(self.view.n_topics)],
            "labels": self.labels,
            "share": [float(f"{s:.5g}") for s in self.view.share],
        }
        self._found = (snapshot, answer)
        return answer
