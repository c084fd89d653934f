"""The explorer in a cell of a notebook. There is no port: the page is in a frame of the cell, and what it asks for
comes through the kernel's own channel to the same addresses (app.py) that the server answers.

    page in a frame  --postMessage-->  notebook.js in the cell  --comm-->  Channel  -->  app

Answers are computed in a thread. While a cell runs, a kernel answers only if it has subshells (ipykernel 7) and the
notebook uses them (JupyterLab 4.6 does once a page is ready); others answer when the cell is over.
"""

from __future__ import annotations

import asyncio
import logging
import secrets
import sys
import threading
from collections.abc import Coroutine
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qs, unquote

import numpy as np
from numpy.typing import NDArray
from starlette.applications import Starlette
from starlette.types import Message

from topmix.pages.assets import NOTEBOOK, asset, frame, joined, style
from topmix.pages.explorer.app import make_app
from topmix.pages.explorer.session import Session
from topmix.pages.explorer.snapshot import Snapshot

if TYPE_CHECKING:
    from anywidget import AnyWidget

HEIGHT = 720  # pixels
LONGEST_REQUEST = 1 << 20
logger = logging.getLogger(__name__)


def in_notebook() -> bool:
    """Whether this is the kernel of a notebook, and has anywidget."""
    try:
        import anywidget  # noqa: F401

        if "marimo" in sys.modules and sys.modules["marimo"].running_in_notebook():
            return True
        from ipykernel.zmqshell import ZMQInteractiveShell
        from IPython import get_ipython
    except ImportError:
        return False
    return isinstance(get_ipython(), ZMQInteractiveShell)


def page_of(title: str) -> str:
    """The page of the explorer in one piece. It may run its own script, and load nothing."""
    nonce = secrets.token_urlsafe(16)
    policy = f"default-src 'none'; script-src 'nonce-{nonce}'; style-src 'unsafe-inline'; form-action 'none'"
    head = f'<meta http-equiv="Content-Security-Policy" content="{policy}">'
    head += f"<style>{style('page.css', 'explorer.css')}</style>"
    return frame(title, head, f'<script nonce="{nonce}">{joined(map(asset, NOTEBOOK))}</script>')


class Channel:
    """Between a widget and the addresses of an explorer."""

    def __init__(self, session: Session, height: int = HEIGHT):
        self.session, self.app = session, make_app(session)
        self.found: dict[str, str] = {}  # what the last search for documents asked for
        self.widget = _widget(page_of(session.title), height)
        self.widget.on_msg(self._asked)
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="topmix-explorer", daemon=True)
        self._thread.start()
        self._start(self._tell())

    @property
    def shown(self) -> dict[str, str]:
        """What the page shows, as its address says it: topic, tab, document, words."""
        return _fields(str(self.widget.address).lstrip("#"))

    def documents(self, snapshot: Snapshot) -> NDArray[np.int64]:
        """Those that are chosen: the one that is read, or those of the lasso where the map of documents is open, or
        those that were found last."""
        shown, asked = self.shown, self.found
        if shown.get("document", "").isdecimal():
            rows = np.array([int(shown["document"])])
        elif shown.get("tab") == "atlas":
            rows = np.array([d for d in self.widget.documents if isinstance(d, int)], np.int64)
        else:
            topic = snapshot.checked(asked["topic"]) if asked.get("topic") else None
            rows = snapshot.found(asked.get("words", ""), topic, asked.get("column", ""), asked.get("value", ""))
        n_docs = 0 if snapshot.library is None else snapshot.library.n_docs
        return rows[(rows >= 0) & (rows < n_docs)]

    def display(self, still: str) -> None:
        """Shows it in the cell that is being run, after `still`, which it hides."""
        from IPython.display import HTML, display

        if still:
            display(HTML(f'<div class="topmix-still-{self.widget.name}">{still}</div>'))
        display(self.widget)

    def close(self) -> None:
        if self._thread.is_alive():
            asyncio.run_coroutine_threadsafe(_without_others(), self._loop).result(30)
            self._loop.call_soon_threadsafe(self._loop.stop)
            self._thread.join()
            self._loop.close()
        self.widget.close()

    def _start(self, work: Coroutine[Any, Any, None]) -> None:
        asyncio.run_coroutine_threadsafe(work, self._loop)

    def _asked(self, widget: AnyWidget, said: object, buffers: object) -> None:
        match said:
            case {"id": int(asked), "view": str(view), "path": str(path), "method": str(method), "body": str(body)}:
                self._start(self._answer(asked, view, path, method, body))

    async def _answer(self, asked: int, view: str, path: str, method: str, body: str) -> None:
        target, _, query = path.partition("?")
        if target == "/api/documents":
            self.found = _fields(query)
        status, content = await answered(self.app, method, path, body.encode("utf-8", "replace"))
        self.widget.send({"id": asked, "view": view, "status": status}, buffers=[content])

    async def _tell(self) -> None:
        """Events, to all views."""
        async for text in self.session.events.stream():
            for line in text.splitlines():
                if line.startswith("data: "):
                    self.widget.send({"event": line.removeprefix("data: ")})


