"""Topic models as scikit-learn estimators."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import replace
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils import Tags, check_random_state

from topmix import _core
from topmix.allocations.lda import DocumentPrior
from topmix.checkpoint import Checkpoint, Progress, checkpoint_at
from topmix.data.corpus import Corpus
from topmix.data.shard import Shards, at_random, in_order, row_sums
from topmix.engines import ENGINES
from topmix.estimators.editing import EditMixin
from topmix.estimators.inputs import (
    CLONED,
    as_corpus,
    chosen,
    count_of_active,
    count_of_batches,
    count_of_components,
    count_of_threads,
    positive_count,
)
from topmix.estimators.local_steps import kind_of_step
from topmix.estimators.new_words import in_known_columns
from topmix.estimators.priors import document_prior, document_prior_as_given, word_prior, word_prior_as_given
from topmix.estimators.saving import SaveMixin, words_from_arrays, words_to_arrays
from topmix.estimators.sklearn_callbacks import CallbackSupportMixin, telling_callbacks
from topmix.estimators.topic_output import TopicOutputMixin
from topmix.history import Callback, Clock, Record, passes
from topmix.learners import LEARNERS, State
from topmix.learners.stochastic import StepSize, blend, rows, tokens
from topmix.likelihoods.topic_words import TopicWords
from topmix.local import ExcludingStep, OnlineStep, TopicStep
from topmix.parts import Parts
from topmix.progress import shown
from topmix.stats import TopicStats, WordTotal
from topmix.topic_init import REVIVED, STARTS, revived
from topmix.topic_model import TopicModel


class LDA(TopicOutputMixin, EditMixin, SaveMixin, CallbackSupportMixin, BaseEstimator):
    """Latent Dirichlet allocation: documents mix topics, topics are distributions over words.

    The defaults are what measured best: collapsed inference, where each word of a document keeps its `n_active` best
    topics, learned in memoized passes. The algorithms of the papers are settings of the same estimator.

    Parameters
    ----------
    n_components : int
        Number of topics, K.
    posterior : {"collapsed", "variational"}
        What is approximated. "variational" is mean-field inference, as in scikit-learn; "collapsed" integrates topics
        and proportions out to zeroth order (CVB0), which finds clearly better topics.
    learner : {"memoized", "batch", "stochastic"}
        How the documents are visited. "stochastic" with the collapsed posterior is SCVB0, "batch" with it CVB0.
    local_step : {"auto", "fixed_point", "scvb0", "cvb0"}
        What is done to a document. "fixed_point" iterates until it stands still; "scvb0" averages over its words in
        random order, once, after `burn_in` such passes; "cvb0" stores every word's topics and leaves a token out of all
        counts, topics' included, when it is updated. "auto" goes by posterior and learner, as above.
    n_active : int or None
        Topics kept for each word of a document, L; None keeps all K.
    doc_topic_prior : float, array of shape (n_components,), "auto" or None
        Dirichlet prior of documents on topics, alpha. None is 0.5 / K each; "auto" learns one value a topic after each
        pass, from documents as they were solved: with min_topic_mass > 0 they have fewer topics, and alpha is smaller.
    topic_word_prior : float, array of shape (n_features,) or (n_components, n_features), "auto" or None
        Dirichlet prior of topics on words, eta; rows of a matrix seed topics. None is 0.03; "auto" learns one value.
    max_iter : int
        Passes over the data, at most.
    tol : float
        Stop when a pass lifts the objective by less than this, per token.
    batch_size : int or None
        Documents between two updates. None makes ten batches (memoized) or batches of 512 (stochastic).
    total_samples : int or None
        With partial_fit: how many documents the stream stands for. None is what was seen so far.
    learning_scale, learning_offset, learning_decay : float
        Step size of stochastic learning, rho_t = scale / (offset + t)^decay; t counts batches.
    doc_learning_scale, doc_learning_offset, doc_learning_decay : float
        SCVB0: the same for the average over a document's words; t counts its tokens, those of burn-in passes included.
    burn_in : int
        SCVB0: passes over a document before the one that counts, at every visit; CVB0: at its first.
    max_doc_update_iter : int
        Iterations on one document, at most.
    doc_tol : float
        A document has converged when an iteration changes its topics by less than this many tokens.
    stopping : {"max", "mean"}
        What is compared with doc_tol: the largest change of a topic, or the mean over all K, which is scikit-learn's
        rule (its mean_change_tol) and means something else for every K.
    min_topic_mass : float
        A topic that holds no more than this many tokens leaves the document, epsilon.
    restarts : int
        The smallest topics of each document that are tried without; what raises the document's objective is kept.
    exclude : bool
        Collapsed only: whether a token is left out of the counts of its document that judge it, as in CVB0. False is
        exact EM, as good in all that we measured, and a quarter faster.
    selection : {"last", "often"}
        When the best n_active topics are chosen: at the end of a document, or in its first iterations and every tenth.
    cold_visits : int or None
        Visits to a document that start from its words alone; later ones start where the last left off. None: always
        from the words.
    n_init : int
        Starts to try; the one with the best objective is kept.
    init : {"auto", "blended", "documents", "random"}, array of shape (n_components, n_features) or a fitted estimator
        Where topics start: topmix.topic_init says how, and why "auto" is "blended"; or pseudo-counts, given or those in
        `components_` of, for instance, a CombinatorialLDA.
    warm_start : bool
        Start `fit` from the topics of the last one.
    engine : {"threads", "serial"} or None
        Who runs the kernels. None is "threads".
    n_jobs : int or None
        Threads; None and -1 are all cores. The result is the same, bit for bit, whatever it is.
    random_state : int, RandomState or None
    verbose : int
        1 shows progress on stderr: a bar on a terminal, a line a pass elsewhere.
    callbacks : list of callables or None
        Each is called as f(record, model) after a pass; a true value ends the fit.

    Attributes
    ----------
    components_ : ndarray of shape (n_components, n_features)
        Pseudo-counts: expected tokens of each word in each topic, plus the prior.
    topic_word_ : ndarray of shape (n_components, n_features)
        Probabilities of words in topics; rows sum to one.
    exp_dirichlet_component_ : ndarray of shape (n_components, n_features)
        exp(E[log phi]) under the Dirichlet with pseudo-counts components_; made when asked for.
    doc_topic_prior_ : float or ndarray of shape (n_components,)
        alpha: a number where it is the same for all topics, an array where topics differ or it is learned.
    topic_word_prior_ : float or ndarray
        eta: a number where one was given or learned, else an array as it was given.
    history_ : list of Record
        One record a pass.
    elbo_ : float
        The objective at the end: a lower bound on the log evidence (variational), or on the log posterior of topics and
        proportions (collapsed).
    bound_ : float
        exp(-elbo_ / tokens): with the variational posterior the training perplexity that scikit-learn has under this
        name. It can be compared between fits of one posterior, not between the two.
    n_batch_iter_ : int
        Updates of the topics so far.
    random_state_ : RandomState
        Made from random_state when asked for.
    n_iter_, converged_, n_features_in_, feature_names_in_ : as in scikit-learn.

    Notes
    -----
    Instead of scikit-learn's LatentDirichletAllocation: `learning_method="online"` is `learner="stochastic"`,
    `mean_change_tol` is `doc_tol` with `stopping="mean"`, and `tol` does the work of `evaluate_every` and `perp_tol` at
    no cost. Its very algorithm is `LDA(K, posterior="variational", learner="batch", n_active=None, min_topic_mass=0,
    cold_visits=None, stopping="mean", doc_tol=1e-3, init="random", doc_topic_prior=1 / K, topic_word_prior=1 / K)`.

    A document without words is no error: its proportions are those of the prior. More topics than documents, and a
    corpus without any words, are fitted too; what no word speaks for stays at the prior.
    """

    _saved_attributes = ("n_iter_", "converged_", "elbo_", "bound_", "n_batch_iter_", "n_seen_", "n_tokens_seen_")

    def __init__(
        self,
        n_components: int = 100,
        *,
        posterior: str = "collapsed",
        learner: str = "memoized",
        local_step: str = "auto",
        n_active: int | None = 16,
        doc_topic_prior: Any = None,
        topic_word_prior: Any = None,
        max_iter: int = 20,
        tol: float = 3e-3,
        batch_size: int | None = None,
        total_samples: float | None = None,
        learning_scale: float = 1.0,
        learning_offset: float = 10.0,
        learning_decay: float = 0.7,
        doc_learning_scale: float = 1.0,
        doc_learning_offset: float = 10.0,
        doc_learning_decay: float = 0.9,
        burn_in: int = 1,
        max_doc_update_iter: int = 100,
        doc_tol: float = 0.1,
        stopping: str = "max",
        min_topic_mass: float = 2.5,
        restarts: int = 0,
        exclude: bool = False,
        selection: str = "last",
        cold_visits: int | None = 2,
        n_init: int = 1,
        init: Any = "auto",
        warm_start: bool = False,
        engine: str | None = None,
        n_jobs: int | None = None,
        random_state: Any = None,
        verbose: int = 0,
        callbacks: list[Callback] | None = None,
    ):
        self.n_components = n_components
        self.posterior = posterior
        self.learner = learner
        self.local_step = local_step
        self.n_active = n_active
        self.doc_topic_prior = doc_topic_prior
        self.topic_word_prior = topic_word_prior
        self.max_iter = max_iter
        self.tol = tol
        self.batch_size = batch_size
        self.total_samples = total_samples
        self.learning_scale = learning_scale
        self.learning_offset = learning_offset
        self.learning_decay = learning_decay
        self.doc_learning_scale = doc_learning_scale
        self.doc_learning_offset = doc_learning_offset
        self.doc_learning_decay = doc_learning_decay
        self.burn_in = burn_in
        self.max_doc_update_iter = max_doc_update_iter
        self.doc_tol = doc_tol
        self.stopping = stopping
        self.min_topic_mass = min_topic_mass
        self.restarts = restarts
        self.exclude = exclude
        self.selection = selection
        self.cold_visits = cold_visits
        self.n_init = n_init
        self.init = init
        self.warm_start = warm_start
        self.engine = engine
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose
        self.callbacks = callbacks

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
        corpus = as_corpus(self, X, reset=not (self.warm_start and hasattr(self, "model_")))
        rng = np.random.default_rng(check_random_state(self.random_state).randint(2**31, size=4))
        n_init, every = positive_count(self.n_init, "n_init"), positive_count(checkpoint_every, "checkpoint_every")
        if checkpoint is not None and n_init > 1:
            raise ValueError("a checkpoint is of one start: it needs n_init=1")
        if checkpoint is not None and kind_of_step(self.local_step, self.posterior, self.learner) == "cvb0":
            raise ValueError("a checkpoint does not hold the responsibilities of CVB0: use local_step='fixed_point'")
        kept = None if checkpoint is None else (checkpoint_at(checkpoint, self, corpus), every)
        with shown(self.verbose, self.max_iter * n_init, corpus.n_tokens, type(self).__name__) as display:
            callbacks = [*(self.callbacks or ()), *display]
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
        step = self._learning_step()
        if isinstance(step, OnlineStep):
            stands_for, measure = stands_for * self.n_tokens_seen_ / self.n_seen_, tokens
        for shard in Shards(corpus, in_order(corpus)):
            new, _ = step(shard, model.tables(shard.cols), None, threads)
            total = TopicStats(model.words.total, 0.0, 0.0, 0.0, 0.0, np.zeros(len(new.T)), np.zeros(len(new.T)))
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
        threads = count_of_threads(self.n_jobs)
        found = kept[0].read(self._empty_model(corpus.n_words, threads)) if kept else None
        if found:
            found.deal(rng)
            model, state, history = found.model, found.state, found.history
            clock = Clock(clock() + history[-1].seconds)
        else:
            model, state, history = self._start(corpus, rng, threads), State(), []
        random = rng.bit_generator.state
        batches = in_order(corpus) if self.learner == "batch" else at_random(corpus, self._n_batches(corpus), rng)
        step = self._learning_step()
        engine = chosen(ENGINES, self.engine or "threads", "engine")(Shards(corpus, batches), step, threads)
        settings: dict[str, Any] = {}
        if self.learner == "stochastic":
            settings = {"step_size": self._step_size()}
            if isinstance(step, OnlineStep):
                settings |= {"amount": corpus.n_tokens, "measure": tokens}
        elif self.learner == "memoized" and self._may_revive():
            settings = {"revive": self._revival(corpus, int(rng.integers(2**63)), threads)}
        seed = model.no_stats(threads)
        seed.S = model.words.total
        lengths = row_sums(corpus.indptr, corpus.value)
        self.history_ = history  # now, so that an interrupted fit has it too

        def keep(model: TopicModel, following: TopicModel | None, is_last: bool) -> None:
            if kept and (is_last or len(history) % kept[1] == 0):
                kept[0].write(Progress(model, following, state, engine.memory, history, random))

        start = found.resume(engine) if found else model
        learned, _, converged = passes(
            chosen(LEARNERS, self.learner, "learner")(start, engine, seed, state=state, **settings),
            max_iter=positive_count(self.max_iter, "max_iter"),
            tol=self.tol,
            scale=max(corpus.n_tokens, 1.0),
            clock=clock,
            history=history,
            callbacks=callbacks,
            between=lambda model, total: model.relearn(total, lengths),
            effort=step.take_effort,
            keep=keep,
            may_fall=self.posterior == "collapsed" and (model.prior.learned or model.words.learned),
        )
        return learned or model, history, converged

    def _start(self, corpus: Corpus, rng: np.random.Generator, threads: int) -> TopicModel:
        K, V = count_of_components(self.n_components), corpus.n_words
        if self.warm_start and hasattr(self, "model_"):
            if self.model_.n_components != K:
                raise ValueError(f"warm_start keeps {self.model_.n_components} topics, but n_components is now {K}")
            return self.model_
        if isinstance(self.init, str):
            counts = chosen(STARTS, self.init, "init")(corpus, K, rng)
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
        model = self._empty_model(V, threads)
        return replace(model, words=model.words.update(WordTotal(counts, counts.sum(axis=0), 1.0, threads)))

    def _may_revive(self) -> bool:
        """Topics that were asked for stay as they are; and warm documents would not see a new one."""
        ours = isinstance(self.init, str) and self.init in REVIVED and not (self.warm_start and hasattr(self, "model_"))
        return ours and (self.cold_visits is None or self.cold_visits > 1)

    def _revival(self, corpus: Corpus, seed: int, threads: int) -> Callable[[TopicStats], TopicStats | None]:
        def revive(total: TopicStats) -> TopicStats | None:
            counts = revived(corpus, np.asarray(total.S.totals), np.random.default_rng(seed))
            if counts is None:
                return None
            K = len(total.T)
            words = WordTotal(counts, counts.sum(axis=0), 1.0, threads)
            return TopicStats(words, 0.0, 0.0, 0.0, 0.0, np.zeros(K), np.zeros(K))

        return revive

    def _empty_model(self, V: int, threads: int) -> TopicModel:
        """Priors, and no counts yet."""
        if self.posterior not in ("collapsed", "variational"):
            raise ValueError(f"posterior={self.posterior!r} is not one of 'collapsed', 'variational'")
        K = count_of_components(self.n_components)
        alpha, learn_alpha = document_prior(self.doc_topic_prior, K)
        eta, learn_eta = word_prior(self.topic_word_prior, V, K)
        total = WordTotal.zeros(V, K, threads)
        return TopicModel(
            DocumentPrior(alpha, self.posterior, learn_alpha), TopicWords(eta, total, self.posterior, learn_eta)
        )

    def _step(self) -> TopicStep:
        select_often = chosen({"last": False, "often": True}, self.selection, "selection")
        mean_change = chosen({"max": False, "mean": True}, self.stopping, "stopping")
        K = count_of_components(self.n_components)
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
        )
        return TopicStep(options, self.cold_visits)

    def _learning_step(self) -> TopicStep | OnlineStep | ExcludingStep:
        kind = kind_of_step(self.local_step, self.posterior, self.learner)
        L = count_of_active(self.n_active, count_of_components(self.n_components))
        if kind == "scvb0":
            size = (self.doc_learning_scale, self.doc_learning_offset, self.doc_learning_decay)
            seed = int(check_random_state(self.random_state).randint(2**31))
            return OnlineStep(L, *size, self.burn_in, seed)
        if kind == "cvb0":
            return ExcludingStep(L, self.burn_in)
        return self._step()

    def _step_size(self) -> StepSize:
        return StepSize(self.learning_scale, self.learning_offset, self.learning_decay)

    def _n_batches(self, corpus: Corpus) -> int:
        if self.learner == "batch":
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
        self.doc_topic_prior_ = document_prior_as_given(model.prior.alpha, model.prior.learned)
        self.topic_word_prior_ = word_prior_as_given(model.words.eta)
        self.components_ = np.ascontiguousarray(model.words.pseudo_counts().T)
        self.topic_word_ = self.components_ / self.components_.sum(axis=1, keepdims=True)

    def _to_arrays(self) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
        prior, words = self.model_.prior, self.model_.words
        arrays, extra = words_to_arrays(words.eta, words.total)
        extra |= {"n_components": self.model_.n_components, "posterior": words.posterior}
        extra |= {"prior.learned": prior.learned, "words.learned": words.learned}
        return {"prior.alpha": prior.alpha} | arrays, extra

    def _from_arrays(self, parts: Parts) -> None:
        K, V = parts.integer("n_components", 1, _core.MAX_TOPICS), parts.n_features
        posterior = parts.choice("posterior", ("collapsed", "variational"))
        alpha = parts.array("prior.alpha", K, positive=True)
        eta, total = words_from_arrays(parts, K, eta_shape=({1, V}, {1, K}), threads=count_of_threads(self.n_jobs))
        words = TopicWords(eta, total, posterior, parts.flag("words.learned"))
        self._set_model(TopicModel(DocumentPrior(alpha, posterior, parts.flag("prior.learned")), words))

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.positive_only = True
        return tags
