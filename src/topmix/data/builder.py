"""Collect rows block by block, in memory or in a file that is larger than memory.

Each block is checked, sorted and then stored: in lists, or in temporary files in the folder of the final file.
`finish_parts` renumbers the columns if asked, writes the final file and removes the temporary files.

Rows that become too many for memory can move to a file of their own, which is removed with the last corpus of it.
"""

from __future__ import annotations

import os
import shutil
import tempfile
import weakref
from collections import deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from itertools import islice
from pathlib import Path
from typing import Generic, Self, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from topmix.data.atomic import check_plain_file, temporary_path
from topmix.data.counts import MAX_WORDS, CountRows, StoredRows, as_rows, check_lengths, check_n_words, tidy
from topmix.data.errors import CorpusError
from topmix.data.paths import path_of
from topmix.data.store import CorpusParts, open_store, write_store
from topmix.data.strings import Strings

BLOCK_ENTRIES = 1 << 21  # entries renumbered at a time: 16 MB of input and 16 MB of output
BLOCK_ROWS = 1 << 12  # documents that are Python objects at a time
LARGE = 1 << 26  # bytes: above the largest block that malloc of glibc keeps for itself when it is freed, 32 MB

Row = Mapping[int, float] | Iterable[tuple[int, float]]
T = TypeVar("T", bound=np.generic)


class Spool(Generic[T]):
    """An array that grows: a list of blocks in memory, or a temporary file."""

    def __init__(self, dtype: type[T] | np.dtype[T], path: Path | None) -> None:
        self.dtype = np.dtype(dtype)
        self._size = 0
        self._blocks: list[NDArray[T]] = []
        self._n_large = 0  # blocks at the beginning that were joined
        self._room: NDArray[T] | None = None
        self._file = None if path is None else open(path, "xb", buffering=1 << 20)  # noqa: SIM115

    def __len__(self) -> int:
        return self._size

    def extend(self, block: NDArray[T]) -> None:
        if not len(block):
            return
        self._size += len(block)
        if self._file is None:
            self._blocks.append(block)
            self._join_small()
        else:
            self._file.write(np.ascontiguousarray(block).data)

    def _join_small(self) -> None:
        """Blocks as they come are small, and what is freed of them stays with the process. Large ones go back."""
        if self._room is None and sum(block.nbytes for block in self._blocks[self._n_large :]) >= LARGE:
            large = np.concatenate(self._blocks[self._n_large :])
            del self._blocks[self._n_large :]
            self._blocks.append(large)
            self._n_large += 1

    def room(self, n: int) -> NDArray[T] | None:
        """Memory for n values; None where they go to a file. Whoever extends by its parts, in order, saves a copy."""
        if self._file is None:
            self._room = np.empty(n, self.dtype)
        return self._room

    def take_blocks(self) -> Iterator[NDArray[T]]:
        """All values: as they came, each block given up when the next is asked for; or of a file, of bounded size."""
        if self._file is not None:
            for begin in range(0, len(self), BLOCK_ENTRIES):
                yield self[begin : begin + BLOCK_ENTRIES]
        blocks, self._blocks, self._n_large = deque(self._blocks), [], 0
        while blocks:
            yield blocks.popleft()

    def move_to(self, path: Path) -> None:
        """From memory into a temporary file, where it goes on growing."""
        file = open(path, "xb", buffering=1 << 20)  # noqa: SIM115
        for block in self.take_blocks():
            file.write(np.ascontiguousarray(block).data)
        self._file = file

    def __getitem__(self, part: slice) -> NDArray[T]:
        """Values that lie in a file. They are read, not mapped: pages of a mapped file count as memory in use."""
        assert self._file is not None
        begin, end, _ = part.indices(len(self))
        self._file.flush()
        with open(self._file.name, "rb", buffering=0) as file:
            file.seek(begin * self.dtype.itemsize)
            return np.fromfile(file, self.dtype, end - begin)

    def array(self) -> NDArray[T]:
        """All values so far: in memory, or mapped from the file."""
        if self._file is not None:
            self._file.flush()
            if not len(self):
                return np.empty(0, self.dtype)
            return np.asarray(np.memmap(self._file.name, self.dtype, mode="r"))
        if self._room is not None:
            used = self._room[: len(self)]
            self._blocks = [used if 4 * len(self) > 3 * len(self._room) else used.copy()]  # waste at most a third
            self._room = None
        if len(self._blocks) != 1:
            whole, n = np.empty(len(self), self.dtype), 0
            for block in self.take_blocks():  # np.concatenate would hold all of them twice
                whole[n : n + len(block)] = block
                n += len(block)
            self._blocks = [whole]
        return self._blocks[0]

    def close(self) -> None:
        self._blocks = []
        if self._file is not None:
            with suppress(OSError):  # a full disk: what was not written yet is not wanted any more
                self._file.close()
            Path(self._file.name).unlink(missing_ok=True)


