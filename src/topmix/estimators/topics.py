"""Latent Dirichlet allocation as a scikit-learn estimator."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from topmix import _core
from topmix.allocations.lda import DocumentPrior
from topmix.estimators.editing import EditMixin
from topmix.estimators.inputs import count_of_components, count_of_threads
from topmix.estimators.priors import (
    document_prior,
    document_prior_as_given,
    firm_word_prior,
    word_prior,
    word_smoothing,
)
from topmix.estimators.saving import words_from_arrays, words_to_arrays
from topmix.estimators.topic_estimator import TopicEstimator
from topmix.files.reader import Parts
from topmix.fitting.history import Callback
from topmix.likelihoods.topic_words import TopicWords
from topmix.models.topics import TopicModel
from topmix.stats import WordTotal


class LDA(EditMixin, TopicEstimator):
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
    learner : {"memoized", "batch", "stochastic", "asynchronous"}
        How the documents are visited. "stochastic" with the collapsed posterior is SCVB0, "batch" with it CVB0.
        "asynchronous", for the variational posterior, has n_jobs workers that keep their documents while the topics'
        rows travel between them (ESVI): no step size, no waiting; with n_jobs > 1 results differ from run to run.
    local_step : {"auto", "fixed_point", "scvb0", "cvb0"}
        What is done to a document. "fixed_point" iterates until it stands still; "scvb0" averages over its words in
        random order, once, after `burn_in` such passes; "cvb0" stores every word's topics and leaves a token out of all
        counts, topics' included, when it is updated. "auto" goes by posterior and learner, as above.
    n_active : int or None
        Topics kept for each word of a document, L; None keeps all K. What the others get is nothing, but with
        learner="asynchronous" see `rest`.
    doc_topic_prior : float, array of shape (n_components,), "auto" or None
        Dirichlet prior of documents on topics, alpha. None is 0.5 / K each; "auto" learns one value a topic after each
        pass, from documents as they were solved: with min_topic_mass > 0 they have fewer topics, and alpha is smaller.
    topic_word_prior : float, array of shape (n_features,) or (n_components, n_features), "auto" or None
        Dirichlet prior of topics on words, eta; rows of a matrix seed topics. "auto" learns one value. None is
        0.03, but with posterior="collapsed" 0.08, or 16 / K where that is less.
    smoothing : float or None
        What is added to the counts of words for `topic_word_`. None is eta, but where both posterior and
        topic_word_prior are as by default at most 0.03: a firm prior learns more coherent topics and a faint one
        predicts better.
    max_iter : int
        Passes over the data, at most.
    tol : float
        Stop when a pass lifts the objective by less than this, per token.
    max_time : float or None
        Seconds for the whole fit, initialisation and all `n_init` starts counted: the last pass is the last that fits
        in, going by the one before it; every start makes one at least. None: no limit.
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
    own_discount : float
        Collapsed, batch or memoized: when a document comes back, the part of its own words that it does not see in the
        topics' counts. Larger means more coherent and more different topics; zero is exact EM.
    selection : {"last", "often"}
        When the best n_active topics are chosen: at the end of a document, or in its first iterations and every tenth.
    cold_visits : int or None
        Visits to a document that start from its words alone; later ones start where the last left off. None: always
        from the words.
    rest : {"best", "mean"}
        Asynchronous only: the share of each topic outside the n_active best, the same for all of them. "best" is what
        the bound wants under that constraint, "mean" the mean of what they would have had.
    opening : int
        Asynchronous only: first passes, never more than half of max_iter, that weigh by posterior means, as collapsed
        inference does, and keep documents open to topics that are still forming. From then on the bound rises.
    n_init : int
        Starts to try; the one with the best objective is kept.
    init : {"auto", "blended", "documents", "random"}, array of shape (n_components, n_features) or a fitted estimator
        Where topics start: topmix.models.topic_start says how; or pseudo-counts, given or those in
        `components_` of, for instance, a CombinatorialLDA.
    warm_start : bool
        Start `fit` from the topics of the last one.
    engine : {"threads", "serial"} or None
        Who runs the kernels. None is "threads".
    n_jobs : int or None
        Threads; None and -1 are all cores. The result is the same, bit for bit, whatever it is; but for
        learner="asynchronous", which has that many workers, and is the same from run to run with one.
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
        Probabilities of words in topics, rows sum to one: components_ with `smoothing` in the place of the prior.
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
        smoothing: float | None = None,
        max_iter: int = 20,
        tol: float = 3e-3,
        max_time: float | None = None,
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
        own_discount: float = 0.5,
        selection: str = "last",
        cold_visits: int | None = 2,
        rest: str = "best",
        opening: int = 20,
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
        self.smoothing = smoothing
        self.max_iter = max_iter
        self.tol = tol
        self.max_time = max_time
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
        self.own_discount = own_discount
        self.selection = selection
        self.cold_visits = cold_visits
        self.rest = rest
        self.opening = opening
        self.n_init = n_init
        self.init = init
        self.warm_start = warm_start
        self.engine = engine
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose
        self.callbacks = callbacks

    def _empty_model(self, V: int, threads: int) -> TopicModel:
        if self.posterior not in ("collapsed", "variational"):
            raise ValueError(f"posterior={self.posterior!r} is not one of 'collapsed', 'variational'")
        K = count_of_components(self.n_components)
        alpha, learn_alpha = document_prior(self.doc_topic_prior, K)
        given = firm_word_prior(K) if self._is_firm() else self.topic_word_prior
        eta, learn_eta = word_prior(given, V, K)
        words = TopicWords(eta, WordTotal.zeros(V, K, threads), self.posterior, learn_eta)
        return TopicModel(DocumentPrior(alpha, self.posterior, learn_alpha), self._reported(words))

    def _is_firm(self) -> bool:
        return self.topic_word_prior is None and self.posterior == "collapsed"

    def _reported(self, words: TopicWords) -> TopicWords:
        return replace(words, smoothing=word_smoothing(self.smoothing, words.eta, self._is_firm()))

    def _set_model(self, model: TopicModel) -> None:
        super()._set_model(replace(model, words=self._reported(model.words)))  # `smoothing` may be another by now
        self.doc_topic_prior_ = document_prior_as_given(model.prior.alpha, model.prior.learned)

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
