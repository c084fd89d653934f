"""What LDA and HDP share as scikit-learn estimators: fitting, and how parameters become a problem to solve."""

from __future__ import annotations

import os
from abc import abstractmethod
from dataclasses import replace
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils import Tags, check_random_state

from topmix.data.corpus import Corpus
from topmix.data.shard import Shards, in_order
from topmix.engines import Engine
from topmix.estimators.checkpoints import checkpoint_of
from topmix.estimators.components import ComponentParameters
from topmix.estimators.inputs import CLONED, as_corpus
from topmix.estimators.new_words import in_known_columns
from topmix.estimators.priors import word_prior_as_given
from topmix.estimators.saving import SaveMixin
from topmix.estimators.sklearn_callbacks import CallbackSupportMixin, with_sklearn_callbacks
from topmix.estimators.topic_output import TopicOutputMixin
from topmix.files.reader import CheckedReader
from topmix.files.writer import Writer
from topmix.fitting.history import Callback, Clock, TimeLimit, last_objective
from topmix.fitting.passes import Log
from topmix.fitting.progress import shown
from topmix.fitting.topic_fit import TopicFit, TopicProblem
from topmix.inference import Inference
from topmix.inference.fixed_point import without_discount
from topmix.learners import Asynchronous, Learner, Stochastic
from topmix.learners.stochastic import blend, tokens
from topmix.models.document_options import DocumentOptions
from topmix.models.topic_start import RESTARTED, STARTS
from topmix.models.topics import TopicModel
from topmix.numerics.threads import count_of_threads, use_threads
from topmix.parameters.checks import (
    count_of_active,
    count_of_components,
    one_of,
    positive_number,
    whole_number,
    whole_number_or_none,
)
from topmix.stats import PseudoCounts, WordTotal


