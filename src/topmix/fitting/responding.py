"""The schedule of passes in which topics learn from the responses of documents as well: after each pass, coefficients
follow the topics that documents have."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from topmix.allocations.doc_topics import DocTopics
from topmix.allocations.response_prior import Responded, ResponsePrior
from topmix.data.shard import Batches
from topmix.fitting.history import RESPONDING
from topmix.fitting.plain import Plain
from topmix.learners import PassResult
from topmix.models.topics import TopicModel


class Responding(Plain):
    phase = RESPONDING

    def __init__(self, *plain: Any, batches: Batches) -> None:
        super().__init__(*plain)
        self.batches = batches

    def after(self, result: PassResult, is_last: bool) -> TopicModel | None:
        following = super().after(result, is_last) or result.model
        if is_last:
            return following
        assert isinstance(following.prior, ResponsePrior)
        return replace(following, prior=following.prior.responding_to(self._documents()))

    def _documents(self) -> Responded:
        design, memory = self.problem.corpus.design, self.paused.memory
        assert design is not None
        docs = [memory[b].docs for b in range(len(self.batches))]
        y = np.concatenate([design.x[design.row[rows], 0] for rows in self.batches])
        return Responded.of(joined([found for found in docs if found is not None]), y)


def joined(parts: list[DocTopics]) -> DocTopics:
    """Documents one part after the other."""
    length = np.concatenate([np.diff(part.indptr) for part in parts])
    topic, count = (np.concatenate(x) for x in zip(*((part.topic, part.count) for part in parts)))
    return DocTopics(np.concatenate([[0], np.cumsum(length)]), topic, count)
