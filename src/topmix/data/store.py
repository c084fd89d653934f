"""The `.topmix` file of a corpus: what is in it and where, writing, opening and verifying.

The file has the safetensors layout (layout.py). Its arrays are indptr I64, index I32 and value F32. Vocabulary and
names are optional, each as UTF-8 bytes U8 and offsets I64. The metadata are strings:

    format "topmix-corpus", format_version, library_version, n_docs, n_words, nnz, n_tokens,
    meta (JSON), crc32 (JSON: array -> checksum), metadata_crc32 (checksum of all other metadata)

The header is written last: an unfinished file starts with zeros, and opening it raises CorpusError.
"""

from __future__ import annotations

import json
import math
import mmap
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Protocol

import numpy as np
from numpy.typing import NDArray

from topmix import _core
from topmix._version import __version__
from topmix.data.atomic import atomic_write
from topmix.data.counts import CountRows, StoredRows
from topmix.data.errors import CorpusError
from topmix.data.layout import (
    DTYPES,
    MAX_HEADER,
    Entry,
    MappedFile,
    bounded,
    encode_header,
    map_array,
    metadata_crc,
    parse_json,
    plan,
    read_header,
)
from topmix.data.paths import is_remote
from topmix.data.remote_file import SparseCopy
from topmix.data.strings import Strings
from topmix.numerics.threads import threads

FORMAT = "topmix-corpus"
FORMAT_VERSION = 1

# In the order of the file: wide types first, so that each array is aligned.
ARRAYS = {"indptr": "I64", "vocabulary_offsets": "I64", "names_offsets": "I64", "index": "I32", "value": "F32",
          "vocabulary": "U8", "names": "U8"}  # fmt: skip
LATER = ("index", "value", "names")  # arrays of a file behind a URL that are fetched when they are needed
BLOCK = 1 << 24  # bytes in memory at a time


class Sliced(Protocol):
    """An array, or what reads as one slice by slice: a spool in a file."""

    def __len__(self) -> int: ...
    def __getitem__(self, part: slice, /) -> np.ndarray: ...


@dataclass(frozen=True)
class CorpusParts:
    """What a corpus consists of, before it is one: rows in memory that were checked, or rows of a file, which check
    themselves. `Corpus.of_parts` makes a corpus."""

    rows: CountRows | StoredRows
    n_words: int
    vocabulary: Strings | None = None
    names: Strings | None = None
    meta: Mapping[str, object] | None = None


@dataclass(frozen=True)
class StorePlan:
    """The places of all arrays are known before any of them is there, so several can write at the same time."""

    entries: dict[str, Entry]
    n_words: int
    meta: str  # JSON
    start: int  # bytes before the data

    @classmethod
    def of(cls, lengths: Mapping[str, int], n_words: int, meta: Mapping[str, object]) -> StorePlan:
        """`lengths` has the length of each array."""
        entries = plan({name: (dtype, (lengths[name],)) for name, dtype in ARRAYS.items() if name in lengths})
        blank = cls(entries, n_words, _meta_json(meta), 0)
        # The data starts after the header, so reserve room for the longest: n_tokens may print with 23 characters.
        room = len(blank._header(dict.fromkeys(entries, 0), -1.2345678901234567e-100))
        return cls(entries, n_words, blank.meta, room)

    @property
    def size(self) -> int:
        """Bytes of the file."""
        return self.start + max(e.end for e in self.entries.values())

    def place(self, name: str, item: int = 0) -> int:
        """The byte of the file where this item of an array begins."""
        e = self.entries[name]
        return self.start + e.begin + item * DTYPES[e.dtype].itemsize

    def header(self, checksums: Mapping[str, int], n_tokens: float) -> bytes:
        """All bytes before the data."""
        text = self._header(checksums, n_tokens)
        padding = self.start - len(text)
        return (len(text) - 8 + padding).to_bytes(8, "little") + text[8:] + b" " * padding

    def _header(self, checksums: Mapping[str, int], n_tokens: float) -> bytes:
        metadata = {
            "format": FORMAT,
            "format_version": str(FORMAT_VERSION),
            "library_version": __version__,
            "n_docs": str(self.entries["indptr"].shape[0] - 1),
            "n_words": str(self.n_words),
            "nnz": str(self.entries["index"].shape[0]),
            "n_tokens": repr(n_tokens),
            "meta": self.meta,
            "crc32": json.dumps({name: f"{checksums[name]:08x}" for name in self.entries}),
        }
        return encode_header(self.entries, metadata | {"metadata_crc32": metadata_crc(metadata)})


