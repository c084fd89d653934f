"""Workers that keep their rows: what asynchronous topics and mixtures share, on threads and on a cluster."""

from __future__ import annotations

import logging
from abc import ABC, abstractmethod
from collections.abc import Generator, Mapping
from contextlib import closing
from typing import TYPE_CHECKING, Generic, TypeVar

import numpy as np

from topmix import _core
from topmix.engines.blocks import LostWorker
from topmix.engines.engine import Engine
from topmix.learn.learners import Passes, PassResult, State
from topmix.models.model import Model, Stats

if TYPE_CHECKING:
    from topmix.engines.ray_blocks import BlockRound

LOG = logging.getLogger("topmix.ray")
MOST_LOST = 6  # workers in one pass, before it is taken to be the cause

M = TypeVar("M", bound=Model)


class OwnRows(ABC, Generic[M]):
    """Workers that keep their rows. They remember nothing that a checkpoint could hold: rows start from the model."""

    native: _core.AsynchronousTopics | _core.AsynchronousMixture | None = None  # threads of this process

    def __init__(self, model: M, max_iter: int):
        self.model = self.latest = model  # that the next pass starts from, and that of the last pass
        self.max_iter = max_iter
        self.pseudo_counts: Stats | None = None

    def passes(self, model: M, state: State) -> Passes:
        self.model, self.pseudo_counts, state.pseudo_counts = model, state.pseudo_counts, None
        with closing(self.totals()) as totals:
            for total in totals:
                state.total, state.t = total, state.t + 1
                self.model = self.latest = self.model.update(total)
                self.model = (yield PassResult(self.latest, total, {})) or self.latest

    @abstractmethod
    def totals(self) -> Generator[Stats]:
        """Statistics of all rows after each pass. `self.model` is then the model that follows from the last."""

    def close(self) -> None:
        if self.native is not None:
            self.native.stop()

    def interrupted(self, model: M) -> M:
        return self.latest

    def place(self, model: M) -> M:
        return model

    def recall(self) -> dict[int, object]:
        return {}

    def restore(self, memory: Mapping[int, object]) -> None: ...


class OnCluster(OwnRows[M]):
    """Workers of a cluster."""

    def __init__(self, engine: Engine, model: M, n_rows: float, max_iter: int):
        super().__init__(model, max_iter)
        self.workers = engine.for_blocks(n_rows)

    @abstractmethod
    def begin(self, made: int) -> list[np.ndarray]:
        """Workers get their rows, which begin under the model after so many passes; the blocks as rows made them."""

    @abstractmethod
    def rounds(self, contents: list[np.ndarray], made: int) -> Generator[BlockRound]:
        """A pass each. They may end early, to be asked for again."""

    @abstractmethod
    def total(self, end: BlockRound) -> Stats:
        """Statistics of all rows after a pass. Raises BlockError where something was lost on the way."""

    def totals(self) -> Generator[Stats]:
        """After a loss, rows begin again under the model of the last pass that has ended. So they do when workers join,
        or are about to go."""
        made, n_lost = 0, 0
        contents: list[np.ndarray] | None = None  # of the blocks; None: rows are to begin
        while made < self.max_iter:
            try:
                contents = contents or self.begin(made)
                with closing(self.rounds(contents, made)) as rounds:
                    for end in rounds:
                        contents, made, n_lost = end.contents, made + 1, 0
                        yield self.total(end)
                        if made < self.max_iter and self.workers.regroup():
                            contents = None
                            LOG.warning("%d workers go on from the end of pass %d", self.workers.n_workers, made)
                            break
            except LostWorker as error:
                n_lost += 1
                if n_lost == MOST_LOST:
                    raise
                contents = None
                self.workers.gather()
                LOG.warning("%s; %d workers go on from the end of pass %d", error, self.workers.n_workers, made)

    def status(self) -> dict[str, float]:
        return self.workers.status()

    def close(self) -> None:
        self.workers.close()
