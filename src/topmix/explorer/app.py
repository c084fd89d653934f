"""The addresses of the explorer. A request takes the snapshot once, and is answered from it alone."""

from __future__ import annotations

from typing import Any

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse
from starlette.routing import Route

from topmix.explorer.exports import export
from topmix.explorer.search import search_documents
from topmix.explorer.session import Session
from topmix.explorer.snapshot import Snapshot
from topmix.pages.assets import EXPLORER, asset, frame, joined, style
from topmix.web import NotFound, Refused, answer_in_json, text_reply

LONGEST_QUERY = 2000


def make_app(session: Session) -> Starlette:
    page = frame(
        session.title,
        '<link rel="stylesheet" href="/page.css"><link rel="icon" href="data:,">',
        '<script src="/page.js" defer></script>',
    )
    script = joined(map(asset, EXPLORER))
    sheet = style("page.css", "explorer.css")
    fixed = {"/": (page, "text/html"), "/page.js": (script, "text/javascript"), "/page.css": (sheet, "text/css")}

    def text(body: str, kind: str) -> Any:
        async def answer(request: Request) -> Response:
            return Response(body, media_type=kind)

        return answer

    def now() -> Snapshot:
        if session.snapshot is None:
            raise Refused("the first pass is not over yet")
        return session.snapshot

    def topic(request: Request) -> Any:
        snapshot = now()
        return snapshot.topic(snapshot.checked(request.path_params["k"]))

    def documents(request: Request) -> Any:
        asked, snapshot = request.query_params, now()
        k = asked.get("topic", "")
        return search_documents(
            snapshot,
            words=asked.get("words", "")[:LONGEST_QUERY],
            topic=None if k == "" else snapshot.checked(k),
            column=asked.get("column") or None,
            value=asked.get("value", "")[:LONGEST_QUERY],
            offset=_whole(asked.get("offset", "0")),
        )

    def groups(request: Request) -> Any:
        snapshot, name = now(), request.query_params.get("column", "")
        if snapshot.library is None or name not in snapshot.library.columns:
            raise NotFound(f"there is no column {name[:60]!r}")
        if (mixes := snapshot.mixes()) is None:
            return {"pending": True}
        column = snapshot.library.columns[name]
        k = snapshot.checked(request.query_params.get("topic"))
        n, share = mixes.by_group(k, column.group_of_doc, len(column.groups))
        rows: list[Any] = [[g[:200], m, s] for g, m, s in zip(column.groups, n, share)]
        if not column.is_time:  # the largest groups, where there are too many to show
            rows = sorted(sorted(rows, key=lambda row: -row[1])[:40], key=lambda row: -(row[2] or 0.0))[:12]
        return {"column": name, "is_time": column.is_time, "groups": rows}

    def compare(request: Request) -> Any:
        snapshot, asked = now(), request.query_params
        return snapshot.compare(snapshot.checked(asked.get("a")), snapshot.checked(asked.get("b")))

    def other(request: Request) -> Any:
        if session.other is None:
            raise NotFound("there is no other model: start the explorer with --other MODEL")
        return session.other.beside(now())

    async def events(request: Request) -> Response:
        return StreamingResponse(session.events.stream(), media_type="text/event-stream")

    def change(request: Request, fields: dict[str, Any]) -> Any:
        what, version = request.path_params["what"], fields.get("version")
        if what == "preview":
            return session.preview(fields.get("edit"), version)
        if what == "cuts":
            return session.cuts(now().checked(fields.get("topic")), version)
        if what == "apply":
            session.apply(fields.get("edit"), version)
        elif what == "undo":
            session.undo(version)
        elif what == "redo":
            session.redo(version)
        elif what == "learn":
            session.learn(fields.get("passes"), version)
        elif what == "control":
            session.control(str(fields.get("action")), fields.get("limit"))
        else:
            raise NotFound("there is no such action")
        return session.status()

    def query(request: Request) -> str:
        return request.query_params.get("q", "")[:LONGEST_QUERY]

    gets = {
        "/api/overview": lambda request: text_reply(session.overview()),
        "/api/status": lambda request: session.status(),
        "/api/topic/{k}": topic,
        "/api/find": lambda request: now().find(query(request)),
        "/api/suggest": lambda request: now().suggest(query(request)),
        "/api/word": lambda request: now().word(query(request)),
        "/api/tree": lambda request: now().tree(),
        "/api/documents": documents,
        "/api/document/{d}": lambda request: now().document(_whole(request.path_params["d"])),
        "/api/groups": groups,
        "/api/compare": compare,
        "/api/other": other,
        "/export/{name}": lambda request: export(session, now(), request.path_params["name"]),
    }
    routes = [
        *(Route(path, text(*said)) for path, said in fixed.items()),
        *(Route(path, answer_in_json(work)) for path, work in gets.items()),
        Route("/api/events", events),
        Route("/api/do/{what}", answer_in_json(change, reads_body=True), methods=["POST"]),
    ]
    return Starlette(routes=routes)


def _whole(text: str) -> int:
    if not (text.isascii() and text.isdecimal() and len(text) < 12):
        raise NotFound(f"{text[:40]!r} is not a number")
    return int(text)
