"""Counts of the documents, or windows of text, in which the top words of a topic occur together.

A window is `size` consecutive tokens of a text, or the whole text if the text is shorter.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from topmix.metrics.engine import MeasuringEngine

_ENTRIES = 1 << 22  # entries of the boolean matrix of windows that is in memory at a time


class CoOccurrence(NamedTuple):
    """Counts for each topic, over n documents or windows."""

    together: list[NDArray[np.int64]]  # per topic: [words, words]; the diagonal counts each word alone
    n: int


def in_documents(
    topics: Sequence[NDArray[np.intp]], X: sp.csr_array, engine: MeasuringEngine | None = None
) -> CoOccurrence:
    """Counts in documents X [D, V], including empty ones. `topics` are word ids, that is columns of X."""
    if engine is not None:
        _check_words(np.concatenate(topics), X.shape[1])
        return CoOccurrence(engine.together(topics, X.shape[1], X.indptr, X.indices), X.shape[0])
    return _count(topics, [X])


def in_windows(
    topics: Sequence[NDArray[np.intp]], words: Sequence[str], texts: Iterable[Sequence[str]], size: int | None
) -> CoOccurrence:
    """Counts in windows of `size` tokens, or in whole texts if None. `topics` are positions in `words`.

    An empty text is one window.
    """
    if size is not None and size < 1:
        raise ValueError(f"window_size={size}: pass at least 1, or None for whole texts")
    return _count(topics, _windows(texts, {w: i for i, w in enumerate(words)}, size))


def _count(topics: Sequence[NDArray[np.intp]], parts: Iterable[sp.csr_array]) -> CoOccurrence:
    used, ids = np.unique(np.concatenate(topics), return_inverse=True)
    local = np.split(ids.astype(np.intp), np.cumsum([len(t) for t in topics])[:-1])
    together = [np.zeros((len(t), len(t)), dtype=np.int64) for t in topics]
    n = 0
    for part in parts:
        _check_words(used, part.shape[1])
        present = sp.csc_array(part[:, used] > 0, dtype=np.int64)
        for k, t in enumerate(local):
            columns = present[:, t]
            together[k] += (columns.T @ columns).toarray()
        n += part.shape[0]
    return CoOccurrence(together, n)


def _check_words(used: NDArray[np.intp], n_words: int) -> None:
    if len(used) and used.max() >= n_words:
        raise ValueError(f"a top word is not among the {n_words} words of the documents")


def _windows(texts: Iterable[Sequence[str]], ids: dict[str, int], size: int | None) -> Iterator[sp.csr_array]:
    """Boolean matrices [windows, words] with about _ENTRIES entries each."""
    rows: list[NDArray[np.int64]] = []
    cols: list[NDArray[np.int64]] = []
    n = entries = 0
    for text in texts:
        first, last, word, n_windows = _intervals(text, ids, size)
        length = last - first + 1
        begin = np.cumsum(length) - length
        rows.append(n + np.repeat(first - begin, length) + np.arange(length.sum()))
        cols.append(np.repeat(word, length))
        n, entries = n + n_windows, entries + int(length.sum())
        if entries >= _ENTRIES:
            yield _booleans(rows, cols, n, len(ids))
            rows, cols, n, entries = [], [], 0, 0
    if n:
        yield _booleans(rows, cols, n, len(ids))


def _intervals(
    text: Sequence[str], ids: dict[str, int], size: int | None
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64], int]:
    """(first, last, word, n_windows): the windows first..last of one text hold the word. Intervals are disjoint.

    A token at position p is in the windows that start at p - size + 1 to p. A window that also holds the previous copy
    of the word belongs to the interval of that copy.
    """
    tokens = [(w, p) for p, t in enumerate(text) if (w := ids.get(t)) is not None]
    word, p = np.array(tokens, dtype=np.int64).reshape(-1, 2).T
    order = np.argsort(word, kind="stable")
    word, p = word[order], p[order]
    size = len(text) if size is None else min(size, len(text))
    n_windows = len(text) - size + 1
    previous = np.where(np.diff(word, prepend=-1) == 0, np.roll(p, 1), -1)
    first = np.maximum(np.maximum(p - size, previous) + 1, 0)
    last = np.minimum(p, n_windows - 1)
    some = first <= last
    return first[some], last[some], word[some], n_windows


def _booleans(rows: list[NDArray[np.int64]], cols: list[NDArray[np.int64]], n_rows: int, n_cols: int) -> sp.csr_array:
    r, c = np.concatenate(rows), np.concatenate(cols)
    return sp.csr_array((np.ones(len(r), dtype=np.int8), (r, c)), shape=(n_rows, n_cols))
