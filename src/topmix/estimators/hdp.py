"""The hierarchical Dirichlet process as a scikit-learn estimator."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import numpy as np

from topmix import _core
from topmix.base.checks import count_of_components, whole_number, whole_number_or_none
from topmix.corpus.corpus import Corpus
from topmix.estimators.estimator import Seeded, learned
from topmix.estimators.priors import FirstTopics, concentration, word_prior
from topmix.estimators.variational import VariationalTopics
from topmix.io.formulas import Design
from topmix.io.reading import Reading
from topmix.learn.learners import Learner
from topmix.learn.problem import Problem
from topmix.learn.topic_moves import Posteriors
from topmix.learn.topic_search import SearchedTopics, TopicSearch, largest_size
from topmix.models.stick_prior import StickPrior, Sticks
from topmix.models.topic_words import TopicWords
from topmix.models.topics import DocumentOptions, TopicModel
from topmix.models.words import WordTotal
from topmix.results.topics import FittedTopics
from topmix.steps.documents import TopicStep
from topmix.steps.inference import FixedPoint, Inference

RESTARTS = 5  # of variational documents, unless `inference` says otherwise
FEWEST_PER_BATCH = 30  # documents in memoized fits, unless batch_size says otherwise


class HDP(Seeded, VariationalTopics):
    """Topics under a hierarchical Dirichlet process: some are used by many documents, most by few.

    Variational inference with a surrogate bound (Hughes, Kim & Sudderth 2015). Where LDA has one prior for all topics,
    HDP learns the share of each topic in the corpus, and leaves a little for topics that are not there yet.

    Parameters
    ----------
    n_components : int
        Number of topics, the truncation K; with a search, one of the numbers to start with.
    inference : {"collapsed", "variational"} or an object of topmix.inference
        "variational" climbs the surrogate bound. "collapsed" finds the number of topics under it too, with a few
        collapsed passes before, which lead to a higher bound, and a few at the end, for topics that predict better;
        elbo_ is then the bound where these ended, and lower. Without a search all passes are collapsed. Its `smoothing`
        is min(0.08, 16 / K) for None; `own_discount` and `sweeps` are not used.
    learner : {"memoized", "batch", "stochastic"} or an object of topmix.learners
        How the documents are visited. Only memoized fits search for the number of topics.
    search : "auto", an object topmix.search.TopicSearch, or None
        How a memoized fit finds the number of topics. None keeps n_components.
    doc_topic_prior : float, "auto", a pair of these, or None
        Concentrations. Of documents, alpha: topic k has the prior alpha E[beta_k], and a small one means few topics per
        document. Of the corpus, gamma, the second of a pair: a large one means many topics. None is (0.5, 10); "auto"
        learns one.
    topic_word_prior : float, array of shape (n_features,) or (n_components, n_features), "auto" or None
        Dirichlet prior of topics on words, eta; rows of a matrix only with search=None. "auto" learns one value. None
        is 0.03 in variational passes and during the search, min(0.2, 16 / K) in the collapsed passes after it, and
        min(0.08, 16 / K) where all passes are collapsed.
    seeds : list of lists of words, Seeds or None
        Words that topics 0, 1, ... should have, as in LDA; only with search=None.
    max_iter : int
        Passes, at most. A search takes 100 to 200.

    Attributes
    ----------
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
    objective_, elbo_ : float
        The surrogate bound at the end, a lower bound on the log evidence. bound_ is exp(-elbo_ / tokens).

    Examples
    --------
    >>> from topmix import HDP
    >>> from topmix.data import sample_lda
    >>> corpus = sample_lda(60, 40, 3, doc_length=30, random_state=0).corpus
    >>> hdp = HDP(4, search=None, max_iter=5, random_state=0).fit(corpus)
    >>> hdp.components_.shape
    (4, 40)
    """

    search: str | TopicSearch | None = "auto"
    max_iter: int = 400
    tol = 1e-3

    doc_topic_prior_ = learned[np.ndarray](lambda f: f.topics.prior.alpha)
    topic_shares_ = learned[np.ndarray](lambda f: f.topics.prior.alpha / f.topics.prior.concentration)
    concentration_ = learned[float](lambda f: f.topics.prior.concentration)
    weight_concentration_ = learned[float](lambda f: f.topics.prior.stick_prior)

    def _problem(
        self, corpus: Corpus, reading: Reading, learner: Learner, inference: Inference, *, searches: bool = True
    ) -> Problem:
        problem = super()._problem(corpus, reading, learner, inference, searches=searches)
        first, posteriors = problem.first, self._posteriors()
        assert isinstance(first, FirstTopics)
        # With few documents an update of the sticks takes longer than the documents.
        batches = min(10, max(1, corpus.n_docs // FEWEST_PER_BATCH))
        problem = replace(problem, first=replace(first, posteriors=posteriors), batches=batches)
        search = self._search() if searches else None
        if search is None:
            return problem
        words = first.empty.words if first.warm is None else first.warm.words
        if words.eta.shape[1] > 1 or words.is_told:
            raise ValueError("a topic_word_prior of single topics, seeds and frozen topics need search=None")
        quarter = problem.max_iter // 4
        warm_up = min(search.warm_up, quarter) if posteriors.final == "collapsed" else 0
        empty = posteriors.under(first.empty, "collapsed" if warm_up else "variational", is_searching=True)
        plan = partial(
            SearchedTopics,
            posteriors=posteriors,
            warm_up=warm_up,
            polish=min(search.polish, quarter),
            max_topics=largest_size(min(search.max_topics or max(1, corpus.n_docs // 2), _core.MAX_TOPICS)),
            chooses_size=isinstance(self.init, str) and first.warm is None,
        )
        first = replace(first, empty=empty, sparse=False, posteriors=posteriors, is_searching=True)
        step = TopicStep(cold_visits=1)  # moves need the topics of documents, so visits start from the last one
        return replace(problem, first=first, step=step, plan=plan, empty=empty)

    def _posteriors(self) -> Posteriors:
        """How topics and documents are solved in the parts of a fit."""
        inference = self._inference()
        assert isinstance(inference, FixedPoint)
        return Posteriors(
            final=inference.posterior,
            shared=inference.document_options(whole_number_or_none(self.n_active, "n_active")),
            least_mass=inference.min_topic_mass,
            restarts=RESTARTS if inference.restarts is None else inference.restarts,
            chooses_prior=self.topic_word_prior is None,
            smoothing=inference.smoothing,
            searches=self._search() is not None,
        )

    def _sweeps(self, *_: object) -> tuple[int, int]:
        """None: the number of topics is searched for by moves of its own."""
        return 0, whole_number(self.max_iter, "max_iter", least=0)

    def _empty_model(self, V: int, design: Design | None = None) -> TopicModel:
        K, search = count_of_components(self.n_components), self._search()
        if search is not None and search.max_topics is not None and isinstance(self.init, str):
            K = min(K, search.max_topics)
        given, posteriors = self.doc_topic_prior, self._posteriors()
        of_documents, of_corpus = given if isinstance(given, tuple | list) and len(given) == 2 else (given, None)
        alpha, learns_alpha = concentration(of_documents, 0.5, "doc_topic_prior")
        gamma, learns_gamma = concentration(of_corpus, 10.0, "the second of doc_topic_prior")
        eta, learns_eta = word_prior(self.topic_word_prior, V, K)
        prior = StickPrior(Sticks.even(K, gamma), alpha, gamma, learns_alpha, learns_gamma)
        words = TopicWords(eta, WordTotal.zeros(V, K), posteriors.final, learns_eta, bounds_evidence=True)
        return posteriors.under(TopicModel(prior, words), posteriors.final)

    def _reported(self, model: TopicModel) -> TopicModel:
        return super()._reported(replace(model, words=self._posteriors().smoothed(model.words)))

    def _document_options(self) -> DocumentOptions:
        posteriors = self._posteriors()
        return posteriors.options(posteriors.final if self._fitted is None else self._fitted.topics.words.posterior)

    def _topics_asked_for(self) -> int | None:
        return None if self._search() is not None else super()._topics_asked_for()

    def _search(self) -> TopicSearch | None:
        """The search of this fit, if it has one."""
        if self.search is None or not self._component("learner").has_memo:
            return None
        search: TopicSearch = self._component("search")
        return search

    def _inference(self) -> Inference:
        inference = super()._inference()
        if not isinstance(inference, FixedPoint):
            raise ValueError(f"HDP needs inference='collapsed' or 'variational', got {self.inference!r}")
        return inference

    def _check_warm(self, f: FittedTopics) -> None:
        if self._search() is None:  # which may have found any number of topics
            super()._check_warm(f)
