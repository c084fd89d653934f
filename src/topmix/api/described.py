"""What estimators with topics of words, or clusters that words describe, say of them: tables, names, a tree."""

from __future__ import annotations

import warnings
from abc import abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, Self, TypeVar

import numpy as np
from sklearn.utils.metaestimators import available_if

from topmix.api.estimator import Estimator, F, learned
from topmix.data.columns import column_of, periods_of
from topmix.data.corpus import Corpus
from topmix.data.documents import is_texts, plain
from topmix.fitted import groups, tables, tree
from topmix.fitted.documents import Solver
from topmix.fitted.frames import DataFrame
from topmix.fitted.html import html_of
from topmix.fitted.mixture import NO_WORDS
from topmix.fitted.names import RELEVANCE, relevant_words
from topmix.parameters.checks import number_from, whole_number
from topmix.read import refuse_iterator

UNNAMED = (
    "this {} was fitted on counts without names, so numbers of columns stand for words. To name them: "
    "model.name_words(counter.get_feature_names_out()), where counter made the counts; or fit(X, feature_names=...) "
    "or fit(texts). In a Pipeline, topmix.data.Vectorizer hands its words on, and CountVectorizer does not"
)


M = TypeVar("M", bound=Callable[..., Any])


def where_words(method: M) -> M:
    """For methods that a fitted estimator has only where there are words."""
    checked: M = available_if(_may_have_words)(method)
    return checked


def _may_have_words(estimator: Any) -> bool:
    if estimator._fitted is None or estimator._has_words():
        return True
    raise AttributeError(NO_WORDS)


