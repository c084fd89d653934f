"""Arrays, frames and sparse matrices, checked by scikit-learn's own functions, in whose words people know errors."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.base import BaseEstimator
from sklearn.utils.validation import _check_n_features, check_array, check_non_negative, validate_data

from topmix.data.columns import column_of
from topmix.data.corpus import Corpus, CorpusBuilder
from topmix.data.errors import CorpusError
from topmix.data.matrices import check_sparse
from topmix.data.rows import GroupedRows, Rows, SparseRows
from topmix.data.tabular import BLOCK_CELLS
from topmix.read.reading import FRAMES, Reading

MOST_COPIED = 1 << 28  # bytes of the counts of a matrix
COUNTS: dict[str, Any] = {"accept_sparse": "csr", "dtype": np.float32}
ROWS: dict[str, Any] = {"dtype": [np.float64, np.float32], "ensure_all_finite": False}


def read_matrix(X: Any, owner: str, known: Reading | None, names: Sequence[str] | None) -> tuple[Corpus, Reading]:
    """Counts from an array, a sparse matrix or a DataFrame. `names` are those of its columns."""
    stand_in, given = _stand_in(owner, known), X
    if sp.issparse(X):
        check_sparse(X)
    with _places_of_missing(given):
        if isinstance(X, np.ndarray) and X.ndim == 2 and X.size > BLOCK_CELLS and X.dtype.kind in "iuf":
            validate_data(stand_in, X, skip_check_array=True, reset=known is None)
            corpus = _read_blocks(X, stand_in)
        else:
            if known is not None and known.named and not hasattr(X, "columns"):
                # scikit-learn would warn of a matrix without names. Private, and public nowhere: the check of the width
                X = check_array(X, input_name="X", estimator=stand_in, **COUNTS)
                _check_n_features(stand_in, X, reset=False)
            else:
                X = validate_data(stand_in, X, reset=known is None, **COUNTS)
            check_non_negative(X, owner)
            corpus = Corpus.from_scipy(_own(X, given))
    if known is not None:
        return corpus, known
    words = np.asarray(checked_names(names, corpus.n_words), dtype=object) if names is not None else _names(stand_in)
    return corpus, Reading(corpus.n_words, words, named=names is not None, frame=kind_of_frame(given))


def kind_of_frame(X: object) -> str | None:
    """The library of a DataFrame or a column of one; None for other data."""
    library = type(X).__module__.partition(".")[0]
    return library if library in FRAMES else None


def read_rows(X: Any, *, owner: str, known: Reading | None = None) -> tuple[Rows, Reading]:
    """Rows of finite numbers from an array, which may be mapped from a file and is not copied, a DataFrame, a Rows, a
    sparse matrix, a Corpus, or the path of a .npy file; as float32 if that is what they are, else as float64."""
    if isinstance(X, Corpus):
        rows: Rows = SparseRows(in_known_words(X, known, owner).to_scipy(), X.vocabulary)
        reading = known or Reading(X.n_words, None if X.vocabulary is None else np.asarray(X.vocabulary, dtype=object))
    else:
        rows, reading = unchecked_rows(X, owner=owner, known=known)
    try:
        return rows.check(), reading
    except CorpusError as error:
        raise ValueError(f"X has a value that is NaN or infinity: {error}") from None


def unchecked_rows(X: Any, *, owner: str, known: Reading | None = None, sparse: bool = True) -> tuple[Rows, Reading]:
    """The same, and whether they are finite is left to the caller. `sparse=False` refuses sparse matrices."""
    if isinstance(X, str | os.PathLike):
        X = Rows.open(X)
    names = X.feature_names if isinstance(X, Rows) else None
    as_named = known
    if known is not None and known.words is not None and names is not None and [*names] == known.words.tolist():
        as_named = replace(known, words=None)  # scikit-learn would warn of an array without names
    stand_in = _stand_in(owner, as_named)
    rows: Rows
    if sp.issparse(X) and sparse:
        check_sparse(X)
        rows = SparseRows(_own(validate_data(stand_in, X, reset=known is None, accept_sparse="csr", **ROWS), X))
    else:
        data = X.data if isinstance(X, Rows) else X
        rows = Rows(validate_data(stand_in, data, reset=known is None, **ROWS), check=False)
    if known is not None:
        return rows, known
    words = _names(stand_in) if names is None else np.asarray(names, dtype=object)
    return rows, Reading(rows.shape[1], words, frame=kind_of_frame(X))


def split_groups(X: Any, groups: Any) -> tuple[Any, Any, NDArray[np.int64] | None]:
    """X as rows, the group of each row, and, where X is a list of arrays instead, where each begins among them."""
    if groups is None and isinstance(X, list | tuple) and len(X) and np.ndim(X[0]) == 2:
        if len({np.shape(x)[1] if np.ndim(x) == 2 else -1 for x in X}) > 1:
            raise ValueError("a list of groups must hold arrays of shape (rows, features), all of the same width")
        return np.concatenate(X), None, np.concatenate([[0], np.cumsum([len(x) for x in X])])
    if isinstance(X, str | os.PathLike) and Path(X).suffix.lower() == ".parquet":
        column = groups if isinstance(groups, str) else None
        return parquet_rows(Path(X), *filter(None, [column])), groups if column is None else column_of(X, column), None
    if isinstance(groups, str):
        column, groups = groups, column_of(X, groups)
        X = X[[name for name in X.columns if name != column]]
    return X, groups, None


def parquet_rows(path: Path, *others: str) -> Rows:
    """The columns of a Parquet file, which are numbers, except `others`."""
    import pyarrow.parquet as pq

    table = pq.read_table(path)
    names = [name for name in table.column_names if name not in others]
    for name in others:
        if name not in table.column_names or not names:
            raise ValueError(f"{path}: no column {name!r} beside others; there are {', '.join(table.column_names)}")
    return Rows(np.column_stack([table[name].to_numpy() for name in names]), names)


def in_groups(rows: Rows, groups: Any) -> GroupedRows:
    """Rows with the group of each, in the order of the sorted names of groups; each row is one where that is None."""
    if groups is None:
        return GroupedRows(rows, np.arange(len(rows) + 1))
    names = np.asarray(groups)
    if names.shape != (len(rows),):
        raise ValueError(f"groups has the shape {names.shape}: it must name the group of each of {len(rows)} rows")
    if names.dtype.kind == "f" and np.isnan(names).any():
        raise ValueError(f"groups has NaN in row {int(np.argmax(np.isnan(names)))}: each row needs a group")
    try:
        unique, number = np.unique(names, return_inverse=True)
    except TypeError as error:
        raise ValueError(f"groups cannot be sorted: {error}") from None
    starts = np.concatenate([[0], np.cumsum(np.bincount(number))])
    lie_so = np.all(number[1:] >= number[:-1])
    return GroupedRows(rows, starts, None if lie_so else np.argsort(number, kind="stable"), unique)


def in_known_words(corpus: Corpus, known: Reading | None, owner: str) -> Corpus:
    """The corpus, if it is not empty and has the words that are known."""
    if 0 in corpus.shape:
        size = f"{corpus.shape[0]} documents and {corpus.shape[1]} words"
        raise ValueError(f"the corpus has {size}, but {owner} needs at least one of each")
    if known is None or (corpus.vocabulary is not None and known.is_packed_as(corpus.vocabulary)):
        return corpus
    if corpus.shape[1] != known.n_features:
        raise ValueError(
            f"the corpus has {corpus.shape[1]} words, but this {owner} was fitted on {known.n_features}. Build new "
            "documents with the vocabulary of the training corpus."
        )
    if corpus.vocabulary is None or known.words is None:
        return corpus
    names = np.asarray(corpus.vocabulary, dtype=object)
    if not np.array_equal(names, known.words):
        first = int(np.flatnonzero(names != known.words)[0])
        raise ValueError(
            f"the corpus has another vocabulary: word {first} is {names[first]!r}, but was {known.words[first]!r} in "
            "training. Build new documents with the vocabulary of the training corpus."
        )
    return corpus


def checked_names(names: Any, n_words: int) -> list[str]:
    given = [names] if isinstance(names, str) else list(names)
    if len(given) != n_words:
        raise ValueError(f"feature_names has {len(given)} names, but X has {n_words} columns")
    for name in given:
        if not isinstance(name, str):
            raise ValueError(f"feature_names must be strings, one per column; {name!r} is not")
    return [str(name) for name in given]


@contextmanager
def _places_of_missing(X: Any) -> Iterator[None]:
    """Errors about NaN and infinity that say where they are. scikit-learn's recommend its classifiers instead."""
    try:
        yield
    except ValueError as error:
        if not re.search("contains (NaN|infinity)", str(error)):
            raise
        if sp.issparse(X):
            entries = X.tocoo()
            rows, columns, numbers = entries.row, entries.col, entries.data
        else:
            numbers = np.asarray(X, dtype=np.float64)
            rows, columns = (place.ravel() for place in np.indices(numbers.shape))
        bad = np.flatnonzero(~np.isfinite(numbers.ravel()))
        if not len(bad):  # too large for a float
            raise ValueError(f"{str(error).splitlines()[0]} Divide X by a constant.") from None
        what = "NaN" if np.isnan(numbers.ravel()[bad[0]]) else "infinity"
        raise ValueError(
            f"X contains {what} in row {rows[bad[0]]}, column {columns[bad[0]]}, and {len(bad):,} such values in all. "
            "Counts are numbers from 0: leave these rows out, or put 0 where nothing was counted"
        ) from None


