"""Parquet files (`pip install topmix[parquet]`): of texts, or of counts with either of two sets of columns:

    one row per document    words: list of ids or strings    counts: list of numbers    name: string (optional)
    one row per entry       doc: any key                     word: id or string         count: number

The key of a document becomes its name. A file with one row per entry is read as a whole, and cannot hold empty
documents. Words that are strings get ids in order of appearance, unless a vocabulary is given. topmix writes one row
per document, and the vocabulary in the metadata of the schema.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from topmix.base.atomic import atomic_write
from topmix.base.checks import CorpusError, are_texts
from topmix.base.paths import is_damage, is_remote, path_of
from topmix.base.remote_file import local_copy, open_binary
from topmix.corpus.corpus import Corpus, CorpusBuilder
from topmix.corpus.documents import DEFAULT_ID_FIELD, Document, document_of, field_list, is_hidden
from topmix.corpus.vocabulary import starts_of
from topmix.io.formats import Format, Options, find_vocabulary
from topmix.io.libraries import places_of, pyarrow

if TYPE_CHECKING:
    import pyarrow as pa
    import pyarrow.parquet as pq

    from topmix.io.readers import TextFormat

BUFFER = 1 << 20  # bytes of a column that are read at a time
BATCH_ROWS = 1 << 10  # of texts
BLOCK_ROWS = 1 << 12  # of counts that are written at a time
SUFFIX = ".parquet"
KEY = b"topmix"
SHAPES = ({"words", "counts"}, {"doc", "word", "count"})


@contextmanager
def open_parquet(path: str | os.PathLike[str]) -> Iterator[pq.ParquetFile]:
    """A file, or the URL of one. Damage is a CorpusError, also while it is read."""
    pa = pyarrow()
    from pyarrow.parquet import ParquetFile

    try:
        with open_binary(path) as file:
            yield ParquetFile(file, page_checksum_verification=True, buffer_size=BUFFER, pre_buffer=False)
    except (pa.ArrowException, UnicodeDecodeError, OSError, MemoryError) as error:
        if not is_damage(error):
            raise
        raise CorpusError(f"{path}: not a complete Parquet file: {error}") from error


def batches_of(
    file: pq.ParquetFile, n_rows: int = 1 << 16, columns: Sequence[str] | None = None
) -> Iterator[pa.RecordBatch]:
    """Validated record batches of up to `n_rows`: reading an unchecked batch could crash. Row groups are read through a
    buffer: one may be larger than memory."""
    about, at = file.metadata, 0
    if sum(about.row_group(i).num_rows for i in range(about.num_row_groups)) != about.num_rows:
        raise pyarrow().ArrowInvalid("the row groups do not have as many rows as the file")
    for batch in file.iter_batches(batch_size=n_rows, columns=columns):
        at += len(batch)
        batch.validate(full=True)
        yield batch
    if at != about.num_rows:  # pyarrow ends early where a page is missing
        raise pyarrow().ArrowInvalid(f"row {at} is missing: there should be {about.num_rows}")


def parquet_files(path: str | os.PathLike[str]) -> list[str]:
    """The path itself, or the *.parquet files of a folder, sorted; hidden ones are skipped. Of a URL with a *, the
    files that it matches."""
    there = path_of(path)
    if is_remote(path) and "*" in str(there):
        return [str(p) for p in there.parent.glob(there.name)]
    if not there.is_dir():
        return [str(there)]
    found = [p for p in there.rglob("*") if p.suffix.lower() == SUFFIX and not is_hidden(p, there) and p.is_file()]
    return [str(p) for p in sorted(found, key=lambda p: p.relative_to(there).parts)]


def holds_texts(path: str | os.PathLike[str]) -> bool:
    """Whether the file has a column of strings, and not the columns of a file of counts."""
    pa = pyarrow()
    with open_parquet(path) as file:
        schema = file.schema_arrow
        if KEY in (schema.metadata or {}) or any(shape <= set(schema.names) for shape in SHAPES):
            return False
        return any(pa.types.is_string(kind) or pa.types.is_large_string(kind) for kind in schema.types)


def parquet_texts(path: Path, options: TextFormat) -> Iterator[Document]:
    """The documents of a file, or of the *.parquet files of a folder. Those without an id are numbered."""
    files = parquet_files(path)
    if not files:
        raise CorpusError(f"{path}: no *{SUFFIX} file in this folder")
    fields, id_field, n = field_list(options.field), options.id_field, 0
    for name in files:
        first = n
        with open_parquet(name) as file:
            names: list[str] = file.schema_arrow.names
            for column in [*fields, *([id_field] if id_field else [])]:
                if column not in names:
                    raise CorpusError(
                        f"{name}: no column {column!r} for the text; the columns are {', '.join(names)}. Pass text= or "
                        "field= (a file of counts has the columns words and counts, or doc, word and count)"
                    )
            wanted = [column for column in (*fields, id_field or DEFAULT_ID_FIELD) if column in names]
            places_of(wanted, names)
            for batch in batches_of(file, BATCH_ROWS, wanted):
                for record in batch.select(wanted).to_pylist():
                    n += 1
                    yield document_of(record, fields, id_field, f"{name}: row {n - first}", n)


# Counts.


def _read(path: Path, options: Options) -> Corpus:
    path = local_copy(path) if is_remote(path) else path  # all of it is read
    with open_parquet(path) as file, CorpusBuilder(options.out) as builder:
        schema, batches = file.schema_arrow, batches_of(file)
        names = set(schema.names)
        places_of(names & {"name"}.union(*SHAPES), schema.names)
        try:
            saved = json.loads((schema.metadata or {}).get(KEY, b"{}"))
        except (ValueError, RecursionError) as error:
            raise CorpusError(f"{path}: the metadata of topmix in the schema is not JSON: {error}") from error
        if not isinstance(saved, dict) or not isinstance(saved.get("vocabulary") or [], list):
            raise CorpusError(f"{path}: the metadata of topmix in the schema is not valid")
        vocabulary = find_vocabulary(path, options)
        if vocabulary is None and options.vocabulary is not False:
            vocabulary = saved.get("vocabulary")
        n_words = saved.get("n_words") if vocabulary is None else len(vocabulary)
        ids = _Ids(vocabulary)
        if SHAPES[0] <= names:
            _append_lists(batches, ids, builder, "name" in names)
        elif SHAPES[1] <= names:
            table = pyarrow().Table.from_batches(batches, schema)
            doc, word, count = (table[name].combine_chunks() for name in ("doc", "word", "count"))
            _no_nulls(doc, "doc")
            plain = doc.cast(doc.type.value_type) if isinstance(doc, pyarrow().DictionaryArray) else doc
            coded = plain.dictionary_encode()
            keys = [str(key) for key in coded.dictionary.to_pylist()]
            row = coded.indices.to_numpy(zero_copy_only=False)
            order, starts = np.argsort(row, kind="stable"), starts_of(np.bincount(row, minlength=len(keys)))
            builder.append(starts, ids(word)[order], _numbers(count)[order], keys)
        else:
            raise CorpusError(
                f"{path}: the columns are {', '.join(schema.names)}; expected words and counts (one row per "
                "document) or doc, word and count (one row per entry)"
            )
        if ids.grew:
            vocabulary, n_words = list(ids.id), None
        return builder.finish(vocabulary, n_words, meta=saved.get("meta"))


class _Ids:
    """Converts a column of words to word ids. Integers are ids already; strings are looked up."""

    def __init__(self, vocabulary: Sequence[str] | None) -> None:
        self.grew, self._is_fixed = False, vocabulary is not None
        self.id = {word: v for v, word in enumerate(vocabulary or [])}

    def __call__(self, column: pa.Array) -> np.ndarray:
        pa = pyarrow()
        _no_nulls(column, "words")
        if pa.types.is_integer(column.type):
            return column.to_numpy(zero_copy_only=False)
        coded = column if pa.types.is_dictionary(column.type) else column.dictionary_encode()
        words = coded.dictionary.to_pylist()
        if not are_texts(words):
            raise CorpusError(f"words must be integers or strings, not {column.type}")
        self.grew = not self._is_fixed
        for word in words:
            if self._is_fixed and word not in self.id:
                raise CorpusError(f"the word {word!r} is not in the vocabulary")
            self.id.setdefault(word, len(self.id))
        table = np.array([self.id[word] for word in words], np.int64)
        return table[coded.indices.to_numpy(zero_copy_only=False)] if len(table) else table


def _append_lists(batches: Iterator[pa.RecordBatch], ids: _Ids, builder: CorpusBuilder, is_named: bool) -> None:
    pa = pyarrow()
    for batch in batches:
        words, counts = batch.column("words"), batch.column("counts")
        for what, column in (("words", words), ("counts", counts)):
            if not isinstance(column, pa.ListArray | pa.LargeListArray | pa.FixedSizeListArray):
                raise CorpusError(f"the column {what} holds {column.type}; expected one list per document")
            _no_nulls(column, what)
        lengths = words.value_lengths().to_numpy(zero_copy_only=False)
        if (lengths != counts.value_lengths().to_numpy(zero_copy_only=False)).any():
            raise CorpusError("the lists of words and counts of a document differ in length")
        names = [str(name) for name in batch.column("name").to_pylist()] if is_named else None
        builder.append(starts_of(lengths), ids(words.flatten()), _numbers(counts.flatten()), names)


def _numbers(column: pa.Array) -> np.ndarray:
    _no_nulls(column, "counts")
    numbers: np.ndarray = column.to_numpy(zero_copy_only=False)
    if numbers.dtype.kind not in "iufb":
        raise CorpusError(f"counts must be real numbers, not {column.type}")
    return numbers


def _no_nulls(column: pa.Array, what: str) -> None:
    if column.null_count:
        raise CorpusError(f"{column.null_count} values in the column {what} are missing (null)")


def _write(corpus: Corpus, path: Path) -> None:
    import pyarrow.parquet as pq

    pa = pyarrow()
    words = None if corpus.vocabulary is None else list(corpus.vocabulary)
    saved = {"n_words": corpus.n_words, "vocabulary": words, "meta": dict(corpus.meta)}
    columns = [("words", pa.list_(pa.int32())), ("counts", pa.list_(pa.float32()))]
    if corpus.names is not None:
        columns.append(("name", pa.string()))
    schema = pa.schema(columns, metadata={KEY: json.dumps(saved)})
    with atomic_write(path) as file, pq.ParquetWriter(file, schema, write_page_checksum=True) as writer:
        for begin in range(0, corpus.n_docs, BLOCK_ROWS):
            block = corpus[begin : begin + BLOCK_ROWS]
            offsets = pa.array(block.indptr.astype(np.int32))
            arrays = [pa.ListArray.from_arrays(offsets, pa.array(a)) for a in (block.index, block.value)]
            if block.names is not None:
                arrays.append(pa.array(list(block.names), pa.string()))
            writer.write_batch(pa.record_batch(arrays, schema=schema))


PARQUET = Format("parquet", (SUFFIX,), rb"PAR1", _read, _write)
