"""Answers and errors in JSON."""

from __future__ import annotations

import functools
import json
import logging
from collections.abc import Awaitable, Callable

from starlette.concurrency import run_in_threadpool
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response

from topmix.pages.assets import Json, as_json
from topmix.pages.web.guard import TooLong

logger = logging.getLogger(__name__)


class NotFound(ValueError):
    """There is no such thing: 404."""


class Refused(ValueError):
    """It makes sense, but not now, for instance while a fit runs: 409."""


def json_reply(value: object, status: int = 200) -> Response:
    return text_reply(as_json(value), status)


def text_reply(text: str, status: int = 200) -> Response:
    """JSON that was written before. Documents may have halves of surrogate pairs, which browsers refuse: here "?"."""
    return Response(text.encode("utf-8", "replace"), status, media_type="application/json")


async def fields_of(request: Request) -> Json:
    """The JSON object in the body of a request."""
    try:
        found = json.loads(await request.body() or b"{}")
    except (ValueError, RecursionError) as error:
        raise ValueError(f"the body is not JSON: {error}") from error
    if not isinstance(found, dict):
        raise ValueError("the body must be a JSON object")
    return found


def answer_in_json(
    work: Callable[..., object], *, reads_body: bool = False
) -> Callable[[Request], Awaitable[Response]]:
    """A handler that calls work(request), or work(request, fields), in a thread, and answers with what it returns.

    A ValueError is the caller's fault, and its message the answer. Any other exception is ours: it is logged, and the
    answer does not say what it was.
    """

    def reply(*arguments: object) -> Response:
        result = work(*arguments)
        return result if isinstance(result, Response) else json_reply(result)

    @functools.wraps(work)
    async def handle(request: Request) -> Response:
        try:
            arguments = [request, await fields_of(request)] if reads_body else [request]
            return await run_in_threadpool(reply, *arguments)  # in the thread: others wait for this one
        except NotFound as error:
            return json_reply({"error": str(error)}, 404)
        except Refused as error:
            return json_reply({"error": str(error)}, 409)
        except ValueError as error:
            return json_reply({"error": str(error)}, 400)
        except TooLong as error:
            return json_reply({"error": str(error)}, 413)
        except ClientDisconnect:
            return Response(status_code=400)  # nobody reads it
        except Exception:
            logger.exception("%s %s", request.method, request.url.path)
            return json_reply({"error": "the server made a mistake; its log says which"}, 500)

    return handle
