"""uvicorn behind the guard: on a port that is free, in a thread or in the foreground, with a clean stop.

uvicorn limits the time between two requests, and not that of a request: its clock stops at the first byte. `TimedHttp`
limits how long a client may take to send its headers, then its body, and to read on where an answer is waiting for it,
and how many clients there are. It does so before anybody looks at a token.
"""

from __future__ import annotations

import asyncio
import secrets
import socket
import threading
import time
from collections.abc import Collection, Iterable
from typing import Self
from urllib.parse import quote

import h11
import uvicorn
from starlette.types import ASGIApp
from uvicorn.protocols.http.h11_impl import H11Protocol

from topmix.apps.web import LOOPBACK, MAX_BODY, Guard, checked_token

EVERYWHERE = ("0.0.0.0", "::")
START_SECONDS = 30.0
STOP_SECONDS = 5
HEADER_SECONDS = 10.0  # for a client to send the headers of its next request
BODY_SECONDS = 60.0  # and then the body
READ_SECONDS = 60.0  # for a client to read some of the answer that is waiting for it
MOST_CONNECTIONS = 200
BACKLOG = 100  # clients that wait to be accepted


class Server:
    """A server for an ASGI application. Nothing is reachable before `start` or `run`, but the address is known.

    The default host is seen by this machine alone, and port 0 is one that is free. The token is the secret in the
    address: "" makes a new one, and None lets everybody in. `hosts`, `open_paths` and `max_body` are those of `Guard`.
    It waits for open answers before it stops, so an application that sends streams ends them first.

    Examples
    --------
    >>> from topmix.web import Server
    >>> async def app(scope, receive, send): ...
    >>> with Server(app, token="a-long-secret") as server:
    ...     server.url == f"http://127.0.0.1:{server.port}/?token=a-long-secret"
    True
    """

    def __init__(
        self,
        app: ASGIApp,
        *,
        host: str = "127.0.0.1",
        port: int = 0,
        token: str | None = "",
        hosts: Iterable[str] = (),
        open_paths: Collection[str] = (),
        max_body: int = MAX_BODY,
    ):
        self.token = secrets.token_urlsafe(24) if token == "" else checked_token(token)
        # It listens: who comes before the server runs waits for it, and is not refused. The protocol is named, because
        # asyncio turns off Nagle's algorithm only where it is: 40 ms of every answer.
        family = socket.AF_INET6 if ":" in host else socket.AF_INET
        self.host, self._socket = host, socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
        self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            self._socket.bind((host, port))
            self._socket.listen(BACKLOG)
        except OSError as error:
            self._socket.close()
            raise OSError(error.errno, f"cannot listen at {host}, port {port}: {error.strerror}") from error
        self.port = int(self._socket.getsockname()[1])
        names = hosts if host in EVERYWHERE else (*hosts, host)
        cookie = f"topmix-{self.port}"
        guard = Guard(app, token=self.token, hosts=names, open_paths=open_paths, max_body=max_body, cookie=cookie)
        config = uvicorn.Config(
            guard, http=TimedHttp, ws="none", lifespan="off", backlog=BACKLOG, server_header=False,
            log_config=None, log_level="error", access_log=False, timeout_graceful_shutdown=STOP_SECONDS,
        )  # fmt: skip
        self._server = uvicorn.Server(config)
        self._thread: threading.Thread | None = None

    @property
    def is_private(self) -> bool:
        """Whether this machine alone can reach it."""
        return self.host in LOOPBACK

    @property
    def address(self) -> str:
        name = socket.gethostname() if self.host in EVERYWHERE else self.host
        return f"http://[{name}]:{self.port}/" if ":" in name else f"http://{name}:{self.port}/"

    @property
    def url(self) -> str:
        """The address with the token, for a browser."""
        return self.address if self.token is None else f"{self.address}?token={quote(self.token)}"

    def start(self) -> Self:
        """Serves in a thread, and returns when it answers."""
        self._thread = threading.Thread(target=self.run, name="topmix-server", daemon=True)
        self._thread.start()
        deadline = time.monotonic() + START_SECONDS
        while not self._server.started:
            if not self._thread.is_alive() or time.monotonic() > deadline:
                raise RuntimeError("the server did not start; its log says why")
            time.sleep(0.005)
        return self

    def run(self) -> None:
        """Serves until Ctrl-C."""
        self._server.run(sockets=[self._socket])

    def wait(self) -> None:
        """After `start`: until the server has stopped, or Ctrl-C."""
        while self._thread is not None and self._thread.is_alive():
            self._thread.join(0.2)

    def stop(self) -> None:
        """Ends what `start` began. Twice does no harm."""
        self._server.should_exit = True
        if self._thread is not None:
            self._thread.join(START_SECONDS)
        self._socket.close()

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(self, *error: object) -> None:
        self.stop()


class TimedHttp(H11Protocol):
    """A connection that is closed if its client takes too long, or if another needs its place."""

    _clock: asyncio.TimerHandle | None = None  # until the end of what the client is doing
    _doing: tuple[object, object] | None = None
    _reading: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        if len(self.connections) > MOST_CONNECTIONS:
            self._make_room()
        self._set_clock()

    def _make_room(self) -> None:
        """Closes a connection that waits for its client: best one without a request so far, that waits the longest. If
        all of them have something to answer, it is this one."""
        all_of_them = (one for one in self.connections if isinstance(one, TimedHttp))
        waiting = {one: (one.cycle is not None, one._clock.when()) for one in all_of_them if one._clock is not None}
        closed = min(waiting, key=lambda one: waiting[one], default=self)
        self.connections.discard(closed)
        closed.transport.abort()

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        self._set_clock()

    def on_response_complete(self) -> None:
        super().on_response_complete()
        self._set_clock()

    def connection_lost(self, exc: Exception | None) -> None:
        super().connection_lost(exc)
        for clock in (self._clock, self._reading):
            if clock is not None:
                clock.cancel()

    def pause_writing(self) -> None:
        super().pause_writing()
        self._check_reader(float("inf"))

    def resume_writing(self) -> None:
        super().resume_writing()
        if self._reading is not None:
            self._reading.cancel()

    def _check_reader(self, before: float) -> None:
        """Again and again while an answer waits for its client, who has to have read some of it."""
        waiting = self.transport.get_write_buffer_size()
        if waiting >= before:
            self.transport.abort()
        else:
            self._reading = self.loop.call_later(READ_SECONDS, self._check_reader, waiting)

    def _set_clock(self) -> None:
        """The clock runs on while the client is at the same part of the same request."""
        doing = self.conn.their_state, self.cycle
        if doing == self._doing:
            return
        if self._clock is not None:
            self._clock.cancel()
        seconds = {h11.IDLE: HEADER_SECONDS, h11.SEND_BODY: BODY_SECONDS}.get(self.conn.their_state)
        self._doing = doing
        self._clock = None if seconds is None else self.loop.call_later(seconds, self.transport.abort)
