"""Documents of a stream in the columns of a model that has seen others: known words in their place, new ones after.

In texts, and in a Corpus with a vocabulary, words are known by their names: they may come in any order, not all of
them, and new ones in between. A matrix has only places, so new words are columns at the end; a DataFrame has them there
too, because its first columns must be those of the model, as everywhere in scikit-learn.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.utils import _safe_indexing
from sklearn.utils.validation import _get_feature_names

from topmix.data.corpus import Corpus
from topmix.data.vectorize import Vectorizer
from topmix.data.vocabulary import cuts_for
from topmix.estimators.inputs import as_corpus
from topmix.estimators.reading import read, remembered


def in_known_columns(estimator: Any, X: Any) -> Corpus:
    """X checked, in the columns of the estimator and as many more as it has new words. The estimator stays as it is.

    The corpus has a vocabulary where the estimator has names.
    """
    if not isinstance(X, Corpus):
        X = _with_new_words(estimator, X)
    known = getattr(estimator, "feature_names_in_", None)
    if isinstance(X, Corpus) and X.vocabulary is not None and known is not None:
        if len(X.vocabulary) == len(known) and all(a == b for a, b in zip(X.vocabulary, known)):
            return as_corpus(estimator, X, reset=False)
        as_corpus(type(estimator)(), X, reset=True)  # not empty
        return _by_name(X, X.vocabulary, known.tolist())
    n_known, n_words = estimator.n_features_in_, _width(X)
    if n_words <= n_known:
        return as_corpus(estimator, X, reset=False)  # or its error

    names = None if isinstance(X, Corpus) else _get_feature_names(X)
    if known is not None:
        if names is None:
            raise ValueError(
                f"X has {n_words} columns, {n_words - n_known} of them new, but this {type(estimator).__name__} knows "
                "its words by name: give a Corpus with a vocabulary, or a DataFrame"
            )
        as_corpus(estimator, _safe_indexing(X, slice(n_known), axis=1), reset=False)  # the known ones, or its error
        _refuse_twice(names)
    corpus = as_corpus(type(estimator)(), X, reset=True)  # checked as first documents are
    words = None if known is None or names is None else [str(name) for name in names]
    return Corpus.trusted(corpus.indptr, corpus.index, corpus.value, corpus.n_words, words)


def _with_new_words(estimator: Any, X: Any) -> Any:
    """Texts, tables and files as counts; of texts, words that the estimator does not know are counted too, if there
    are enough of them in X for the vectorizer."""
    reading = remembered(estimator)
    vectorizer = reading.vectorizer
    if vectorizer is None and getattr(estimator, "feature_names_in_", None) is not None:
        vectorizer = Vectorizer.of(estimator)
    if not isinstance(vectorizer, Vectorizer):  # a vectorizer of scikit-learn has the words of its fit
        return read(estimator, X, reading, fitted=True).data
    anew = clone(vectorizer).set_params(vocabulary=None, min_df=1, max_df=1.0, max_features=None)
    corpus, made = read(estimator, X, replace(reading, vectorizer=anew), fitted=False)
    if made is None:  # not texts
        return corpus
    df = np.bincount(corpus.index, minlength=corpus.n_words)
    low, high = cuts_for(corpus.n_docs, vectorizer.min_df, vectorizer.max_df)
    low, high = (cut if isinstance(cut, int) else cut * corpus.n_docs for cut in (low, high))
    known = set(map(str, estimator.feature_names_in_))
    is_known = np.array([word in known for word in corpus.vocabulary], dtype=bool)
    return corpus.keep_words(is_known | ((df >= low) & (df <= high)))


def _by_name(X: Corpus, vocabulary: Sequence[str], known: list[str]) -> Corpus:
    _refuse_twice(vocabulary)
    _refuse_twice(known)
    place = {word: v for v, word in enumerate(known)}
    column = np.array([place.setdefault(word, len(place)) for word in vocabulary], dtype=np.int64)
    rows = sp.csr_array((X.value.copy(), column[X.index], X.indptr), shape=(X.n_docs, len(place)))
    rows.sort_indices()
    return Corpus.from_scipy(rows, vocabulary=list(place), names=X.names)


def _refuse_twice(words: Sequence[Any]) -> None:
    seen: set[Any] = set()
    for word in words:
        if word in seen:
            raise ValueError(f"{str(word)!r} is in the vocabulary twice, so documents cannot be matched by their words")
        seen.add(word)


def _width(X: Any) -> int:
    shape = X.shape if hasattr(X, "shape") else np.shape(X)
    return int(shape[1]) if len(shape) == 2 else 0
