"""What all estimators with topics of words are to their users: questions about documents, topics and words."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, ClassVar, Self, TypeVar

import numpy as np
import scipy.sparse as sp
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils import Tags, check_random_state
from sklearn.utils.metaestimators import available_if

from topmix.api.described import Described
from topmix.api.estimator import learned
from topmix.data.columns import check_one_each
from topmix.data.corpus import Corpus
from topmix.engines import Threads
from topmix.fitted import documents, tables, versions
from topmix.fitted.documents import NO_TOPIC, Solver, main_topics, stacked
from topmix.fitted.frames import DataFrame
from topmix.fitted.predictor import Predictor, predictor_of
from topmix.fitted.topics import FittedTopics
from topmix.numerics import dirichlet
from topmix.numerics.threads import use_threads
from topmix.parameters.checks import count_of_components, number_from, whole_number
from topmix.read import Reading, read_known, read_parts, refuse_iterator
from topmix.read.rows import checked_names

M = TypeVar("M", bound=Callable[..., Any])


def where_documents_mix(method: M) -> M:
    """For methods that an estimator has only where documents have proportions of topics."""
    checked: M = available_if(lambda self: self._mixes)(method)
    return checked


class TopicEstimator(ClassNamePrefixFeaturesOutMixin, TransformerMixin, Described[FittedTopics]):
    """LDA, HDP, GibbsLDA and CombinatorialLDA. Their answers are functions of `FittedTopics`."""

    _mixes: ClassVar[bool] = True  # documents have proportions of topics, not only tokens with one topic each

    components_ = learned[np.ndarray](lambda f: f.components)
    topic_word_ = learned[np.ndarray](lambda f: f.topic_word)
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
        """Documents with what their priors and their topics depend on: columns of `metadata`, or of X where it has
        them."""
        design, column = self._found().reading.design, self._found().reading.versions
        if design is None and column is None and metadata is not None:
            raise ValueError("metadata= is for models with doc_topic_prior=Covariates(...), OverTime or ByGroup")
        source, has_none = X if metadata is None else metadata, isinstance(X, Corpus | Iterator)
        if metadata is None:
            design = None if design is None or has_none or not design.is_in(X) else design
            column = None if column is None or has_none or not column.is_in(X) else column
        rows = None if design is None else design.rows(source)
        version = None if column is None else column.of(source)
        first, n = 0, len(rows) if rows is not None else 0 if version is None else len(version)
        for part in parts:
            end = first + part.n_docs
            if end > n and (rows is not None or version is not None):
                check_one_each(n, end)
            part = part if rows is None else part.with_design(rows[first:end])
            yield part if version is None else part.with_versions(version[first:end])
            first = end
        if rows is not None or version is not None:
            check_one_each(n, first)

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
        has the columns of Covariates, OverTime or ByGroup, where X has not; documents without them have the mean prior,
        and the topics that all versions share. A group that the fit did not have has what groups have in common, and a
        period the nearest one.
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
            main, weight = main_topics(documents.visited(f, corpus, solver).shares)
            main[~(weight >= least)] = NO_TOPIC
            parts.append(main)
        return np.concatenate(parts)

    @where_documents_mix
    def perplexity(self, X: object, sub_sampling: bool = False, *, metadata: object = None) -> float:
        """exp(-score per token): of the documents' own words, after they were seen. Not a held-out measure by itself.

        For a fair comparison of models use topmix.metrics.completion_score on documents that were not trained on, or
        scoring=topmix.metrics.completion_scorer in a search of scikit-learn.
        `sub_sampling` is scikit-learn's, for documents that are a sample; the ratio does not depend on it.
        """
        corpus = self._read_known(X, metadata)
        found = documents.score(self._solved(), corpus, self._solver())
        return float(np.exp(-found / max(corpus.n_tokens, 1.0)))

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

    def words_by(
        self,
        X: object = None,
        column: str | Iterable[object] | None = None,
        topic: int | None = None,
        *,
        n_words: int = 10,
    ) -> DataFrame:
        """The words of one topic that a group uses more than the other groups do, for each group, strongest first.

        Without X, of a model with `OverTime` or `ByGroup`: the most probable words of a topic, or of all, in each
        version, a table of `topic`, `name`, `version`, `word` and its `weight`, p(word | topic, version).

        With X, `count` are tokens of the word in the topic and group. `z` is the log odds of the word in the group
        against the other groups, over its standard error, with the topic's own words as a prior (Monroe, Colaresi and
        Quinn, 2008): above 2, the difference is hardly chance.
        """
        if X is None and column is None:
            f = self._solved()
            return self._frame(versions.words_by(f, self._topics_asked(topic), whole_number(n_words, "n_words")))
        if column is None or topic is None:
            raise ValueError("words_by(X, column, topic) needs all three; without X, versions are those of the model")
        return super().words_by(X, column, topic, n_words=n_words)

    def _topics_asked(self, topic: int | None) -> list[int]:
        f = self._found()
        return list(range(f.n_topics)) if topic is None else [tables.checked_topic(f, topic)]

    def name_words(self, names: Sequence[str]) -> Self:
        """Gives names to the columns of counts, as a fit on a matrix without names needs it: `lda.name_words(
        counter.get_feature_names_out())`. They are saved with the model."""
        f = self._found()
        words = np.asarray(checked_names(names, f.reading.n_features), dtype=object)
        self._fitted = replace(f, reading=replace(f.reading, words=words, named=True))
        return self

    def annotate(self, adata: Any, *, key: str = "topics") -> Any:
        """Writes into an AnnData, and returns it: proportions of its cells into obsm["X_topics"], probabilities of its
        genes into varm["topics"], the main topic of each cell into obs["topics"], names into uns["topics"]."""
        f, corpus = self._solved(), self._read_known(adata)
        tables.annotate(f, adata, corpus, self._solver(), key, type(self).__name__)
        return adata

    def explore(self, corpus: object = None, **settings: Any) -> Any:
        """`topmix.explore(self, corpus, ...)`: a page to look into the model and to edit it, in the cell of a notebook
        or in a browser."""
        return importlib.import_module("topmix.explorer").explore(self, corpus, **settings)  # a room above this one

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