@cache
def _named(owner: str) -> type[BaseEstimator]:
    return type(owner, (BaseEstimator,), {})


def _stand_in(owner: str, known: Reading | None) -> Any:
    """scikit-learn keeps widths and names of columns on an estimator: this stands for it, with its name in errors."""
    stand_in: Any = _named(owner)()
    if known is not None:
        stand_in.n_features_in_ = known.n_features
        if known.words is not None:
            stand_in.feature_names_in_ = known.words
    return stand_in


def _names(stand_in: Any) -> NDArray[np.object_] | None:
    names: NDArray[np.object_] | None = vars(stand_in).get("feature_names_in_")
    return names


def _own(X: Any, given: Any) -> Any:
    """A matrix that shares no memory with the user's: somebody who changes theirs during a fit changes nothing here.
    Most matrices were converted, and so copied, before. A large one is not: it would need its memory twice."""
    if sp.issparse(X) and X.data.nbytes > MOST_COPIED:
        return X
    shared = sp.issparse(given) and any(
        np.may_share_memory(getattr(X, a), getattr(given, b, np.empty(0)))
        for a in ("data", "indices", "indptr") for b in ("data", "indices", "indptr", "row", "col"))  # fmt: skip
    return X.copy() if shared else X


def _read_blocks(X: np.ndarray, stand_in: Any) -> Corpus:
    """A large dense array, without a copy of all of it."""
    step = max(1, BLOCK_CELLS // max(X.shape[1], 1))
    with CorpusBuilder() as builder:
        for begin in range(0, len(X), step):
            block = check_array(X[begin : begin + step], input_name="X", estimator=stand_in, **COUNTS)
            check_non_negative(block, type(stand_in).__name__)
            rows = sp.csr_array(block)
            builder.append(rows.indptr, rows.indices, rows.data)
        return builder.finish(None, X.shape[1])
