"""The safetensors layout: named arrays in one file that can be mapped into memory.

    8 bytes   length of the header, little-endian
    header    JSON: {"__metadata__": {str: str}, name: {"dtype", "shape", "data_offsets": [begin, end]}, ...}, spaces
    data      the arrays one after another, without gaps

Spaces at the end of the header let the data start at a multiple of 64 bytes. Callers put wide types first, so that each
array starts at a multiple of its item size. A header that does not describe its file exactly is an error.
"""

from __future__ import annotations

import json
import math
import mmap
import re
import zlib
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from topmix.base.checks import CorpusError
from topmix.base.component import Json
from topmix.base.paths import TEMPORARY_SUFFIX

DTYPES: dict[str, np.dtype] = {
    "F64": np.dtype("<f8"),
    "I64": np.dtype("<i8"),
    "I32": np.dtype("<i4"),
    "F32": np.dtype("<f4"),
    "U32": np.dtype("<u4"),
    "U16": np.dtype("<u2"),
    "U8": np.dtype("u1"),
}
MAX_HEADER = 100_000_000  # the limit that safetensors itself sets
MAX_DIMENSIONS = 8
ALIGNMENT = 64
MOST_TABLES = 500_000  # lists and tables in the JSON of a file, where each of three bytes would cost eighty of memory


@dataclass(frozen=True)
class Entry:
    """Type, shape and position of one array. Offsets count from the start of the data."""

    dtype: str
    shape: tuple[int, ...]
    begin: int
    end: int


def plan(sizes: dict[str, tuple[str, tuple[int, ...]]]) -> dict[str, Entry]:
    """Entries for arrays {name: (dtype, shape)}, stored in the given order."""
    entries, begin = {}, 0
    for name, (dtype, shape) in sizes.items():
        end = begin + math.prod(shape) * DTYPES[dtype].itemsize
        entries[name] = Entry(dtype, shape, begin, end)
        begin = end
    return entries


def metadata_crc(metadata: dict[str, str]) -> str:
    return f"{zlib.crc32(json.dumps(metadata, sort_keys=True).encode()):08x}"


def encode_header(entries: dict[str, Entry], metadata: dict[str, str]) -> bytes:
    """The 8 bytes of the length, then the padded header."""
    table: dict[str, object] = {"__metadata__": metadata}
    for name, e in entries.items():
        table[name] = {"dtype": e.dtype, "shape": list(e.shape), "data_offsets": [e.begin, e.end]}
    text = json.dumps(table, ensure_ascii=True, separators=(",", ":")).encode()
    text += b" " * (-(8 + len(text)) % ALIGNMENT)
    if len(text) > MAX_HEADER:
        raise CorpusError(
            f"the header takes {len(text):,} bytes, but may take at most {MAX_HEADER:,}: shorten the metadata"
        )
    return len(text).to_bytes(8, "little") + text


def read_header(file: IO[bytes], path: Path) -> tuple[dict[str, Entry], dict[str, str], int]:
    """(entries, metadata, byte where the data starts). Raises CorpusError if they do not fit the size of the file."""
    if path.name.endswith(TEMPORARY_SUFFIX):
        raise CorpusError(f"{path}: this is an unfinished temporary file of an interrupted write; delete it")
    size = file.seek(0, 2)
    file.seek(0)
    if size < 8:
        raise CorpusError(f"{path}: byte {size}: the file ends inside the 8 bytes that give the header's length")
    length = int.from_bytes(file.read(8), "little")
    limit = min(MAX_HEADER, size - 8)
    if not 2 <= length <= limit:
        raise CorpusError(
            f"{path}: byte 0: the header's length reads {length:,}, but must be from 2 to {limit:,}: "
            "this is not a topmix file, or the file is cut short"
        )
    try:
        table = parse_json(file.read(length).decode())
    except (ValueError, RecursionError) as error:  # not UTF-8, not JSON, or too deep
        raise CorpusError(f"{path}: byte 8: the header cannot be read as JSON: {error}") from error
    if not isinstance(table, dict):
        raise CorpusError(f"{path}: byte 8: the header is not a JSON object")
    metadata = table.pop("__metadata__", {})
    if not isinstance(metadata, dict) or not all(isinstance(v, str) for v in metadata.values()):
        raise CorpusError(f"{path}: byte 8: the header's __metadata__ is not a table of strings")
    entries = {name: _entry(path, name, e) for name, e in table.items()}

    start, at = 8 + length, 0
    for name, e in sorted(entries.items(), key=lambda item: (item[1].begin, item[1].end)):
        if e.begin != at:
            raise CorpusError(
                f"{path}: byte {start + at}: array {name!r} should start here, but starts at byte {start + e.begin}"
            )
        at = e.end
    if start + at != size:
        raise CorpusError(
            f"{path}: byte {min(size, start + at):,}: the file has {size:,} bytes, but its header describes "
            f"{start + at:,}: the file is cut short, or bytes were added"
        )
    return entries, metadata, start


