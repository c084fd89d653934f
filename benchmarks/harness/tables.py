"""Tables of a page that come from stored rows.

The page has a place for each: <!-- rows NAME --> and, below it, <!-- end -->. What is between them is written here.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping

import numpy as np

Cells = list[list[str]]  # a head, and a list per row


def filled(page: str, tables: Mapping[str, Callable[[], Cells]]) -> str:
    """The page with all its tables."""

    def table(match: re.Match[str]) -> str:
        head, *body = tables[match[1]]()
        lines = [head, ["---"] * len(head), *body]
        text = "\n".join(f"| {' | '.join(cells)} |" for cells in lines) if body else "(not run yet)"
        return f"<!-- rows {match[1]} -->\n\n{text}\n\n<!-- end -->"

    return re.sub(r"<!-- rows (\w+) -->\n.*?<!-- end -->", table, page, flags=re.DOTALL)


def number(x: float | None, digits: int = 3) -> str:
    return "–" if x is None or not np.isfinite(x) else f"{x:.{digits}f}".replace("-", "−")