def _meta_json(meta: Mapping[str, object]) -> str:
    try:
        return json.dumps(dict(meta), ensure_ascii=False, allow_nan=False)
    except (TypeError, ValueError) as error:
        raise CorpusError(f"meta cannot be written as JSON: {error}") from error


def write_store(
    path: Path,
    indptr: NDArray[np.int64],
    index: Sliced,
    value: Sliced,
    n_words: int,
    *,
    vocabulary: Strings | None,
    names: Strings | None,
    meta: Mapping[str, object],
) -> None:
    """Write a corpus file. The arrays may lie in files: only a few megabytes are in memory at a time."""
    arrays: dict[str, Sliced] = {"indptr": indptr, "index": index, "value": value}
    for name, strings in (("vocabulary", vocabulary), ("names", names)):
        if strings is not None:
            arrays[name], arrays[f"{name}_offsets"] = strings.arrays()
    where = StorePlan.of({name: len(array) for name, array in arrays.items()}, n_words, meta)
    with atomic_write(path) as file:
        file.write(bytes(where.start))
        checksums, n_tokens = dict.fromkeys(where.entries, 0), 0.0
        for name, e in where.entries.items():
            step = BLOCK // DTYPES[e.dtype].itemsize
            for begin in range(0, e.shape[0], step):
                block = np.ascontiguousarray(arrays[name][begin : begin + step], DTYPES[e.dtype])
                checksums[name] = _core.crc32(block.view(np.uint8), checksums[name], threads())
                if name == "value":
                    n_tokens += float(block.sum(dtype=np.float64))
                file.write(block.data)
        file.seek(0)
        file.write(where.header(checksums, n_tokens))


def open_store(path: Path, *, verify: bool) -> CorpusParts:
    """Map a saved corpus. Checks the header against the file, the ends of indptr, and with `verify` the checksums. Of a
    file behind a URL rows and names are fetched when they are needed, and the checksums of the others are compared."""
    copy = SparseCopy(str(path)) if is_remote(path) else None
    with open(path if copy is None else copy.path, "rb") as file:
        if copy is not None:
            _fetch_header(copy, file)
        entries, metadata, start = read_header(file, path)
        counts = _check_metadata(path, metadata)
        _check_entries(path, entries, counts)
        if copy is not None:
            _fetch_arrays(copy, entries, start)
        if verify:
            _compare_checksums(file, path, entries, metadata, start, () if copy is None else LATER)
        pages = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
        mapped = MappedFile(path, pages, None if copy is None else copy.need)
        arrays = {name: map_array(mapped.pages, e, start) for name, e in entries.items()}
    indptr = arrays["indptr"]
    if indptr[0] != 0 or indptr[-1] != counts["nnz"]:
        at = start + entries["indptr"].begin
        raise CorpusError(
            f"{path}: byte {at}: indptr goes from {indptr[0]} to {indptr[-1]}, "
            f"but the file holds {counts['nnz']} entries"
        )
    strings = {}
    for name in ("vocabulary", "names"):
        if name in arrays:
            offsets = arrays[f"{name}_offsets"]
            if offsets[0] != 0 or offsets[-1] != len(arrays[name]):
                at = start + entries[f"{name}_offsets"].begin
                raise CorpusError(f"{path}: byte {at}: the offsets of {name} do not go from 0 to {len(arrays[name])}")
            strings[name] = Strings(arrays[name], offsets, mapped)
    is_verified = verify and copy is None
    rows = StoredRows(
        mapped, indptr, arrays["index"], arrays["value"], counts["n_words"], float(metadata["n_tokens"]), is_verified
    )
    words, names = strings.get("vocabulary"), strings.get("names")
    return CorpusParts(rows, counts["n_words"], words, names, json.loads(metadata["meta"]))


def verify_store(path: Path) -> None:
    """Check the checksums of a corpus file, in bounded memory."""
    copy = SparseCopy(str(path)) if is_remote(path) else None
    if copy is not None:
        copy.need(np.zeros(1, np.int64), np.full(1, copy.size))
    with open(path if copy is None else copy.path, "rb") as file:
        entries, metadata, start = read_header(file, path)
        _check_metadata(path, metadata)
        _compare_checksums(file, path, entries, metadata, start)


def _fetch_header(copy: SparseCopy, file: IO[bytes]) -> None:
    for n in (8, None):
        file.seek(0)
        end = n or 8 + min(int.from_bytes(file.read(8), "little"), MAX_HEADER)
        copy.need(np.zeros(1, np.int64), np.full(1, min(end, copy.size)))


