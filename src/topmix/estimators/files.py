"""How estimators go to a file and come back, and which fit a checkpoint belongs to.

An estimator offers two methods. `_write` puts the model that it learned into a `Writer`; `_read` takes the same from a
`CheckedReader`, which checks each type, shape and range. Parameters, how data was read, history, names, edits and the
numbers named in `_saved_numbers` are saved for it.
"""

from __future__ import annotations

import importlib
import logging
import os
import zlib
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, TypeGuard

import numpy as np

from topmix import _core
from topmix._version import __version__
from topmix.base.checks import CorpusError, is_number
from topmix.base.component import Component, declared_types, fits, from_dict, is_whole, plain
from topmix.base.fields import MODEL, CheckedReader, ModelFileError, Writer, open_file, write_file
from topmix.base.paths import open_whole, path_of
from topmix.corpus.corpus import Corpus
from topmix.engines import ENGINES
from topmix.engines.engine import Engine
from topmix.estimators.declared import FAMILIES, FitOptions, component_of
from topmix.io.priors import ByGroup, Covariates, OverTime
from topmix.io.reading import Reading
from topmix.learn.checkpoint import Checkpoint, Files
from topmix.learn.fit import Problem
from topmix.learn.history import read_history
from topmix.results.names import checked_topic_names
from topmix.results.topics import AboutFit, FittedTopics
from topmix.results.view import Reproducibility

if TYPE_CHECKING:
    from topmix.estimators.estimator import Estimator
    from topmix.results.predictor import Predictor

# The classes that `load` knows.
MODULE_OF = {
    "LDA": "lda", "HDP": "lda", "GibbsLDA": "gibbs", "CombinatorialLDA": "combinatorial",
    "GaussianMixture": "gaussian", "MultinomialMixture": "multinomial", "VonMisesFisherMixture": "von_mises_fisher",
    "GaussianAdmixture": "admixture", "VonMisesFisherAdmixture": "admixture",
    "LabelledLDA": "supervised", "SupervisedLDA": "supervised",
}  # fmt: skip
COMPONENTS: dict[str, Mapping[str, type[Component]]] = {  # that parameters may be
    **FAMILIES,
    "doc_topic_prior": {"covariates": Covariates},
    "topic_word_prior": {"over_time": OverTime, "by_group": ByGroup},
}
DEFAULT_ENGINE = "threads"
WHOLE = ("n_iter", "n_updates", "n_samples", "n_sweeps")
LARGEST_COUNT = 2**62
NOT_COMPARED = ("max_iter", "tol", "max_time", "verbose", "callbacks", "engine", "n_jobs", "warm_start")  # of two fits

logger = logging.getLogger(__name__)


def save(estimator: Estimator, path: str | os.PathLike[str]) -> None:
    name, fitted = type(estimator).__name__, estimator._found()
    if type(estimator).__module__ != f"topmix.estimators.{MODULE_OF.get(name)}":
        raise ModelFileError(f"{name} is not an estimator of topmix, so `load` would not know it: use pickle or joblib")
    out = Writer()
    out.value("n_components", fitted.model.n_components)
    estimator._write(fitted, out)
    parameters, given_arrays, notes = _parameters(estimator)
    for note in notes:
        logger.warning("%s: %s", path, note)
    numbers = {a: getattr(fitted, a) for a in estimator._saved_numbers}
    about = {
        "estimator": name,
        "parameters": parameters,
        "notes": notes,
        **fitted.reading.about(),
        "history": [record.to_dict() for record in fitted.history],
        "numbers": {a: value for a, value in numbers.items() if value is not None},
        "extra": out.values,
    }
    if isinstance(fitted, FittedTopics) or fitted.names or fitted.edits:
        about["topic_names"] = [[int(k), name] for k, name in sorted(fitted.names.items())]
        about["edits"] = list(fitted.edits)
    if fitted.places is not None:
        about["places"] = fitted.view.places.tolist()
    if fitted.reproducibility is not None:
        about["reproducibility"] = fitted.reproducibility.to_dict()
    arrays = out.arrays | {f"parameters.{p}": a for p, a in given_arrays.items()}

    def read_back(file: IO[bytes]) -> None:
        try:
            _load(file, path_of(path), mapped=True)  # without a second model in memory
        except (CorpusError, ValueError, RecursionError) as error:
            raise ModelFileError(
                f"{path}: was not written, because `load` would refuse it: {error}; use pickle or joblib instead"
            ) from error

    write_file(path_of(path), MODEL, arrays, about, read_back)


def load(path: str | os.PathLike[str], *, mapped: bool = False, engine: str | Engine | None = None) -> Any:
    """The estimator that `save` wrote, ready to predict, to be fitted further or to be saved again.

    With `mapped`, its arrays stay in the file, which is mapped into memory: processes that load the same file share
    them. Replace such a file by another, as `save` does, and do not write into it.

    A file says what was learned, and never where to compute: the estimator has the default engine, or the `engine` that
    is passed here. A warning is logged where the fit used another one.
    """
    if engine is not None:
        component_of(engine, "engine")  # an error of the caller comes first
    estimator, used = _opened(path_of(path), mapped=mapped)
    if engine is not None:
        estimator.set_params(engine=engine)
    elif used not in (None, DEFAULT_ENGINE):
        logger.warning("%s: the fit used engine=%r, and a file does not choose it: load(path, engine=...)", path, used)
    return estimator


