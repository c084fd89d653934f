"""Reading an untrusted file: each part is there and is what was asked for, or ModelFileError is raised."""

from __future__ import annotations

import copy
import json
import mmap
import zlib
from collections.abc import Callable, Mapping
from itertools import accumulate
from pathlib import Path
from typing import IO, Any, NoReturn, TypeVar

import numpy as np

from topmix._version import __version__
from topmix.base.atomic import atomic_write
from topmix.base.checks import LARGEST, CorpusError, is_number
from topmix.base.component import Json, each_value, is_special, plain
from topmix.base.layout import DTYPES, encode_header, map_array, metadata_crc, parse_json, plan, read_header

MAX_FEATURES = 2**31 - 1
DEEPEST = 8  # dots in the name of an array

T = TypeVar("T")


class ModelFileError(ValueError):
    """A file that is not a model, is damaged, or was written by a newer topmix; or a model that no file can hold."""


class CheckedReader:
    """The arrays and values of a file, under dotted names such as "words.eta". `at("words")` is the same file seen from
    inside "words.". An array is read when it is taken, after its type and shape were compared with what is wanted."""

    def __init__(
        self,
        arrays: dict[str, tuple[str, tuple[int, ...]]],  # name -> (dtype as safetensors spells it, shape)
        read: Callable[[str], np.ndarray],
        about: dict[str, object],
    ):
        self.arrays, self.read, self.about, self.prefix = arrays, read, about, ""
        self.left = set(arrays)  # not taken yet
        self.parts = {part for name in arrays for part in accumulate(name.split(".", DEEPEST)[:-1], "{}.{}".format)}
        self.n_features = _integer(about.get("n_features"), "n_features", 1, MAX_FEATURES)

    @classmethod
    def of_values(cls, values: Mapping[str, object]) -> CheckedReader:
        """What a Writer without arrays had."""
        return cls({}, lambda name: np.zeros(0), {"n_features": 1, "extra": dict(values)})

    def at(self, name: str) -> CheckedReader:
        inner = copy.copy(self)
        inner.prefix = f"{self.prefix}{name}."
        return inner

    def inside(self, name: str) -> CheckedReader:
        """A table among the values, read as if it were at the top of the file."""
        value, inner = self._extra(name), copy.copy(self)
        inner.about = _typed(value, dict, self.prefix + name, "a table")
        inner.n_features = _integer(inner.about.get("n_features"), f"{self.prefix}{name}.n_features", 1, MAX_FEATURES)
        return inner

    def has(self, name: str) -> bool:
        """Whether there is an array of this name that was not taken yet, or a value whose fields are arrays."""
        return self.prefix + name in self.left or self.prefix + name in self.parts

    def array(
        self,
        name: str,
        *shape: int | set[int] | None,
        dtype: str = "F64",
        low: float = -LARGEST,
        high: float = LARGEST,
    ) -> np.ndarray:
        """Numbers of this type (as safetensors spells it) and shape, where a set means any of its sizes and None any
        at all. None of them is infinite or NaN."""
        name = self.prefix + name
        if name not in self.left:
            raise ModelFileError(f"has no array {name!r}")
        kind, sizes = self.arrays[name]
        choices = [{n} if isinstance(n, int) else n for n in shape]
        if kind != dtype or len(sizes) != len(shape) or any(c and n not in c for n, c in zip(sizes, choices)):
            wanted = " x ".join(" or ".join(map(str, sorted(c))) if c else "any length" for c in choices)
            raise ModelFileError(f"array {name!r} is {kind} of {sizes}, expected {dtype} of {wanted}")
        self.left.discard(name)
        array = self.read(name)
        if array.size and not (float(array.min()) >= low and float(array.max()) <= high):  # not true of NaN either
            raise ModelFileError(f"array {name!r} has entries that are not numbers from {low:g} to {high:g}")
        return array

    def any_array(self, name: str) -> np.ndarray:
        """Finite doubles or whole numbers, of one to three dimensions."""
        dtype, shape = self.arrays[self.prefix + name]
        if dtype not in ("F64", "I64") or len(shape) not in (1, 2, 3) or 0 in shape:
            wanted = "F64 or I64 of 1 to 3 dimensions"
            raise ModelFileError(f"array {self.prefix + name!r} is {dtype} of {shape}, expected {wanted}")
        return self.array(name, *shape, dtype=dtype)

    # Values of "extra", which `Writer` has.

    def _extra(self, name: str) -> object:
        name, extra = self.prefix + name, self.about.get("extra")
        if not isinstance(extra, dict) or name not in extra:
            raise ModelFileError(f"does not say {name!r}")
        return extra[name]

    def number(self, name: str, low: float = -LARGEST, high: float = LARGEST) -> float:
        value = self._extra(name)
        if not is_number(value) or not low <= value <= high:
            _refuse(value, self.prefix + name, f"a number from {low:g} to {high:g}")
        return float(value)

    def integer(self, name: str, low: int, high: int) -> int:
        return _integer(self._extra(name), self.prefix + name, low, high)

    def flag(self, name: str) -> bool:
        return _typed(self._extra(name), bool, self.prefix + name, "true or false")

    def choice(self, name: str, choices: tuple[str, ...]) -> str:
        value = self._extra(name)
        if value not in choices:
            _refuse(value, self.prefix + name, f"one of {', '.join(choices)}")
        return str(value)

    def listed(self, name: str) -> list[Any]:
        """A list of whatever JSON has, for the caller to look at."""
        return _typed(self._extra(name), list, self.prefix + name, "a list")

    # Values at the top of the file.

    def count(self, name: str) -> int:
        return _integer(self.about.get(name), name, 0, MAX_FEATURES)

    def text(self, name: str) -> str:
        return _typed(self.about.get(name), str, name, "a string")

    def items(self, name: str) -> list[Json]:
        wanted = "a list of tables"
        return [_typed(item, dict, name, wanted) for item in _typed(self.about.get(name), list, name, wanted)]

    def table(self, name: str, missing: str | None = "refused") -> Json | None:
        value = self.about.get(name)
        if value is None and missing is None:
            return None
        return _typed(value, dict, name, "a table")

    def strings(self, name: str, length: int) -> list[str] | None:
        value = self.about.get(name)
        if value is None:
            return None
        wanted = f"a list of {length} strings"
        if len(strings := _typed(value, list, name, wanted)) != length:
            _refuse(value, name, wanted)
        return [_typed(string, str, name, wanted) for string in strings]


