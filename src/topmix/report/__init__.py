"""The report: one HTML page that shows a fitted model. It needs a browser, but no network and no server.

topmix.report.write_report(model, "report.html", corpus)
"""

from __future__ import annotations

import base64
import hashlib
import html
import json
import os
import re
from collections.abc import Iterable, Mapping, Sequence
from importlib.resources import files
from pathlib import Path
from typing import Any

from topmix.data.atomic import atomic_write, check_can_write
from topmix.data.corpus import Corpus
from topmix.data.items import is_texts
from topmix.read import refuse_iterator
from topmix.report.contents import contents

__all__ = ["write_report"]

# Joined in this order inside one function: the files share the names that they define.
# `source`, where the data comes from, is in embedded.js; a live explorer has another file with the same functions.
VIEWS = ("list.js", "map.js", "topic.js", "groups.js", "word.js", "tree.js", "training.js", "main.js")
SCRIPTS = ("data.js", "embedded.js", *VIEWS, "start.js")


def write_report(
    model: Any,
    path: str | os.PathLike[str],
    corpus: Any = None,
    *,
    texts: Iterable[str] | None = None,
    columns: Mapping[str, Sequence[Any]] | Any = None,
    title: str | None = None,
) -> None:
    """Write a page with the topics, a map of them, example documents, the training curve and the settings.

    Parameters
    ----------
    model
        A fitted topic model or mixture of counts.
    path
        The HTML file to write.
    corpus : Corpus, what `transform` of the model takes, or None
        Documents. The page shows the documents with the most of each topic.
    texts : iterable of str or None
        The texts of the documents, in the same order. The page then shows texts instead of counts of words. The
        iterable is read once, and only the texts on the page are kept in memory.
    columns : table, mapping or None
        Values beside the documents, {name: one value per document}, such as dates or authors. The page then shows each
        topic over time, where all values are dates, and by group.
    title : str or None
        The title of the page. None takes the estimator and the name of the file.
    """
    check_can_write(path)  # before the work
    name = title or f"{type(model).__name__} · {Path(path).stem}"
    data = contents(model, *_documents(model, corpus, texts), columns)
    with atomic_write(path) as file:
        file.write(page(name, data).encode())


def _documents(model: Any, given: Any, texts: Iterable[str] | None) -> tuple[Corpus | None, Iterable[str] | None]:
    """The documents as a corpus, and their texts where there are some."""
    if given is None or isinstance(given, Corpus):
        return given, texts
    if not hasattr(model, "counts"):
        raise ValueError(
            f"a {type(model).__name__} shows documents of a topmix.data.Corpus, not of {type(given).__name__}"
        )
    refuse_iterator(given)
    return model.counts(given), given if texts is None and is_texts(given) else texts


def page(title: str, data: dict[str, Any]) -> str:
    """The HTML of the page.

    All content of documents is in one block of JSON, which a browser does not run. The content security policy allows
    only the script with the right hash, and forbids the page to load anything.
    """
    script = joined([asset(name) for name in SCRIPTS])
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    policy = f"default-src 'none'; script-src 'sha256-{digest}'; style-src 'unsafe-inline'"
    head = f'<meta http-equiv="Content-Security-Policy" content="{policy}">\n<style>\n{style()}\n</style>'
    tail = f'<script type="application/json" id="data">{as_json(data)}</script>\n<script>{script}</script>'
    return frame(title, head, tail)


def frame(title: str, head: str, tail: str) -> str:
    """The HTML that the report and the explorer share: `head` goes into its head, `tail` to the end of its body."""
    parts = {"title": html.escape(title), "head": head, "tail": tail}
    # One pass over the template, so that "{{...}}" in a title or document is not replaced.
    return re.sub(r"\{\{(\w+)\}\}", lambda place: parts[place[1]], asset("page.html"))


def joined(scripts: Iterable[str]) -> str:
    """Scripts in one function, so that they share their names with each other and with nobody else."""
    return f'"use strict";\n(() => {{\n{"".join(scripts)}}})();\n'


def style() -> str:
    return theme() + asset("page.css")


def theme() -> str:
    """The colours and the font of pages, light and dark."""
    return asset("theme.css")


def asset(name: str) -> str:
    """A file of the page."""
    return files("topmix.report").joinpath("page", name).read_text(encoding="utf-8")


def as_json(data: dict[str, Any]) -> str:
    """JSON that cannot close the <script> element around it."""
    text = json.dumps(data, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    return "".join(ESCAPES.get(c, c) for c in text) if any(c in text for c in ESCAPES) else text


ESCAPES = {"<": "\\u003c", ">": "\\u003e", "&": "\\u0026", "\u2028": "\\u2028", "\u2029": "\\u2029"}
