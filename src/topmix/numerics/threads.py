"""How many threads the kernels of this process may use.

The number changes how long a kernel takes and not one bit of its result. It is therefore no part of any model or
statistic: whoever runs kernels asks for it here. For the same reason n_jobs=None is all cores, where scikit-learn takes
one.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from functools import cache

import joblib
import numpy as np

MOST_THREADS = 1024  # more would only cost memory

_threads: ContextVar[int | None] = ContextVar("threads", default=None)


@cache
def cores() -> int:
    """Those that this process may use. Asked once: joblib reads limits of a container, as long as a small kernel."""
    return int(joblib.cpu_count())


def threads() -> int:
    """Threads for the next kernel: as the innermost `use_threads` says, else all cores."""
    return _threads.get() or cores()


@contextmanager
def use_threads(n: int) -> Iterator[None]:
    """Inside the block, kernels that this Python thread calls use n threads."""
    token = _threads.set(n)
    try:
        yield
    finally:
        _threads.reset(token)


def count_of_threads(n_jobs: object) -> int:
    """n_jobs as a number: None and -1 are all cores that this process may use, -2 all but one."""
    if n_jobs is None:
        n_jobs = -1
    if isinstance(n_jobs, bool) or not isinstance(n_jobs, int | np.integer) or n_jobs == 0:
        raise ValueError(f"n_jobs must be None or an integer other than 0, got {n_jobs!r}")
    return min(max(1, int(n_jobs) if n_jobs > 0 else cores() + 1 + int(n_jobs)), MOST_THREADS)
