"""Lines "opening word:count word:count ...", one document per line: LDA-C and svmlight.

LDA-C, `.ldac` or `.dat`, opens a line with the number of its pairs; word ids are from 0. svmlight (libsvm) opens it
with a label, which becomes the name of the document: `np.array(corpus.names, float)` gives the numbers. As in
scikit-learn, its ids start at 1 unless an id 0 occurs; `first_id` overrides that. Query ids and comments (#) are
skipped. Neither stores the number of documents: a file that was cut between two lines reads as a shorter corpus.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from topmix import _core
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

LABEL = re.compile(r"[-+]?(\d+\.?\d*|\.\d+)([eE][-+]?\d+)?", re.ASCII)


@dataclass(frozen=True)
class PairRows:
    """A block of documents. The next block overwrites the arrays."""

    indptr: NDArray[np.int64]  # [rows + 1]
    label: NDArray[np.float64]  # [rows], zero in LDA-C
    word: NDArray[np.int32]  # [entries], the ids of the file
    value: NDArray[np.float32]


def read_pairs(file: TextFile, *, counted: bool, first_id: int, last_id: int | None) -> Iterator[PairRows]:
    """Blocks of documents. Ids must be from first_id to last_id.

    A line opens with the number of its pairs if `counted`, else with a label.
    """
    indptr, label = np.empty(1, np.int64), np.empty(0, np.float64)
    word, value = np.empty(0, np.int32), np.empty(0, np.float32)
    for text in file.blocks():
        n_rows, n_entries = len(text) // 2 + 1, len(text) // 4 + 1
        if n_rows > len(label):
            indptr, label = np.empty(n_rows + 1, np.int64), np.empty(n_rows, np.float64)
            word, value = np.empty(n_entries, np.int32), np.empty(n_entries, np.float32)
        try:
            file.line, n, i = _core.parse_pairs(
                text, file.line, counted, first_id, MAX_WORDS - 1 if last_id is None else last_id,
                indptr, label, word, value, threads())  # fmt: skip
        except ValueError as error:
            raise CorpusError(f"{file.path}: {error}") from None
        yield PairRows(indptr[: n + 1], label[:n], word[:i], value[:i])


def pair_lines(corpus: Corpus, first_id: int, opening: list[str] | None = None) -> Iterator[bytes]:
    """Lines "opening word:count ...". Without `opening`, a line starts with the number of its pairs."""
    for begin in range(0, corpus.n_docs, LINES):
        block = corpus[begin : begin + LINES]
        ids = (block.index + np.int64(first_id)).tolist()
        pairs = [f"{w}:{x}" for w, x in zip(ids, number_texts(block.value))]
        ends = block.indptr.tolist()
        lines = []
        for n in range(block.n_docs):
            row = pairs[ends[n] : ends[n + 1]]
            lines.append(" ".join([str(len(row)) if opening is None else opening[begin + n], *row]))
        yield ("\n".join(lines) + "\n").encode()


def is_ldac(head: bytes) -> bool:
    line = head.partition(b"\n")[0].split()
    if not line or not re.fullmatch(rb"\d{1,18}", line[0]):
        return False
    if b"\n" not in head:  # a long document: the last pair in `head` may be cut
        return int(line[0]) >= len(line) - 1 > 1 and _all_pairs(line[1:-1])
    return int(line[0]) == len(line) - 1 and _all_pairs(line[1:])


def _all_pairs(tokens: list[bytes]) -> bool:
    return all(re.fullmatch(rb"\d+:\d+", token) for token in tokens)


def read_ldac(path: Path, options: Options) -> Corpus:
    vocabulary = find_vocabulary(path, options, options.n_words)
    n_words = options.n_words if vocabulary is None else len(vocabulary)
    first_id = options.first_id or 0
    last_id = None if n_words is None else n_words - 1 + first_id
    with TextFile(path, block=1 << 20) as file, CorpusBuilder(options.out) as builder:
        for rows in read_pairs(file, counted=True, first_id=first_id, last_id=last_id):
            builder.append(rows.indptr, rows.word - first_id if first_id else rows.word, rows.value)
        return builder.finish(vocabulary, n_words)


def write_ldac(corpus: Corpus, path: Path) -> None:
    check_whole_counts(corpus, "LDA-C")
    write_vocabulary(corpus, path)
    with write_text(path) as file:
        for lines in pair_lines(corpus, first_id=0):
            file.write(lines)


def is_svmlight(head: bytes) -> bool:
    line = head.partition(b"\n")[0].partition(b"#")[0].split()
    return len(line) > 1 and all(re.fullmatch(rb"(\d+|qid):[-+.\deE]+", pair) for pair in line[1:])


def read_svmlight(path: Path, options: Options) -> Corpus:
    vocabulary = find_vocabulary(path, options, options.n_words)
    n_words = options.n_words if vocabulary is None else len(vocabulary)
    low = options.first_id or 0
    last_id = None if n_words is None else n_words - 1 + (1 if options.first_id is None else low)
    smallest = 1
    with TextFile(path, block=1 << 20) as file, CorpusBuilder(options.out) as builder:
        for rows in read_pairs(file, counted=False, first_id=low, last_id=last_id):
            smallest = min(smallest, int(rows.word.min(initial=1)))
            names = [_label(x) for x in rows.label.tolist()]
            builder.append(rows.indptr, rows.word - low if low else rows.word, rows.value, names)
        shift = 1 if options.first_id is None and smallest > 0 else 0  # id 1 is column 0; id 0 does not occur
        return builder.finish(vocabulary, n_words, shift=shift)


def write_svmlight(corpus: Corpus, path: Path) -> None:
    labels = ["0"] * corpus.n_docs if corpus.names is None else list(corpus.names)
    for d, label in enumerate(labels):
        if not LABEL.fullmatch(label) or not math.isfinite(float(label)):
            raise CorpusError(f"document {d} has the name {label!r}, but svmlight needs a finite number as the label")
    write_vocabulary(corpus, path)
    with write_text(path) as file:
        for lines in pair_lines(corpus, 1, labels):
            file.write(lines)


def _label(x: float) -> str:
    return str(int(x)) if x == int(x) and abs(x) < 2**53 else repr(x)


LDAC = Format("ldac", (".ldac", ".dat"), is_ldac, read_ldac, write_ldac)
SVMLIGHT = Format("svmlight", (".svmlight", ".svm", ".libsvm"), is_svmlight, read_svmlight, write_svmlight)
