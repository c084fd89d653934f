"""Which fit a checkpoint belongs to: what the data is, and every parameter that changes a pass."""

from __future__ import annotations

import os
import zlib
from typing import Any

import numpy as np

from topmix.api.components import FAMILIES, component_of
from topmix.api.estimator import Estimator
from topmix.data.corpus import Corpus
from topmix.data.paths import path_of
from topmix.fitted.topics import FittedTopics
from topmix.fitting.checkpoint import Checkpoint
from topmix.inference import Inference
from topmix.parameters.component import Component

# These change no pass.
NOT_COMPARED = ("max_iter", "tol", "max_time", "verbose", "callbacks", "engine", "n_jobs", "warm_start")


def checkpoint_of(
    estimator: Estimator[FittedTopics],
    corpus: Corpus,
    path: str | os.PathLike[str] | None,
    every: int,
    inference: Inference,
) -> Checkpoint | None:
    """The checkpoint at this path, for this fit; None where there is no path."""
    if path is None:
        return None
    if estimator.n_init > 1:
        raise ValueError("a checkpoint is of one start: it needs n_init=1")
    if not inference.has_checkpoints:
        raise ValueError(f"a checkpoint does not hold the responsibilities of {type(inference).__name__}")
    engine = estimator._engine()
    if not engine.has_checkpoints:
        raise ValueError(f"a checkpoint does not hold what {type(engine).__name__}() keeps on its device")
    return Checkpoint(path_of(path), describe_fit(estimator, corpus), every)


def describe_fit(estimator: Estimator[FittedTopics], corpus: Corpus) -> dict[str, Any]:
    """What has to be the same for a fit to continue."""
    about = described_parameters(estimator.get_params(deep=False))
    about["the data"] = f"{corpus.n_docs} x {corpus.n_words}, {_crc(corpus.indptr, corpus.index, corpus.value)}"
    if corpus.design is not None:
        about["the covariates"] = _crc(corpus.design.x, corpus.design.row)
    if corpus.version is not None:
        about["the versions"] = _crc(corpus.version)
    if corpus.vocabulary is not None:
        about["the vocabulary"] = f"crc32 {zlib.crc32(chr(0).join(corpus.vocabulary).encode()):08x}"
    if estimator._is_warm() and estimator._fitted is not None:
        start = estimator._fitted.topics
        about["the start"] = _crc(start.words.pseudo_counts(), start.prior.alpha)
    return about


def described_parameters(parameters: dict[str, Any]) -> dict[str, Any]:
    """Those that change what is learned, as text that can be compared."""
    about = {}
    for name, value in parameters.items():
        if name not in NOT_COMPARED:
            about[name] = _described(component_of(value, name) if name in FAMILIES else value)
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
