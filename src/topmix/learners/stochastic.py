"""Stochastic: total = (1 - rho_t) total + rho_t (rows / rows seen) new, rho_t = s / (tau + t)^kappa.

Natural-gradient steps on the bound, docs/math.md Eq. (1.10): nothing is remembered of a shard once it is gone,
so the data may be a stream.
"""

from __future__ import annotations

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


def blend(total: Any, new: Any, rho: float, n_rows: float, n_rows_new: float) -> Any:
    """One step, in place: `new` speaks for n_rows as it does for the n_rows_new it saw."""
    return total.scale(1.0 - rho).add(new, rho * n_rows / n_rows_new)


def stochastic(
    model: Any,
    engine: Engine,
    seed: Any = None,
    *,
    state: State | None = None,
    step_size: StepSize = StepSize(),  # noqa: B008  (immutable)
    n_rows: float | None = None,
) -> Passes:
    """n_rows is what the data amounts to; None: what the engine holds."""
    state = State() if state is None else state
    n_rows = engine.n_rows if n_rows is None else n_rows
    if state.total is None:
        state.total = model.no_stats(engine.threads)
        if seed is not None:
            state.total += seed
    total = state.total
    while True:
        for b in range(engine.n_shards):
            for _, new in engine.run(model.tables, [b]):
                total = blend(total, new, step_size(state.t), n_rows, new.n_rows)
                state.t += 1
            model = model.update(total)
        model = (yield model, total) or model
