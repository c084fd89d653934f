"""Values beside documents, one per document: a column of a table, of a file or of an AnnData, or a list. Dates, and the
periods they fall into."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping, Sequence
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from topmix.data.documents import plain
from topmix.data.errors import CorpusError
from topmix.data.formats.arrow_file import open_batches
from topmix.data.libraries import is_anndata, open_anndata
from topmix.data.parquet_texts import parquet_files
from topmix.data.paths import path_of
from topmix.data.sources import text_format
from topmix.data.tabular import ArrowTable, as_tabular
from topmix.data.texts import read_texts

if TYPE_CHECKING:
    import pandas as pd

FREQUENCIES = {"day": "D", "week": "W", "month": "M", "quarter": "Q", "year": "Y"}
ISO_DATE = re.compile(r"(\d{4})(?:(-?)(\d\d)\2(\d\d)(?:[T ].*|Z|[+-]\d\d:?\d\d)?|-(\d\d))?", re.ASCII | re.DOTALL)


def check_one_each(n_values: int, n_docs: int) -> None:
    if n_values != n_docs:
        raise ValueError(f"there are {n_values} values for {n_docs} documents: pass one per document")


def column_of(X: object, column: str | Iterable[object], n_docs: int | None = None) -> list[Any]:
    """One value per document of X: `column` is the name of a column of X, or the values themselves."""
    values = _named_column(X, column) if isinstance(column, str) else list(plain(column))
    if n_docs is not None:
        check_one_each(len(values), n_docs)
    return [
        value.item() if isinstance(value, np.generic) and value.dtype.kind not in "mM" else value for value in values
    ]


def numbers_of(X: object, column: str) -> NDArray[Any] | None:
    """A column of X, one of its arrays or of a frame of pandas, as it is, if it has a dtype of numbers and NumPy has
    it: a million documents are then not taken one by one."""
    try:
        values: Any = X[column] if isinstance(X, Mapping) or type(X).__name__ == "DataFrame" else None  # type: ignore[index]
    except KeyError:
        return None
    kind = getattr(values, "dtype", None)
    if not isinstance(kind, np.dtype) or kind.kind not in "iuf" or getattr(values, "ndim", 0) != 1:
        return None
    return np.asarray(values, np.float64 if kind.kind == "f" else None)


def _named_column(X: object, column: str) -> list[object]:
    if isinstance(X, str | os.PathLike):
        return _column_of_file(path_of(X), column)
    if is_anndata(X):
        return _pick(X.obs, column)
    if as_named := as_tabular(X):
        if column not in as_named.names:
            raise CorpusError(f"no column {column!r}; the columns are {', '.join(map(repr, as_named.names[:20]))}")
        return [row[0] for block in as_named.strings([column]) for row in block]
    raise ValueError(f"a {type(X).__name__} has no columns: pass a list with one value per document for {column!r}")


def _column_of_file(path: Path, column: str) -> list[object]:
    if path.suffix.lower() == ".h5ad":
        return _pick(open_anndata(path).obs, column)
    if path.suffix.lower() == ".parquet" or text_format(path) == "parquet":
        return [value for file in parquet_files(path) for value in _column_of_parquet(file, column)]
    return [text or None for _, text in read_texts(path, field=column)]


def _pick(frame: pd.DataFrame, column: str) -> list[object]:
    if column not in frame.columns:
        raise CorpusError(f"no column {column!r} in obs; there are {', '.join(map(repr, frame.columns))}")
    return list(frame[column])


def periods_of(values: Sequence[object], freq: str) -> NDArray[np.datetime64]:
    """The first day of the period that each date falls into; NaT for a missing one."""
    if freq not in FREQUENCIES:
        raise ValueError(f"freq={freq!r} is not one of {', '.join(map(repr, FREQUENCIES))}")
    days = np.array([day_of(value) for value in values], dtype="datetime64[D]")
    if freq == "week":
        number = days.astype(np.int64)
        return np.where(
            np.isnat(days), days, days - ((number + 3) % 7).astype("timedelta64[D]")
        )  # weeks begin on Monday
    if freq == "quarter":
        months = days.astype("datetime64[M]")
        into = np.where(np.isnat(days), 0, months.astype(np.int64) % 3)
        return np.where(np.isnat(days), days, (months - into.astype("timedelta64[M]")).astype("datetime64[D]"))
    return days.astype(f"datetime64[{FREQUENCIES[freq]}]").astype("datetime64[D]")


def is_missing(value: object) -> bool:
    return value is None or value != value or (isinstance(value, str) and not value.strip())


def day_of(value: object) -> np.datetime64:
    """The day of a date; NaT where it is missing. Years are from 1 to 9999."""
    if is_missing(value) or str(value) == "NaT":
        return np.datetime64("NaT", "D")
    try:
        if isinstance(value, int | np.integer) and not isinstance(value, bool):
            return _day_of_text(f"{value:04}")  # a year, or 20240531
        if isinstance(value, str):
            return _day_of_text(value.strip())
        found = value.astype("datetime64[D]").item() if isinstance(value, np.datetime64) else value
        if not isinstance(found, date):  # a datetime is one, and a Timestamp of pandas
            raise ValueError
        return np.datetime64(date(found.year, found.month, found.day), "D")
    except ValueError as error:
        raise ValueError(
            f"{value!r} is not a date such as '2024-05-31', or a year: convert the column with pandas.to_datetime"
        ) from error


def _day_of_text(text: str) -> np.datetime64:
    """The first day of what ISO 8601 writes as 2024, 2024-05, 2024-05-31 or 20240531, before any time of day."""
    if (found := ISO_DATE.fullmatch(text)) is None:
        raise ValueError
    year, _, month, day, month_alone = found.groups()
    return np.datetime64(date(int(year), int(month or month_alone or 1), int(day or 1)), "D")


def _column_of_parquet(path: str, column: str) -> list[object]:
    with open_batches(path) as (schema, batches):
        if column not in schema.names:
            raise CorpusError(f"{path}: no column {column!r}; the columns are {', '.join(schema.names)}")
        return [row[0] for block in ArrowTable(schema, batches).strings([column]) for row in block]
