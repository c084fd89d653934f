"""Text files of counts.

UCI bags of words, `docword.X.txt` or `.txt.gz`, with the words in `vocab.X.txt` in the same folder, have three header
lines (documents D, words W, entries NNZ), then NNZ lines "doc word count" with ids from 1, in any order. Entries in the
order of documents are read in bounded memory. Matrix Market coordinate files, `.mtx` or `.mtx.gz`, have one document
per row; MmCorpus of gensim writes them too. They are read by SciPy.
"""

from __future__ import annotations

import io
import re
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np
import scipy.io
import scipy.sparse as sp
from numpy.typing import NDArray

from topmix.base.checks import CorpusError
from topmix.corpus.corpus import Corpus, CorpusBuilder
from topmix.corpus.counts import MAX_WORDS
from topmix.corpus.vocabulary import starts_of
from topmix.io.formats import Format, Options, built, find_vocabulary, write_vocabulary
from topmix.io.textfile import TextFile, write_text

LARGEST = 2**63 - 1  # number that is read as a whole one
LINES = 2048  # documents that are written as text at a time
SHORTEST_ENTRY = 4  # bytes of a line "doc word count"
Entries = tuple[NDArray[np.int64], NDArray[np.int32], NDArray[np.float32]]  # document, word, count


class Header(NamedTuple):
    n_docs: int
    n_words: int
    nnz: int

    @property
    def problem(self) -> str:
        for what, n in (("documents", self.n_docs), ("words", self.n_words)):
            if n > MAX_WORDS:
                return f"the header says {n} {what}; the limit is {MAX_WORDS}"
        if self.nnz > self.n_docs * self.n_words:
            return f"the header says {self.nnz} entries, more than {self.n_docs} × {self.n_words}"
        if self.n_docs > most_documents(self.nnz):
            return f"the header says {self.n_docs} documents, but only {self.nnz} entries"
        return ""


def most_documents(n_entries: int) -> int:
    """Documents that a file may have up to its n-th entry. Nearly all of more would be empty, and they would take the
    memory of a machine for a file of three lines."""
    return 1_000_000 + 100 * n_entries


class _OutOfOrder(Exception):
    pass


def _read_uci(path: Path, options: Options) -> Corpus:
    try:
        return _read_docword(path, options, in_order=True)
    except _OutOfOrder:  # most files that are not in order show it early, so reading again costs little
        return _read_docword(path, options, in_order=False)


def _read_docword(path: Path, options: Options, *, in_order: bool) -> Corpus:
    with TextFile(path) as file, CorpusBuilder(options.out) as builder:
        numbers = []
        for what in ("the number of documents", "the number of words", "the number of entries"):
            text = file.readline(what).strip()
            if not re.fullmatch(rb"\d{1,18}", text):
                raise file.error(f"expected {what}, found {text[:24].decode(errors='replace')!r}", file.line - 1)
            numbers.append(int(text))
        header = Header(*numbers)
        if header.problem:
            raise file.error(header.problem, file.line - 1)
        vocabulary = find_vocabulary(path, options, header.n_words)
        blocks = _entries(file, header)
        if in_order:
            _append_in_order(builder, file, header, blocks)
        else:
            doc, word, value = (np.concatenate(arrays) for arrays in zip(*blocks))
            order = np.argsort(doc, kind="stable")
            _append(builder, (doc[order], word[order], value[order]), 0, header.n_docs)
        return builder.finish(vocabulary, header.n_words)


def _entries(file: TextFile, header: Header) -> Iterator[Entries]:
    """Blocks of entries, with ids from 0. Checks the total of the header."""
    limits = (("a document id", header.n_docs), ("a word id", header.n_words), ("a count", LARGEST - 1))
    total = 0
    for text in file.blocks():
        letters = np.frombuffer(text, np.uint8)
        is_digit: NDArray[np.bool_] = (letters - np.uint8(ord("0"))) < 10
        other = np.flatnonzero(~(is_digit | np.isin(letters, np.frombuffer(b" \t\r\n", np.uint8))))
        if len(other):
            at = int(other[0])
            found = text[at : at + 24].split()[0].decode(errors="replace")
            raise file.error(f"expected a whole number, found {found!r}", file.line + text.count(b"\n", 0, at))
        is_first = is_digit.copy()
        is_first[1:] &= ~is_digit[:-1]
        n_numbers = np.diff(np.cumsum(is_first)[letters == ord("\n")], prepend=0)  # of each line
        wrong = np.flatnonzero((n_numbers != 3) & (n_numbers != 0))
        if len(wrong):
            raise file.error("expected a line 'doc word count'", file.line + int(wrong[0]))
        entries = np.fromstring(text, np.int64, sep=" ").reshape(-1, 3).T
        for numbers, (what, most) in zip(entries, limits):
            wrong = np.flatnonzero((numbers < 1) | (numbers > most))
            if len(wrong):
                line = file.line + int(np.flatnonzero(n_numbers)[wrong[0]])
                raise file.error(f"expected {what} from 1 to {most}, found '{numbers[wrong[0]]}'", line)
        doc, word, value = entries
        file.line, total = file.line + len(n_numbers), total + len(doc)
        if total > header.nnz:
            raise file.error(f"{total} entries up to here, but the header says {header.nnz}", file.line - 1)
        if len(doc):
            yield doc - 1, (word - 1).astype(np.int32), value.astype(np.float32)
    if total != header.nnz:
        raise file.error(f"the file ends after {total} entries, but the header says {header.nnz}: it may be cut short")


