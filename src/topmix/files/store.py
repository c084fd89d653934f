"""One file for arrays and the JSON that describes them: safetensors, with everything else in its metadata.

    format "topmix-model" or "topmix-checkpoint", format_version, library_version,
    model (JSON: what the arrays are, with the values of `Writer` under "extra"),
    crc32 (JSON: array -> checksum), metadata_crc32 (of all the others)

A file is data and nothing else. Whatever does not fit raises ModelFileError, and memory is bounded by the file's size.
"""

from __future__ import annotations

import json
import math
import mmap
import zlib
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import IO, Any

import numpy as np

from topmix._version import __version__
from topmix.data.atomic import atomic_write
from topmix.data.errors import CorpusError
from topmix.data.layout import DTYPES, encode_header, map_array, metadata_crc, parse_json, plan, read_array, read_header
from topmix.files.reader import CheckedReader, ModelFileError

MODEL, CHECKPOINT = "topmix-model", "topmix-checkpoint"
FORMAT_VERSION = 1
BLOCK = 1 << 23  # bytes written at a time


def write_file(
    path: Path,
    kind: str,
    arrays: dict[str, np.ndarray],
    about: Mapping[str, object],
    read_back: Callable[[IO[bytes]], None] | None = None,
) -> None:
    """Arrays, and a table that JSON can hold. Atomic: the file is the old one or this one.

    `read_back` is given the file when it is complete, before it takes its name: an error leaves the old one.
    """
    stored = {np.dtype(dtype): name for name, dtype in DTYPES.items()}
    arrays = {name: np.ascontiguousarray(a, a.dtype.newbyteorder("<")) for name, a in arrays.items()}
    arrays = dict(sorted(arrays.items(), key=lambda item: -item[1].itemsize))  # stable; keeps every array aligned
    metadata = {
        "format": kind,
        "format_version": str(FORMAT_VERSION),
        "library_version": __version__,
        "model": json.dumps(_plain(about), ensure_ascii=False, allow_nan=False, separators=(",", ":")),
        "crc32": json.dumps({name: f"{zlib.crc32(a.data):08x}" for name, a in arrays.items()}),
    }
    try:
        header = encode_header(
            plan({name: (stored[a.dtype], a.shape) for name, a in arrays.items()}),
            metadata | {"metadata_crc32": metadata_crc(metadata)},
        )
    except CorpusError as error:
        raise ModelFileError(f"{path}: {error}; save it with pickle or joblib instead") from error
    with atomic_write(path) as file:
        file.write(header)
        for a in arrays.values():
            flat = a.reshape(-1)
            for begin in range(0, flat.size, BLOCK // a.itemsize):
                file.write(flat[begin : begin + BLOCK // a.itemsize].data)
        if read_back is not None:
            file.flush()
            file.seek(0)
            read_back(file)


def open_file(file: IO[bytes], path: Path, kind: str, *, mapped: bool = False) -> CheckedReader:
    """The parts of a file, each read when it is taken.

    With `mapped`, arrays are read-only views of the file. Processes that map the same file share its memory.
    """
    entries, metadata, start = read_header(file, path)
    about, checksums = _check_metadata(metadata, kind)
    if checksums.keys() != entries.keys():
        raise ModelFileError("the checksums are not those of the arrays in the file")

    pages = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) if mapped else None

    def read(name: str) -> np.ndarray:
        entry = entries[name]
        array = read_array(file, path, entry, start) if pages is None else map_array(pages, entry, start)
        if f"{zlib.crc32(array.data):08x}" != checksums[name]:
            raise ModelFileError(f"array {name!r} does not match its checksum: the file is corrupt")
        return array

    return CheckedReader({name: (e.dtype, e.shape) for name, e in entries.items()}, read, about)


def _check_metadata(metadata: dict[str, str], kind: str) -> tuple[dict[str, Any], dict[str, str]]:
    """(the JSON, checksums of the arrays), once the metadata is known to be ours, readable and whole."""
    if metadata.get("format") != kind:
        hints = {
            "topmix-corpus": ": open it with topmix.data.Corpus.open",
            CHECKPOINT: ": continue the fit that wrote it with fit(X, checkpoint=...)",
        }
        found, what = str(metadata.get("format")), kind.removeprefix("topmix-")
        raise ModelFileError(f"not a {what} (format {found[:60]!r}, expected {kind!r}){hints.get(found, '')}")
    version = metadata.get("format_version", "")
    if not (version.isascii() and version.isdecimal() and len(version) < 6):
        raise ModelFileError(f"format version {version[:60]!r} is not a number")
    if int(version) != FORMAT_VERSION:
        raise ModelFileError(
            f"written by topmix {metadata.get('library_version', '?')[:20]} in format version {version}; topmix "
            f"{__version__} reads version {FORMAT_VERSION}. A newer topmix may read it."
        )
    rest = {k: v for k, v in metadata.items() if k != "metadata_crc32"}
    if metadata.get("metadata_crc32") != metadata_crc(rest):
        raise ModelFileError("the metadata does not match its checksum: the file is corrupt")
    return _parse(metadata.get("model", ""), "model"), _parse(metadata.get("crc32", ""), "crc32")


def _parse(text: str, what: str) -> dict[str, Any]:
    try:
        value = parse_json(text, _special_float)
    except (ValueError, RecursionError) as error:
        raise ModelFileError(f"{what!r} in the metadata is not JSON that we read: {error}") from error
    if not isinstance(value, dict):
        raise ModelFileError(f"{what!r} in the metadata is not a JSON object")
    return value


def _plain(value: object) -> object:
    """The same value for JSON, which knows neither NumPy's numbers nor numbers that are not finite."""
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, float) and not math.isfinite(value):
        return {"float": str(value)}
    if isinstance(value, dict):
        return {str(k): _plain(v) for k, v in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(v) for v in value]
    return value


def _special_float(value: dict[str, object]) -> object:
    if value.keys() == {"float"} and value["float"] in ("inf", "-inf", "nan"):
        return float(value["float"])
    return value
