"""What happens now: a fit that is watched, events for all browsers that listen, and the edits on disk."""

from __future__ import annotations

import asyncio
import hashlib
import json
import math
import threading
import time
from collections import deque
from collections.abc import AsyncIterator, Callable
from pathlib import Path

from topmix.apps.web import Refused
from topmix.base.atomic import atomic_write, remove_unfinished
from topmix.base.paths import file_version, open_whole
from topmix.learn.history import PassView, Record
from topmix.results.topics import Edit
from topmix.selection.edits import checked
from topmix.selection.views import Model

FORMAT = "topmix-session"
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
    """A callback of an estimator. `show` gets a fitted copy now and then, and `on_pass` the record of each pass.
    `is_interrupted` says whether a pause must end, for instance because of Ctrl-C."""

    def __init__(
        self,
        show: Callable[[Model], None],
        on_pass: Callable[[Record], None],
        is_interrupted: Callable[[], bool] = lambda: False,
    ):
        self._show, self._on_pass, self._is_interrupted = show, on_pass, is_interrupted
        self.paused, self.stopped = False, False
        self._next_show = -math.inf

    def __call__(self, record: Record, view: PassView) -> bool:
        self._on_pass(record)
        begin = time.perf_counter()
        if begin >= self._next_show or self.paused:
            self._show(view.fitted())
            end = time.perf_counter()
            self._next_show = end + PART * (end - begin)
        while self.paused and not self._is_interrupted():
            time.sleep(WAIT)
        return self.stopped

    def stop(self) -> None:
        """After the pass that is being made."""
        self.stopped, self.paused = True, False


class Journal:
    """`edits` that were made, and `undone` ones that can be made again, in a small file beside the model,
    MODEL.session, which is written after each edit. Without a model nothing is written.

    A server that was killed reads it and makes the edits again: they give the same bits, so this is its last state.
    """

    def __init__(self, model: Path | None):
        self.edits: list[Edit] = []
        self.undone: list[Edit] = []
        self.path = None if model is None else model.with_name(model.name + ".session")
        if model is not None and self.path is not None:
            with open_whole(model) as file:
                self._base = hashlib.file_digest(file, "sha256").hexdigest()  # type: ignore[arg-type]
            self._seen = file_version(self.path)
            remove_unfinished(self.path)  # of an explorer that was killed
            if not self.path.exists():
                return
            try:
                session = json.loads(self.path.read_text(encoding="utf-8"))
                if session["format"] != FORMAT:
                    raise ValueError("it is no session")
                self.edits, self.undone = ([checked(edit) for edit in session[kind]] for kind in ("edits", "undone"))
                base = session["model"]
            except (KeyError, TypeError, ValueError, RecursionError) as error:
                why = f"not a session of the explorer ({error})"
                raise ValueError(f"{self.path}: {why}; move it away to begin anew") from error
            if base != self._base:
                why = "holds edits of another model than the one beside it"
                raise ValueError(f"{self.path}: {why}; move it away to begin anew")

    def move(self, edits: list[Edit], undone: list[Edit], *, write: bool = True) -> None:
        """These are the edits from now on, once they are in the file."""
        if write and self.path is not None:
            if file_version(self.path) != self._seen:
                raise Refused(f"another explorer has edited this model: {self.path.name} is not what it was")
            text = {"format": FORMAT, "model": self._base, "edits": edits, "undone": undone}
            with atomic_write(self.path) as file:
                file.write(json.dumps(text, indent=1).encode())
            self._seen = file_version(self.path)
        self.edits, self.undone = list(edits), list(undone)
