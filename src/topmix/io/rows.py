"""Arrays, frames, sparse matrices and files of numbers, checked by scikit-learn's own functions; and the groups and
texts beside rows of numbers, in the same table or in a file."""

from __future__ import annotations

import csv
import os
import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Self, cast

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.base import BaseEstimator
from sklearn.utils.validation import _check_n_features, check_array, check_non_negative, validate_data

from topmix.base.checks import CorpusError, as_list
from topmix.base.paths import check_there, is_path, is_remote, path_of
from topmix.base.remote_file import local_copy
from topmix.corpus.corpus import Corpus, CorpusBuilder
from topmix.corpus.counts import check_sparse
from topmix.corpus.rows import GroupedRows, Rows, SparseRows
from topmix.corpus.vocabulary import Strings
from topmix.io.columns import column_of
from topmix.io.libraries import BLOCK_CELLS, as_table, places_of
from topmix.io.parquet import batches_of, open_parquet
from topmix.io.reading import FRAMES, Keywords, Reading
from topmix.io.textfile import TextFile

MOST_COPIED = 1 << 28  # bytes of the counts of a matrix
COUNTS: Keywords = {"accept_sparse": "csr", "dtype": np.float32}
ROWS: Keywords = {"dtype": [np.float64, np.float32], "ensure_all_finite": False}
DELIMITERS = {".csv": ",", ".tsv": "\t"}
CSV: Keywords = {"ndmin": 2, "encoding": "utf-8-sig", "quotechar": '"', "comments": None}
GROUP = "group"  # the column of a file of groups that has several