def _typed(value: object, kind: type[T], name: str, wanted: str) -> T:
    """The value, which has exactly this type, as JSON has it."""
    if type(value) is not kind:
        _refuse(value, name, wanted)
    return value


def _integer(value: object, name: str, low: int, high: int) -> int:
    wanted = f"an integer from {low} to {high}"
    if not low <= (number := _typed(value, int, name, wanted)) <= high:
        _refuse(value, name, wanted)
    return number


def _refuse(value: object, name: str, wanted: str) -> NoReturn:
    raise ModelFileError(f"{name!r} is {str(value)[:60]!r}, expected {wanted}")


# One file for arrays and the JSON that describes them: safetensors, with this metadata.
#
#     format "topmix-model" or "topmix-checkpoint", format_version, library_version,
#     model (JSON: what the arrays are, with the values of `Writer` under "extra"),
#     crc32 (JSON: array -> checksum), metadata_crc32 (of all the others)

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
    """Arrays, and a table that JSON can hold. `read_back` is given the file when it is complete, before it takes its
    name: an error leaves the old one."""

    def in_json(value: object) -> object:
        value = plain(value)
        return {"float": str(value)} if is_special(value) else value

    stored = {np.dtype(dtype): name for name, dtype in DTYPES.items()}
    arrays = {name: np.ascontiguousarray(a, a.dtype.newbyteorder("<")) for name, a in arrays.items()}
    arrays = dict(sorted(arrays.items(), key=lambda item: -item[1].itemsize))  # stable; keeps every array aligned
    metadata = {
        "format": kind,
        "format_version": str(FORMAT_VERSION),
        "library_version": __version__,
        "model": json.dumps(each_value(about, in_json), ensure_ascii=False, allow_nan=False, separators=(",", ":")),
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
    """The parts of a file, each read when it is taken. With `mapped`, arrays are read-only views of the file, and
    processes that map the same file share its memory."""
    entries, metadata, start = read_header(file, path)
    about, checksums = _check_metadata(metadata, kind)
    if checksums.keys() != entries.keys():
        raise ModelFileError("the checksums are not those of the arrays in the file")
    pages = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) if mapped else None

    def read(name: str) -> np.ndarray:
        entry = entries[name]
        if pages is not None:
            array = map_array(pages, entry, start)
        else:  # `read_header` has compared its size with that of the file
            array = np.empty(entry.shape, DTYPES[entry.dtype])
            file.seek(start + entry.begin)
            if file.readinto(array.reshape(-1).data) != array.nbytes:  # type: ignore[attr-defined]
                raise CorpusError(f"{path}: byte {start + entry.begin}: the file became shorter while it was read")
        if f"{zlib.crc32(array.data):08x}" != checksums[name]:
            raise ModelFileError(f"array {name!r} does not match its checksum: the file is corrupt")
        return array

    return CheckedReader({name: (e.dtype, e.shape) for name, e in entries.items()}, read, about)


