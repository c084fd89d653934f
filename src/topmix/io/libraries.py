"""Data of other libraries: tables, single cells of AnnData, and documents of gensim.

Tables are those of pandas, and all that have the Arrow PyCapsule interface: frames of polars, DuckDB relations, pyarrow
tables and readers, and datasets of Hugging Face. They have a column of texts, or one column per word. One block is in
memory at a time.
"""

from __future__ import annotations

import warnings
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from os import PathLike
from types import ModuleType
from typing import TYPE_CHECKING, Any, TypeAlias, TypeGuard

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from topmix.base.checks import CorpusError, as_list, needed
from topmix.base.paths import is_remote
from topmix.base.remote_file import local_copy
from topmix.corpus.corpus import Corpus, CorpusBuilder
from topmix.corpus.counts import FrameLike, check_sparse
from topmix.corpus.documents import DEFAULT_TEXT_FIELD

if TYPE_CHECKING:
    import pandas as pd
    import pyarrow as pa
    from anndata import AnnData

BLOCK_ROWS = 1 << 14
BLOCK_CELLS = 1 << 22  # numbers in memory at a time, when columns are words
BLOCK_ENTRIES = 1 << 24  # numbers of a backed file in memory at a time


def pyarrow(what: str = "a Parquet file") -> ModuleType:
    with needed(what, "pyarrow", "parquet"):
        import pyarrow
    return pyarrow


def as_table(X: Any) -> Table | None:
    """X as a table, or None if it has no named columns."""
    library, kind = type(X).__module__.partition(".")[0], type(X).__name__
    if hasattr(X, "iloc") and isinstance(X, FrameLike):  # of pandas, or one that behaves like it
        return PandasTable(X)
    if library == "datasets" and kind in ("Dataset", "IterableDataset"):
        if X.features is None:
            raise CorpusError("the dataset does not know its columns: call its resolve or select_columns method first")
        batches = (batch for table in X.with_format("arrow").iter(BLOCK_ROWS) for batch in table.to_batches())
        return ArrowTable(X.features.arrow_schema, batches)
    X = X.collect() if library == "polars" and kind == "LazyFrame" else X
    # A column is a stream too.
    if not hasattr(X, "__arrow_c_stream__") or hasattr(X, "chunks") or hasattr(X, "dtype"):
        return None
    pa = pyarrow(f"a {type(X).__module__}.{type(X).__name__}")
    reader = X if isinstance(X, pa.RecordBatchReader) else pa.RecordBatchReader.from_stream(X)
    return ArrowTable(reader.schema, reader)