class Described(Estimator[F]):
    """Topic models and mixtures. Their answers are functions of what was learned; a cluster is a topic here."""

    topic_names_ = learned[list[str]](lambda f: list(f.topic_names))
    names_ = learned[Mapping[int, str]](lambda f: f.names)
    edits_ = learned[list[dict[str, Any]]](lambda f: list(f.edits) or None)

    def _solved(self) -> F:
        """What was learned, with documents solved as the parameters say now."""
        return self._found()

    @abstractmethod
    def _solver(self) -> Solver:
        """Who solves new documents."""

    @abstractmethod
    def _read_known(self, X: object) -> Corpus:
        """Documents as the model reads them."""

    @abstractmethod
    def _parts(self, X: object) -> Iterator[Corpus]:
        """The same, some at a time."""

    def _has_words(self) -> bool:
        """Whether there is something to show."""
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
        f, weight = self._shown(), number_from(relevance, "relevance", 0.0, 1.0)
        if weight < 1.0:
            return relevant_words(f.view, n, weight)
        return [f.view.words_of(ids) for ids in f.view.top(n)]

    @where_words
    def topic_info(self, X: object = None, *, n_words: int = 10, relevance: float = RELEVANCE) -> DataFrame:
        """A table of the topics, largest first: topic, name, size, share, coherence, words, nearest topics, documents
        and quality.

        `size` is in tokens of the training data. `words` are the most relevant words: probable in the topic and, the
        smaller `relevance`, rare in others; relevance=1 is probability alone. Other forms of a word are left out.
        `coherence` (NPMI of the most probable words) needs documents, X, and is NaN without. `nearest` are the nearest
        topics by Hellinger distance. `documents` are three that are most about the topic, and need X too.

        `quality` is "good", or the reason why a topic is hardly worth reading: it is empty or small beside the others,
        has few documents, is filler (its words belong to other topics), or is not coherent. Such topics come last.
        Coherence and documents are looked at where X is given.

        The model of a `topmix.consensus` has two columns more: `reproducibility`, the share of the fits that have the
        topic, and `reliability`, the probability that it is real. They are NaN for a topic that was edited.
        """
        self._shown()
        n = whole_number(n_words, "n_words")
        weight = number_from(relevance, "relevance", 0.0, 1.0)
        corpus = None if X is None else self._read_known(X)
        return self._frame(tables.topic_info(self._solved(), corpus, self._solver(), n_words=n, relevance=weight))

    def representative_documents(self, X: object, *, n: int = 5) -> DataFrame:
        """A table of the documents that are most about each topic, n of each, best first: topic, name, document, its
        name or row in X, weight, the share of the topic in it, and its text where X is texts.

        Short documents, where a share says little, come after long ones: a weight counts as tokens of the topic over
        tokens of the document plus 20. Topics are in the order of `topic_info`.
        """
        refuse_iterator(X)
        texts = [str(text) for text in plain(X)] if is_texts(X) and isinstance(X, Iterable) else None
        return self._examples(X, texts, n)

    def _examples(self, X: object, texts: list[str] | None, n: int) -> DataFrame:
        f, count = self._solved(), whole_number(n, "n")
        return self._frame(tables.representative_documents(f, self._parts(X), texts, self._solver(), n=count))

    def document_info(self, X: object, *, n_topics: int = 3, min_weight: float = 0.0) -> DataFrame:
        """A table of documents: their name or number, main topic, its name and weight, entropy, the top topics and
        their weights, and how many tokens the model knows.

        `entropy` of the topic proportions is in nats: 0 for one topic, log K for all alike. A document without a known
        word has topic -1, and weight and entropy NaN. The topic is also -1 where its weight is less than `min_weight`.
        """
        f, n = self._solved(), whole_number(n_topics, "n_topics")
        least = number_from(min_weight, "min_weight", 0.0, 1.0)
        return self._frame(tables.document_info(f, self._parts(X), self._solver(), n_topics=n, min_weight=least))

    @where_words
    def word_info(self, word: str | int, *, n_topics: int = 10) -> DataFrame:
        """A table of the topics that use a word, given by its name or column, those that use it most first.

        `probability` is p(word | topic), `rank` its place among the words of the topic, from 1, and `share` the part of
        the word's tokens that belongs to the topic, p(topic | word).
        """
        return self._frame(tables.word_info(self._found(), word, n_topics=whole_number(n_topics, "n_topics")))

    def topics_over_time(
        self,
        X: object,
        column: str | Iterable[object],
        *,
        freq: str = "month",
        level: float = 0.95,
        random_state: int = 0,
    ) -> DataFrame:
        """How much of the documents of each period belongs to each topic: a table with one row per period and topic.

        `share` is the mean over documents of the topic's part of their tokens. A document without a known word is left
        out. `documents` is how many there are in the period.

        Parameters
        ----------
        X : what `transform` takes
            The documents.
        column : str or a list
            Dates of the documents: a column of X, which is a table, a file or an AnnData, or one value per document.
            Dates are ISO strings, dates of Python, pandas or NumPy, or years. Documents without a date are left out.
        freq : {"day", "week", "month", "quarter", "year"}
            The length of a period. `period` in the table is its first day.
        level : float
            Of the interval from `low` to `high`, which a bootstrap over documents gives: another draw of documents
            would have its share there.
        random_state : int
            Seed of the bootstrap.
        """
        return self._by(X, lambda: periods_of(column_of(X, column), freq), level, random_state)

    def topics_by(
        self, X: object, column: str | Iterable[object], *, level: float = 0.95, random_state: int = 0
    ) -> DataFrame:
        """How much of the documents of each group belongs to each topic: a table with one row per group and topic.

        `column` has the groups: the name of a column of X, or one value per document. The rest is as in
        `topics_over_time`.
        """
        return self._by(X, lambda: groups.groups_of(column_of(X, column)), level, random_state)

    def _by(self, X: object, values: Callable[[], np.ndarray], level: float, random_state: int) -> DataFrame:
        refuse_iterator(X)
        f, level = self._solved(), number_from(level, "level", 0.0, 1.0)
        columns = groups.topics_by(f, values(), self._parts(X), self._solver(), level=level, random_state=random_state)
        return self._frame(columns)

    def words_by(self, X: object, column: str | Iterable[object], topic: int, *, n_words: int = 10) -> DataFrame:
        """The words of one topic that a group uses more than the other groups do, for each group, strongest first.

        `count` are tokens of the word in the topic and group. `z` is the log odds of the word in the group against the
        other groups, over its standard error, with the topic's own words as a prior (Monroe, Colaresi and Quinn, 2008):
        above 2, the difference is hardly chance.
        """
        refuse_iterator(X)
        f, n = self._solved(), whole_number(n_words, "n_words")
        k, corpus = tables.checked_topic(f, topic), self._read_known(X)
        values = groups.groups_of(column_of(X, column, corpus.n_docs))
        return self._frame(groups.words_by(f, values, corpus, self._solver(), k, n_words=n))

    @where_words
    def topic_tree(self, *, n_words: int = 5, nested: bool = False) -> DataFrame | dict[str, object] | None:
        """A hierarchy of the topics: topics with the same words are joined first.

        A table with one row per join, nearest first: `node`, its number, which continues those of the topics; `left`
        and `right`, the topics or earlier nodes that it joins; their `distance`, the mean Hellinger distance of topics
        of both sides, from 0 to 1; all `topics` below it, their `share` of tokens, and the `words` of the node. Empty
        topics are left out.

        nested=True gives the same as dicts: a node has `children`, a topic has `topic` and `name`. It is None if there
        are no topics.
        """
        f = self._shown()
        found = tree.tree_of(f.view, whole_number(n_words, "n_words"))
        if nested:
            return tree.nested(found, f.view, f.topic_names)
        fields = tree.Branch._fields
        return self._frame({name: [branch[i] for branch in found.branches] for i, name in enumerate(fields)})

    def name_topics(
        self, names: Mapping[int, str] | Sequence[str] | Callable[[list[str]], str], *, n_words: int = 10
    ) -> Self:
        """Gives names to topics; they are saved with the model.

        A mapping {topic: name} names some topics and a list names all of them. A function, for instance one that asks a
        language model, is called with the `n_words` most relevant words of each topic that is not empty.
        """
        self._fitted = tables.named(self._found(), names, n_words=whole_number(n_words, "n_words"))
        return self

    def _shown(self) -> F:
        """What was learned, for those who show its words: a model without names says so."""
        f = self._found()
        if f.words_read.words is None:
            warnings.warn(UNNAMED.format(type(self).__name__), UserWarning, stacklevel=3)
        return f

    def _repr_html_inner(self) -> str:
        """What Jupyter shows: the topics of a fitted estimator, and else its parameters, as scikit-learn does.
        `sklearn.set_config(display="text")` holds here too."""
        if not self._has_words():
            return str(super()._repr_html_inner())
        return html_of(self._found(), type(self).__name__)

    def _repr_mimebundle_(self, **kwargs: Any) -> dict[str, str]:
        shown: dict[str, str] = super()._repr_mimebundle_(**kwargs)
        if "text/html" in shown and self._has_words():
            shown["text/html"] = html_of(self._found(), type(self).__name__)
        return shown
