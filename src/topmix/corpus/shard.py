"""Shards: rows that are visited together. A shard of a corpus has a vocabulary of its own.

The model gives a shard tables of shape [words of the shard, K]. So the tables stay small: they fit in cache, make small
messages to another machine, and a stochastic step changes only words of its shard. The cuts between shards depend on
the data and the parameters, never on the number of threads.

Rows of numbers stay where they are, in memory or on disk, until a kernel reads them.

A shard of a saved corpus or of a mapped array goes to other processes as a message: where the file is and which rows,
never the rows. Whoever receives it maps the file and reads for itself. A file is mapped once per process; one that was
written again since is mapped again.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, fields, replace
from functools import cached_property, lru_cache
from itertools import pairwise
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import scipy.sparse as sp
from numpy.typing import DTypeLike, NDArray

from topmix import _core
from topmix.base.checks import CorpusError
from topmix.base.paths import Version, file_version, is_remote, path_of
from topmix.base.remote_file import local_copy, url_behind
from topmix.base.threads import threads
from topmix.corpus.corpus import Corpus
from topmix.corpus.design import DesignRows
from topmix.corpus.rows import GroupedRows, Rows, SparseArray, mapped_root, sums_between, whole

ENTRIES_PER_SHARD = 1 << 21  # about a second of work, because Ctrl-C is checked between shards
MAPPED_FILES = 8  # that a process keeps open, of each kind


def _version_here(path: Path, what: str) -> Version:
    """Of a file that another process has named."""
    try:
        version, why = file_version(path), "there is no such file"
    except OSError as error:
        version, why = None, error.strerror or str(error)
    if version is None:
        raise CorpusError(
            f"{path}: this machine cannot read the {what}: {why}. Every machine that computes needs the file under the "
            "same path: put it on storage that all of them see, or pass a URL such as s3://"
        )
    return version


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
        path = path_of(self.path)
        corpus = _mapped_corpus(str(path), _version_here(path, "corpus"))
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
    _mapped_array.cache_clear()


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


@dataclass(frozen=True)
class MappedArray:
    """A whole array of a mapped file."""

    path: str  # or the URL that it came from
    dtype: str
    shape: tuple[int, ...]
    offset: int  # bytes

    @classmethod
    def of(cls, array: np.ndarray) -> MappedArray | None:
        """None where the array is in memory, or not laid out as a file is."""
        root = mapped_root(array)
        if root is None or root.filename is None or not array.flags.c_contiguous:
            return None
        begin = array.__array_interface__["data"][0] - root.__array_interface__["data"][0]
        path = os.path.abspath(root.filename)
        return cls(url_behind(path) or path, array.dtype.str, array.shape, root.offset + begin)

    def open(self) -> np.ndarray:
        path = local_copy(self.path) if is_remote(self.path) else Path(self.path)
        version = _version_here(path, "table")
        size = path.stat().st_size
        if size < self.offset + int(np.prod(self.shape, dtype=np.int64)) * np.dtype(self.dtype).itemsize:
            raise CorpusError(f"{self.path}: has {size} bytes, too few for rows of {self.shape}")
        return _mapped_array(replace(self, path=str(path)), version)


@lru_cache(maxsize=MAPPED_FILES)
def _mapped_array(of: MappedArray, version: Version) -> np.ndarray:
    return np.memmap(of.path, of.dtype, "r", of.offset, of.shape).view(np.ndarray)


@dataclass(frozen=True)
class VectorShard:
    """Rows that are visited together."""

    data: np.ndarray | SparseArray  # [N, D] float32 or float64, perhaps mapped from a file
    rows: slice | np.ndarray
    weight: np.ndarray | None = None  # [rows] float64
    starts: np.ndarray | None = None  # [groups + 1] where each begins, if they are in groups

    @cached_property
    def cols(self) -> np.ndarray:
        return np.arange(self.data.shape[1], dtype=np.int32)

    @cached_property
    def n_rows(self) -> int:
        return len(range(*self.rows.indices(len(self.data)))) if isinstance(self.rows, slice) else len(self.rows)

    def rows_as(self, dtype: DTypeLike) -> np.ndarray:
        """[rows, D], contiguous; a view if possible, else a copy."""
        return np.ascontiguousarray(whole(self.data)[self.rows], dtype)

    def sparse_rows(self) -> sp.csr_array:
        """[rows, D] of sparse rows."""
        assert isinstance(self.data, SparseArray)
        return self.data.csr[self.rows]

    def in_place(self, dtype: DTypeLike) -> tuple[np.ndarray, np.ndarray | None]:
        """An array, and which of its rows are those of the shard, None for all: so kernels need no copy of rows that
        lie in memory."""
        x = self.data
        if isinstance(self.rows, slice) or type(x) is not np.ndarray or x.dtype != dtype or not x.flags.c_contiguous:
            return self.rows_as(dtype), None
        return whole(x), np.asarray(self.rows, np.int64)

    def part(self, a: int, b: int) -> VectorShard:
        """Rows a to b of these."""
        rows = self.rows
        if isinstance(rows, slice) and not rows.step:
            rows = slice((rows.start or 0) + a, (rows.start or 0) + b)
        else:
            rows = (np.arange(len(self.data))[rows] if isinstance(rows, slice) else rows)[a:b]
        return VectorShard(self.data, rows, None if self.weight is None else self.weight[a:b])

    def pieces(self, n_rows: int) -> Iterator[VectorShard]:
        """Consecutive parts of at most n_rows rows, so that temporary arrays stay small."""
        if self.n_rows <= n_rows:
            yield self
            return
        for a in range(0, self.n_rows, n_rows):
            yield self.part(a, min(a + n_rows, self.n_rows))

    def __getstate__(self) -> dict[str, object]:
        """Rows of a mapped file pickle as the path of the file and their numbers; others as themselves, without the
        rest of the data."""
        data = self.data
        beside = {f.name: vars(self)[f.name] for f in fields(self)}
        if isinstance(data, SparseArray):
            data = SparseArray(data.csr[self.rows])
        elif (mapped := MappedArray.of(data)) is not None:
            return beside | {"data": mapped}
        else:
            data = np.ascontiguousarray(data[self.rows])
        return beside | {"data": data, "rows": slice(0, self.n_rows)}

    def __setstate__(self, state: dict[str, object]) -> None:
        data = state["data"]
        self.__dict__.update(state | {"data": data.open() if isinstance(data, MappedArray) else data})


@dataclass(frozen=True)
class GroupShard(VectorShard):
    """Groups that are visited together: their rows, group by group."""

    starts: np.ndarray = field(default_factory=lambda: np.zeros(1, np.int64))

    @property
    def n_groups(self) -> int:
        return len(self.starts) - 1

    @cached_property
    def lengths(self) -> np.ndarray:
        """[groups] float64, the weight of each group's rows."""
        if self.weight is None:
            return np.diff(self.starts).astype(np.float64)
        return sums_between(self.weight, self.starts)

    def in_groups(self, n_rows: int, n_groups: int) -> Iterator[tuple[slice, GroupShard]]:
        """Consecutive parts of whole groups, at most so many rows and groups, or one group; and which groups."""
        if self.n_rows <= n_rows and self.n_groups <= n_groups:
            yield slice(0, self.n_groups), self
            return
        first = 0
        while first < self.n_groups:
            begin = int(self.starts[first])
            last = int(np.searchsorted(self.starts, begin + n_rows, side="right")) - 1
            last = min(max(last, first + 1), first + n_groups, self.n_groups)
            part = self.part(begin, int(self.starts[last]))
            yield (
                slice(first, last),
                GroupShard(part.data, part.rows, part.weight, self.starts[first : last + 1] - begin),
            )
            first = last


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
        # Whose shards are read by those who visit them; None: rows are in memory, or rows of numbers
        self.saved = corpus if isinstance(corpus, Corpus) and corpus.path is not None else None
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
        corpus, rows = self.saved, self.rows[b]
        if corpus is None or corpus.path is None:
            return None
        weight = None if self.weight is None else self.weight[rows]
        design = None if corpus.design is None else corpus.design[rows]
        where = corpus.url or os.path.abspath(corpus.path)
        return SavedShard(where, rows, corpus.n_docs, corpus.nnz, weight, b, design)


def in_order(corpus: Corpus | Rows, entries: int = ENTRIES_PER_SHARD) -> list[slice | np.ndarray]:
    """Shards of consecutive rows, about `entries` entries each, for passes without updates between shards."""
    starts: NDArray[np.int64] | None
    if isinstance(corpus, Corpus):
        step, starts = entries, corpus.offsets()
    else:  # rows are computed in pieces, so a shard may have more entries
        step, starts = max(1, 8 * entries // max(corpus.shape[1], 1)), corpus.starts
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
