"""How many threads the kernels of this process may use.

The number changes how long a kernel takes and not one bit of its result, so it is no part of any model. For the same
reason n_jobs=None is all cores, where scikit-learn takes one.
"""

from __future__ import annotations

import mmap
import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from contextvars import ContextVar
from functools import cache
from typing import TYPE_CHECKING

import joblib
import numpy as np
import threadpoolctl
from scipy.linalg import cython_blas, cython_lapack, lapack

from topmix import _core
from topmix.base.component import is_whole

if TYPE_CHECKING:
    from typing_extensions import CapsuleType

MOST_THREADS = 1024  # more would only cost memory

_threads: ContextVar[int | None] = ContextVar("threads", default=None)


@cache  # joblib reads the limits of a container from files, which takes as long as a small kernel
def cores() -> int:
    """Those that this process may use."""
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
    if not is_whole(n_jobs) or n_jobs == 0:
        raise ValueError(f"n_jobs must be None or an integer other than 0, got {n_jobs!r}")
    return min(max(1, int(n_jobs) if n_jobs > 0 else cores() + 1 + int(n_jobs)), MOST_THREADS)


# Kernels call BLAS from their own threads, on blocks that the data decides, and BLAS is held to one thread meanwhile:
# results do not depend on how many threads there are.

NAMES = {cython_blas: ("sgemm", "dgemm", "ssyrk", "dsyrk"), cython_lapack: ("dpotrf", "dpotri")}


def capsules() -> list[CapsuleType]:
    """The addresses that SciPy publishes, for `_core.set_blas`."""
    return [library.__pyx_capi__[name] for library, names in NAMES.items() for name in names]


_core.set_blas(*capsules())

# OpenBLAS takes memory for each thread that calls it, keeps it, and waits without end where there is none. NumPy and
# SciPy have one each: this thread's is taken now.
BUFFER = 1 << 25
np.linalg.cholesky(np.eye(2))
lapack.dpotrf(np.eye(2))

_lock = threading.Lock()
_inside = 0
_with_room = 1  # threads, at least, that have had room for their buffers
_limit = ExitStack()


@cache
def _controller() -> threadpoolctl.ThreadpoolController:
    return threadpoolctl.ThreadpoolController().select(user_api="blas")


@contextmanager
def one_thread() -> Iterator[None]:
    """Inside, BLAS runs on the thread that calls it. Several threads may enter, and the last to leave ends it."""
    global _inside
    with _lock:
        _find_room(threads())
        if _inside == 0:
            _take_control()
            _limit.enter_context(_controller().limit(limits=1))
        _inside += 1
    try:
        yield
    finally:
        with _lock:
            _inside -= 1
            if _inside == 0:
                _take_control()
                _limit.close()


def _find_room(n: int) -> None:
    """Raises MemoryError where n threads would wait for their buffers."""
    global _with_room
    try:
        buffers = [mmap.mmap(-1, BUFFER) for _ in range(_with_room, n)]
    except OSError as error:
        raise MemoryError(f"no memory for the BLAS of {n} threads: raise the limit, or use a smaller n_jobs") from error
    _with_room += len(buffers)


def _take_control() -> None:
    """From version 3.8 on, threadpoolctl lets the first thread that ever limits OpenBLAS do so, and silently ignores
    all others. Here any thread may be the first to enter and any other the last to leave; our lock keeps them apart."""
    openblas = getattr(threadpoolctl, "OpenBLASController", None)
    clear = getattr(openblas, "clear_controlling_thread", None)
    if clear is not None:
        clear(force=True)
