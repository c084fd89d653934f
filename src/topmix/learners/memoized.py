"""Memoized: total += new - old, so the total is exact and the model moves at every shard.  docs/math.md Eq. (1.9).

A seed is statistics that nobody observed, to start from. Dropped after the first shard it would leave the model with
what that shard happens to hold, and topics that it does not use would die; so it fades as the first pass goes on, and
none of it is left at the end. What starts again after the first pass, because it came to nothing, does so by a second
seed, which fades through the second pass; and so does a model that was changed between two passes, by `state.seed` with
nothing in the total.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from topmix.engines.local import Engine
from topmix.learners.learner import Passes, State


def memoized(
    model: Any,
    engine: Engine,
    seed: Any = None,
    *,
    state: State | None = None,
    revive: Callable[[Any], Any] = lambda total: None,
) -> Passes:
    """`revive` sees the total of the first pass and may answer with a seed for the second."""
    state = State() if state is None else state
    memo = state.memo
    if state.total is None:
        state.seed = seed
    while True:
        if state.total is None:
            state.total = model.no_stats(engine.threads)
        elif state.t == 1:
            state.seed = revive(state.total)
        total, seed, state.seed = state.total, state.seed, None
        if seed is not None:
            total += seed
            model = model.update(total)
        for b in range(engine.n_shards):
            for _, new in engine.run(model.tables, [b]):
                if b in memo:
                    total -= memo[b]  # first out, then in: with one shard this is batch, bit for bit
                if seed is not None:
                    total.add(seed, -1.0 / engine.n_shards)
                total += new
                memo[b] = new
            model = model.update(total)
        only_added = state.t == 0 and (seed is None or seed.stays_apart)
        if not only_added and (engine.n_shards > 1 or seed is not None):  # what rounding left behind is gone
            seed = None
            state.total = total = model.no_stats(engine.threads)
            for b in range(engine.n_shards):
                total += memo[b]
            model = model.update(total)
        state.t += 1
        model = (yield model, total) or model
