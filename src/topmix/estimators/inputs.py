"""The data that a user passes to an estimator: checked once, here, then trusted by everything below."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.utils.validation import _check_n_features, check_array, check_non_negative, validate_data

from topmix.data.builder import CorpusBuilder
from topmix.data.corpus import Corpus
from topmix.data.errors import CorpusError
from topmix.data.sparse_checks import check_sparse
from topmix.data.sparse_table import SparseTable
from topmix.data.table import Table
from topmix.data.tabular import BLOCK_CELLS
from topmix.estimators.frames import kind_of_frame
from topmix.estimators.known_words import known_words
from topmix.estimators.reading import Read, Reading, read, read_parts, remembered

CLONED = " (scikit-learn's clone empties estimators in parameters: pass its components_, or a FrozenEstimator)"
AS_IT_IS = Reading()

MOST_COPIED = 1 << 28  # bytes of the counts of a matrix


def as_corpus(estimator: Any, X: Any, *, reset: bool, reading: Reading = AS_IT_IS) -> Corpus:
    """Counts from texts, a sparse or dense matrix, a table, a Corpus, an AnnData, or the path of any of them.

    With reset=True the number of features and their names are remembered, and how texts were cut into words where a
    corpus says so; otherwise X must agree with them.
    """
    if isinstance(X, Corpus):
        found = Read(X)
    else:
        found = read(estimator, X, reading if reset else remembered(estimator), fitted=not reset)
    data = found.data
    if not isinstance(data, Corpus):
        corpus = _checked_matrix(estimator, data, reading.feature_names, reset)
    else:
        if reading.feature_names is not None:
            data = _renamed(data, reading.feature_names)
        corpus = _known_corpus(estimator, data, reset)
    if reset:
        estimator.tokenizer_ = data.meta.get("tokenizer") if isinstance(data, Corpus) else None
        estimator.vectorizer_, estimator.input_ = found.vectorizer, reading.to_dict()
        estimator.input_["named"] |= isinstance(data, Corpus)
        estimator.input_["frame"] = kind_of_frame(X)
        estimator.names_ = {}
        vars(estimator).pop("edits_", None)
    return corpus


def corpora(estimator: Any, X: Any) -> Iterator[Corpus]:
    """What `as_corpus` with reset=False makes of X, in parts: texts are counted some at a time, and counts are one
    part."""
    if isinstance(X, Corpus):
        yield _known_corpus(estimator, X, False)
        return
    for part in read_parts(estimator, X, remembered(estimator)):
        is_corpus = isinstance(part, Corpus)
        yield _known_corpus(estimator, part, False) if is_corpus else _checked_matrix(estimator, part, None, False)


def _checked_matrix(estimator: Any, X: Any, names: Sequence[str] | None, reset: bool) -> Corpus:
    how: dict[str, Any] = {"accept_sparse": "csr", "dtype": np.float32}
    given = X
    if sp.issparse(X):
        check_sparse(X)
    if isinstance(X, np.ndarray) and X.ndim == 2 and X.size > BLOCK_CELLS and X.dtype.kind in "iuf":
        validate_data(estimator, X, skip_check_array=True, reset=reset)
        corpus = _checked_blocks(estimator, X, how)
    elif not reset and (getattr(estimator, "input_", None) or {}).get("named") and not hasattr(X, "columns"):
        # Names came with texts or beside a matrix: scikit-learn would warn of each matrix without names.
        X = check_array(X, input_name="X", estimator=estimator, **how)
        _check_n_features(estimator, X, reset=False)
        check_non_negative(X, type(estimator).__name__)
        corpus = Corpus.from_scipy(_own(X, given))
    else:
        X = validate_data(estimator, X, reset=reset, **how)
        check_non_negative(X, type(estimator).__name__)
        corpus = Corpus.from_scipy(_own(X, given))
    if reset and names is not None:
        estimator.feature_names_in_ = np.asarray(_checked_names(names, corpus.n_words), dtype=object)
    return corpus


def _own(X: Any, given: Any) -> Any:
    """A matrix that shares no memory with the user's: somebody who changes theirs during a fit changes nothing here.
    Most matrices were converted, and so copied, before. A large one is not: it would need its memory twice."""
    if sp.issparse(X) and X.data.nbytes > MOST_COPIED:
        return X
    shared = sp.issparse(given) and any(
        np.may_share_memory(getattr(X, a), getattr(given, b, np.empty(0)))
        for a in ("data", "indices", "indptr") for b in ("data", "indices", "indptr", "row", "col"))  # fmt: skip
    return X.copy() if shared else X


def _checked_blocks(estimator: Any, X: np.ndarray, how: dict[str, Any]) -> Corpus:
    """A large dense array, without a copy of all of it."""
    step = max(1, BLOCK_CELLS // max(X.shape[1], 1))
    with CorpusBuilder() as builder:
        for begin in range(0, len(X), step):
            block = check_array(X[begin : begin + step], input_name="X", estimator=estimator, **how)
            check_non_negative(block, type(estimator).__name__)
            rows = sp.csr_array(block)
            builder.append(rows.indptr, rows.indices, rows.data)
        return builder.finish(None, X.shape[1])


def _checked_names(names: Any, n_words: int) -> list[str]:
    given = [names] if isinstance(names, str) else list(names)
    if len(given) != n_words:
        raise ValueError(f"feature_names has {len(given)} names, but X has {n_words} columns")
    for name in given:
        if not isinstance(name, str):
            raise ValueError(f"feature_names must be strings, one per column; {name!r} is not")
    return [str(name) for name in given]


def _renamed(corpus: Corpus, names: Any) -> Corpus:
    if corpus.vocabulary is not None:
        raise ValueError("feature_names= is for data without names, but these words have names already")
    words = _checked_names(names, corpus.n_words)
    return Corpus.trusted(
        corpus.indptr, corpus.index, corpus.value, corpus.n_words, words, corpus.names, meta=corpus.meta
    )


def _known_corpus(estimator: Any, corpus: Corpus, reset: bool) -> Corpus:
    if 0 in corpus.shape:
        size = f"{corpus.shape[0]} documents and {corpus.shape[1]} words"
        raise ValueError(f"the corpus has {size}, but {type(estimator).__name__} needs at least one of each")
    if not reset and corpus.vocabulary is not None and known_words(estimator).are(corpus.vocabulary):
        return corpus
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
    """Rows of finite numbers from an array, which may be mapped from a file and is not copied, a DataFrame, a Table, a
    sparse matrix, a Corpus, or the path of a .npy file; as float32 if that is what they are, else as float64."""
    if isinstance(X, str | os.PathLike):
        X = Table.open(X)
    if isinstance(X, Corpus):
        return SparseTable(_known_corpus(estimator, X, reset).to_scipy(), X.vocabulary)
    if sp.issparse(X):
        return _as_sparse_table(estimator, X, reset)
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


def _as_sparse_table(estimator: Any, X: Any, reset: bool) -> SparseTable:
    check_sparse(X)
    how: dict[str, Any] = {"dtype": [np.float64, np.float32], "accept_sparse": "csr", "ensure_all_finite": False}
    table = SparseTable(_own(validate_data(estimator, X, reset=reset, **how), X))
    try:
        return table.check()
    except CorpusError as error:
        raise ValueError(f"X has a value that is NaN or infinity: {error}") from None
