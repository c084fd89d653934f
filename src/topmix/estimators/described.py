"""What estimators with topics of words, or clusters that words describe, say of them, and edits by hand."""

from __future__ import annotations

import warnings
from abc import abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any, ClassVar, Self, TypeVar

import numpy as np
from sklearn.utils.metaestimators import available_if

from topmix.base.checks import whole_number
from topmix.corpus.corpus import Corpus
from topmix.corpus.documents import is_texts, plain, readable
from topmix.estimators.declared import fraction
from topmix.estimators.estimator import Estimator, F, learned
from topmix.io.columns import check_one_each, column_of, periods_of
from topmix.io.documents import refuse_iterator
from topmix.results import covariates, edits, tables
from topmix.results.mixture import NO_WORDS, FittedMixture
from topmix.results.names import RELEVANCE, relevant_words
from topmix.results.topics import Edit, FittedTopics, Solver
from topmix.results.view import DataFrame

UNNAMED = (
    "this {} was fitted on counts without names, so numbers of columns stand for words. To name them: "
    "model.name_words(counter.get_feature_names_out()), or fit(X, feature_names=...)"
)

E = TypeVar("E", FittedTopics, FittedMixture)
M = TypeVar("M", bound=Callable[..., object])


def where(check: Callable[..., bool]) -> Callable[[M], M]:
    """For methods that only some estimators have: scikit-learn's `available_if`."""
    decorate: Callable[[M], M] = available_if(check)
    return decorate


@where
def where_words(estimator: Described) -> bool:
    """For methods of estimators that may have words."""
    if estimator._fitted is None or estimator._has_words():
        return True
    raise AttributeError(NO_WORDS)


