"""Values beside documents, one per document: a column of a table, of a file or of an AnnData, or a list. Dates, and the
periods they fall into."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from datetime import date, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import numpy as np
from numpy.typing import NDArray

from topmix.data.documents import plain
from topmix.data.errors import CorpusError
from topmix.data.formats.arrow_file import open_batches
from topmix.data.libraries import is_anndata, open_anndata
from topmix.data.parquet_texts import parquet_files
from topmix.data.sources import text_format
from topmix.data.tabular import ArrowTable, as_tabular
from topmix.data.texts import read_texts

if TYPE_CHECKING:
    import pandas as pd

FREQUENCIES = {"day": "D", "week": "W", "month": "M", "quarter": "Q", "year": "Y"}


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


def _named_column(X: object, column: str) -> list[object]:
    if isinstance(X, str | os.PathLike):
        return _column_of_file(Path(X), column)
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
    """The day of a date; NaT where it is missing."""
    if is_missing(value):
        return np.datetime64("NaT", "D")
    if isinstance(value, int) and not isinstance(value, bool):
        value = f"{value:04}"  # a year
    try:
        if isinstance(value, str):
            return np.datetime64(value.strip()[:10], "D")  # without the time of day
        if isinstance(value, datetime):  # a Timestamp of pandas is one
            return np.datetime64(value.replace(tzinfo=None), "D")
        return np.datetime64(cast(date, value), "D")
    except (ValueError, TypeError) as error:
        raise ValueError(
            f"{value!r} is not a date such as '2024-05-31', or a year: convert the column with pandas.to_datetime"
        ) from error


def _column_of_parquet(path: str, column: str) -> list[object]:
    with open_batches(path) as (schema, batches):
        if column not in schema.names:
            raise CorpusError(f"{path}: no column {column!r}; the columns are {', '.join(schema.names)}")
        return [row[0] for block in ArrowTable(schema, batches).strings([column]) for row in block]
