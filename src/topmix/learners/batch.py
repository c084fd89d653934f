"""Batch: coordinate ascent over all of the data at once."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from topmix.engines.local import Engine


def batch(model: Any, engine: Engine) -> Iterator[tuple[Any, Any]]:
    while True:
        total = model.no_stats(engine.threads)
        for _, new in engine.run(model.tables, range(engine.n_shards)):
            total += new
        model = model.update(total)
        yield model, total
