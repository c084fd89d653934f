"""Latent Dirichlet allocation as a scikit-learn estimator."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from topmix.allocations.covariate_prior import CovariatePrior
from topmix.allocations.document_prior import DocumentPrior
from topmix.api.estimator import learned
from topmix.api.priors import (
    DOCUMENT_TOTAL,
    collapsed_word_prior,
    document_prior,
    document_prior_as_given,
    word_prior,
    word_smoothing,
)
from topmix.api.variational import VariationalTopics
from topmix.engines import Engine
from topmix.fitted import effects, versions
from topmix.fitted.frames import DataFrame
from topmix.fitting.history import Callback
from topmix.inference import Inference
from topmix.learners import Learner
from topmix.likelihoods.topic_words import TopicWords
from topmix.models.topics import Prior, TopicModel
from topmix.parameters.checks import count_of_components, number_from, whole_number
from topmix.priors import ByGroup, Covariates, Design, OverTime
from topmix.stats import WordTotal


class FiniteTopics(VariationalTopics):
    """As many topics as were asked for, with Dirichlet priors."""

    def _empty_model(self, V: int, design: Design | None = None) -> TopicModel:
        K, posterior = count_of_components(self.n_components), self._inference().posterior
        eta, learn_eta = word_prior(
            collapsed_word_prior(K) if self._has_collapsed_prior() else self._common_word_prior(), V, K
        )
        words = TopicWords(eta, WordTotal.zeros(V, K), posterior, learn_eta)
        return TopicModel(self._document_prior(K, posterior, design), words, self._document_options())

    def _document_prior(self, K: int, posterior: str, design: Design | None) -> Prior:
        """The prior of documents on topics."""
        alpha, learn_alpha = document_prior(self.doc_topic_prior, K)
        return DocumentPrior(alpha, posterior, learn_alpha)

    def _common_word_prior(self) -> object:
        """The prior of topics before they come apart into versions."""
        return self.topic_word_prior

    def _has_collapsed_prior(self) -> bool:
        """Whether the prior on words is the large one that collapsed topics learn best with."""
        return self._common_word_prior() is None and self._inference().posterior == "collapsed"

    def _reported(self, model: TopicModel) -> TopicModel:
        words = model.words
        smoothing = word_smoothing(self._inference().smoothing, words.eta, self._has_collapsed_prior())
        return super()._reported(replace(model, words=replace(words, smoothing=smoothing)))


class LDA(FiniteTopics):
    """Latent Dirichlet allocation: documents mix topics, topics are distributions over words.

    The defaults are what measured best: collapsed inference, where each word of a document keeps its `n_active` best
    topics, learned in memoized passes with sampling in between (`Collapsed.sweeps`). The algorithms of the papers are
    settings of the same estimator.

    Parameters
    ----------
    n_components : int
        Number of topics, K.
    n_active : int or None
        Topics kept for each word of a document, L; None keeps all K. The other topics get nothing.
    inference : {"collapsed", "variational", "cvb0", "scvb0"} or an object of topmix.inference
        What is approximated, and how a document is solved. "collapsed" finds clearly better topics than "variational",
        which is mean-field inference as in scikit-learn.
    learner : {"memoized", "batch", "stochastic", "asynchronous"} or an object of topmix.learners
        How the documents are visited. "asynchronous" needs inference="variational".
    engine : {"threads", "serial", "ray", "cuda"} or an object of topmix.engines
        Who runs the kernels. The results are the same for any engine; those of "cuda", a GPU, within rounding.
    doc_topic_prior : float, array of shape (n_components,), "auto", topmix.priors.Covariates or None
        Dirichlet prior of documents on topics, alpha. None is 0.5 / K each; "auto" learns one value per topic after
        each pass. Documents that drop small topics (min_topic_mass) lead to a smaller alpha. `Covariates("a + b")` lets
        alpha depend on columns beside the documents, and learns how: see `effects`.
    topic_word_prior : float, array of shape (n_features,) or (n_components, n_features), "auto", an object or None
        Dirichlet prior of topics on words, eta; rows of a matrix seed topics. "auto" learns one value. None is 0.03 for
        variational inference, and 0.08, or 16 / K where that is less, for collapsed inference. `OverTime("date")` and
        `ByGroup("section")` of `topmix.priors` let words of topics differ between periods or groups of documents: see
        `words_by`, `changed_words` and `topic_versions`.
    seeds : list of lists of words, Seeds or None
        Words that topics 0, 1, ... should have, as a prior that stays while they are learned; None in the list is a
        topic without. `topmix.Seeds` also says how strong they are, and which words are banned from topics or pinned.
    max_iter : int or None
        Passes over the data, at most, sampling sweeps among them; a small number leaves less room for sweeps, or none.
        None is 20 and as many more as there are sweeps. 0 leaves the topics where they start.
    tol : float
        Stop when a pass lifts the objective by less than this, per token.
    max_time : float or None
        Seconds for the whole fit, including initialisation and all `n_init` starts. The fit stops before a pass that
        would not fit in, judging by the pass before it; every start makes at least one pass. None: no limit.
    n_init : int
        Starts to try; the one with the best objective is kept.
    init : {"auto", "blended", "documents", "random"}, array of shape (n_components, n_features) or a fitted estimator
        Where topics start. "auto" is "blended": a little of one document in a lot of the corpus mean. Or pseudo-counts,
        given or those in `components_` of, for instance, a CombinatorialLDA.
    warm_start : bool
        Start `fit` from the topics of the last one.
    n_jobs : int or None
        Threads. None and -1 use all cores (scikit-learn uses one). The results are the same for any value, except with
        learner="asynchronous", which has that many workers.
    random_state : int, RandomState or None
        The same seed gives the same bits.
    verbose : int or None
        1 shows progress on stderr: a bar on a terminal, a line per pass elsewhere. None shows a bar on a terminal or in
        a notebook if the fit takes longer than ten seconds. 0 is silent.
    callbacks : list of callables or None
        Each is called as f(record, view) after a pass; a true value ends the fit. See topmix.fitting.PassView.

    Attributes
    ----------
    components_ : ndarray of shape (n_components, n_features)
        Pseudo-counts: expected tokens of each word in each topic, plus the prior.
    topic_word_ : ndarray of shape (n_components, n_features)
        Probabilities of words in topics, rows sum to one: components_ with `smoothing` of the inference in the place of
        the prior.
    exp_dirichlet_component_ : ndarray of shape (n_components, n_features)
        exp(E[log phi]) under the Dirichlet with pseudo-counts components_; made when asked for.
    doc_topic_prior_ : float or ndarray of shape (n_components,)
        alpha: a number where it is the same for all topics, an array where topics differ or it is learned; with
        Covariates, its mean over the documents of the fit.
    topic_word_prior_ : float or ndarray
        eta: a number where one was given or learned, else an array as it was given.
    seed_counts_ : sparse array of shape (n_components, n_features) or None
        What seeds added to the prior.
    banned_ : sparse array of shape (n_components, n_features) or None
        True where a word may not belong to a topic.
    versions_ : list of str
        Groups of `ByGroup`, or the first days of the periods of `OverTime`.
    frozen_ : list of int
        The topics that `freeze_topics` keeps as they are.
    history_ : list of Record
        One record per pass and per sampling sweep; its `phase` is "learning", "sampling", "drawing" (with
        Covariates), "polishing" or "versions".
    objective_, elbo_ : float
        The objective at the end: a lower bound on the log evidence (variational), or on the log posterior of topics and
        proportions (collapsed).
    bound_ : float
        exp(-elbo_ / tokens): for variational inference the training perplexity that scikit-learn has under this name.
        It can be compared between fits of one kind of inference, not between two.
    n_batch_iter_ : int
        Updates of the topics so far.
    random_state_ : RandomState
        Made from random_state when asked for.
    n_iter_, converged_, n_features_in_, feature_names_in_ : as in scikit-learn.

    Notes
    -----
    scikit-learn's LatentDirichletAllocation takes the same steps as `LDA(K, inference=Variational(min_topic_mass=0,
    cold_visits=None, stopping="mean", doc_tol=1e-3), learner="batch", n_active=None, init="random",
    doc_topic_prior=1 / K, topic_word_prior=1 / K)`.

    A document without words is no error: its proportions are those of the prior. More topics than documents, and a
    corpus without any words, are fitted too; topics without words stay at the prior.

    Examples
    --------
    >>> from topmix import LDA
    >>> from topmix.data import from_texts
    >>> texts = ["apples and pears", "pears and plums", "ships and sails", "sails and masts"] * 10
    >>> lda = LDA(n_components=2, random_state=0).fit(from_texts(texts))
    >>> lda.transform(from_texts(texts)).shape
    (40, 2)
    """

    versions_ = learned[list[str]](lambda f: None if f.reading.versions is None else list(f.reading.versions.names))
    doc_topic_prior_ = learned[Any](lambda f: document_prior_as_given(f.topics.prior.alpha, f.topics.prior.learned))

    def __init__(
        self,
        n_components: int = 100,
        *,
        n_active: int | None = 16,
        inference: str | Inference = "collapsed",
        learner: str | Learner = "memoized",
        engine: str | Engine = "threads",
        doc_topic_prior: object = None,
        topic_word_prior: object = None,
        seeds: object = None,
        max_iter: int | None = None,
        tol: float = 3e-3,
        max_time: float | None = None,
        n_init: int = 1,
        init: object = "auto",
        warm_start: bool = False,
        n_jobs: int | None = None,
        random_state: object = None,
        verbose: int | None = None,
        callbacks: list[Callback] | None = None,
    ):
        self.n_components = n_components
        self.n_active = n_active
        self.inference = inference
        self.learner = learner
        self.engine = engine
        self.doc_topic_prior = doc_topic_prior
        self.topic_word_prior = topic_word_prior
        self.seeds = seeds
        self.max_iter = max_iter
        self.tol = tol
        self.max_time = max_time
        self.n_init = n_init
        self.init = init
        self.warm_start = warm_start
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose
        self.callbacks = callbacks

    def effects(self, *, level: float = 0.95) -> DataFrame:
        """What topics depend on, as a table with one row per topic and term of the formula of `Covariates`.

        `estimate` is by how much log alpha of the topic changes per unit of a number, or between a value of a category
        and the first one; `Intercept` is log alpha where all of these are zero. The truth is from `low` to `high` with
        probability `level`: draws of the posterior, given that neither topics nor their shares in documents are known
        for sure. They are NaN for a fit without sampling sweeps (`Collapsed.sweeps`), or
        whose `max_iter` leaves no passes for draws.
        """
        return self._frame(effects.effects(self._found(), number_from(level, "level", 0.0, 1.0)))

    def expected_shares(self, metadata: object, *, level: float = 0.95) -> DataFrame:
        """The share of each topic that documents with these values lead one to expect, before their words are seen.

        A table with one row per row of `metadata` and topic: `row`, `topic`, `name`, `share`, and `low` and `high` as
        in `effects`. `metadata` is a DataFrame, or a mapping of columns, with all columns of the formula.
        """
        return self._frame(effects.expected_shares(self._found(), metadata, number_from(level, "level", 0.0, 1.0)))

    def topic_word_of(self, version: object) -> np.ndarray:
        """Probabilities of words in the topics of one version, shape (n_components, n_features). `version` is a group
        of `ByGroup`, or a date in a period of `OverTime`."""
        return versions.topic_word_of(self._found(), version)

    def changed_words(self, topic: int | None = None, *, n_words: int = 10) -> DataFrame:
        """The words of a topic, or of all, that differ most between versions: a table, strongest first.

        `change` is the word's part of the divergence between the versions of the topic and their mean, in nats: over
        all words they sum to the Jensen-Shannon divergence. `highest` is the version that has most of the word, with
        the probability `weight_there`, and `lowest` that with the least. Over time, `trend` says whether a word "rises"
        or "falls".
        """
        f, n = self._found(), whole_number(n_words, "n_words")
        return self._frame(versions.changed_words(f, self._topics_asked(topic), n))

    def topic_versions(self) -> DataFrame:
        """How much of each version belongs to each topic: a table with one row per topic and version.

        `tokens` are those of the topic in the documents of the version, and `share` their part of all. `distance` is
        the Hellinger distance of the topic's words there from those that all versions share. Over time, `state` is
        "begins" where a topic has reached a fifth of its largest share, and "fades" where it has fallen below again.
        """
        return self._frame(versions.topic_versions(self._found()))

    def _document_prior(self, K: int, posterior: str, design: Design | None) -> Prior:
        given = self.doc_topic_prior
        if isinstance(given, Covariates):
            if design is None:
                raise ValueError(f"{given!r} needs the columns that it names")
            return CovariatePrior.flat(K, len(design.names), posterior, DOCUMENT_TOTAL, given.sigma)
        return super()._document_prior(K, posterior, design)

    def _versions(self) -> OverTime | ByGroup | None:
        return self.topic_word_prior if isinstance(self.topic_word_prior, OverTime | ByGroup) else None

    def _common_word_prior(self) -> object:
        return None if self._versions() is not None else self.topic_word_prior
