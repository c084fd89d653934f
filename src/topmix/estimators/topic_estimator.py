"""What topic models share as scikit-learn estimators: fitting, and how parameters become steps and learners."""

from __future__ import annotations

import os
from abc import abstractmethod
from collections.abc import Callable
from dataclasses import replace
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils import Tags, check_random_state

from topmix import _core
from topmix.data.corpus import Corpus
from topmix.data.shard import Shards, at_random, in_order, row_sums
from topmix.engines import ENGINES, Engine
from topmix.estimators.asynchronous import check_asynchronous, fit_asynchronously
from topmix.estimators.inputs import (
    CLONED,
    as_corpus,
    chosen,
    count_of_active,
    count_of_batches,
    count_of_components,
    count_of_threads,
    positive_count,
    positive_number,
)
from topmix.estimators.local_steps import kind_of_step
from topmix.estimators.new_words import in_known_columns
from topmix.estimators.priors import word_prior_as_given
from topmix.estimators.saving import SaveMixin
from topmix.estimators.sklearn_callbacks import CallbackSupportMixin, telling_callbacks
from topmix.estimators.topic_output import TopicOutputMixin
from topmix.fitting.checkpoint import Checkpoint, Progress, checkpoint_at
from topmix.fitting.history import Callback, Clock, Record, TimeLimit, passes
from topmix.fitting.progress import shown
from topmix.learners import LEARNERS, State
from topmix.learners.stochastic import StepSize, blend, rows, tokens
from topmix.local import ExcludingStep, OnlineStep, TopicStep
from topmix.models.topic_start import REVIVED, STARTS, revived
from topmix.models.topics import TopicModel
from topmix.search import Adaptation
from topmix.stats import TopicStats, WordSeed, WordTotal


