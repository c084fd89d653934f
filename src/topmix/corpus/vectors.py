"""Shards of rows of numbers. The rows stay where they are, in memory or on disk, until a kernel reads them. Rows of a
mapped file go to other processes as the path of the file and their numbers."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass, field, fields, replace
from functools import cached_property, lru_cache

import numpy as np
import scipy.sparse as sp
from numpy.typing import DTypeLike

from topmix.base.checks import CorpusError
from topmix.base.paths import is_remote
from topmix.base.remote_file import local_copy, url_behind
from topmix.corpus.rows import SparseArray, mapped_root, sums_between

MAPPED_FILES = 8  # that a process keeps open, of each kind


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
        path = local_copy(self.path) if is_remote(self.path) else self.path
        try:
            about = os.stat(path)
        except OSError as error:
            raise CorpusError(
                f"{self.path}: this machine cannot read the table: {error.strerror}. Every machine that computes needs "
                "the file under the same path, or pass a URL such as s3://"
            ) from error
        if about.st_size < self.offset + int(np.prod(self.shape, dtype=np.int64)) * np.dtype(self.dtype).itemsize:
            raise CorpusError(f"{self.path}: has {about.st_size} bytes, too few for rows of {self.shape}")
        return mapped_array(replace(self, path=str(path)), about.st_mtime_ns)


@lru_cache(maxsize=MAPPED_FILES)
def mapped_array(of: MappedArray, changed: int) -> np.ndarray:
    return np.memmap(of.path, of.dtype, "r", of.offset, of.shape).view(np.ndarray)


@dataclass(frozen=True)
class VectorShard:
    """Rows that are visited together."""

    data: np.ndarray | SparseArray  # [N, D] float32 or float64, perhaps mapped from a file
    rows: slice | np.ndarray
    weight: np.ndarray | None = None  # [rows] float64

    @cached_property
    def cols(self) -> np.ndarray:
        return np.arange(self.data.shape[1], dtype=np.int32)

    @cached_property
    def n_rows(self) -> int:
        return len(range(*self.rows.indices(len(self.data)))) if isinstance(self.rows, slice) else len(self.rows)

    def rows_as(self, dtype: DTypeLike) -> np.ndarray:
        """[rows, D], contiguous; a view if possible, else a copy."""
        return np.ascontiguousarray(self.data[self.rows], dtype)

    def sparse_rows(self) -> sp.csr_array:
        """[rows, D] of sparse rows."""
        assert isinstance(self.data, SparseArray)
        return self.data.part(self.rows).csr

    def in_place(self, dtype: DTypeLike) -> tuple[np.ndarray, np.ndarray | None]:
        """An array, and which of its rows are those of the shard, None for all: so kernels need no copy of rows that
        lie in memory."""
        x = self.data
        if isinstance(self.rows, slice) or type(x) is not np.ndarray or x.dtype != dtype or not x.flags.c_contiguous:
            return self.rows_as(dtype), None
        return x, np.asarray(self.rows, np.int64)

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
        if not isinstance(data, SparseArray) and (mapped := MappedArray.of(data)) is not None:
            return beside | {"data": mapped}
        part = data.part(self.rows) if isinstance(data, SparseArray) else np.ascontiguousarray(data[self.rows])
        return beside | {"data": part, "rows": slice(0, self.n_rows)}

    def __setstate__(self, state: dict[str, object]) -> None:
        data = state["data"]
        self.__dict__.update(state | {"data": data.open() if isinstance(data, MappedArray) else data})


@dataclass(frozen=True)
class GroupShard(VectorShard):
    """Groups that are visited together: their rows, group by group."""

    starts: np.ndarray = field(default_factory=lambda: np.zeros(1, np.int64))  # [groups + 1] where each begins

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
