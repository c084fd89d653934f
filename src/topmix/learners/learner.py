"""The face of a learner."""

from __future__ import annotations

from collections.abc import Callable, Generator
from typing import Any

# Each `next` makes a pass and yields (model, total). A model that is sent back is what the next pass starts from: so
# priors are learned and topics edited between passes, and no learner knows of it.
Passes = Generator[tuple[Any, Any], Any, None]
Learner = Callable[..., Passes]  # (model, engine, seed, **its own settings)
