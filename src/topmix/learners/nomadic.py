"""Asynchronous learning on a cluster: rows stay with their worker, blocks of parameters travel between machines.

No worker has all parameters: a block of them is at one worker at a time. The driver has the model, because it makes an
estimator of it; it deals blocks out and collects them after each pass, while workers go on.
"""

from __future__ import annotations

import logging
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Generic, TypeVar

import numpy as np

from topmix.engines.nomad_ledger import LostWorker
from topmix.learners.learner import Passes, PassResult, State
from topmix.models.model import Model, Stats

if TYPE_CHECKING:
    from topmix.engines.ray_nomads import RayNomads

LOG = logging.getLogger("topmix.ray")
MOST_LOST = 6  # workers in one pass, before it is taken to be the cause


M = TypeVar("M", bound=Model)


class OwnRows(ABC, Generic[M]):
    """Workers that keep their rows, as a learner sees them. They remember nothing that a checkpoint could hold: rows
    start from the model."""

    n_shards = 0  # rows are the workers' own

    @abstractmethod
    def passes(self, model: M, state: State) -> Passes: ...

    @abstractmethod
    def interrupted(self, model: M) -> M:
        """The model at the moment of an interrupt."""

    @abstractmethod
    def close(self) -> None: ...

    def place(self, model: M) -> M:
        return model

    def recall(self) -> dict[int, object]:
        return {}

    def restore(self, memory: Mapping[int, object]) -> None:
        """There is nothing to restore."""


class Nomadic(OwnRows[M]):
    """Workers of a cluster on one set of rows."""

    def __init__(self, nomads: RayNomads, model: M, n_rows: float, max_iter: int):
        self.nomads, self.latest, self.n_rows, self.max_iter = nomads, model, n_rows, max_iter
        self.contents: list[np.ndarray] | None = None  # of the blocks, as rows made them; None: not begun

    @abstractmethod
    def _open(self, model: M, made: int) -> None:
        """Workers get their rows, which begin under this model, the one after so many passes. Sets `contents`."""

    @abstractmethod
    def _learn(self, model: M, made: int) -> Iterator[Stats]:
        """Statistics of all rows after each pass from here on. It may end early, to be called again."""

    def passes(self, model: M, state: State) -> Passes:
        """After a loss, rows begin again under the model of the last pass that has ended. So they do when workers join,
        or are about to go."""
        state.pseudo_counts = None  # rows begin under the model that they made
        made, n_lost = 0, 0
        while made < self.max_iter:
            try:
                if self.contents is None:
                    self._open(model, made)
                for total in self._learn(model, made):
                    made, n_lost, state.total = made + 1, 0, total
                    state.t, model = made, model.update(total)
                    self.latest = model
                    model = (yield PassResult(model, total, {})) or model
                    if made < self.max_iter and self.nomads.regroup():
                        self.contents = None
                        LOG.warning("%d workers go on from the end of pass %d", self.nomads.n_workers, made)
                        break
            except LostWorker as error:
                n_lost += 1
                if n_lost == MOST_LOST:
                    raise
                self.contents = None
                self.nomads.gather()
                LOG.warning("%s; %d workers go on from the end of pass %d", error, self.nomads.n_workers, made)

    def status(self) -> dict[str, float]:
        """Of the last pass, for its record."""
        return self.nomads.status(self.n_rows)

    def interrupted(self, model: M) -> M:
        """The model of the last pass."""
        return self.latest

    def close(self) -> None:
        self.nomads.close()