def load_predictor(path: str | os.PathLike[str], *, mapped: bool = True) -> Predictor:
    """The Predictor of a model in a file, as `model.save` wrote it. The file is mapped into memory, as `load` does it;
    with `mapped=False` it is read, and may be written to afterwards."""
    model: Any = _opened(path_of(path), mapped=mapped)[0]
    if not hasattr(model, "predictor"):
        raise ValueError(f"{path} holds a {type(model).__name__}, which has no predictor")
    return model.predictor()


def _opened(path: Path, *, mapped: bool) -> tuple[Estimator, str | None]:
    """What `_load` finds in a file, and errors that name it."""
    with open_whole(path) as file:
        try:
            return _load(file, path, mapped=mapped)
        except CorpusError as error:  # the layout's own, which is the corpus's too
            said = str(error).removeprefix(f"{path}: ")
            raise ModelFileError(f"{path}: this is not a topmix model: {said}") from error
        except (ValueError, RecursionError) as error:  # ModelFileError, or a parameter that its estimator refuses
            raise ModelFileError(f"{path}: {error}") from error


def _load(opened: IO[bytes], path: Path, *, mapped: bool) -> tuple[Estimator, str | None]:
    """The estimator, and the name of the engine that learned it."""
    file = open_file(opened, path, MODEL, mapped=mapped)
    name = file.text("estimator")
    if name not in MODULE_OF:
        raise ModelFileError(f"holds a {name!r}, which topmix {__version__} does not know")
    module = importlib.import_module(f"topmix.estimators.{MODULE_OF[name]}")
    estimator, used = _construct(vars(module)[name], file)
    estimator._threads()  # every question to a model asks for it
    about: AboutFit = {"reading": Reading.read(file), "history": tuple(read_history(file))}
    for number, value in (file.table("numbers") or {}).items():
        if number == "converged":
            is_sound = isinstance(value, bool)
        else:
            is_sound = is_number(value) and (number not in WHOLE or is_whole(value))
            is_sound = is_sound and (not number.startswith("n_") or 0 <= value <= LARGEST_COUNT)
        if number not in estimator._saved_numbers or not is_sound:
            raise ModelFileError(f"{name} has no number {number!r} that could be {str(value)[:60]!r}")
        about[number] = value
    if "topic_names" in file.about:
        about["names"] = checked_topic_names(file.about["topic_names"])
    if "edits" in file.about:
        about["edits"] = tuple(file.items("edits"))
    K = file.integer("n_components", 1, _core.MAX_TOPICS)
    if (reproducibility := file.table("reproducibility", missing=None)) is not None:
        about["reproducibility"] = Reproducibility.from_dict(reproducibility, K, file.n_features)
    if "places" in file.about:
        try:
            places = about["places"] = np.array(file.about["places"], np.float64)
        except (TypeError, ValueError) as error:
            raise ModelFileError(f"'places' is not a list of positions: {error}") from error
        if places.shape != (K, 2) or not (np.abs(places) < 1e3).all():
            raise ModelFileError(f"'places' is not a list of {K} positions in the plane")
    try:
        estimator._fitted = replace(estimator._read(about, file, K), asked=estimator._asked())
    except TypeError as error:  # a mixture with names of topics
        raise ModelFileError(f"has parts that a {name} does not have: {error}") from error
    if file.left:
        raise ModelFileError(f"has arrays that a {name} does not have: {', '.join(sorted(file.left))[:200]}")
    return estimator, used


def _construct(cls: Any, file: CheckedReader) -> tuple[Estimator, str | None]:
    """The estimator with its parameters: known names, and values of the types that its signature declares. Its engine
    is the default, and beside it is the name of the one that the file has."""
    hints, known = declared_types(cls), cls._get_param_names()
    parameters = dict(file.table("parameters") or {})
    for name, value in parameters.items():
        is_known = name in known and name != "callbacks"
        if is_known and name in COMPONENTS and isinstance(value, dict):
            parameters[name] = from_dict(value, COMPONENTS[name], name)
        elif not is_known or not (_is_json(value) if hints[name] in (object, Any) else fits(value, hints[name])):
            raise ModelFileError(f"{cls.__name__} has no parameter {name!r} that could be {str(value)[:60]!r}")
    for full_name in sorted(name for name in file.left if name.startswith("parameters.")):
        name, _, key = full_name.removeprefix("parameters.").partition(".")
        if name not in known or hints[name] not in (object, Any) or (name in parameters and not key):
            raise ModelFileError(f"{cls.__name__} has no parameter {name!r} that could be an array")
        array, before = file.any_array(full_name), parameters.get(name)
        # With a key it is one entry of a table of arrays.
        parameters[name] = {**(before if isinstance(before, dict) else {}), key: array} if key else array
    used = parameters.pop("engine", None)
    return cls(**parameters), None if used is None else _engine_name(component_of(used, "engine"))