class TopicEstimator(TopicOutputMixin, SaveMixin, CallbackSupportMixin, ComponentParameters, BaseEstimator):
    """A subclass says what its model is (`_empty_model`) and, where it differs, how the fit begins (`_problem`)."""

    n_components: int
    n_active: int | None
    inference: Any
    learner: Any
    engine: Any
    max_iter: int
    tol: float
    max_time: float | None = None
    n_init: int = 1
    init: Any
    warm_start: bool
    n_jobs: int | None
    random_state: Any
    verbose: int
    callbacks: list[Callback] | None

    _saved_attributes = ("n_iter_", "converged_", "elbo_", "bound_", "n_batch_iter_", "n_seen_", "n_tokens_seen_")

    @abstractmethod
    def _empty_model(self, V: int) -> TopicModel:
        """Priors and options of documents, and no counts yet."""

    @with_sklearn_callbacks
    def fit(
        self,
        X: Any,
        y: Any = None,
        *,
        checkpoint: str | os.PathLike[str] | None = None,
        checkpoint_every: int = 1,
    ) -> Self:
        """Learns the topics of X, counts of shape (n_samples, n_features).

        With `checkpoint`, a path, the fit is saved there every `checkpoint_every` passes and at its end. Where the file
        exists already, the fit continues from it: run an interrupted program again, and the result has the same bits as
        if it had never stopped. Data and parameters must be those of the interrupted fit, except `max_iter` and `tol`,
        so a finished fit may be continued as well. Not with n_init > 1, nor with CVB0.
        """
        clock = Clock()
        learner, inference, n_init = self._learner(), self._inference(), whole_number(self.n_init, "n_init")
        corpus = as_corpus(self, X, reset=not self._is_warm())
        kept = checkpoint_of(self, corpus, checkpoint, whole_number(checkpoint_every, "checkpoint_every"), inference)
        rng = np.random.default_rng(check_random_state(self.random_state).randint(2**31, size=4))
        limits = [] if self.max_time is None else [TimeLimit(positive_number(self.max_time, "max_time"))]
        best: tuple[Log, TopicModel, bool] | None = None
        threads = count_of_threads(self.n_jobs)
        with (
            use_threads(threads),
            shown(self.verbose, self.max_iter * n_init, corpus.n_tokens, type(self).__name__) as display,
        ):
            callbacks = [*(self.callbacks or ()), *limits, *display]
            problem = self._problem(corpus, learner, inference, threads)
            for _ in range(n_init):
                log = Log(clock, self._fitted_copy, callbacks)
                self.history_ = log.history  # now, so that an interrupted fit has it too
                fit = TopicFit(problem, rng, log, kept)
                try:
                    model, converged = fit.run()
                except KeyboardInterrupt:
                    if fit.interrupted is not None:
                        self._set_model(fit.interrupted)
                    raise
                if best is None or last_objective(log.history) > last_objective(best[0].history):
                    best = log, model, converged
            assert best is not None
            log, model, self.converged_ = best
            self.history_, self.n_iter_, self.elbo_ = log.history, len(log.history), last_objective(log.history)
            with np.errstate(over="ignore"):  # next to no tokens, and all of the priors
                self.bound_ = float(np.exp(-self.elbo_ / max(corpus.n_tokens, 1.0)))
            self.n_batch_iter_ = self.n_iter_ * fit.updates_per_pass
            self._set_model(model)
        return self

    def partial_fit(self, X: Any, y: Any = None) -> Self:
        """One stochastic step on these documents, which may bring new words.

        In a Corpus with a vocabulary words are known by name, in any order; in a matrix or a DataFrame new words are
        columns after those that were there. New words start with the prior in every topic, so `topic_word_prior` cannot
        be one value per word. A stream may go on for ever; `total_samples` of `Stochastic` says how many documents it
        stands for.
        """
        learner, inference = self._learner(), self._inference()
        if isinstance(learner, Asynchronous):
            raise ValueError("partial_fit is a stochastic step; learner='asynchronous' keeps its documents: use fit")
        first = not hasattr(self, "model_")
        corpus = as_corpus(self, X, reset=True) if first else in_known_columns(self, X)
        threads = count_of_threads(self.n_jobs)
        with use_threads(threads):
            problem = self._problem(corpus, learner, inference, threads, searches=False)
            if first:
                rng = np.random.default_rng(check_random_state(self.random_state).randint(2**31, size=4))
                model = problem.start(rng)
                self.n_batch_iter_, self.n_seen_, self.n_tokens_seen_, self.history_ = 0, 0.0, 0.0, []
            else:
                model = replace(self._grown(corpus), documents=problem.empty.documents)
            self._count_documents(corpus)
            stream = learner if isinstance(learner, Stochastic) else Stochastic()
            stands_for = float(stream.total_samples or self.n_seen_)
            if problem.weighs_tokens:
                stands_for *= self.n_tokens_seen_ / self.n_seen_
            workers = problem.engine.open(Shards(corpus, in_order(corpus)), problem.step, threads)
            for b in range(workers.n_shards):
                for _, new, _ in workers.run(model.tables, [b]):
                    seen = tokens(new) if problem.weighs_tokens else new.n_rows
                    total = blend(model.past_stats(), new, stream.step_size(self.n_batch_iter_), stands_for, seen)
                    model = model.update(total)
                    self.n_batch_iter_ += 1
            workers.close()
            self._set_model(model)
        return self

    def _problem(
        self, corpus: Corpus, learner: Learner, inference: Inference, threads: int, *, searches: bool = True
    ) -> TopicProblem:
        K = count_of_components(self.n_components)
        empty = self._empty_model(corpus.n_words)
        return TopicProblem(
            corpus=corpus,
            empty=empty,
            start=lambda rng: self._start(empty, corpus, rng, learner.fades and searches and self.max_iter > 0),
            step=inference.step(self._step_seed() if inference.by_tokens else 0),
            learner=learner,
            engine=self._component("engine"),
            threads=threads,
            n_active=count_of_active(self.n_active, K),
            max_iter=whole_number(self.max_iter, "max_iter", least=0),
            tol=self.tol,
            is_warm=self._is_warm(),
            restarts_small_topics=self._restarts_small_topics() and inference.starts_cold,
            weighs_tokens=inference.by_tokens and isinstance(learner, Stochastic),
        )

    def _start(self, empty: TopicModel, corpus: Corpus, rng: np.random.Generator, sparse: bool) -> TopicModel:
        """The first model, whose counts are pseudo-counts: sparse, where they can be and the learner lets them fade."""
        K, V = empty.n_components, corpus.n_words
        if self._is_warm():
            kept, K = self._n_components_kept(), count_of_components(self.n_components)
            if kept != K:
                raise ValueError(f"warm_start keeps {kept} topics, but n_components is now {K}")
            return replace(self.model_, documents=empty.documents)
        if isinstance(self.init, str):
            counts = STARTS[one_of(self.init, STARTS, "init")](corpus, K, rng)
            if isinstance(counts, PseudoCounts):
                if sparse:
                    return replace(empty, words=empty.words.update(empty.no_stats().S.add(counts)))
                counts = counts.counts()
        else:
            counts = self._given_counts(V, K)
        return replace(empty, words=empty.words.update(WordTotal.of(counts)))

    def _given_counts(self, V: int, K: int) -> np.ndarray:  # [V, K]
        given = self.init
        if hasattr(given, "fit"):
            if not hasattr(given, "components_"):
                raise ValueError(f"init must be fitted before; this {type(given).__name__} has no topics yet{CLONED}")
            given = given.components_
        counts = np.ascontiguousarray(np.asarray(given, dtype=np.float64).T)
        if counts.shape != (V, K) or not np.all(np.isfinite(counts)) or counts.min() < 0:
            raise ValueError(f"init must be finite, not negative and of shape ({K}, {V}), got {counts.T.shape}")
        return counts

    def _step_seed(self) -> int:
        return int(check_random_state(self.random_state).randint(2**31))

    def _is_warm(self) -> bool:
        return bool(self.warm_start) and hasattr(self, "model_")

    def _n_components_kept(self) -> int:
        """What n_components has to be for a warm start."""
        return self.model_.n_components

    def _restarts_small_topics(self) -> bool:
        """Topics that were asked for stay as they are."""
        return isinstance(self.init, str) and self.init in RESTARTED and not self._is_warm()

    def _engine(self) -> Engine:
        engine: Engine = self._component("engine")
        return engine

    def _learner(self) -> Learner:
        learner: Learner = self._component("learner")
        learner.check_engine(self._component("engine"))
        return learner

    def _inference(self) -> Inference:
        inference: Inference = self._component("inference")
        inference.check_learner(self._component("learner"))
        return inference

    def _count_documents(self, corpus: Corpus) -> None:
        seen = getattr(self, "n_seen_", 0.0)
        self.n_seen_ = seen + corpus.n_docs
        before = getattr(self, "n_tokens_seen_", seen * corpus.n_tokens / corpus.n_docs)
        self.n_tokens_seen_ = before + corpus.n_tokens

    def _grown(self, corpus: Corpus) -> TopicModel:
        """The model with room for the words of this corpus, which are its own and perhaps more."""
        if corpus.n_words == self.n_features_in_:
            return self.model_
        if self.model_.words.eta.shape[0] > 1:
            raise ValueError("new words need a topic_word_prior that is one number, or one per topic, not one per word")
        self.model_.words.total.grow(corpus.n_words)
        self.n_features_in_: int = corpus.n_words
        if corpus.vocabulary is not None:
            self.feature_names_in_ = np.array(list(corpus.vocabulary), dtype=object)
        return self.model_

    def _documents(self) -> DocumentOptions:
        """How documents are solved under the topics of the model."""
        n_active = whole_number_or_none(self.n_active, "n_active")
        return without_discount(self._inference().documents(n_active), self._component("learner"))

    def _set_model(self, model: TopicModel) -> None:
        self.model_ = replace(model, partner=None)
        self.topic_word_prior_ = word_prior_as_given(model.words.eta)
        self.components_ = model.words.pseudo_counts()
        self.topic_word_ = model.words.mean()

    def _write(self, out: Writer) -> None:
        out.value("n_components", self.model_.n_components)
        self.model_.write(out)

    def _read(self, file: CheckedReader, K: int) -> None:
        self._set_model(self._empty_model(file.n_features).read(file, K))

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.positive_only = True
        return tags
