"""Stochastic: total = (1 - rho_t) total + rho_t (rows / rows seen) new, rho_t = s / (tau + t)^kappa.

Natural-gradient steps on the bound, docs/math.md Eq. (1.10). Nothing is kept of a batch after its step, so the data may
be a stream.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar, TypeVar

import numpy as np

from topmix.data.corpus import Corpus
from topmix.data.rows import GroupedRows, Rows
from topmix.data.shard import Batches, at_random
from topmix.engines import Workers
from topmix.learners.learner import Learner, Passes, PassResult, State, count_of_batches
from topmix.local import Info, add_info
from topmix.models.model import Model, Stats
from topmix.parameters.checks import MOST_POSITIVE, number_from, positive_number, whole_number_or_none
from topmix.stats import TopicStats

S = TypeVar("S", bound=Stats)
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
        In partial_fit: how many rows the stream stands for. None is the number seen so far; with a half-life, never
        more than half_life / log 2, which is what a stream that forgets remembers.
    half_life : float or None
        Rows after which what was learned is worth half: no step is smaller than 1 - 2^(-rows of the batch / half_life).
        None never forgets; steps get smaller for ever.

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
    half_life: float | None = None

    remembers_rows: ClassVar[bool] = False

    def check(self) -> None:
        whole_number_or_none(self.batch_size, "batch_size")
        positive_number(self.scale, "scale")
        positive_number(self.offset, "offset")
        number_from(self.decay, "decay", 0.0, MOST_POSITIVE)
        for name in ("total_samples", "half_life"):
            if getattr(self, name) is not None:
                positive_number(getattr(self, name), name)

    def batches(self, data: Corpus | Rows, L: int, rng: np.random.Generator, default: int = 10) -> Batches:
        usual = DOCUMENTS_PER_BATCH if isinstance(data, Corpus | GroupedRows) else ROWS_PER_BATCH
        return at_random(data, count_of_batches(self.batch_size or usual, data, L, default), rng)

    def updates_per_pass(self, n_batches: int) -> int:
        return n_batches

    def step_size(self, t: int, n_rows: float = 0.0) -> float:
        """rho_t, for a batch of so many rows.  Eqs. (1.10), (1.10b)"""
        try:
            step = min(1.0, self.scale / (self.offset + t) ** self.decay)
        except (OverflowError, ZeroDivisionError):  # a huge decay
            step = 0.0 if self.offset + t > 1 else 1.0
        return step if self.half_life is None else max(step, 1.0 - 0.5 ** (n_rows / self.half_life))

    def stands_for(self, n_seen: float) -> float:
        """How many rows a stream represents that has seen so many."""
        if self.total_samples is not None:
            return self.total_samples
        return n_seen if self.half_life is None else min(n_seen, self.half_life / math.log(2.0))

    def passes(self, model: Model, workers: Workers, state: State) -> Passes:
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
                    total = blend(total, new, self.step_size(state.t, new.n_rows), amount, seen)
                    state.t += 1
                    add_info(info, more)
                model = model.update(total)
            model = (yield PassResult(model, total, info)) or model


def stream_of(learner: Learner) -> Stochastic:
    """The steps of partial_fit: the learner's own, or the usual ones where it has none."""
    return learner if isinstance(learner, Stochastic) else Stochastic()


def tokens(stats: TopicStats) -> float:
    """Tokens of a batch: with these in the place of rows, the total amounts to all tokens for any document lengths."""
    return float(stats.S.totals.sum())


def blend(total: S, new: Stats, rho: float, amount: float, amount_new: float) -> S:
    """One step, in place: `new` saw amount_new and stands for `amount`. An empty batch changes nothing."""
    return total.scale(1.0 - rho).add(new, rho * amount / amount_new) if amount_new > 0 else total