class Described(Estimator[F]):
    """Topic models and mixtures. Their answers are functions of what was learned; a cluster is a topic here."""

    _takes: ClassVar[str] = "words"  # or "vectors", or "groups" of vectors

    topic_names_ = learned[list[str]](lambda f: list(f.topic_names))
    names_ = learned[Mapping[int, str]](lambda f: f.names)
    edits_ = learned[list[Edit]](lambda f: list(f.edits) or None)

    def _solved(self) -> F:
        """What was learned, with documents solved as the parameters say now."""
        return self._found()

    @abstractmethod
    def _solver(self) -> Solver:
        """Who solves new documents."""

    @abstractmethod
    def _read_known(self, X: object, *beside: Any, **named: Any) -> Corpus:
        """Documents as the model reads them. Besides X: `metadata` of topics, and groups and `texts` of vectors."""

    @abstractmethod
    def _parts(self, X: object, *beside: Any, **named: Any) -> Iterator[Corpus]:
        """The same, some at a time."""

    def _column(self, X: object, column: str | Iterable[object], *beside: object, **named: object) -> list[object]:
        """One value per document."""
        return column_of(X, column)

    def _has_words(self) -> bool:
        return self._fitted is not None

    def counts(self, X: object) -> Corpus:
        """X as the model reads it: a Corpus in the words of the model."""
        return self._read_known(X)

    @where_words
    def top_words(self, n: int = 10, *, relevance: float = RELEVANCE) -> list[list[str]]:
        """The n best words of each topic, best first: probable in the topic and, the smaller `relevance`, rare in
        others. Other forms of a word, such as "networks" after "network", are left out, and an empty topic has none.

        relevance=1 gives the n most probable words as they are.
        """
        f, n, weight = self._shown(), whole_number(n, "n"), fraction(relevance, "relevance")
        if weight < 1.0:
            return relevant_words(f.view, n, weight)
        return [f.view.words_of(ids) for ids in f.view.top(n)]

    @where_words
    def topic_info(
        self, X: object = None, *beside: object, n_words: int = 10, relevance: float = RELEVANCE, **named: object
    ) -> DataFrame:
        """A table of the topics, largest first: topic, name, size, share, coherence, words, nearest topics, documents
        and quality.

        `size` is in tokens of the training data, or in rows. `words` are those of `top_words`. `nearest` are the
        nearest topics by Hellinger distance. `coherence` (NPMI of the most probable words) and `documents`, three that
        are most about the topic, need X. Where X is vectors, `texts=` are the texts of its rows. Of an admixture
        documents are groups, the second argument of this and of all tables of documents.

        `quality` is "good", or the reason why a topic is hardly worth reading: it is empty or small beside the others,
        has few documents, is filler (its words belong to other topics), or is not coherent. Such topics come last.

        The model of a `topmix.consensus` has two columns more: `reproducibility`, the share of the fits that have the
        topic, and `reliability`, the probability that it is real. They are NaN for a topic that was edited.
        """
        self._shown()
        n, weight = whole_number(n_words, "n_words"), fraction(relevance, "relevance")
        corpus = None if X is None else self._read_known(X, *beside, **named)
        return self._frame(tables.topic_info(self._solved(), corpus, self._solver(), n_words=n, relevance=weight))

    def representative_documents(self, X: object, *, n: int = 5) -> DataFrame:
        """A table of the documents that are most about each topic, n of each, best first: topic, name, document, its
        name or row in X, weight, the share of the topic in it, and its text where X is texts.

        Short documents, where a share says little, come after long ones: a weight counts as tokens of the topic over
        tokens of the document plus 20. Topics are in the order of `topic_info`.
        """
        refuse_iterator(X)
        texts = [readable(str(text)) for text in plain(X)] if is_texts(X) and isinstance(X, Iterable) else None
        return self._examples(X, texts, n)

    def _examples(self, X: object, texts: list[str] | None, n: int) -> DataFrame:
        f, count = self._solved(), whole_number(n, "n")
        return self._frame(tables.representative_documents(f, self._parts(X), texts, self._solver(), n=count))

    def document_info(self, X: object, *, n_topics: int = 3, min_weight: float = 0.0) -> DataFrame:
        """A table of documents: their name or number, main topic, its name and weight, entropy, the top topics and
        their weights, and how many tokens the model knows.

        `entropy` of the topic proportions is in nats: 0 for one topic, log K for all alike. The topic is -1 where its
        weight is less than `min_weight`, or where no word is known; weight and entropy are then NaN.
        """
        f, n, least = self._solved(), whole_number(n_topics, "n_topics"), fraction(min_weight, "min_weight")
        return self._frame(tables.document_info(f, self._parts(X), self._solver(), n_topics=n, min_weight=least))

    @where_words
    def word_info(self, word: str | int, *, n_topics: int = 10) -> DataFrame:
        """A table of the topics that use a word, given by its name or column, those that use it most first.

        `probability` is p(word | topic), `rank` its place among the words of the topic, from 1, and `share` the part of
        the word's tokens that belongs to the topic, p(topic | word).
        """
        return self._frame(tables.word_info(self._found(), word, n_topics=whole_number(n_topics, "n_topics")))

    def topics_over_time(
        self, X: object, column: str | Iterable[object], *beside: object, freq: str = "month", level: float = 0.95,
        random_state: int = 0, **named: object,
    ) -> DataFrame:  # fmt: skip
        """How much of the documents of each period belongs to each topic: a table with one row per period and topic.

        `share` is the mean over the `documents` of the period of the topic's part of their tokens.

        Parameters
        ----------
        X : what `transform` takes
            The documents.
        column : str or a list
            ISO strings, dates of Python, pandas or NumPy, or years: a column of X, which is a table, a file or an
            AnnData, or one value per document. Documents without a date or a known word are left out.
        freq : {"day", "week", "month", "quarter", "year"}
            The length of a period. `period` in the table is its first day.
        level : float
            Of the interval from `low` to `high`, by a bootstrap over documents.
        random_state : int
            Seed of the bootstrap.
        """
        return self._by(X, column, partial(periods_of, freq=freq), level, random_state, *beside, **named)

    def topics_by(
        self, X: object, column: str | Iterable[object], *beside: object, level: float = 0.95, random_state: int = 0,
        **named: object,
    ) -> DataFrame:  # fmt: skip
        """How much of the documents of each group belongs to each topic: a table with one row per group and topic.

        `column` has the groups: the name of a column of X, or one value per document. The rest is as in
        `topics_over_time`.
        """
        return self._by(X, column, covariates.groups_of, level, random_state, *beside, **named)

    def _by(
        self, X: object, column: str | Iterable[object], values: Callable[[list[object]], np.ndarray], level: float,
        seed: int, *beside: object, **named: object,
    ) -> DataFrame:  # fmt: skip
        refuse_iterator(X)
        f, level, seed = self._solved(), fraction(level, "level"), whole_number(seed, "random_state", least=0)
        of_documents, parts = values(self._column(X, column, *beside, **named)), self._parts(X, *beside, **named)
        return self._frame(covariates.topics_by(f, of_documents, parts, self._solver(), level=level, random_state=seed))

    def words_by(
        self, X: object = None, column: str | Iterable[object] | None = None, topic: int | None = None,
        *beside: object, n_words: int = 10, **named: object,
    ) -> DataFrame:  # fmt: skip
        """The words of one topic that a group uses more than the other groups do, for each group, strongest first.

        `count` are tokens of the word in the topic and group. `z` is the log odds of the word in the group against the
        other groups, over its standard error, with the topic's own words as a prior (Monroe, Colaresi and Quinn, 2008):
        above 2, the difference is hardly chance. Where X is vectors, it needs the `texts=` of its rows.

        Without X, of a model with `OverTime` or `ByGroup`: the most probable words of a topic, or of all, in each
        version, a table of `topic`, `name`, `version`, `word` and its `weight`, p(word | topic, version).
        """
        n, f = whole_number(n_words, "n_words"), self._solved()
        if X is None and column is None and isinstance(f, FittedTopics):
            topics = range(f.n_topics) if topic is None else [tables.checked_topic(f, topic)]
            return self._frame(covariates.words_of_versions(f, topics, n))
        if column is None or topic is None:
            raise ValueError("words_by(X, column, topic) needs all three; without X, versions are those of the model")
        refuse_iterator(X)
        k, corpus = tables.checked_topic(f, topic), self._read_known(X, *beside, **named)
        given = self._column(X, column, *beside, **named)
        check_one_each(len(given), corpus.n_docs)
        return self._frame(covariates.words_by(f, covariates.groups_of(given), corpus, self._solver(), k, n_words=n))

    @where_words
    def topic_tree(self, *, n_words: int = 5, nested: bool = False) -> DataFrame | dict[str, object] | None:
        """A hierarchy of the topics that are not empty: those with the same words are joined first.

        A table with one row per join, nearest first: `node`, its number, which continues those of the topics; `left`
        and `right`, the topics or earlier nodes that it joins; their `distance`, the mean Hellinger distance of topics
        of both sides; all `topics` below it, their `share` of tokens, and the `words` of the node.

        nested=True gives the same as dicts: a node has `children`, a topic has `topic` and `name`. It is None if there
        are no topics.
        """
        f = self._shown()
        found = tables.tree_of(f.view, whole_number(n_words, "n_words"))
        if nested:
            return tables.nested_tree(found, f.view, f.topic_names)
        fields = tables.Branch._fields
        return self._frame({name: [branch[i] for branch in found.branches] for i, name in enumerate(fields)})

    def name_topics(
        self, names: Mapping[int, str] | Sequence[str] | Callable[[list[str]], str], *, n_words: int = 10
    ) -> Self:
        """Gives names to topics; they are saved with the model.

        A mapping {topic: name} names some topics and a list names all of them. A function, for instance one that asks a
        language model, is called with the `n_words` most relevant words of each topic.
        """
        self._fitted = tables.named(self._found(), names, n_words=whole_number(n_words, "n_words"))
        return self

    def _shown(self) -> F:
        """What was learned, for those who show its words: a model without names says so."""
        f = self._found()
        if f.words_read.words is None:
            warnings.warn(UNNAMED.format(type(self).__name__), UserWarning, stacklevel=3)
        return f

    def _html_repr(self) -> str:
        """What Jupyter shows: the topics of a fitted estimator, and else its parameters, as scikit-learn does.
        `sklearn.set_config(display="text")` holds here too."""
        return tables.html_of(self._found(), type(self).__name__) if self._has_words() else super()._html_repr()


