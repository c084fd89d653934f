"""Values beside documents, one per document: a column of a table, of a file or of an AnnData, or a list. Dates, and the
periods they fall into."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from datetime import date
from typing import Any

import numpy as np
from numpy.typing import NDArray

from topmix.base.checks import CorpusError, is_plural, one_of
from topmix.base.component import is_whole
from topmix.base.paths import check_there, is_path, path_of
from topmix.corpus.documents import plain, readable
from topmix.io.libraries import ArrowTable, as_table, is_anndata, open_anndata, values_in
from topmix.io.parquet import batches_of, open_parquet, parquet_files
from topmix.io.readers import read_texts, text_format

Values = Sequence[Any] | np.ndarray  # one per document
FREQUENCIES = {"day": "D", "week": "W", "month": "M", "quarter": "Q", "year": "Y"}


def check_one_each(n_values: int, n_docs: int) -> None:
    if n_values != n_docs:
        raise ValueError(f"there are {n_values} values for {n_docs} documents: pass one per document")


def column_of(X: object, column: str | Iterable[object], n_docs: int | None = None) -> list[Any]:
    """One value per document of X: `column` is the name of a column of X, or the values themselves."""
    if not isinstance(column, str):
        if not is_plural(column):
            raise ValueError(f"pass the name of a column, or a list with one value per document, got {column!r}")
        values = list(plain(column))
    elif is_path(X):
        check_there(X)
        path = path_of(X)
        if path.suffix.lower() == ".h5ad":
            with open_anndata(path) as adata:
                values = column_of(adata, column)
        elif text_format(path) != "parquet":
            values = [text or None for _, text in read_texts(path, field=column)]
        else:
            values = []
            for name in parquet_files(path):
                with open_parquet(name) as file:
                    values += values_in(ArrowTable(file.schema_arrow, batches_of(file)), column, f"{name}: ")
    elif is_anndata(X):
        if column not in X.obs.columns:
            raise CorpusError(f"no column {column!r} in obs; there are {', '.join(map(repr, X.obs.columns))}")
        values = list(X.obs[column])
    elif table := as_table(X):
        values = values_in(table, column)
    else:
        raise ValueError(f"a {type(X).__name__} has no columns: pass a list with one value per document for {column!r}")
    if n_docs is not None:
        check_one_each(len(values), n_docs)
    return [readable(v.item() if isinstance(v, np.generic) and v.dtype.kind not in "mM" else v) for v in values]


def has_column(source: object, column: str) -> bool:
    try:
        column_of(source, column)
    except (ValueError, OSError):
        return False
    return True


def values_of(source: object, column: str, n_docs: int | None) -> Values:
    """One value per document, an array where numbers came as one. None may be missing."""
    cells: Any = source
    if isinstance(source, Mapping) and column not in source:
        raise ValueError(f"metadata has no column {column!r}; the columns are {', '.join(map(repr, source))}")
    if isinstance(source, Mapping) or (type(source).__name__ == "DataFrame" and column in cells):
        cells = cells[column]
    values: Values
    kind = getattr(cells, "dtype", None)  # of an array, or of a column of pandas
    if isinstance(kind, np.dtype) and kind.kind in "iuf" and np.ndim(cells) == 1:
        values = np.asarray(cells, np.float64 if kind.kind == "f" else None)
        missing = np.flatnonzero(np.isnan(values)).tolist()
    else:
        values = column_of(None, cells) if isinstance(source, Mapping) else column_of(source, column)
        missing = [d for d, value in enumerate(values) if is_missing(value)]
    if n_docs is not None:
        check_one_each(len(values), n_docs)
    if missing:
        raise ValueError(
            f"column {column!r} has no value for {len(missing)} of {len(values)} documents, document {missing[0]} "
            "among them: fill it in, or leave those documents out"
        )
    if is_path(source):  # a file of texts has strings alone
        with suppress(TypeError, ValueError):
            return [float(value) for value in values]
    return values


def periods_of(values: Sequence[object], freq: str) -> NDArray[np.datetime64]:
    """The first day of the period that each date falls into; NaT for a missing one. A string or a number is what
    ISO 8601 writes as 2024, 2024-05, 2024-05-31 or 20240531, before any time of day."""
    one_of(freq, FREQUENCIES, "freq")
    days = np.full(len(values), np.datetime64("NaT"), "datetime64[D]")
    for d, value in enumerate(f"{value:04}" if is_whole(value) else value for value in values):
        if is_missing(value) or str(value) == "NaT":
            continue
        day: object = value
        try:
            if isinstance(day, np.datetime64):
                day = day.astype("datetime64[D]").item()
            elif isinstance(day, str):
                text = re.split("[TZ +]", day.strip())[0]
                day = date.fromisoformat(text + {4: "-01-01", 7: "-01"}.get(len(text), ""))
            if not isinstance(day, date):  # a datetime is one, and a Timestamp of pandas
                raise ValueError
        except ValueError as error:
            raise ValueError(
                f"{value!r} is not a date such as '2024-05-31', or a year: convert the column with pandas.to_datetime"
            ) from error
        days[d] = np.datetime64(date(day.year, day.month, day.day), "D")
    if freq == "week":  # they begin on Monday
        return days - ((days.astype(np.int64) + 3) % 7).astype("timedelta64[D]")
    if freq == "quarter":
        months = days.astype("datetime64[M]")
        return (months - (months.astype(np.int64) % 3).astype("timedelta64[M]")).astype("datetime64[D]")
    return days.astype(f"datetime64[{FREQUENCIES[freq]}]").astype("datetime64[D]")


def is_missing(value: object) -> bool:
    return value is None or value != value or (isinstance(value, str) and not value.strip())
