"""LDA and HDP as scikit-learn estimators, and what is LDA with other priors."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import Self, Unpack

import numpy as np
from sklearn.utils import Tags

from topmix import _core
from topmix.base.checks import count_of_components, positive_number, whole_number, whole_number_or_none
from topmix.corpus.corpus import Corpus
from topmix.estimators.declared import ClusterOptions, FitOptions, fraction, takes
from topmix.estimators.described import where
from topmix.estimators.estimator import Seeded, learned
from topmix.estimators.priors import DOCUMENT_TOTAL, FirstTopics, alpha_of, concentration, document_prior, word_prior
from topmix.estimators.variational import VariationalTopics
from topmix.io.documents import refuse_iterator
from topmix.io.formulas import Design
from topmix.io.priors import ColumnPrior, Covariates, VersionPrior
from topmix.io.reading import Reading
from topmix.learn.fit import Problem
from topmix.learn.topic_moves import Posteriors
from topmix.learn.topic_search import SearchedTopics, TopicSearch, largest_size
from topmix.models.covariate_prior import CovariatePrior, LabelPrior
from topmix.models.document_prior import DocumentPrior, Prior
from topmix.models.stick_prior import StickPrior, Sticks
from topmix.models.topic_words import WORD_PRIOR, TopicWords, collapsed_word_prior
from topmix.models.topics import DocumentOptions, TopicModel
from topmix.models.words import WordTotal
from topmix.results import covariates
from topmix.results.tables import checked_topic
from topmix.results.view import DataFrame
from topmix.steps.documents import TopicStep
from topmix.steps.inference import FixedPoint, Inference

RESTARTS = 5  # of variational documents, unless `inference` says otherwise
FEWEST_PER_BATCH = 30  # documents in memoized fits, unless batch_size says otherwise


class FiniteTopics(VariationalTopics):
    """As many topics as were asked for, with Dirichlet priors.

    Parameters
    ----------
    doc_topic_prior : float, array of shape (n_components,), "auto" or None
        Dirichlet prior of documents on topics, alpha. None is 0.5 / K each; "auto" learns one value per topic.
    topic_word_prior : float, array of shape (n_features,) or (n_components, n_features), "auto" or None
        Dirichlet prior of topics on words, eta; rows of a matrix seed topics. "auto" learns one value. None is 0.03 for
        variational inference, and 0.08, or 16 / K where that is less, for collapsed inference.
    """

    def _empty_model(self, V: int, design: Design | None = None) -> TopicModel:
        K, posterior = count_of_components(self.n_components), self._inference().posterior
        given = None if isinstance(self.topic_word_prior, VersionPrior) else self.topic_word_prior
        eta, learn_eta = word_prior(collapsed_word_prior(K) if self._has_collapsed_prior() else given, V, K)
        words = TopicWords(eta, WordTotal.zeros(V, K), posterior, learn_eta)
        prior: Prior
        given = self.doc_topic_prior
        if isinstance(given, LabelPrior):
            prior = given
        elif isinstance(given, Covariates):
            if design is None:
                raise ValueError(f"{given!r} needs the columns that it names")
            prior = CovariatePrior.flat(K, len(design.names), posterior, DOCUMENT_TOTAL, given.sigma)
        else:
            alpha, learn_alpha = document_prior(given, K)
            prior = DocumentPrior(alpha, posterior, learn_alpha)
        return TopicModel(prior, words, self._document_options())

    def _has_collapsed_prior(self) -> bool:
        """Whether the prior on words is the large one that collapsed topics learn best with."""
        is_default = self.topic_word_prior is None or isinstance(self.topic_word_prior, VersionPrior)
        return is_default and self._inference().posterior == "collapsed"

    def _reported(self, model: TopicModel) -> TopicModel:
        """A large prior learns better, and a small one predicts better: topic_word_ has `smoothing` in its place."""
        smoothing = self._inference().smoothing
        if smoothing is not None:
            positive_number(smoothing, "smoothing")
        elif self._has_collapsed_prior():
            smoothing = min(WORD_PRIOR, float(model.words.eta[0, 0]))
        return super()._reported(replace(model, words=replace(model.words, smoothing=smoothing)))


class TargetTopics(FiniteTopics):
    """LabelledLDA and SupervisedLDA: topics that learn from more than words, from y."""

    @takes(ClusterOptions)
    def fit(self, X: object, y: object = None, **how: Unpack[ClusterOptions]) -> Self:  # type: ignore[override]
        """Learns topics of documents X, which is what `LDA.fit` takes, and of what y says of each document."""
        options, name = FitOptions.of(how), type(self).__name__
        if y is None:
            raise ValueError(f"{name} requires y to be passed, but the target y is None")
        for given in (self.doc_topic_prior, self.topic_word_prior):
            if isinstance(given, ColumnPrior):
                raise ValueError(f"{name} has no {type(given).__name__}: use LDA")
        return self._learn(lambda: self._declared()._fit(X, y, options))

    @where(lambda self: False)
    def partial_fit(self, X: object, y: object = None, **how: object) -> Self:
        """Not available: y is learned with `fit`."""
        raise AssertionError

    def _theta(self, X: object) -> np.ndarray:
        refuse_iterator(X)
        return np.asarray(self.transform(X))

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        return tags


class LDA(Seeded, FiniteTopics):
    """Latent Dirichlet allocation: documents mix topics, topics are distributions over words.

    The defaults are what measured best: collapsed inference, where each word of a document keeps its `n_active` best
    topics, learned in memoized passes with sampling in between (`Collapsed.sweeps`).

    Parameters
    ----------
    doc_topic_prior : float, array of shape (n_components,), "auto", topmix.priors.Covariates or None
        Dirichlet prior of documents on topics, alpha. None is 0.5 / K each; "auto" learns one value per topic.
        `Covariates("a + b")` lets alpha depend on columns of the documents, and learns how: see `effects`.
    topic_word_prior : float, array of shape (n_features,) or (n_components, n_features), "auto", an object or None
        Dirichlet prior of topics on words, eta; rows of a matrix seed topics. "auto" learns one value. None is 0.03 for
        variational inference, and 0.08, or 16 / K where that is less, for collapsed inference. `OverTime("date")` and
        `ByGroup("section")` let words of topics differ between periods or groups of documents: see `words_by`.

    Attributes
    ----------
    doc_topic_prior_ : float or ndarray of shape (n_components,)
        alpha: a number where it is the same for all topics, else an array; with Covariates, its mean over documents.
    versions_ : list of str
        Groups of `ByGroup`, or the first days of the periods of `OverTime`.
    history_ : list of Record
        One record per pass and per sampling sweep; its `phase` is "learning", "sampling", "drawing" (with
        Covariates), "polishing" or "versions".

    Notes
    -----
    scikit-learn's LatentDirichletAllocation takes the same steps as `LDA(K, inference=Variational(min_topic_mass=0,
    cold_visits=None, stopping="mean", doc_tol=1e-3), learner="batch", n_active=None, init="random",
    doc_topic_prior=1 / K, topic_word_prior=1 / K)`.

    A document without words has the proportions of the prior, and topics without words stay at the prior.

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
    doc_topic_prior_ = learned(alpha_of)

    def effects(self, *, level: float = 0.95) -> DataFrame:
        """What topics depend on, as a table with one row per topic and term of the formula of `Covariates`.

        `estimate` is by how much log alpha of the topic changes per unit of a number, or between a value of a category
        and the first one; `Intercept` is log alpha where all of these are zero. The truth is from `low` to `high` with
        probability `level`, by draws of the posterior. They are NaN for a fit without sampling sweeps
        (`Collapsed.sweeps`), or whose `max_iter` leaves no passes for draws.
        """
        return self._frame(covariates.effects(self._found(), fraction(level, "level")))

    def expected_shares(self, metadata: object, *, level: float = 0.95) -> DataFrame:
        """The share of each topic that documents with these values lead one to expect, before their words are seen.

        A table with one row per row of `metadata` and topic: `row`, `topic`, `name`, `share`, and `low` and `high` as
        in `effects`. `metadata` is a DataFrame, or a mapping of columns, with all columns of the formula.
        """
        return self._frame(covariates.expected_shares(self._found(), metadata, fraction(level, "level")))

    def topic_word_of(self, version: object) -> np.ndarray:
        """Probabilities of words in the topics of one version, shape (n_components, n_features). `version` is a group
        of `ByGroup`, or a date in a period of `OverTime`."""
        return covariates.topic_word_of(self._found(), version)

    def changed_words(self, topic: int | None = None, *, n_words: int = 10) -> DataFrame:
        """The words of a topic, or of all, that differ most between versions: a table, strongest first.

        `change` is the word's part of the Jensen-Shannon divergence of the versions of the topic, in nats. `highest` is
        the version that has most of the word, with the probability `weight_there`, and `lowest` that with the least.
        Over time, `trend` says whether a word "rises" or "falls".
        """
        f, n = self._found(), whole_number(n_words, "n_words")
        topics = range(f.n_topics) if topic is None else [checked_topic(f, topic)]
        return self._frame(covariates.changed_words(f, topics, n))

    def topic_versions(self) -> DataFrame:
        """How much of each version belongs to each topic: a table with one row per topic and version.

        `tokens` are those of the topic in the version, and `share` their part of all. `distance` is the Hellinger
        distance of its words from those that all versions share. Over time, `state` is "begins" where a topic has
        reached a fifth of its largest share, and "fades" where it has fallen below again.
        """
        return self._frame(covariates.topic_versions(self._found()))

    def _column_priors(self) -> list[ColumnPrior]:
        return [given for given in (self.doc_topic_prior, self.topic_word_prior) if isinstance(given, ColumnPrior)]


class HDP(Seeded, VariationalTopics):
    """Topics under a hierarchical Dirichlet process: some are used by many documents, most by few.

    HDP learns the share of each topic in the corpus, with a surrogate bound (Hughes, Kim & Sudderth 2015), and memoized
    fits find the number of topics.

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
        How the documents are visited.
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
        Whether the bound, or the search, came to an end.
    topic_shares_ : ndarray of shape (n_components,)
        E[beta_k], shares of topics in the corpus. They sum to less than one.
    doc_topic_prior_ : ndarray of shape (n_components,)
        alpha E[beta_k], the prior of a document on each topic.
    concentration_, weight_concentration_ : float
        alpha and gamma, as given or learned.
    history_ : list of Record
        One record per pass; `moves` says how the number of topics changed before it, and what that gained.
    objective_, elbo_ : float
        The surrogate bound at the end, a lower bound on the log evidence.

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

    def _problem(self, corpus: Corpus, reading: Reading, *, searches: bool = True) -> Problem:
        problem = super()._problem(corpus, reading, searches=searches)
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

    def _sweeps(self, corpus: Corpus) -> tuple[int, int]:
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
        if self.search is None or not self._component("learner").has_memo:
            return None
        return self._component("search")

    def _inference(self) -> Inference:
        inference = super()._inference()
        if not isinstance(inference, FixedPoint):
            raise ValueError(f"HDP needs inference='collapsed' or 'variational', got {self.inference!r}")
        return inference
