"""Memoized: total += new - old, so the total is exact and the model moves at every round.  docs/math.md Eq. (1.9).

A round is added in a tree before it meets the total, so that workers can add among themselves.

Pseudo-counts are statistics to start from that are not from data. If they were dropped after the first round, the model
would keep only what that round happens to contain, and topics that it does not use would die. So they fade during the
pass, and none of them is left at its end. Whoever changes the model between two passes may set new ones in the state,
which fade through the next pass.

Momentum is made of the same. Passes move clusters in much the same direction for a long time. So a pass
starts from the total plus a multiple of what the last pass has changed, and that fades while its rounds replace it by
what the data say. At the end of the pass none of it is left, and the objective is exact.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from topmix.data.corpus import Corpus
from topmix.data.rows import Rows
from topmix.data.shard import Batches, at_random
from topmix.engines import Workers
from topmix.engines.rounds import rounds_of
from topmix.learners.learner import Learner, Passes, PassResult, State, count_of_batches
from topmix.local import Info, add_info
from topmix.models.momentum import Momentum
from topmix.parameters.checks import any_number, whole_number, whole_number_or_none

MOST_MOMENTUM = 10.0


@dataclass(frozen=True, repr=False)
class Memoized(Learner):
    """Visits batches in turn and updates after each round, without a learning rate.

    Parameters
    ----------
    batch_size : int or None
        Rows per batch. None makes ten rounds of batches, so that a pass has ten updates.
    batches_per_update : int
        Batches per round. The batches of a round are computed under the same model, so several workers can share
        them. The result depends on this number, and never on the number of workers.
    momentum : float
        For GaussianMixture and VonMisesFisherMixture: how many times what the last pass changed is added before the
        next one. 2 saves a third to two thirds of the passes where clusters overlap, and 4 as much for directions. The
        objective may fall in a pass; the passes after that go half as far. 0 adds nothing.

    Examples
    --------
    >>> from topmix.learners import Memoized
    >>> Memoized(batch_size=1000)
    Memoized(batch_size=1000)
    """

    batch_size: int | None = None
    batches_per_update: int = 1
    momentum: float = 0.0

    fades: ClassVar[bool] = True
    has_memo: ClassVar[bool] = True
    samples: ClassVar[bool] = True

    def check(self) -> None:
        whole_number_or_none(self.batch_size, "batch_size")
        whole_number(self.batches_per_update, "batches_per_update")
        if not 0 <= any_number(self.momentum, "momentum") <= MOST_MOMENTUM:
            raise ValueError(f"momentum must be a number from 0 to {MOST_MOMENTUM:g}, got {self.momentum!r}")

    def batches(self, data: Corpus | Rows, L: int, rng: np.random.Generator, default: int = 10) -> Batches:
        return at_random(data, count_of_batches(self.batch_size, data, L, default * self.batches_per_update), rng)

    @property
    def direction(self) -> str:
        return "unsteady" if self.momentum else "rises"

    def updates_per_pass(self, n_batches: int) -> int:
        return -(-n_batches // self.batches_per_update)

    def passes(self, model: Any, workers: Workers, state: State) -> Passes:
        if self.momentum and not Momentum.suits(model):
            raise ValueError(
                f"momentum={self.momentum!r} works for GaussianMixture and VonMisesFisherMixture on the CPU alone: "
                "set it to 0"
            )
        rounds, n = rounds_of(workers, state.memo), workers.n_shards
        state.memo = rounds.memo
        width = self.batches_per_update
        in_rounds = [range(begin, min(begin + width, n)) for begin in range(0, n, width)]
        momentum = (state.momentum or Momentum(self.momentum)) if self.momentum else None
        state.momentum = momentum
        while True:
            info = Info()
            if state.total is None:
                state.total = model.no_stats()
            total, pseudo, state.pseudo_counts = state.total, state.pseudo_counts, None
            if pseudo is not None:
                total += pseudo
                model = model.update(total)
            if momentum is not None:
                model = momentum.begin(model, total)
            left = 1.0
            for shards in in_rounds:
                new, old, more = rounds.visit(model.tables, shards)
                if old is not None:
                    total -= old  # first out, then in: with one shard this is batch, bit for bit
                if pseudo is not None:
                    for _ in shards:
                        total.add(pseudo, -1.0 / n)
                total += new
                add_info(info, more)
                left -= len(shards) / n
                is_last = left < 0.5 / n
                model = model.update(total) if momentum is None or is_last else momentum.update(model, total, left)
            was_exact = (state.t == 0 or total.is_exact) and (pseudo is None or pseudo.is_removable)
            if not was_exact and (n > 1 or pseudo is not None):  # sum again, without the rounding of differences
                pseudo = None
                state.total = total = model.no_stats()
                for shards in in_rounds:
                    total += rounds.remembered(shards)
                model = model.update(total)
            if momentum is not None:
                momentum.end(model, total)
            state.t += 1
            model = (yield PassResult(model, total, info)) or model
