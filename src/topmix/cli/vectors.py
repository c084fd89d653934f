"""Vectors, and what stands beside them: texts, the groups that rows belong to, and columns that pages show."""

from __future__ import annotations

import csv
from collections.abc import Collection, Iterable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import typer
from sklearn.base import BaseEstimator

from topmix.api.admixture import AdmixtureEstimator, documents_of, of_groups
from topmix.api.vectors import texts_of_documents
from topmix.cli.flags import Settings, option_of
from topmix.cli.sources import read_all_for, read_to_fit, takes_counts, texts_at
from topmix.data import Corpus, Rows
from topmix.data.columns import column_of
from topmix.data.paths import is_remote
from topmix.data.remote_file import local_copy
from topmix.data.rows import GroupedRows
from topmix.read import in_groups
from topmix.read.rows import parquet_rows

GROUP = "group"  # the column of a file of groups that has several
TABLES = (".csv", ".tsv", ".parquet")


class Vectors(NamedTuple):
    """Vectors at a path, and where to find what stands beside them."""

    path: Path
    texts: Path | None  # a file of texts, perhaps the table of the vectors
    groups: str | None  # a column or a file
    reading: Settings  # of the texts
    others: tuple[str, ...]  # columns of the table that hold no vectors

    def rows(self, estimator: BaseEstimator) -> Rows:
        """As a fitted estimator reads them, or to be read by its `fit`; in groups where it has them."""
        known = None if estimator._fitted is None else estimator._fitted.reading.words
        rows = read_table(self.path, {} if self.texts is not None else self.reading, self.others, known)
        if not isinstance(estimator, AdmixtureEstimator):
            return rows
        values = self._groups(len(rows), type(estimator).__name__)
        if len(values) != len(rows) or any(value is None for value in values):
            raise ValueError(
                f"{self.groups}: names groups of {len(values)} rows, and there are {len(rows)}: one each, no gaps"
            )
        return in_groups(rows, values)

    def to_fit(self, estimator: BaseEstimator) -> Corpus | Rows:
        """With the words of the texts beside them, where there are some."""
        rows, words = self.rows(estimator), self.words(estimator)
        if words is None:
            return rows
        if not isinstance(rows, GroupedRows):
            return words.with_vectors(rows)
        estimator._check_texts(words.n_docs, rows)
        return documents_of(rows, words)

    def words(self, estimator: BaseEstimator) -> Corpus | None:
        """Of the texts, for a fit."""
        if self.texts is None:
            return None
        return read_to_fit(self.texts, dict(self.reading), engine=estimator._engine())

    def known_to(self, model: BaseEstimator) -> Corpus:
        """With their texts in the words of a fitted model."""
        words = None if self.texts is None else read_all_for(model, self.texts, dict(self.reading)).corpus
        found: Corpus = model.counts(self.rows(model), texts=words)
        return found

    def their_texts(self, corpus: Corpus) -> Iterable[str] | None:
        """The texts of these documents, of groups those of all their rows."""
        found = None if self.texts is None else texts_at(self.texts, dict(self.reading))
        if found is None or not isinstance(corpus.vectors, GroupedRows):
            return found
        return texts_of_documents(corpus, list(found))

    def columns(self, names: Sequence[str], corpus: Corpus) -> dict[str, list[Any]]:
        """Values beside these documents."""
        path = self.path if self.texts is None else self.texts
        if isinstance(corpus.vectors, GroupedRows):
            return {name: of_groups(path, name, corpus) for name in names}
        return {name: column_of(path, name, corpus.n_docs) for name in names}

    def _groups(self, n_rows: int, owner: str) -> list[Any]:
        if self.groups is None:
            raise typer.BadParameter(
                f"{owner} needs the group of each row: name a column of the table, or a file", param_hint="--groups"
            )
        if (file := Path(self.groups)).is_file():
            return _groups_in(file, n_rows)
        if _is_table(self.path):
            return column_of(self.path, self.groups)
        if self.texts is not None:
            return column_of(self.texts, self.groups)
        raise typer.BadParameter(f"there is no such file, and {self.path} has no columns", param_hint="--groups")


def vectors_at(
    path: Path,
    settings: Settings,
    *,
    texts: Path | None = None,
    groups: str | None = None,
    columns: Sequence[str] = (),
) -> Vectors:
    """`texts` is a file, or a column of the table at the path; so are `groups`. `columns` are of the texts, or of the
    table where these have no file of their own."""
    reading, others = dict(settings), list[str]()
    if texts is not None and not texts.exists():
        if not _is_table(path):
            raise typer.BadParameter(f"there is no file {texts}, and {path} has no columns", param_hint="--texts")
        reading["field"], texts = str(texts), path
        others += reading["field"].split(",")
    if _is_table(path):
        others += [groups] if groups is not None and not Path(groups).is_file() else []
        others += columns if texts is None or texts == path else []
    return Vectors(path, texts, groups, reading, tuple(dict.fromkeys(others)))


