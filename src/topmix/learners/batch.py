"""Batch: coordinate ascent over all of the data at once. The first tables are made from the model it is given."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from topmix.data.corpus import Corpus
from topmix.data.rows import Rows
from topmix.data.shard import Batches, in_order
from topmix.engines import Workers
from topmix.engines.rounds import rounds_of
from topmix.learners.learner import Learner, Passes, PassResult, State
from topmix.models.model import Model


@dataclass(frozen=True, repr=False)
class Batch(Learner):
    """Updates once per pass, from all rows. It has no settings.

    Examples
    --------
    >>> from topmix.learners import Batch
    >>> Batch()
    Batch()
    """

    samples: ClassVar[bool] = True

    def batches(self, data: Corpus | Rows, L: int, rng: np.random.Generator, default: int = 10) -> Batches:
        return in_order(data)

    def passes(self, model: Model, workers: Workers, state: State) -> Passes:
        rounds = rounds_of(workers, {})
        while True:
            new, info = rounds.visit_once(model.tables, range(workers.n_shards))
            state.total = total = model.no_stats()
            total += new
            model = model.update(total)
            model = (yield PassResult(model, total, info)) or model
