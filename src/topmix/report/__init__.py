"""One page that explains a fitted model, to open in a browser: no network, no server, nothing to install.

topmix.report.write_report(model, "report.html", corpus)
"""

from __future__ import annotations

import base64
import hashlib
import html
import json
import os
import re
from collections.abc import Iterable
from importlib.resources import files
from pathlib import Path
from typing import Any

from topmix.data.atomic import atomic_write
from topmix.data.corpus import Corpus
from topmix.report.contents import contents

__all__ = ["write_report"]


def write_report(
    model: Any,
    path: str | os.PathLike[str],
    corpus: Corpus | None = None,
    *,
    texts: Iterable[str] | None = None,
    title: str | None = None,
) -> None:
    """Writes the page.

    Parameters
    ----------
    model
        A fitted model of words.
    path
        The HTML file.
    corpus : Corpus or None
        Documents: with them the page shows those that are most about each topic.
    texts : iterable of str or None
        Their texts, in the same order: with them the page shows the documents as written, not as counts of words.
        Gone through once; only those that are shown are kept.
    title : str or None
    """
    name = title or f"{type(model).__name__} · {Path(path).stem}"
    data = contents(model, corpus, texts)
    with atomic_write(path) as file:
        file.write(page(name, data).encode())


def page(title: str, data: dict[str, Any]) -> str:
    """The page's text. What comes from documents is in a block of JSON that no browser runs; the one script on the page
    is named by its hash, and the page may load nothing."""
    assets = files("topmix.report")
    style, script = (assets.joinpath(name).read_text(encoding="utf-8") for name in ("page.css", "page.js"))
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    policy = f"default-src 'none'; script-src 'sha256-{digest}'; style-src 'unsafe-inline'"
    text = assets.joinpath("page.html").read_text(encoding="utf-8")
    parts = {"title": html.escape(title), "policy": policy, "style": style, "script": script, "data": as_json(data)}
    return re.sub(r"\{\{(\w+)\}\}", lambda place: parts[place[1]], text)  # one pass: what is put in is not looked at


def as_json(data: dict[str, Any]) -> str:
    """JSON that cannot end the element it stands in."""
    text = json.dumps(data, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    return "".join(ESCAPES.get(c, c) for c in text) if any(c in text for c in ESCAPES) else text


ESCAPES = {"<": "\\u003c", ">": "\\u003e", "&": "\\u0026", "\u2028": "\\u2028", "\u2029": "\\u2029"}
