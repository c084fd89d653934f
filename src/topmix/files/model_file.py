"""Fitted models in one file: safetensors for the arrays, JSON in its metadata for the rest.

    format "topmix-model", format_version, library_version,
    model (JSON: estimator, parameters, notes, n_features, feature_names, tokenizer, history, attributes, extra),
    crc32 (JSON: array -> checksum), metadata_crc32 (of all the others)

A file is data and nothing else: the estimator is looked up in a table by name, every array must have the type and shape
that the estimator asks for, and whatever does not fit raises ModelFileError. Memory is bounded by the file's size.
"""

from __future__ import annotations

import json
import logging
import math
import os
import typing
import zlib
from pathlib import Path
from types import NoneType
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

import topmix
from topmix.data.atomic import atomic_write
from topmix.data.errors import CorpusError
from topmix.data.layout import DTYPES, encode_header, metadata_crc, plan, read_array, read_header
from topmix.files.reader import ModelFileError, Parts
from topmix.fitting.history import Record

FORMAT = "topmix-model"
FORMAT_VERSION = 1
BLOCK = 1 << 23  # bytes written at a time
LARGEST_INTEGER = 2**31  # of a parameter: what kernels count with

logger = logging.getLogger(__name__)


def save(estimator: Any, path: str | os.PathLike[str]) -> None:
    """Write a fitted estimator to one file that `load` reads; any safetensors library reads its arrays. Atomic.

    Callbacks are not saved. A parameter that is neither JSON nor an array, for instance a RandomState, is left out: a
    note in the file says so, and the loaded estimator has the default.
    """
    name = type(estimator).__name__
    if _estimators().get(name) is not type(estimator):
        raise ModelFileError(f"{name} is not an estimator of topmix, so `load` would not know it: use pickle or joblib")
    check_is_fitted(estimator, "model_")
    arrays, extra = estimator._to_arrays()
    parameters, given_arrays, notes = _parameters(estimator)
    for note in notes:
        logger.warning("%s: %s", path, note)
    names = getattr(estimator, "feature_names_in_", None)
    about = {
        "estimator": name,
        "parameters": parameters,
        "notes": notes,
        "n_features": int(estimator.n_features_in_),
        "feature_names": None if names is None else [str(word) for word in names],
        "history": [record.to_dict() for record in getattr(estimator, "history_", [])],
        "attributes": {a: getattr(estimator, a) for a in estimator._saved_attributes if hasattr(estimator, a)},
        "extra": extra,
    }
    if hasattr(estimator, "tokenizer_"):
        about["tokenizer"] = estimator.tokenizer_
    write_parts(Path(path), arrays | {f"parameters.{p}": a for p, a in given_arrays.items()}, about)


def load(path: str | os.PathLike[str]) -> Any:
    """The estimator that `save` wrote, ready to predict, to be fitted further or to be saved again."""
    path = Path(path)
    with open(path, "rb") as file:
        try:
            return _load(file, path)
        except CorpusError as error:  # the layout's own, which is the corpus's too
            raise ModelFileError(str(error)) from error
        except (ValueError, RecursionError) as error:  # ModelFileError, or a parameter that its estimator refuses
            raise ModelFileError(f"{path}: {error}") from error


def open_parts(file: IO[bytes], path: Path, kind: str = FORMAT) -> Parts:
    """The parts of a model, or of another file that is laid out like one; each is read when it is taken."""
    entries, metadata, start = read_header(file, path)
    about, checksums = _check_metadata(metadata, kind)
    if checksums.keys() != entries.keys():
        raise ModelFileError("the checksums are not those of the arrays in the file")

    def read(name: str) -> NDArray[Any]:
        array = read_array(file, path, entries[name], start)
        if f"{zlib.crc32(array.data):08x}" != checksums[name]:
            raise ModelFileError(f"array {name!r} does not match its checksum: the file is corrupt")
        return array

    return Parts({name: (e.dtype, e.shape) for name, e in entries.items()}, read, about)


def _load(file: IO[bytes], path: Path) -> Any:
    parts = open_parts(file, path)
    name = parts.text("estimator")
    if name not in _estimators():
        raise ModelFileError(f"holds a {name!r}, which topmix {topmix.__version__} does not know")
    estimator = _construct(_estimators()[name], parts)
    estimator.n_features_in_ = parts.n_features
    if (words := parts.strings("feature_names", parts.n_features)) is not None:
        estimator.feature_names_in_ = np.array(words, dtype=object)
    if "tokenizer" in parts.about:  # not where rows are no texts
        estimator.tokenizer_ = parts.table("tokenizer", missing=None)
    estimator.history_ = read_history(parts)
    for attribute, value in (parts.table("attributes") or {}).items():
        if attribute not in estimator._saved_attributes or not isinstance(value, bool | int | float):
            raise ModelFileError(f"{name} has no attribute {attribute!r} that could be {str(value)[:60]!r}")
        setattr(estimator, attribute, value)
    estimator._from_arrays(parts)
    if parts.left:
        raise ModelFileError(f"has arrays that a {name} does not have: {', '.join(sorted(parts.left))[:200]}")
    return estimator


def read_history(parts: Parts) -> list[Record]:
    try:
        return [Record.from_dict(record) for record in parts.items("history")]
    except (TypeError, ValueError) as error:
        raise ModelFileError(f"the history makes no sense: {error}") from error


