"""What all estimators with topics of words are to their users: questions about documents, topics and words."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
import scipy.sparse as sp
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils import Tags, check_random_state

from topmix.base import dirichlet
from topmix.base.checks import count_of_components
from topmix.base.threads import use_threads
from topmix.corpus.corpus import Corpus
from topmix.engines.local import Threads
from topmix.estimators.declared import fraction
from topmix.estimators.described import Described, Edited, where
from topmix.estimators.estimator import learned
from topmix.io.documents import read_known, read_parts, refuse_iterator
from topmix.io.reading import Keywords
from topmix.io.rows import checked_names
from topmix.results import edits, tables
from topmix.results.seeds import STRENGTH, Seed, Word
from topmix.results.topics import NO_TOPIC, FittedTopics, Solver, main_topics, stacked

if TYPE_CHECKING:
    from topmix.results.predictor import Predictor

SPLIT_DOCUMENTS, SPLIT_PER_TOPIC = 5000, 25  # that a split looks at


class TopicEstimator(ClassNamePrefixFeaturesOutMixin, TransformerMixin, Described[FittedTopics]):
    """LDA, HDP, GibbsLDA and CombinatorialLDA. Their answers are functions of `FittedTopics`.

    Attributes
    ----------
    components_ : ndarray of shape (n_components, n_features)
        Pseudo-counts: expected tokens of each word in each topic, plus the prior.
    topic_word_ : ndarray of shape (n_components, n_features)
        Probabilities of words in topics; rows sum to one.
    exp_dirichlet_component_ : ndarray of shape (n_components, n_features)
        exp(E[log phi]) under the Dirichlet with pseudo-counts components_; made when asked for.
    random_state_ : RandomState
        Made from random_state when asked for.
    """

    _mixes: ClassVar[bool] = True  # documents have proportions of topics, not only tokens with one topic each

    components_ = learned[np.ndarray](lambda f: f.components)
    topic_word_ = learned[np.ndarray](lambda f: f.topic_word)
    exp_dirichlet_component_ = learned[np.ndarray](lambda f: np.exp(dirichlet.expected_log(f.components, axis=1)))
    tokenizer_ = learned[Keywords](lambda f: f.reading.tokenizer)
    vectorizer_ = learned(lambda f: f.reading.vectorizer)

    def _solver(self) -> Solver:
        return Solver(Threads(), self._threads())

    def _read_known(self, X: object, metadata: object = None) -> Corpus:
        reading, owner = self._found().reading, type(self).__name__
        with use_threads(self._threads()):
            return read_known(X, reading, owner=owner, engine=self._engine(), metadata=metadata)

    def _topics_asked_for(self) -> int | None:
        """None: a search may find any number of topics."""
        return count_of_components(self.n_components)

    def _parts(self, X: object, metadata: object = None) -> Iterator[Corpus]:
        owner, engine = type(self).__name__, self._engine()
        found = read_parts(X, self._found().reading, owner=owner, engine=engine, metadata=metadata)
        return (part.corpus for part in found)

    def fit_transform(
        self, X: object, y: object = None, *, normalize: bool = True, **reading: object
    ) -> np.ndarray | sp.csr_array:
        """`fit`, which takes `reading`, then `transform`, as if y were not known."""
        refuse_iterator(X)
        return self.fit(X, y, **reading).transform(X, normalize=normalize, metadata=reading.get("metadata"))

    def transform(
        self, X: object, *, normalize: bool = True, sparse_output: bool = False, metadata: object = None
    ) -> np.ndarray | sp.csr_array:
        """Topic proportions of documents, shape (n_samples, n_components).

        normalize=False gives pseudo-counts, tokens plus prior. With sparse_output only the topics that a document uses
        are stored, and what the prior gives to the others is left out: rows sum to a little less than one. `metadata`
        has the columns of Covariates, OverTime or ByGroup, where X has not; without them documents have the mean prior,
        and the topics that all versions share.
        """
        f, solver = self._solved(), self._solver()
        return stacked(
            f.proportions(corpus, solver, normalize=normalize, sparse=sparse_output)
            for corpus in self._parts(X, metadata)
        )

    def score(self, X: object, y: object = None, *, metadata: object = None) -> float:
        """A lower bound on the log likelihood of X given the topics, summed over documents.  docs/math.md Eq. (3.13).
        scikit-learn adds the cost of the topics themselves, -KL(q(phi) || p(phi)), the same number for any X."""
        return self._solved().score(self._read_known(X, metadata), self._solver())

    def predict(self, X: object, *, min_weight: float = 0.0) -> np.ndarray:
        """The main topic of each document; -1 where it has no known word, or where the weight of its main topic is less
        than `min_weight`, from 0 to 1."""
        f, solver, least = self._solved(), self._solver(), fraction(min_weight, "min_weight")
        parts = []
        for corpus in self._parts(X):
            main, weight = main_topics(f.document_shares(corpus, solver).shares)
            main[~(weight >= least)] = NO_TOPIC
            parts.append(main)
        return np.concatenate(parts)

    @where(lambda self: self._mixes)
    def perplexity(self, X: object, sub_sampling: bool = False, *, metadata: object = None) -> float:
        """exp(-score per token) of the documents' own words, after they were seen. To compare models fairly use
        topmix.metrics.completion_score on documents that were not trained on. `sub_sampling` is scikit-learn's, for
        documents that are a sample; the ratio does not depend on it."""
        corpus = self._read_known(X, metadata)
        found = self._solved().score(corpus, self._solver())
        with np.errstate(over="ignore"):  # infinite, where a prior makes the bound that low
            return float(np.exp(-found / max(corpus.n_tokens, 1.0)))

    @where(lambda self: self._mixes)
    def predictor(self) -> Predictor:
        """A read-only object that gives the topics of one text at a time, quickly, from any number of threads, with
        the numbers of `transform`. `topmix.load_predictor` makes it from a file, and lets processes share it."""
        from topmix.results.predictor import predictor_of

        return predictor_of(self._solved())

    @property
    def random_state_(self) -> np.random.RandomState:
        self._found()
        return check_random_state(self.random_state)

    def name_words(self, names: Sequence[str]) -> Self:
        """Gives names to the columns of counts, as a fit on a matrix without names needs it: `lda.name_words(
        counter.get_feature_names_out())`. They are saved with the model."""
        f = self._found()
        words = np.asarray(checked_names(names, f.reading.n_features), dtype=object)
        self._fitted = replace(f, reading=replace(f.reading, words=words, named=True))
        return self

    def annotate(self, adata: object, *, key: str = "topics") -> Any:
        """Writes into an AnnData, and returns it: proportions of its cells into obsm["X_topics"], probabilities of its
        genes into varm["topics"], the main topic of each cell into obs["topics"], names into uns["topics"]."""
        tables.annotate(self._solved(), adata, self._read_known(adata), self._solver(), key, type(self).__name__)
        return adata

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.positive_only = True
        return tags

    @property
    def _n_features_out(self) -> int:
        return self._found().n_topics


class EditedTopics(Edited[FittedTopics], TopicEstimator):
    """Topics that can be split and held to words."""

    def split_topic(self, X: object, topic: int, *, max_docs: int | None = None, random_state: int = 0) -> Self:
        """Makes two topics of one, by the documents X that have most of it: their words in it fall into two kinds.

        The topic keeps its place and its name, and the other kind of words becomes the last topic. At most `max_docs`
        random documents are looked at, by default 5000, or 25 for each topic where these are more.
        """
        most = max(SPLIT_DOCUMENTS, SPLIT_PER_TOPIC * self._found().n_topics) if max_docs is None else max_docs
        corpus = self._sampled(self._read_known(X), most, random_state)
        return self._edited(edits.split(self._solved(), corpus, self._solver(), topic, random_state))

    def seed_topics(
        self, seeds: Iterable[Seed], *, topics: Iterable[int] | None = None, strength: float = STRENGTH
    ) -> Self:
        """Adds a topic for each seed, or pulls existing `topics`, one for each seed, towards its words.

        A seed is a list of words: names, or column numbers. It adds pseudo-counts to the prior of the topic: `strength`
        x the tokens of that word in all topics, and at least one.

        The seeds stay in the prior as long as learning continues from this model (warm_start=True, partial_fit, or the
        saved model); `seed_counts_` has them. topic_word_prior="auto" is not learned any more.
        """
        return self._edited(edits.seed(self._found(), seeds, topics, strength))

    def ban_words(self, topic: int, words: Iterable[Word]) -> Self:
        """Keeps words out of a topic, as long as learning continues from this model: their tokens go to the topics that
        have them too. Words are names, or column numbers. topic_word_prior="auto" is not learned any more."""
        return self._edited(edits.ban(self._found(), topic, words))

    def pin_words(self, topic: int, words: Iterable[Word]) -> Self:
        """Keeps words in a topic and out of all others, as long as learning continues from this model: the topic gets
        their tokens. Words are names, or column numbers. topic_word_prior="auto" is not learned any more."""
        return self._edited(edits.pin(self._found(), topic, words))

    def freeze_topics(self, topics: Iterable[int]) -> Self:
        """Keeps the words of topics as they are now, as long as learning continues from this model. Documents still use
        them as much as they like. topic_word_prior="auto" is not learned any more. `frozen_` has them."""
        return self._edited(edits.freeze(self._found(), topics))

    def unfreeze_topics(self, topics: Iterable[int]) -> Self:
        """Lets topics learn again."""
        return self._edited(edits.freeze(self._found(), topics, is_frozen=False))

    def move_document(self, X: object, document: int, topic: int) -> Self:
        """Takes the tokens of one document of the fit, a row of X, out of the topics that it uses, and puts them all
        into one topic. This changes the words of the topics by the weight of one document. When learning continues, the
        document is looked at anew, and stays where it was moved if it fits there."""
        f = self._solved()
        return self._edited(edits.move(f, self._read_known(X), self._solver(), document, topic))
