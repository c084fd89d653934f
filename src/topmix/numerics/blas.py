"""BLAS for kernels: where it is, and one thread of it at a time.

Kernels call BLAS from their own threads, on blocks that the data decides, and the library is held to one thread
meanwhile: so results do not depend on how many threads there are, nor on how many BLAS would have taken.
"""

from __future__ import annotations

import threading
from contextlib import ExitStack
from functools import cache
from typing import TYPE_CHECKING

import threadpoolctl
from scipy.linalg import cython_blas, cython_lapack

from topmix import _core

if TYPE_CHECKING:
    from typing_extensions import CapsuleType

NAMES = {cython_blas: ("sgemm", "dgemm", "ssyrk", "dsyrk"), cython_lapack: ("dpotrf", "dpotri")}


def capsules() -> list[CapsuleType]:
    """The addresses that SciPy publishes, for `_core.set_blas`."""
    return [library.__pyx_capi__[name] for library, names in NAMES.items() for name in names]


_core.set_blas(*capsules())

_lock = threading.Lock()
_inside = 0
_limit = ExitStack()


@cache
def _controller() -> threadpoolctl.ThreadpoolController:
    return threadpoolctl.ThreadpoolController().select(user_api="blas")


def _take_control() -> None:
    """From version 3.8 on, threadpoolctl lets the first thread that ever limits OpenBLAS do so, and silently ignores
    all others. Here any thread may be the first to enter and any other the last to leave; our lock keeps them apart."""
    openblas = getattr(threadpoolctl, "OpenBLASController", None)
    clear = getattr(openblas, "clear_controlling_thread", None)
    if clear is not None:
        clear(force=True)


class _OneThread:
    """A context without a value of its own: fits of little data enter it a hundred times."""

    def __enter__(self) -> None:
        global _inside
        with _lock:
            if _inside == 0:
                _take_control()
                _limit.enter_context(_controller().limit(limits=1))
            _inside += 1

    def __exit__(self, *_: object) -> None:
        global _inside
        with _lock:
            _inside -= 1
            if _inside == 0:
                _take_control()
                _limit.close()


_one_thread = _OneThread()


def one_thread() -> _OneThread:
    """Inside, BLAS runs on the thread that calls it. May be nested, and entered by several threads at once: the last
    to leave gives the library its threads back."""
    return _one_thread
