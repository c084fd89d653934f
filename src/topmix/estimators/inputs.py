"""The data that a user passes to an estimator: checked once, here, then trusted by everything below."""

from __future__ import annotations

import os
from typing import Any

import numpy as np
from sklearn.utils.validation import check_non_negative, validate_data

from topmix.data.corpus import Corpus
from topmix.data.errors import CorpusError
from topmix.data.table import Table

CLONED = " (scikit-learn's clone empties estimators in parameters: pass its components_, or a FrozenEstimator)"


def as_corpus(estimator: Any, X: Any, *, reset: bool) -> Corpus:
    """Counts from a sparse or dense matrix, a DataFrame, a Corpus or the path of a saved one.

    With reset=True the number of features and their names are remembered, and how texts were cut into words where a
    corpus says so; otherwise X must agree with them.
    """
    if isinstance(X, str | os.PathLike):
        X = Corpus.open(X)
    if reset:
        estimator.tokenizer_ = X.meta.get("tokenizer") if isinstance(X, Corpus) else None
    if isinstance(X, Corpus):
        return _known_corpus(estimator, X, reset)
    X = validate_data(estimator, X, accept_sparse="csr", dtype=np.float32, reset=reset)
    check_non_negative(X, type(estimator).__name__)
    return Corpus.from_scipy(X)


def _known_corpus(estimator: Any, corpus: Corpus, reset: bool) -> Corpus:
    if 0 in corpus.shape:
        size = f"{corpus.shape[0]} documents and {corpus.shape[1]} words"
        raise ValueError(f"the corpus has {size}, but {type(estimator).__name__} needs at least one of each")
    names = None if corpus.vocabulary is None else np.asarray(corpus.vocabulary, dtype=object)
    if reset:
        estimator.n_features_in_ = corpus.shape[1]
        if names is not None:
            estimator.feature_names_in_ = names
        elif hasattr(estimator, "feature_names_in_"):
            del estimator.feature_names_in_
        return corpus
    if corpus.shape[1] != estimator.n_features_in_:
        raise ValueError(
            f"the corpus has {corpus.shape[1]} words, but this {type(estimator).__name__} was fitted on "
            f"{estimator.n_features_in_}. Build new documents with the vocabulary of the training corpus."
        )
    known = getattr(estimator, "feature_names_in_", None)
    if names is not None and known is not None and not np.array_equal(names, known):
        first = int(np.flatnonzero(names != known)[0])
        raise ValueError(
            f"the corpus has another vocabulary: word {first} is {names[first]!r}, but was {known[first]!r} in "
            "training. Build new documents with the vocabulary of the training corpus."
        )
    return corpus


def as_table(estimator: Any, X: Any, *, reset: bool) -> Table:
    """Rows of finite numbers from an array, which may be mapped from a file and is not copied, a DataFrame, a Table, or
    the path of a .npy file; as float32 if that is what they are, else as float64."""
    if isinstance(X, str | os.PathLike):
        X = Table.open(X)
    names = X.feature_names if isinstance(X, Table) else None
    data = X.data if isinstance(X, Table) else X
    dtypes = [np.float64, np.float32]
    data = validate_data(estimator, data, dtype=dtypes, ensure_all_finite=False, reset=reset)
    if names is not None and reset:
        estimator.feature_names_in_ = np.asarray(names, dtype=object)
    table = Table(data, check=False)
    try:
        return table.check()
    except CorpusError as error:
        raise ValueError(f"X has a value that is NaN or infinity: {error}") from None
