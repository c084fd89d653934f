"""Stochastic: total = (1 - rho_t) total + rho_t (rows / rows seen) new, rho_t = s / (tau + t)^kappa.

Natural-gradient steps on the bound, docs/math.md Eq. (1.10): nothing is remembered of a shard once it is gone,
so the data may be a stream.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from topmix.engines.local import Engine
from topmix.learners.learner import Passes, State


@dataclass(frozen=True)
class StepSize:
    """rho_t = scale / (offset + t)^decay, never over one."""

    scale: float = 1.0
    offset: float = 10.0
    decay: float = 0.7

    def __call__(self, t: int) -> float:
        return min(1.0, self.scale / (self.offset + t) ** self.decay)


def rows(stats: Any) -> float:
    return stats.n_rows


def tokens(stats: Any) -> float:
    """Instead of rows, for SCVB0: then the total amounts to all tokens, whatever the lengths in a batch."""
    return float(stats.S.totals.sum())


def blend(total: Any, new: Any, rho: float, amount: float, amount_new: float) -> Any:
    """One step, in place: `new` speaks for `amount` as for the amount_new it saw; a batch of nothing says nothing."""
    return total.scale(1.0 - rho).add(new, rho * amount / amount_new) if amount_new > 0 else total


def stochastic(
    model: Any,
    engine: Engine,
    seed: Any = None,
    *,
    state: State | None = None,
    step_size: StepSize = StepSize(),  # noqa: B008  (immutable)
    amount: float | None = None,
    measure: Callable[[Any], float] = rows,
) -> Passes:
    """`amount` is what the data comes to by this measure; None: the engine's rows."""
    state = State() if state is None else state
    amount = engine.n_rows if amount is None else amount
    if state.total is None:
        state.total = model.no_stats(engine.threads)
        if seed is not None:
            state.total += seed
    total = state.total
    while True:
        for b in range(engine.n_shards):
            for _, new in engine.run(model.tables, [b]):
                total = blend(total, new, step_size(state.t), amount, measure(new))
                state.t += 1
            model = model.update(total)
        model = (yield model, total) or model
