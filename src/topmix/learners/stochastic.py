"""Stochastic: total = (1 - rho_t) total + rho_t (rows / rows seen) new, rho_t = s / (tau + t)^kappa.

Natural-gradient steps on the bound, docs/math.md Eq. (1.10). Nothing is kept of a batch after its step, so the data may
be a stream.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from topmix.data.corpus import Corpus
from topmix.data.shard import Batches, at_random
from topmix.data.table import Table
from topmix.engines import Workers
from topmix.learners.learner import Learner, Passes, PassResult, State, count_of_batches
from topmix.local import Info, add_info
from topmix.parameters.checks import MOST_POSITIVE, number_from, positive_number, whole_number_or_none

DOCUMENTS_PER_BATCH = 512
ROWS_PER_BATCH = 4096  # of a table


@dataclass(frozen=True, repr=False)
class Stochastic(Learner):
    """Blends each batch into the model with a step size rho_t = scale / (offset + t)^decay; t counts batches.

    Parameters
    ----------
    batch_size : int or None
        Rows per batch. None is 512 documents, or 4096 rows of a table.
    scale, offset, decay : float
        The step size, never larger than one.
    total_samples : float or None
        In partial_fit: how many rows the stream stands for. None is the number seen so far.

    Examples
    --------
    >>> from topmix.learners import Stochastic
    >>> Stochastic(decay=0.9)
    Stochastic(decay=0.9)
    """

    batch_size: int | None = None
    scale: float = 1.0
    offset: float = 10.0
    decay: float = 0.7
    total_samples: float | None = None

    def check(self) -> None:
        whole_number_or_none(self.batch_size, "batch_size")
        positive_number(self.scale, "scale")
        positive_number(self.offset, "offset")
        number_from(self.decay, "decay", 0.0, MOST_POSITIVE)
        if self.total_samples is not None:
            positive_number(self.total_samples, "total_samples")

    def batches(self, data: Corpus | Table, L: int, rng: np.random.Generator, default: int = 10) -> Batches:
        usual = DOCUMENTS_PER_BATCH if isinstance(data, Corpus) else ROWS_PER_BATCH
        return at_random(data, count_of_batches(self.batch_size or usual, data, L, default), rng)

    def updates_per_pass(self, n_batches: int) -> int:
        return n_batches

    def step_size(self, t: int) -> float:
        try:
            return min(1.0, self.scale / (self.offset + t) ** self.decay)
        except (OverflowError, ZeroDivisionError):  # a huge decay
            return 0.0 if self.offset + t > 1 else 1.0

    def passes(self, model: Any, workers: Workers, state: State) -> Passes:
        amount = workers.n_rows if state.n_tokens is None else state.n_tokens
        if state.total is None:
            state.total = model.no_stats()
            if state.pseudo_counts is not None:
                state.total += state.pseudo_counts
                state.pseudo_counts = None
        total = state.total
        while True:
            info = Info()
            for b in range(workers.n_shards):
                for _, new, more in workers.run(model.tables, [b]):
                    seen = new.n_rows if state.n_tokens is None else tokens(new)
                    total = blend(total, new, self.step_size(state.t), amount, seen)
                    state.t += 1
                    add_info(info, more)
                model = model.update(total)
            model = (yield PassResult(model, total, info)) or model


def tokens(stats: Any) -> float:
    """Tokens of a batch: with these in the place of rows, the total amounts to all tokens for any document lengths."""
    return float(stats.S.totals.sum())


def blend(total: Any, new: Any, rho: float, amount: float, amount_new: float) -> Any:
    """One step, in place: `new` saw amount_new and stands for `amount`. An empty batch changes nothing."""
    return total.scale(1.0 - rho).add(new, rho * amount / amount_new) if amount_new > 0 else total
