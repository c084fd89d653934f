"""The state as files: the static report, tables, the model, the script of the edits."""

from __future__ import annotations

import csv
import io
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

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
    "topics.parquet": "application/vnd.apache.parquet",
    "documents.parquet": "application/vnd.apache.parquet",
}


def export(session: Session, snapshot: Snapshot, name: str) -> Response:
    known = [kind for kind in KINDS if session.has_parquet or not kind.endswith(".parquet")]
    if name not in known:
        raise NotFound(f"there is no {name[:60]}; there are {', '.join(known)}")
    table, _, kind = name.partition(".")
    if kind in ("csv", "parquet"):
        made = _topics(snapshot) if table == "topics" else _documents(snapshot)
        body = _csv(made) if kind == "csv" else _parquet(made)
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
                columns = None if library is None else {name: c.texts() for name, c in library.columns.items()}
                write_report(snapshot.model, path, corpus, texts=texts, columns=columns, title=session.title)
            body = path.read_bytes()
    headers = {"content-disposition": f'attachment; filename="{name}"'}
    return Response(body, media_type=KINDS[name], headers=headers)


def _texts(store: TextStore) -> Iterator[str]:
    return (store[d] for d in range(len(store)))


Table = dict[str, list[Any]]  # columns by name, all of one length


def _topics(snapshot: Snapshot) -> Table:
    names, view, by_size = getattr(snapshot.model, "names_", {}), snapshot.view, snapshot.view.by_size().tolist()
    return {
        "topic": by_size,
        "name": [names.get(k, "") for k in by_size],
        "share": [float(f"{view.share[k]:.6g}") for k in by_size],
        "words": [" ".join(snapshot.labels[k]) for k in by_size],
    }


def _documents(snapshot: Snapshot) -> Table:
    """Shares of at least a hundredth, one line per document and topic."""
    library, mixes = snapshot.library, snapshot.mixes()
    if library is None:
        raise NotFound("the explorer has no documents")
    if mixes is None:
        snapshot.compute_mixes()
        mixes = snapshot.mixes()
    assert mixes is not None
    entries = mixes.by_doc.tocoo()
    rows, topics = (part.tolist() for part in entries.coords)
    share = [float(f"{x:.4g}") for x in entries.data.tolist()]
    return {"document": rows, "name": [library.name(d) for d in rows], "topic": topics, "share": share}


def _csv(table: Table) -> bytes:
    """Cells that a spreadsheet would take for a formula begin with an apostrophe."""
    out = io.StringIO()
    write = csv.writer(out)
    write.writerow(table)
    for row in zip(*table.values()):
        write.writerow(
            [f"'{c}" if isinstance(c, str) and c[:1] in ("=", "+", "-", "@", "\t", "\r") else c for c in row]
        )
    return out.getvalue().encode("utf-8", "replace")


def _parquet(table: Table) -> bytes:
    """Nobody computes formulas of it: texts are as they are, except for halves of letters, which it cannot hold."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    out = io.BytesIO()
    whole = {
        name: [v.encode("utf-8", "replace").decode() if isinstance(v, str) else v for v in column]
        for name, column in table.items()
    }
    pq.write_table(pa.table(whole), out)
    return out.getvalue()
