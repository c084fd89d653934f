"""Text files, plain or gzip: reading in blocks of whole lines for the native parsers, and writing, also of CSV.

A file of numbers must end with a newline. Without it, the last number may be cut short, and no parser could see that.
"""

from __future__ import annotations

import csv
import gzip
import io
import zlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import IO, TYPE_CHECKING, TextIO

import numpy as np
from numpy.typing import NDArray

from topmix.data.atomic import atomic_write
from topmix.data.errors import CorpusError
from topmix.data.paths import open_whole

if TYPE_CHECKING:
    from _csv import Writer

BLOCK = 1 << 22


class TextFile:
    """The lines of one file, counted from 1. Header lines are read one by one, the others in blocks."""

    def __init__(self, path: Path, block: int = BLOCK) -> None:
        self.path = path
        self.line = 1  # number of the next line
        self._block = block
        self._raw: IO[bytes] = open_whole(path)
        self._file: IO[bytes] = self._raw
        start = self.head(2)
        if path.suffix.lower() == ".gz" and not start:
            self._raw.close()
            raise CorpusError(f"{path}: byte 0: the file is empty, but its name ends in .gz")
        if start == b"\x1f\x8b":
            self._file = io.BufferedReader(gzip.GzipFile(fileobj=self._raw), 1 << 18)

    def __enter__(self) -> TextFile:
        return self

    def __exit__(self, *_: object) -> None:
        self._file.close()
        self._raw.close()

    def error(self, message: str, line: int | None = None) -> CorpusError:
        return CorpusError(f"{self.path}: line {self.line if line is None else line}: {message}")

    def head(self, n: int = 1 << 14) -> bytes:
        """The first n bytes. The position in the file does not change."""
        with self._gzip_errors():
            return self._file.peek(n)[:n]  # type: ignore[attr-defined]

    def readline(self, expected: str) -> bytes:
        """One whole line, without its newline."""
        with self._gzip_errors():
            text = self._file.readline(1 << 20)
        if not text.endswith(b"\n"):
            raise self.error(f"the file ends here, but a line with {expected} is expected")
        self.line += 1
        return text.rstrip(b"\r\n")

    def blocks(self) -> Iterator[NDArray[np.uint8]]:
        """The remaining lines in blocks. The next block overwrites the array. The caller must advance `line`."""
        buffer = np.empty(self._block, np.uint8)
        filled = 0
        while True:
            with self._gzip_errors():
                n = self._file.readinto(buffer[filled:].data)  # type: ignore[attr-defined]
            if not n:
                break
            cut = _after_last_newline(buffer, filled, filled + n)
            filled += n
            if cut:
                yield buffer[:cut]
                buffer[: filled - cut] = buffer[cut:filled].copy()
                filled -= cut
            if filled == len(buffer):  # the line is longer than the buffer
                buffer = np.concatenate([buffer, np.empty_like(buffer)])
        if filled:
            raise self.error(
                "the file ends inside this line, without a newline: it may be cut short (if not, add a newline)"
            )

    @contextmanager
    def _gzip_errors(self) -> Iterator[None]:
        try:
            yield
        except (EOFError, zlib.error, gzip.BadGzipFile) as error:
            at = self._raw.tell()
            raise CorpusError(
                f"{self.path}: near byte {at:,}: the gzip stream is damaged or cut short: {error}"
            ) from error


def read_lines(path: Path) -> list[str]:
    """The words of a file with one word per line. Only \\n or \\r\\n ends a line; words may hold other separators."""
    with TextFile(path) as file, file._gzip_errors():
        data = file._file.read()
    words = []
    lines = data.split(b"\n")
    if lines[-1] == b"":
        lines.pop()
    for n, line in enumerate(lines, 1):
        try:
            words.append(line.removesuffix(b"\r").decode())
        except UnicodeDecodeError as error:
            raise CorpusError(f"{path}: line {n}: not UTF-8: {error.reason}") from error
    return words


def write_lines(words: Sequence[str], path: Path) -> None:
    with write_text(path) as file:
        for n, word in enumerate(words):
            if "\n" in word or "\r" in word:
                raise CorpusError(f"word {n} has a line break, so {path.name} cannot hold it: {word!r}")
            try:
                file.write(word.encode() + b"\n")
            except UnicodeEncodeError as error:
                raise CorpusError(f"word {n} cannot be written as UTF-8: {word!r}") from error


@contextmanager
def write_text(path: Path) -> Iterator[IO[bytes]]:
    """A binary file to write, atomically. It is compressed if its name ends in .gz."""
    with atomic_write(path) as file:
        if path.suffix == ".gz":
            # Without name and time in the gzip header, the same corpus gives the same bytes.
            with gzip.GzipFile("", "wb", 6, file, mtime=0) as packed:
                yield packed  # type: ignore[misc]
        else:
            yield file


def csv_writer(file: TextIO, delimiter: str = ",") -> Writer:
    """A csv.writer whose lines end with a newline. Cells with a carriage return are quoted, too, so that they read back
    as they were: the module does that only where lines end with one."""
    return csv.writer(_Lines(file), delimiter=delimiter, lineterminator="\r\n")


class _Lines:
    def __init__(self, file: TextIO) -> None:
        self._file = file

    def write(self, line: str) -> int:
        return self._file.write(line.removesuffix("\r\n") + "\n")


def _after_last_newline(buffer: NDArray[np.uint8], begin: int, end: int) -> int:
    """Position after the last newline in buffer[begin:end], or 0. Searches backwards in steps of 4 KB."""
    step = 1 << 12
    for low in range(end - step, begin - step, -step):
        at = buffer[max(low, begin) : low + step].tobytes().rfind(b"\n")
        if at >= 0:
            return max(low, begin) + at + 1
    return 0
