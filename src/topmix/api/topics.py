"""What all estimators with topics of words are to their users: questions about documents, topics and words."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, ClassVar, Self, TypeVar

import numpy as np
import scipy.sparse as sp
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils import Tags, check_random_state
from sklearn.utils.metaestimators import available_if

from topmix.api.estimator import Estimator, learned
from topmix.data.columns import check_one_each, column_of, periods_of
from topmix.data.corpus import Corpus
from topmix.data.documents import is_texts, plain
from topmix.engines import Threads
from topmix.fitted import documents, groups, tables, tree
from topmix.fitted.documents import NO_TOPIC, Solver, main_topics, stacked
from topmix.fitted.frames import DataFrame
from topmix.fitted.html import html_of
from topmix.fitted.names import RELEVANCE, relevant_words
from topmix.fitted.predictor import Predictor, predictor_of
from topmix.fitted.topics import FittedTopics
from topmix.numerics import dirichlet
from topmix.numerics.threads import use_threads
from topmix.parameters.checks import count_of_components, number_from, whole_number
from topmix.read import Reading, read_known, read_parts, refuse_iterator
from topmix.read.rows import checked_names

M = TypeVar("M", bound=Callable[..., Any])
UNNAMED = (
    "this {} was fitted on counts without names, so numbers of columns stand for words. To name them: "
    "model.name_words(counter.get_feature_names_out()), where counter made the counts; or fit(X, feature_names=...) "
    "or fit(texts). In a Pipeline, topmix.data.Vectorizer hands its words on, and CountVectorizer does not"
)


def where_documents_mix(method: M) -> M:
    """For methods that an estimator has only where documents have proportions of topics."""
    checked: M = available_if(lambda self: self._mixes)(method)
    return checked


class TopicEstimator(ClassNamePrefixFeaturesOutMixin, TransformerMixin, Estimator[FittedTopics]):
    """LDA, HDP, GibbsLDA and CombinatorialLDA. Their answers are functions of `FittedTopics`."""

    _mixes: ClassVar[bool] = True  # documents have proportions of topics, not only tokens with one topic each

    components_ = learned[np.ndarray](lambda f: f.components)
    topic_word_ = learned[np.ndarray](lambda f: f.topic_word)
    topic_names_ = learned[list[str]](lambda f: list(f.topic_names))
    names_ = learned[Mapping[int, str]](lambda f: f.names)
    edits_ = learned[list[dict[str, Any]]](lambda f: list(f.edits) or None)
    tokenizer_ = learned[Mapping[str, Any]](lambda f: f.reading.tokenizer)
    vectorizer_ = learned[Any](lambda f: f.reading.vectorizer)

    def _solved(self) -> FittedTopics:
        """What was learned, with documents solved as the parameters say now."""
        return self._found()

    def _solver(self) -> Solver:
        """Who solves new documents."""
        return Solver(Threads(), self._threads())

    def _read_known(self, X: object, metadata: object = None) -> Corpus:
        reading = self._found().reading
        with use_threads(self._threads()):
            corpus = read_known(X, reading, owner=type(self).__name__, engine=self._engine())
        return next(self._with_design(iter([corpus]), X, metadata))

    def _known(self) -> Reading | None:
        """How the documents of a fit are to be read: as those of the last, where the start is warm."""
        return self._found().reading if self._is_warm() else None

    def _check_warm(self, f: FittedTopics) -> None:
        """Whether a fit can continue from these topics."""
        kept, asked = f.n_topics, count_of_components(self.n_components)
        if kept != asked:
            raise ValueError(f"warm_start keeps {kept} topics, but n_components is now {asked}")

    def _parts(self, X: object, metadata: object = None) -> Iterator[Corpus]:
        parts = read_parts(X, self._found().reading, owner=type(self).__name__, engine=self._engine())
        return self._with_design(parts, X, metadata)

    def _with_design(self, parts: Iterator[Corpus], X: object, metadata: object) -> Iterator[Corpus]:
        """Documents with what their priors depend on: columns of `metadata`, or of X where it has them."""
        design = self._found().reading.design
        if design is None:
            if metadata is not None:
                raise ValueError("metadata= is for models with doc_topic_prior=Covariates(...)")
            yield from parts
            return
        if metadata is None and (isinstance(X, Corpus | Iterator) or not design.is_in(X)):
            yield from parts
            return
        rows, first = design.rows(X if metadata is None else metadata), 0
        for part in parts:
            if first + part.n_docs > len(rows):
                check_one_each(len(rows), first + part.n_docs)
            yield part.with_design(rows[first : first + part.n_docs])
            first += part.n_docs
        check_one_each(len(rows), first)

    def counts(self, X: object) -> Corpus:
        """X as the model reads it: a Corpus in the words of the model."""
        return self._read_known(X)

    def fit_transform(
        self, X: object, y: object = None, *, normalize: bool = True, **reading: Any
    ) -> np.ndarray | sp.csr_array:
        """`fit`, which takes `reading`, then `transform`."""
        refuse_iterator(X)
        return self.fit(X, **reading).transform(X, normalize=normalize, **_beside(reading))

    def transform(
        self, X: object, *, normalize: bool = True, sparse_output: bool = False, metadata: object = None
    ) -> np.ndarray | sp.csr_array:
        """Topic proportions of documents, shape (n_samples, n_components).

        normalize=False gives pseudo-counts, tokens plus prior. With sparse_output only the topics that a document uses
        are stored, and what the prior gives to the others is left out: rows sum to a little less than one. `metadata`
        has the columns of Covariates, where X has not; documents without them have the mean prior.
        """
        f, solver = self._solved(), self._solver()
        return stacked(
            documents.proportions(f, corpus, solver, normalize=normalize, sparse=sparse_output)
            for corpus in self._parts(X, metadata)
        )

    def score(self, X: object, y: object = None, *, metadata: object = None) -> float:
        """A lower bound on the log likelihood of X given the topics, summed over documents.  docs/math.md Eq. (3.13).

        scikit-learn adds the cost of the topics themselves, -KL(q(phi) || p(phi)), the same number for any X.
        Collapsed: a lower bound on the log likelihood at the topics' and the documents' estimated proportions.
        """
        return documents.score(self._solved(), self._read_known(X, metadata), self._solver())

    def predict(self, X: object, *, min_weight: float = 0.0) -> np.ndarray:
        """The main topic of each document; -1 where it has no known word, or where the weight of its main topic is less
        than `min_weight`, from 0 to 1."""
        f, solver, least = self._solved(), self._solver(), number_from(min_weight, "min_weight", 0.0, 1.0)
        parts = []
        for corpus in self._parts(X):
            main, weight = main_topics(documents.sparse_shares(f, corpus, solver)[0])
            main[~(weight >= least)] = NO_TOPIC
            parts.append(main)
        return np.concatenate(parts)

    @where_documents_mix
    def perplexity(self, X: object, sub_sampling: bool = False) -> float:
        """exp(-score per token): of the documents' own words, after they were seen. Not a held-out measure by itself.

        For a fair comparison of models use topmix.metrics.completion_score on documents that were not trained on, or
        scoring=topmix.metrics.completion_scorer in a search of scikit-learn.
        `sub_sampling` is scikit-learn's, for documents that are a sample; the ratio does not depend on it.
        """
        corpus = self._read_known(X)
        return float(np.exp(-self.score(corpus) / max(corpus.n_tokens, 1.0)))

    @where_documents_mix
    def predictor(self) -> Predictor:
        """A read-only object that gives the topics of one text at a time, quickly, from any number of threads, with
        the numbers of `transform`. It solves documents on the processor, whatever the engine. `topmix.load_predictor`
        makes it from a file, and lets processes share it."""
        return predictor_of(self._solved())

    @property
    def exp_dirichlet_component_(self) -> np.ndarray:
        return np.exp(dirichlet.expected_log(self._found().components, axis=1))

    @property
    def random_state_(self) -> np.random.RandomState:
        self._found()
        return check_random_state(self.random_state)

    def top_words(self, n: int = 10, *, relevance: float = RELEVANCE) -> list[list[str]]:
        """The n best words of each topic, best first: probable in the topic and, the smaller `relevance`, rare in
        others. Other forms of a word, such as "networks" after "network", are left out, and an empty topic has none.

        relevance=1 gives the n most probable words as they are.
        """
        f, weight = self._shown(), number_from(relevance, "relevance", 0.0, 1.0)
        if weight < 1.0:
            return relevant_words(f.view, n, weight)
        best = np.argsort(-f.components, axis=1, kind="stable")[:, :n]
        return [[f.words[v] for v in row] for row in best.tolist()]

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
        f, count = self._solved(), whole_number(n, "n")
        texts = [str(text) for text in plain(X)] if is_texts(X) and isinstance(X, Iterable) else None
        return self._frame(tables.representative_documents(f, self._parts(X), texts, self._solver(), n=count))

    def document_info(self, X: object, *, n_topics: int = 3) -> DataFrame:
        """A table of documents: their name or number, main topic, its name and weight, entropy, the top topics and
        their weights, and how many tokens the model knows.

        `entropy` of the topic proportions is in nats: 0 for one topic, log K for all alike. A document without a known
        word has topic -1, and weight and entropy NaN.
        """
        f, n = self._solved(), whole_number(n_topics, "n_topics")
        return self._frame(tables.document_info(f, self._parts(X), self._solver(), n_topics=n))

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

    def name_words(self, names: Sequence[str]) -> Self:
        """Gives names to the columns of counts, as a fit on a matrix without names needs it: `lda.name_words(
        counter.get_feature_names_out())`. They are saved with the model."""
        f = self._found()
        words = np.asarray(checked_names(names, f.reading.n_features), dtype=object)
        self._fitted = replace(f, reading=replace(f.reading, words=words, named=True))
        return self

    def _shown(self) -> FittedTopics:
        """What was learned, for those who show its words: a model without names says so."""
        f = self._found()
        if f.reading.words is None:
            warnings.warn(UNNAMED.format(type(self).__name__), UserWarning, stacklevel=3)
        return f

    def annotate(self, adata: Any, *, key: str = "topics") -> Any:
        """Writes into an AnnData, and returns it: proportions of its cells into obsm["X_topics"], probabilities of its
        genes into varm["topics"], the main topic of each cell into obs["topics"], names into uns["topics"]."""
        f, corpus = self._solved(), self._read_known(adata)
        tables.annotate(f, adata, corpus, self._solver(), key, type(self).__name__)
        return adata

    def _repr_html_inner(self) -> str:
        """What Jupyter shows: the topics of a fitted estimator, and else its parameters, as scikit-learn does.
        `sklearn.set_config(display="text")` holds here too."""
        if self._fitted is None:
            return str(super()._repr_html_inner())
        return html_of(self._fitted, type(self).__name__)

    def _repr_mimebundle_(self, **kwargs: Any) -> dict[str, str]:
        shown: dict[str, str] = super()._repr_mimebundle_(**kwargs)
        if "text/html" in shown and self._fitted is not None:
            shown["text/html"] = html_of(self._fitted, type(self).__name__)
        return shown

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.positive_only = True
        return tags

    @property
    def _n_features_out(self) -> int:
        return self._found().n_topics


def _beside(reading: Mapping[str, Any]) -> dict[str, Any]:
    """What `transform` takes of the arguments of `fit`."""
    return {"metadata": reading["metadata"]} if "metadata" in reading else {}
