"""Parquet and Arrow files (`pip install topmix[parquet]`) with either of two sets of columns:

    one row per document    words: list of ids or strings    counts: list of numbers    name: string (optional)
    one row per entry       doc: any key                     word: id or string         count: number

The entries of a document must be consecutive. The key of a document becomes its name. A file with one row per entry
cannot hold empty documents. Words that are strings get ids in order of appearance, unless a vocabulary is given. topmix
writes one row per document, and the vocabulary in the metadata of the schema.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import IO, TYPE_CHECKING

import numpy as np

from topmix.data.atomic import atomic_write
from topmix.data.corpus import Corpus, CorpusBuilder
from topmix.data.errors import CorpusError
from topmix.data.formats.arrow_file import open_batches, open_table, pyarrow
from topmix.data.formats.format import Format, Options, find_vocabulary

if TYPE_CHECKING:
    import pyarrow as pa
    import pyarrow.parquet as pq

BLOCK_ROWS = 4096
KEY = b"topmix"
SHAPES = ({"words", "counts"}, {"doc", "word", "count"})


def matches(head: bytes) -> bool:
    return head[:4] == b"PAR1" or head[:6] == b"ARROW1"


def read(path: Path, options: Options) -> Corpus:
    with open_batches(path) as (schema, batches), CorpusBuilder(options.out) as builder:
        try:
            saved = json.loads((schema.metadata or {}).get(KEY, b"{}"))
        except (ValueError, RecursionError) as error:
            raise CorpusError(f"{path}: the metadata of topmix in the schema is not JSON: {error}") from error
        if not isinstance(saved, dict) or not isinstance(saved.get("vocabulary") or [], list):
            raise CorpusError(f"{path}: the metadata of topmix in the schema is not valid")
        vocabulary = find_vocabulary(path, options)
        if vocabulary is None and options.vocabulary is not False:
            vocabulary = saved.get("vocabulary")
        n_words = options.n_words or saved.get("n_words") if vocabulary is None else len(vocabulary)
        ids = _Ids(vocabulary)
        if SHAPES[0] <= set(schema.names):
            _read_lists(batches, ids, builder, "name" in schema.names)
        elif SHAPES[1] <= set(schema.names):
            _read_entries(batches, ids, builder)
        else:
            raise CorpusError(
                f"{path}: the columns are {', '.join(schema.names)}; expected words and counts (one row per document) "
                "or doc, word and count (one row per entry)"
            )
        words = ids.words if ids.grew else vocabulary
        return builder.finish(words, None if ids.grew else n_words, meta=saved.get("meta"))


def holds_texts(path: str | os.PathLike[str]) -> bool:
    """Whether the file has a column of strings, and not the columns of a file of counts."""
    pa = pyarrow()
    with open_table(path) as table:
        schema = table.schema
        if KEY in (schema.metadata or {}) or any(shape <= set(schema.names) for shape in SHAPES):
            return False
        return any(pa.types.is_string(kind) or pa.types.is_large_string(kind) for kind in schema.types)


def write(corpus: Corpus, path: Path) -> None:
    pa = pyarrow()
    words = None if corpus.vocabulary is None else list(corpus.vocabulary)
    saved = {"n_words": corpus.n_words, "vocabulary": words, "meta": dict(corpus.meta)}
    columns = [("words", pa.list_(pa.int32())), ("counts", pa.list_(pa.float32()))]
    if corpus.names is not None:
        columns.append(("name", pa.string()))
    schema = pa.schema(columns, metadata={KEY: json.dumps(saved)})
    with atomic_write(path) as file, _writer(path, file, schema) as writer:
        for begin in range(0, corpus.n_docs, BLOCK_ROWS):
            block = corpus[begin : begin + BLOCK_ROWS]
            offsets = pa.array(block.indptr.astype(np.int32))
            arrays = [pa.ListArray.from_arrays(offsets, pa.array(a)) for a in (block.index, block.value)]
            if block.names is not None:
                arrays.append(pa.array(list(block.names), pa.string()))
            writer.write_batch(pa.record_batch(arrays, schema=schema))


class _Ids:
    """Converts a column of words to word ids. Integers are ids already; strings are looked up."""

    def __init__(self, vocabulary: Sequence[str] | None) -> None:
        self.grew = False
        self._fixed = vocabulary is not None
        self._id = {word: v for v, word in enumerate(vocabulary or [])}

    @property
    def words(self) -> list[str]:
        return list(self._id)

    def __call__(self, column: pa.Array) -> np.ndarray:
        pa = pyarrow()
        _no_nulls(column, "words")
        if pa.types.is_integer(column.type):
            return column.to_numpy(zero_copy_only=False)
        coded = column if pa.types.is_dictionary(column.type) else column.dictionary_encode()
        words = coded.dictionary.to_pylist()
        if not all(isinstance(word, str) for word in words):
            raise CorpusError(f"words must be integers or strings, not {column.type}")
        if self._fixed:
            for word in words:
                if word not in self._id:
                    raise CorpusError(f"the word {word!r} is not in the vocabulary")
        else:
            self.grew = True
            for word in words:
                self._id.setdefault(word, len(self._id))
        table = np.array([self._id[word] for word in words], np.int64)
        return table[coded.indices.to_numpy(zero_copy_only=False)] if len(table) else np.empty(0, np.int64)


def _read_lists(batches: Iterator[pa.RecordBatch], ids: _Ids, builder: CorpusBuilder, named: bool) -> None:
    for batch in batches:
        words, counts = batch.column("words"), batch.column("counts")
        for what, column in (("words", words), ("counts", counts)):
            if not hasattr(column, "value_lengths"):
                raise CorpusError(f"the column {what} holds {column.type}; expected one list per document")
            _no_nulls(column, what)
        lengths = words.value_lengths().to_numpy(zero_copy_only=False)
        if (lengths != counts.value_lengths().to_numpy(zero_copy_only=False)).any():
            raise CorpusError("the lists of words and counts of a document differ in length")
        indptr = np.zeros(len(lengths) + 1, np.int64)
        np.cumsum(lengths, out=indptr[1:])
        names = [str(name) for name in batch.column("name").to_pylist()] if named else None
        builder.append(indptr, ids(words.flatten()), _numbers(counts.flatten()), names)


def _read_entries(batches: Iterator[pa.RecordBatch], ids: _Ids, builder: CorpusBuilder) -> None:
    seen: set[object] = set()
    held: tuple[list[object], np.ndarray, np.ndarray] = [], np.empty(0, np.int64), np.empty(0)
    for batch in batches:
        doc = batch.column("doc")
        _no_nulls(doc, "doc")
        word = np.concatenate([held[1], ids(batch.column("word"))])
        count = np.concatenate([held[2], _numbers(batch.column("count"))])
        keys = held[0] + doc.to_pylist()
        cut = len(keys)
        while cut and keys[cut - 1] == keys[-1]:  # the last document may continue in the next batch
            cut -= 1
        _append_entries(builder, keys[:cut], word[:cut], count[:cut], seen)
        held = keys[cut:], word[cut:], count[cut:]
    _append_entries(builder, *held, seen)


def _append_entries(
    builder: CorpusBuilder, keys: list[object], word: np.ndarray, count: np.ndarray, seen: set[object]
) -> None:
    starts = [i for i in range(len(keys)) if i == 0 or keys[i] != keys[i - 1]]
    names = [keys[i] for i in starts]
    for name in names:
        if name in seen:
            raise CorpusError(f"the entries of document {name!r} are not consecutive: sort the table by doc")
        seen.add(name)
    builder.append(np.array([*starts, len(keys)] if keys else [0], np.int64), word, count, [str(n) for n in names])


def _numbers(column: pa.Array) -> np.ndarray:
    _no_nulls(column, "counts")
    numbers: np.ndarray = column.to_numpy(zero_copy_only=False)
    if numbers.dtype.kind not in "iufb":
        raise CorpusError(f"counts must be real numbers, not {column.type}")
    return numbers


def _no_nulls(column: pa.Array, what: str) -> None:
    if column.null_count:
        raise CorpusError(f"{column.null_count} values in the column {what} are missing (null)")


def _writer(path: Path, file: IO[bytes], schema: pa.Schema) -> pq.ParquetWriter | pa.RecordBatchWriter:
    if path.suffix.lower() == ".parquet":
        import pyarrow.parquet as pq

        return pq.ParquetWriter(file, schema, write_page_checksum=True)
    return pyarrow().ipc.new_file(file, schema)


ARROW = Format("parquet", (".parquet", ".arrow", ".feather"), matches, read, write)
