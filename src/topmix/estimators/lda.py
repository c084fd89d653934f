"""Latent Dirichlet allocation as a scikit-learn estimator."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from topmix.base.checks import count_of_components, whole_number
from topmix.estimators.declared import fraction
from topmix.estimators.estimator import Seeded, learned
from topmix.estimators.priors import DOCUMENT_TOTAL, document_prior, document_prior_as_given, word_prior, word_smoothing
from topmix.estimators.variational import VariationalTopics
from topmix.io.formulas import Design
from topmix.io.priors import ColumnPrior, Covariates, VersionPrior
from topmix.models.covariate_prior import CovariatePrior, LabelPrior
from topmix.models.document_prior import DocumentPrior, Prior
from topmix.models.topic_words import TopicWords, collapsed_word_prior
from topmix.models.topics import TopicModel
from topmix.models.words import WordTotal
from topmix.results import covariates
from topmix.results.view import DataFrame


class FiniteTopics(VariationalTopics):
    """As many topics as were asked for, with Dirichlet priors."""

    def _empty_model(self, V: int, design: Design | None = None) -> TopicModel:
        K, posterior = count_of_components(self.n_components), self._inference().posterior
        given = None if isinstance(self.topic_word_prior, VersionPrior) else self.topic_word_prior
        eta, learn_eta = word_prior(collapsed_word_prior(K) if self._has_collapsed_prior() else given, V, K)
        words = TopicWords(eta, WordTotal.zeros(V, K), posterior, learn_eta)
        return TopicModel(self._document_prior(K, posterior, design), words, self._document_options())

    def _document_prior(self, K: int, posterior: str, design: Design | None) -> Prior:
        given = self.doc_topic_prior
        if isinstance(given, LabelPrior):
            return given
        if isinstance(given, Covariates):
            if design is None:
                raise ValueError(f"{given!r} needs the columns that it names")
            return CovariatePrior.flat(K, len(design.names), posterior, DOCUMENT_TOTAL, given.sigma)
        alpha, learn_alpha = document_prior(given, K)
        return DocumentPrior(alpha, posterior, learn_alpha)

    def _has_collapsed_prior(self) -> bool:
        """Whether the prior on words is the large one that collapsed topics learn best with."""
        is_default = self.topic_word_prior is None or isinstance(self.topic_word_prior, VersionPrior)
        return is_default and self._inference().posterior == "collapsed"

    def _reported(self, model: TopicModel) -> TopicModel:
        words = model.words
        smoothing = word_smoothing(self._inference().smoothing, words.eta, self._has_collapsed_prior())
        return super()._reported(replace(model, words=replace(words, smoothing=smoothing)))


class LDA(Seeded, FiniteTopics):
    """Latent Dirichlet allocation: documents mix topics, topics are distributions over words.

    The defaults are what measured best: collapsed inference, where each word of a document keeps its `n_active` best
    topics, learned in memoized passes with sampling in between (`Collapsed.sweeps`).

    Parameters
    ----------
    doc_topic_prior : float, array of shape (n_components,), "auto", topmix.priors.Covariates or None
        Dirichlet prior of documents on topics, alpha. None is 0.5 / K each; "auto" learns one value per topic after
        each pass. `Covariates("a + b")` lets alpha depend on columns of the documents, and learns how: see `effects`.
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
    doc_topic_prior_ = learned(lambda f: document_prior_as_given(f.topics.prior.alpha, f.topics.prior.learned))

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

        `change` is the word's part of the divergence between the versions of the topic and their mean, in nats: over
        all words they sum to the Jensen-Shannon divergence. `highest` is the version that has most of the word, with
        the probability `weight_there`, and `lowest` that with the least. Over time, `trend` says whether a word "rises"
        or "falls".
        """
        f, n = self._found(), whole_number(n_words, "n_words")
        return self._frame(covariates.changed_words(f, self._topics_asked(topic), n))

    def topic_versions(self) -> DataFrame:
        """How much of each version belongs to each topic: a table with one row per topic and version.

        `tokens` are those of the topic in the version, and `share` their part of all. `distance` is the Hellinger
        distance of its words from those that all versions share. Over time, `state` is "begins" where a topic has
        reached a fifth of its largest share, and "fades" where it has fallen below again.
        """
        return self._frame(covariates.topic_versions(self._found()))

    def _column_priors(self) -> list[ColumnPrior]:
        return [given for given in (self.doc_topic_prior, self.topic_word_prior) if isinstance(given, ColumnPrior)]