def _check_metadata(metadata: dict[str, str], kind: str) -> tuple[Json, dict[str, str]]:
    """(the JSON, checksums of the arrays), once the metadata is known to be ours, readable and whole."""
    if metadata.get("format") != kind:
        hints = {
            "topmix-corpus": ": open it with topmix.data.Corpus.open",
            CHECKPOINT: ": continue the fit that wrote it with fit(X, checkpoint=...)",
        }
        other, what = str(metadata.get("format")), kind.removeprefix("topmix-")
        raise ModelFileError(f"not a {what} (format {other[:60]!r}, expected {kind!r}){hints.get(other, '')}")
    version = metadata.get("format_version", "")
    if version != str(FORMAT_VERSION):
        raise ModelFileError(
            f"written by topmix {metadata.get('library_version', '?')[:20]} in format version {version[:20]!r}; topmix "
            f"{__version__} reads version number {FORMAT_VERSION}. A newer topmix may read it."
        )
    rest = {k: v for k, v in metadata.items() if k != "metadata_crc32"}
    if metadata.get("metadata_crc32") != metadata_crc(rest):
        raise ModelFileError("the metadata does not match its checksum: the file is corrupt")

    def special_float(value: Json) -> object:
        is_float = value.keys() == {"float"} and value["float"] in ("inf", "-inf", "nan")
        return float(value["float"]) if is_float else value

    tables = []
    for what in ("model", "crc32"):
        try:
            table = parse_json(metadata.get(what, ""), special_float)
        except (ValueError, RecursionError) as error:
            raise ModelFileError(f"{what!r} in the metadata is not JSON that we read: {error}") from error
        if not isinstance(table, dict):
            raise ModelFileError(f"{what!r} in the metadata is not a JSON object")
        tables.append(table)
    return tables[0], tables[1]


# Arrays and values on their way to a file, under dotted names.


class Writer:
    """What a model or a checkpoint consists of. `at("words")` puts "words." before every name."""

    def __init__(self) -> None:
        self.arrays: dict[str, np.ndarray] = {}
        self.values: dict[str, object] = {}  # numbers, flags and words, for JSON
        self.prefix = ""

    def at(self, name: str) -> Writer:
        inner = Writer()
        inner.arrays, inner.values, inner.prefix = self.arrays, self.values, f"{self.prefix}{name}."
        return inner

    def array(self, name: str, array: np.ndarray) -> None:
        self.arrays[self.prefix + name] = array

    def value(self, name: str, value: object) -> None:
        self.values[self.prefix + name] = value
