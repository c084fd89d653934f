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
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from pathlib import Path
from typing import IO, NamedTuple

import numpy as np
from numpy.typing import NDArray

from topmix import _core
from topmix._version import __version__
from topmix.base.atomic import atomic_write
from topmix.base.checks import CorpusError
from topmix.base.component import Json
from topmix.base.layout import (
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
from topmix.base.paths import is_remote
from topmix.base.remote_file import SparseCopy
from topmix.base.threads import threads
from topmix.corpus.counts import CountRows, StoredRows
from topmix.corpus.vocabulary import Strings, starts_of

FORMAT = "topmix-corpus"
FORMAT_VERSION = 1

# Type and length (what is counted, and how many more), in the order of the file: wide types first, so that each array
# is aligned. Text has any length.
ARRAYS = {
    "indptr": ("I64", "n_docs", 1),
    "vocabulary_offsets": ("I64", "n_words", 1),
    "names_offsets": ("I64", "n_docs", 1),
    "index": ("I32", "nnz", 0),
    "value": ("F32", "nnz", 0),
    "vocabulary": ("U8", "", 0),
    "names": ("U8", "", 0),
}
ROWS = ("indptr", "index", "value")
LATER = ("index", "value", "names")  # arrays of a file behind a URL that are fetched when they are needed
BLOCK = 1 << 24  # bytes in memory at a time
PART_ENTRIES = 1 << 21  # of rows in memory at a time

Stored = tuple[StoredRows, Strings | None, Strings | None, Json]  # rows, vocabulary, names, meta


class Part(NamedTuple):
    """Some rows, in lengths instead of offsets, so that parts are joined by joining their arrays."""

    lengths: NDArray[np.int64]  # [rows]
    words: NDArray[np.int32]  # [nnz] their ids
    counts: NDArray[np.float32]  # [nnz]
    name_lengths: NDArray[np.int64]  # [rows], or empty without names
    names: NDArray[np.uint8]  # UTF-8

    @classmethod
    def of(cls, rows: CountRows, names: Strings | None) -> Part:
        indptr, index, value = rows
        text, offsets = Strings.pack(()).arrays() if names is None else names.arrays()
        return cls(np.diff(indptr), index, value, np.diff(offsets), text)

    def rows(self) -> CountRows:
        return starts_of(self.lengths), self.words, self.counts


def write_store(
    path: Path,
    parts: Callable[[], Iterable[Part]],
    n_words: int,
    *,
    is_named: bool,
    vocabulary: Strings | None,
    meta: Mapping[str, object],
) -> None:
    """Write a corpus file. `parts` gives all rows twice, the first time to be counted."""
    n_docs = nnz = name_bytes = 0
    for part in parts():
        n_docs += len(part.lengths)
        nnz += len(part.words)
        name_bytes += len(part.names)
    counts = {"n_docs": n_docs, "n_words": n_words, "nnz": nnz}
    text_bytes = {} if vocabulary is None else {"vocabulary": len(vocabulary.arrays()[0])}
    text_bytes |= {"names": name_bytes} if is_named else {}
    sizes: dict[str, tuple[str, tuple[int, ...]]] = {}
    for name, (dtype, what, more) in ARRAYS.items():
        if name in ROWS or name.removesuffix("_offsets") in text_bytes:
            sizes[name] = dtype, (text_bytes[name] if name in text_bytes else counts[what] + more,)
    entries = plan(sizes)
    try:
        text_of_meta = json.dumps(dict(meta), ensure_ascii=False, allow_nan=False)
    except (TypeError, ValueError) as error:
        raise CorpusError(f"meta cannot be written as JSON: {error}") from error

    def header(checksums: Mapping[str, int], n_tokens: float) -> bytes:
        metadata = {
            "format": FORMAT,
            "format_version": str(FORMAT_VERSION),
            "library_version": __version__,
            **{name: str(n) for name, n in counts.items()},
            "n_tokens": repr(n_tokens),
            "meta": text_of_meta,
            "crc32": json.dumps({name: f"{checksums[name]:08x}" for name in entries}),
        }
        return encode_header(entries, metadata | {"metadata_crc32": metadata_crc(metadata)})

    # The data starts after the header, so reserve room for the longest: n_tokens may print with 23 characters.
    checksums, n_tokens = dict.fromkeys(entries, 0), 0.0
    start = len(header(checksums, -1.2345678901234567e-100))
    with atomic_write(path) as file:
        file.truncate(start + max(e.end for e in entries.values()))
        places = {name: start + e.begin for name, e in entries.items()}
        written = dict.fromkeys(entries, 0)

        def put(name: str, array: np.ndarray) -> None:
            """The next items of an array."""
            data = np.ascontiguousarray(array, DTYPES[ARRAYS[name][0]]).view(np.uint8)
            if len(data):
                file.seek(places[name])
                file.write(data.data)
                places[name] += len(data)
                written[name] += len(array)
                checksums[name] = _core.crc32(data, checksums[name], threads())

        for name in ("indptr", "names_offsets") if is_named else ("indptr",):
            put(name, np.zeros(1))
        for part in parts():
            put("indptr", np.cumsum(part.lengths) + written["index"])
            put("index", part.words)
            put("value", part.counts)
            n_tokens += float(part.counts.sum(dtype=np.float64))
            if is_named:
                put("names_offsets", np.cumsum(part.name_lengths) + written["names"])
                put("names", part.names)
        if vocabulary is not None:
            text, offsets = vocabulary.arrays()
            put("vocabulary_offsets", offsets)
            put("vocabulary", text)
        head = header(checksums, n_tokens)
        file.seek(0)
        file.write((start - 8).to_bytes(8, "little") + head[8:] + b" " * (start - len(head)))


def parts_of(rows: CountRows, names: Strings | None) -> Iterator[Part]:
    """All rows and their names, some megabytes at a time."""
    indptr, index, value = rows
    begin, n_docs = 0, len(indptr) - 1
    while begin < n_docs:
        end = int(np.searchsorted(indptr, indptr[begin] + PART_ENTRIES, "right")) - 1
        end = min(max(end, begin + 1), begin + PART_ENTRIES, n_docs)
        first, last = indptr[begin], indptr[end]
        some = indptr[begin : end + 1], index[first:last], value[first:last]
        yield Part.of(some, None if names is None else names[begin:end])
        begin = end


def open_store(path: Path, *, verify: bool, whole: bool = False) -> Stored:
    """Map a saved corpus. Checks the header against the file, the ends of indptr, and with `verify` the checksums. Of a
    file behind a URL, rows and names are fetched when they are needed unless `whole`; until then, only the checksums of
    the others are compared."""
    later = () if whole else LATER
    copy = SparseCopy(str(path)) if is_remote(path) else None
    with open(path if copy is None else copy.path, "rb") as file:
        if copy is not None:
            for n in (8, None):  # the length of the header, and the header
                file.seek(0)
                end = n or 8 + min(int.from_bytes(file.read(8), "little"), MAX_HEADER)
                copy.need(np.zeros(1, np.int64), np.full(1, min(end, copy.size)))
        entries, metadata, start = read_header(file, path)
        counts = _check_metadata(path, metadata)
        _check_entries(path, entries, counts)
        if copy is not None:  # an array that is not aligned is copied when the file is mapped
            now = [
                e for name, e in entries.items() if name not in later or (start + e.begin) % DTYPES[e.dtype].itemsize
            ]
            copy.need(np.array([start + e.begin for e in now]), np.array([start + e.end for e in now]))
        if verify:
            _compare_checksums(file, path, entries, metadata, start, () if copy is None else later)
        pages = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
        mapped = MappedFile(path, pages, None if copy is None else copy.need)
        arrays = {name: map_array(mapped.pages, e, start) for name, e in entries.items()}
    indptr = arrays["indptr"]
    if indptr[0] != 0 or indptr[-1] != counts["nnz"]:
        raise CorpusError(
            f"{path}: byte {start + entries['indptr'].begin}: indptr goes from {indptr[0]} to {indptr[-1]}, "
            f"but the file holds {counts['nnz']} entries"
        )
    strings = {}
    for name in arrays.keys() & {"vocabulary", "names"}:
        text, offsets = arrays[name], arrays[f"{name}_offsets"]
        if offsets[0] != 0 or offsets[-1] != len(text):
            at = start + entries[f"{name}_offsets"].begin
            raise CorpusError(f"{path}: byte {at}: the offsets of {name} do not go from 0 to {len(text)}")
        strings[name] = Strings(text, offsets, mapped)
    three, n_tokens = (indptr, arrays["index"], arrays["value"]), float(metadata["n_tokens"])
    rows = StoredRows(mapped, three, counts["n_words"], n_tokens, verified=verify and copy is None)
    return rows, strings.get("vocabulary"), strings.get("names"), json.loads(metadata["meta"])


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
            what = f"{name} does not match its checksum: the file is corrupt"
            raise CorpusError(f"{path}: bytes {begin} to {end}: {what}")


def _check_metadata(path: Path, metadata: dict[str, str]) -> dict[str, int]:
    """{n_docs, n_words, nnz}, after all checks of the metadata."""
    if metadata.get("format") != FORMAT:
        raise CorpusError(f"{path}: byte 8: not a corpus (format {metadata.get('format')!r}, expected {FORMAT!r})")
    if (version := metadata.get("format_version", "")) != str(FORMAT_VERSION):
        reads = f"topmix {__version__} reads version {FORMAT_VERSION}"
        raise CorpusError(f"{path}: byte 8: format version {version!r}; {reads}")
    rest = {k: v for k, v in metadata.items() if k != "metadata_crc32"}
    if metadata.get("metadata_crc32") != metadata_crc(rest):
        raise CorpusError(f"{path}: byte 8: the metadata does not match its checksum: the header is corrupt")
    counts = {k: metadata.get(k, "") for k in ("n_docs", "n_words", "nnz")}
    for key, text in counts.items():
        if not (text.isascii() and text.isdecimal() and len(text) < 19):
            raise CorpusError(f"{path}: byte 8: {key} reads {text[:60]!r}, expected a whole number")
    try:
        tokens, meta = float(metadata["n_tokens"]), json.loads(bounded(metadata["meta"]))
        sums = parse_json(metadata["crc32"])
    except (KeyError, ValueError, RecursionError) as error:
        raise CorpusError(f"{path}: byte 8: n_tokens, meta or crc32 in the metadata is not valid: {error}") from error
    if not (math.isfinite(tokens) and tokens >= 0 and isinstance(meta, dict) and isinstance(sums, dict)):
        raise CorpusError(f"{path}: byte 8: n_tokens, meta or crc32 in the metadata is not valid")
    return {key: int(text) for key, text in counts.items()}


def _check_entries(path: Path, entries: dict[str, Entry], counts: dict[str, int]) -> None:
    """Raise CorpusError unless the arrays have the names, types and lengths of a corpus."""
    for name in ROWS:
        if name not in entries:
            raise CorpusError(f"{path}: byte 8: the file has no array {name!r}")
    for name, e in entries.items():
        partner = name.removesuffix("_offsets") if name.endswith("_offsets") else f"{name}_offsets"
        if name not in ARRAYS or (name not in ROWS and partner not in entries):
            raise CorpusError(f"{path}: byte 8: the header has the array {name!r}, which is not part of a corpus")
        dtype, what, more = ARRAYS[name]
        expected = counts[what] + more if what else e.shape[0] if e.shape else 0
        if e.dtype != dtype or e.shape != (expected,):
            raise CorpusError(
                f"{path}: byte 8: array {name!r} is {e.dtype} of {e.shape}, expected {dtype} of ({expected},)"
            )
