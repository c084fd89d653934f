"""The addresses of the explorer. A request takes the snapshot once, and is answered from it alone; some answers are
files: the static report, tables, the model, the script of the edits."""

from __future__ import annotations

import io
import tempfile
from collections import defaultdict
from collections.abc import Callable
from functools import partial
from pathlib import Path

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse
from starlette.routing import Route

from topmix.apps.explorer.session import Session
from topmix.apps.explorer.snapshot import Snapshot, whole
from topmix.apps.export import Columns, write_table
from topmix.apps.page import EXPLORER, Json, asset, frame, joined, style
from topmix.apps.report import model_page
from topmix.apps.web import NotFound, Refused, answer_in_json, text_reply
from topmix.selection import edits

Asked = defaultdict[str, str]  # what a request asks for; what it leaves out is ""
LONGEST_QUERY = 2000
KINDS = {
    "report.html": "text/html; charset=utf-8",
    "topics.csv": "text/csv; charset=utf-8",
    "documents.csv": "text/csv; charset=utf-8",
    "topics.model": "application/octet-stream",
    "edits.py": "text/x-python; charset=utf-8",
}
FORMULA = ("=", "+", "-", "@", "\t", "\r")  # a spreadsheet computes cells that begin so


def make_app(session: Session) -> Starlette:
    head = '<link rel="stylesheet" href="/page.css"><link rel="icon" href="data:,">'
    page = frame(session.title, head=head, tail='<script src="/page.js" defer></script>')
    fixed = {
        "/": Response(page, media_type="text/html"),
        "/page.js": Response(joined(map(asset, EXPLORER)), media_type="text/javascript"),
        "/page.css": Response(style("page.css", "explorer.css"), media_type="text/css"),
    }

    def answer(work: Callable[[Snapshot, Asked], object], request: Request) -> object:
        """Of the model as it is now."""
        if session.snapshot is None:
            raise Refused("the first pass is not over yet")
        asked = {**request.query_params, **request.path_params}
        return work(session.snapshot, defaultdict(str, {name: text[:LONGEST_QUERY] for name, text in asked.items()}))

    async def events(request: Request) -> Response:
        return StreamingResponse(session.events.stream(), media_type="text/event-stream")

    def change(request: Request, fields: Json) -> object:
        what, version = request.path_params["what"], fields.get("version")
        actions: dict[str, Callable[[], object]] = {
            "preview": lambda: session.preview(fields.get("edit"), version),
            "cuts": lambda: session.cuts(fields.get("topic"), version),
            "apply": lambda: session.apply(fields.get("edit"), version),
            "undo": lambda: session.undo(version),
            "redo": lambda: session.redo(version),
            "learn": lambda: session.learn(fields.get("passes"), version),
            "control": lambda: session.control(fields.get("action")),
        }
        if what not in actions:
            raise NotFound("there is no such action")
        done = actions[what]()
        return session.status() if done is None else done

    gets: dict[str, Callable[[Snapshot, Asked], object]] = {
        "/api/topic/{k}": lambda now, q: now.topic(q["k"]),
        "/api/find": lambda now, q: now.find(q["q"]),
        "/api/suggest": lambda now, q: now.suggest(q["q"]),
        "/api/word": lambda now, q: now.word(q["q"]),
        "/api/tree": lambda now, q: now.tree,
        "/api/documents": lambda now, q: now.search(
            q["words"], q["topic"] or None, q["column"], q["value"], whole(q["offset"] or "0")
        ),
        "/api/document/{d}": lambda now, q: now.document(whole(q["d"])),
        "/api/places": lambda now, q: (
            {"pending": True} if now.mixes is None or now.positions is None else text_reply(now.places_json)
        ),
        "/api/cards": lambda now, q: now.cards([whole(row) for row in q["rows"].split(",")]),
        "/api/column": lambda now, q: now.column(q["name"]),
        "/api/charts": lambda now, q: now.charts(q["column"]),
        "/api/groups": lambda now, q: now.groups(q["column"], q["topic"]),
        "/api/compare": lambda now, q: now.compare(q["a"], q["b"]),
        "/export/{name}": lambda now, q: export(session, now, q["name"]),
    }
    routes = [
        *(Route(path, answer_in_json(lambda request, reply=reply: reply)) for path, reply in fixed.items()),
        Route("/api/overview", answer_in_json(lambda request: text_reply(session.overview()))),
        Route("/api/status", answer_in_json(lambda request: session.status())),
        Route("/api/events", events),
        *(Route(path, answer_in_json(partial(answer, work))) for path, work in gets.items()),
        Route("/api/do/{what}", answer_in_json(change, reads_body=True), methods=["POST"]),
    ]
    return Starlette(routes=routes)


def export(session: Session, snapshot: Snapshot, name: str) -> Response:
    if name not in KINDS:
        raise NotFound(f"there is no {name[:60]}; there are {', '.join(KINDS)}")
    library, topics, ids = snapshot.library, snapshot.view.topics, snapshot.numbering.ids
    if name == "topics.csv":  # `topic` is the row of a topic in the model; `id` stays with it through edits
        by_size = topics.by_size().tolist()
        body = _table({
            "topic": by_size,
            "id": [ids[k] for k in by_size],
            "name": [snapshot.view.names.get(k, "") for k in by_size],
            "share": [float(f"{topics.share[k]:.6g}") for k in by_size],
            "words": [" ".join(snapshot.labels[k]) for k in by_size],
        })  # fmt: skip
    elif name == "documents.csv":  # shares of at least a hundredth, one line per document and topic
        snapshot.compute_mixes()
        if library is None or snapshot.mixes is None:
            raise NotFound("the explorer has no documents")
        entries = snapshot.mixes.by_doc.tocoo()
        rows, of_rows = (part.tolist() for part in entries.coords)
        body = _table({
            "document": rows,
            "name": [library.name(d) for d in rows],
            "topic": of_rows,
            "id": [ids[k] for k in of_rows],
            "share": [float(f"{x:.4g}") for x in entries.data.tolist()],
        })  # fmt: skip
    elif name == "edits.py":
        body = edits.script(session.journal.edits, snapshot.model).encode()
    elif name == "report.html":
        documents = () if library is None else (library.corpus, library.texts, library.columns.values())
        body = model_page(snapshot.view, session.title, *documents).encode("utf-8", "replace")
    else:
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / name
            snapshot.model.save(path)
            body = path.read_bytes()
    headers = {"content-disposition": f'attachment; filename="{name}"'}
    return Response(body, media_type=KINDS[name], headers=headers)


def _table(columns: Columns) -> bytes:
    safe = {
        name: [f"'{cell}" if isinstance(cell, str) and cell.startswith(FORMULA) else cell for cell in cells]
        for name, cells in columns.items()
    }
    out = io.BytesIO()
    write_table(out, [safe], "csv")
    return out.getvalue()
