"""What a method is: one function that trains and reports as it goes.

    method(train, K, seed, threads, watch, report, **settings)

It calls `report(topics, n_pass, **facts)` now and then and stops when the answer is True. `topics` is a function that
gives `Topics`; it is called only when a score is due, and while the stopwatch is paused. `facts` are numbers that the
method knows without extra work. Imports and the conversion of the corpus to a library's own documents are not timed:
that is loading. Everything from initialisation on is.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple, Protocol

import numpy as np

ETA = 0.1  # and alpha = 0.5 / K: the same priors for all, where a setting does not say otherwise


class Topics(NamedTuple):
    topic_word: np.ndarray  # [K, V], unnormalised or not
    tokens: np.ndarray  # [K]
    alpha: np.ndarray | None = None  # [K], the prior that the method has learned for documents


class Report(Protocol):
    """Takes note of a moment of training; True when the time is up."""

    def __call__(self, topics: Callable[[], Topics], n_pass: float, /, **facts: float) -> bool: ...


class TimeIsUp(Exception):
    """Ends a fit in the middle of a pass."""
