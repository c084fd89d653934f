"""The face of a learner."""

from __future__ import annotations

from collections.abc import Callable, Generator
from dataclasses import dataclass, field
from typing import Any

# Each `next` makes a pass and yields (model, total). A model that is sent back is what the next pass starts from: so
# priors are learned and topics edited between passes, and no learner knows of it.
Passes = Generator[tuple[Any, Any], Any, None]
Learner = Callable[..., Passes]  # (model, engine, seed, *, state, **its own settings)


@dataclass
class State:
    """What a learner carries from pass to pass beside the model: it writes here, and goes on from what it finds here.

    Between two passes this, the model and what the engine's workers remember are all there is: a fit that is put
    together from them goes on with the same bits.
    """

    total: Any = None  # None: nothing was seen yet, the seed counts
    memo: dict[int, Any] = field(default_factory=dict)  # memoized: the last statistics of each shard
    t: int = 0  # steps so far: passes, or for stochastic shards
    seed: Any = None  # memoized: statistics that nobody observed, to fade through the next pass
