"""LDA and HDP: how parameters become a problem to solve, streams, and edits of topics."""

from __future__ import annotations

import copy
import os
from abc import abstractmethod
from collections.abc import Iterable, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, Self

import numpy as np
import scipy.sparse as sp
from sklearn.utils import check_random_state

from topmix.allocations.covariate_prior import BURN_IN, KEPT_DRAWS
from topmix.api.checkpoints import checkpoint_of
from topmix.api.estimator import learned
from topmix.api.odd_data import MOST_COPIES, can_be_drawn, check_sums, check_targets, not_whole, warn_of_odd_data
from topmix.api.priors import word_prior_as_given
from topmix.api.sklearn_callbacks import with_sklearn_callbacks
from topmix.api.starts import first_topics
from topmix.api.topics import TopicEstimator
from topmix.data.atomic import check_can_write
from topmix.data.corpus import Corpus
from topmix.data.shard import Shards, in_order
from topmix.engines import Threads
from topmix.engines.rounds import rounds_of
from topmix.files.reader import CheckedReader, ModelFileError
from topmix.files.writer import Writer
from topmix.fitted import edits
from topmix.fitted.documents import Solver
from topmix.fitted.frames import DataFrame
from topmix.fitted.seeds import STRENGTH, Seed, Seeds, Word, check_allowed
from topmix.fitted.topics import FittedTopics
from topmix.fitting.history import Callback, Clock, Record
from topmix.fitting.loop import Course, Outcome
from topmix.fitting.problem import TopicProblem
from topmix.fitting.progress import shown
from topmix.fitting.sampling import FIRST_PASSES, LAST_PASSES
from topmix.fitting.topics import TopicStart
from topmix.fitting.versions import MOST_PASSES, VersionProblem, learn_versions
from topmix.fitting.view import PassView
from topmix.inference import Inference
from topmix.inference.fixed_point import FixedPoint, without_discount
from topmix.learners import Learner
from topmix.learners.stochastic import blend, stream_of, tokens
from topmix.likelihoods.word_versions import WordVersions
from topmix.models.document_options import DocumentOptions
from topmix.models.topic_start import RESTARTED
from topmix.models.topics import TopicModel
from topmix.parameters.checks import (
    any_number,
    count_of_active,
    count_of_components,
    whole_number,
    whole_number_or_none,
)
from topmix.priors import ByGroup, Covariates, Design, OverTime, beside
from topmix.read import How, Reading, read, read_growing, refuse_iterator
from topmix.stats import TopicStats

PASSES = 20  # without sampling sweeps, where max_iter is None
FEWEST_DOCUMENTS = 3  # per topic: where topics stand for single documents, sampling loses more than it finds
SPLIT_DOCUMENTS, SPLIT_PER_TOPIC = 5000, 25  # that a split looks at
TRACES_EVERY = 64  # steps of a stream: looking for traces takes as long as some tables


