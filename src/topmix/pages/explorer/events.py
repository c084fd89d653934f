"""What happened, for all browsers that listen: server-sent events, in order, from any thread."""

from __future__ import annotations

import asyncio
import json
import threading
from collections import deque
from collections.abc import AsyncIterator

KEPT = 500  # events; a browser that is further behind asks for everything again
WAIT = 0.1  # seconds between two looks
HEARTBEAT = 15.0  # seconds; so that a broken connection is noticed


class Events:
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