def _engine_name(engine: Component) -> str | None:
    return next((name for name, kind in ENGINES.items() if type(engine) is kind), None)


def _parameters(estimator: Estimator) -> tuple[dict[str, object], dict[str, np.ndarray], list[str]]:
    """Those that JSON holds, those that are arrays, and a note on each that is neither."""
    values: dict[str, object] = {}
    arrays: dict[str, np.ndarray] = {}
    notes = []
    for name, value in estimator._declared().get_params(deep=False).items():
        if name == "callbacks":
            continue
        if name == "engine" and (used := _engine_name(component_of(value, name))) is not None:
            values[name] = used  # not its settings: addresses and folders are not for others
        elif isinstance(value, Component) and type(value) in COMPONENTS.get(name, {}).values():
            values[name] = value.to_dict()  # `load` knows its class
        elif _is_array(value):
            arrays[name] = value.astype(np.float64 if value.dtype.kind == "f" else np.int64)  # labels stay whole
        elif isinstance(value, dict) and value and all(_is_array(np.asarray(v)) for v in value.values()):
            arrays |= {f"{name}.{key}": np.atleast_1d(np.asarray(v, np.float64)) for key, v in sorted(value.items())}
        elif _is_json(value):
            values[name] = value
        elif name == "seeds":  # words by their columns, with weights, are keys that JSON does not have
            values[name] = component_of(value, name).to_dict()
        else:
            notes.append(f"{name} was a {type(value).__name__}, which a file cannot hold; the default stands for it")
    return values, arrays, notes


def _is_array(value: object) -> TypeGuard[np.ndarray]:
    return isinstance(value, np.ndarray) and value.dtype.kind in "iuf" and value.size > 0


def _is_json(value: object) -> bool:
    if isinstance(value, list | tuple):
        return all(_is_json(v) for v in value)
    if isinstance(value, dict):
        return all(isinstance(key, str) and _is_json(v) for key, v in value.items())
    value = plain(value)
    return value is None or isinstance(value, bool | int | float | str)


# Which fit a checkpoint belongs to: what the data is, and every parameter that changes a pass


def checkpoint_of(estimator: Estimator, problem: Problem, options: FitOptions, files: Files) -> Checkpoint:
    """A checkpoint of this fit. The parameters and the data have to be the same for a fit to continue."""
    if estimator.n_init > 1:
        raise ValueError("a checkpoint is of one start: it needs n_init=1")
    if problem.learner.travels and problem.empty is None:
        raise ValueError(f"a checkpoint does not hold the responsibilities of {type(problem.learner).__name__}")
    about, data = described_parameters(estimator.get_params(deep=False)), problem.data
    if isinstance(data, Corpus):
        about["the data"] = f"{data.n_docs} x {data.n_words}, {_crc(data.indptr, data.index, data.value)}"
        if data.vocabulary is not None:
            about["the vocabulary"] = f"crc32 {zlib.crc32(chr(0).join(data.vocabulary).encode()):08x}"
        if data.design is not None:
            about["the covariates"] = _crc(data.design.x, data.design.row)
        if data.version is not None:
            about["the versions"] = _crc(data.version)
    else:
        rows, csr = data.rows, data.rows.csr
        blocks = rows.blocks() if csr is None else [csr.indptr, csr.indices, csr.data]
        about["the data"] = f"{rows.shape[0]} x {rows.shape[1]}, {rows.data.dtype}, {_crc(*blocks)}"
    if (groups := data.groups) is not None:
        about["the groups"] = f"{len(groups)}, {_crc(groups.starts, *([] if groups.order is None else [groups.order]))}"
    if problem.weight is not None:
        about["the weights"] = _crc(problem.weight)
    if problem.is_warm:
        out = Writer()
        estimator._write(estimator._fitted, out)
        about["the start"] = _crc(*out.arrays.values())
    if problem.warm_up > 0:
        about["the warm-up"] = f"{problem.warm_up} passes"
    assert options.checkpoint is not None
    return Checkpoint(path_of(options.checkpoint), about, files, options.every)


def described_parameters(parameters: dict[str, object]) -> dict[str, object]:
    """Those that change what is learned, as text that can be compared."""
    return {
        name: _described(component_of(value, name) if name in FAMILIES else value)
        for name, value in parameters.items()
        if name not in NOT_COMPARED
    }


def _described(value: object) -> object:
    """A parameter as JSON holds it: components as they print, arrays by a checksum, other objects by their type."""
    value = plain(value)
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if isinstance(value, Component):
        return repr(value)
    if isinstance(value, dict):
        return {str(name): _described(each) for name, each in value.items()}
    if isinstance(value, np.ndarray | list | tuple):
        try:
            array = np.asarray(value, dtype=np.float64)
        except (TypeError, ValueError):  # words
            return f"list, crc32 {zlib.crc32(repr(value).encode()):08x}"
        return f"array of {array.shape}, {_crc(array)}"
    return type(value).__name__


def _crc(*arrays: object) -> str:
    crc = 0
    for array in arrays:
        crc = zlib.crc32(np.ascontiguousarray(array).data, crc)
    return f"crc32 {crc:08x}"
