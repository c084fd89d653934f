"""A fitted model as pages, exports, plots and the command look at it: what was learned, and new documents under it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from topmix.base.checks import are_texts, is_plural
from topmix.corpus.corpus import Corpus
from topmix.corpus.documents import is_texts
from topmix.estimators.estimator import Estimator
from topmix.estimators.mixture import MixtureEstimator
from topmix.estimators.topics import TopicEstimator
from topmix.estimators.variational import VariationalTopics
from topmix.estimators.vectors import texts_of_documents
from topmix.io.documents import refuse_iterator
from topmix.results.mixture import FittedMixture
from topmix.results.topics import DocumentShares, FittedTopics
from topmix.results.view import TopicView

BLOCK = 4096  # documents that are visited together

Model = TopicEstimator | MixtureEstimator


class ModelView:
    """A fitted topic model, or a mixture that has words. What an estimator does not have is empty."""

    def __init__(self, model: Model):
        self.model, self.fitted, self.kind = model, fitted_of(model), type(model).__name__
        self.topics = self.fitted.view
        self.names: Mapping[int, str] = self.fitted.names
        self.tokenizer: Mapping[str, object] = self.fitted.words_read.tokenizer or {}  # settings
        self.frozen: list[int] = []  # topics
        self.banned: sp.csr_array | None = None  # [K, V] words that topics cannot have
        if isinstance(model, VariationalTopics):
            self.frozen, self.banned = model.frozen_, model.banned_

    def settings(self) -> list[list[str]]:
        """Parameters of the model and settings of its tokenizer: [name, value as text]."""
        rows = [(name, value) for name, value in self.model.get_params(deep=False).items() if name != "callbacks"]
        rows += [(f"words: {name}", value) for name, value in self.tokenizer.items()]
        texts = []
        for name, value in rows:
            if isinstance(value, np.ndarray):
                text = f"array of {' × '.join(map(str, value.shape))}"
            elif isinstance(value, list | tuple) and len(value) > 8:
                text = f"{', '.join(map(str, value[:8]))}, … ({len(value)})"
            else:
                text = str(value)
            texts.append([name, text])
        return texts

    def read(
        self, X: object, texts: Iterable[str] | None = None, groups: object = None
    ) -> tuple[Corpus | None, Iterable[str] | None]:
        """Documents as a corpus, and their texts: `texts`, or X itself where it is texts. Of an admixture documents are
        `groups` of rows."""
        if groups is not None and self.model._takes != "groups":
            raise ValueError(f"a {self.kind} knows no groups: groups= is for admixtures")
        if X is None or isinstance(X, Corpus):
            return X, texts
        refuse_iterator(X)
        if self.model._takes != "words":
            kept = None if texts is None else [str(text) for text in texts]
            corpus = self.model._read_known(X, groups, kept)  # type: ignore[call-arg]  # of vectors
            return corpus, texts_of_documents(corpus, kept)
        if texts is None and is_texts(X) and is_plural(X) and are_texts(list(X)):
            texts = X
        return self.model.counts(X), texts

    def visited(self, X: Corpus) -> DocumentShares:
        """The topics that documents use."""
        return self.model._solved().document_shares(X, self.model._solver())


def fitted_of(model: Model) -> FittedTopics | FittedMixture:
    if not isinstance(model, Estimator):
        raise ValueError(f"a {type(model).__name__} is no model of topmix: pass a topic model or a MultinomialMixture")
    return model._found()


def view_of(model: Model) -> TopicView:
    """The topics of a fitted estimator. Raises ValueError where it has no topics of words."""
    return fitted_of(model).view


def proportions(model: Model, X: object) -> NDArray[np.float64]:
    """[documents, K] rows that sum to one: topic proportions, or the posterior of the clusters of a mixture."""
    mixes = model._takes == "groups" or not isinstance(model, MixtureEstimator)
    return np.asarray(model.transform(X) if mixes else model.predict_proba(X))
