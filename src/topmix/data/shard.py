"""Shards: row ranges of a corpus, each with a vocabulary of its own.

The model hands a shard [its words, K] tables and nothing else: small hot tables in cache, small messages to another
machine, and a stochastic step that touches only the words it saw. Where the cuts fall depends on the data and the
parameters, never on the number of threads.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

import numpy as np

from topmix import _core
from topmix.data.corpus import Corpus

ENTRIES_PER_SHARD = 1 << 21  # of a pass in one piece: a second or so of work, so that Ctrl-C is answered


@dataclass(frozen=True)
class Shard:
    """Rows in local word ids: entry i is word cols[index[i]]."""

    rows: slice  # which rows of the corpus
    cols: np.ndarray  # [n] int32 ascending, global ids of the words in use
    indptr: np.ndarray  # [rows + 1] int64
    index: np.ndarray  # [nnz] int32, local ids
    value: np.ndarray  # [nnz] float32
    starts: np.ndarray  # [n + 1] int64, where each word's entries begin in `order`
    order: np.ndarray  # [nnz] int32, entries word by word
    weight: np.ndarray | None = None  # [rows] float64

    @classmethod
    def of(cls, corpus: Corpus, rows: slice, weight: np.ndarray | None = None) -> Shard:
        begin, end = int(corpus.indptr[rows.start]), int(corpus.indptr[rows.stop])
        indptr = np.asarray(corpus.indptr[rows.start : rows.stop + 1]) - begin
        index = np.ascontiguousarray(corpus.index[begin:end])
        value = np.ascontiguousarray(corpus.value[begin:end])
        cols, local, starts, order = _core.localise(index, corpus.shape[1])
        return cls(rows, cols, indptr, local, value, starts, order, None if weight is None else weight[rows])

    @property
    def n_rows(self) -> int:
        return len(self.indptr) - 1

    @cached_property
    def lengths(self) -> np.ndarray:
        """[rows] float64, tokens of each row."""
        sums = np.concatenate([[0.0], np.cumsum(self.value, dtype=np.float64)])
        return np.diff(sums[self.indptr])

    @cached_property
    def row_of(self) -> np.ndarray:
        """[nnz] int32, the row of each entry."""
        return np.repeat(np.arange(self.n_rows, dtype=np.int32), np.diff(self.indptr))


class Shards(Sequence[Shard]):
    """The shards of a corpus. Kept once made, unless the corpus is mapped from disk: then made anew at each visit."""

    def __init__(self, corpus: Corpus, cuts: np.ndarray, weight: np.ndarray | None = None):
        self.corpus, self.weight = corpus, weight
        self.slices = [slice(int(a), int(b)) for a, b in pairwise(cuts)]
        self._kept: dict[int, Shard] | None = {} if corpus.path is None else None

    def __len__(self) -> int:
        return len(self.slices)

    def __getitem__(self, b: int) -> Shard:  # type: ignore[override]
        if self._kept is not None and b in self._kept:
            return self._kept[b]
        shard = Shard.of(self.corpus, self.slices[b], self.weight)
        if self._kept is not None:
            self._kept[b] = shard
        return shard

    def __iter__(self) -> Iterator[Shard]:
        return (self[b] for b in range(len(self)))


def even_cuts(n_rows: int, n_shards: int) -> np.ndarray:
    """Row bounds of shards with equal numbers of rows, as nearly as can be."""
    n_shards = max(1, min(n_shards, n_rows))
    return np.arange(n_shards + 1) * n_rows // n_shards


def cuts_by_entries(indptr: np.ndarray, entries: int = ENTRIES_PER_SHARD) -> np.ndarray:
    """Row bounds of shards that hold about `entries` entries each; a longer row is a shard of its own."""
    n_rows = len(indptr) - 1
    n_shards = max(1, -(-int(indptr[-1]) // entries))
    at = np.searchsorted(indptr, np.arange(1, n_shards) * entries)
    return np.unique(np.concatenate([[0], at, [n_rows]]))