def _append_in_order(builder: CorpusBuilder, file: TextFile, header: Header, blocks: Iterator[Entries]) -> None:
    """Documents go to the builder when they are complete."""
    held: Entries = np.empty(0, np.int64), np.empty(0, np.int32), np.empty(0, np.float32)
    done = seen = 0  # documents appended; entries
    for block in blocks:
        doc, word, value = (np.concatenate([held[i], block[i]]) for i in range(3))
        seen += len(block[0])
        if (doc[1:] < doc[:-1]).any():
            raise _OutOfOrder
        last = int(doc[-1])  # this document may continue in the next block
        if last > most_documents(seen):
            raise file.error(f"document {last + 1} after {seen} entries: nearly all documents before it are empty")
        cut = int(np.searchsorted(doc, last))
        _append(builder, (doc[:cut], word[:cut], value[:cut]), done, last)
        held, done = (doc[cut:], word[cut:], value[cut:]), last
    _append(builder, held, done, header.n_docs)


def _append(builder: CorpusBuilder, entries: Entries, begin: int, end: int) -> None:
    """Append the rows begin to end - 1. The entries are in the order of documents and belong to these rows."""
    doc, word, value = entries
    builder.append(starts_of(np.bincount(doc - begin, minlength=end - begin)), word, value)


def _read_matrix_market(path: Path, options: Options) -> Corpus:
    with TextFile(path) as file:
        text = file.whole_lines()
    try:
        *sizes, layout, kind, symmetry = scipy.io.mminfo(io.BytesIO(text))
        header = Header(*sizes)
        if (layout, symmetry) != ("coordinate", "general") or kind not in ("real", "integer", "pattern"):
            found = f"{layout} {kind} {symmetry}"
            raise CorpusError(
                f"{path}: expected a general coordinate matrix of real, integer or pattern entries, found {found}"
            )
        most = len(text) // SHORTEST_ENTRY  # nobody makes room for entries that are not there
        if header.problem or header.nnz > most:
            lacking = f"the header says {header.nnz} entries, and the file has room for {most}"
            raise CorpusError(f"{path}: {header.problem or lacking}")
        vocabulary = find_vocabulary(path, options, header.n_words)
        with warnings.catch_warnings():
            # SciPy 1.18 warns that a later version will return an array, which is what is made here anyway.
            warnings.simplefilter("ignore", DeprecationWarning)
            rows = sp.csr_array(scipy.io.mmread(io.BytesIO(text)))
    except (ValueError, OverflowError, MemoryError) as error:
        raise CorpusError(f"{path}: not a Matrix Market file: {error}") from error
    return built(rows, vocabulary, options)


def _write_uci(corpus: Corpus, path: Path) -> None:
    for begin in range(0, corpus.nnz, 1 << 20):
        block = corpus.value[begin : begin + (1 << 20)]
        if (block != block.round()).any() or block.max(initial=0.0) >= LARGEST:
            raise CorpusError(
                "UCI docword holds integers below 2**63 only, and this corpus has other counts: write Matrix Market "
                "(.mtx)"
            )
    _write_entries(corpus, path, f"{corpus.n_docs}\n{corpus.n_words}\n{corpus.nnz}\n")


def _write_matrix_market(corpus: Corpus, path: Path) -> None:
    sizes = f"{corpus.n_docs} {corpus.n_words} {corpus.nnz}\n"
    _write_entries(corpus, path, f"%%MatrixMarket matrix coordinate real general\n{sizes}")


def _write_entries(corpus: Corpus, path: Path, header: str) -> None:
    """Lines "doc word count" with ids from 1."""
    write_vocabulary(corpus, path)
    with write_text(path) as file:
        file.write(header.encode())
        for begin in range(0, corpus.n_docs, LINES):
            block = corpus[begin : begin + LINES]
            doc = np.repeat(np.arange(begin + 1, begin + 1 + block.n_docs), np.diff(block.indptr)).tolist()
            words = (block.index + np.int64(1)).tolist()
            lines = (f"{d} {w} {x}\n" for d, w, x in zip(doc, words, _number_texts(block.value)))
            file.write("".join(lines).encode())


def _number_texts(value: NDArray[np.float32]) -> list[str]:
    """The shortest texts that read back as the same float32 numbers."""
    if (value == value.round()).all() and (value < LARGEST).all():
        return [str(x) for x in value.astype(np.int64).tolist()]
    # The shortest text of the largest number is above it when it is read as a double.
    return [str(x) if x < np.finfo(np.float32).max else "3.4028234e+38" for x in value]


def _is_uci(head: bytes) -> bool:
    return re.match(rb"\s*\d+\s*\n\s*\d+\s*\n\s*\d+\s*\n", head) is not None


def _is_matrix_market(head: bytes) -> bool:
    return head[:14].lower() == b"%%matrixmarket"


UCI = Format("uci", (), _is_uci, _read_uci, _write_uci, prefix="docword.")
MATRIX_MARKET = Format("mtx", (".mtx", ".mm"), _is_matrix_market, _read_matrix_market, _write_matrix_market)