class RowBuilder:
    """Collects blocks of rows; `finish_parts` gives the parts of a corpus.

    With a path, memory stays bounded: the appended rows are kept in temporary files, and the finished corpus is mapped
    from the final file. The temporary files are removed when a `with` block ends or the builder is garbage-collected.

    Without a path, `most_entries` in memory are followed by a move to a folder of the system for temporary files
    (TMPDIR). The finished corpus is then mapped from a file there.
    """

    def __init__(self, path: str | os.PathLike[str] | None = None, *, most_entries: int | None = None) -> None:
        if path is not None:
            check_plain_file(path)
        self._path = None if path is None else path_of(path)
        self._most_entries = most_entries
        self._folder: Path | None = None
        self._spools: list[Spool] = []
        self._remove = weakref.finalize(self, _close_all, self._spools)
        self._indptr, self._index, self._value = self._row_spools()
        self._names: tuple[Spool[np.uint8], Spool[np.int64]] | None = None  # UTF-8 bytes and offsets
        self._n_docs = 0
        self._max_id = -1
        self._untidy = False
        self._finished = False

    def append(
        self,
        indptr: ArrayLike,
        index: ArrayLike,
        value: ArrayLike,
        names: Sequence[str] | None = None,
        *,
        tidy_later: bool = False,
    ) -> None:
        """Add rows of word ids and counts; indptr starts at 0. Rows are sorted, duplicates summed and zeros dropped.

        `tidy_later` leaves that to `finish`, which then needs a remap: it sorts the renumbered rows anyway.
        """
        self._check_open()
        rows = as_rows(indptr, index, value)
        n_rows = len(rows[0]) - 1
        check_lengths(n_rows, 0, None, names)
        if n_rows and self._n_docs and (names is None) != (self._names is None):
            raise CorpusError(
                f"row {self._n_docs}: some blocks have names and others do not; give names for all or none"
            )
        if tidy_later:
            self._untidy = True
        else:
            rows = tidy(*rows, MAX_WORDS, first_row=self._n_docs)
        if names is not None:
            self._append_names(Strings.pack(list(names), "name"))
        if len(rows[1]):
            self._max_id = max(self._max_id, int(rows[1].max()))
        _extend_rows(rows, self._indptr, self._index, self._value)
        self._n_docs += n_rows
        if self._path is None and self._most_entries is not None and len(self._index) > self._most_entries:
            self._move_to_file()

    def _append_names(self, names: Strings) -> None:
        if self._names is None:
            self._names = self._spool(np.uint8, "names"), self._spool(np.int64, "names_offsets")
            self._names[1].extend(np.zeros(1, np.int64))
        text, offsets = self._names
        offsets.extend(names.offsets[1:] + len(text))
        text.extend(names.text)

    def finish_parts(
        self,
        vocabulary: Sequence[str] | None,
        n_words: int | None = None,
        *,
        remap: np.ndarray | None = None,
        shift: int = 0,
        meta: Mapping[str, object] | None = None,
    ) -> CorpusParts:
        """The parts of a corpus of all appended rows. `CorpusBuilder.finish` says what the arguments are."""
        self._check_open()
        if self._untidy and remap is None:
            raise ValueError("rows were appended with tidy_later=True: finish needs a remap")
        if shift:
            self._shift(shift)
        n_words = self._n_words(vocabulary, n_words, remap)
        if remap is not None:
            self._renumber(np.ascontiguousarray(remap, np.int64), n_words)
        words = None if vocabulary is None else Strings.pack(vocabulary, "word")
        names = None if self._names is None else Strings(self._names[0].array(), self._names[1].array())
        if self._path is None:
            arrays = self._indptr.array(), self._index.array(), self._value.array()
            parts = CorpusParts(arrays, n_words, words, names, meta)
        else:
            rows = self._indptr.array(), self._index, self._value
            write_store(self._path, *rows, n_words, vocabulary=words, names=names, meta=meta or {})
            del names, rows  # mapped from files that close removes
            parts = open_store(self._path, verify=False)
        if self._folder is not None and isinstance(parts.rows, StoredRows):
            weakref.finalize(parts.rows.file, shutil.rmtree, self._folder, ignore_errors=True)
            self._folder = None
        self.close()
        return parts

    def close(self) -> None:
        """Drop the appended rows and remove the temporary files."""
        self._finished = True
        self._remove()
        if self._folder is not None:
            shutil.rmtree(self._folder, ignore_errors=True)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _check_open(self) -> None:
        if self._finished:
            raise RuntimeError("this builder is finished or closed: create a new one")

    def _spool(self, dtype: type[T], part: str) -> Spool[T]:
        spool = Spool(dtype, None if self._path is None else temporary_path(self._path, part))
        self._spools.append(spool)
        return spool

    def _move_to_file(self) -> None:
        self._folder = Path(tempfile.mkdtemp(prefix="topmix-"))
        self._path = self._folder / "rows.topmix"
        for spool in self._spools:
            spool.move_to(temporary_path(self._path, "moved"))

    def _row_spools(self) -> tuple[Spool[np.int64], Spool[np.int32], Spool[np.float32]]:
        indptr = self._spool(np.int64, "indptr")
        indptr.extend(np.zeros(1, np.int64))
        return indptr, self._spool(np.int32, "index"), self._spool(np.float32, "value")

    def _n_words(self, vocabulary: Sequence[str] | None, n_words: int | None, remap: np.ndarray | None) -> int:
        """The number of words of the corpus, checked against the appended ids."""
        if remap is not None and (remap.ndim != 1 or remap.dtype.kind not in "iu" or len(remap) <= self._max_id):
            raise CorpusError(f"remap must be a one-dimensional array of at least {self._max_id + 1} integers")
        seen = self._max_id + 1 if remap is None else int(max(remap.max(initial=-1), -1)) + 1
        if vocabulary is not None:
            if n_words is not None and n_words != len(vocabulary):
                raise CorpusError(f"the vocabulary has {len(vocabulary)} words, but n_words is {n_words}")
            n_words = len(vocabulary)
        n_words = check_n_words(seen if n_words is None else n_words)
        if seen > n_words:
            raise CorpusError(f"word id {seen - 1} occurs, but there are only {n_words} words")
        return n_words

    def _shift(self, by: int) -> None:
        """Subtract a number from all ids: a remap would be as long as the largest id, which may be one of few."""
        old, self._index = self._index, self._spool(np.int32, "index")
        self._max_id = max(self._max_id - by, -1)
        for block in old.take_blocks():
            self._index.extend(block - np.int32(by))
        old.close()

    def _renumber(self, remap: NDArray[np.int64], n_words: int) -> None:
        """Rewrite all rows with new column numbers, one block at a time."""
        indptr = self._indptr.array()
        new = self._row_spools()
        room = new[1].room(len(self._index)), new[2].room(len(self._value))
        for begin, end, index, value in self._row_blocks(indptr):
            rows = (indptr[begin : end + 1] - indptr[begin], index, value)
            free = None if room[0] is None or room[1] is None else (room[0][len(new[1]) :], room[1][len(new[2]) :])
            _extend_rows(tidy(*rows, n_words, remap=remap, first_row=begin, room=free), *new)
            del rows, index, value
        del indptr  # mapped from a file that close removes
        for spool in (self._indptr, self._index, self._value):
            spool.close()
        self._indptr, self._index, self._value = new

    def _row_blocks(
        self, indptr: NDArray[np.int64]
    ) -> Iterator[tuple[int, int, NDArray[np.int32], NDArray[np.float32]]]:
        """(first row, last row + 1, index, value): as appended where that is in memory, otherwise of bounded size."""
        begin = 0
        if self._path is None:
            for index, value in zip(self._index.take_blocks(), self._value.take_blocks(), strict=True):
                end = int(np.searchsorted(indptr, indptr[begin] + len(index), "left"))
                yield begin, end, index, value
                del index, value
                begin = end
            yield begin, self._n_docs, np.empty(0, np.int32), np.empty(0, np.float32)  # empty rows at the end
            return
        for begin, end in row_blocks(indptr):
            part = slice(int(indptr[begin]), int(indptr[end]))
            yield begin, end, self._index[part], self._value[part]


