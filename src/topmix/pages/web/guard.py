"""Who may ask, and how much: an ASGI application around another.

Any web page that is open in a browser can send requests to a server on the loopback address. Therefore:

host      the header Host must name this server: a foreign name that resolves to 127.0.0.1 (DNS rebinding) is refused
token     a random secret: once as ?token=... in the address, which becomes a cookie and leaves the address; or in the
          header "Authorization: Bearer ..."
origin    a request that changes something must come from a page of this server, and its body must be JSON, which
          other pages cannot send without leave. Nobody gets leave: there are no CORS headers
size      a longer body is refused before it is read
headers   of every answer: nothing is cached, framed or sniffed, and a page runs and loads what this server has alone
"""

from __future__ import annotations

import hmac
import json
import secrets
from collections.abc import Collection, Iterable
from http.cookies import CookieError, SimpleCookie
from urllib.parse import parse_qsl, quote, urlencode, urlsplit

from starlette.types import ASGIApp, Message, Receive, Scope, Send

LOOPBACK = ("127.0.0.1", "localhost", "::1")
MAX_BODY = 1 << 20  # bytes
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
HEADERS = {
    "content-security-policy": POLICY,
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "referrer-policy": "no-referrer",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "cache-control": "no-store",
}
READING = ("GET", "HEAD")

Headers = dict[str, str]


class TooLong(Exception):
    """The body has more bytes than are allowed."""


class Guard:
    """An ASGI application that passes on what is allowed.

    Parameters
    ----------
    app
        The application behind it.
    token : str or None
        None lets everybody in: for a service that is meant to be public.
    hosts : names
        Names in the header Host that are this server's, besides those of the loopback address. "*" allows all.
    open_paths : paths
        Paths that need no token, for instance of a health check.
    max_body : int
        Bytes of a body, at most.
    cookie : str
        The name of the cookie. Cookies of one host are seen by all of its ports, so it should have the port in it.
    """

    def __init__(
        self,
        app: ASGIApp,
        *,
        token: str | None,
        hosts: Iterable[str] = (),
        open_paths: Collection[str] = (),
        max_body: int = MAX_BODY,
        cookie: str = "topmix",
    ):
        self.app, self.token, self.open_paths, self.max_body, self.cookie = app, token, open_paths, max_body, cookie
        self.hosts = {name.lower() for name in (*LOOPBACK, *hosts)}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            if scope["type"] == "lifespan":
                await self.app(scope, receive, send)
            return
        headers = {name.decode("latin-1").lower(): value.decode("latin-1") for name, value in scope["headers"]}
        started = False

        async def send_with_headers(message: Message) -> None:
            nonlocal started
            if message["type"] == "http.response.start":
                started = True
                given = {name.lower() for name, _ in message.get("headers", ())}
                more = [(n.encode(), v.encode()) for n, v in HEADERS.items() if n.encode() not in given]
                message = {**message, "headers": [*message.get("headers", ()), *more]}
            await send(message)

        async def refuse(status: int, why: str, **more: str) -> None:
            await _reply(send_with_headers, status, why, more)

        if not self._is_our_host(headers.get("host", "")):
            await refuse(421, "the header Host does not name this server")
            return
        if self._has_token_in_address(scope):
            await self._move_token_to_cookie(scope, send_with_headers)
            return
        if scope["path"] not in self.open_paths and not self._has_token(headers):
            await refuse(
                401,
                "a token is needed, which the program printed or was given: send it in the header "
                "'Authorization: Bearer TOKEN'; for a page, open the address that the program printed",
                **{"www-authenticate": "Bearer"},
            )
            return
        if scope["method"] not in READING and (why := self._is_foreign(headers)):
            await refuse(403, why)
            return
        length, too_long = headers.get("content-length", "0"), f"the body has more than {self.max_body:,} bytes"
        if not length.isdecimal() or int(length) > self.max_body:
            await refuse(413, too_long)
            return
        seen = 0

        async def receive_some() -> Message:
            nonlocal seen
            message = await receive()
            seen += len(message.get("body", b""))
            if seen > self.max_body:
                raise TooLong(too_long)
            return message

        try:
            await self.app(scope, receive_some, send_with_headers)
        except TooLong:
            if started:
                raise
            await refuse(413, too_long)

    def _is_our_host(self, host: str) -> bool:
        try:
            name = urlsplit(f"//{host}").hostname
        except ValueError:
            return False
        return name is not None and ("*" in self.hosts or name.lower() in self.hosts)

    def _is(self, given: str | None) -> bool:
        return self.token is not None and given is not None and hmac.compare_digest(given.encode(), self.token.encode())

    def _has_token_in_address(self, scope: Scope) -> bool:
        return scope["method"] == "GET" and self._is(dict(_query(scope)).get("token"))

    def _has_token(self, headers: Headers) -> bool:
        if self.token is None:
            return True
        scheme, _, given = headers.get("authorization", "").partition(" ")
        if scheme.lower() == "bearer":
            return self._is(given.strip())
        try:
            found = SimpleCookie(headers.get("cookie", "")).get(self.cookie)
        except CookieError:
            return False
        return found is not None and self._is(found.value)

    async def _move_token_to_cookie(self, scope: Scope, send: Send) -> None:
        """The token leaves the address, where histories and screens would show it."""
        rest = urlencode([(name, value) for name, value in _query(scope) if name != "token"])
        path = "/" + quote(
            scope["path"].lstrip("/\\")
        )  # "//elsewhere" would lead to another host, as would "/\\elsewhere"
        kept = f"{self.cookie}={self.token}; Path=/; HttpOnly; SameSite=Strict"
        await _reply(send, 303, "", {"location": path + (f"?{rest}" if rest else ""), "set-cookie": kept})

    def _is_foreign(self, headers: Headers) -> str | None:
        """Why a request that changes something may not come from our own page; None where it does."""
        origin, host = headers.get("origin"), headers.get("host", "")
        if origin is not None and origin.partition("://")[2].lower() != host.lower():
            return "the request comes from another page"
        if headers.get("sec-fetch-site", "same-origin") not in ("same-origin", "none"):
            return "the request comes from another page"
        is_bearer = headers.get("authorization", "").lower().startswith("bearer ")
        if not is_bearer and headers.get("content-type", "").partition(";")[0].strip().lower() != "application/json":
            return "the body must be JSON, with the header Content-Type: application/json"
        return None


def new_token() -> str:
    return secrets.token_urlsafe(24)


def _query(scope: Scope) -> list[tuple[str, str]]:
    return parse_qsl(scope.get("query_string", b"").decode("latin-1"), keep_blank_values=True)


async def _reply(send: Send, status: int, why: str, headers: dict[str, str]) -> None:
    body = json.dumps({"error": why}).encode() if why else b""
    said = {"content-type": "application/json", "content-length": str(len(body)), **headers}
    await send(
        {
            "type": "http.response.start",
            "status": status,
            "headers": [(name.encode(), value.encode("latin-1")) for name, value in said.items()],
        }
    )
    await send({"type": "http.response.body", "body": body})
