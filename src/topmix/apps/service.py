"""`topmix serve`, topics of texts over HTTP: an ASGI application around a Predictor.

    GET  /           what there is
    GET  /health     {"status": "ok", ...}; needs no token
    GET  /metrics    counts and times, for Prometheus
    GET  /topics     the topics of the model, largest first
    POST /topics     {"text": "..."} or {"texts": ["...", ...]}, and "top": how many topics of each

Errors are {"error": why} with status 400 and above. The token, the limits of size and the headers are those of every
service: topmix.web. A file that is written over while it is mapped would end the process (SIGBUS), so a `ModelFile` is
read into memory, and read again when it is another.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable
from pathlib import Path

from topmix._version import __version__
from topmix.apps.page import Json
from topmix.base.checks import needed, whole_number
from topmix.base.paths import Version, file_version
from topmix.base.threads import count_of_threads
from topmix.estimators import Predictor, load_predictor

with needed("the service", "Starlette, uvicorn and prometheus-client", "explorer"):
    import prometheus_client as prometheus
    from starlette.applications import Starlette
    from starlette.exceptions import HTTPException
    from starlette.requests import Request
    from starlette.responses import Response
    from starlette.routing import Route
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

    from topmix.apps.web import answer_in_json, error_reply

MOST_TEXTS = 1000  # of one request
LOOK_SECONDS = 1.0  # between two looks at the model file
OPEN_PATHS = ("/health",)  # no token is needed
PATHS = {"/", "/health", "/metrics", "/topics"}
ENDPOINTS = {
    "GET /health": "whether the service answers",
    "GET /metrics": "counts and times of requests, for Prometheus",
    "GET /topics": "the topics of the model",
    "POST /topics": '{"text": "..."} or {"texts": ["...", ...]}, and "top"',
}
ERRORS = {404: "there is nothing at this address", 405: "this address does not take this method"}
SECONDS = (0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 10.0)  # upper ends of buckets

logger = logging.getLogger(__name__)


class ModelFile:
    """The predictor of a model file, in memory. When the file is replaced, the next request reads it again; if that
    fails, the model from before goes on answering, and the log says why."""

    def __init__(self, path: Path) -> None:
        self.path, self._lock = path, threading.Lock()
        self._version, self._predictor = self._version_now(), load_predictor(path, mapped=False)
        self._next_look = time.monotonic() + LOOK_SECONDS

    def predictor(self) -> Predictor:
        if time.monotonic() >= self._next_look and self._lock.acquire(blocking=False):  # the others do not wait
            try:
                before, self._version = self._version, self._version_now() or self._version
                if self._version != before:
                    self._predictor = load_predictor(self.path, mapped=False)
                    logger.info("%s was replaced: the new model answers", self.path)
            except (OSError, ValueError) as error:
                logger.warning("%s has changed, and the model from before goes on answering: %s", self.path, error)
            finally:
                self._next_look = time.monotonic() + LOOK_SECONDS
                self._lock.release()
        return self._predictor

    def _version_now(self) -> Version | None:
        try:
            return file_version(self.path)
        except OSError:  # the storage does not answer: the model stays
            return None


def service(predictor: Predictor | ModelFile, name: str = "", threads: int | None = None) -> ASGIApp:
    """The ASGI application for a model; `name` is what the answers call it. Requests are solved in so many threads at a
    time; None is all cores."""
    return Service(predictor.predictor if isinstance(predictor, ModelFile) else lambda: predictor, name, threads)


class Service:
    """An ASGI application that counts its answers, for Prometheus. There is a fixed number of counts, however many
    requests come: addresses that are not there count as one."""

    def __init__(self, predictor: Callable[[], Predictor], name: str, threads: int | None):
        self._predictor, self._name = predictor, name  # of the model that answers now
        self._at_a_time = threading.BoundedSemaphore(count_of_threads(threads))
        self._registry = of = prometheus.CollectorRegistry()
        self._info = prometheus.Info("topmix_model", "The model that answers.", registry=of)
        labels = ["path", "method", "status"]
        self._requests = prometheus.Counter("topmix_requests", "Requests that were answered.", labels, registry=of)
        self._texts = prometheus.Counter("topmix_texts", "Texts whose topics were found.", registry=of)
        self._unknown = prometheus.Counter("topmix_unknown_texts", "Texts without a known word.", registry=of)
        self._seconds = prometheus.Histogram(
            "topmix_request_seconds", "Time to answer a request.", buckets=SECONDS, registry=of
        )
        began = prometheus.Gauge("topmix_start_time_seconds", "When the service began, in Unix time.", registry=of)
        began.set_to_current_time()
        routes = [
            Route("/", answer_in_json(lambda request: {**self.about(), "endpoints": ENDPOINTS})),
            Route("/health", answer_in_json(lambda request: {"status": "ok", "version": __version__})),
            Route("/metrics", answer_in_json(self.metrics)),
            Route("/topics", answer_in_json(self.topics), methods=["GET"]),
            Route("/topics", answer_in_json(self.solve, reads_body=True), methods=["POST"]),
        ]
        self._app = Starlette(routes=routes, exception_handlers=dict.fromkeys(ERRORS, _refused))

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        began, status = time.perf_counter(), 500

        async def watched(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
            await send(message)

        try:
            await self._app(scope, receive, watched)
        finally:
            path = scope["path"] if scope["path"] in PATHS else "other"
            method = scope["method"] if scope["method"] in ("GET", "HEAD", "POST") else "other"
            self._requests.labels(path, method, status).inc()
            self._seconds.observe(time.perf_counter() - began)

    def about(self) -> Json:
        model = self._predictor()
        return {"model": self._name, "topics": model.n_topics, "words": model.n_words, "version": __version__}

    def metrics(self, request: Request) -> Response:
        self._info.info({name: str(value) for name, value in self.about().items()})
        return Response(prometheus.generate_latest(self._registry), media_type=prometheus.CONTENT_TYPE_LATEST)

    def topics(self, request: Request) -> Json:
        model = self._predictor()
        shares, names, words = model.topic_shares, model.topic_names, model.topic_words
        order = (-shares).argsort(kind="stable").tolist()
        topics = [{"topic": k, "name": names[k], "share": float(shares[k]), "words": words[k]} for k in order]
        return {**self.about(), "topics": topics}

    def solve(self, request: Request, fields: Json) -> Json:
        if unknown := fields.keys() - {"text", "texts", "top"}:
            raise ValueError(f"there is no field {sorted(unknown)[0][:60]!r}; known are text, texts and top")
        if ("text" in fields) == ("texts" in fields):
            raise ValueError('give one text as "text", or a list of texts as "texts"')
        texts = [fields["text"]] if "text" in fields else fields["texts"]
        if not isinstance(texts, list) or not all(isinstance(text, str) for text in texts):
            raise ValueError('"text" must be a string, and "texts" a list of strings')
        if len(texts) > MOST_TEXTS:
            raise ValueError(f"{len(texts):,} texts in one request; at most {MOST_TEXTS:,} are answered")
        model, top = self._predictor(), whole_number(fields.get("top", 5), "top")
        with self._at_a_time:
            topics = [[share._asdict() for share in model(text, top)] for text in texts]
        self._texts.inc(len(texts))
        self._unknown.inc(sum(not of_text for of_text in topics))
        return {"topics": topics[0]} if "text" in fields else {"documents": [{"topics": one} for one in topics]}


async def _refused(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    return error_reply(error.status_code, ERRORS[error.status_code])
