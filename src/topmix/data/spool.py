"""Arrays that grow, in memory or in temporary files."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

from topmix.data.rows import Rows
from topmix.data.strings import Strings

LARGE = 1 << 26  # bytes: above the largest block that malloc of glibc keeps for itself when it is freed, 32 MB
T = TypeVar("T", bound=np.generic)


class Spool(Generic[T]):
    """An array that grows: a list of blocks in memory, or a temporary file."""

    def __init__(self, dtype: type[T] | np.dtype[T], path: Path | None) -> None:
        self.dtype = np.dtype(dtype)
        self.last: Any = 0
        self.size = 0
        self._path = path
        self._blocks: list[NDArray[T]] = []
        self._n_large = 0  # blocks at the beginning that were joined
        self._room: NDArray[T] | None = None
        self._file = None if path is None else open(path, "xb", buffering=1 << 20)  # noqa: SIM115

    def extend(self, block: NDArray[T]) -> None:
        if not len(block):
            return
        self.last = block[-1]
        self.size += len(block)
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
        """What is in memory, as it came, without empty blocks. Each is given up when the next is asked for."""
        blocks, self._blocks, self._n_large = deque(self._blocks), [], 0
        while blocks:
            yield blocks.popleft()

    def move_to(self, path: Path) -> None:
        """From memory into a temporary file, where it goes on growing."""
        file = open(path, "xb", buffering=1 << 20)  # noqa: SIM115
        self._path, self._file = path, file
        for block in self.take_blocks():
            file.write(np.ascontiguousarray(block).data)

    def part(self, begin: int, end: int) -> NDArray[T]:
        """Values that lie in the file. They are read, not mapped: pages of a mapped file count as memory in use."""
        assert self._file is not None
        assert self._path is not None
        self._file.flush()
        with open(self._path, "rb", buffering=0) as file:
            file.seek(begin * self.dtype.itemsize)
            return np.fromfile(file, self.dtype, end - begin)

    def array(self) -> NDArray[T]:
        """All values so far: in memory, or mapped from the file."""
        if self._file is None:
            if self._room is not None:
                used = self._room[: self.size]
                self._blocks = [used if 4 * self.size > 3 * len(self._room) else used.copy()]  # waste at most a third
                self._room = None
            if len(self._blocks) != 1:
                whole, n = np.empty(self.size, self.dtype), 0
                for block in self.take_blocks():  # np.concatenate would hold all of them twice
                    whole[n : n + len(block)] = block
                    n += len(block)
                self._blocks = [whole]
            return self._blocks[0]
        assert self._path is not None
        self._file.flush()
        if os.path.getsize(self._path) == 0:
            return np.empty(0, self.dtype)
        return np.asarray(np.memmap(self._path, self.dtype, mode="r"))

    def close(self) -> None:
        self._blocks = []
        if self._file is not None and self._path is not None:
            with suppress(OSError):  # a full disk: what was not written yet is not wanted any more
                self._file.close()
            self._path.unlink(missing_ok=True)


class FileArray(Generic[T]):
    """A spool in a file, for those who read it from the beginning to the end, slice by slice."""

    def __init__(self, spool: Spool[T]) -> None:
        self._spool = spool

    def __len__(self) -> int:
        return self._spool.size

    def __getitem__(self, part: slice) -> NDArray[T]:
        begin, end, _ = part.indices(len(self))
        return self._spool.part(begin, end)


class NameSpool:
    """The names of documents while they are collected: UTF-8 bytes and offsets."""

    def __init__(self, text: Spool[np.uint8], offsets: Spool[np.int64]) -> None:
        self._text, self._offsets = text, offsets
        offsets.extend(np.zeros(1, np.int64))

    def extend(self, names: Sequence[str]) -> None:
        block = Strings.pack(list(names), "name")
        self._offsets.extend(block.offsets[1:] + np.int64(self._offsets.last))
        self._text.extend(block.text)

    def strings(self) -> Strings:
        return Strings(self._text.array(), self._offsets.array())


def extend_rows(rows: Rows, indptr: Spool[np.int64], index: Spool[np.int32], value: Spool[np.float32]) -> None:
    indptr.extend(rows[0][1:] + np.int64(indptr.last))
    index.extend(rows[1])
    value.extend(rows[2])


def close_all(spools: list[Spool[Any]]) -> None:
    for spool in spools:
        spool.close()