async def _without_others() -> None:
    """Ends all that the loop does."""
    others = asyncio.all_tasks() - {asyncio.current_task()}
    for task in others:
        task.cancel()
    await asyncio.gather(*others, return_exceptions=True)


def _fields(query: str) -> dict[str, str]:
    return {name: values[0] for name, values in parse_qs(query).items()}


async def answered(app: Starlette, method: str, path: str, body: bytes) -> tuple[int, bytes]:
    """What an application answers, without a server."""
    target, _, query = path.partition("?")
    if len(path) + len(body) > LONGEST_REQUEST:
        return 413, b'{"error":"the request is too long"}'
    if target == "/api/events":  # has no end
        return 404, b'{"error":"events come by themselves"}'
    scope = {
        "type": "http", "asgi": {"version": "3.0"}, "http_version": "1.1", "method": method, "scheme": "http",
        "path": unquote(target), "raw_path": target.encode(), "query_string": query.encode(), "root_path": "",
        "headers": [(b"host", b"notebook"), (b"content-type", b"application/json")], "client": None, "server": None,
    }  # fmt: skip
    status, parts = 500, list[bytes]()

    async def receive() -> Message:
        return {"type": "http.request", "body": body, "more_body": False}

    async def send(message: Message) -> None:
        nonlocal status
        if message["type"] == "http.response.start":
            status = int(message["status"])
        else:
            parts.append(bytes(message.get("body", b"")))

    try:
        await app(scope, receive, send)
    except Exception:
        logger.exception("%s %s", method, target)
        return 500, b'{"error":"the explorer made a mistake; its log says which"}'
    content = b"".join(parts)
    is_ours = status < 400 or content.startswith(b"{")
    return status, content if is_ours else b'{"error":"there is no such address"}'


def _widget(page: str, height: int) -> AnyWidget:
    try:
        import anywidget
        import traitlets
    except ImportError as error:
        raise ImportError("the explorer in a notebook needs anywidget: pip install 'topmix[notebook]'") from error

    class ExplorerWidget(anywidget.AnyWidget):
        _esm = asset("notebook.js")
        page = traitlets.Unicode().tag(sync=True)
        height = traitlets.Int(HEIGHT).tag(sync=True)
        address = traitlets.Unicode("").tag(sync=True)
        documents = traitlets.List(traitlets.Any()).tag(sync=True)  # of a lasso
        name = traitlets.Unicode().tag(sync=True)

    made = ExplorerWidget(page=page, height=height, name=secrets.token_hex(8))
    if hasattr(made.comm, "_reply_subshell_for"):  # ipykernel 7.4 would wait for the cell that made the widget
        made.comm._reply_subshell_for = lambda data, chosen: chosen
    return made
