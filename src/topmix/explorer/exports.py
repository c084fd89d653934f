"""The state as files: the static report, tables, the model, the script of the edits."""

from __future__ import annotations

import csv
import io
import tempfile
from collections.abc import Iterator
from pathlib import Path

from starlette.responses import Response

from topmix.explorer.session import Session
from topmix.explorer.snapshot import Snapshot
from topmix.explorer.texts import TextStore
from topmix.report import write_report
from topmix.web import NotFound

KINDS = {
    "report.html": "text/html; charset=utf-8",
    "topics.csv": "text/csv; charset=utf-8",
    "documents.csv": "text/csv; charset=utf-8",
    "topics.model": "application/octet-stream",
    "edits.py": "text/x-python; charset=utf-8",
}


def export(session: Session, snapshot: Snapshot, name: str) -> Response:
    if name not in KINDS:
        raise NotFound(f"there is no {name[:60]}; there are {', '.join(KINDS)}")
    if name == "topics.csv":
        body = _topics(snapshot)
    elif name == "documents.csv":
        body = _documents(snapshot)
    elif name == "edits.py":
        body = session.script().encode()
    else:
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / name
            if name == "topics.model":
                snapshot.model.save(path)
            else:
                library = snapshot.library
                corpus = None if library is None else library.corpus
                texts = None if library is None or library.texts is None else _texts(library.texts)
                write_report(snapshot.model, path, corpus, texts=texts, title=session.title)
            body = path.read_bytes()
    headers = {"content-disposition": f'attachment; filename="{name}"'}
    return Response(body, media_type=KINDS[name], headers=headers)


def _texts(store: TextStore) -> Iterator[str]:
    return (store[d] for d in range(len(store)))


def _topics(snapshot: Snapshot) -> bytes:
    names = getattr(snapshot.model, "names_", {})
    rows: list[list[object]] = [["topic", "name", "share", "words"]]
    for k in snapshot.view.by_size().tolist():
        rows.append([k, names.get(k, ""), float(f"{snapshot.view.share[k]:.6g}"), " ".join(snapshot.labels[k])])
    return _csv(rows)


def _documents(snapshot: Snapshot) -> bytes:
    """Shares of at least a hundredth, one line per document and topic."""
    library, mixes = snapshot.library, snapshot.mixes()
    if library is None:
        raise NotFound("the explorer has no documents")
    if mixes is None:
        snapshot.compute_mixes()
        mixes = snapshot.mixes()
    assert mixes is not None
    rows: list[list[object]] = [["document", "name", "topic", "share"]]
    entries = mixes.by_doc.tocoo()
    for d, k, share in zip(*(part.tolist() for part in (*entries.coords, entries.data))):
        rows.append([d, library.name(d), k, float(f"{share:.4g}")])
    return _csv(rows)


def _csv(rows: list[list[object]]) -> bytes:
    """Cells that a spreadsheet would take for a formula begin with an apostrophe."""
    out = io.StringIO()
    safe = [
        [f"'{c}" if isinstance(c, str) and c[:1] in ("=", "+", "-", "@", "\t", "\r") else c for c in r] for r in rows
    ]
    csv.writer(out).writerows(safe)
    return out.getvalue().encode("utf-8", "replace")
