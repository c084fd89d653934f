"""Text files, plain or gzip: reading as text, or in blocks of whole lines, and writing.

A file of numbers must end with a newline. Without it, the last number may be cut short, and no parser could see that.
"""

from __future__ import annotations

import csv
import gzip
import io
import os
import stat
import zlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import IO, TYPE_CHECKING, Self, TextIO

from topmix.base.atomic import atomic_write
from topmix.base.checks import CorpusError
from topmix.base.paths import ENDLESS, open_whole

if TYPE_CHECKING:
    from _csv import Writer

BLOCK = 1 << 22
CUT_SHORT = "the file ends inside this line, without a newline: it may be cut short (if not, add a newline)"


class TextFile:
    """The lines of one file, counted from 1. Header lines are read one by one, the others in blocks."""

    def __init__(self, path: Path, block: int = BLOCK) -> None:
        self.path = path
        self.line = 1  # number of the next line
        self._block = block
        self._raw: IO[bytes] = open_whole(path)
        self._file: IO[bytes] = self._raw
        # A pipe ends when its writer does, and a terminal when the user says so.
        mode = os.fstat(self._raw.fileno()).st_mode
        if (stat.S_ISCHR(mode) or stat.S_ISBLK(mode)) and not self._raw.isatty():
            self._raw.close()
            raise CorpusError(f"{path}: {ENDLESS}")
        start = self.head(2)
        if path.suffix.lower() == ".gz" and not start:
            self._raw.close()
            raise CorpusError(f"{path}: byte 0: the file is empty, but its name ends in .gz")
        if start == b"\x1f\x8b":
            self._file = io.BufferedReader(gzip.GzipFile(fileobj=self._raw), 1 << 18)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._file.close()
        self._raw.close()

    @contextmanager
    def text(self, encoding: str, errors: str, newline: str | None = None) -> Iterator[IO[str]]:
        """The whole file, decoded, without the byte order mark that spreadsheets write."""
        if encoding.lower().replace("_", "-") in ("utf-8", "utf8"):
            encoding = "utf-8-sig"
        with self._gzip_errors(), io.TextIOWrapper(self._file, encoding, errors, newline) as text:
            yield text

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

    def read(self) -> bytes:
        """All of it."""
        with self._gzip_errors():
            return self._file.read()

    def blocks(self) -> Iterator[bytes]:
        """The remaining lines in blocks. The caller must advance `line`."""
        while True:
            with self._gzip_errors():
                text = self._file.read(self._block) + self._file.readline()
            if not text:
                return
            if not text.endswith(b"\n"):
                raise self.error(CUT_SHORT, self.line + text.count(b"\n"))
            yield text

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
    with TextFile(path) as file:
        lines = file.read().split(b"\n")
    if lines[-1] == b"":
        lines.pop()
    try:
        return [line.removesuffix(b"\r").decode() for line in lines]
    except UnicodeDecodeError as error:
        line = next(n for n, line in enumerate(lines, 1) if line.removesuffix(b"\r") == error.object)
        raise CorpusError(f"{path}: line {line}: not UTF-8: {error.reason}") from error


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


def plain_name(path: Path) -> str:
    """The file name without .gz."""
    return path.name[:-3] if path.name.lower().endswith(".gz") else path.name


def csv_writer(file: TextIO, delimiter: str = ",") -> Writer:
    """A csv.writer whose lines end with a newline. Cells with a carriage return are quoted, too, so that they read back
    as they were: the module does that only where lines end with one."""

    class Lines:
        def write(self, line: str) -> int:
            return file.write(line.removesuffix("\r\n") + "\n")

    return csv.writer(Lines(), delimiter=delimiter, lineterminator="\r\n")
