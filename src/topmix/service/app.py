"""The service: an ASGI application around a Predictor.

    GET  /           what there is
    GET  /health     {"status": "ok", ...}; needs no token
    GET  /metrics    counts and times, for Prometheus
    GET  /topics     the topics of the model, largest first
    POST /topics     {"text": "..."} or {"texts": ["...", ...]}, and "top": how many topics of each

Errors are {"error": why} with status 400 and above.
"""

from __future__ import annotations

import threading
from typing import Any

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route

from topmix._version import __version__
from topmix.api import Predictor
from topmix.numerics.threads import count_of_threads
from topmix.parameters.checks import whole_number
from topmix.service.metrics import Measured, Metrics
from topmix.web import answer_in_json, json_reply

MOST_TEXTS = 1000  # of one request
FIELDS = {"text", "texts", "top"}
OPEN_PATHS = ("/health",)  # no token is needed
ENDPOINTS = {
    "GET /health": "whether the service answers",
    "GET /metrics": "counts and times of requests, for Prometheus",
    "GET /topics": "the topics of the model",
    "POST /topics": '{"text": "..."} or {"texts": ["...", ...]}, and "top"',
}


def service(predictor: Predictor, name: str = "", threads: int | None = None) -> Any:
    """The ASGI application for a model; `name` is what the answers call it. Requests are solved in so many threads at a
    time; None is all cores."""
    at_a_time = threading.BoundedSemaphore(count_of_threads(threads))
    about = {"model": name, "topics": predictor.n_topics, "words": predictor.n_words, "version": __version__}
    metrics = Metrics(**about)

    def health(request: Request) -> dict[str, Any]:
        return {"status": "ok", "version": __version__}

    def measured(request: Request) -> Response:
        return PlainTextResponse(metrics.text(), media_type="text/plain; version=0.0.4")

    def topics(request: Request) -> dict[str, Any]:
        shares, names, words = predictor.topic_shares, predictor.topic_names, predictor.topic_words
        order = (-shares).argsort(kind="stable").tolist()
        found = [{"topic": k, "name": names[k], "share": float(shares[k]), "words": words[k]} for k in order]
        return {**about, "topics": found}

    def solve(request: Request, fields: dict[str, Any]) -> dict[str, Any]:
        texts, top = _asked(fields)
        with at_a_time:
            found = [[share._asdict() for share in predictor(text, top)] for text in texts]
        metrics.solved(len(texts), sum(not topics for topics in found))
        return {"topics": found[0]} if "text" in fields else {"documents": [{"topics": topics} for topics in found]}

    routes = [
        Route("/", answer_in_json(lambda request: {**about, "endpoints": ENDPOINTS})),
        Route("/health", answer_in_json(health)),
        Route("/metrics", answer_in_json(measured)),
        Route("/topics", answer_in_json(topics), methods=["GET"]),
        Route("/topics", answer_in_json(solve, reads_body=True), methods=["POST"]),
    ]
    app = Starlette(routes=routes, exception_handlers={404: _in_json, 405: _in_json})
    return Measured(app, metrics, {route.path for route in routes})


def _asked(fields: dict[str, Any]) -> tuple[list[str], int]:
    """The texts of a request, and how many topics are wanted of each. Raises ValueError."""
    if unknown := fields.keys() - FIELDS:
        raise ValueError(f"there is no field {sorted(unknown)[0][:60]!r}; known are text, texts and top")
    if ("text" in fields) == ("texts" in fields):
        raise ValueError('give one text as "text", or a list of texts as "texts"')
    texts = [fields["text"]] if "text" in fields else fields["texts"]
    if not isinstance(texts, list) or not all(isinstance(text, str) for text in texts):
        raise ValueError('"text" must be a string, and "texts" a list of strings')
    if len(texts) > MOST_TEXTS:
        raise ValueError(f"{len(texts):,} texts in one request; at most {MOST_TEXTS:,} are answered")
    return texts, whole_number(fields.get("top", 5), "top")


async def _in_json(request: Request, error: Exception) -> Response:
    status = int(getattr(error, "status_code", 404))
    why = {404: "there is nothing at this address", 405: "this address does not take this method"}
    return json_reply({"error": why.get(status, "refused")}, status)
