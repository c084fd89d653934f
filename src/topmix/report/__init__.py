"""The report: one HTML page that shows a fitted model. It needs a browser, but no network and no server.

topmix.report.write_report(model, "report.html", corpus)
"""

from __future__ import annotations

import base64
import hashlib
import os
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from topmix.data.atomic import atomic_write, check_can_write
from topmix.data.corpus import Corpus
from topmix.data.items import is_texts
from topmix.estimators.reading import refuse_iterator
from topmix.pages.assets import REPORT, asset, embedded_json, frame, joined, style
from topmix.report.contents import contents

__all__ = ["write_report"]


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
    script = joined([asset(name) for name in REPORT])
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    policy = f"default-src 'none'; script-src 'sha256-{digest}'; style-src 'unsafe-inline'"
    sheet = style("page.css")
    head = f'<meta http-equiv="Content-Security-Policy" content="{policy}">\n<style>\n{sheet}\n</style>'
    tail = f'<script type="application/json" id="data">{embedded_json(data)}</script>\n<script>{script}</script>'
    return frame(title, head, tail)