class TopicEstimator(TopicOutputMixin, SaveMixin, CallbackSupportMixin, BaseEstimator):
    """For estimators with the parameters below, as parameters or, where they have no choice, as class attributes.

    A subclass says what its model is (`_empty_model`) and what of it goes to a file.
    """

    n_components: int
    posterior: str
    learner: str
    local_step: str
    n_active: int | None
    max_iter: int
    tol: float
    max_time: float | None = None
    batch_size: int | None
    total_samples: float | None
    learning_scale: float
    learning_offset: float
    learning_decay: float
    doc_learning_scale: float
    doc_learning_offset: float
    doc_learning_decay: float
    burn_in: int
    max_doc_update_iter: int
    doc_tol: float
    stopping: str
    min_topic_mass: Any
    restarts: int
    exclude: bool
    own_discount: float
    selection: str
    cold_visits: int | None
    rest: str = "best"
    opening: int = 20
    n_init: int
    init: Any
    warm_start: bool
    engine: str | None
    n_jobs: int | None
    random_state: Any
    verbose: int
    callbacks: list[Callback] | None

    _saved_attributes = ("n_iter_", "converged_", "elbo_", "bound_", "n_batch_iter_", "n_seen_", "n_tokens_seen_")

    @abstractmethod
    def _empty_model(self, V: int, threads: int) -> TopicModel:
        """Priors, and no counts yet."""

    @telling_callbacks
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
        exists already the fit goes on from it, so that an interrupted program is simply run again: the result has the
        same bits as if it had never stopped. Data and parameters must be those of the interrupted fit, but for
        `max_iter` and `tol`, so that a finished fit may go on as well. Not with n_init > 1, nor with CVB0.
        """
        clock = Clock()
        if self.learner == "asynchronous":
            check_asynchronous(self)
        corpus = as_corpus(self, X, reset=not (self.warm_start and hasattr(self, "model_")))
        rng = np.random.default_rng(check_random_state(self.random_state).randint(2**31, size=4))
        n_init, every = positive_count(self.n_init, "n_init"), positive_count(checkpoint_every, "checkpoint_every")
        if checkpoint is not None and n_init > 1:
            raise ValueError("a checkpoint is of one start: it needs n_init=1")
        if checkpoint is not None and kind_of_step(self.local_step, self.posterior, self.learner) == "cvb0":
            raise ValueError("a checkpoint does not hold the responsibilities of CVB0: use local_step='fixed_point'")
        limits = [] if self.max_time is None else [TimeLimit(positive_number(self.max_time, "max_time"))]
        kept = None if checkpoint is None else (checkpoint_at(checkpoint, self, corpus), every)
        with shown(self.verbose, self.max_iter * n_init, corpus.n_tokens, type(self).__name__) as display:
            callbacks = [*(self.callbacks or ()), *limits, *display]
            tries = [self._fit_once(corpus, rng, clock, callbacks, kept) for _ in range(n_init)]
        model, history, converged = max(tries, key=lambda t: t[1][-1].objective)
        self.history_, self.converged_ = history, converged
        self.n_iter_, self.elbo_ = len(history), history[-1].objective
        with np.errstate(over="ignore"):  # next to no tokens, and all of the priors
            self.bound_ = float(np.exp(-self.elbo_ / max(corpus.n_tokens, 1.0)))
        self.n_batch_iter_ = self.n_iter_ * self._n_batches(corpus)
        self._set_model(model)
        return self

    def partial_fit(self, X: Any, y: Any = None) -> Self:
        """One stochastic step on these documents, which may bring new words.

        In a Corpus with a vocabulary words are known by name, in whatever order they come; in a matrix or a DataFrame
        new words are columns after those that were there. New words start with the prior in every topic, so
        `topic_word_prior` cannot be one value a word. A stream may go on for ever; `total_samples` says how many
        documents it stands for.
        """
        if self.learner == "asynchronous":
            raise ValueError(
                "partial_fit is a stochastic step, and learner='asynchronous' keeps its documents: use fit"
            )
        first = not hasattr(self, "model_")
        corpus = as_corpus(self, X, reset=True) if first else in_known_columns(self, X)
        threads = count_of_threads(self.n_jobs)
        if first:
            rng = np.random.default_rng(check_random_state(self.random_state).randint(2**31, size=4))
            model = self._start(corpus, rng, threads)
            self.n_batch_iter_, self.n_seen_, self.n_tokens_seen_, self.history_ = 0, 0.0, 0.0, []
        else:
            model = self._grown(corpus)
        seen = getattr(self, "n_seen_", 0.0)
        self.n_seen_ = seen + corpus.n_docs
        self.n_tokens_seen_ = getattr(self, "n_tokens_seen_", seen * corpus.n_tokens / corpus.n_docs) + corpus.n_tokens
        stands_for, measure = float(self.total_samples or self.n_seen_), rows
        step = self._learning_step(model.n_components)
        if isinstance(step, OnlineStep):
            stands_for, measure = stands_for * self.n_tokens_seen_ / self.n_seen_, tokens
        for shard in Shards(corpus, in_order(corpus)):
            new, _ = step(shard, model.tables(shard.cols), None, threads)
            total = model.so_far()
            blend(total, new, self._step_size()(self.n_batch_iter_), stands_for, measure(new))
            model = model.update(total)
            self.n_batch_iter_ += 1
        self._set_model(model)
        return self

    def _fit_once(
        self,
        corpus: Corpus,
        rng: np.random.Generator,
        clock: Clock,
        callbacks: list[Callback],
        kept: tuple[Checkpoint, int] | None = None,
    ) -> tuple[TopicModel, list[Record], bool]:
        if self.learner == "asynchronous":
            return fit_asynchronously(self, corpus, rng, clock, callbacks, kept)
        threads = count_of_threads(self.n_jobs)
        found = kept[0].read(self._empty_model(corpus.n_words, threads)) if kept else None
        if found:
            found.deal(rng)
            model, state, history = found.model, found.state, found.history
            clock = Clock(clock() + history[-1].seconds)
        else:
            fades = self.learner == "memoized"
            model, state, history = self._start(corpus, rng, threads, seed_apart=fades), State(), []
        random = rng.bit_generator.state
        batches = in_order(corpus) if self.learner == "batch" else at_random(corpus, self._n_batches(corpus), rng)
        step = self._learning_step(model.n_components)
        engine = chosen(ENGINES, self.engine or "threads", "engine")(Shards(corpus, batches), step, threads)
        settings: dict[str, Any] = {}
        if self.learner == "stochastic":
            settings = {"step_size": self._step_size()}
            if isinstance(step, OnlineStep):
                settings |= {"amount": corpus.n_tokens, "measure": tokens}
        elif self.learner == "memoized" and self._may_revive():
            settings = {"revive": self._revival(corpus, int(rng.integers(2**63)), model)}
        seed = model.no_stats(threads)
        seed.S = model.words.total.seed or model.words.total
        lengths = row_sums(corpus.indptr, corpus.value)
        self.history_ = history  # now, so that an interrupted fit has it too

        start = found.resume(engine) if found else model
        moves = self._moves(corpus, batches, engine, state, step, rng, len(history))
        if moves and found:
            start = found.resume_search(moves, [lengths[rows] for rows in batches])
            seed = state.seed or seed

        def keep(model: TopicModel, following: TopicModel | None, is_last: bool) -> None:
            if kept and moves:
                kept[0].write_search(moves, history, random, kept[1])
            elif kept and (is_last or len(history) % kept[1] == 0):
                kept[0].write(Progress(model, following, state, engine.memory, history, random))

        learned, _, converged = passes(
            chosen(LEARNERS, self.learner, "learner")(start, engine, seed, state=state, **settings),
            max_iter=positive_count(self.max_iter, "max_iter"),
            tol=self.tol,
            scale=max(corpus.n_tokens, 1.0),
            clock=clock,
            history=history,
            callbacks=callbacks,
            between=moves.between if moves else lambda model, total: model.relearn(total, lengths),
            effort=step.take_effort,
            keep=keep,
            may_fall=self.posterior == "collapsed"
            and (model.prior.learned or model.words.learned or self._own_discount() > 0),
            moves=moves.take_moves if moves else dict,
            settled=moves.settled if moves else None,
        )
        if moves and learned:
            learned = moves.ended(learned, history)
        return learned or model, history, converged

    def _moves(
        self,
        corpus: Corpus,
        batches: list[slice | np.ndarray],
        engine: Engine,
        state: State,
        step: TopicStep | OnlineStep | ExcludingStep,
        rng: np.random.Generator,
        n_passes: int,
    ) -> Adaptation | None:
        """What changes the number of topics between passes, if anything does."""
        return None

    def _start(self, corpus: Corpus, rng: np.random.Generator, threads: int, *, seed_apart: bool = False) -> TopicModel:
        """The first model, whose counts are a seed: beside the total, where it can be and the learner lets it fade."""
        K, V = count_of_components(self.n_components), corpus.n_words
        if self.warm_start and hasattr(self, "model_"):
            if self._n_components_kept() != K:
                raise ValueError(f"warm_start keeps {self._n_components_kept()} topics, but n_components is now {K}")
            return self.model_
        model = self._empty_model(V, threads)
        if isinstance(self.init, str):
            counts = chosen(STARTS, self.init, "init")(corpus, K, rng)
            if isinstance(counts, WordSeed):
                if seed_apart:
                    return replace(model, words=model.words.update(model.no_stats(threads).S.add(counts)))
                counts = counts.counts()
        else:
            given = self.init
            if hasattr(given, "fit"):
                if not hasattr(given, "components_"):
                    raise ValueError(
                        f"init must be fitted before; this {type(given).__name__} has no topics yet{CLONED}"
                    )
                given = given.components_
            counts = np.ascontiguousarray(np.asarray(given, dtype=np.float64).T)
            if counts.shape != (V, K) or not np.all(np.isfinite(counts)) or counts.min() < 0:
                raise ValueError(f"init must be finite, not negative and of shape ({K}, {V}), got {counts.T.shape}")
        return replace(model, words=model.words.update(WordTotal(counts, counts.sum(axis=0), 1.0, threads)))

    def _n_components_kept(self) -> int:
        """What n_components has to be for a warm start."""
        return self.model_.n_components

    def _may_revive(self) -> bool:
        """Topics that were asked for stay as they are; and warm documents would not see a new one."""
        ours = isinstance(self.init, str) and self.init in REVIVED and not (self.warm_start and hasattr(self, "model_"))
        return ours and (self.cold_visits is None or self.cold_visits > 1)

    def _revival(self, corpus: Corpus, seed: int, model: TopicModel) -> Callable[[TopicStats], TopicStats | None]:
        def revive(total: TopicStats) -> TopicStats | None:
            again = revived(corpus, np.asarray(total.S.totals), np.random.default_rng(seed))
            return None if again is None else model.prior.nothing(again)

        return revive

    def _step(self, K: int) -> TopicStep:
        select_often = chosen({"last": False, "often": True}, self.selection, "selection")
        mean_change = chosen({"max": False, "mean": True}, self.stopping, "stopping")
        options = _core.TopicOptions(
            posterior=self.posterior,
            exclude=self.exclude,
            select_often=select_often,
            mean_change=mean_change,
            L=count_of_active(self.n_active, K),
            eps=self.min_topic_mass,
            max_iter=self.max_doc_update_iter,
            tol=self.doc_tol,
            restarts=self.restarts,
            restart_iter=3,
            own_discount=self._own_discount(),
        )
        return TopicStep(options, self.cold_visits)

    def _own_discount(self) -> float:
        """Where the topics' counts hold a document as its last visit left it: not in a stream of blended batches."""
        if not 0 <= self.own_discount <= 1:
            raise ValueError(f"own_discount must be between 0 and 1, got {self.own_discount!r}")
        return self.own_discount if self.posterior == "collapsed" and self.learner != "stochastic" else 0.0

    def _learning_step(self, K: int) -> TopicStep | OnlineStep | ExcludingStep:
        kind = kind_of_step(self.local_step, self.posterior, self.learner)
        L = count_of_active(self.n_active, K)
        if kind == "scvb0":
            size = (self.doc_learning_scale, self.doc_learning_offset, self.doc_learning_decay)
            seed = int(check_random_state(self.random_state).randint(2**31))
            return OnlineStep(L, *size, self.burn_in, seed)
        if kind == "cvb0":
            return ExcludingStep(L, self.burn_in)
        return self._step(K)

    def _step_size(self) -> StepSize:
        return StepSize(self.learning_scale, self.learning_offset, self.learning_decay)

    def _n_batches(self, corpus: Corpus) -> int:
        if self.learner in ("batch", "asynchronous"):
            return 1
        size = 512 if self.learner == "stochastic" and self.batch_size is None else self.batch_size
        return count_of_batches(size, corpus, count_of_active(self.n_active, self.n_components))

    def _grown(self, corpus: Corpus) -> TopicModel:
        """The model with room for the words of this corpus, which are its own and perhaps more."""
        if corpus.n_words == self.n_features_in_:
            return self.model_
        if self.model_.words.eta.shape[0] > 1:
            raise ValueError("new words need a topic_word_prior that is one number, or one a topic, not one a word")
        self.model_.words.total.grow(corpus.n_words)
        self.n_features_in_: int = corpus.n_words
        if corpus.vocabulary is not None:
            self.feature_names_in_ = np.array(list(corpus.vocabulary), dtype=object)
        return self.model_

    def _set_model(self, model: TopicModel) -> None:
        self.model_ = model
        self.topic_word_prior_ = word_prior_as_given(model.words.eta)
        self.components_ = model.words.pseudo_counts()
        self.topic_word_ = model.words.mean()

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.positive_only = True
        return tags
