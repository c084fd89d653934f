"""Lines "doc word count", in any order: UCI bags of words and Matrix Market.

UCI is `docword.X.txt` or `.txt.gz`, with the words in `vocab.X.txt` in the same folder: three header lines (documents
D, words W, entries NNZ), then NNZ lines with ids from 1. Matrix Market coordinate files, `.mtx` or `.mtx.gz`, have one
document per row; MmCorpus of gensim writes them too.

Entries in the order of documents go to the corpus directly. Otherwise the entries are first put into buckets of
consecutive documents, and each bucket is sorted in memory. With `out` the buckets are temporary files.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from topmix import _core
from topmix.data.atomic import temporary_path
from topmix.data.builder import Spool
from topmix.data.corpus import Corpus, CorpusBuilder
from topmix.data.counts import MAX_WORDS
from topmix.data.errors import CorpusError
from topmix.data.formats.format import (
    LINES,
    Format,
    Options,
    check_whole_counts,
    find_vocabulary,
    number_texts,
    write_vocabulary,
)
from topmix.data.textfile import TextFile, write_text
from topmix.numerics.threads import threads

ENTRY = np.dtype([("doc", "<i8"), ("word", "<i4"), ("value", "<f4")])
BUCKET_ENTRIES = 1 << 22  # 64 MB
SPAN = 1 << 20  # rows appended at a time: bounds the memory of long runs of empty documents


@dataclass(frozen=True)
class Header:
    """The header of a file."""

    n_docs: int
    n_words: int
    nnz: int
    has_value: bool = True  # false: the lines are "doc word", and each count is 1
    whole: bool = False  # counts must be integers of at least 1


class _OutOfOrder(Exception):
    pass


def read_triples(read_header: Callable[[TextFile], Header], path: Path, options: Options) -> Corpus:
    try:
        return _read(path, read_header, options, _in_order)
    except _OutOfOrder:  # most files that are not in order show it early, so reading again costs little
        return _read(path, read_header, options, _in_buckets)


def check_header(file: TextFile, n_docs: int, n_words: int, nnz: int) -> None:
    for what, n in (("documents", n_docs), ("words", n_words)):
        if n > MAX_WORDS:
            raise file.error(f"the header says {n} {what}; the limit is {MAX_WORDS}", file.line - 1)
    if nnz > n_docs * n_words:
        raise file.error(f"the header says {nnz} entries, more than {n_docs} × {n_words}", file.line - 1)
    if n_docs > most_documents(nnz):
        raise file.error(f"the header says {n_docs} documents, but only {nnz} entries", file.line - 1)


def most_documents(n_entries: int) -> int:
    """Documents that a file may have up to its n-th entry. Nearly all of more would be empty, and they would take the
    memory of a machine for a file of three lines."""
    return 1_000_000 + 100 * n_entries


def _read(
    path: Path,
    read_header: Callable[[TextFile], Header],
    options: Options,
    collect: Callable[[TextFile, Header, CorpusBuilder, Path | None], None],
) -> Corpus:
    with TextFile(path) as file, CorpusBuilder(options.out) as builder:
        header = read_header(file)
        if options.n_words not in (None, header.n_words):
            raise CorpusError(f"{path}: the file has {header.n_words} words, but n_words is {options.n_words}")
        vocabulary = find_vocabulary(path, options, header.n_words)
        collect(file, header, builder, options.out)
        return builder.finish(vocabulary, header.n_words)


class _Entries:
    """Buffers for the native parser. The first `held` entries are kept from one block to the next."""

    def __init__(self) -> None:
        self.doc = np.empty(0, np.int64)
        self.word = np.empty(0, np.int32)
        self.value = np.empty(0, np.float32)
        self.held = 0

    def blocks(self, file: TextFile, header: Header) -> Iterator[int]:
        """Parse block after block; yield the number of entries in the buffers. Checks the total of the header."""
        total = 0
        for text in file.blocks():
            room = self.held + len(text) // (6 if header.has_value else 4) + 1
            if room > len(self.doc):
                self.doc, self.word, self.value = (
                    np.concatenate([a[: self.held], np.empty(room - self.held, a.dtype)])
                    for a in (self.doc, self.word, self.value)
                )
            try:
                file.line, n = _core.parse_triples(
                    text, file.line, header.n_docs, header.n_words, header.has_value, header.whole,
                    self.doc[self.held :], self.word[self.held :], self.value[self.held :], threads())  # fmt: skip
            except ValueError as error:
                raise CorpusError(f"{file.path}: {error}") from None
            total += n
            if total > header.nnz:
                raise file.error(f"{total} entries up to here, but the header says {header.nnz}", file.line - 1)
            yield self.held + n
        if total != header.nnz:
            raise file.error(
                f"the file ends after {total} entries, but the header says {header.nnz}: it may be cut short"
            )

    def keep_from(self, begin: int, end: int) -> None:
        for a in (self.doc, self.word, self.value):
            a[: end - begin] = a[begin:end].copy()
        self.held = end - begin


def _in_order(file: TextFile, header: Header, builder: CorpusBuilder, _: Path | None) -> None:
    entries = _Entries()
    done = n = seen = 0  # rows appended; entries in the buffers, and in all
    for n in entries.blocks(file, header):
        seen += n - entries.held
        doc = entries.doc[max(entries.held - 1, 0) : n]
        if (doc[1:] < doc[:-1]).any():
            raise _OutOfOrder
        if not n:
            continue
        last = int(entries.doc[n - 1])  # this document may continue in the next block
        if last > most_documents(seen):
            raise file.error(f"document {last + 1} after {seen} entries: nearly all documents before it are empty")
        cut = int(np.searchsorted(entries.doc[:n], last))
        append_sorted(builder, entries.doc[:cut], entries.word[:cut], entries.value[:cut], done, last)
        entries.keep_from(cut, n)
        done = last
    n = entries.held
    append_sorted(builder, entries.doc[:n], entries.word[:n], entries.value[:n], done, header.n_docs)


def append_sorted(
    builder: CorpusBuilder,
    doc: NDArray[np.int64],
    word: NDArray[np.int32],
    value: NDArray[np.float32],
    begin: int,
    end: int,
) -> None:
    """Append the rows begin to end - 1. The entries are in the order of documents and belong to these rows."""
    at = 0
    for first in range(begin, end, SPAN):
        last = min(first + SPAN, end)
        stop = int(np.searchsorted(doc, last))
        indptr = np.zeros(last - first + 1, np.int64)
        np.cumsum(np.bincount(doc[at:stop] - first, minlength=last - first), out=indptr[1:])
        builder.append(indptr, word[at:stop], value[at:stop])
        at = stop


def _in_buckets(file: TextFile, header: Header, builder: CorpusBuilder, out: Path | None) -> None:
    n_buckets = 1 if out is None else min(256, 1 + header.nnz // BUCKET_ENTRIES)
    width = max(1, -(-header.n_docs // n_buckets))  # documents per bucket
    buckets: list[Spool] = []
    try:
        for b in range(n_buckets):
            buckets.append(Spool(ENTRY, None if out is None else temporary_path(out, f"bucket{b}")))
        entries = _Entries()
        for n in entries.blocks(file, header):
            block = np.empty(n, ENTRY)
            block["doc"], block["word"], block["value"] = entries.doc[:n], entries.word[:n], entries.value[:n]
            block = block[np.argsort(block["doc"], kind="stable")]
            cuts = np.searchsorted(block["doc"], np.arange(n_buckets + 1) * width)
            for bucket, begin, end in zip(buckets, cuts[:-1], cuts[1:]):
                bucket.extend(block[begin:end])
        for b, bucket in enumerate(buckets):
            a = bucket.array()
            a = a[np.argsort(a["doc"], kind="stable")]
            doc, word, value = (np.ascontiguousarray(a[name]) for name in ("doc", "word", "value"))
            begin, end = min(b * width, header.n_docs), min((b + 1) * width, header.n_docs)
            append_sorted(builder, doc, word, value, begin, end)
            bucket.close()
    finally:
        for bucket in buckets:
            bucket.close()


def triple_lines(corpus: Corpus) -> Iterator[bytes]:
    """Lines "doc word count" with ids from 1."""
    for begin in range(0, corpus.n_docs, LINES):
        block = corpus[begin : begin + LINES]
        doc = np.repeat(np.arange(begin + 1, begin + 1 + block.n_docs), np.diff(block.indptr))
        words = (block.index + np.int64(1)).tolist()
        lines = [f"{d} {w} {x}\n" for d, w, x in zip(doc.tolist(), words, number_texts(block.value))]
        yield "".join(lines).encode()


def write_uci(corpus: Corpus, path: Path) -> None:
    check_whole_counts(corpus, "UCI docword")
    write_vocabulary(corpus, path)
    with write_text(path) as file:
        file.write(f"{corpus.n_docs}\n{corpus.n_words}\n{corpus.nnz}\n".encode())
        for lines in triple_lines(corpus):
            file.write(lines)


def write_matrix_market(corpus: Corpus, path: Path) -> None:
    write_vocabulary(corpus, path)
    with write_text(path) as file:
        file.write(b"%%MatrixMarket matrix coordinate real general\n")
        file.write(f"{corpus.n_docs} {corpus.n_words} {corpus.nnz}\n".encode())
        for lines in triple_lines(corpus):
            file.write(lines)


def _uci_header(file: TextFile) -> Header:
    numbers = []
    for what in ("the number of documents", "the number of words", "the number of entries"):
        text = file.readline(what).strip()
        if not re.fullmatch(rb"\d{1,18}", text):
            raise file.error(f"expected {what}, found {text[:24].decode(errors='replace')!r}", file.line - 1)
        numbers.append(int(text))
    n_docs, n_words, nnz = numbers
    check_header(file, n_docs, n_words, nnz)
    return Header(n_docs, n_words, nnz, whole=True)


def _matrix_market_header(file: TextFile) -> Header:
    banner = file.readline("%%MatrixMarket").decode(errors="replace").lower().split()
    if banner[:1] != ["%%matrixmarket"] or len(banner) != 5:
        raise file.error("expected '%%MatrixMarket matrix coordinate real general'", 1)
    what, layout, kind, symmetry = banner[1:]
    if (
        (what, layout) != ("matrix", "coordinate")
        or symmetry != "general"
        or kind not in ("real", "integer", "pattern")
    ):
        raise file.error(
            f"expected a general coordinate matrix of real, integer or pattern entries, found {' '.join(banner[1:])!r}",
            1,
        )
    expected = "three numbers: rows, columns, entries"
    text = b"%"
    while not text or text.startswith(b"%"):
        text = file.readline(expected).strip()
    if not re.fullmatch(rb"\d{1,18}\s+\d{1,18}\s+\d{1,18}", text):
        raise file.error(f"expected {expected}, found {text[:40].decode(errors='replace')!r}", file.line - 1)
    n_docs, n_words, nnz = (int(x) for x in text.split())
    check_header(file, n_docs, n_words, nnz)
    return Header(n_docs, n_words, nnz, has_value=kind != "pattern")


def is_uci(head: bytes) -> bool:
    return re.match(rb"\s*\d+\s*\n\s*\d+\s*\n\s*\d+\s*\n", head) is not None


def is_matrix_market(head: bytes) -> bool:
    return head[:14].lower() == b"%%matrixmarket"


UCI = Format("uci", (), is_uci, partial(read_triples, _uci_header), write_uci, prefix="docword.")
MATRIX_MARKET = Format(
    "mtx", (".mtx", ".mm"), is_matrix_market, partial(read_triples, _matrix_market_header), write_matrix_market
)
