"""LDA and HDP: how parameters become a problem to solve, and streams."""

from __future__ import annotations

import copy
from abc import abstractmethod
from collections.abc import Sequence
from contextlib import closing
from dataclasses import replace
from functools import partial
from typing import Any, Self, Unpack

import numpy as np
import scipy.sparse as sp
from sklearn.utils import check_random_state

from topmix.base.checks import any_number, count_of_active, count_of_components, whole_number_or_none
from topmix.base.fields import CheckedReader, ModelFileError, Writer
from topmix.corpus.corpus import Corpus
from topmix.corpus.shard import Shards, in_order
from topmix.engines.local import Threads
from topmix.estimators.declared import CountOptions, FitOptions, Settings, TopicOptions, takes
from topmix.estimators.estimator import Learning, check_targets, learned
from topmix.estimators.files import checkpoint_of
from topmix.estimators.odd_data import can_be_sampled, check_sums, warn_of_odd_data
from topmix.estimators.priors import FirstTopics, eta_of, renewed
from topmix.estimators.topics import EditedTopics
from topmix.io.documents import read, read_growing, refuse_iterator
from topmix.io.formulas import Design
from topmix.io.priors import ColumnPrior, Covariates, VersionPrior
from topmix.io.reading import How, Reading
from topmix.learn.checkpoint import TopicFiles
from topmix.learn.fit import FitSettings, PassPlan, Problem, run, starting_from
from topmix.learn.history import Outcome, Record
from topmix.learn.learners import streamed
from topmix.learn.sampling import FIRST_PASSES, LAST_PASSES, SamplingSchedule
from topmix.learn.schedules import MOST_PASSES, ByVersion, TopicPasses, VersionPasses
from topmix.models.covariate_prior import BURN_IN, KEPT_DRAWS
from topmix.models.topics import RESTARTED, DocumentOptions, TopicModel
from topmix.models.word_versions import WordVersions
from topmix.results import edits
from topmix.results.labels import Labels
from topmix.results.seeds import Seeds
from topmix.results.topics import AboutFit, FittedTopics, Solver
from topmix.steps.inference import FixedPoint, Inference

PASSES = 20  # without sampling sweeps, where max_iter is None
FEWEST_DOCUMENTS = 3  # per topic: where topics stand for single documents, sampling loses more than it finds
TRACES_EVERY = 64  # steps of a stream: looking for traces takes as long as some tables