class Edited(Described[E]):
    """Topics and clusters that can be merged and dropped. Edits change what was fitted, and keep names. To learn on,
    fit with warm_start=True."""

    @abstractmethod
    def _edited(self, f: E) -> Self:
        """The estimator with these topics, and parameters that fit them."""

    def merge_topics(self, groups: Iterable[Sequence[int]]) -> Self:
        """Makes one topic of each pair (or larger group) of topics, for instance [(2, 7), (3, 4)].

        It has the words and documents of all, in the place of the lowest; later topics move up. Pairs that share a
        topic join: [(0, 1), (1, 2)] is [(0, 1, 2)]. The prior of a merged topic is the sum of theirs.
        """
        return self._edited(edits.merge(self._found(), groups))

    def drop_topics(self, topics: Iterable[int]) -> Self:
        """Removes topics; later ones move up. Their tokens, or rows, go to others when documents are next visited."""
        return self._edited(edits.drop(self._found(), topics))

    def suggest_merges(
        self, X: object, *beside: object, n_pairs: int = 10, max_docs: int = 2000, random_state: int = 0,
        **named: object,
    ) -> DataFrame:  # fmt: skip
        """The pairs of topics with the nearest words, and what merging each alone would do to the objective of
        documents X: a table.

        `distance` is the Hellinger distance of the two topics, and `share` what both have of all tokens. `change` is
        how `score(X)` would change, per token, or per row of X for clusters: near 0 if the two say the same, and
        negative if documents need both. The best pair to merge is first. At most `max_docs` random documents are used.
        Nothing is merged: `merge_topics([(2, 7)])` does it.
        """
        f, n = self._solved(), whole_number(n_pairs, "n_pairs")
        corpus = self._sampled(self._read_known(X, *beside, **named), max_docs, random_state)
        return self._frame(edits.suggest_merges(f, corpus, self._solver(), n))

    def _sampled(self, corpus: Corpus, max_docs: int, random_state: int) -> Corpus:
        seed = whole_number(random_state, "random_state", least=0)
        return edits.sampled(corpus, whole_number(max_docs, "max_docs"), seed)
