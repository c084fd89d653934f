"""A GPU where documents and models stay from one fit to the next: for many short fits of the same documents, as after
edits. What it computes has the bits of `Cuda`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from topmix.cuda import measures
from topmix.cuda.device import Device
from topmix.cuda.topics import BACKENDS, TopicBackend, unit_of
from topmix.data.corpus import Corpus
from topmix.data.shard import Shards
from topmix.engines.cuda import Cuda
from topmix.engines.cuda_workers import CudaWorkers
from topmix.engines.engine import Engine, Workers
from topmix.local import LocalStep
from topmix.local.fold_in import FoldIn
from topmix.metrics.engine import Words
from topmix.models.topics import TopicModel


class Kept(NamedTuple):
    """Shards of a corpus that were made."""

    shards: Shards
    workers: CudaWorkers


class Resident(Engine):
    """`corpora` are documents that stay; others come and go."""

    maps_files = False
    keeps_last_pass = False
    keeps_models = True
    on_device = True

    def __init__(self, engine: Cuda, corpora: Sequence[Corpus]):
        self.engine, self.corpora, self.device = engine, tuple(corpora), engine.opened()
        self._kept: list[Kept] = []

    def opened(self) -> Device:
        return self.device

    def open(self, shards: Shards, step: LocalStep, threads: int) -> Workers:
        backend = BACKENDS[type(step)]
        for kept in self._kept:
            if kept.shards.corpus is shards.corpus and _same_rows(kept.shards, shards):
                made = kept.workers.backend
                assert isinstance(made, TopicBackend)
                return Lent(kept.shards, backend(step, self.device, made.unit), self.device, kept.workers)
        workers = Lent(shards, backend.open(step, self.device, shards, "float32", threads), self.device)
        if any(shards.corpus is corpus for corpus in self.corpora):
            self._kept.append(Kept(shards, workers))
        return workers

    def placed(self, model: TopicModel) -> TopicModel:
        """The model where workers of the first corpus read it."""
        unit = unit_of(float(np.max(self.corpora[0].value, initial=0.0)))
        return TopicBackend(FoldIn(), self.device, unit).place(model)

    def held_out(
        self, table: np.ndarray, known: Words, held: Words, alpha: np.ndarray, max_iter: int, tol: float
    ) -> np.ndarray:
        return measures.held_out(self.device, table, known, held, alpha, max_iter, tol)

    def together(
        self, topics: Sequence[np.ndarray], n_words: int, indptr: np.ndarray, index: np.ndarray
    ) -> list[np.ndarray]:
        return measures.together(self.device, topics, n_words, indptr, index)

    def close(self) -> None:
        self._kept.clear()
        self.device.close()


class Lent(CudaWorkers):
    """Workers who leave their shards behind: `owner` made them."""

    def __init__(self, shards: Shards, backend: TopicBackend, device: Device, owner: CudaWorkers | None = None):
        super().__init__(shards, backend, device)
        if owner is not None:
            self._shards = owner._shards

    def close(self) -> None:
        self._memory, self._memo = {}, {}


def _same_rows(a: Shards, b: Shards) -> bool:
    return len(a) == len(b) and all(_same(x, y) for x, y in zip(a.rows, b.rows))


def _same(a: slice | np.ndarray, b: slice | np.ndarray) -> bool:
    if isinstance(a, slice) or isinstance(b, slice):
        return isinstance(a, slice) and isinstance(b, slice) and a == b
    return np.array_equal(a, b)
