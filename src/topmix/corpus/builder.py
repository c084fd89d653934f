"""Collect rows block by block, in memory or in a file that is larger than memory.

Blocks are joined to parts of some megabytes. Parts stay in memory, or go to a temporary file without a name in the
folder of the final file. `finish` reads them part by part, renumbers the columns if asked, and makes the corpus.
"""

from __future__ import annotations

import os
import shutil
import tempfile
import weakref
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import partial
from itertools import islice
from pathlib import Path
from typing import IO, Generic, Self, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from topmix.base.atomic import check_plain_file
from topmix.base.checks import CorpusError
from topmix.base.component import is_whole
from topmix.base.paths import is_remote, path_of
from topmix.corpus.counts import MAX_WORDS, CorpusRows, as_rows, check_lengths, check_n_words, tidy
from topmix.corpus.store import Part, open_store, write_store
from topmix.corpus.vocabulary import Strings, starts_of

# Entries of a part in a file, 16 MB. In memory a part is above the largest block that malloc of glibc keeps for itself
# when it is freed (32 MB), so that its memory goes back to the system.
FILE_ENTRIES, MEMORY_ENTRIES = 1 << 21, 1 << 24
BLOCK_ROWS = 1 << 12  # documents that are Python objects at a time


C = TypeVar("C")  # a corpus
Row = Mapping[int, float] | Iterable[tuple[int, float]]


