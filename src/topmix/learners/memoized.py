"""Memoized: total += new - old, so the total is exact and the model moves at every shard.  docs/math.md Eq. (1.9)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from topmix.engines.local import Engine


def memoized(model: Any, engine: Engine) -> Iterator[tuple[Any, Any]]:
    memo: dict[int, Any] = {}
    total = model.no_stats(engine.threads)
    while True:
        for b in range(engine.n_shards):
            for _, new in engine.run(model.tables, [b]):
                if b in memo:
                    total -= memo[b]  # first out, then in: with one shard this is batch, bit for bit
                total += new
                memo[b] = new
            model = model.update(total)
        if engine.n_shards > 1:  # what rounding left behind is gone after each pass
            total = model.no_stats(engine.threads)
            for b in range(engine.n_shards):
                total += memo[b]
            model = model.update(total)
        yield model, total
