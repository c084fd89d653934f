"""The files of the pages, and how they become one: scripts in one scope, styles, and JSON that a page can hold.

A script defines names that the others use, so the scripts of a page are joined in this order inside one function.
`source`, where the data comes from, is in embedded.js for the report, and in server.js for the explorer, with the same
functions: the report is the explorer with its data inside. There is no build step; tools/lint_pages.py checks the
scripts as they are joined.
"""

from __future__ import annotations

import base64
import hashlib
import html
import json
import re
from collections.abc import Iterable
from importlib.resources import files

import numpy as np
from numpy.typing import ArrayLike

VIEWS = (
    "list.js", "map.js", "topic.js", "groups.js", "depends.js", "word.js", "tree.js", "training.js", "main.js",
    "reproducibility.js",
)  # fmt: skip
REPORT = ("data.js", "embedded.js", *VIEWS, "start.js")
EXPLORER = (
    "data.js", "server.js", *VIEWS, "documents.js", "compare.js", "atlas.js", "charts.js", "edit.js", "live.js",
    "share.js", "start_live.js",
)  # fmt: skip
Json = dict[str, object]


def asset(name: str) -> str:
    """A file of the pages."""
    return files("topmix.apps.page").joinpath(name).read_text(encoding="utf-8")


def joined(scripts: Iterable[str]) -> str:
    """Scripts in one function, so that they share their names with each other and with nobody else."""
    return f'"use strict";\n(() => {{\n{"".join(scripts)}}})();\n'


def frame(title: str, *, template: str = "page.html", **parts: str) -> str:
    """The HTML of a page. That of the report and the explorer has `head` in its head, `tail` at the end of its body."""
    parts["title"] = html.escape(title.encode(errors="replace").decode())
    # One pass over the template, so that "{{...}}" in a title or document is not replaced.
    return re.sub(r"\{\{(\w+)\}\}", lambda place: parts[place[1]], asset(template))


def safe_head(sheet: str, *, script: str = "") -> str:
    """The style of a page in one file, and a policy that allows no script but one, and forbids to load anything."""
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    allowed = f"script-src 'sha256-{digest}'; " if script else ""
    policy = f"default-src 'none'; {allowed}style-src 'unsafe-inline'"
    return f'<meta http-equiv="Content-Security-Policy" content="{policy}">\n<style>\n{sheet}\n</style>'


def style(*names: str) -> str:
    """Style sheets after the one with the colours and the font of all pages, light and dark."""
    return "".join(map(asset, ("theme.css", *names)))


def pack(numbers: ArrayLike, dtype: str) -> str:
    """Little-endian bytes in base64, which a page decodes to a typed array."""
    return base64.b64encode(np.ascontiguousarray(numbers, np.dtype(dtype)).tobytes()).decode()


def rounded(rows: ArrayLike) -> list[list[float | None]]:
    """Numbers with four digits, and null where one is not known."""
    return [[float(f"{x:.4g}") if np.isfinite(x) else None for x in row] for row in np.asarray(rows).tolist()]


def as_json(data: object) -> str:
    """JSON without NaN and infinity, which browsers cannot read."""
    return json.dumps(data, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