class RowBuilder(Generic[C]):
    """Collects blocks of rows; `finish` turns them into a corpus.

    With a path, memory stays bounded: the appended rows are kept in a temporary file, and the finished corpus is mapped
    from the final file. Without a path, more than `most_entries` go to a folder of the system for temporary files
    (TMPDIR), which is removed with the last corpus of it.
    """

    # Makes a corpus of rows, the number of words, their vocabulary, names and meta: corpus.py says how.
    made: Callable[[CorpusRows, int, Sequence[str] | None, Sequence[str] | None, Mapping[str, object] | None], C]

    def __init__(self, path: str | os.PathLike[str] | None = None, *, most_entries: int | None = None) -> None:
        self._most_entries = most_entries
        self._blocks: list[Part] = []  # that are not in a part yet
        self._parts: list[Part] = []
        self._file: IO[bytes] | None = None
        self._begins: list[int] = []  # of the parts in the file
        self._path: Path | None = None
        self._folder: Path | None = None
        self._n_docs = self._n_entries = self._n_entries_in_blocks = 0
        self._max_id = -1
        self._is_named = self._untidy = self._finished = False
        if path is not None:
            check_plain_file(path)
            self._use_file(path_of(path))

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
        if n_rows and self._n_docs and (names is not None) != self._is_named:
            raise CorpusError(
                f"row {self._n_docs}: some blocks have names and others do not; give names for all or none"
            )
        if not tidy_later:
            rows = tidy(*rows, MAX_WORDS, first_row=self._n_docs)
        self._untidy |= tidy_later
        self._is_named |= names is not None
        self._max_id = max(self._max_id, int(rows[1].max(initial=-1)))
        self._blocks.append(Part.of(rows, None if names is None else Strings.pack(list(names), "name")))
        self._n_docs += n_rows
        self._n_entries += len(rows[1])
        self._n_entries_in_blocks += len(rows[1])
        if self._file is None and self._most_entries is not None and self._n_entries > self._most_entries:
            self._folder = Path(tempfile.mkdtemp(prefix="topmix-"))
            self._use_file(self._folder / "rows.topmix")
        if self._n_entries_in_blocks >= (MEMORY_ENTRIES if self._file is None else FILE_ENTRIES):
            self._end_part()

    def append_documents(self, rows: Iterable[Row], names: Sequence[str] | None) -> None:
        """Add documents that come one by one."""
        source, d = iter(rows), 0
        while chunk := list(islice(source, BLOCK_ROWS)):
            lengths: list[int] = []
            index: list[int] = []
            value: list[float] = []
            for n, row in enumerate(chunk, d):
                before = len(index)
                try:
                    for word, count in row.items() if isinstance(row, Mapping) else row:
                        if not is_whole(word):
                            raise TypeError(f"{word!r} is not a word id, which is an integer")
                        index.append(int(word))
                        value.append(count)
                except (TypeError, ValueError) as error:
                    raise CorpusError(f"row {n}: expected pairs (word id, count) or a mapping: {error}") from error
                lengths.append(len(index) - before)
            try:
                block = as_rows(starts_of(lengths), np.array(index, np.int64), np.array(value, np.float64))
            except (TypeError, ValueError, OverflowError) as error:
                raise CorpusError(f"rows {d} to {d + len(chunk) - 1}: {error}") from error
            self.append(*block, names=None if names is None else names[d : d + len(chunk)])
            d += len(chunk)
        if names is not None and len(names) != d:
            raise CorpusError(f"there are {len(names)} names for {d} documents")

    def finish(
        self,
        vocabulary: Sequence[str] | None,
        n_words: int | None = None,
        *,
        remap: np.ndarray | None = None,
        meta: Mapping[str, object] | None = None,
    ) -> C:
        """The corpus of all appended rows.

        `remap[old id]` is the new id of a word, or -1 to drop the word. Without a vocabulary and without `n_words`, the
        number of words is the largest id that occurs plus one.
        """
        self._check_open()
        if self._untidy and remap is None:
            raise ValueError("rows were appended with tidy_later=True: finish needs a remap")
        if remap is not None and (remap.ndim != 1 or remap.dtype.kind not in "iu" or len(remap) <= self._max_id):
            raise CorpusError(f"remap must be a one-dimensional array of at least {self._max_id + 1} integers")
        seen = self._max_id + 1 if remap is None else int(max(remap.max(initial=-1), -1)) + 1
        if vocabulary is not None and n_words is not None and n_words != len(vocabulary):
            raise CorpusError(f"the vocabulary has {len(vocabulary)} words, but n_words is {n_words}")
        n_words = seen if n_words is None else n_words
        n_words = check_n_words(n_words if vocabulary is None else len(vocabulary))
        if seen > n_words:
            raise CorpusError(f"word id {seen - 1} occurs, but there are only {n_words} words")
        columns = None if remap is None else np.ascontiguousarray(remap, np.int64)
        words = None if vocabulary is None else Strings.pack(vocabulary, "word")
        self._end_part()
        parts = partial(self._renumbered, columns, n_words)
        if self._path is None:
            part = _joined(list(parts()))
            names = Strings(part.names, starts_of(part.name_lengths)) if self._is_named else None
            corpus = self.made(CorpusRows(part.rows()), n_words, words, names, meta)
        else:
            write_store(self._path, parts, n_words, is_named=self._is_named, vocabulary=words, meta=meta or {})
            rows, vocabulary, names, meta = open_store(self._path, verify=False)
            corpus = self.made(rows, n_words, vocabulary, names, meta)
            if self._folder is not None:
                weakref.finalize(rows.file, shutil.rmtree, self._folder, True)
                self._folder = None
        self.close()
        return corpus

    def close(self) -> None:
        """Drop the appended rows and remove the temporary files."""
        self._finished = True
        self._blocks, self._parts = [], []
        if self._file is not None:
            with suppress(OSError):  # a full disk: what was not written yet is not wanted any more
                self._file.close()
        if self._folder is not None:
            shutil.rmtree(self._folder, ignore_errors=True)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _check_open(self) -> None:
        if self._finished:
            raise RuntimeError("this builder is finished or closed: create a new one")

    def _use_file(self, path: Path) -> None:
        """From now on, parts go to a file."""
        self._path = path
        folder = None if is_remote(path) else path.parent
        self._file = tempfile.TemporaryFile(dir=folder, buffering=1 << 20)  # noqa: SIM115
        weakref.finalize(self, self._file.close)

    def _end_part(self) -> None:
        if self._blocks:
            self._parts.append(_joined(self._blocks))
            self._n_entries_in_blocks = 0
        while self._file is not None and self._parts:
            self._begins.append(self._file.seek(0, os.SEEK_END))
            for array in self._parts.pop(0):
                np.save(self._file, array)

    def _renumbered(self, columns: NDArray[np.int64] | None, n_words: int) -> Iterator[Part]:
        """All parts with new column numbers. Those in memory are given up one by one."""
        first_row = 0
        for begin in self._begins if self._file is not None else range(len(self._parts)):
            if self._file is None:
                part = self._parts.pop(0)
            else:
                self._file.seek(begin)
                part = Part(*(np.load(self._file) for _ in Part._fields))
            if columns is not None:
                indptr, words, counts = tidy(*part.rows(), n_words, remap=columns, first_row=first_row)
                part = part._replace(lengths=np.diff(indptr), words=words, counts=counts)
            first_row += len(part.lengths)
            yield part


def _joined(parts: list[Part]) -> Part:
    """One part of all of them, which are given up. Each array is given up when it is copied: np.concatenate would hold
    all of them twice."""
    columns = [list(column) for column in zip(*parts)] or [list[np.ndarray]() for _ in Part._fields]
    parts.clear()
    wholes = []
    for arrays, dtype in zip(columns, (np.int64, np.int32, np.float32, np.int64, np.uint8)):
        whole, end = np.empty(sum(map(len, arrays)), dtype), 0
        if len(arrays) == 1:
            whole = arrays.pop()
        arrays.reverse()
        while arrays:
            array = arrays.pop()
            whole[end : end + len(array)] = array
            end += len(array)
        wholes.append(whole)
    return Part(*wholes)
