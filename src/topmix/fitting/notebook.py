"""A bar in a notebook, of a fit or of many: one output that is written again after each step.

It needs no ipywidgets, and a saved notebook has what was shown last.
"""

from __future__ import annotations

import html
import time
from collections.abc import Sequence
from typing import Any

EVERY = 0.1  # seconds between two updates


class NotebookBar:
    def __init__(self, unit: str = "passes") -> None:
        self.unit = unit
        self._handle: Any = None
        self._next = 0.0

    def show(self, title: str, n: int, total: int, said: Sequence[str], lines: Sequence[str], *, last: bool) -> None:
        """`said` follows the bar, and `lines` are below it. What comes too soon is left out, unless it is the last."""
        if not last and time.monotonic() < self._next:
            return
        self._next = time.monotonic() + EVERY
        parts = [f"{n}/{total} {self.unit}", *filter(None, said)]
        plain = "\n".join(["  ".join([title, *parts]), *lines])
        below = "".join(f"<br>{html.escape(line)}" for line in lines)
        bar = f'<progress value="{n}" max="{max(total, 1)}" style="width:16em"></progress>'
        rest = html.escape(" · ".join(parts))
        shown = f'<div style="white-space:pre-wrap">{html.escape(title)} {bar} {rest}{below}</div>'
        self._display({"text/plain": plain, "text/html": shown})

    def _display(self, data: dict[str, str]) -> None:
        if self._handle is None:
            from IPython.display import display

            self._handle = display(data, raw=True, display_id=True)
        else:
            self._handle.update(data, raw=True)
