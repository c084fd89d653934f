"""Ctrl-C that ends a fit after the pass it is in, so that what was learned can still be shown or saved."""

from __future__ import annotations

import signal
from types import FrameType, TracebackType
from typing import Self

from topmix.fitting.history import Record
from topmix.fitting.view import PassView


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
