"""Many strings in two arrays, so that a vocabulary can be mapped from a file."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise
from typing import overload

import numpy as np
from numpy.typing import NDArray

from topmix.data.errors import CorpusError
from topmix.data.layout import MappedFile


class Strings(Sequence[str]):
    """A read-only list of strings: UTF-8 bytes, and where each string starts."""

    def __init__(self, text: NDArray[np.uint8], offsets: NDArray[np.int64], file: MappedFile | None = None) -> None:
        self.text = text  # [bytes]
        self.offsets = offsets  # [n + 1]: string i is text[offsets[i]:offsets[i + 1]]
        self.file = file  # that both are mapped from

    def __getstate__(self) -> dict[str, object]:
        self._ready(0, len(self.text))
        return self.__dict__ | {"file": None}

    @classmethod
    def pack(cls, strings: Iterable[str], what: str = "string") -> Strings:
        if isinstance(strings, Strings):
            return strings
        parts: Sequence[str | bytes] = list(strings)
        try:
            text = "".join(parts).encode()  # type: ignore[arg-type]
        except (TypeError, UnicodeEncodeError):
            _refuse(parts, what)
            raise
        if not text.isascii():  # otherwise a character is a byte
            parts = [part.encode() for part in parts]  # type: ignore[union-attr]
        offsets = np.zeros(len(parts) + 1, np.int64)
        np.cumsum(np.fromiter(map(len, parts), np.int64, len(parts)), out=offsets[1:])
        return cls(np.frombuffer(text, np.uint8), offsets)

    def __len__(self) -> int:
        return len(self.offsets) - 1

    @overload
    def __getitem__(self, i: int) -> str: ...
    @overload
    def __getitem__(self, i: slice) -> Strings: ...
    def __getitem__(self, i: int | slice) -> str | Strings:
        if isinstance(i, slice):
            begin, end, step = i.indices(len(self))
            if step == 1:
                return Strings(self.text, self.offsets[begin : max(begin, end) + 1], self.file)
            return Strings.pack(self[j] for j in range(begin, end, step))
        n = len(self)
        if not -n <= i < n:
            raise IndexError(f"string {i} does not exist: there are {n}")
        i %= n
        self._ready(0, 0)
        begin, end = int(self.offsets[i]), int(self.offsets[i + 1])
        if not 0 <= begin <= end <= len(self.text):
            raise CorpusError(f"string {i} goes from byte {begin} to {end} of {len(self.text)}")
        self._ready(begin, end)
        try:
            return self.text[begin:end].tobytes().decode()
        except UnicodeDecodeError as error:
            raise CorpusError(
                f"string {i} (bytes {begin} to {end} of the text) is not UTF-8: {error.reason}"
            ) from error

    def __iter__(self) -> Iterator[str]:
        for begin in range(0, len(self), 4096):
            self._ready(0, 0)
            block = self.offsets[begin : begin + 4097]
            first = int(block[0])
            if first < 0 or int(block[-1]) > len(self.text) or np.any(block[1:] < block[:-1]):
                raise CorpusError(f"the offsets of strings {begin} to {begin + len(block) - 2} do not rise")
            self._ready(first, int(block[-1]))
            text = self.text[first : int(block[-1])].tobytes()
            cuts = (block - first).tolist()
            for j, (a, b) in enumerate(pairwise(cuts)):
                try:
                    yield text[a:b].decode()
                except UnicodeDecodeError as error:
                    raise CorpusError(f"string {begin + j} is not UTF-8: {error.reason}") from error

    def __eq__(self, other: object) -> bool:
        if isinstance(other, Sequence) and not isinstance(other, str | bytes):
            return len(self) == len(other) and all(a == b for a, b in zip(self, other))
        return NotImplemented

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        shown = ", ".join(repr(s) for s in self[:5])
        return f"[{shown}, … {len(self):,} in all]" if len(self) > 5 else f"[{shown}]"

    def arrays(self) -> tuple[NDArray[np.uint8], NDArray[np.int64]]:
        """The bytes of these strings alone, and offsets from 0: as a file has them."""
        first, last = int(self.offsets[0]), int(self.offsets[-1])
        self._ready(first, last)
        return self.text[first:last], self.offsets - first if first else self.offsets

    def _ready(self, begin: int, end: int) -> None:
        """Before these bytes of the text are touched."""
        if self.file is not None:
            self.file.ready(self.text, begin, end)

    def problem(self) -> str:
        """A description of the first error in the offsets or the encoding, or ''. Reads every byte."""
        if len(self.offsets) < 1 or self.offsets[0] != 0 or self.offsets[-1] != len(self.text):
            return f"offsets must go from 0 to {len(self.text)}"
        try:
            for _ in self:
                pass
        except CorpusError as error:
            return str(error)
        return ""


def _refuse(strings: Sequence[object], what: str) -> None:
    """Raises with the first of these that is no string, or none that UTF-8 can hold."""
    for i, s in enumerate(strings):
        if not isinstance(s, str):
            raise CorpusError(f"{what} {i} is not a str but {type(s).__name__}: {s!r}")
        try:
            s.encode()
        except UnicodeEncodeError as error:
            raise CorpusError(f"{what} {i} cannot be written as UTF-8: {s!r}") from error
