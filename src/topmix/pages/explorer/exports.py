"""The state as files: the static report, tables, the model, the script of the edits."""

from __future__ import annotations

import io
import tempfile
from pathlib import Path

from starlette.responses import Response

from topmix.export.tables import Columns, write_csv_table, write_parquet_table
from topmix.pages.explorer.session import Session
from topmix.pages.explorer.snapshot import Snapshot
from topmix.pages.report import write_report
from topmix.pages.web import NotFound

KINDS = {
    "report.html": "text/html; charset=utf-8",
    "topics.csv": "text/csv; charset=utf-8",
    "documents.csv": "text/csv; charset=utf-8",
    "topics.model": "application/octet-stream",
    "edits.py": "text/x-python; charset=utf-8",
    "topics.parquet": "application/vnd.apache.parquet",
    "documents.parquet": "application/vnd.apache.parquet",
}
FORMULA = ("=", "+", "-", "@", "\t", "\r")  # a spreadsheet computes cells that begin so


def export(session: Session, snapshot: Snapshot, name: str) -> Response:
    known = [kind for kind in KINDS if session.has_parquet or not kind.endswith(".parquet")]
    if name not in known:
        raise NotFound(f"there is no {name[:60]}; there are {', '.join(known)}")
    table, _, kind = name.partition(".")
    if kind in ("csv", "parquet"):
        body = _table(_topics(snapshot) if table == "topics" else _documents(snapshot), kind)
    elif name == "edits.py":
        body = session.script().encode()
    else:
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / name
            if name == "topics.model":
                snapshot.model.save(path)
            else:
                _write_report(session, snapshot, path)
            body = path.read_bytes()
    headers = {"content-disposition": f'attachment; filename="{name}"'}
    return Response(body, media_type=KINDS[name], headers=headers)


def _write_report(session: Session, snapshot: Snapshot, path: Path) -> None:
    library = snapshot.library
    if library is None:
        write_report(snapshot.model, path, title=session.title)
        return
    texts = None if library.texts is None else (library.texts[d] for d in range(library.n_docs))
    columns = {name: column.texts() for name, column in library.columns.items()}
    write_report(snapshot.model, path, library.corpus, texts=texts, columns=columns, title=session.title)


def _topics(snapshot: Snapshot) -> Columns:
    """`topic` is the row of a topic in the model; `id` is the number that stays with it through edits."""
    names, topics = snapshot.view.names, snapshot.view.topics
    by_size = topics.by_size().tolist()
    return {
        "topic": by_size,
        "id": [snapshot.numbering.ids[k] for k in by_size],
        "name": [names.get(k, "") for k in by_size],
        "share": [float(f"{topics.share[k]:.6g}") for k in by_size],
        "words": [" ".join(snapshot.labels[k]) for k in by_size],
    }


def _documents(snapshot: Snapshot) -> Columns:
    """Shares of at least a hundredth, one line per document and topic."""
    library = snapshot.library
    if library is None:
        raise NotFound("the explorer has no documents")
    snapshot.compute_mixes()
    assert snapshot.mixes is not None
    entries = snapshot.mixes.by_doc.tocoo()
    rows, topics = (part.tolist() for part in entries.coords)
    share = [float(f"{x:.4g}") for x in entries.data.tolist()]
    ids = [snapshot.numbering.ids[k] for k in topics]
    return {"document": rows, "name": [library.name(d) for d in rows], "topic": topics, "id": ids, "share": share}


def _table(columns: Columns, kind: str) -> bytes:
    out = io.BytesIO()
    if kind == "parquet":
        write_parquet_table(out, [columns])
    else:
        write_csv_table(out, [{name: [_safe(cell) for cell in cells] for name, cells in columns.items()}])
    return out.getvalue()


def _safe(cell: object) -> object:
    return f"'{cell}" if isinstance(cell, str) and cell.startswith(FORMULA) else cell
