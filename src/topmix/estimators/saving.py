"""How estimators go to a file and come back.

An estimator offers two methods. `_write` puts what it learned into a `Writer`; `_read` takes the same from a
`CheckedReader`, which checks each type, shape and range. Parameters, feature names, history and the attributes named in
`_saved_attributes` are saved for it.
"""

from __future__ import annotations

import logging
import os
from abc import abstractmethod
from pathlib import Path
from typing import IO, Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from topmix import _core
from topmix._version import __version__
from topmix.data.errors import CorpusError
from topmix.estimators.all_or_nothing import declared_parameters
from topmix.estimators.components import FAMILIES, threads_of
from topmix.estimators.first_format import upgrade_model, upgrade_parameters
from topmix.estimators.names import checked_topic_names
from topmix.estimators.reading import checked_input
from topmix.files.reader import CheckedReader, ModelFileError
from topmix.files.store import MODEL, open_file, write_file
from topmix.files.writer import Writer
from topmix.fitting.history import read_history
from topmix.parameters.component import Component, from_dict
from topmix.parameters.declared import declared_types, fits, plain

ESTIMATORS: dict[str, Any] = {}  # the classes that `load` knows, by name; filled in __init__.py

logger = logging.getLogger(__name__)


class SaveMixin:
    """`save`, for estimators that offer `_write` and `_read`."""

    _saved_attributes: ClassVar[tuple[str, ...]] = ("n_iter_", "converged_", "elbo_")  # numbers, where they are set

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes the fitted model to one file that `topmix.load` reads. Atomic: the whole file is written, or none. It
        is read back before it takes its name, so a model that was there before is replaced by one that loads.

        Any safetensors library reads its arrays. Callbacks are not saved. A parameter that is neither JSON, an array
        nor a component of topmix, for instance a RandomState, is left out: a note in the file says so, and the loaded
        estimator has the default.
        """
        save(self, path)

    @abstractmethod
    def _write(self, out: Writer) -> None: ...

    @abstractmethod
    def _read(self, file: CheckedReader, K: int) -> None: ...


def save(estimator: Any, path: str | os.PathLike[str]) -> None:
    name = type(estimator).__name__
    if ESTIMATORS.get(name) is not type(estimator):
        raise ModelFileError(f"{name} is not an estimator of topmix, so `load` would not know it: use pickle or joblib")
    check_is_fitted(estimator, "model_")
    out = Writer()
    estimator._write(out)
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
        "extra": out.values,
    }
    if hasattr(estimator, "tokenizer_"):
        about["tokenizer"] = estimator.tokenizer_
    if getattr(estimator, "names_", None):
        about["topic_names"] = [[int(k), name] for k, name in sorted(estimator.names_.items())]
    if getattr(estimator, "edits_", None):
        about["edits"] = estimator.edits_
    if getattr(estimator, "input_", None):
        about["input"] = estimator.input_
    arrays = out.arrays | {f"parameters.{p}": a for p, a in given_arrays.items()}

    def read_back(file: IO[bytes]) -> None:
        try:
            _load(file, Path(path), mapped=True)  # without a second model in memory
        except (CorpusError, ValueError, RecursionError) as error:
            raise ModelFileError(
                f"{path}: was not written, because `load` would refuse it: {error}; use pickle or joblib instead"
            ) from error

    write_file(Path(path), MODEL, arrays, about, read_back)


def load(path: str | os.PathLike[str], *, mapped: bool = False) -> Any:
    """The estimator that `save` wrote, ready to predict, to be fitted further or to be saved again.

    With `mapped`, its arrays stay in the file, which is mapped into memory: processes that load the same file share
    them. Replace such a file by another, as `save` does, and do not write into it.
    """
    path = Path(path)
    with open(path, "rb") as file:
        try:
            return _load(file, path, mapped=mapped)
        except CorpusError as error:  # the layout's own, which is the corpus's too
            raise ModelFileError(str(error)) from error
        except (ValueError, RecursionError) as error:  # ModelFileError, or a parameter that its estimator refuses
            raise ModelFileError(f"{path}: {error}") from error


def _load(opened: IO[bytes], path: Path, *, mapped: bool) -> Any:
    file, version = open_file(opened, path, MODEL, mapped=mapped)
    name = file.text("estimator")
    if name not in ESTIMATORS:
        raise ModelFileError(f"holds a {name!r}, which topmix {__version__} does not know")
    if version == 1:
        upgrade_model(file, name)
    estimator = _construct(ESTIMATORS[name], file, version)
    threads_of(estimator)  # every question to a model asks for it
    estimator.n_features_in_ = file.n_features
    if (words := file.strings("feature_names", file.n_features)) is not None:
        estimator.feature_names_in_ = np.array(words, dtype=object)
    if "tokenizer" in file.about:  # not where rows are no texts
        estimator.tokenizer_ = file.table("tokenizer", missing=None)
        estimator.names_ = checked_topic_names(file.about.get("topic_names") or [])
        estimator.vectorizer_ = None  # its settings are in tokenizer_, and its words are the names of the features
    if "edits" in file.about:
        estimator.edits_ = file.items("edits")
    if "input" in file.about:
        estimator.input_ = checked_input(file.table("input"))
    estimator.history_ = read_history(file)
    for attribute, value in (file.table("attributes") or {}).items():
        if attribute not in estimator._saved_attributes or not isinstance(value, bool | int | float):
            raise ModelFileError(f"{name} has no attribute {attribute!r} that could be {str(value)[:60]!r}")
        setattr(estimator, attribute, value)
    estimator._read(file, file.integer("n_components", 1, _core.MAX_TOPICS))
    if file.left:
        raise ModelFileError(f"has arrays that a {name} does not have: {', '.join(sorted(file.left))[:200]}")
    return estimator


def _construct(cls: Any, file: CheckedReader, version: int) -> Any:
    """The estimator with its parameters: known names, and values of the types that its signature declares."""
    hints, known = declared_types(cls.__init__), cls._get_param_names()
    parameters = dict(file.table("parameters") or {})
    if version == 1:
        parameters = upgrade_parameters(cls.__name__, parameters)
    for name, value in parameters.items():
        if name in known and name in FAMILIES and isinstance(value, dict):
            value.pop("exclude", None)  # Collapsed had it in earlier files
            parameters[name] = from_dict(value, FAMILIES[name], name)
        elif not isinstance(value, Component) and (
            name not in known or name == "callbacks" or not _may_be(value, hints[name])
        ):
            raise ModelFileError(f"{cls.__name__} has no parameter {name!r} that could be {str(value)[:60]!r}")
    for full_name in sorted(file.left):
        name, _, key = full_name.removeprefix("parameters.").partition(".")
        if not full_name.startswith("parameters."):
            continue
        if name not in known or hints[name] is not Any or (name in parameters and not key):
            raise ModelFileError(f"{cls.__name__} has no parameter {name!r} that could be an array")
        array = file.any_array(full_name)
        if key:  # one entry of a table of arrays
            table = parameters[name] if isinstance(parameters.get(name), dict) else {}
            parameters[name] = {**table, key: array}
        else:
            parameters[name] = array
    return cls(**parameters)


def _parameters(estimator: Any) -> tuple[dict[str, Any], dict[str, NDArray[Any]], list[str]]:
    """Those that JSON holds, those that are arrays, and a note on each that is neither."""
    values: dict[str, Any] = {}
    arrays: dict[str, NDArray[Any]] = {}
    notes = []
    for name, value in declared_parameters(estimator).items():
        if name == "callbacks":
            continue
        if isinstance(value, Component) and type(value) in FAMILIES.get(name, {}).values():  # `load` knows its class
            values[name] = value.to_dict()
        elif _is_array(value):
            arrays[name] = value.astype(np.float64 if value.dtype.kind == "f" else np.int64)  # labels stay whole
        elif isinstance(value, dict) and value and all(_is_array(np.asarray(v)) for v in value.values()):
            arrays |= {f"{name}.{key}": np.atleast_1d(np.asarray(v, np.float64)) for key, v in sorted(value.items())}
        elif _is_json(value):
            values[name] = value
        else:
            notes.append(f"{name} was a {type(value).__name__}, which a file cannot hold; the default stands for it")
    return values, arrays, notes


def _may_be(value: Any, hint: Any) -> bool:
    return _is_json(value) if hint is Any else fits(value, hint)


def _is_array(value: Any) -> bool:
    return isinstance(value, np.ndarray) and value.dtype.kind in "iuf" and value.size > 0


def _is_json(value: Any) -> bool:
    if isinstance(value, list | tuple):
        return all(_is_json(v) for v in value)
    if isinstance(value, dict):
        return all(isinstance(key, str) and _is_json(v) for key, v in value.items())
    value = plain(value)
    return value is None or isinstance(value, bool | int | float | str)