class Shown(NamedTuple):
    """Documents, as pages show them."""

    corpus: Corpus | None = None
    texts: Iterable[str] | None = None
    columns: dict[str, list[Any]] | None = None


def read_to_show(
    model: BaseEstimator,
    path: Path | None,
    columns: Sequence[str],
    settings: Settings,
    texts: Path | None = None,
    groups: str | None = None,
) -> Shown:
    """Documents in the columns of a model, their texts, and what stands beside the texts; nothing without a path. Of
    clusters of vectors the path is that of the vectors."""
    for option, given in (("--texts", texts), ("--groups", groups)):
        if given is not None and (path is None or takes_counts(model)):
            what = "texts stand" if option == "--texts" else "groups stand"
            raise typer.BadParameter(f"{what} beside vectors: pass these as --corpus", param_hint=option)
    if groups is not None and not isinstance(model, AdmixtureEstimator):
        raise typer.BadParameter(f"{type(model).__name__} knows no groups", param_hint="--groups")
    if path is not None and not takes_counts(model):
        vectors = vectors_at(path, settings, texts=texts, groups=groups, columns=columns)
        corpus = vectors.known_to(model)
        return Shown(corpus, vectors.their_texts(corpus), vectors.columns(columns, corpus))
    if path is not None:
        corpus = read_all_for(model, path, dict(settings)).corpus
        beside = {name: column_of(path, name, corpus.n_docs) for name in columns}
        return Shown(corpus, texts_at(path, dict(settings)), beside)
    if columns:
        raise typer.BadParameter("columns are of documents: pass --corpus too", param_hint="--column")
    return Shown()


def read_table(
    path: Path, settings: Settings, others: Sequence[str] = (), known: Collection[str] | None = None
) -> Rows:
    """Rows of numbers: a .npy file, or a CSV, TSV or Parquet file whose columns are all numbers, except `others`. Where
    a table has all `known` columns, of a fitted model, it has whatever others it likes."""
    if not path.exists():
        raise ValueError(f"{path}: there is no such file or folder")
    if settings:
        options = ", ".join(map(option_of, settings))
        raise ValueError(f"{path} is read as a table of numbers, without documents: leave out {options}")
    suffix = path.suffix.lower()
    if suffix == ".npy":
        return Rows.open(path)
    path = local_copy(path) if is_remote(path) else path
    if suffix == ".parquet":
        import pyarrow.parquet as pq

        return parquet_rows(path, *_others(pq.read_schema(path).names, others, known))
    if suffix not in TABLES:
        raise ValueError(f"{path}: a table of numbers must be a .npy, .csv, .tsv or .parquet file")
    delimiter = "\t" if suffix == ".tsv" else ","
    with open(path, encoding="utf-8-sig") as file:
        header = file.readline().rstrip("\r\n").split(delimiter)
    names = [cell.strip('"') for cell in header]
    others = _others(names, others, known)
    for name in others:
        if name not in names:
            raise ValueError(f"{path}: no column {name!r}; there are {', '.join(names[:20])}")
    kept = [i for i, name in enumerate(names) if name not in others]
    try:
        named = not all(_is_number(cell) for cell in header)
        rows = np.loadtxt(
            path,
            delimiter=delimiter,
            skiprows=int(named),
            ndmin=2,
            encoding="utf-8-sig",
            usecols=kept if others else None,
            quotechar='"',
            comments=None if others else "#",
        )
    except ValueError as error:
        raise ValueError(f"{path}: not a table of numbers: {error}") from error
    return Rows(rows, [names[i] for i in kept] if named else None)


def _others(names: Sequence[str], others: Sequence[str], known: Collection[str] | None) -> Sequence[str]:
    """The columns that hold no vectors."""
    if known is None or not set(known) <= set(names):
        return others  # what is missing is said by the model
    return [name for name in names if name not in known]


def _is_table(path: Path) -> bool:
    return path.suffix.lower() in TABLES


def _groups_in(file: Path, n_rows: int) -> list[Any]:
    suffix = file.suffix.lower()
    if suffix == ".npy":
        return list(np.load(file, allow_pickle=False).ravel())
    if suffix == ".parquet":
        import pyarrow.parquet as pq

        names = pq.read_schema(file).names
        return column_of(file, names[0] if len(names) == 1 else GROUP)
    with open(file, encoding="utf-8-sig", newline="") as lines:
        table = [row for row in csv.reader(lines, delimiter="\t" if suffix == ".tsv" else ",") if row]
    if table and len(table[0]) == 1:
        return [row[0] for row in table[len(table) - n_rows if len(table) == n_rows + 1 else 0 :]]  # with a header
    if not table or GROUP not in table[0]:
        raise ValueError(f"{file}: has several columns, and none is named {GROUP!r}")
    at = table[0].index(GROUP)
    return [row[at] if at < len(row) else None for row in table[1:]]


def _is_number(cell: str) -> bool:
    try:
        float(cell)
    except ValueError:
        return False
    return True
