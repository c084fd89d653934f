"""Batch: coordinate ascent over all of the data at once. The first tables are made from the model it is given."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from topmix.data.corpus import Corpus
from topmix.data.shard import Batches, in_order
from topmix.data.table import Table
from topmix.engines import Workers
from topmix.learners.learner import Learner, Passes, PassResult, State
from topmix.local import Info, add_info


@dataclass(frozen=True, repr=False)
class Batch(Learner):
    """Updates once per pass, from all rows. It has no settings.

    Examples
    --------
    >>> from topmix.learners import Batch
    >>> Batch()
    Batch()
    """

    def batches(self, data: Corpus | Table, L: int, rng: np.random.Generator, default: int = 10) -> Batches:
        return in_order(data)

    def passes(self, model: Any, workers: Workers, state: State) -> Passes:
        while True:
            total, info = model.no_stats(), Info()
            for _, new, more in workers.run(model.tables, range(workers.n_shards)):
                total += new
                add_info(info, more)
            state.total = total
            model = model.update(total)
            model = (yield PassResult(model, total, info)) or model
