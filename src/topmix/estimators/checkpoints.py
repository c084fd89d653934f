"""Which fit a checkpoint belongs to: what the data is, and every parameter that changes a pass."""

from __future__ import annotations

import os
import zlib
from pathlib import Path
from typing import Any

import numpy as np

from topmix.data.corpus import Corpus
from topmix.estimators.components import FAMILIES
from topmix.estimators.first_format import upgrade_parameters
from topmix.fitting.checkpoint import Checkpoint
from topmix.inference import Inference
from topmix.parameters.component import Component, resolved

# These change no pass.
NOT_COMPARED = ("max_iter", "tol", "max_time", "verbose", "callbacks", "engine", "n_jobs", "warm_start")


def checkpoint_of(
    estimator: Any, corpus: Corpus, path: str | os.PathLike[str] | None, every: int, inference: Inference
) -> Checkpoint | None:
    """The checkpoint at this path, for this fit; None where there is no path."""
    if path is None:
        return None
    if estimator.n_init > 1:
        raise ValueError("a checkpoint is of one start: it needs n_init=1")
    if not inference.has_checkpoints:
        raise ValueError(f"a checkpoint does not hold the responsibilities of {type(inference).__name__}")
    engine = resolved(estimator.engine, FAMILIES["engine"], "engine")
    if not engine.has_checkpoints:
        raise ValueError(f"a checkpoint does not hold what {type(engine).__name__}() keeps on its device")
    name = type(estimator).__name__

    def upgrade_fit(before: dict[str, Any]) -> dict[str, Any]:
        about_data = {key: before.pop(key) for key in list(before) if key.startswith("the ")}
        parameters = upgrade_parameters(name, before)
        return described_parameters(parameters) | about_data

    return Checkpoint(Path(path), describe_fit(estimator, corpus), every, upgrade_fit)


def describe_fit(estimator: Any, corpus: Corpus) -> dict[str, Any]:
    """What has to be the same for a fit to continue."""
    about = described_parameters(estimator.get_params(deep=False))
    about["the data"] = f"{corpus.n_docs} x {corpus.n_words}, {_crc(corpus.indptr, corpus.index, corpus.value)}"
    if corpus.vocabulary is not None:
        about["the vocabulary"] = f"crc32 {zlib.crc32(chr(0).join(corpus.vocabulary).encode()):08x}"
    if estimator.warm_start and hasattr(estimator, "model_"):
        about["the start"] = _crc(estimator.model_.words.pseudo_counts(), estimator.model_.prior.alpha)
    return about


def described_parameters(parameters: dict[str, Any]) -> dict[str, Any]:
    """Those that change what is learned, as text that can be compared."""
    about = {}
    for name, value in parameters.items():
        if name in NOT_COMPARED or (name == "seed_strength" and parameters.get("seeds") is None):
            continue
        is_component = name in FAMILIES and value is not None
        about[name] = _described(resolved(value, FAMILIES[name], name) if is_component else value)
    return about


def _described(value: Any) -> Any:
    """A parameter as JSON holds it: components as they print, arrays by a checksum, other objects by their type."""
    value = value.item() if isinstance(value, np.generic) else value
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if isinstance(value, Component):
        return repr(value)
    if isinstance(value, np.ndarray | list | tuple):
        try:
            array = np.asarray(value, dtype=np.float64)
        except (TypeError, ValueError):  # words
            return f"list, crc32 {zlib.crc32(repr(value).encode()):08x}"
        return f"array of {array.shape}, {_crc(array)}"
    return type(value).__name__


def _crc(*arrays: np.ndarray) -> str:
    crc = 0
    for array in arrays:
        crc = zlib.crc32(np.ascontiguousarray(array).data, crc)
    return f"crc32 {crc:08x}"
