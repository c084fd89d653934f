"""A fit between two passes: what learner and workers remember, to be read, changed and put back.

This is the one hand on statistics and memory. The search for the number of topics, exchanges between sweeps and
checkpoints all go through it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

import numpy as np

from topmix.allocations.doc_topics import DocTopics
from topmix.engines import Workers
from topmix.learners import PassResult, State
from topmix.local.topics import Visit
from topmix.models.document_options import DocumentOptions
from topmix.models.topics import TopicModel
from topmix.search.documents import Documents
from topmix.stats import TopicStats


@dataclass
class Paused:
    workers: Workers
    state: State
    lengths: list[np.ndarray]  # of each shard's documents
    options: Callable[[str, bool], DocumentOptions] | None = None  # (posterior, whether the search is still on)

    @property
    def memory(self) -> dict[int, Visit]:
        return self.workers.recall()

    def restore(self, memory: Mapping[int, Visit]) -> None:
        self.workers.restore(memory)

    def forget(self) -> None:
        """Documents start from their words at the next visit."""
        self.workers.forget()

    def start_over(self, pseudo_counts: TopicStats) -> None:
        """The next pass is like the first, from these pseudo-counts, which fade into what documents find."""
        self.state.memo.clear()
        self.state.total, self.state.pseudo_counts = None, pseudo_counts

    def documents(self, result: PassResult) -> Documents:
        memory, shards = self.memory, range(self.workers.n_shards)
        docs = [memory[b].docs for b in shards]
        whole = [d for d in docs if d is not None]
        assert len(whole) == len(docs), "a search keeps the topics of documents"
        return Documents(result.model, result.total, [self.state.memo[b] for b in shards], whole, self.lengths)

    def put(self, here: Documents) -> TopicModel:
        """Learner and workers continue from here."""
        self._restore_documents(here.docs)
        for b, stats in enumerate(here.memo):
            self.state.memo[b] = stats
        self.state.total = here.total
        return self.solved_by(here.model, "variational")

    def under(self, posterior: str, model: TopicModel) -> TopicModel:
        """The next pass is under another posterior. Documents start from their words: variational ones have fewer
        topics."""
        self.forget()
        return self.solved_by(model, posterior)

    def begin(self, model: TopicModel, docs: list[DocTopics] | None, posterior: str) -> TopicModel:
        """Other topics, whose counts fade. Documents start as given, or from their words."""
        self.start_over(model.prior.no_stats(model.words.total))
        if docs is None:
            self.forget()
        else:
            self._restore_documents(docs)
        return self.solved_by(model, posterior)

    def solved_by(self, model: TopicModel, posterior: str, searching: bool = True) -> TopicModel:
        """The model, with documents solved under this posterior and no mergers weighed."""
        assert self.options is not None
        words = replace(model.words, posterior=posterior)
        return replace(model, words=words, document_options=self.options(posterior, searching), partner=None)

    def _restore_documents(self, docs: list[DocTopics]) -> None:
        memory = self.memory
        self.restore({b: memory[b]._replace(docs=d) for b, d in enumerate(docs)})
