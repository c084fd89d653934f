"""Batch: coordinate ascent over all of the data at once. The first tables are made from the seed, if there is one."""

from __future__ import annotations

from typing import Any

from topmix.engines.local import Engine
from topmix.learners.learner import Passes, State


def batch(model: Any, engine: Engine, seed: Any = None, *, state: State | None = None) -> Passes:
    state = State() if state is None else state
    while True:
        total = model.no_stats(engine.threads)
        for _, new in engine.run(model.tables, range(engine.n_shards)):
            total += new
        state.total = total
        model = model.update(total)
        model = (yield model, total) or model
