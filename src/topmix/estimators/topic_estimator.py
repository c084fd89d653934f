"""What LDA and HDP share as scikit-learn estimators: fitting, and how parameters become a problem to solve."""

from __future__ import annotations

import os
import warnings
from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Self

import numpy as np
import scipy.sparse as sp
from sklearn.base import BaseEstimator
from sklearn.utils import Tags, check_random_state

from topmix.data.atomic import check_can_write
from topmix.data.corpus import Corpus
from topmix.engines import Engine
from topmix.estimators.all_or_nothing import all_or_nothing
from topmix.estimators.checkpoints import checkpoint_of
from topmix.estimators.components import ComponentParameters
from topmix.estimators.first_topics import first_topics
from topmix.estimators.inputs import as_corpus
from topmix.estimators.odd_data import warn_of_odd_data
from topmix.estimators.priors import word_prior_as_given
from topmix.estimators.reading import Reading
from topmix.estimators.saving import SaveMixin
from topmix.estimators.seeding import seed_prior
from topmix.estimators.sklearn_callbacks import CallbackSupportMixin, with_sklearn_callbacks
from topmix.estimators.token_topics import not_whole
from topmix.estimators.topic_output import TopicOutputMixin
from topmix.estimators.topic_stream import StreamMixin
from topmix.estimators.word_rules import WordRules, check_seeds_are_allowed
from topmix.files.reader import CheckedReader
from topmix.files.writer import Writer
from topmix.fitting.exploration import FIRST_PASSES, LAST_PASSES
from topmix.fitting.history import Callback, Clock, TimeLimit, last_objective, passes_made
from topmix.fitting.interrupt import LastPass
from topmix.fitting.passes import Log
from topmix.fitting.progress import shown
from topmix.fitting.topic_fit import TopicFit, TopicProblem
from topmix.inference import Inference
from topmix.inference.fixed_point import without_discount
from topmix.learners import Learner
from topmix.models.document_options import DocumentOptions
from topmix.models.topic_start import RESTARTED
from topmix.models.topics import TopicModel
from topmix.numerics.threads import use_threads
from topmix.parameters.checks import (
    any_number,
    count_of_active,
    count_of_components,
    positive_number,
    whole_number,
    whole_number_or_none,
)

INTERRUPTED = (
    "the fit was interrupted, and has the topics of pass {}: fit again with warm_start=True to go on from there"
)
MOST_COPIES = 50  # tokens of an entry, on average, that are sampled one by one
FEWEST_DOCUMENTS = 3  # per topic: where topics stand for single documents, sampling loses more than it finds


