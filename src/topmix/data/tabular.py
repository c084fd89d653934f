"""Tables of other libraries, read block by block: pandas, polars, and all that have the Arrow PyCapsule interface.

DuckDB relations, pyarrow tables and readers, and datasets of Hugging Face have that interface or give Arrow tables.
They are read with pyarrow; pandas and polars need nothing else. One block is in memory at a time. A table has a column
of texts, or one column per word.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Iterator, Sequence
from types import ModuleType
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from topmix.data.corpus import Corpus, CorpusBuilder
from topmix.data.documents import DEFAULT_TEXT_FIELD
from topmix.data.errors import CorpusError
from topmix.data.matrices import Frame

if TYPE_CHECKING:
    import pandas as pd
    import polars as pl
    import pyarrow as pa

BLOCK_ROWS = 1 << 14
BLOCK_CELLS = 1 << 22  # numbers in memory at a time, when columns are words


@runtime_checkable
class ArrowStream(Protocol):
    """What has the Arrow PyCapsule interface."""

    def __arrow_c_stream__(self, requested_schema: object = None) -> object: ...


class Tabular(Protocol):
    """A table with named columns."""

    names: list[str]  # of the columns

    def texts(self) -> list[str]:
        """The columns that hold strings."""

    def strings(self, columns: Sequence[str]) -> Iterator[list[tuple[object, ...]]]:
        """Blocks of rows, each the values of these columns; missing values are None."""

    def numbers(self, columns: Sequence[str]) -> Iterator[NDArray[np.float32]]:
        """Blocks of rows of these columns, [rows, columns]."""


def as_tabular(X: Any) -> Tabular | None:
    """X as a table, or None if it has no named columns."""
    library, kind = type(X).__module__.partition(".")[0], type(X).__name__
    if hasattr(X, "iloc") and isinstance(X, Frame):  # of pandas, or one that behaves like it
        return PandasTable(X)
    if library == "polars":
        if kind == "LazyFrame":
            return PolarsTable(X.collect())
        return PolarsTable(X) if kind == "DataFrame" else None
    if library == "datasets" and kind in ("Dataset", "IterableDataset"):
        return ArrowTable.of_dataset(X)
    if not isinstance(X, ArrowStream) or hasattr(X, "chunks"):  # a column of pyarrow is a stream too
        return None
    return ArrowTable.of_stream(X)


class PandasTable:
    def __init__(self, frame: pd.DataFrame):
        self.frame = frame
        self.names = [str(name) for name in frame.columns]

    def texts(self) -> list[str]:
        return [name for i, name in enumerate(self.names) if self._is_text(self.frame.iloc[:, i])]

    @staticmethod
    def _is_text(column: pd.Series) -> bool:
        kind = column.dtype
        if type(kind).__name__ == "CategoricalDtype":
            return kind.categories is not None and kind.categories.dtype.kind in "OTU"
        if type(kind).__name__ == "StringDtype":
            return True
        values = column.iloc[:1000] if kind.kind == "O" else ()
        return any(isinstance(value, str) for value in values)

    def strings(self, columns: Sequence[str]) -> Iterator[list[tuple[object, ...]]]:
        where = [self.names.index(column) for column in columns]
        for begin in range(0, len(self.frame), BLOCK_ROWS):
            part = self.frame.iloc[begin : begin + BLOCK_ROWS, where]
            lists = []
            for i in range(len(where)):
                column = part.iloc[:, i]
                lists.append([None if missing else v for v, missing in zip(column.tolist(), column.isna().tolist())])
            yield list(zip(*lists))

    def numbers(self, columns: Sequence[str]) -> Iterator[NDArray[np.float32]]:
        where = [self.names.index(column) for column in columns]
        step = max(1, BLOCK_CELLS // max(len(where), 1))
        for begin in range(0, len(self.frame), step):
            yield self.frame.iloc[begin : begin + step, where].to_numpy(dtype=np.float32, na_value=np.nan)


class PolarsTable:
    def __init__(self, frame: pl.DataFrame):
        self.frame = frame
        self.names = list(frame.columns)

    def texts(self) -> list[str]:
        kinds = ("String", "Categorical", "Enum")
        return [name for name, kind in self.frame.schema.items() if str(kind).startswith(kinds)]

    def strings(self, columns: Sequence[str]) -> Iterator[list[tuple[object, ...]]]:
        for begin in range(0, len(self.frame), BLOCK_ROWS):
            yield self.frame.slice(begin, BLOCK_ROWS).select(columns).rows()

    def numbers(self, columns: Sequence[str]) -> Iterator[NDArray[np.float32]]:
        step = max(1, BLOCK_CELLS // max(len(columns), 1))
        for begin in range(0, len(self.frame), step):
            part = self.frame.slice(begin, step).select(columns)
            yield np.column_stack([part.get_column(c).to_numpy().astype(np.float32) for c in columns])


class ArrowTable:
    """Batches of pyarrow. A stream can be read once, unless its maker gives a new one each time."""

    def __init__(self, schema: pa.Schema, batches: Iterable[pa.RecordBatch]):
        self.schema, self.batches = schema, batches
        self.names = list(schema.names)

    @classmethod
    def of_stream(cls, X: object) -> ArrowTable:
        pa = _pyarrow(X)
        reader = X if isinstance(X, pa.RecordBatchReader) else pa.RecordBatchReader.from_stream(X)
        return cls(reader.schema, reader)

    @classmethod
    def of_dataset(cls, X: Any) -> ArrowTable:
        _pyarrow(X)
        rows = X.with_format("arrow")
        if X.features is None:
            raise CorpusError("the dataset does not know its columns: call its resolve or select_columns method first")
        batches = (batch for table in rows.iter(batch_size=BLOCK_ROWS) for batch in table.to_batches())
        return cls(X.features.arrow_schema, batches)

    def texts(self) -> list[str]:
        return [field.name for field in self.schema if _is_string(field.type)]

    def strings(self, columns: Sequence[str]) -> Iterator[list[tuple[object, ...]]]:
        for batch in self.batches:
            for begin in range(0, len(batch), BLOCK_ROWS):
                part = batch.slice(begin, BLOCK_ROWS)
                yield list(zip(*(part.column(self.names.index(c)).to_pylist() for c in columns)))

    def numbers(self, columns: Sequence[str]) -> Iterator[NDArray[np.float32]]:
        step = max(1, BLOCK_CELLS // max(len(columns), 1))
        where = [self.names.index(c) for c in columns]
        for batch in self.batches:
            for begin in range(0, len(batch), step):
                part = batch.slice(begin, step)
                yield np.column_stack([part.column(i).to_numpy(zero_copy_only=False).astype(np.float32) for i in where])


def _is_string(kind: pa.DataType) -> bool:
    name = str(kind)
    return name in ("string", "large_string", "string_view") or name.startswith("dictionary<values=string")


def _pyarrow(X: object) -> ModuleType:
    try:
        import pyarrow
    except ImportError as error:
        raise ImportError(
            f"a {type(X).__module__}.{type(X).__name__} is read through Arrow, which needs pyarrow: "
            "pip install 'topmix[parquet]'"
        ) from error
    return pyarrow


def text_columns(table: Tabular, text: str | Sequence[str] | None) -> list[str]:
    """The columns with the texts: those that are given; else the one called "text", or the only column if it holds
    strings. None: the columns are words, with numbers."""
    if text is not None:
        wanted = [text] if isinstance(text, str) else list(text)
        for column in wanted:
            if column not in table.names:
                raise CorpusError(f"no column {column!r} for text=; the columns are {_listed(table.names)}")
        return wanted
    found = table.texts()
    if not found:
        return []
    if DEFAULT_TEXT_FIELD in found:
        return [DEFAULT_TEXT_FIELD]
    if len(table.names) == 1:
        return found
    raise CorpusError(
        f"the columns {_listed(found)} hold strings: pass text={found[0]!r} to count the words of that column, or "
        "leave them out if the other columns are counts"
    )


def texts_of(table: Tabular, columns: Sequence[str]) -> Iterator[str]:
    """The texts of the rows; several columns are joined by a newline, and a missing value is an empty text."""
    n_rows = n_missing = 0
    for block in table.strings(columns):
        n_rows += len(block)
        n_missing += sum(not any(isinstance(value, str) for value in row) for row in block)
        for row in block:
            for column, value in zip(columns, row):
                if value is not None and not isinstance(value, str):
                    raise CorpusError(f"the column {column!r} does not hold strings but {type(value).__name__}")
            yield "\n".join(value for value in row if isinstance(value, str))
    if n_missing:
        warnings.warn(
            f"{n_missing:,} of the {n_rows:,} rows have no text in {_listed(columns)}, and are read as empty "
            "documents: drop these rows, or fill in '' if that is meant",
            UserWarning,
            stacklevel=2,
        )


def counts_of(table: Tabular, columns: Sequence[str], most_entries: int | None = None) -> Corpus:
    """One column per word."""
    with CorpusBuilder(most_entries=most_entries) as builder:
        for block in table.numbers(columns):
            rows = sp.csr_array(block)
            builder.append(rows.indptr, rows.indices, rows.data)
        return builder.finish(list(columns))


def _listed(names: Sequence[str]) -> str:
    return ", ".join(map(repr, names[:8])) + (f" and {len(names) - 8} others" if len(names) > 8 else "")
