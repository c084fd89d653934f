"""Which fit a checkpoint belongs to: what the data is, and every parameter that changes a pass."""

from __future__ import annotations

import zlib

import numpy as np

from topmix.base.component import Component
from topmix.base.fields import Writer
from topmix.base.paths import path_of
from topmix.corpus.corpus import Corpus
from topmix.corpus.rows import GroupedRows, Rows, SparseRows
from topmix.estimators.declared import FAMILIES, Keep, component_of
from topmix.estimators.estimator import Estimator
from topmix.learn.asynchronous import Asynchronous
from topmix.learn.checkpoint import Checkpoint, ClusterFiles, TopicFiles
from topmix.learn.problem import Given, Problem
from topmix.results.topics import FittedTopics
from topmix.steps.inference import Inference

# These change no pass.
NOT_COMPARED = ("max_iter", "tol", "max_time", "verbose", "callbacks", "engine", "n_jobs", "warm_start")


def checkpoint_of(estimator: Estimator[FittedTopics], problem: Problem, keep: Keep) -> Checkpoint:
    """The checkpoint of a fit of topics."""
    inference: Inference = estimator._component("inference")
    if not inference.has_checkpoints:
        raise ValueError(f"a checkpoint does not hold the responsibilities of {type(inference).__name__}")
    corpus = problem.data
    assert isinstance(corpus, Corpus)
    assert problem.empty is not None
    about = _described_fit(estimator, corpus)
    if corpus.design is not None:
        about["the covariates"] = _crc(corpus.design.x, corpus.design.row)
    if corpus.version is not None:
        about["the versions"] = _crc(corpus.version)
    if estimator._is_warm() and estimator._fitted is not None:
        start = estimator._fitted.topics
        about["the start"] = _crc(start.words.pseudo_counts(), start.prior.alpha)
    return Checkpoint(path_of(keep.path), about, TopicFiles.like(problem.empty), keep.every)


def checkpoint_of_clusters(estimator: Estimator, problem: Problem, keep: Keep, files: ClusterFiles) -> Checkpoint:
    """The same for a mixture."""
    if isinstance(problem.learner, Asynchronous):
        raise ValueError(f"a checkpoint does not hold the responsibilities of {type(problem.learner).__name__}")
    about = _described_fit(estimator, problem.data)
    if problem.weight is not None:
        about["the weights"] = _crc(problem.weight)
    if isinstance(problem.first, Given):
        out = Writer()
        problem.first.start.write(out)
        about["the start"] = _crc(*out.arrays.values())
    if problem.warm_up > 0:
        about["the warm-up"] = f"{problem.warm_up} passes"
    return Checkpoint(path_of(keep.path), about, files, keep.every)


def _described_fit(estimator: Estimator, data: Corpus | Rows) -> dict[str, object]:
    """The parameters and the data, which have to be the same for a fit to continue."""
    if estimator.n_init > 1:
        raise ValueError("a checkpoint is of one start: it needs n_init=1")
    about = described_parameters(estimator.get_params(deep=False))
    if isinstance(data, Corpus):
        about["the data"] = f"{data.n_docs} x {data.n_words}, {_crc(data.indptr, data.index, data.value)}"
        if data.vocabulary is not None:
            about["the vocabulary"] = f"crc32 {zlib.crc32(chr(0).join(data.vocabulary).encode()):08x}"
        return about
    rows = data.rows if isinstance(data, GroupedRows) else data
    blocks = [rows.csr.indptr, rows.csr.indices, rows.csr.data] if isinstance(rows, SparseRows) else rows.blocks()
    about["the data"] = f"{rows.shape[0]} x {rows.shape[1]}, {rows.data.dtype}, {_crc(*blocks)}"
    if isinstance(data, GroupedRows):
        about["the groups"] = f"{len(data)}, {_crc(data.starts, *([] if data.order is None else [data.order]))}"
    return about


def described_parameters(parameters: dict[str, object]) -> dict[str, object]:
    """Those that change what is learned, as text that can be compared."""
    return {
        name: _described(component_of(value, name) if name in FAMILIES else value)
        for name, value in parameters.items()
        if name not in NOT_COMPARED
    }


def _described(value: object) -> object:
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


def _crc(*arrays: object) -> str:
    crc = 0
    for array in arrays:
        crc = zlib.crc32(np.ascontiguousarray(array).data, crc)
    return f"crc32 {crc:08x}"