class VariationalTopics(Learning, EditedTopics):
    """A subclass says what its model is (`_empty_model`) and, where it differs, what there is to solve (`_problem`).

    Parameters
    ----------
    n_active : int or None
        Topics kept for each word of a document, L; None keeps all K. The other topics get nothing.
    inference : {"collapsed", "variational", "cvb0", "scvb0"} or an object of topmix.inference
        How a document is solved. "collapsed" finds better topics than "variational", which is scikit-learn's.
    learner : {"memoized", "batch", "stochastic", "asynchronous"} or an object of topmix.learners
        How the documents are visited. "asynchronous" needs inference="variational".
    max_iter : int or None
        Passes over the data, at most, sampling sweeps among them. None is 20 and as many more as there are sweeps. 0
        leaves the topics where they start.
    tol : float
        Stop when a pass lifts the objective by less than this, per token.

    Attributes
    ----------
    topic_word_ : ndarray of shape (n_components, n_features)
        Probabilities of words in topics, rows sum to one: components_ with `smoothing` of the inference in the place of
        the prior.
    topic_word_prior_ : float or ndarray
        eta: a number where one was given or learned, else an array as it was given.
    seed_counts_ : sparse array of shape (n_components, n_features) or None
        What seeds added to the prior.
    banned_ : sparse array of shape (n_components, n_features) or None
        True where a word may not belong to a topic.
    frozen_ : list of int
        The topics that `freeze_topics` keeps as they are.
    objective_, elbo_ : float
        The objective at the end: a lower bound on the log evidence (variational), or on the log posterior of topics and
        proportions (collapsed).
    bound_ : float
        exp(-elbo_ / tokens): for variational inference the training perplexity that scikit-learn has under this name.
    n_batch_iter_ : int
        Updates of the topics so far.
    """

    inference: str | Inference = "collapsed"
    doc_topic_prior: Any = None
    topic_word_prior: Any = None
    max_iter: int | None = None
    tol = 3e-3

    _saved_numbers = (*EditedTopics._saved_numbers, "bound", "n_tokens_seen")

    elbo_ = learned[float](lambda f: f.objective)
    bound_ = learned[float](lambda f: f.bound)
    n_tokens_seen_ = learned[float](lambda f: f.n_tokens_seen)
    topic_word_prior_ = learned(eta_of)
    frozen_ = learned[list[int]](edits.frozen_topics)

    @property
    def seed_counts_(self) -> sp.csr_array | None:
        extra = self.model_.words.extra
        return None if extra is None else sp.csr_array(extra.by_word().T)

    @property
    def banned_(self) -> sp.csr_array | None:
        held = self.model_.words.held
        return None if held is None or not held.banned.nnz else sp.csr_array(held.banned.T)

    @abstractmethod
    def _empty_model(self, V: int, design: Design | None = None) -> TopicModel:
        """Priors and options of documents, and no counts yet."""

    def _reported(self, model: TopicModel) -> TopicModel:
        """What is kept of a model after a fit."""
        return replace(model, document_options=replace(model.document_options, sampling=None), partner=None)

    @takes(TopicOptions)
    def fit(self, X: object, y: object = None, **how: Unpack[TopicOptions]) -> Self:
        """Learns the topics of X: texts, or counts of shape (n_samples, n_features).

        X is a list of strings, a SciPy matrix or an array, a DataFrame or any Arrow table, a Corpus, an AnnData, or the
        path of a file: CSV, JSON lines, Parquet, text, a folder of texts, h5ad, or counts in the formats of
        `topmix.data.read_corpus`. How X was read holds for later calls, and is saved with the model.
        """
        options = FitOptions.of(how)
        return self._learn(lambda: self._declared()._fit(X, y, options))

    def _fit(self, X: object, y: object, options: FitOptions) -> FittedTopics:
        corpus, reading = self._documents(X, options)
        check_targets(y, corpus.n_docs)
        problem, settings, rng = self._prepared(corpus, reading, options)
        result = run(problem, settings, rng)
        if corpus.version is not None and reading.versions is not None:
            # The fit goes on: topics come apart into versions.
            model = replace(result.model.on_host(), document_options=self._document_options(), partner=None)
            further = replace(
                problem,
                first=starting_from(model),
                step=self._inference().step(0),
                learner=ByVersion(corpus, corpus.version, reading.versions.place, len(reading.versions.names)),
                engine=Threads(),
                max_iter=MOST_PASSES if self.max_iter is None else int(np.clip(self.max_iter, 1, MOST_PASSES)),
                plan=VersionPasses,
                keep=None,
            )
            result = run(further, replace(settings, n_init=1), rng, result)
        return self._ended(reading, result, corpus)

    def _column_priors(self) -> list[ColumnPrior]:
        return []

    def _documents(self, X: object, options: FitOptions) -> tuple[Corpus, Reading]:
        """The documents of a fit. Settings that cannot be are refused first."""
        self._learner()
        inference, priors, metadata = self._inference(), self._column_priors(), options.metadata
        if priors and metadata is None:
            refuse_iterator(X)
        warm = self._before()
        for prior in (given for given in priors if isinstance(given, VersionPrior)):
            if not isinstance(inference, FixedPoint):
                raise ValueError(f"{prior!r} needs inference='collapsed' or 'variational'")
            if self._component("seeds") is not None or (warm is not None and warm.topics.words.is_told):
                raise ValueError(f"{prior!r} cannot be combined with seeds, banned, pinned or frozen words yet")
        owner, engine, known = type(self).__name__, self._engine(), None if warm is None else warm.reading
        return read(X, options.how, known, owner=owner, engine=engine, priors=priors, metadata=metadata)

    def _prepared(
        self, corpus: Corpus, reading: Reading, options: FitOptions, lda: VariationalTopics | None = None,
        labels: Labels | None = None,
    ) -> tuple[Problem, FitSettings, np.random.Generator]:  # fmt: skip
        """What there is to solve, by this estimator or by an `lda` with its settings, and how."""
        by = self if lda is None else lda
        check_sums(corpus)
        warn_of_odd_data(corpus, by._topics_asked_for())
        problem, rng = by._problem(corpus, reading), by._rng()
        if options.checkpoint is not None:
            inference = by._inference()
            if not inference.has_checkpoints:
                raise ValueError(f"a checkpoint does not hold the responsibilities of {type(inference).__name__}")
            assert problem.empty is not None
            files = TopicFiles.like(problem.empty)
            problem = replace(problem, keep=checkpoint_of(self, problem, options, files))

        def fitted(model: TopicModel, history: Sequence[Record]) -> FittedTopics:
            return self._value(reading, copy.deepcopy(model.on_host()), history, labels)

        settings = self._settings(corpus.n_tokens, corpus.n_words, fitted, options.clock)
        settings.keeps_last &= not problem.learner.travels and not problem.engine.on_device
        return problem, settings, rng

    def _ended(self, reading: Reading, result: Outcome, corpus: Corpus, labels: Labels | None = None) -> FittedTopics:
        with np.errstate(over="ignore"):  # next to no tokens, and all of the priors
            bound = float(np.exp(-result.objective / max(corpus.n_tokens, 1.0)))
        return replace(
            self._value(reading, result.model, result.history, labels),
            converged=result.converged,
            objective=result.objective,
            bound=bound,
            n_updates=result.n_updates,
        )

    def _value(
        self, reading: Reading, model: TopicModel, history: Sequence[Record], labels: Labels | None = None
    ) -> FittedTopics:
        """What there is after these passes. A warm start keeps names and edits."""
        before = self._before()
        places = None if before is None or before.n_topics != model.n_components else before.places
        return FittedTopics(
            reading=reading,
            model=self._reported(replace(model, versions=None)),
            versions=model.versions,
            labels=labels,
            history=tuple(history),
            n_iter=len(history),
            names={} if before is None else before.names,
            edits=() if before is None else before.edits,
            places=places,
        )

    @takes(CountOptions)
    def partial_fit(self, X: object, y: object = None, **how: Unpack[CountOptions]) -> Self:
        """One stochastic step on these documents, which may bring new words. The first call reads X as `fit` does, and
        later ones in the same way.

        In texts and in a Corpus with a vocabulary words are known by name, in any order; in a matrix or a DataFrame
        new words are columns after those that were there. New words start with the prior in every topic, so
        `topic_word_prior` cannot be one value per word. `total_samples` of `Stochastic` says how many documents the
        stream stands for, and `half_life` how fast it forgets. `topmix.Stream` does more for a stream.
        """
        return self._learn(lambda: self._declared()._step(X, How.of(how)))

    def _step(self, X: object, how: How) -> FittedTopics:
        learner, f = self._learner(), self._fitted
        learner.check_stream()
        if priors := self._column_priors():
            raise ValueError(f"partial_fit learns nothing of columns: use fit, or another prior than {priors[0]!r}")
        about: Settings = {"owner": type(self).__name__, "engine": self._engine()}
        corpus, reading = read(X, how, **about) if f is None else read_growing(X, f.reading, **about)
        problem = self._problem(corpus, reading, searches=False)
        assert problem.empty is not None
        if f is None:
            f, model = FittedTopics(reading=reading, model=problem.empty), problem.first(self._rng())[0]
        else:
            model = replace(f.topics.grown(corpus.n_words), document_options=problem.empty.document_options)
        n_seen = f.n_seen + corpus.n_docs
        n_tokens_seen = (f.n_tokens_seen or f.n_seen * corpus.n_tokens / corpus.n_docs) + corpus.n_tokens
        tokens_per_row = n_tokens_seen / n_seen if problem.weighs_tokens else None
        with closing(problem.engine.open(Shards(corpus, in_order(corpus)), problem.step, problem.threads)) as workers:
            past = TopicModel.past_stats
            model, new = streamed(workers, model, past, learner, f.n_updates, n_seen, tokens_per_row)
            sizes = np.array(new.S.totals, np.float64)
        if (f.n_updates + 1) % TRACES_EVERY == 0:
            model.words.total.drop_traces()
        return replace(
            f,
            reading=reading,
            model=self._reported(model),
            n_updates=f.n_updates + 1,
            n_seen=n_seen,
            n_tokens_seen=n_tokens_seen,
            last_sizes=sizes,
        )

    def _problem(self, corpus: Corpus, reading: Reading, *, searches: bool = True) -> Problem:
        """What there is to solve. `searches=False`: one step of a stream."""
        K, warm = count_of_components(self.n_components), self._before()
        learner, inference = self._learner(), self._inference()
        sweeps, max_iter = self._sweeps(corpus) if searches else (0, 1)
        draws = BURN_IN + KEPT_DRAWS if sweeps and isinstance(self.doc_topic_prior, Covariates) else 0
        if self.max_iter is None:
            max_iter += draws
        else:
            draws = max(min(draws, max_iter - FIRST_PASSES - LAST_PASSES - sweeps), 0)
        seeds: Seeds | None = self._component("seeds")
        empty = self._empty_model(corpus.n_words, reading.design)
        if warm is None and seeds is not None:
            extra, held = seeds.told(corpus, reading.words, K)
            learns = empty.words.learned and extra is None and held is None
            empty = replace(empty, words=replace(empty.words, extra=extra, held=held, learned=learns))
        topics = None if warm is None else self._renewed(warm, empty) if searches else warm.topics
        learner.check_topics(topics or empty)
        restarts = isinstance(self.init, str) and self.init in RESTARTED and warm is None and inference.starts_cold
        plan: PassPlan = partial(TopicPasses, restarts=restarts)
        if sweeps:
            plan = partial(SamplingSchedule, restarts=restarts, sweeps=sweeps, draws=draws, max_time=self.max_time)
        is_sparse = learner.fades and searches and max_iter > 0
        seed = int(check_random_state(self.random_state).randint(2**31)) if inference.by_tokens else 0
        return Problem(
            data=corpus,
            first=FirstTopics(self.init, empty, corpus, seeds, reading.words, is_sparse, topics),
            step=inference.step(seed),
            learner=learner,
            engine=self._engine(),
            threads=self._threads(),
            n_active=count_of_active(self.n_active, K),
            max_iter=max_iter,
            least_gain=any_number(self.tol, "tol") * max(corpus.n_tokens, 1.0),
            plan=plan,
            empty=empty,
            is_warm=warm is not None,
            weighs_tokens=inference.by_tokens and not learner.remembers_rows,
        )

    def _renewed(self, f: FittedTopics, empty: TopicModel) -> TopicModel:
        """The topics of an earlier fit, with the priors and posteriors of now."""
        changed = self._check_warm(f, self._topics_asked_for())
        prior, words = f.topics.prior, replace(f.topics.words, posterior=empty.words.posterior)
        if "doc_topic_prior" in changed:
            prior = renewed(empty.prior, prior)
        elif prior.posterior != empty.prior.posterior:
            prior = replace(prior, posterior=empty.prior.posterior)  # type: ignore[type-var]
        if "topic_word_prior" in changed:
            words = replace(words, eta=empty.words.eta, learned=empty.words.learned and not words.is_told)
        return replace(f.topics, prior=prior, words=words)

    def most_passes(self, corpus: Corpus) -> int:
        """The passes over these documents that `fit` makes at most, sampling sweeps among them."""
        return self._sweeps(corpus)[1]

    def _sweeps(self, corpus: Corpus) -> tuple[int, int]:
        """Sampling sweeps, and passes in all: no sweeps where topics were given, passes or documents are few, or counts
        cannot be sampled."""
        max_iter = whole_number_or_none(self.max_iter, "max_iter", least=0)
        most = np.inf if max_iter is None else max_iter - FIRST_PASSES - LAST_PASSES
        sweeps = max(int(min(self._inference().sweeps, most)), 0)
        if (
            not (isinstance(self.init, str) and self._learner().samples)
            or self._before() is not None
            or corpus.n_docs < FEWEST_DOCUMENTS * self.n_components
            or not can_be_sampled(corpus)
        ):
            sweeps = 0
        return sweeps, PASSES + sweeps if max_iter is None else max_iter

    def _inference(self) -> Inference:
        inference: Inference = self._component("inference")
        inference.check_learner(self._component("learner"))
        return inference

    def _document_options(self) -> DocumentOptions:
        """How documents are solved under the topics of the model."""
        options = self._inference().document_options(whole_number_or_none(self.n_active, "n_active"))
        # Own tokens are discounted where the topics' counts contain a document's last visit: not in blended batches.
        return options if self._component("learner").remembers_rows else replace(options, own_discount=0.0)

    def _solved(self) -> FittedTopics:
        f = self._found()
        return replace(f, model=replace(f.topics, document_options=self._declared()._document_options()))

    def _solver(self) -> Solver:
        """Workers of the engine that learned the topics solve new documents too. A device has no kernel for words that
        are held."""
        f, engine = self._fitted, self._engine()
        if f is not None and engine.on_device and f.topics.words.held is not None:
            engine = Threads()
        return Solver(engine, self._threads())

    def _edited(self, f: FittedTopics) -> Self:
        """With these topics. Priors and `init` that were given topic by topic are changed in the same way."""
        if f.versions is not None:
            raise ValueError("topics with versions cannot be edited yet, apart from their names: fit again")
        model = self._reported(f.topics)
        if np.ndim(self.doc_topic_prior):
            self.doc_topic_prior = model.prior.alpha
        if np.ndim(self.topic_word_prior):
            self.topic_word_prior = eta_of(replace(f, model=model))
        if not isinstance(self.init, str):
            self.init = np.maximum(model.words.total.counts().T, 0.0)
        self.n_components = model.n_components
        self._fitted = replace(f, model=model)
        return self

    def _write(self, fitted: FittedTopics, out: Writer) -> None:
        fitted.topics.write(out)
        for name, part in (("versions", fitted.versions), ("labels", fitted.labels), ("response", fitted.response)):
            if part is not None:
                part.write(out.at(name))

    def _read(self, about: AboutFit, file: CheckedReader, K: int) -> FittedTopics:
        reading: Reading = about["reading"]
        model = self._reported(self._empty_model(file.n_features, reading.design).read(file, K))
        versions = None
        if reading.versions is not None:
            T, posterior = len(reading.versions.names), model.words.posterior
            versions = WordVersions.read(file.at("versions"), T=T, V=file.n_features, K=K, posterior=posterior)
            if len(versions.place) != len(reading.versions.place):
                raise ModelFileError("the versions of the model are both groups and periods")
        return FittedTopics(**about, model=model, versions=versions)
