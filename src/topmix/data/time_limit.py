"""A limit on the time that one call may take, where Python can interrupt it."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import NoReturn


@contextmanager
def time_limit(seconds: float, message: str) -> Iterator[None]:
    """Raises ValueError(message) when the block takes longer. Regular expressions can be interrupted by signals alone.
    So there is no limit outside of the main thread, on Windows, or where somebody else uses the alarm of the process.
    """
    if not _is_free():
        yield
        return

    def stop(number: int, frame: FrameType | None) -> NoReturn:
        raise ValueError(message)

    before = signal.signal(signal.SIGALRM, stop)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def _is_free() -> bool:
    if not hasattr(signal, "setitimer") or threading.current_thread() is not threading.main_thread():
        return False
    return signal.getsignal(signal.SIGALRM) == signal.SIG_DFL and signal.getitimer(signal.ITIMER_REAL)[0] == 0