def _fetch_arrays(copy: SparseCopy, entries: dict[str, Entry], start: int) -> None:
    """All but those that can be fetched later: an array that is not aligned is copied when the file is mapped."""
    now = [
        (start + e.begin, start + e.end)
        for name, e in entries.items()
        if name not in LATER or (start + e.begin) % DTYPES[e.dtype].itemsize
    ]
    begins, ends = np.array(now, np.int64).reshape(-1, 2).T
    copy.need(begins, ends)


def _compare_checksums(
    file: IO[bytes],
    path: Path,
    entries: dict[str, Entry],
    metadata: dict[str, str],
    start: int,
    leave_out: Collection[str] = (),
) -> None:
    """Reads the file, and does not map it: a file that is cut meanwhile is an error and not the end of the process."""
    checksums = json.loads(metadata["crc32"])
    if checksums.keys() != entries.keys():
        raise CorpusError(f"{path}: the checksums in the header do not belong to the arrays of the file")
    buffer = np.empty(min(BLOCK, max((e.end - e.begin for e in entries.values()), default=0)), np.uint8)
    for name, crc in checksums.items():
        if name in leave_out:
            continue
        begin, end = start + entries[name].begin, start + entries[name].end
        file.seek(begin)
        found, left = 0, end - begin
        while left:
            n = file.readinto(buffer[:left].data)  # type: ignore[attr-defined]
            if not n:
                raise CorpusError(f"{path}: byte {end - left}: the file became shorter while it was read")
            found, left = _core.crc32(buffer[:n], found, threads()), left - n
        if f"{found:08x}" != crc:
            raise CorpusError(
                f"{path}: bytes {begin} to {end}: {name} does not match its checksum: the file is corrupt"
            )


def _check_metadata(path: Path, metadata: dict[str, str]) -> dict[str, int]:
    """{n_docs, n_words, nnz}, after all checks of the metadata."""
    if metadata.get("format") != FORMAT:
        raise CorpusError(f"{path}: byte 8: not a corpus (format {metadata.get('format')!r}, expected {FORMAT!r})")
    version = metadata.get("format_version", "")
    if version != str(FORMAT_VERSION):
        raise CorpusError(
            f"{path}: byte 8: format version {version!r}; topmix {__version__} reads version {FORMAT_VERSION}"
        )
    rest = {k: v for k, v in metadata.items() if k != "metadata_crc32"}
    if metadata.get("metadata_crc32") != metadata_crc(rest):
        raise CorpusError(f"{path}: byte 8: the metadata does not match its checksum: the header is corrupt")
    counts = {k: metadata.get(k, "") for k in ("n_docs", "n_words", "nnz")}
    for key, text in counts.items():
        if not (text.isascii() and text.isdecimal() and len(text) < 19):
            raise CorpusError(f"{path}: byte 8: {key} reads {text[:60]!r}, expected a whole number")
    try:
        tokens, meta, sums = (
            float(metadata["n_tokens"]),
            json.loads(bounded(metadata["meta"])),
            parse_json(metadata["crc32"]),
        )
    except (KeyError, ValueError, RecursionError) as error:
        raise CorpusError(f"{path}: byte 8: n_tokens, meta or crc32 in the metadata is not valid: {error}") from error
    if not (math.isfinite(tokens) and tokens >= 0 and isinstance(meta, dict) and isinstance(sums, dict)):
        raise CorpusError(f"{path}: byte 8: n_tokens, meta or crc32 in the metadata is not valid")
    return {key: int(text) for key, text in counts.items()}


def _check_entries(path: Path, entries: dict[str, Entry], counts: dict[str, int]) -> None:
    """Raise CorpusError unless the arrays have the names, types and lengths of a corpus."""
    lengths = {"indptr": counts["n_docs"] + 1, "index": counts["nnz"], "value": counts["nnz"],
               "vocabulary_offsets": counts["n_words"] + 1, "names_offsets": counts["n_docs"] + 1}  # fmt: skip
    for name in ("indptr", "index", "value"):
        if name not in entries:
            raise CorpusError(f"{path}: byte 8: the file has no array {name!r}")
    for name, e in entries.items():
        partner = name.removesuffix("_offsets") if name.endswith("_offsets") else f"{name}_offsets"
        if name not in ARRAYS or (name not in ("indptr", "index", "value") and partner not in entries):
            raise CorpusError(f"{path}: byte 8: the header has the array {name!r}, which is not part of a corpus")
        expected = lengths.get(name, e.shape[0] if e.shape else 0)
        if e.dtype != ARRAYS[name] or e.shape != (expected,):
            raise CorpusError(
                f"{path}: byte 8: array {name!r} is {e.dtype} of {e.shape}, expected {ARRAYS[name]} of ({expected},)"
            )
