"""Ctrl-C that ends a fit after the pass it is in, so that what was learned can still be shown or saved."""

from __future__ import annotations

import signal
from time import perf_counter
from types import FrameType, TracebackType
from typing import Any, Self

from topmix.fitting.history import Record
from topmix.fitting.view import PassView

MOST_KEPT = 1 << 24  # words x topics that are copied: 128 MB
FREE, SHARE = 0.01, 0.02  # seconds of a copy that are nothing, and the share of the time that longer ones may take


class LastPass:
    """A callback that keeps a copy of the model after a pass, unless it is large, for a fit that Ctrl-C ends."""

    def __init__(self, n_words: int):
        self.n_words, self.n_pass = n_words, 0
        self.fitted: Any = None
        self._next = 0.0

    def __call__(self, record: Record, view: PassView) -> bool:
        began = perf_counter()
        if view.n_components * self.n_words > MOST_KEPT:
            self.fitted = None
        elif began >= self._next:
            self.fitted, self.n_pass = view.fitted(), record.n_pass
            took = perf_counter() - began
            self._next = began + took / SHARE if took > FREE else 0.0
        return False


class StopOnInterrupt:
    """A callback. The first Ctrl-C inside the block is remembered and ends the fit; the second raises as always.

    For the main thread of a program, where signals arrive.
    """

    def __init__(self) -> None:
        self.stopped = False
        self.n_passes = 0  # that are over

    def __call__(self, record: Record, view: PassView) -> bool:
        self.n_passes += 1
        return self.stopped

    def __enter__(self) -> Self:
        self._before = signal.signal(signal.SIGINT, self._remember)
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, _: TracebackType | None) -> None:
        signal.signal(signal.SIGINT, self._before)

    def _remember(self, number: int, frame: FrameType | None) -> None:
        if self.stopped:
            raise KeyboardInterrupt
        self.stopped = True
