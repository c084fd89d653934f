"""Shards: rows that are visited together. A shard of a corpus has a vocabulary of its own.

The model gives a shard tables of shape [words of the shard, K]. So the tables stay small: they fit in cache, make small
messages to another machine, and a stochastic step changes only words of its shard. The cuts between shards depend on
the data and the parameters, never on the number of threads.

A shard of a saved corpus goes to other processes as a message: where the file is and which rows, never the rows.
Whoever receives it maps the file and reads for itself. A file is mapped once per process; one that was written again
since is mapped again.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from itertools import pairwise
from typing import Any, TypeAlias

import numpy as np

from topmix import _core
from topmix.base.checks import CorpusError
from topmix.base.paths import Version, file_version, path_of
from topmix.base.threads import threads
from topmix.corpus.corpus import Corpus
from topmix.corpus.design import DesignRows
from topmix.corpus.rows import GroupedRows, Rows, sums_between
from topmix.corpus.vectors import MAPPED_FILES, GroupShard, VectorShard, mapped_array

ENTRIES_PER_SHARD = 1 << 21  # about a second of work, because Ctrl-C is checked between shards


@dataclass(frozen=True)
class SavedShard:
    """A shard of a saved corpus that nobody has read yet."""

    path: str  # or the URL that it came from
    rows: slice | np.ndarray
    n_docs: int  # of the corpus
    nnz: int
    weight: np.ndarray | None = None
    number: int = 0
    design: DesignRows | None = None

    def read(self) -> Shard:
        """The rows, as they lie in the file on this machine."""
        path, why = path_of(self.path), "there is no such file"
        try:
            version = file_version(path)
        except OSError as error:
            version, why = None, error.strerror or str(error)
        if version is None:
            raise CorpusError(
                f"{path}: this machine cannot read the corpus: {why}. Every machine that computes needs the "
                "file under the same path: put it on storage that all of them see, or pass a URL such as s3://"
            )
        corpus = _mapped_corpus(str(path), version)
        if (corpus.n_docs, corpus.nnz) != (self.n_docs, self.nnz):
            raise CorpusError(
                f"{path}: has {corpus.n_docs} documents and {corpus.nnz} entries, expected {self.n_docs} and "
                f"{self.nnz}: it is another corpus than the one that the fit began with"
            )
        rows = corpus[self.rows].with_columns(design=self.design)
        return Shard.of(rows, self.weight, self.number, self)


@lru_cache(maxsize=MAPPED_FILES)
def _mapped_corpus(path: str, version: Version) -> Corpus:
    """Without names, which no shard has. The sender has verified it, and rows are checked when they are taken out."""
    return Corpus.open(path, verify=False).named(None)


def forget_mapped_files() -> None:
    """For those who have used what they mapped."""
    _mapped_corpus.cache_clear()
    mapped_array.cache_clear()


@dataclass(frozen=True)
class Shard:
    """Rows with local word ids: entry i is the word cols[index[i]]."""

    cols: np.ndarray  # [n] int32 ascending, global ids of the words of the shard
    indptr: np.ndarray  # [rows + 1] int64
    index: np.ndarray  # [nnz] int32, local ids
    value: np.ndarray  # [nnz] float32
    starts: np.ndarray  # [n + 1] int64, where each word's entries begin in `order`
    order: np.ndarray  # [nnz] int32, entries word by word
    weight: np.ndarray | None = None  # [rows] float64
    source: SavedShard | None = None  # the file that the rows were read from
    number: int = 0  # which of the shards this is: steps that draw random numbers tell their rows apart by it
    design: DesignRows | None = None  # what the priors of the rows depend on

    @classmethod
    def of(
        cls, corpus: Corpus, weight: np.ndarray | None = None, number: int = 0, source: SavedShard | None = None
    ) -> Shard:
        cols, local, starts, order = _core.localise(corpus.index, corpus.n_words)
        return cls(cols, corpus.indptr, local, corpus.value, starts, order, weight, source, number, corpus.design)

    def __reduce__(self) -> tuple[object, ...]:
        """Rows of a saved corpus pickle as the path of the file and their numbers."""
        if self.source is not None:
            return self.source.read, ()
        rows = self.indptr, self.index, self.value
        return Shard, (self.cols, *rows, self.starts, self.order, self.weight, None, self.number, self.design)

    @property
    def n_rows(self) -> int:
        return len(self.indptr) - 1

    def pieces(self, n_rows: int) -> Iterator[Shard]:
        """The shard itself. Sparse rows are small and need not be divided."""
        yield self

    @cached_property
    def lengths(self) -> np.ndarray:
        """[rows] float64, tokens of each row."""
        return row_sums(self.indptr, self.value)

    @property
    def native(self) -> _core.Shard:
        """The same arrays, for kernels. Made once, without the lock of `cached_property`: texts come one by one."""
        made: _core.Shard | None = vars(self).get("_native")
        if made is None:
            made = vars(self)["_native"] = _core.Shard(self.indptr, self.index, self.value, self.starts, self.order)
        return made

    @cached_property
    def word_order(self) -> _core.WordOrder:
        """The tokens of the shard word by word, for sampling. Counts must be whole numbers."""
        tokens = _core.TokenRows(self.indptr, self.index, self.value, len(self.cols))
        return _core.WordOrder(tokens, np.array([0, self.n_rows]), threads())

    @cached_property
    def row_of(self) -> np.ndarray:
        """[nnz] int32, the row of each entry."""
        return np.repeat(np.arange(self.n_rows, dtype=np.int32), np.diff(self.indptr))


def row_sums(indptr: np.ndarray, value: np.ndarray) -> np.ndarray:
    """[rows] float64"""
    return sums_between(value, indptr)


Batches = Sequence[slice | np.ndarray]  # the rows of each shard
DataShard: TypeAlias = Shard | VectorShard
SomeShard: TypeAlias = Any  # one of these, as the data is


class Shards(Sequence[SomeShard]):
    """The shards of a corpus or of rows of numbers.

    Shards of a corpus in memory are made once and kept. Shards of a mapped corpus or of rows of numbers are made at
    each visit, and so are those that are visited only once (keep=False).
    """

    def __init__(
        self,
        corpus: Corpus | Rows,
        rows: Sequence[slice | np.ndarray],
        weight: np.ndarray | None = None,
        *,
        keep: bool = True,
    ):
        self.corpus, self.rows, self.weight = corpus, rows, weight
        is_weighed = weight is not None and not isinstance(corpus, GroupedRows)  # each group counts as one
        self.n_rows = float(weight.sum()) if is_weighed and weight is not None else float(len(corpus))
        self._kept: dict[int, Shard] | None = {} if keep and corpus.path is None else None

    def __len__(self) -> int:
        return len(self.rows)

    def __getitem__(self, b: int) -> SomeShard:  # type: ignore[override]
        if self._kept is not None and b in self._kept:
            return self._kept[b]
        rows = self.rows[b]
        if isinstance(self.corpus, GroupedRows):
            of_groups, starts = self.corpus.of_groups(rows)
            weight = None if self.weight is None else self.weight[of_groups]
            return GroupShard(self.corpus.data, of_groups, weight, starts)
        weight = None if self.weight is None else self.weight[rows]
        if isinstance(self.corpus, Rows):
            return VectorShard(self.corpus.data, rows, weight)
        shard = Shard.of(self.corpus[rows], weight, b, self._saved(b))
        if self._kept is not None:
            self._kept[b] = shard
        return shard

    def __iter__(self) -> Iterator[SomeShard]:
        return (self[b] for b in range(len(self)))

    def message(self, b: int) -> SomeShard:
        """What to send to somebody who is to visit shard b: the shard, or a SavedShard, for which nothing is read."""
        return self._saved(b) or self[b]

    def _saved(self, b: int) -> SavedShard | None:
        """None where the rows are in memory, or rows of numbers."""
        corpus, rows = self.corpus, self.rows[b]
        if isinstance(corpus, Rows) or corpus.path is None:
            return None
        weight = None if self.weight is None else self.weight[rows]
        design = None if corpus.design is None else corpus.design[rows]
        where = corpus.url or os.path.abspath(corpus.path)
        return SavedShard(where, rows, corpus.n_docs, corpus.nnz, weight, b, design)


def in_order(corpus: Corpus | Rows, entries: int = ENTRIES_PER_SHARD) -> list[slice | np.ndarray]:
    """Shards of consecutive rows, about `entries` entries each, for passes without updates between shards."""
    if isinstance(corpus, Rows):  # dense rows are computed in pieces, so a shard may have more entries
        step = max(1, 8 * entries // max(corpus.shape[1], 1))
        starts = corpus.starts if isinstance(corpus, GroupedRows) else None
    else:
        step, starts = entries, corpus.offsets()
    at = np.arange(step, len(corpus) if starts is None else starts[-1], step)
    if starts is not None:
        at = np.searchsorted(starts, at)
    cuts = np.unique(np.concatenate([[0], at, [len(corpus)]])).tolist()
    return [slice(a, b) for a, b in pairwise(cuts)] or [slice(0, 0)]


def at_random(corpus: Corpus | Rows, n_shards: int, rng: np.random.Generator) -> list[slice | np.ndarray]:
    """Shards of random rows, so that each is a sample of the whole: files are often sorted by date or class.

    Runs of up to 16 consecutive rows stay together, because a mapped file is read in pages.
    """
    n_rows = len(corpus)
    n_shards = max(1, min(n_shards, n_rows))
    run = int(np.clip(n_rows // (8 * n_shards), 1, 16))
    order = rng.permutation(-(-n_rows // run))
    hands = [np.sort(order[b::n_shards]) for b in range(n_shards)]
    rows = [(hand[:, None] * run + np.arange(run)).ravel() for hand in hands]
    return [r[r < n_rows] for r in rows]
