"""Which fit a checkpoint belongs to: what the data is, and every parameter that changes a pass."""

from __future__ import annotations

import os
import zlib
from typing import Any, NamedTuple

import numpy as np

from topmix.api.components import FAMILIES, component_of
from topmix.api.estimator import Estimator
from topmix.data.atomic import check_can_write
from topmix.data.corpus import Corpus
from topmix.data.paths import path_of
from topmix.data.rows import GroupedRows, Rows, SparseRows
from topmix.files.writer import Writer
from topmix.fitted.topics import FittedTopics
from topmix.fitting.checkpoint import Checkpoint
from topmix.inference import Inference
from topmix.learners import Learner
from topmix.parameters.checks import whole_number
from topmix.parameters.component import Component

# These change no pass.
NOT_COMPARED = ("max_iter", "tol", "max_time", "verbose", "callbacks", "engine", "n_jobs", "warm_start")


class Keep(NamedTuple):
    """Where a fit is to be kept, and how often."""

    path: str | os.PathLike[str]
    every: int  # passes

    @classmethod
    def of(cls, checkpoint: str | os.PathLike[str] | None, every: object) -> Keep | None:
        """As a user says it; errors of the path come before the work."""
        if checkpoint is not None:
            check_can_write(checkpoint)
        n = whole_number(every, "checkpoint_every")
        return None if checkpoint is None else cls(checkpoint, n)


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
    _refuse(estimator)
    if not inference.has_checkpoints:
        raise ValueError(f"a checkpoint does not hold the responsibilities of {type(inference).__name__}")
    return Checkpoint(path_of(path), describe_fit(estimator, corpus), every)


def checkpoint_of_clusters(
    estimator: Any, data: Corpus | Rows, weight: np.ndarray | None, keep: Keep, learner: Learner, start: Any
) -> Checkpoint:
    """The same for a mixture; `start` is the model of a warm start, or None."""
    _refuse(estimator)
    if learner.travels:
        raise ValueError(f"a checkpoint does not hold the responsibilities of {type(learner).__name__}")
    about = described_parameters(estimator.get_params(deep=False)) | _described_rows(data)
    if weight is not None:
        about["the weights"] = _crc(weight)
    if start is not None:
        out = Writer()
        estimator._write_model(start, out)
        about["the start"] = _crc(*out.arrays.values())
    if (n := estimator._warm_up()) > 0:
        about["the warm-up"] = f"{n} passes"
    return Checkpoint(path_of(keep.path), about, keep.every)


def _refuse(estimator: Estimator[Any]) -> None:
    """Fits that no checkpoint holds."""
    if estimator.n_init > 1:
        raise ValueError("a checkpoint is of one start: it needs n_init=1")
    engine = estimator._engine()
    if not engine.has_checkpoints:
        raise ValueError(f"a checkpoint does not hold what {type(engine).__name__}() keeps on its device")


def _described_rows(data: Corpus | Rows) -> dict[str, str]:
    if isinstance(data, Corpus):
        return _described_counts(data)
    rows = data.rows if isinstance(data, GroupedRows) else data
    N, D = rows.shape
    blocks = [rows.csr.indptr, rows.csr.indices, rows.csr.data] if isinstance(rows, SparseRows) else rows.blocks()
    about = {"the data": f"{N} x {D}, {rows.data.dtype}, {_crc(*blocks)}"}
    if isinstance(data, GroupedRows):
        about["the groups"] = f"{len(data)}, {_crc(data.starts, *([] if data.order is None else [data.order]))}"
    return about


def _described_counts(corpus: Corpus) -> dict[str, str]:
    about = {"the data": f"{corpus.n_docs} x {corpus.n_words}, {_crc(corpus.indptr, corpus.index, corpus.value)}"}
    if corpus.vocabulary is not None:
        about["the vocabulary"] = f"crc32 {zlib.crc32(chr(0).join(corpus.vocabulary).encode()):08x}"
    return about


def describe_fit(estimator: Estimator[FittedTopics], corpus: Corpus) -> dict[str, Any]:
    """What has to be the same for a fit to continue."""
    about = described_parameters(estimator.get_params(deep=False)) | _described_counts(corpus)
    if corpus.design is not None:
        about["the covariates"] = _crc(corpus.design.x, corpus.design.row)
    if corpus.version is not None:
        about["the versions"] = _crc(corpus.version)
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
    if isinstance(value, dict):
        return {str(name): _described(each) for name, each in value.items()}
    if isinstance(value, np.ndarray | list | tuple):
        try:
            array = np.asarray(value, dtype=np.float64)
        except (TypeError, ValueError):  # words
            return f"list, crc32 {zlib.crc32(repr(value).encode()):08x}"
        return f"array of {array.shape}, {_crc(array)}"
    return type(value).__name__


def _crc(*arrays: Any) -> str:
    crc = 0
    for array in arrays:
        crc = zlib.crc32(np.ascontiguousarray(array).data, crc)
    return f"crc32 {crc:08x}"