def _construct(cls: Any, parts: Parts) -> Any:
    """The estimator with its parameters: known names, and values of the types that its signature declares."""
    hints = typing.get_type_hints(cls.__init__)
    parameters = dict(parts.table("parameters") or {})
    for name, value in parameters.items():
        if name not in cls._get_param_names() or name == "callbacks" or not _fits(value, hints[name]):
            raise ModelFileError(f"{cls.__name__} has no parameter {name!r} that could be {str(value)[:60]!r}")
    for full_name in sorted(parts.left):
        name = full_name.removeprefix("parameters.")
        if name != full_name:
            if name not in cls._get_param_names() or hints[name] is not Any or name in parameters:
                raise ModelFileError(f"{cls.__name__} has no parameter {name!r} that could be an array")
            parameters[name] = parts.any_array(full_name)
    return cls(**parameters)


def _parameters(estimator: Any) -> tuple[dict[str, Any], dict[str, NDArray[Any]], list[str]]:
    """Those that JSON holds, those that are arrays, and a note on each that is neither."""
    plain: dict[str, Any] = {}
    arrays: dict[str, NDArray[Any]] = {}
    notes = []
    for name, value in estimator.get_params(deep=False).items():
        if name == "callbacks":
            continue
        value = value.item() if isinstance(value, np.generic) else value
        if isinstance(value, np.ndarray) and value.dtype.kind in "iuf" and value.size:
            arrays[name] = value.astype(np.float64)
        elif _is_json(value):
            plain[name] = value
        else:
            notes.append(f"{name} was a {type(value).__name__}, which a file cannot hold; the default stands for it")
    return plain, arrays, notes


def write_parts(path: Path, arrays: dict[str, NDArray[Any]], about: dict[str, Any], kind: str = FORMAT) -> None:
    """What `open_parts` reads: arrays, and a table that JSON can hold."""
    stored = {np.dtype(dtype): name for name, dtype in DTYPES.items()}
    arrays = {name: np.ascontiguousarray(a, a.dtype.newbyteorder("<")) for name, a in arrays.items()}
    arrays = dict(sorted(arrays.items(), key=lambda item: -item[1].itemsize))  # stable; keeps every array aligned
    metadata = {
        "format": kind,
        "format_version": str(FORMAT_VERSION),
        "library_version": topmix.__version__,
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


def _check_metadata(metadata: dict[str, str], kind: str) -> tuple[dict[str, Any], dict[str, str]]:
    """(the model's JSON, checksums of the arrays), once the metadata is known to be ours, readable and whole."""
    if metadata.get("format") != kind:
        hints = {
            "topmix-corpus": ": open it with topmix.data.Corpus.open",
            "topmix-checkpoint": ": the fit that wrote it goes on from it, as fit(X, checkpoint=...)",
        }
        found, what = str(metadata.get("format")), kind.removeprefix("topmix-")
        raise ModelFileError(f"not a {what} (format {found[:60]!r}, expected {kind!r}){hints.get(found, '')}")
    version = metadata.get("format_version", "")
    if not (version.isascii() and version.isdecimal() and len(version) < 6):
        raise ModelFileError(f"format version {version[:60]!r} is not a number")
    if int(version) > FORMAT_VERSION:
        raise ModelFileError(
            f"written by topmix {metadata.get('library_version', '?')[:20]} in format version {version}; topmix "
            f"{topmix.__version__} reads up to version {FORMAT_VERSION}. A newer topmix will read it."
        )
    rest = {k: v for k, v in metadata.items() if k != "metadata_crc32"}
    if metadata.get("metadata_crc32") != metadata_crc(rest):
        raise ModelFileError("the metadata does not match its checksum: the file is corrupt")
    about, checksums = (_parse(metadata.get(key, ""), key) for key in ("model", "crc32"))
    return about, checksums


def _parse(text: str, what: str) -> dict[str, Any]:
    try:
        value = json.loads(text, object_hook=_special_float, parse_constant=_refuse)
    except (ValueError, RecursionError) as error:
        raise ModelFileError(f"{what!r} in the metadata is not JSON that we read: {error}") from error
    if not isinstance(value, dict):
        raise ModelFileError(f"{what!r} in the metadata is not a JSON object")
    return value


def _plain(value: Any) -> Any:
    """The same for JSON, which knows neither NumPy's numbers nor those that are not finite."""
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, float) and not math.isfinite(value):
        return {"float": str(value)}
    if isinstance(value, dict):
        return {str(k): _plain(v) for k, v in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(v) for v in value]
    return value


def _special_float(value: dict[str, Any]) -> Any:
    if value.keys() == {"float"} and value["float"] in ("inf", "-inf", "nan"):
        return float(value["float"])
    return value


def _refuse(constant: str) -> None:
    raise ValueError(f"{constant} is not JSON")


def _is_json(value: Any) -> bool:
    if isinstance(value, list | tuple):
        return all(_is_json(v) for v in value)
    return value is None or isinstance(value, bool | int | float | str | np.number)


def _fits(value: Any, hint: Any) -> bool:
    """Whether a value may be a parameter declared so. An integer passes for a float, and true and false for either."""
    if hint is Any:
        return _is_json(value)
    kinds = typing.get_args(hint) or (hint,)
    if isinstance(value, float):
        return float in kinds
    if isinstance(value, bool | int):
        return float in kinds or (any(kind in kinds for kind in (bool, int)) and abs(value) < LARGEST_INTEGER)
    return (NoneType if value is None else type(value)) in kinds


def _estimators() -> dict[str, Any]:
    from topmix.estimators import ESTIMATORS  # estimators know how to save themselves, so they import this file

    return ESTIMATORS