def read_matrix(X: object, owner: str, known: Reading | None, names: Sequence[str] | None) -> tuple[Corpus, Reading]:
    """Counts from an array, a sparse matrix or a DataFrame. `names` are those of its columns."""
    stand_in, source = _stand_in(owner, known), cast(Any, X)
    if sp.issparse(X):
        check_sparse(X)
    with _places_of_missing(X):
        if isinstance(X, np.ndarray) and X.ndim == 2 and X.size > BLOCK_CELLS and X.dtype.kind in "iuf":
            validate_data(stand_in, X, skip_check_array=True, reset=known is None)
            step = max(1, BLOCK_CELLS // max(X.shape[1], 1))
            with CorpusBuilder() as builder:  # without a copy of all of it
                for begin in range(0, len(X), step):
                    block = check_array(X[begin : begin + step], input_name="X", estimator=stand_in, **COUNTS)
                    check_non_negative(block, owner)
                    rows = sp.csr_array(block)
                    builder.append(rows.indptr, rows.indices, rows.data)
                corpus = builder.finish(None, X.shape[1])
        else:
            if known is not None and known.named and not hasattr(X, "columns"):
                # scikit-learn would warn of a matrix without names. Private, and public nowhere: the check of the width
                X = check_array(X, input_name="X", estimator=stand_in, **COUNTS)
                _check_n_features(stand_in, X, reset=False)
            else:
                X = validate_data(stand_in, X, reset=known is None, **COUNTS)
            check_non_negative(X, owner)
            corpus = Corpus.from_scipy(_own(X, source))
    if corpus.nnz == 0 and (source.count_nonzero() if sp.issparse(source) else np.any(np.asarray(source))):
        raise ValueError("the counts of X are so small that all are zero in single precision: multiply X by a constant")
    if known is not None:
        return corpus, known
    given = vars(stand_in).get("feature_names_in_") if names is None else names
    words = None if given is None else np.asarray(checked_names(given, corpus.n_words), dtype=object)
    return corpus, Reading(corpus.n_words, words, named=names is not None, frame=kind_of_frame(source))


def kind_of_frame(X: object) -> str | None:
    """The library of a DataFrame or a column of one."""
    library = type(X).__module__.partition(".")[0]
    return library if library in FRAMES else None


def read_rows(X: object, *, owner: str, known: Reading | None = None) -> tuple[Rows, Reading]:
    """Rows of finite numbers, as float32 if that is what they are, else as float64: of an array, which is not copied, a
    DataFrame, a Rows, a sparse matrix, a Corpus, or a .npy, .csv, .tsv or .parquet file."""
    if isinstance(X, Corpus):
        rows: Rows = SparseRows(in_known_words(X, known, owner).to_scipy(), X.vocabulary)
        reading = known or Reading(X.n_words, None if X.vocabulary is None else np.asarray(X.vocabulary, dtype=object))
    else:
        rows, reading = unchecked_rows(X, owner=owner, known=known)
    try:
        return rows.check(), reading
    except CorpusError as error:
        raise ValueError(f"X has a value that is NaN or infinity: {error}") from None


def unchecked_rows(X: object, *, owner: str, known: Reading | None = None, sparse: bool = True) -> tuple[Rows, Reading]:
    """The same, and whether they are finite is left to the caller. `sparse=False` refuses sparse matrices."""
    if is_path(X) or isinstance(X, NumberTable):
        X = open_rows(X, None if known is None else known.words)
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
    words = vars(stand_in).get("feature_names_in_") if names is None else np.asarray(names, dtype=object)
    return rows, Reading(rows.shape[1], words, frame=kind_of_frame(X))


@dataclass(frozen=True)
class NumberTable:
    """A .csv, .tsv or .parquet file of rows of numbers, and the names of its columns that hold something else."""

    path: Path
    others: tuple[str, ...] = ()

    def without(self, *columns: str) -> Self:
        return replace(self, others=(*self.others, *columns))


def _first_names(path: Path) -> list[str]:
    """The columns of a table, or its first row of numbers."""
    if path.suffix.lower() == ".parquet":
        with open_parquet(path) as file:
            return list(file.schema_arrow.names)
    return next(_csv_rows(path), [])


def _csv_rows(path: Path) -> Iterator[list[str]]:
    try:
        with TextFile(path) as file, file.text("utf-8", "strict", "") as lines:
            yield from csv.reader(lines, delimiter=DELIMITERS.get(path.suffix.lower(), ","))
    except (UnicodeDecodeError, csv.Error) as error:
        raise CorpusError(f"{path}: not a table of text in UTF-8: {error}") from error


def number_table(X: object) -> NumberTable | None:
    """The table of numbers at a path; None for other files and for data in memory."""
    if is_path(X) and path_of(X).suffix.lower() in (*DELIMITERS, ".parquet"):
        return NumberTable(path_of(X))
    return X if isinstance(X, NumberTable) else None


def open_rows(X: object, known: Collection[str] | None = None) -> Rows:
    """The rows of a file, not checked yet. Of a table where all `known` columns are, of a fitted model, only these."""
    if (table := number_table(X)) is None:
        assert is_path(X)
        check_there(X)
        return Rows.open(X)
    path = local_copy(table.path) if is_remote(table.path) else table.path
    names, suffix = _first_names(path), path.suffix.lower()
    for name in table.others:
        if name not in names:
            raise ValueError(f"{table.path}: no column {name!r}; there are {', '.join(names[:20])}")
    columns = [name for name in names if name not in table.others]
    if known is not None and set(known) <= set(names):
        columns = list(known)
    is_named = suffix == ".parquet"
    try:
        list(map(float, names))
    except ValueError:
        is_named = True
    places = places_of(columns, names) if is_named else None
    try:
        if suffix == ".parquet":
            with open_parquet(path) as file:
                batches = [
                    np.column_stack([batch.column(name).to_numpy(zero_copy_only=False) for name in columns])
                    for batch in batches_of(file, columns=columns)
                ]
            numbers = np.concatenate(batches)
        else:
            delimiter = DELIMITERS.get(suffix, ",")
            numbers = np.loadtxt(path, delimiter=delimiter, skiprows=int(is_named), usecols=places, **CSV)
        return Rows(numbers, columns if is_named else None, check=False)
    except ValueError as error:
        raise CorpusError(f"{table.path}: not a table of numbers: {error}") from error


def split_groups(X: object, groups: object) -> tuple[object, object, NDArray[np.int64] | None]:
    """X as rows, the group of each row, and, where X is a list of arrays instead, where each begins among them. A
    string names a column of X, or a file."""
    if groups is None and isinstance(X, list | tuple) and len(X) and np.ndim(X[0]) == 2:
        if len({np.shape(x)[1] if np.ndim(x) == 2 else -1 for x in X}) > 1:
            raise ValueError("a list of groups must hold arrays of shape (rows, features), all of the same width")
        return np.concatenate(X), None, np.concatenate([[0], np.cumsum([len(x) for x in X])])
    if isinstance(groups, str) and not os.path.isfile(groups):
        X, groups = _split_column(X, groups)
    return X, groups, None


def split_texts(X: object, texts: object) -> tuple[object, object]:
    """X as rows, and the texts beside them: a string that is no path names a column of X."""
    if not isinstance(texts, str) or is_remote(texts) or os.path.exists(texts):
        return X, texts
    if number_table(X) is None and as_table(X) is None:
        return X, texts
    X, values = _split_column(X, texts)
    return X, ["" if value is None else value for value in values]


def _split_column(X: Any, column: str) -> tuple[object, list[object]]:
    """A table without one of its columns, and that column."""
    if (table := number_table(X)) is not None:
        return table.without(column), column_of(table.path, column)
    if is_path(X):
        raise ValueError(f"there is no file {column}, and {X} has no columns")
    values = column_of(X, column)
    return X[[name for name in X.columns if name != column]], values


def in_groups(rows: Rows, groups: Any) -> GroupedRows:
    """Rows with the group of each, in the order of the sorted names of groups. None: each row is a group. Of a file the
    only column, perhaps below a header; of several columns the one that is called "group"."""
    if groups is None:
        return GroupedRows(rows, np.arange(len(rows) + 1))
    if is_path(groups):
        path = Path(groups)
        if path.suffix.lower() == ".npy":
            groups = np.load(path, allow_pickle=False).ravel()
        elif len(columns := _first_names(path)) > 1:
            groups = column_of(path, GROUP)
        elif path.suffix.lower() == ".parquet":
            groups = column_of(path, columns[0])
        else:
            groups = [row[0] for row in _csv_rows(path) if row]
            groups = groups[len(groups) == len(rows) + 1 :]
    names = np.asarray(groups)
    if names.ndim == 1 and names.dtype.kind in "OU":
        names = np.asarray(column_of(None, names), names.dtype)
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
    if known is None:
        return corpus
    words = corpus.vocabulary
    if (  # the common case, without a text of each word
        isinstance(words, Strings)
        and words.file is None
        and known.packed is not None
        and np.array_equal(words.offsets, known.packed.offsets)
        and np.array_equal(words.text, known.packed.text)
    ):
        return corpus
    if corpus.shape[1] != known.n_features:
        raise ValueError(
            f"the corpus has {corpus.shape[1]} words, but this {owner} was fitted on {known.n_features}. Build new "
            "documents with the vocabulary of the training corpus."
        )
    if words is None or known.words is None:
        return corpus
    names = np.asarray(words, dtype=object)
    if not np.array_equal(names, known.words):
        first = int(np.flatnonzero(names != known.words)[0])
        raise ValueError(
            f"the corpus has another vocabulary: word {first} is {names[first]!r}, but was {known.words[first]!r} in "
            "training. Build new documents with the vocabulary of the training corpus."
        )
    return corpus


def checked_names(names: Iterable[str], n_words: int) -> list[str]:
    """Strings that UTF-8 holds, one for each column."""
    words = Strings.pack(as_list(names), "feature name")
    if len(words) != n_words:
        raise ValueError(f"feature_names has {len(words)} names, but X has {n_words} columns")
    return list(words)


@contextmanager
def _places_of_missing(X: Any) -> Iterator[None]:
    """Errors about NaN and infinity that say where they are."""
    try:
        with np.errstate(over="ignore"):
            yield
    except ValueError as error:
        if not re.search("contains (NaN|infinity)", str(error)):
            raise
        entries = sp.coo_array(X if sp.issparse(X) else np.asarray(X, dtype=np.float64))
        bad = np.flatnonzero(~np.isfinite(entries.data))
        if not len(bad):  # too large for a float
            raise ValueError(f"{str(error).splitlines()[0]} Divide X by a constant.") from None
        what = "NaN" if np.isnan(entries.data[bad[0]]) else "infinity"
        raise ValueError(
            f"X contains {what} in row {entries.row[bad[0]]}, column {entries.col[bad[0]]}, and {len(bad):,} such "
            "values in all. Counts are numbers from 0: leave these rows out, or put 0 where nothing was counted"
        ) from None


def _stand_in(owner: str, known: Reading | None) -> Any:
    """scikit-learn keeps widths and names of columns on an estimator: this stands for it, with its name in errors."""
    stand_in: Any = type(owner, (BaseEstimator,), {})()
    if known is not None:
        stand_in.n_features_in_ = known.n_features
        if known.words is not None:
            stand_in.feature_names_in_ = known.words
    return stand_in


def _own(X: Any, given: Any) -> Any:
    """A matrix that shares no memory with the user's, who may change theirs during a fit. Other kinds were copied when
    they were converted. A large one is not copied: it would need its memory twice."""
    if not sp.issparse(X) or X.data.nbytes > MOST_COPIED or not (sp.issparse(given) and given.format == X.format):
        return X
    pairs = (X.data, given.data), (X.indices, given.indices), (X.indptr, given.indptr)
    return X.copy() if any(np.may_share_memory(a, b) for a, b in pairs) else X
