"""Topics from a stream of documents."""

from __future__ import annotations

import copy
from abc import abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, Self

import numpy as np
from sklearn.utils import check_random_state

from topmix.data.corpus import Corpus
from topmix.data.shard import Shards, in_order
from topmix.estimators.all_or_nothing import all_or_nothing
from topmix.estimators.inputs import as_corpus
from topmix.estimators.new_words import in_known_columns
from topmix.estimators.reading import Reading
from topmix.fitting.history import Record
from topmix.fitting.topic_fit import TopicProblem
from topmix.inference import Inference
from topmix.learners import Learner
from topmix.learners.stochastic import blend, stream_of, tokens
from topmix.models.topics import TopicModel
from topmix.numerics.threads import use_threads

TRACES_EVERY = 64  # steps: looking for traces takes as long as some tables


class StreamMixin:
    """`partial_fit`, for estimators with a topic model."""

    model_: TopicModel
    n_jobs: int | None
    random_state: Any
    _threads: Callable[[], int]  # ComponentParameters

    @abstractmethod
    def _learner(self) -> Learner: ...

    @abstractmethod
    def _inference(self) -> Inference: ...

    @abstractmethod
    def _problem(
        self, corpus: Corpus, learner: Learner, inference: Inference, threads: int, *, searches: bool = True
    ) -> TopicProblem: ...

    @abstractmethod
    def _set_model(self, model: TopicModel) -> None: ...

    @all_or_nothing
    def partial_fit(
        self,
        X: Any,
        y: Any = None,
        *,
        text: str | Sequence[str] | None = None,
        vectorizer: Any = None,
        feature_names: Sequence[str] | None = None,
        layer: str | None = None,
    ) -> Self:
        """One stochastic step on these documents, which may bring new words. The first call reads X as `fit` does, and
        later ones in the same way.

        In texts and in a Corpus with a vocabulary words are known by name, in any order; in a matrix or a DataFrame
        new words are columns after those that were there. New words start with the prior in every topic, so
        `topic_word_prior` cannot be one value per word. A stream may go on for ever; `total_samples` of `Stochastic`
        says how many documents it stands for, and `half_life` how fast it forgets. `topmix.Stream` does more for a
        stream: words, checkpoints, reports.
        """
        learner, inference = self._learner(), self._inference()
        learner.check_stream()
        first = not hasattr(self, "model_")
        reading = Reading(text, vectorizer, feature_names, layer)
        corpus = as_corpus(self, X, reset=True, reading=reading) if first else in_known_columns(self, X)
        threads = self._threads()
        with use_threads(threads):
            problem = self._problem(corpus, learner, inference, threads, searches=False)
            if first:
                rng = np.random.default_rng(check_random_state(self.random_state).randint(2**31, size=4))
                model = problem.start(rng)
                self.n_batch_iter_, self.n_seen_, self.n_tokens_seen_ = 0, 0.0, 0.0
                self.history_: list[Record] = []
            else:
                model = replace(self._grown(corpus), documents=problem.empty.documents)
                self.n_batch_iter_ = getattr(self, "n_batch_iter_", 0)
            before = self.n_batch_iter_
            self._count_documents(corpus)
            stream = stream_of(learner)
            stands_for = stream.stands_for(self.n_seen_)
            if problem.weighs_tokens:
                stands_for *= self.n_tokens_seen_ / self.n_seen_
            self._batch_sizes = np.zeros(model.n_components)  # tokens of each topic in these documents
            workers = problem.engine.open(Shards(corpus, in_order(corpus)), problem.step, threads)
            try:
                model = workers.place(model)
                for b in range(workers.n_shards):
                    for _, new, _ in workers.run(model.tables, [b]):
                        seen = tokens(new) if problem.weighs_tokens else new.n_rows
                        size = stream.step_size(self.n_batch_iter_, new.n_rows)
                        model = model.update(blend(model.past_stats(), new, size, stands_for, seen))
                        self._batch_sizes += np.asarray(new.S.totals)
                        self.n_batch_iter_ += 1
                model = model.on_host()
            finally:
                workers.close()
            if self.n_batch_iter_ // TRACES_EVERY > before // TRACES_EVERY:
                model.words.total.drop_traces()
            self._set_model(model)
        return self

    def _count_documents(self, corpus: Corpus) -> None:
        seen = getattr(self, "n_seen_", 0.0)
        self.n_seen_ = seen + corpus.n_docs
        before = getattr(self, "n_tokens_seen_", seen * corpus.n_tokens / corpus.n_docs)
        self.n_tokens_seen_ = before + corpus.n_tokens

    def _grown(self, corpus: Corpus) -> TopicModel:
        """A copy of the model, for steps are made in place, with room for the words of this corpus, which are its own
        and perhaps more."""
        words = self.model_.words
        words = replace(words, total=copy.deepcopy(words.total))
        if corpus.n_words == self.n_features_in_:
            return replace(self.model_, words=words)
        if words.eta.shape[0] > 1:
            raise ValueError("new words need a topic_word_prior that is one number, or one per topic, not one per word")
        words.total.grow(corpus.n_words)
        if words.extra is not None:
            words = replace(words, extra=words.extra.grown(corpus.n_words))
        if words.held is not None:
            words = replace(words, held=words.held.grown(corpus.n_words))
        self.n_features_in_: int = corpus.n_words
        if corpus.vocabulary is not None:
            self.feature_names_in_ = np.array(list(corpus.vocabulary), dtype=object)
            if getattr(self, "vectorizer_", None) is not None:
                self.vectorizer_: Any = copy.copy(self.vectorizer_)
                self.vectorizer_.vocabulary_ = list(corpus.vocabulary)
        return replace(self.model_, words=words)
