"""The addresses of the explorer. A request takes the snapshot once, and is answered from it alone."""

from __future__ import annotations

from collections.abc import Callable

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse
from starlette.routing import Route

from topmix.pages.assets import EXPLORER, Json, asset, frame, joined, style
from topmix.pages.explorer.exports import export
from topmix.pages.explorer.session import Session
from topmix.pages.explorer.snapshot import Snapshot
from topmix.pages.web import NotFound, Refused, answer_in_json, text_reply

LONGEST_QUERY = 2000


def make_app(session: Session) -> Starlette:
    page = frame(
        session.title,
        '<link rel="stylesheet" href="/page.css"><link rel="icon" href="data:,">',
        '<script src="/page.js" defer></script>',
    )
    fixed = {
        "/": Response(page, media_type="text/html"),
        "/page.js": Response(joined(map(asset, EXPLORER)), media_type="text/javascript"),
        "/page.css": Response(style("page.css", "explorer.css"), media_type="text/css"),
    }

    def now() -> Snapshot:
        if session.snapshot is None:
            raise Refused("the first pass is not over yet")
        return session.snapshot

    def asked(request: Request, name: str = "q") -> str:
        return str(request.query_params.get(name, ""))[:LONGEST_QUERY]

    def topic(request: Request) -> Json:
        snapshot = now()
        return snapshot.topic(snapshot.checked(request.path_params["k"]))

    def documents(request: Request) -> Json:
        snapshot, k = now(), asked(request, "topic")
        return snapshot.search(
            words=asked(request, "words"),
            topic=None if k == "" else snapshot.checked(k),
            column=asked(request, "column"),
            value=asked(request, "value"),
            offset=_whole(request.query_params.get("offset", "0")),
        )

    def groups(request: Request) -> Json:
        snapshot = now()
        return snapshot.groups(asked(request, "column"), snapshot.checked(asked(request, "topic")))

    def places(request: Request) -> object:
        snapshot = now()
        is_pending = snapshot.mixes is None or snapshot.is_rough
        return {"pending": True} if is_pending else text_reply(snapshot.places_json)

    def compare(request: Request) -> Json:
        snapshot = now()
        return snapshot.compare(snapshot.checked(asked(request, "a")), snapshot.checked(asked(request, "b")))

    def other(request: Request) -> Json:
        if session.other is None:
            raise NotFound("there is no other model: start the explorer with --other MODEL")
        return session.other.beside(now())

    async def events(request: Request) -> Response:
        return StreamingResponse(session.events.stream(), media_type="text/event-stream")

    def change(request: Request, fields: Json) -> object:
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

    gets: dict[str, Callable[[Request], object]] = {
        "/api/overview": lambda request: text_reply(session.overview()),
        "/api/status": lambda request: session.status(),
        "/api/topic/{k}": topic,
        "/api/find": lambda request: now().find(asked(request)),
        "/api/suggest": lambda request: now().suggest(asked(request)),
        "/api/word": lambda request: now().word(asked(request)),
        "/api/tree": lambda request: now().tree(),
        "/api/documents": documents,
        "/api/document/{d}": lambda request: now().document(_whole(request.path_params["d"])),
        "/api/places": places,
        "/api/cards": lambda request: now().cards([_whole(row) for row in asked(request, "rows").split(",")]),
        "/api/column": lambda request: now().column(asked(request, "name")),
        "/api/charts": lambda request: now().charts(asked(request, "column")),
        "/api/groups": groups,
        "/api/compare": compare,
        "/api/other": other,
        "/export/{name}": lambda request: export(session, now(), request.path_params["name"]),
    }
    routes = [
        *(Route(path, answer_in_json(lambda request, reply=reply: reply)) for path, reply in fixed.items()),
        *(Route(path, answer_in_json(work)) for path, work in gets.items()),
        Route("/api/events", events),
        Route("/api/do/{what}", answer_in_json(change, reads_body=True), methods=["POST"]),
    ]
    return Starlette(routes=routes)


def _whole(text: str) -> int:
    if not (text.isascii() and text.isdecimal() and len(text) < 12):
        raise NotFound(f"{text[:40]!r} is not a number")
    return int(text)
