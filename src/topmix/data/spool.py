"""Arrays that grow, in memory or in temporary files."""

from __future__ import annotations

import os
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

from topmix.data.rows import Rows
from topmix.data.strings import Strings

T = TypeVar("T", bound=np.generic)


class Spool(Generic[T]):
    """An array that grows: a list of blocks in memory, or a temporary file."""

    def __init__(self, dtype: type[T] | np.dtype[T], path: Path | None) -> None:
        self.dtype = np.dtype(dtype)
        self.last: Any = 0
        self.size = 0
        self._path = path
        self._blocks: list[NDArray[T]] = []
        self._room: NDArray[T] | None = None
        self._file = None if path is None else open(path, "xb", buffering=1 << 20)  # noqa: SIM115

    def extend(self, block: NDArray[T]) -> None:
        if not len(block):
            return
        self.last = block[-1]
        self.size += len(block)
        if self._file is None:
            self._blocks.append(block)
        else:
            self._file.write(np.ascontiguousarray(block).data)

    def room(self, n: int) -> NDArray[T] | None:
        """Memory for n values; None where they go to a file. Whoever extends by its parts, in order, saves a copy."""
        if self._file is None:
            self._room = np.empty(n, self.dtype)
        return self._room

    def blocks(self) -> list[NDArray[T]]:
        """What is in memory, as it came, without empty blocks."""
        return self._blocks

    def array(self) -> NDArray[T]:
        """All values so far: in memory, or mapped from the file."""
        if self._file is None:
            if self._room is not None:
                used = self._room[: self.size]
                self._blocks = [used if 4 * self.size > 3 * len(self._room) else used.copy()]  # waste at most a third
                self._room = None
            if len(self._blocks) != 1:
                self._blocks = [np.concatenate(self._blocks) if self._blocks else np.empty(0, self.dtype)]
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
