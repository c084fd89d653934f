"""What happens now: a fit that is watched, and events for all browsers that listen."""

from __future__ import annotations

import asyncio
import json
import math
import threading
import time
from collections import deque
from collections.abc import AsyncIterator, Callable

from topmix.fitting.history import Record
from topmix.fitting.view import PassView
from topmix.parameters.checks import positive_number
from topmix.views.model import Model

KEPT = 500  # events; a browser that is further behind asks for everything again
WAIT = 0.1  # seconds between two looks
HEARTBEAT = 15.0  # seconds; so that a broken connection is noticed
PART = 4.0  # a snapshot may take one part in so many of the time: what is shown must not slow down the fit


class Events:
    """Server-sent events, in order, from any thread."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._kept: deque[tuple[int, str]] = deque(maxlen=KEPT)
        self._last = 0
        self._closed = False

    def publish(self, kind: str, **facts: object) -> None:
        text = json.dumps({"kind": kind, **facts}, allow_nan=False)
        with self._lock:
            self._last += 1
            self._kept.append((self._last, f"id: {self._last}\ndata: {text}\n\n"))

    def close(self) -> None:
        """Ends all streams."""
        self._closed = True

    def stream(self) -> AsyncIterator[str]:
        """Events from now on, also where nobody reads yet."""
        return self._after(self._last)

    async def _after(self, seen: int) -> AsyncIterator[str]:
        waited = 0.0
        yield ": hello\n\n"
        while not self._closed:
            with self._lock:
                new = [(n, text) for n, text in self._kept if n > seen]
            for n, text in new:
                seen, waited = n, 0.0
                yield text
            if waited >= HEARTBEAT:
                waited = 0.0
                yield ": still here\n\n"
            await asyncio.sleep(WAIT)
            waited += WAIT


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
        show: Callable[[Model], None],
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