def map_array(pages: mmap.mmap, entry: Entry, start: int) -> np.ndarray:
    """One array of a mapped file, read-only: its pages are read when they are used. A copy of it where it does not lie
    at a multiple of its item size."""
    dtype, n = DTYPES[entry.dtype], math.prod(entry.shape)
    if not n:  # frombuffer refuses an empty array at the end of the file
        return np.empty(entry.shape, dtype)
    array = np.frombuffer(pages, dtype, n, start + entry.begin).reshape(entry.shape)
    return array if (start + entry.begin) % dtype.itemsize == 0 else array.copy()


def check_length(path: Path | str, pages: mmap.mmap, expected: int) -> None:
    """Raise CorpusError where a mapped file has fewer bytes now. A page behind its end would end the process (SIGBUS),
    so ask before pages are touched."""
    size = pages.size()  # of the file, which the mapping keeps open
    if size < expected:
        raise CorpusError(
            f"{path}: byte {size:,}: the file became shorter after it was opened; it had {expected:,} bytes"
        )


@dataclass(frozen=True)
class MappedFile:
    """The pages of a file, and how those of a file behind a URL are fetched."""

    path: Path
    pages: mmap.mmap
    fetch: Callable[[NDArray[np.int64], NDArray[np.int64]], None] | None = None  # from bytes, to bytes

    def ready(self, array: np.ndarray, begins: ArrayLike = 0, ends: ArrayLike | None = None) -> None:
        """Before items of an array are touched: all of them, or some ranges."""
        check_length(self.path, self.pages, len(self.pages))
        if self.fetch is not None and len(array):
            at = array.ctypes.data - np.frombuffer(self.pages, np.uint8).ctypes.data
            if 0 <= at < len(self.pages):  # not a copy
                items = np.atleast_1d(begins), np.atleast_1d(len(array) if ends is None else ends)
                self.fetch(*(at + item.astype(np.int64) * array.itemsize for item in items))


def _entry(path: Path, name: str, e: Json) -> Entry:
    try:
        dtype, shape, (begin, end) = e["dtype"], e["shape"], e["data_offsets"]
        whole = all(type(n) is int and n >= 0 for n in (*shape, begin, end))
        is_sound = len(e) == 3 and whole and len(shape) <= MAX_DIMENSIONS  # a word times a number would be a long word
        if is_sound and end - begin == math.prod(shape) * DTYPES[dtype].itemsize:
            return Entry(dtype, tuple(shape), begin, end)
    except (KeyError, TypeError, ValueError):
        pass
    raise CorpusError(f"{path}: byte 8: the header's entry for array {name!r} is not valid: {str(e)[:120]}")


def parse_json(text: str, object_hook: Callable[[Json], object] | None = None) -> Any:
    """What JSON of a file says. Raises ValueError or RecursionError; NaN and infinity are no JSON."""

    def refuse(constant: str) -> None:
        raise ValueError(f"{constant} is not JSON")

    return json.loads(bounded(text), object_hook=object_hook, parse_constant=refuse)


def bounded(text: str) -> str:
    """JSON that takes little memory and time to read. Raises ValueError where it has too many lists and tables."""
    if text.count("[") + text.count("{") > MOST_TABLES:
        outside = re.sub(r'"(?:[^"\\]|\\.)*"', "", text)
        if outside.count("[") + outside.count("{") > MOST_TABLES:
            raise ValueError(f"it has more than {MOST_TABLES:,} lists and tables")
    return text
