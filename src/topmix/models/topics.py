"""Topic models: a prior on documents' proportions times words of topics.  docs/math.md, section 3."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from topmix.allocations.hdp import StickPrior
from topmix.allocations.lda import DocumentPrior
from topmix.likelihoods.topic_words import TopicWords, WordTables
from topmix.stats import TopicStats, WordTotal

Prior = DocumentPrior | StickPrior  # how documents share the topics; kernels see its alpha [K]


class TopicTables(NamedTuple):
    """What a shard needs of a topic model: picklable, sized by the shard's own words."""

    words: WordTables
    prior: Prior


@dataclass(frozen=True)
class TopicModel:
    prior: Prior
    words: TopicWords

    @property
    def n_components(self) -> int:
        return self.words.shape[1]

    def tables(self, cols: np.ndarray) -> TopicTables:
        return TopicTables(self.words.tables(cols), self.prior)

    def no_stats(self, threads: int = 1) -> TopicStats:
        return self.prior.nothing(WordTotal.zeros(*self.words.shape, threads))

    def so_far(self) -> TopicStats:
        """What the model has of past statistics, for a stream to go on from. Borrows the counts of words."""
        return self.prior.so_far(self.words.total)

    def update(self, total: TopicStats) -> TopicModel:
        return replace(self, prior=self.prior.update(total), words=self.words.update(total.S))

    def relearn(self, total: TopicStats, lengths: np.ndarray) -> TopicModel | None:
        """The model with its priors moved towards what the statistics say, or None where they are fixed."""
        if not (self.prior.learned or self.words.learned):
            return None
        prior = self.prior.relearn(total, lengths) if self.prior.learned else self.prior
        return replace(self, prior=prior, words=self.words.relearn() if self.words.learned else self.words)

    def bound(self, total: TopicStats) -> dict[str, float]:
        """The objective, term by term, with topics at their optimum for these statistics."""
        return {"data": self.words.bound(), "entropy": total.H, "allocation": self.prior.bound(total)}
