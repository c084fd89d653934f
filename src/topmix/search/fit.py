"""A fit between two passes: what learner and engine remember of it, to be read, changed and put back."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from topmix import _core
from topmix.allocations.lda import DocTopics
from topmix.engines import Engine
from topmix.learners import State
from topmix.local import TopicStep, Visited
from topmix.models.topics import TopicModel
from topmix.search.documents import Documents
from topmix.stats import TopicStats


@dataclass
class Fit:
    engine: Engine
    state: State
    step: TopicStep
    lengths: list[np.ndarray]  # of each shard's documents
    options: Callable[[int, str, bool], _core.TopicOptions]  # of a step: topics, posterior, whether it is the search

    @property
    def memory(self) -> dict[int, Visited]:
        return dict(self.engine.memory)

    def documents(self, model: TopicModel, total: TopicStats) -> Documents:
        shards = range(self.engine.n_shards)
        docs = [self.engine.memory[b].docs for b in shards]
        return Documents(model, total, [self.state.memo[b] for b in shards], docs, self.lengths)

    def put(self, here: Documents) -> TopicModel:
        """Learner and engine go on from here."""
        for b, (stats, docs) in enumerate(zip(here.memo, here.docs)):
            self.state.memo[b] = stats
            self.engine.memory[b] = self.engine.memory[b]._replace(docs=docs)
        self.state.total = here.total
        self._solve(here.model.n_components, "variational")
        return here.model

    def forget(self) -> None:
        """Documents start from their words in the next pass."""
        self.engine.memory = {}

    def under(self, posterior: str, model: TopicModel) -> TopicModel:
        """The next pass is under another posterior. Documents start from their words: variational ones have fewer
        topics."""
        self._solve(model.n_components, posterior)
        self.forget()
        return replace(model, words=replace(model.words, posterior=posterior))

    def begin(self, model: TopicModel, docs: list[DocTopics] | None, posterior: str) -> TopicModel:
        """Other topics, which fade into what documents find. These start as given, or from their words."""
        self.state.memo.clear()
        self.state.total, self.state.seed = None, model.prior.nothing(model.words.total)
        memory = self.engine.memory
        self.engine.memory = {} if docs is None else {b: memory[b]._replace(docs=docs[b]) for b in memory}
        self._solve(model.n_components, posterior)
        return replace(model, words=replace(model.words, posterior=posterior))

    def finish(self, K: int, posterior: str) -> None:
        """From here on documents are solved as they are when the search is over."""
        self._solve(K, posterior, search=False)

    def _solve(self, K: int, posterior: str, search: bool = True) -> None:
        self.step.options = self.options(K, posterior, search)
        self.step.watch(None)
