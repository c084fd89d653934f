"""A memoized fit between two passes: what learner and workers remember, to be read, changed and put back."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from topmix.allocations.doc_topics import DocTopics
from topmix.engines import Workers
from topmix.learners import PassResult, State
from topmix.local.topics import Visit
from topmix.models.document_options import DocumentOptions
from topmix.models.topics import TopicModel
from topmix.search.documents import Documents


@dataclass
class PausedFit:
    workers: Workers
    state: State
    lengths: list[np.ndarray]  # of each shard's documents
    options: Callable[[str, bool], DocumentOptions]  # (posterior, whether the search is still on)

    @property
    def memory(self) -> dict[int, Visit]:
        return self.workers.recall()

    def documents(self, result: PassResult) -> Documents:
        memory, shards = self.workers.recall(), range(self.workers.n_shards)
        docs = [memory[b].docs for b in shards]
        return Documents(result.model, result.total, [self.state.memo[b] for b in shards], docs, self.lengths)

    def put(self, here: Documents) -> TopicModel:
        """Learner and workers continue from here."""
        memory = self.workers.recall()
        self.workers.restore({b: memory[b]._replace(docs=docs) for b, docs in enumerate(here.docs)})
        for b, stats in enumerate(here.memo):
            self.state.memo[b] = stats
        self.state.total = here.total
        return self.solved_by(here.model, "variational")

    def under(self, posterior: str, model: TopicModel) -> TopicModel:
        """The next pass is under another posterior. Documents start from their words: variational ones have fewer
        topics."""
        self.workers.forget()
        return self.solved_by(model, posterior)

    def begin(self, model: TopicModel, docs: list[DocTopics] | None, posterior: str) -> TopicModel:
        """Other topics, whose counts fade into what documents find. Documents start as given, or from their words."""
        self.state.memo.clear()
        self.state.total, self.state.pseudo_counts = None, model.prior.no_stats(model.words.total)
        if docs is None:
            self.workers.forget()
        else:
            self.workers.restore({b: visit._replace(docs=docs[b]) for b, visit in self.workers.recall().items()})
        return self.solved_by(model, posterior)

    def solved_by(self, model: TopicModel, posterior: str, searching: bool = True) -> TopicModel:
        """The model, with documents solved under this posterior and no mergers weighed."""
        words = replace(model.words, posterior=posterior)
        return replace(model, words=words, documents=self.options(posterior, searching), partner=None)
