"""The `.topmix` file of a corpus (store_plan.py says what is in it): writing, opening and verifying."""

from __future__ import annotations

import json
import math
import mmap
from collections.abc import Mapping
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from topmix import _core
from topmix._version import __version__
from topmix.data.atomic import atomic_write
from topmix.data.errors import CorpusError
from topmix.data.layout import DTYPES, Entry, map_arrays, metadata_crc, read_header
from topmix.data.mapped_file import MappedFile
from topmix.data.parts import CorpusParts
from topmix.data.spool import FileArray
from topmix.data.store_plan import ARRAYS, FORMAT, FORMAT_VERSION, StorePlan
from topmix.data.stored_rows import StoredRows
from topmix.data.strings import Strings
from topmix.numerics.threads import threads

BLOCK = 1 << 24  # bytes in memory at a time


def write_store(
    path: Path,
    indptr: NDArray[np.int64],
    index: NDArray[np.int32] | FileArray[np.int32],
    value: NDArray[np.float32] | FileArray[np.float32],
    n_words: int,
    *,
    vocabulary: Strings | None,
    names: Strings | None,
    meta: Mapping[str, Any],
) -> None:
    """Write a corpus file. The arrays may lie in files: only a few megabytes are in memory at a time."""
    arrays: dict[str, NDArray[Any] | FileArray[Any]] = {"indptr": indptr, "index": index, "value": value}
    for name, strings in (("vocabulary", vocabulary), ("names", names)):
        if strings is not None:
            arrays[name], arrays[f"{name}_offsets"] = strings.arrays()
    plan = StorePlan.of({name: len(array) for name, array in arrays.items()}, n_words, meta)
    with atomic_write(path) as file:
        file.write(bytes(plan.start))
        checksums, n_tokens = dict.fromkeys(plan.entries, 0), 0.0
        for name, e in plan.entries.items():
            step = BLOCK // DTYPES[e.dtype].itemsize
            for begin in range(0, e.shape[0], step):
                block = np.ascontiguousarray(arrays[name][begin : begin + step], DTYPES[e.dtype])
                checksums[name] = _core.crc32(block.view(np.uint8), checksums[name], threads())
                if name == "value":
                    n_tokens += float(block.sum(dtype=np.float64))
                file.write(block.data)
        file.seek(0)
        file.write(plan.header(checksums, n_tokens))


def open_store(path: Path, *, verify: bool) -> CorpusParts:
    """Map a saved corpus. Checks the header against the file, the ends of indptr, and with `verify` the checksums."""
    with open(path, "rb") as file:
        entries, metadata, start = read_header(file, path)
        counts = _check_metadata(path, metadata)
        _check_entries(path, entries, counts)
        if verify:
            _compare_checksums(file, path, entries, metadata, start)
        mapped = MappedFile(path, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ))
        arrays = map_arrays(mapped.pages, entries, start)
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
    rows = StoredRows(
        mapped, indptr, arrays["index"], arrays["value"], counts["n_words"], float(metadata["n_tokens"]), verify
    )
    words, names = strings.get("vocabulary"), strings.get("names")
    return CorpusParts(rows, counts["n_words"], words, names, json.loads(metadata["meta"]))


def verify_store(path: Path) -> None:
    """Check the checksums of a corpus file, in bounded memory."""
    with open(path, "rb") as file:
        entries, metadata, start = read_header(file, path)
        _check_metadata(path, metadata)
        _compare_checksums(file, path, entries, metadata, start)


def _compare_checksums(
    file: IO[bytes], path: Path, entries: dict[str, Entry], metadata: dict[str, str], start: int
) -> None:
    """Reads the file, and does not map it: a file that is cut meanwhile is an error and not the end of the process."""
    checksums = json.loads(metadata["crc32"])
    if checksums.keys() != entries.keys():
        raise CorpusError(f"{path}: the checksums in the header do not belong to the arrays of the file")
    buffer = np.empty(min(BLOCK, max((e.end - e.begin for e in entries.values()), default=0)), np.uint8)
    for name, crc in checksums.items():
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
        tokens, meta, sums = float(metadata["n_tokens"]), json.loads(metadata["meta"]), json.loads(metadata["crc32"])
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
