"""A callback of a fit: shows each pass, and waits, stops or goes on as the page says."""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Callable

from sklearn.base import BaseEstimator

from topmix.fitting.history import Record
from topmix.fitting.view import PassView
from topmix.parameters.checks import positive_number

PART = 4.0  # a snapshot may take one part in so many of the time: what is shown must not slow down the fit


class Watch:
    """Pass it to an estimator as a callback. `show` gets a fitted copy now and then, `on_pass` the record of each pass.

    Parameters
    ----------
    show, on_pass
        Who shows it.
    limit : float or None
        Seconds of the fit, without pauses.
    is_interrupted : callable
        Says whether a pause must end, for instance because of Ctrl-C.
    """

    def __init__(
        self,
        show: Callable[[BaseEstimator], None],
        on_pass: Callable[[Record], None],
        *,
        limit: float | None = None,
        is_interrupted: Callable[[], bool] = lambda: False,
    ):
        self._show, self._on_pass, self._is_interrupted = show, on_pass, is_interrupted
        self.limit, self.reached = limit, False
        self.paused, self.stopped = False, False
        self._changed = threading.Condition()
        self._last, self._pauses, self._next_show = 0.0, 0.0, -math.inf

    def __call__(self, record: Record, view: PassView) -> bool:
        self._on_pass(record)
        begin = time.perf_counter()
        if begin >= self._next_show or self.paused:
            self._show(view.fitted())
            end = time.perf_counter()
            self._next_show = end + PART * (end - begin)
        self._wait()
        before = self._last if self._last <= record.seconds else 0.0  # another start of the fit has begun
        took, self._last = record.seconds - before, record.seconds
        self.reached = self.limit is not None and record.seconds - self._pauses + took > self.limit
        return self.stopped or self.reached

    def pause(self) -> None:
        with self._changed:
            self.paused = True

    def resume(self) -> None:
        with self._changed:
            self.paused = False
            self._changed.notify_all()

    def stop(self) -> None:
        """After the pass that is being made."""
        with self._changed:
            self.stopped, self.paused = True, False
            self._changed.notify_all()

    def set_limit(self, seconds: object) -> None:
        """Of the whole fit; None for no limit."""
        self.limit = None if seconds is None else positive_number(seconds, "max_time")

    def _wait(self) -> None:
        begin = time.perf_counter()
        with self._changed:
            while self.paused and not self.stopped and not self._is_interrupted():
                self._changed.wait(0.2)
        waited = time.perf_counter() - begin
        if waited > 0.01:
            self._pauses += waited
            self._last += waited  # the pause is no part of the next pass