def row_blocks(indptr: NDArray[np.int64]) -> Iterator[tuple[int, int]]:
    """(first row, last row + 1) of consecutive blocks of about BLOCK_ENTRIES entries, and of at most as many rows."""
    begin, n_docs = 0, len(indptr) - 1
    while begin < n_docs:
        end = int(np.searchsorted(indptr, indptr[begin] + BLOCK_ENTRIES, "right")) - 1
        end = min(max(end, begin + 1), begin + BLOCK_ENTRIES, n_docs)
        yield begin, end
        begin = end


def build_from_rows(
    rows: Iterable[Row],
    vocabulary: Sequence[str] | None = None,
    names: Sequence[str] | None = None,
    *,
    n_words: int | None = None,
    out: str | os.PathLike[str] | None = None,
) -> CorpusParts:
    """The parts of a corpus from documents that come one by one."""
    with RowBuilder(out) as builder:
        source = iter(rows)
        d = 0
        while chunk := list(islice(source, BLOCK_ROWS)):
            part = None if names is None else names[d : d + len(chunk)]
            builder.append(*_pack(chunk, d), names=part)
            d += len(chunk)
        if names is not None and len(names) != d:
            raise CorpusError(f"there are {len(names)} names for {d} documents")
        return builder.finish_parts(vocabulary, n_words)


def _pack(chunk: list[Row], first_row: int) -> CountRows:
    indptr = np.zeros(len(chunk) + 1, np.int64)
    index: list[int] = []
    value: list[float] = []
    for n, row in enumerate(chunk):
        try:
            for word, count in row.items() if isinstance(row, Mapping) else row:
                if not isinstance(word, int | np.integer):
                    raise TypeError(f"{word!r} is not a word id, which is an integer")
                index.append(int(word))
                value.append(count)
        except (TypeError, ValueError) as error:
            raise CorpusError(f"row {first_row + n}: expected pairs (word id, count) or a mapping: {error}") from error
        indptr[n + 1] = len(index)
    try:
        return as_rows(indptr, np.array(index, np.int64), np.array(value, np.float64))
    except (TypeError, ValueError, OverflowError) as error:
        raise CorpusError(f"rows {first_row} to {first_row + len(chunk) - 1}: {error}") from error


def _extend_rows(rows: CountRows, indptr: Spool[np.int64], index: Spool[np.int32], value: Spool[np.float32]) -> None:
    indptr.extend(rows[0][1:] + len(index))
    index.extend(rows[1])
    value.extend(rows[2])


def _close_all(spools: list[Spool]) -> None:
    for spool in spools:
        spool.close()
