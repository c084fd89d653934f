"""The hierarchical Dirichlet process as a scikit-learn estimator."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import scipy.sparse as sp

from topmix import _core
from topmix.allocations.stick_prior import StickPrior, Sticks
from topmix.api.estimator import learned
from topmix.api.priors import COLLAPSED_WORD_PRIOR_TOTAL, collapsed_word_prior, concentration, word_prior
from topmix.api.variational import VariationalTopics
from topmix.data.corpus import Corpus
from topmix.data.shard import Batches
from topmix.engines import Engine
from topmix.files.reader import CheckedReader
from topmix.fitted.topics import FittedTopics
from topmix.fitting.history import Callback, Record
from topmix.fitting.problem import SearchProblem, TopicProblem
from topmix.inference import Inference
from topmix.inference.fixed_point import FixedPoint
from topmix.learners import Learner
from topmix.likelihoods.topic_words import TopicWords
from topmix.local.topics import TopicStep
from topmix.models.document_options import DocumentOptions
from topmix.models.topic_start import blended, restarted
from topmix.models.topics import TopicModel
from topmix.parameters.checks import count_of_components, whole_number, whole_number_or_none
from topmix.priors import Design
from topmix.read import Reading
from topmix.search import TopicSearch
from topmix.search.paused import Paused
from topmix.search.search import Limits, Search, Sources
from topmix.search.sizes import SizeSearch, largest_size
from topmix.stats import WordTotal

FINISH_WORD_PRIOR = 0.2  # eta of collapsed passes after a search; never more than COLLAPSED_WORD_PRIOR_TOTAL over K
LEAST_MASS = 1e-6  # tokens: with fewer a topic has left a variational document, and would only cost time
RESTARTS = 5  # of variational documents, unless `inference` says otherwise
FEWEST_PER_BATCH = 30  # documents in memoized fits, unless batch_size says otherwise


class HDP(VariationalTopics):
    """Topics under a hierarchical Dirichlet process: some are used by many documents, most by few.

    Variational inference with a surrogate bound (Hughes, Kim & Sudderth 2015). Where LDA has one prior for all topics,
    HDP learns the share of each topic in the corpus, and leaves a little for topics that are not there yet.

    Parameters
    ----------
    n_components : int
        Number of topics, the truncation K; with a search, one of the numbers to start with.
    n_active : int or None
        Topics kept for each word of a document, L; None keeps all K.
    inference : {"collapsed", "variational"} or an object of topmix.inference
        "variational" climbs the surrogate bound: at every update with n_active=None and warm documents, else nearly
        always. "collapsed": the number of topics is found under the variational
        bound too, but a few collapsed passes come before, which lead to a higher bound, and a few at the end, for
        topics that predict better; elbo_ is then the bound where these ended, and lower. Without a search all passes
        are collapsed. Its `smoothing` is min(0.08, 16 / K) for None; `own_discount` and `sweeps` are not used.
    learner : {"memoized", "batch", "stochastic"} or an object of topmix.learners
        How the documents are visited. Only memoized fits search for the number of topics.
    engine : as in LDA
    search : "auto", an object topmix.search.TopicSearch, or None
        How a memoized fit finds the number of topics. None keeps n_components.
    doc_topic_prior : float, "auto", a pair of these, or None
        Concentrations. Of documents, alpha: topic k has the prior alpha E[beta_k], and a small one means few topics per
        document. Of the corpus, gamma, the second of a pair: a large one means many topics. None is (0.5, 10); "auto"
        learns one.
    topic_word_prior : float, array of shape (n_features,) or (n_components, n_features), "auto" or None
        Dirichlet prior of topics on words, eta; rows of a matrix only with search=None. None is 0.03 in variational
        passes and during the search, min(0.2, 16 / K) in the collapsed passes after it, and min(0.08, 16 / K) where all
        passes are collapsed. "auto" learns one value.
    seeds : as in LDA; only with search=None
    max_iter : int
        Passes at most, including those of trials that were undone. A search takes 100 to 200.
    tol, max_time, n_init, init, warm_start, n_jobs, random_state, verbose, callbacks : as in LDA

    Attributes
    ----------
    components_, topic_word_, topic_word_prior_, n_iter_, n_batch_iter_ : as in LDA
    converged_ : bool
        Whether the bound stood still; after a search, whether no move raised it any more.
    topic_shares_ : ndarray of shape (n_components,)
        E[beta_k], shares of topics in the corpus. They sum to less than one.
    doc_topic_prior_ : ndarray of shape (n_components,)
        alpha E[beta_k], the prior of a document on each topic.
    concentration_, weight_concentration_ : float
        alpha and gamma, as given or learned.
    history_ : list of Record
        One record per pass; `moves` says how the number of topics changed before it, and what that gained.
    objective_, elbo_, bound_ : float
        The surrogate bound at the end, a lower bound on the log evidence; and exp(-elbo_ / tokens).

    Examples
    --------
    >>> from topmix import HDP
    >>> from topmix.data import sample_lda
    >>> corpus = sample_lda(60, 40, 3, doc_length=30, random_state=0).corpus
    >>> hdp = HDP(4, search=None, max_iter=5, random_state=0).fit(corpus)
    >>> hdp.components_.shape
    (4, 40)
    """

    doc_topic_prior_ = learned[np.ndarray](lambda f: f.topics.prior.alpha)
    topic_shares_ = learned[np.ndarray](lambda f: f.topics.prior.alpha / f.topics.prior.concentration)
    concentration_ = learned[float](lambda f: f.topics.prior.concentration)
    weight_concentration_ = learned[float](lambda f: f.topics.prior.stick_prior)

    def __init__(
        self,
        n_components: int = 100,
        *,
        n_active: int | None = 16,
        inference: str | Inference = "collapsed",
        learner: str | Learner = "memoized",
        engine: str | Engine = "threads",
        search: str | TopicSearch | None = "auto",
        doc_topic_prior: object = None,
        topic_word_prior: object = None,
        seeds: object = None,
        max_iter: int = 400,
        tol: float = 1e-3,
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
        self.search = search
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

    def _problem(
        self, corpus: Corpus, reading: Reading, learner: Learner, inference: Inference, *, searches: bool = True
    ) -> TopicProblem:
        problem = super()._problem(corpus, reading, learner, inference, searches=searches)
        search = self._search() if searches else None
        is_searching, empty, plain_start = search is not None, problem.empty, problem.start
        if search is not None:
            empty = self._with_posterior(empty, self._first_posterior(search), is_searching=True)
            words = empty.words if self._fitted is None or not self._is_warm() else self._fitted.topics.words
            if empty.words.eta.shape[1] > 1 or words.extra is not None or words.held is not None:
                raise ValueError(
                    "topic_word_prior and seeds cannot differ by topic, and topics cannot be frozen, while their "
                    "number is searched: search=None"
                )

        def start(rng: np.random.Generator) -> TopicModel:
            is_sparse = learner.fades and searches and not is_searching and problem.max_iter > 0
            model = plain_start(rng, empty, is_sparse)
            return self._with_posterior(model, empty.words.posterior, is_searching=is_searching)

        # With few documents an update of the sticks takes longer than the documents.
        batches = min(10, max(1, corpus.n_docs // FEWEST_PER_BATCH))
        problem = replace(problem, empty=empty, start=start, default_batches=batches)
        if search is None:
            return problem
        return replace(
            problem,
            step=TopicStep(cold_visits=1),  # moves need the topics of documents, so visits start from the last one
            restarts_small_topics=False,
            search=SearchProblem(self._options, self._begin_search(search, corpus)),
        )

    def _begin_search(
        self, settings: TopicSearch, corpus: Corpus
    ) -> Callable[[Paused, Batches, np.random.Generator, int], Search]:
        """What starts the search of a fit, once its documents are dealt and its workers are there."""
        posterior, max_iter = self._inference().posterior, whole_number(self.max_iter, "max_iter", least=0)
        most = largest_size(min(settings.max_topics or max(1, corpus.n_docs // 2), _core.MAX_TOPICS))
        chooses_size = isinstance(self.init, str) and not self._is_warm()
        limits = Limits(
            max_iter=max_iter,
            quiet_gain=self.tol * max(corpus.n_tokens, 1.0),
            warm_up=min(settings.warm_up, max_iter // 4) if posterior == "collapsed" else 0,
            polish=min(settings.polish, max_iter // 4),
            polished=lambda model: self._with_posterior(model, posterior, is_searching=False),
            max_topics=most,
        )

        def begin(fit: Paused, batches: Batches, rng: np.random.Generator, n_passes: int) -> Search:
            X, numbers = sp.csr_array(corpus.to_scipy()), np.arange(corpus.n_docs)
            order = np.concatenate([numbers[rows] for rows in batches])

            def new_topics(sizes: np.ndarray, n: int) -> np.ndarray:
                counts = restarted(corpus, np.append(np.full(n, -1.0), sizes), rng)
                return np.zeros((corpus.n_words, n)) if counts is None else counts.counts()[:, :n]

            sources = Sources(new_topics, lambda n: blended(corpus, n, rng).counts(), lambda docs: X[order[docs]], rng)
            return Search(fit, sources, limits, SizeSearch(most) if chooses_size else None, n_passes)

        return begin

    def _sweeps(self, *_: Any) -> tuple[int, int]:
        """None: the number of topics is searched for by moves of its own."""
        return 0, whole_number(self.max_iter, "max_iter", least=0)

    def _empty_model(self, V: int, design: Design | None = None) -> TopicModel:
        K, posterior = self._first_size(), self._inference().posterior
        given = self.doc_topic_prior
        of_documents, of_corpus = given if isinstance(given, tuple | list) and len(given) == 2 else (given, None)
        alpha, learns_alpha = concentration(of_documents, 0.5, "doc_topic_prior")
        gamma, learns_gamma = concentration(of_corpus, 10.0, "the second of doc_topic_prior")
        eta, learns_eta = word_prior(self._default_eta(K, posterior, is_searching=False), V, K)
        prior = StickPrior(Sticks.even(K, gamma), alpha, gamma, learns_alpha, learns_gamma)
        words = TopicWords(eta, WordTotal.zeros(V, K), posterior, learns_eta, bounds_evidence=True)
        return TopicModel(prior, self._smoothed(words), self._options(posterior, False))

    def _default_eta(self, K: int, posterior: str, is_searching: bool) -> Any:
        """The search has one eta for all K, so that their bounds can be compared. Topics that are there to predict have
        a larger one."""
        if is_searching or not self._has_collapsed_prior(posterior):
            return self.topic_word_prior
        searches = self._search() is not None
        return min(FINISH_WORD_PRIOR, COLLAPSED_WORD_PRIOR_TOTAL / K) if searches else collapsed_word_prior(K)

    def _has_collapsed_prior(self, posterior: str) -> bool:
        return self.topic_word_prior is None and posterior == "collapsed"

    def _reported(self, model: TopicModel) -> TopicModel:
        return super()._reported(replace(model, words=self._smoothed(model.words)))

    def _smoothed(self, words: TopicWords) -> TopicWords:
        smoothing = self._inference().smoothing
        if smoothing is None and self._has_collapsed_prior(words.posterior):
            smoothing = min(collapsed_word_prior(words.shape[1]), float(words.eta[0, 0]))
        return replace(words, smoothing=smoothing)

    def _with_posterior(self, model: TopicModel, posterior: str, *, is_searching: bool) -> TopicModel:
        """Its topics, with documents solved under this posterior, and the default prior on words that belongs to it; a
        prior that was given or learned stays as it is."""
        words = replace(model.words, posterior=posterior)
        if self.topic_word_prior is None:
            eta = self._default_eta(model.n_components, posterior, is_searching)
            words = replace(words, eta=word_prior(eta, *words.shape)[0])
        words = replace(words, smoothing=None) if is_searching else self._smoothed(words)
        return replace(model, words=words, document_options=self._options(posterior, is_searching))

    def _options(self, posterior: str, is_searching: bool) -> DocumentOptions:
        """How documents are solved. The search leaves restarts to its last passes: earlier they end lower."""
        inference = self._inference()
        shared = inference.document_options(whole_number_or_none(self.n_active, "n_active"))
        assert isinstance(inference, FixedPoint)
        is_collapsed = posterior == "collapsed"
        eps = LEAST_MASS if inference.min_topic_mass is None and not is_collapsed else shared.eps
        restarts = RESTARTS if inference.restarts is None else inference.restarts
        without = 0 if is_collapsed or is_searching else restarts
        return replace(shared, eps=eps, restarts=without, own_discount=0.0)

    def _document_options(self) -> DocumentOptions:
        posterior = self._inference().posterior if self._fitted is None else self._fitted.topics.words.posterior
        return self._options(posterior, False)

    def _topics_asked_for(self) -> int | None:
        return None if self._search() is not None else super()._topics_asked_for()

    def _search(self) -> TopicSearch | None:
        """The search of this fit, if it has one."""
        if self.search is None or not self._component("learner").has_memo:
            return None
        search: TopicSearch = self._component("search")
        return search

    def _first_size(self) -> int:
        """How many topics to start with."""
        K, search = count_of_components(self.n_components), self._search()
        most = None if search is None or not isinstance(self.init, str) else search.max_topics
        return K if most is None else min(K, most)

    def _first_posterior(self, search: TopicSearch) -> str:
        """Topics are searched under the variational posterior. Collapsed passes may come before."""
        posterior, quarter = self._inference().posterior, whole_number(self.max_iter, "max_iter", least=0) // 4
        return "collapsed" if posterior == "collapsed" and min(search.warm_up, quarter) else "variational"

    def _inference(self) -> Inference:
        inference = super()._inference()
        if not isinstance(inference, FixedPoint):
            raise ValueError(f"HDP needs inference='collapsed' or 'variational', got {self.inference!r}")
        return inference

    def _check_warm(self, f: FittedTopics) -> None:
        kept, asked = f.truncation or f.n_topics, count_of_components(self.n_components)
        if kept != asked:
            raise ValueError(f"warm_start keeps {kept} topics, but n_components is now {asked}")

    def _value(self, reading: Reading, model: TopicModel, history: Sequence[Record]) -> FittedTopics:
        return replace(super()._value(reading, model, history), truncation=self.n_components)

    def _edited(self, f: FittedTopics) -> HDP:
        return super()._edited(replace(f, truncation=f.n_topics))

    def _read(self, about: dict[str, Any], file: CheckedReader, K: int) -> FittedTopics:
        return replace(super()._read(about, file, K), truncation=self.n_components)
