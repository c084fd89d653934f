"""What pages, exports, plots and the command read of a fitted model, whichever estimator it is.

They read it here alone, so that no other file has to know how estimators keep what they learned.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.base import BaseEstimator

from topmix.api.topics import TopicEstimator
from topmix.data.corpus import Corpus
from topmix.data.documents import is_texts
from topmix.fitted.names import RELEVANCE, relevant_words
from topmix.fitted.tree import TopicTree, tree_of
from topmix.fitted.view import TopicView
from topmix.fitting.history import Record
from topmix.read import refuse_iterator

__all__ = [
    "RELEVANCE",
    "ModelView",
    "TopicTree",
    "TopicView",
    "is_topic_model",
    "learned",
    "look_at",
    "proportions",
    "relevant_words",
    "tree_of",
    "view_of",
    "word_names",
]

BLOCK = 4096  # documents that are visited together


@dataclass(frozen=True)
class ModelView:
    """A fitted topic model or mixture of counts. What an estimator does not have is empty."""

    model: BaseEstimator
    topics: TopicView
    names: Mapping[int, str]  # that somebody gave to topics
    history: Sequence[Record]
    converged: bool
    frozen: Sequence[int]  # topics
    banned: sp.csr_array | None  # [K, V] words that topics cannot have
    tokenizer: Mapping[str, object]  # settings

    @property
    def kind(self) -> str:
        """The name of the estimator."""
        return type(self.model).__name__

    def name_of(self) -> list[str | None]:
        """The given name of each topic, or None."""
        return [self.names.get(k) for k in range(self.topics.n_topics)]

    def settings(self) -> list[list[str]]:
        """Parameters of the model and settings of its tokenizer: [name, value as text]."""
        rows = [(name, value) for name, value in self.model.get_params(deep=False).items() if name != "callbacks"]
        rows += [(f"words: {name}", value) for name, value in self.tokenizer.items()]
        return [[name, _as_text(value)] for name, value in rows]

    def read(self, X: object, texts: Iterable[str] | None = None) -> tuple[Corpus | None, Iterable[str] | None]:
        """Documents as a corpus, and their texts: `texts`, or X itself where it is texts."""
        if X is None or isinstance(X, Corpus):
            return X, texts
        if not is_topic_model(self.model):
            raise ValueError(f"a {self.kind} takes documents as a topmix.data.Corpus, not as {type(X).__name__}")
        refuse_iterator(X)
        if texts is None and is_texts(X) and isinstance(X, Iterable) and all(isinstance(text, str) for text in X):
            texts = X
        return self.model.counts(X), texts

    def proportions(self, X: Corpus) -> NDArray[np.float64]:
        """[documents, K] rows that sum to one: topic proportions, or the posterior of the clusters of a mixture."""
        return proportions(self.model, X)

    def proportions_by_block(self, corpus: Corpus) -> Iterator[tuple[int, Corpus, NDArray[np.float64]]]:
        """(number of the first document, documents, proportions), some documents at a time."""
        for begin in range(0, corpus.n_docs, BLOCK):
            block = corpus[begin : begin + BLOCK]
            yield begin, block, self.proportions(block)

    def used_topics(self, X: Corpus) -> sp.csr_array:
        """[documents, K] as in `proportions`, of the topics that a document uses alone."""
        if is_topic_model(self.model):
            return sp.csr_array(self.model.transform(X, sparse_output=True))
        return sp.csr_array(self.proportions(X))


def is_topic_model(model: BaseEstimator) -> bool:
    """A topic model of ours, which takes a Corpus and reads what its `fit` read. Its topics can be named."""
    return isinstance(model, TopicEstimator)


def look_at(model: BaseEstimator) -> ModelView:
    """Raises ValueError where the components of a model are not topics of words."""
    tokenizer = learned(model, "tokenizer_")
    return ModelView(
        model=model,
        topics=view_of(model),
        names=learned(model, "names_", {}),
        history=learned(model, "history_", []),
        converged=bool(learned(model, "converged_", False)),
        frozen=learned(model, "frozen_", []),
        banned=learned(model, "banned_"),
        tokenizer=tokenizer if isinstance(tokenizer, dict) else {},
    )


def learned(model: BaseEstimator, name: str, default: object = None) -> Any:
    """What a fit found under this name, or the default where the estimator has no such thing."""
    return getattr(model, name, default)


def _as_text(value: object) -> str:
    """A short text for the value of a parameter."""
    if isinstance(value, np.ndarray):
        return f"array of {' × '.join(map(str, value.shape))}"
    if isinstance(value, list | tuple) and len(value) > 8:
        return f"{', '.join(map(str, value[:8]))}, … ({len(value)})"
    return str(value)


def view_of(model: Any) -> TopicView:
    """The topics of a fitted estimator. Raises ValueError where it has no topics of words."""
    view: TopicView = model._found().view
    return view


def word_names(model: Any, n_words: int) -> list[str]:
    """The names of the features of a fitted estimator, or their numbers as strings."""
    names = model._found().reading.words
    return [str(v) for v in (range(n_words) if names is None else names)]


def proportions(model: Any, X: Any) -> NDArray[np.float64]:
    """[documents, K] rows that sum to one: topic proportions, or the posterior of the clusters of a mixture."""
    return np.asarray(model.transform(X) if is_topic_model(model) else model.predict_proba(X))
