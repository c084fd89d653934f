"""What every service of topmix shares: a guard, which says who may ask and how much, and answers in JSON; server.py has
uvicorn behind the guard.

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

import functools
import hmac
import json
import logging
import re
from collections.abc import Awaitable, Callable, Collection, Iterable
from urllib.parse import quote, urlencode, urlsplit

from topmix.apps.page import as_json
from topmix.base.checks import needed

with needed("a page or a service", "Starlette and uvicorn", "explorer"):
    import uvicorn  # noqa: F401
    from starlette.concurrency import run_in_threadpool
    from starlette.datastructures import MutableHeaders
    from starlette.requests import ClientDisconnect, Request
    from starlette.responses import RedirectResponse, Response
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

LOOPBACK = ("127.0.0.1", "localhost", "::1")
MAX_BODY = 1 << 20  # bytes
TOKEN = re.compile(r"[\w.~+/-]{8,}=*", re.ASCII)  # as RFC 6750 has it
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
NEEDS_TOKEN = (
    "a token is needed, which the program printed or was given: send it in the header 'Authorization: Bearer TOKEN'; "
    "for a page, open the address that the program printed"
)
NEEDS_JSON = "the body must be JSON, with the header Content-Type: application/json"

logger = logging.getLogger(__name__)


class NotFound(ValueError):
    """There is no such thing: 404."""


class Refused(ValueError):
    """It makes sense, but not now, for instance while a fit runs: 409."""


class TooLong(ValueError):
    """The body has more bytes than are allowed: 413."""


STATUS = {NotFound: 404, Refused: 409, TooLong: 413}  # of a ValueError; 400 of others


def json_reply(value: object, status: int = 200) -> Response:
    return text_reply(as_json(value), status)


def text_reply(text: str, status: int = 200) -> Response:
    """JSON that was written before. Documents may have halves of surrogate pairs, which browsers refuse: here "?"."""
    return Response(text.encode("utf-8", "replace"), status, media_type="application/json")


def error_reply(status: int, why: object) -> Response:
    return json_reply({"error": str(why)}, status)


def checked_token(token: str | None) -> str | None:
    """One that a header, an address and a cookie can hold; None is none."""
    if token is not None and not TOKEN.fullmatch(token):
        raise ValueError("a token must have 8 or more letters, digits or characters of -._~+/ (and = at the end)")
    return token


class Guard:
    """An ASGI application that passes on to `app` what is allowed.

    A token of None lets everybody in: for a service that is meant to be public. `hosts` are names in the header Host
    that are this server's, besides those of the loopback address; "*" allows all. `open_paths` need no token, and
    `max_body` is in bytes. All ports of a host see its cookies, so the name of the cookie should have the port in it.
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
        self.app, self.token, self.open_paths = app, checked_token(token), open_paths
        self.max_body, self.cookie = max_body, cookie
        self.hosts = {name.lower() for name in (*LOOPBACK, *hosts)}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await self.app(scope, receive, send)
        if scope["type"] != "http":
            return
        received = 0

        async def send_with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                message = {"headers": [], **message}
                headers = MutableHeaders(scope=message)
                for name, value in HEADERS.items():
                    headers.setdefault(name, value)
            await send(message)

        async def receive_some() -> Message:
            nonlocal received
            message = await receive()
            received += len(message.get("body", b""))
            if received > self.max_body:
                raise TooLong(f"the body has more than {self.max_body:,} bytes")
            return message

        reply = self._refusal(Request(scope))
        if reply is None:
            await self.app(scope, receive_some, send_with_headers)
        else:
            await reply(scope, receive, send_with_headers)

    def _refusal(self, request: Request) -> Response | None:
        """The answer to a request that is not passed on."""
        headers, host = request.headers, request.headers.get("host", "")
        try:
            name = (urlsplit(f"//{host}").hostname or "").lower()
        except ValueError:
            name = ""
        if not name or self.hosts.isdisjoint((name, "*")):
            return error_reply(421, "the header Host does not name this server")
        if request.method == "GET" and self._is_token(request.query_params.get("token")):
            # The token leaves the address, where histories and screens would show it.
            rest = urlencode([(name, value) for name, value in request.query_params.multi_items() if name != "token"])
            # "//elsewhere" would lead to another host, as would "/\\elsewhere".
            path = "/" + quote(request.scope["path"].lstrip("/\\"))
            moved = RedirectResponse(path + (f"?{rest}" if rest else ""), 303)
            # Lax: a browser that came from a link or a file sends no strict cookie to where it is led.
            moved.set_cookie(self.cookie, str(self.token), httponly=True, samesite="lax")
            return moved
        scheme, _, secret = headers.get("authorization", "").partition(" ")
        is_bearer = scheme.lower() == "bearer"
        token = secret.strip() if is_bearer else request.cookies.get(self.cookie)
        has_token = self.token is None or self._is_token(token)
        if request.scope["path"] not in self.open_paths and not has_token:
            reply = error_reply(401, NEEDS_TOKEN)
            reply.headers["www-authenticate"] = "Bearer"
            return reply
        if request.method not in ("GET", "HEAD"):
            is_own = headers.get("origin", f"://{host}").partition("://")[2].lower() == host.lower()
            if not is_own or headers.get("sec-fetch-site", "same-origin") not in ("same-origin", "none"):
                return error_reply(403, "the request comes from another page")
            kind = headers.get("content-type", "").partition(";")[0].strip().lower()
            if not is_bearer and kind != "application/json":
                return error_reply(403, NEEDS_JSON)
        length = headers.get("content-length", "0")
        if not length.isdecimal() or int(length) > self.max_body:
            return error_reply(413, f"the body has more than {self.max_body:,} bytes")
        return None

    def _is_token(self, given: str | None) -> bool:
        return self.token is not None and given is not None and hmac.compare_digest(given.encode(), self.token.encode())


def answer_in_json(
    work: Callable[..., object], *, reads_body: bool = False
) -> Callable[[Request], Awaitable[Response]]:
    """A handler that calls work(request), or work(request, fields) with the JSON object in the body of the request, in
    a thread, and answers with what it returns.

    A ValueError is the caller's fault, and its message the answer. Any other exception is ours: it is logged, and the
    answer does not say what it was.
    """

    def reply(*arguments: object) -> Response:
        result = work(*arguments)
        return result if isinstance(result, Response) else json_reply(result)

    @functools.wraps(work)
    async def handle(request: Request) -> Response:
        arguments: list[object] = [request]
        try:
            if reads_body:
                body = await request.body()
                try:
                    fields = json.loads(body or b"{}")
                except (ValueError, RecursionError) as error:
                    raise ValueError(f"the body is not JSON: {error}") from error
                if not isinstance(fields, dict):
                    raise ValueError("the body must be a JSON object")
                arguments.append(fields)
            return await run_in_threadpool(reply, *arguments)  # in the thread: others wait for this one
        except ValueError as error:
            return error_reply(STATUS.get(type(error), 400), error)
        except ClientDisconnect:
            return Response(status_code=400)  # nobody reads it
        except Exception:
            logger.exception("%s %s", request.method, request.scope["path"])
            return error_reply(500, "the server made a mistake; its log says which")

    return handle
