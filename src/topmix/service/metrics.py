"""Counts and times of requests, in the text format of Prometheus."""

from __future__ import annotations

import threading
import time
from collections import Counter
from typing import Any

SECONDS = (0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 10.0)  # upper ends of buckets


class Metrics:
    """Numbers that only rise. There is a fixed number of them, however many requests come."""

    def __init__(self, **about: Any) -> None:
        self.about, self.began = about, time.time()
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

    def text(self) -> str:
        with self._lock:
            requests, buckets = dict(self.requests), list(self.buckets)
            seconds, texts, empty = self.seconds, self.texts, self.empty
        lines = _metric("topmix_model_info", "gauge", "The model that answers.", [(self.about, 1)])
        began = round(self.began, 3)
        lines += _metric("topmix_start_time_seconds", "gauge", "When the service began, in Unix time.", [({}, began)])
        named = [({"path": p, "method": m, "status": s}, n) for (p, m, s), n in sorted(requests.items())]
        lines += _metric("topmix_requests_total", "counter", "Requests that were answered.", named)
        lines += _metric("topmix_texts_total", "counter", "Texts whose topics were found.", [({}, texts)])
        lines += _metric("topmix_unknown_texts_total", "counter", "Texts without a known word.", [({}, empty)])
        below, rows = 0, []
        for end, n in zip([*SECONDS, "+Inf"], buckets):
            below += n
            rows.append(({"le": end}, below))
        name = "topmix_request_seconds"
        lines += [f"# HELP {name} Time to answer a request.", f"# TYPE {name} histogram"]
        lines += [_row(f"{name}_bucket", labels, value) for labels, value in rows]
        lines += [_row(f"{name}_sum", {}, round(seconds, 6)), _row(f"{name}_count", {}, below)]
        return "\n".join(lines) + "\n"


class Measured:
    """An ASGI application around another, whose answers it counts. Paths that are not there count as one."""

    def __init__(self, app: Any, metrics: Metrics, paths: set[str]) -> None:
        self.app, self.metrics, self.paths = app, metrics, paths

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        began, status = time.perf_counter(), 500

        async def watched(message: Any) -> None:
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


def _metric(name: str, kind: str, what: str, rows: list[tuple[dict[str, Any], Any]]) -> list[str]:
    return [f"# HELP {name} {what}", f"# TYPE {name} {kind}", *(_row(name, labels, value) for labels, value in rows)]


def _row(name: str, labels: dict[str, Any], value: Any) -> str:
    inside = ",".join(f'{label}="{_escaped(str(given))}"' for label, given in labels.items())
    return f"{name}{{{inside}}} {value}" if inside else f"{name} {value}"


def _escaped(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
