"""What a worker does with one part of the texts: count it into a file, and later write its rows into the corpus file.

Both are functions of their arguments that leave the same bytes however often they are called, so a call whose worker
was lost can be made again, and two workers may make the same call at the same time.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from topmix import _core
from topmix.data.builder import row_blocks
from topmix.data.corpus import Corpus, CorpusBuilder
from topmix.data.errors import CorpusError
from topmix.data.merged_terms import PartTerms
from topmix.data.parquet_texts import ParquetTexts, Part
from topmix.data.rows import tidy
from topmix.data.store import StorePlan
from topmix.data.strings import Strings
from topmix.data.text_blocks import document_blocks
from topmix.data.vectorize import Vectorizer
from topmix.numerics.threads import threads

MOST_ENTRIES = 1 << 25  # of a part that are kept in memory, 268 MB; more go to a temporary file of the worker's machine


@dataclass(frozen=True)
class CountJob:
    """What all parts have in common."""

    texts: ParquetTexts
    vectorizer: Vectorizer
    is_known: bool  # the vocabulary is: words are counted in its columns
    folder: str  # that all workers see

    def path(self, number: int) -> Path:
        return Path(self.folder, f"part-{number}.topmix")


class CountedPart(NamedTuple):
    n_docs: int
    nnz: int
    name_bytes: int
    n_unknown: int
    terms: PartTerms | None  # None where the vocabulary is known


class Place(NamedTuple):
    """Where a part begins in the corpus file."""

    doc: int
    entry: int
    name_byte: int


@dataclass
class WrittenPart:
    n_tokens: float = 0.0
    checksums: dict[str, int] = field(default_factory=dict)  # of what was written of each array
    n_bytes: dict[str, int] = field(default_factory=dict)


def first_block(job: CountJob) -> tuple[Any, bool]:
    """What the first block of texts decides: stop words, and whether the pattern finds sentences instead of words."""
    found = next(document_blocks(job.texts.documents()), None)
    texts = [] if found is None else found[1]
    return job.vectorizer._decided_stop_words(texts), job.vectorizer._finds_sentences(texts)


def count_part(job: CountJob, number: int, part: Part) -> CountedPart:
    """Counts the texts of a part into its file. Words that are not known yet have numbers of their own there."""
    vectorizer = job.vectorizer
    vocabulary = vectorizer._known_vocabulary() if job.is_known else None
    with CorpusBuilder(most_entries=MOST_ENTRIES) as builder:
        blocks = document_blocks(job.texts.read(part))
        counter = vectorizer._append(blocks, builder, vocabulary, tidy_later=False)
        corpus = builder.finish(None, counter.n_terms)
    with _seen(job.folder):
        corpus.save(job.path(number))
    names = corpus.names
    name_bytes = int(names.offsets[-1] - names.offsets[0]) if isinstance(names, Strings) else 0
    about = corpus.n_docs, corpus.nnz, name_bytes
    if job.is_known:
        return CountedPart(*about, vectorizer.n_unknown_, None)
    return CountedPart(*about, 0, PartTerms.of(counter))


def write_part(
    job: CountJob, number: int, plan: StorePlan, target: str, place: Place, columns: NDArray[np.int32] | None
) -> WrittenPart:
    """Writes the rows of a part to their places in the corpus file; `columns` are those of its words."""
    with _seen(job.folder):
        corpus = Corpus.open(job.path(number))
        file = open(target, "wb", opener=_write_only)  # noqa: SIM115
    remap = None if columns is None else columns.astype(np.int64)
    offsets, entry, written = corpus.indptr, place.entry, WrittenPart()
    with file:
        for begin, end in row_blocks(offsets):
            a, b = offsets[begin], offsets[end]
            rows = offsets[begin : end + 1] - a, corpus.index[a:b], corpus.value[a:b]
            if remap is not None:
                rows = tidy(*rows, plan.n_words, remap=remap, first_row=begin)
            _put(file, plan, "indptr", place.doc + 1 + begin, rows[0][1:] + entry, written)
            _put(file, plan, "index", entry, rows[1], written)
            _put(file, plan, "value", entry, rows[2], written)
            written.n_tokens += float(rows[2].sum(dtype=np.float64))
            entry += len(rows[1])
        text, ends = Strings.pack(corpus.names or (), "name").arrays()
        _put(file, plan, "names_offsets", place.doc + 1, ends[1:] + place.name_byte, written)
        _put(file, plan, "names", place.name_byte, text, written)
        file.flush()
        os.fsync(file.fileno())
    return written


def _put(file: IO[bytes], plan: StorePlan, name: str, item: int, array: NDArray[Any], written: WrittenPart) -> None:
    array = np.ascontiguousarray(array)
    if len(array):
        file.seek(plan.place(name, item))
        file.write(array.data)
        before = written.checksums.get(name, 0)
        written.checksums[name] = _core.crc32(array.view(np.uint8), before, threads())
        written.n_bytes[name] = written.n_bytes.get(name, 0) + array.nbytes


def _write_only(path: str, flags: int) -> int:
    """Without truncation, and without reading: a network file system that reads a page to change some bytes of it
    would write the whole page, and with it old bytes of a neighbour's part."""
    return os.open(path, os.O_WRONLY | getattr(os, "O_BINARY", 0))


@contextmanager
def _seen(folder: str) -> Iterator[None]:
    try:
        yield
    except FileNotFoundError as error:
        raise CorpusError(
            f"{folder}: this machine does not see the folder of counts, or it is gone: {error.strerror}. Pass a folder "
            "that all machines see, such as Ray(folder='/shared')"
        ) from error