class PandasTable:
    def __init__(self, frame: pd.DataFrame):
        self.frame = frame
        self.names = [str(name) for name in frame.columns]
        self.texts: list[str] = []  # columns that hold strings
        for i, name in enumerate(self.names):
            column = frame.iloc[:, i]
            kind = column.dtype
            if type(kind).__name__ == "CategoricalDtype":
                is_text = kind.categories is not None and kind.categories.dtype.kind in "OTU"
            elif type(kind).__name__ == "StringDtype":
                is_text = True
            else:
                is_text = kind.kind == "O" and any(isinstance(value, str) for value in column.iloc[:1000])
            if is_text:
                self.texts.append(name)

    def strings(self, columns: Sequence[str]) -> Iterator[list[tuple[object, ...]]]:
        """Blocks of rows, each the values of these columns; missing values are None."""
        where = places_of(columns, self.names)
        for begin in range(0, len(self.frame), BLOCK_ROWS):
            plain = self.frame.iloc[begin : begin + BLOCK_ROWS, where].astype(object)
            yield list(plain.where(plain.notna(), None).itertuples(index=False, name=None))

    def numbers(self) -> Iterator[NDArray[np.float32]]:
        """Blocks of rows, [rows, columns]."""
        n_rows = max(1, BLOCK_CELLS // max(len(self.names), 1))
        for begin in range(0, len(self.frame), n_rows):
            yield self.frame.iloc[begin : begin + n_rows].to_numpy(dtype=np.float32, na_value=np.nan)


class ArrowTable:
    """Batches of pyarrow. A stream can be read once, unless its maker gives a new one each time."""

    def __init__(self, schema: pa.Schema, batches: Iterable[pa.RecordBatch]):
        self.batches, self.names = batches, list(schema.names)
        strings = ("string", "large_string", "string_view", "dictionary<values=string")
        self.texts = [field.name for field in schema if str(field.type).partition(",")[0] in strings]

    def strings(self, columns: Sequence[str]) -> Iterator[list[tuple[object, ...]]]:
        where = places_of(columns, self.names)
        for part in self._parts(BLOCK_ROWS):
            yield list(zip(*(part.column(i).to_pylist() for i in where)))

    def numbers(self) -> Iterator[NDArray[np.float32]]:
        for part in self._parts(max(1, BLOCK_CELLS // max(len(self.names), 1))):
            yield np.column_stack([column.to_numpy(zero_copy_only=False).astype(np.float32) for column in part])

    def _parts(self, n_rows: int) -> Iterator[pa.RecordBatch]:
        return (batch.slice(begin, n_rows) for batch in self.batches for begin in range(0, len(batch), n_rows))


Table: TypeAlias = PandasTable | ArrowTable  # with named columns


def places_of(columns: Iterable[str], names: Sequence[str]) -> list[int]:
    """Where these columns are among all, each of which must be there once."""
    place, count = {name: i for i, name in enumerate(names)}, Counter(names)
    for column in columns:
        if count[column] > 1:
            raise CorpusError(f"{count[column]} columns are called {column!r}: rename them, so that each has its name")
    return [place[column] for column in columns]


def values_in(table: Table, name: str, where: str = "") -> list[object]:
    """All values of a column; missing ones are None."""
    if name not in table.names:
        raise CorpusError(f"{where}no column {name!r}; the columns are {', '.join(map(repr, table.names[:20]))}")
    return [value for block in table.strings([name]) for (value,) in block]


def text_columns(table: Table, text: str | Sequence[str] | None) -> list[str]:
    """The columns with the texts: those that are given; else the one called "text", or the only column if it holds
    strings. None: the columns are words, with numbers."""
    if text is not None:
        wanted = as_list(text)
        for column in wanted:
            if column not in table.names:
                raise CorpusError(f"no column {column!r} for text=; the columns are {_listed(table.names)}")
        return wanted
    found = table.texts
    if DEFAULT_TEXT_FIELD in found:
        return [DEFAULT_TEXT_FIELD]
    if not found or len(table.names) == 1:
        return found
    raise CorpusError(
        f"the columns {_listed(found)} hold strings: pass text={found[0]!r} to count the words of that column, or "
        "leave them out if the other columns are counts"
    )


def texts_of(table: Table, columns: Sequence[str]) -> Iterator[str]:
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


def _listed(names: Sequence[str]) -> str:
    return ", ".join(map(repr, names[:8])) + (f" and {len(names) - 8} others" if len(names) > 8 else "")


# Single cells, and gensim.


def is_anndata(X: object) -> TypeGuard[AnnData]:
    return type(X).__name__ == "AnnData" and hasattr(X, "obs_names")


@contextmanager
def open_anndata(path: str | PathLike[str]) -> Iterator[AnnData]:
    """An .h5ad file, or the URL of one, backed: its numbers are read when they are used."""
    with needed("an h5ad file", "anndata", "anndata"):
        import anndata
    adata = anndata.read_h5ad(local_copy(path) if is_remote(path) else path, backed="r")
    try:
        yield adata
    finally:
        adata.file.close()


def from_anndata(
    adata: AnnData, layer: str | None = None, *, out: str | PathLike[str] | None = None, most_entries: int | None = None
) -> Corpus:
    """Cells as documents and genes (or regions) as words, with their names.

    Parameters
    ----------
    adata : AnnData
        In memory, or backed by a file: then a block of cells is in memory at a time.
    layer : str or None
        The layer with the counts. None is X. Topics are of counts, not of normalised or scaled numbers.
    out : path or None
        Build the corpus in this file, and map it from there.
    most_entries : int or None
        Counts of a backed file that are kept in memory. If there are more, they move to a temporary file.
    """
    if layer is not None and layer not in adata.layers:
        raise CorpusError(f"no layer {layer!r}; the layers are {', '.join(map(repr, adata.layers.keys())) or 'none'}")
    counts = adata.X if layer is None else adata.layers[layer]
    if counts is None:
        raise CorpusError(f"the AnnData has no X: pass layer=, one of {', '.join(map(repr, adata.layers.keys()))}")
    words, names = [str(gene) for gene in adata.var_names], [str(cell) for cell in adata.obs_names]
    if getattr(counts, "format", "") == "csc" and not sp.issparse(counts):  # rows of a file by columns: all at once
        counts = counts.to_memory()
    if sp.issparse(counts):
        if out is None:
            return Corpus.from_scipy(counts, vocabulary=words, names=names)
        check_sparse(counts)
        counts = sp.csr_array(counts)
    n_cells, density = counts.shape[0], 1.0
    if hasattr(counts, "group"):  # sparse, in a file
        density = len(counts.group["indices"]) / max(np.prod(counts.shape, dtype=float), 1.0)
    step = max(1, int(BLOCK_ENTRIES / max(counts.shape[1] * density, 1.0)))
    with CorpusBuilder(out, most_entries=most_entries) as builder:
        for begin in range(0, n_cells, step):
            rows = sp.csr_array(counts[begin : begin + step])
            builder.append(rows.indptr, rows.indices, rows.data, names[begin : begin + step])
        return builder.finish(words)


def from_gensim(
    corpus: Iterable[Iterable[tuple[int, float]]],
    id2word: Mapping[int, str] | Sequence[str] | None = None,
    *,
    out: str | PathLike[str] | None = None,
) -> Corpus:
    """A corpus from a gensim corpus (in memory or streamed) and its Dictionary or any other mapping of id to word. With
    `out` it is built in that file, in bounded memory."""
    if id2word is None or isinstance(id2word, Sequence):
        return Corpus.from_rows(corpus, id2word, out=out)
    ids = list(id2word.keys())
    if gaps := set(range(len(ids))).difference(ids):
        raise CorpusError(
            f"id2word has no word {min(gaps)}: call compactify() of gensim's Dictionary to close the gaps"
        )
    return Corpus.from_rows(corpus, [id2word[v] for v in range(len(ids))], out=out)
