"""Collect rows block by block, in memory or in a file that is larger than memory.

Each block is checked, sorted and then stored: in lists, or in temporary files in the folder of the final file.
`finish` renumbers the columns if asked, writes the final file and removes the temporary files.

Rows that become too many for memory can move to a file of their own, which is removed with the last corpus of it.
"""

from __future__ import annotations

import os
import shutil
import tempfile
import weakref
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, Self, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from topmix.data.atomic import check_plain_file, temporary_path
from topmix.data.errors import CorpusError
from topmix.data.parts import CorpusParts
from topmix.data.rows import MAX_WORDS, as_rows, check_lengths, check_n_words, tidy
from topmix.data.spool import FileArray, NameSpool, Spool, close_all, extend_rows
from topmix.data.store import open_store, write_store
from topmix.data.stored_rows import StoredRows
from topmix.data.strings import Strings

BLOCK_ENTRIES = 1 << 21  # entries renumbered at a time: 16 MB of input and 16 MB of output
T = TypeVar("T", bound=np.generic)


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
        self._path = None if path is None else Path(path)
        self._most_entries = most_entries
        self._folder: Path | None = None
        self._spools: list[Spool[Any]] = []
        self._remove = weakref.finalize(self, close_all, self._spools)
        self._indptr, self._index, self._value = self._row_spools()
        self._names: NameSpool | None = None
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
            if self._names is None:
                self._names = NameSpool(self._spool(np.uint8, "names"), self._spool(np.int64, "names_offsets"))
            self._names.extend(names)
        if len(rows[1]):
            self._max_id = max(self._max_id, int(rows[1].max()))
        extend_rows(rows, self._indptr, self._index, self._value)
        self._n_docs += n_rows
        if self._path is None and self._most_entries is not None and self._index.size > self._most_entries:
            self._move_to_file()

    def finish_parts(
        self,
        vocabulary: Sequence[str] | None,
        n_words: int | None = None,
        *,
        remap: NDArray[Any] | None = None,
        shift: int = 0,
        meta: Mapping[str, Any] | None = None,
    ) -> CorpusParts:
        """The parts of a corpus of all appended rows.

        `remap[old id]` is the new id of a word, or -1 to drop the word; `shift` is subtracted from all ids instead.
        Without a vocabulary and without `n_words`, the number of words is the largest id that occurs plus one.
        """
        self._check_open()
        if self._untidy and remap is None:
            raise ValueError("rows were appended with tidy_later=True: finish needs a remap")
        if shift:
            self._shift(shift)
        n_words = self._n_words(vocabulary, n_words, remap)
        if remap is not None:
            self._renumber(np.ascontiguousarray(remap, np.int64), n_words)
        words = None if vocabulary is None else Strings.pack(vocabulary, "word")
        names = None if self._names is None else self._names.strings()
        if self._path is None:
            arrays = self._indptr.array(), self._index.array(), self._value.array()
            parts = CorpusParts(arrays, n_words, words, names, meta)
        else:
            entries = FileArray(self._index), FileArray(self._value)
            write_store(
                self._path, self._indptr.array(), *entries, n_words, vocabulary=words, names=names, meta=meta or {}
            )
            del names
            parts = open_store(self._path, verify=False)
        if self._folder is not None and isinstance(parts.rows, StoredRows):
            weakref.finalize(parts.rows.file, shutil.rmtree, self._folder, ignore_errors=True)
            self._folder = None
        self._finished = True
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

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
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

    def _n_words(self, vocabulary: Sequence[str] | None, n_words: int | None, remap: NDArray[Any] | None) -> int:
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
        if self._path is None:
            for block in old.take_blocks():
                self._index.extend(block - np.int32(by))
        else:
            for begin in range(0, old.size, BLOCK_ENTRIES):
                self._index.extend(old.part(begin, min(begin + BLOCK_ENTRIES, old.size)) - np.int32(by))
        old.close()

    def _renumber(self, remap: NDArray[np.int64], n_words: int) -> None:
        """Rewrite all rows with new column numbers, one block at a time."""
        indptr = self._indptr.array()
        new = self._row_spools()
        room = new[1].room(self._index.size), new[2].room(self._value.size)
        for begin, end, index, value in self._row_blocks(indptr):
            rows = (indptr[begin : end + 1] - indptr[begin], index, value)
            free = None if room[0] is None or room[1] is None else (room[0][new[1].size :], room[1][new[2].size :])
            extend_rows(tidy(*rows, n_words, remap=remap, first_row=begin, room=free), *new)
            del rows, index, value
        del indptr  # mapped from a file that close removes
        for spool in (self._indptr, self._index, self._value):
            spool.close()
        self._indptr, self._index, self._value = new

    def _row_blocks(self, indptr: NDArray[np.int64]) -> Iterator[tuple[int, int, NDArray[Any], NDArray[Any]]]:
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
        while begin < self._n_docs:
            first = int(indptr[begin])
            end = int(np.searchsorted(indptr, first + BLOCK_ENTRIES, "right")) - 1
            end = min(max(end, begin + 1), begin + BLOCK_ENTRIES, self._n_docs)
            last = int(indptr[end])
            yield begin, end, self._index.part(first, last), self._value.part(first, last)
            begin = end
