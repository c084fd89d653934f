"""The rows of a corpus as lines of text, ROWS rows at a time."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from topmix.data.corpus import Corpus

ROWS = 2048


def triple_lines(corpus: Corpus) -> Iterator[bytes]:
    """Lines "doc word count" with ids from 1."""
    for begin in range(0, corpus.n_docs, ROWS):
        block = corpus[begin : begin + ROWS]
        doc = np.repeat(np.arange(begin + 1, begin + 1 + block.n_docs), np.diff(block.indptr))
        words = (block.index + np.int64(1)).tolist()
        lines = [f"{d} {w} {x}\n" for d, w, x in zip(doc.tolist(), words, number_texts(block.value))]
        yield "".join(lines).encode()


def pair_lines(corpus: Corpus, first_id: int, opening: list[str] | None = None) -> Iterator[bytes]:
    """Lines "opening word:count ...". Without `opening`, a line starts with the number of its pairs."""
    for begin in range(0, corpus.n_docs, ROWS):
        block = corpus[begin : begin + ROWS]
        ids = (block.index + np.int64(first_id)).tolist()
        pairs = [f"{w}:{x}" for w, x in zip(ids, number_texts(block.value))]
        ends = block.indptr.tolist()
        lines = []
        for n in range(block.n_docs):
            row = pairs[ends[n] : ends[n + 1]]
            lines.append(" ".join([str(len(row)) if opening is None else opening[begin + n], *row]))
        yield ("\n".join(lines) + "\n").encode()


def number_texts(value: NDArray[np.float32]) -> list[str]:
    """The shortest texts that read back as the same float32 numbers."""
    if (value == value.round()).all() and (value < 2**53).all():
        return [str(x) for x in value.astype(np.int64).tolist()]
    return [_number_text(x) for x in value]


def _number_text(x: np.float32) -> str:
    if x == np.finfo(np.float32).max:
        return "3.4028234e+38"  # the shortest text, 3.4028235e+38, is above the maximum when it is read as a double
    return np.format_float_scientific(x, trim="-") if x >= 1e16 else np.format_float_positional(x, trim="-")