class VariationalTopics(TopicEstimator):
    """A subclass says what its model is (`_empty_model`) and, where it differs, what there is to solve (`_problem`)."""

    n_active: int | None
    inference: str | Inference
    doc_topic_prior: Any
    topic_word_prior: Any
    seeds: object = None
    tol: float
    init: Any

    _saved_numbers = (*TopicEstimator._saved_numbers, "bound", "n_tokens_seen")

    elbo_ = learned[float](lambda f: f.objective)
    bound_ = learned[float](lambda f: f.bound)
    n_tokens_seen_ = learned[float](lambda f: f.n_tokens_seen)
    topic_word_prior_ = learned[Any](lambda f: word_prior_as_given(f.topics.words.eta))
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
        """What is kept of a model: documents that are not of the fit, and topics as the parameters report them."""
        return replace(model, document_options=model.document_options.plain(), partner=None)

    @with_sklearn_callbacks
    def fit(
        self,
        X: object,
        y: object = None,
        *,
        text: str | Sequence[str] | None = None,
        vectorizer: object = None,
        feature_names: Sequence[str] | None = None,
        layer: str | None = None,
        metadata: object = None,
        checkpoint: str | os.PathLike[str] | None = None,
        checkpoint_every: int = 1,
    ) -> Self:
        """Learns the topics of X: texts, or counts of shape (n_samples, n_features).

        X is a list of strings, a SciPy matrix or an array, a DataFrame or any Arrow table, a Corpus, an AnnData, or the
        path of a file: CSV, JSON lines, Parquet, text, a folder of texts, h5ad, or counts in the formats of
        `topmix.data.read_corpus`. How X was read holds for later calls, and is saved with the model.

        `text` names the column with the texts, or several, which are joined. Words are counted by `vectorizer`, a
        `topmix.data.Vectorizer` or one of scikit-learn; None leaves out mark-up, numbers, stop words of the languages
        of the texts, and words of very few documents or of more than half of them. `feature_names` names the columns of
        a matrix. `layer` is the layer of an AnnData with the counts; None is its X. `metadata` is a table with one row
        per document for the columns that `Covariates`, `OverTime` and `ByGroup` name; None where X has them.

        With `checkpoint`, a path, the fit is saved there every `checkpoint_every` passes (sampling sweeps: ten times as
        many) and at its end. Where the file exists already, the fit continues from it: run an interrupted program
        again, and the result has the same bits as if it had never stopped. Data and parameters must be those of the
        interrupted fit, except `max_iter` and `tol`, so a finished fit may be continued as well. Not with n_init > 1,
        nor with CVB0.
        """
        clock = Clock()
        if checkpoint is not None:
            check_can_write(checkpoint)  # before the work
        every, how = whole_number(checkpoint_every, "checkpoint_every"), How(text, vectorizer, feature_names, layer)
        return self._learn(lambda: self._declared()._fit(X, y, how, metadata, clock, checkpoint, every))

    def _fit(
        self,
        X: object,
        y: object,
        how: How,
        metadata: object,
        clock: Clock,
        path: str | os.PathLike[str] | None,
        every: int,
    ) -> FittedTopics:
        learner, inference = self._learner(), self._inference()
        if (self._covariates() or self._versions()) is not None and metadata is None:
            refuse_iterator(X)
        self._check_versions(inference)
        corpus, reading = read(X, how, self._known(), owner=type(self).__name__, engine=self._engine())
        check_targets(y, corpus.n_docs)
        corpus, reading = self._with_covariates(
            corpus, reading, X if metadata is None else metadata, metadata is not None
        )
        corpus, reading = self._with_versions(corpus, reading, X if metadata is None else metadata)
        check_sums(corpus)
        warn_of_odd_data(corpus, self._topics_asked_for())
        checkpoint = checkpoint_of(self, corpus, path, every, inference)
        rng = self._rng()
        problem = replace(self._problem(corpus, reading, learner, inference), checkpoint=checkpoint)

        def fitted(model: TopicModel, history: Sequence[Record]) -> FittedTopics:
            return self._value(reading, copy.deepcopy(model.on_host()), history)

        course = self._course(corpus.n_tokens, corpus.n_words, problem.max_iter, fitted, clock)
        course.keeps_last &= not learner.has_model_in_pass and problem.engine.keeps_last_pass
        found = self._further(problem, course.run(partial(TopicStart, problem), rng), course, rng)
        versions = None
        if corpus.version is not None and reading.versions is not None:
            found, versions = self._apart(problem, found, reading, inference, clock)
        with np.errstate(over="ignore"):  # next to no tokens, and all of the priors
            bound = float(np.exp(-found.objective / max(corpus.n_tokens, 1.0)))
        return replace(
            self._value(reading, found.model, found.history),
            versions=versions,
            converged=found.converged,
            objective=found.objective,
            bound=bound,
            n_updates=found.n_updates,
        )

    def _further(
        self, problem: TopicProblem, found: Outcome[TopicModel], course: Course[FittedTopics], rng: np.random.Generator
    ) -> Outcome[TopicModel]:
        """Further passes, where topics learn from more than words."""
        return found

    def _covariates(self) -> Covariates | None:
        """What priors of documents depend on."""
        return self.doc_topic_prior if isinstance(self.doc_topic_prior, Covariates) else None

    def _versions(self) -> OverTime | ByGroup | None:
        """What makes the words of topics differ, in LDA."""
        return None

    def _check_versions(self, inference: Inference) -> None:
        if (versions := self._versions()) is None:
            return
        if not isinstance(inference, FixedPoint):
            raise ValueError(f"{versions!r} needs inference='collapsed' or 'variational'")
        before = self._fitted if self._is_warm() else None
        if self._component("seeds") is not None or (before is not None and before.topics.words.is_told):
            raise ValueError(f"{versions!r} cannot be combined with seeds, banned, pinned or frozen words yet")

    def _with_versions(self, corpus: Corpus, reading: Reading, source: object) -> tuple[Corpus, Reading]:
        """The documents with the versions of topics that they have."""
        if (versions := self._versions()) is None:
            return corpus, replace(reading, versions=None)
        column, version = versions.versions(source, corpus.n_docs)
        return corpus.with_versions(version), replace(reading, versions=column)

    def _apart(
        self, problem: TopicProblem, found: Outcome[TopicModel], reading: Reading, inference: Inference, clock: Clock
    ) -> tuple[Outcome[TopicModel], WordVersions]:
        """The topics that were found come apart into versions."""
        corpus, column = problem.corpus, reading.versions
        assert corpus.version is not None
        assert column is not None
        most = MOST_PASSES if self.max_iter is None else int(np.clip(self.max_iter, 1, MOST_PASSES))
        options = self._document_options()
        apart = VersionProblem(
            corpus, corpus.version, column.place, len(column.names), inference.step(0), problem.threads,
            problem.tol, most, problem.max_time,
        )  # fmt: skip

        def shown_as(model: TopicModel) -> object:
            return self._with(self._value(reading, copy.deepcopy(model), history))

        history = list(found.history)
        with shown(self.verbose, len(history) + most, corpus.n_tokens, type(self).__name__) as display:
            callbacks: list[Callback] = [*(self.callbacks or ()), *display]

            def report(record: Record, model: TopicModel) -> bool:
                history.append(record)
                view = PassView(model, shown_as)
                answers = [call(record, view) for call in callbacks]  # all of them are called
                return any(answers)

            model = replace(found.model, document_options=options, partner=None)
            model, versions, converged = learn_versions(apart, model, clock, report, len(history))
        return Outcome(model, history, converged, found.n_updates + len(history) - len(found.history)), versions

    def _beside(self, source: object, n_docs: int) -> dict[str, np.ndarray]:
        """The columns that the priors of documents depend on."""
        covariates, versions = self._covariates(), self._versions()
        names = [] if covariates is None else covariates.columns
        return beside(source, names if versions is None else [*names, versions.column], n_docs)

    def _with_covariates(
        self, corpus: Corpus, reading: Reading, source: object, is_given: bool
    ) -> tuple[Corpus, Reading]:
        """The documents with the columns that their priors depend on."""
        covariates = self._covariates()
        if covariates is None:
            if is_given and self._versions() is None:
                raise ValueError("metadata= has the columns of Covariates: set doc_topic_prior=Covariates(...)")
            return corpus, reading
        if reading.design is not None:  # a warm start
            return corpus.with_design(reading.design.rows(source, corpus.n_docs)), reading
        design, rows = covariates.design(source, corpus.n_docs)
        return corpus.with_design(rows), replace(reading, design=design)

    def _value(self, reading: Reading, model: TopicModel, history: Sequence[Record]) -> FittedTopics:
        """What there is after these passes. A warm start keeps names and edits."""
        before = self._fitted if self._is_warm() else None
        names, made = ({}, ()) if before is None else (before.names, before.edits)
        is_placed = before is not None and before.places is not None and before.n_topics == model.n_components
        return FittedTopics(
            reading=reading,
            model=self._reported(model),
            history=tuple(history),
            n_iter=len(history),
            names=names,
            edits=made,
            places=before.places if before is not None and is_placed else None,
        )

    def partial_fit(
        self,
        X: object,
        y: object = None,
        *,
        text: str | Sequence[str] | None = None,
        vectorizer: object = None,
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
        how = How(text, vectorizer, feature_names, layer)
        return self._learn(lambda: self._declared()._step(X, how))

    def _step(self, X: object, how: How) -> FittedTopics:
        learner, inference, f = self._learner(), self._inference(), self._fitted
        learner.check_stream()
        if self._covariates() is not None:
            raise ValueError(
                "partial_fit learns no effects of Covariates: use fit, for instance with learner='stochastic'"
            )
        if (versions := self._versions()) is not None:
            raise ValueError(f"partial_fit learns no versions of topics: use fit, or another prior than {versions!r}")
        about: dict[str, Any] = {"owner": type(self).__name__, "engine": self._engine()}
        corpus, reading = read(X, how, **about) if f is None else read_growing(X, f.reading, **about)
        problem = self._problem(corpus, reading, learner, inference, searches=False)
        if f is None:
            f, model = FittedTopics(reading=reading, model=problem.empty), problem.start(self._rng())
        else:
            model = replace(_grown(f, corpus), document_options=problem.empty.document_options)
        stream, n_seen = stream_of(learner), f.n_seen + corpus.n_docs
        n_tokens_seen = (f.n_tokens_seen or f.n_seen * corpus.n_tokens / corpus.n_docs) + corpus.n_tokens
        stands_for = stream.stands_for(n_seen) * (n_tokens_seen / n_seen if problem.weighs_tokens else 1.0)
        workers = problem.engine.open(Shards(corpus, in_order(corpus)), problem.step, problem.threads)
        try:
            model = workers.place(model)
            new, _ = rounds_of(workers, {}).visit_once(model.tables, range(workers.n_shards))
            assert isinstance(new, TopicStats)
            seen = tokens(new) if problem.weighs_tokens else new.n_rows
            size = stream.step_size(f.n_updates, new.n_rows)
            model = model.update(blend(model.past_stats(), new, size, stands_for, seen)).on_host()
            sizes = np.array(new.S.totals, np.float64)
        finally:
            workers.close()
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

    def _problem(
        self, corpus: Corpus, reading: Reading, learner: Learner, inference: Inference, *, searches: bool = True
    ) -> TopicProblem:
        """What there is to solve. `searches=False`: one step of a stream."""
        K, warm = count_of_components(self.n_components), self._fitted if self._is_warm() else None
        sweeps, max_iter = self._sweeps(corpus, learner, inference) if searches else (0, 1)
        draws = BURN_IN + KEPT_DRAWS if sweeps and self._covariates() is not None else 0
        if self.max_iter is None:
            max_iter += draws
        else:
            draws = max(min(draws, max_iter - FIRST_PASSES - LAST_PASSES - sweeps), 0)
        seeds: Seeds | None = self._component("seeds")
        empty = self._empty_model(corpus.n_words, reading.design)
        if warm is None and seeds is not None:
            empty = _seeded(empty, seeds, corpus, reading)
        learner.check_topics(empty if warm is None else warm.topics)
        is_sparse = learner.fades and searches and max_iter > 0
        seed = int(check_random_state(self.random_state).randint(2**31)) if inference.by_tokens else 0
        starts_by_itself = isinstance(self.init, str) and self.init in RESTARTED and warm is None

        def start(rng: np.random.Generator, empty: TopicModel = empty, sparse: bool = is_sparse) -> TopicModel:
            if warm is not None:
                self._check_warm(warm)
                return replace(warm.topics, document_options=empty.document_options)
            return first_topics(self.init, empty, corpus, rng, seeds=seeds, names=reading.words, sparse=sparse)

        return TopicProblem(
            corpus=corpus,
            empty=empty,
            start=start,
            step=inference.step(seed),
            learner=learner,
            engine=self._engine(),
            threads=self._threads(),
            n_active=count_of_active(self.n_active, K),
            max_iter=max_iter,
            tol=any_number(self.tol, "tol"),
            sweeps=sweeps,
            draws=draws,
            max_time=self.max_time,
            is_warm=warm is not None,
            restarts_small_topics=starts_by_itself and inference.starts_cold,
            weighs_tokens=inference.by_tokens and not learner.remembers_rows,
        )

    def _sweeps(self, corpus: Corpus, learner: Learner, inference: Inference) -> tuple[int, int]:
        """Sampling sweeps, and passes in all: no sweeps where topics were given, passes or documents are few, or counts
        cannot be sampled."""
        max_iter = whole_number_or_none(self.max_iter, "max_iter", least=0)
        sweeps, most = inference.sweeps, np.inf if max_iter is None else max_iter - FIRST_PASSES - LAST_PASSES
        if (
            not (isinstance(self.init, str) and self._engine().samples and learner.samples)
            or self._is_warm()
            or corpus.n_docs < FEWEST_DOCUMENTS * self.n_components
            or corpus.n_tokens > MOST_COPIES * corpus.nnz
            or not can_be_drawn(corpus)
            or most < 1
            or len(not_whole(corpus))
        ):
            sweeps = 0
        sweeps = max(int(min(sweeps, most)), 0)
        return sweeps, PASSES + sweeps if max_iter is None else max_iter

    def _topics_asked_for(self) -> int | None:
        """How many topics the user wants; None where the fit decides."""
        return count_of_components(self.n_components)

    def _learner(self) -> Learner:
        learner: Learner = self._component("learner")
        learner.check_engine(self._engine())
        return learner

    def _inference(self) -> Inference:
        inference: Inference = self._component("inference")
        inference.check_learner(self._component("learner"))
        return inference

    def _document_options(self) -> DocumentOptions:
        """How documents are solved under the topics of the model."""
        n_active = whole_number_or_none(self.n_active, "n_active")
        return without_discount(self._inference().document_options(n_active), self._component("learner"))

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

    # Edits. They change the fitted topics and n_components. Where priors or `init` were given topic by topic, they are
    # changed in the same way. To continue learning from the edited topics, fit with warm_start=True.

    def merge_topics(self, groups: Iterable[Sequence[int]]) -> Self:
        """Makes one topic of each pair (or larger group) of topics, for instance [(2, 7), (3, 4)].

        It has the words of all, in the place of the lowest; later topics move up. Pairs that share a topic join:
        [(0, 1), (1, 2)] is [(0, 1, 2)]. The prior of a merged topic is the sum of theirs.
        """
        return self._edited(edits.merge(self._found(), groups))

    def suggest_merges(self, X: object, *, n_pairs: int = 10, max_docs: int = 2000, random_state: int = 0) -> DataFrame:
        """The nearest pairs of topics, and what merging each alone would do to the objective of documents X: a table.

        `distance` is the Hellinger distance of the two topics, and `share` what both have of all tokens. `change` is
        how `score(X)` per token would change: near 0 if the two say the same, and negative if documents need both. The
        best pair to merge is first. At most `max_docs` random documents are used. Nothing is merged:
        `merge_topics([(2, 7)])` does it.
        """
        f, n = self._solved(), whole_number(n_pairs, "n_pairs")
        corpus = self._sampled(X, max_docs, random_state)
        return self._frame(edits.suggest_merges(f, corpus, self._solver(), n))

    def split_topic(self, X: object, topic: int, *, max_docs: int | None = None, random_state: int = 0) -> Self:
        """Makes two topics of one, by the documents X that have most of it: their words in it fall into two kinds.

        The topic keeps its place and its name, and the other kind of words becomes the last topic. Another
        `random_state` may find another cut; at most `max_docs` random documents are looked at, by default 5000, or 25
        for each topic where these are more. Raises ValueError where too few documents have the topic.
        """
        most = max(SPLIT_DOCUMENTS, SPLIT_PER_TOPIC * self._found().n_topics) if max_docs is None else max_docs
        corpus = self._sampled(X, most, random_state)
        return self._edited(edits.split(self._solved(), corpus, self._solver(), topic, random_state))

    def drop_topics(self, topics: Iterable[int]) -> Self:
        """Removes topics; later ones move up. Their tokens go to other topics when documents are next visited."""
        return self._edited(edits.drop(self._found(), topics))

    def seed_topics(
        self, seeds: Iterable[Seed], *, topics: Iterable[int] | None = None, strength: float = STRENGTH
    ) -> Self:
        """Adds a topic for each seed, or pulls existing `topics`, one for each seed, towards its words.

        A seed is a list of words, or a table {word: weight}; words are names, or column numbers. It adds pseudo-counts
        to the prior of the topic: `strength` x weight x the tokens of that word in all topics, and at least one. With
        strength=1 the topic has as much of the word, before it sees a document, as the corpus has.

        The seeds stay in the prior as long as learning continues from this model (warm_start=True, partial_fit, or the
        saved model); `seed_counts_` has them. topic_word_prior="auto" is not learned any more.
        """
        return self._edited(edits.seed(self._found(), seeds, topics, strength))

    def ban_words(self, topic: int, words: Iterable[Word]) -> Self:
        """Keeps words out of a topic, as long as learning continues from this model: their tokens go to the topics that
        have them too. Words are names, or column numbers. topic_word_prior="auto" is not learned any more.

        A document whose topics all lack a word still has its tokens in one of them; the topic does not learn it.
        """
        return self._edited(edits.ban(self._found(), topic, words))

    def pin_words(self, topic: int, words: Iterable[Word]) -> Self:
        """Keeps words in a topic and out of all others, as long as learning continues from this model: the topic gets
        their tokens. Words are names, or column numbers. topic_word_prior="auto" is not learned any more.
        """
        return self._edited(edits.pin(self._found(), topic, words))

    def freeze_topics(self, topics: Iterable[int]) -> Self:
        """Keeps the words of topics as they are now, as long as learning continues from this model. Documents still use
        them as much as they like. topic_word_prior="auto" is not learned any more. `frozen_` has them.
        """
        return self._edited(edits.freeze(self._found(), topics))

    def unfreeze_topics(self, topics: Iterable[int]) -> Self:
        """Lets topics learn again."""
        return self._edited(edits.freeze(self._found(), topics, is_frozen=False))

    def move_document(self, X: object, document: int, topic: int) -> Self:
        """Takes the tokens of one document, a row of X, out of the topics that it uses now, and puts them all into one
        topic. It is meant for documents that the model was fitted on.

        This changes the words of the topics by the weight of one document, and nothing else: no document is tied to a
        topic. When learning continues, the document is looked at anew, and stays where it was moved if it fits there.
        """
        f = self._solved()
        return self._edited(edits.move(f, self._read_known(X), self._solver(), document, topic))

    def _sampled(self, X: object, max_docs: int, random_state: int) -> Corpus:
        seed = whole_number(random_state, "random_state", least=0)
        return edits.sampled(self._read_known(X), whole_number(max_docs, "max_docs"), seed)

    def _edited(self, f: FittedTopics) -> Self:
        if f.versions is not None:
            raise ValueError("topics with versions cannot be edited yet, apart from their names: fit again")
        model = self._reported(f.topics)
        if np.ndim(self.doc_topic_prior):
            self.doc_topic_prior = model.prior.alpha
        if np.ndim(self.topic_word_prior):
            self.topic_word_prior = word_prior_as_given(model.words.eta)
        if not isinstance(self.init, str):
            self.init = np.maximum(model.words.total.counts().T, 0.0)
        self.n_components = model.n_components
        self._fitted = replace(f, model=model)
        return self

    def _write(self, fitted: FittedTopics, out: Writer) -> None:
        fitted.topics.write(out)
        if fitted.versions is not None:
            fitted.versions.write(out.at("versions"))

    def _read(self, about: dict[str, Any], file: CheckedReader, K: int) -> FittedTopics:
        reading: Reading = about["reading"]
        model = self._reported(self._empty_model(file.n_features, reading.design).read(file, K))
        versions = None
        if reading.versions is not None:
            T, posterior = len(reading.versions.names), model.words.posterior
            versions = WordVersions.read(file.at("versions"), T, file.n_features, K, posterior)
            if len(versions.place) != len(reading.versions.place):
                raise ModelFileError("the versions of the model are both groups and periods")
        return FittedTopics(**about, model=model, versions=versions)


def _seeded(empty: TopicModel, seeds: Seeds, corpus: Corpus, reading: Reading) -> TopicModel:
    """The model with the user's words."""
    words, K = empty.words, empty.n_components
    extra, held = seeds.prior(corpus, reading.words, K), seeds.held(reading.words, corpus.n_words, K)
    check_allowed(extra, held)
    learned = words.learned and extra is None and held is None
    return replace(empty, words=replace(words, extra=extra, held=held, learned=learned))


def _grown(f: FittedTopics, corpus: Corpus) -> TopicModel:
    """A copy of the model, for steps are made in place, with room for the words of this corpus, which are its own and
    perhaps more."""
    words = f.topics.words
    words = replace(words, total=copy.deepcopy(words.total))
    if corpus.n_words == f.reading.n_features:
        return replace(f.topics, words=words)
    if words.eta.shape[0] > 1:
        raise ValueError("new words need a topic_word_prior that is one number, or one per topic, not one per word")
    words.total.grow(corpus.n_words)
    if words.extra is not None:
        words = replace(words, extra=words.extra.grown(corpus.n_words))
    if words.held is not None:
        words = replace(words, held=words.held.grown(corpus.n_words))
    return replace(f.topics, words=words)