class TopicEstimator(
    StreamMixin, TopicOutputMixin, SaveMixin, CallbackSupportMixin, ComponentParameters, BaseEstimator
):
    """A subclass says what its model is (`_empty_model`) and, where it differs, how the fit begins (`_problem`)."""

    n_components: int
    n_active: int | None
    inference: Any
    learner: Any
    engine: Any
    seeds: Any = None
    seed_strength: float = 0.3
    word_rules: WordRules | None = None
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
    @all_or_nothing
    def fit(
        self,
        X: Any,
        y: Any = None,
        *,
        text: str | Sequence[str] | None = None,
        vectorizer: Any = None,
        feature_names: Sequence[str] | None = None,
        layer: str | None = None,
        checkpoint: str | os.PathLike[str] | None = None,
        checkpoint_every: int = 1,
    ) -> Self:
        """Learns the topics of X: texts, or counts of shape (n_samples, n_features).

        X is a list of strings, a SciPy matrix or an array, a DataFrame or any Arrow table, a Corpus, an AnnData, or the
        path of a file: CSV, JSON lines, Parquet, text, a folder of texts, h5ad, or counts in the formats of
        `topmix.data.read_corpus`. How X was read holds for later calls, and is saved with the model.

        `text` names the column with the texts, or several, which are joined. Words are counted by `vectorizer`, a
        `topmix.data.Vectorizer` or one of scikit-learn; None leaves out English stop words, if the texts are English,
        and words of very few documents or of more than half of them. `feature_names` names the columns of a matrix.
        `layer` is the layer of an AnnData with the counts; None is its X.

        With `checkpoint`, a path, the fit is saved there every `checkpoint_every` passes (sampling sweeps: ten times as
        many) and at its end. Where the file exists already, the fit continues from it: run an interrupted program
        again, and the result has the same bits as if it had never stopped. Data and parameters must be those of the
        interrupted fit, except `max_iter` and `tol`, so a finished fit may be continued as well. Not with n_init > 1,
        nor with CVB0.
        """
        clock = Clock()
        if checkpoint is not None:
            check_can_write(checkpoint)  # before the work
        learner, inference, n_init = self._learner(), self._inference(), whole_number(self.n_init, "n_init")
        reading = Reading(text, vectorizer, feature_names, layer)
        corpus = as_corpus(self, X, reset=not self._is_warm(), reading=reading)
        warn_of_odd_data(corpus, self._topics_asked_for())
        kept = checkpoint_of(self, corpus, checkpoint, whole_number(checkpoint_every, "checkpoint_every"), inference)
        rng = np.random.default_rng(check_random_state(self.random_state).randint(2**31, size=4))
        limits = [] if self.max_time is None else [TimeLimit(positive_number(self.max_time, "max_time"))]
        best: tuple[Log, TopicModel, bool] | None = None
        threads = self._threads()
        with (
            use_threads(threads),
            shown(
                self.verbose, (self.max_iter + inference.sweeps) * n_init, corpus.n_tokens, type(self).__name__
            ) as display,
        ):
            last = LastPass(corpus.n_words)
            keeps = not (hasattr(self, "model_") or learner.has_model_in_pass) and self._engine().keeps_last_pass
            # The user's own come after it: where one of them is interrupted, the pass is kept.
            callbacks = [*([last] if keeps else []), *(self.callbacks or ()), *limits, *display]
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
                    elif last.fitted is not None:
                        self._set_model(last.fitted.model_)
                        warnings.warn(INTERRUPTED.format(last.n_pass), UserWarning, stacklevel=4)
                    raise
                if best is None or last_objective(log.history) > last_objective(best[0].history):
                    best = log, model, converged
            assert best is not None
            log, model, self.converged_ = best
            self.history_, self.n_iter_, self.elbo_ = log.history, passes_made(log.history), last_objective(log.history)
            with np.errstate(over="ignore"):  # next to no tokens, and all of the priors
                self.bound_ = float(np.exp(-self.elbo_ / max(corpus.n_tokens, 1.0)))
            self.n_batch_iter_ = len(log.history) * fit.updates_per_pass
            self._set_model(model)
        return self

    def _problem(
        self, corpus: Corpus, learner: Learner, inference: Inference, threads: int, *, searches: bool = True
    ) -> TopicProblem:
        K, max_iter = count_of_components(self.n_components), whole_number(self.max_iter, "max_iter", least=0)
        empty = self._seeded(self._empty_model(corpus.n_words), corpus)
        learner.check_topics(self.model_ if self._is_warm() else empty)
        is_sparse = learner.fades and searches and max_iter > 0
        seed = int(check_random_state(self.random_state).randint(2**31)) if inference.by_tokens else 0
        return TopicProblem(
            corpus=corpus,
            empty=empty,
            start=lambda rng: first_topics(self, empty, corpus, rng, sparse=is_sparse),
            step=inference.step(seed),
            learner=learner,
            engine=self._engine(),
            threads=threads,
            n_active=count_of_active(self.n_active, K),
            max_iter=max_iter,
            tol=any_number(self.tol, "tol"),
            sweeps=self._sweeps(corpus, learner, inference, max_iter) if searches else 0,
            max_time=self.max_time,
            is_warm=self._is_warm(),
            restarts_small_topics=self._restarts_small_topics() and inference.starts_cold,
            weighs_tokens=inference.by_tokens and not learner.remembers_rows,
        )

    def _seeded(self, empty: TopicModel, corpus: Corpus) -> TopicModel:
        """The model with the user's seeds and rules for words."""
        if self._is_warm():  # it has them already
            return empty
        words, names, K = empty.words, getattr(self, "feature_names_in_", None), empty.n_components
        if self.seeds is not None:
            extra = seed_prior(self.seeds, self.seed_strength, corpus, names, K)
            words = replace(words, extra=extra, learned=False)
        if self.word_rules is not None:
            held = self._component("word_rules").held(names, corpus.n_words, K)
            check_seeds_are_allowed(words.extra, held)
            words = replace(words, held=held, learned=words.learned and held is None)
        return replace(empty, words=words)

    def _topics_asked_for(self) -> int | None:
        """How many topics the user wants; None where the fit decides."""
        return count_of_components(self.n_components)

    def _engine(self) -> Engine:
        """Workers of the engine that learned the topics solve new documents too."""
        engine: Engine = self._component("engine")
        return engine

    def _is_warm(self) -> bool:
        return bool(self.warm_start) and hasattr(self, "model_")

    def _n_components_kept(self) -> int:
        """What n_components has to be for a warm start."""
        return self.model_.n_components

    def _restarts_small_topics(self) -> bool:
        """Topics that were asked for stay as they are."""
        return isinstance(self.init, str) and self.init in RESTARTED and not self._is_warm()

    def _sweeps(self, corpus: Corpus, learner: Learner, inference: Inference, max_iter: int) -> int:
        """Of exploration: none where topics were given, passes or documents are few, or counts cannot be sampled."""
        starts_by_itself = isinstance(self.init, str) and not self._is_warm()
        can_sample = self._engine().samples and learner.samples
        if not (inference.sweeps and starts_by_itself and can_sample and max_iter >= FIRST_PASSES + LAST_PASSES):
            return 0
        if corpus.n_docs < FEWEST_DOCUMENTS * self.n_components:
            return 0
        is_countable = corpus.n_tokens <= MOST_COPIES * corpus.nnz and not len(not_whole(corpus))
        return inference.sweeps if is_countable else 0

    def _learner(self) -> Learner:
        learner: Learner = self._component("learner")
        learner.check_engine(self._engine())
        return learner

    def _inference(self) -> Inference:
        inference: Inference = self._component("inference")
        inference.check_learner(self._component("learner"))
        return inference

    def _documents(self) -> DocumentOptions:
        """How documents are solved under the topics of the model."""
        n_active = whole_number_or_none(self.n_active, "n_active")
        return without_discount(self._inference().documents(n_active), self._component("learner"))

    def _set_model(self, model: TopicModel) -> None:
        self.model_ = replace(model, documents=model.documents.plain(), partner=None)
        self.topic_word_prior_ = word_prior_as_given(model.words.eta)
        extra = model.words.extra
        self.seed_counts_ = None if extra is None else sp.csr_array(extra.by_word().T)
        held = model.words.held
        self.banned_ = None if held is None or not held.banned.nnz else sp.csr_array(held.banned.T)
        self.frozen_ = [] if held is None else [int(k) for k in held.topics]
        self._forget_made()

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
