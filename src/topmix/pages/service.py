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
from collections import Counter
from collections.abc import Iterable, Mapping
from pathlib import Path

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from topmix._version import __version__
from topmix.api import Predictor, load_predictor
from topmix.data.paths import Version, file_version
from topmix.numerics.threads import count_of_threads
from topmix.pages.assets import Json
from topmix.pages.web import answer_in_json, json_reply
from topmix.parameters.checks import whole_number

MOST_TEXTS = 1000  # of one request
LOOK_SECONDS = 1.0  # between two looks at the model file
FIELDS = {"text", "texts", "top"}
OPEN_PATHS = ("/health",)  # no token is needed
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
        self._version, self._predictor = self._found(), load_predictor(path, mapped=False)
        self._next_look = time.monotonic() + LOOK_SECONDS

    def predictor(self) -> Predictor:
        if time.monotonic() >= self._next_look and self._lock.acquire(blocking=False):  # the others do not wait
            try:
                self._look()
            finally:
                self._next_look = time.monotonic() + LOOK_SECONDS
                self._lock.release()
        return self._predictor

    def _look(self) -> None:
        found = self._found()
        if found is None or found == self._version:
            return
        try:
            self._predictor = load_predictor(self.path, mapped=False)
            logger.info("%s was replaced: the new model answers", self.path)
        except (OSError, ValueError) as error:
            logger.warning("%s has changed, and the model from before goes on answering: %s", self.path, error)
        self._version = found

    def _found(self) -> Version | None:
        try:
            return file_version(self.path)
        except OSError:  # the storage does not answer: the model stays
            return None


def service(predictor: Predictor | ModelFile, name: str = "", threads: int | None = None) -> ASGIApp:
    """The ASGI application for a model; `name` is what the answers call it. Requests are solved in so many threads at a
    time; None is all cores."""
    at_a_time = threading.BoundedSemaphore(count_of_threads(threads))

    def now() -> Predictor:
        return predictor.predictor() if isinstance(predictor, ModelFile) else predictor

    def about() -> Json:
        model = now()
        return {"model": name, "topics": model.n_topics, "words": model.n_words, "version": __version__}

    metrics = Metrics()

    def measured(request: Request) -> Response:
        return PlainTextResponse(metrics.text(about()), media_type="text/plain; version=0.0.4")

    def topics(request: Request) -> Json:
        model, here = now(), about()
        shares, names, words = model.topic_shares, model.topic_names, model.topic_words
        order = (-shares).argsort(kind="stable").tolist()
        found = [{"topic": k, "name": names[k], "share": float(shares[k]), "words": words[k]} for k in order]
        return {**here, "topics": found}

    def solve(request: Request, fields: Json) -> Json:
        texts, top = _asked(fields)
        model = now()
        with at_a_time:
            found = [[share._asdict() for share in model(text, top)] for text in texts]
        metrics.solved(len(texts), sum(not topics for topics in found))
        return {"topics": found[0]} if "text" in fields else {"documents": [{"topics": topics} for topics in found]}

    async def refused(request: Request, error: Exception) -> Response:
        assert isinstance(error, HTTPException)
        return json_reply({"error": ERRORS[error.status_code]}, error.status_code)

    routes = [
        Route("/", answer_in_json(lambda request: {**about(), "endpoints": ENDPOINTS})),
        Route("/health", answer_in_json(lambda request: {"status": "ok", "version": __version__})),
        Route("/metrics", answer_in_json(measured)),
        Route("/topics", answer_in_json(topics), methods=["GET"]),
        Route("/topics", answer_in_json(solve, reads_body=True), methods=["POST"]),
    ]
    app = Starlette(routes=routes, exception_handlers=dict.fromkeys(ERRORS, refused))
    return Measured(app, metrics, {route.path for route in routes})


def _asked(fields: Json) -> tuple[list[str], int]:
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


class Metrics:
    """Numbers that only rise, in the text format of Prometheus. There is a fixed number of them, however many requests
    come."""

    def __init__(self) -> None:
        self.began = time.time()
        self.requests: Counter[tuple[str, str, int]] = Counter()  # (path, method, status)
        self.texts = self.empty = 0
        self.buckets, self.seconds = [0] * (len(SECONDS) + 1), 0.0
        self._lock = threading.Lock()

    def answered(self, path: str, method: str, status: int, seconds: float) -> None:
        with self._lock:
            self.requests[path, method, status] += 1
            self.seconds += seconds
            self.buckets[sum(seconds > end for end in SECONDS)] += 1

    def solved(self, texts: int, empty: int) -> None:
        with self._lock:
            self.texts, self.empty = self.texts + texts, self.empty + empty

    def text(self, about: Json) -> str:
        with self._lock:
            requests, buckets = dict(self.requests), list(self.buckets)
            seconds, texts, empty = self.seconds, self.texts, self.empty
        named = [({"path": p, "method": m, "status": s}, n) for (p, m, s), n in sorted(requests.items())]
        below, in_time = 0, []
        for end, n in zip([*SECONDS, "+Inf"], buckets):
            below += n
            in_time.append(({"le": end}, below))
        began, took = round(self.began, 3), "topmix_request_seconds"
        lines = [
            *_metric("topmix_model_info", "gauge", "The model that answers.", [(about, 1)]),
            *_metric("topmix_start_time_seconds", "gauge", "When the service began, in Unix time.", [({}, began)]),
            *_metric("topmix_requests_total", "counter", "Requests that were answered.", named),
            *_metric("topmix_texts_total", "counter", "Texts whose topics were found.", [({}, texts)]),
            *_metric("topmix_unknown_texts_total", "counter", "Texts without a known word.", [({}, empty)]),
            *_metric(took, "histogram", "Time to answer a request.", in_time, "_bucket"),
            *(_row(f"{took}_sum", {}, round(seconds, 6)), _row(f"{took}_count", {}, below)),
        ]
        return "\n".join(lines) + "\n"


class Measured:
    """An ASGI application around another, whose answers it counts. Paths that are not there count as one."""

    def __init__(self, app: ASGIApp, metrics: Metrics, paths: set[str]) -> None:
        self.app, self.metrics, self.paths = app, metrics, paths

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        began, status = time.perf_counter(), 500

        async def watched(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
            await send(message)

        try:
            await self.app(scope, receive, watched)
        finally:
            path = scope["path"] if scope["path"] in self.paths else "other"
            method = scope["method"] if scope["method"] in ("GET", "HEAD", "POST") else "other"
            self.metrics.answered(path, method, status, time.perf_counter() - began)


def _metric(
    name: str, kind: str, what: str, rows: Iterable[tuple[Mapping[str, object], float]], ending: str = ""
) -> list[str]:
    about = [f"# HELP {name} {what}", f"# TYPE {name} {kind}"]
    return about + [_row(name + ending, labels, value) for labels, value in rows]


def _row(name: str, labels: Mapping[str, object], value: float) -> str:
    inside = ",".join(f'{label}="{_escaped(str(given))}"' for label, given in labels.items())
    return f"{name}{{{inside}}} {value}" if inside else f"{name} {value}"


def _escaped(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
