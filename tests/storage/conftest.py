"""A server that speaks S3, in this process (moto's), with faults on demand: for all tests of this folder."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from io import BytesIO
from typing import Any

import pytest

BUCKET = "s3://bucket"
SLOW_SECONDS = 0.05  # between two pieces of an answer that comes slowly
PIECES = 8


@dataclass
class Storage:
    """The server. A fault is a function of the method and the path of a request that says whether it happens."""

    app: Callable[..., Iterable[bytes]]
    fails: Callable[[str, str], bool] = lambda method, path: False  # answered with 500
    is_slow: Callable[[str, str], bool] = lambda method, path: False  # the answer comes in pieces
    is_cut: Callable[[str, str], bool] = lambda method, path: False  # it ends in the middle
    waits: Callable[[str, str], bool] = lambda method, path: False  # nothing is done before `go` is set
    go: threading.Event = field(default_factory=threading.Event)
    requests: list[tuple[str, str, int]] = field(default_factory=list)  # method, path, bytes of the answer

    def heal(self) -> None:
        never = Storage(self.app)
        self.fails, self.is_slow, self.is_cut, self.waits = never.fails, never.is_slow, never.is_cut, never.waits
        self.requests.clear()
        self.go.set()
        self.go = threading.Event()

    def seen(self, method: str, name: str) -> list[int]:
        """Bytes of each answer to such requests."""
        return [size for m, path, size in self.requests if m == method and path.endswith(name)]

    def __call__(self, environ: dict[str, Any], start_response: Callable[..., Any]) -> Iterable[bytes]:
        request = environ["REQUEST_METHOD"], environ["PATH_INFO"]
        length = int(environ.get("CONTENT_LENGTH") or 0)
        body = environ["wsgi.input"].read(length)
        if self.waits(*request):
            self.requests.append((*request, -1))
            self.go.wait(60)
            return self._refused(start_response)
        if len(body) < length:  # the sender was killed: as S3 does, nothing is kept of it
            return self._refused(start_response)
        if self.fails(*request):
            self.requests.append((*request, 0))
            return self._refused(start_response)
        environ["wsgi.input"] = BytesIO(body)
        answer = b"".join(self.app(environ, start_response))
        self.requests.append((*request, len(answer)))
        return self._sent(request, answer)

    def _sent(self, request: tuple[str, str], answer: bytes) -> Iterator[bytes]:
        if self.is_cut(*request) and len(answer) > 1:
            yield answer[: len(answer) // 2]
            raise ConnectionAbortedError("cut off on purpose")
        if self.is_slow(*request):
            step = len(answer) // PIECES + 1
            for begin in range(0, len(answer), step):
                time.sleep(SLOW_SECONDS)
                yield answer[begin : begin + step]
        else:
            yield answer

    def _refused(self, start_response: Callable[..., Any]) -> Iterable[bytes]:
        start_response("500 Internal Server Error", [("Content-Type", "application/xml")])
        return [b"<Error><Code>InternalError</Code><Message>on purpose</Message></Error>"]


@pytest.fixture(scope="package")
def server() -> Iterator[tuple[Storage, str]]:
    from moto.server import DomainDispatcherApplication, create_backend_app
    from werkzeug.serving import WSGIRequestHandler, make_server

    class Quiet(WSGIRequestHandler):
        def log(self, *_: object) -> None:
            pass

    storage = Storage(DomainDispatcherApplication(create_backend_app))
    made = make_server("127.0.0.1", 0, storage, threaded=True, request_handler=Quiet)
    thread = threading.Thread(target=made.serve_forever, daemon=True)
    thread.start()
    yield storage, f"http://127.0.0.1:{made.server_port}"
    made.shutdown()
    thread.join()
    made.server_close()


@pytest.fixture
def impatient(storage: Storage, monkeypatch: pytest.MonkeyPatch) -> None:
    """Requests that fail are made again after a moment, as s3fs makes them."""
    import botocore.retryhandler
    import fsspec

    monkeypatch.setattr(botocore.retryhandler, "delay_exponential", lambda *_, **__: 0.01)
    monkeypatch.setattr(type(fsspec.filesystem("s3")), "retries", 2)


@pytest.fixture
def storage(server: tuple[Storage, str], monkeypatch: pytest.MonkeyPatch, tmp_path: Any) -> Iterator[Storage]:
    """An empty bucket, and an empty cache of this machine."""
    import fsspec

    storage, address = server
    for name, value in {
        "AWS_ENDPOINT_URL": address,
        "AWS_ACCESS_KEY_ID": "nobody",
        "AWS_SECRET_ACCESS_KEY": "nothing",
        "AWS_DEFAULT_REGION": "us-east-1",
        "AWS_MAX_ATTEMPTS": "3",
        "TOPMIX_CACHE": str(tmp_path / "cache"),
    }.items():
        monkeypatch.setenv(name, value)
    files = fsspec.filesystem("s3")
    files.mkdir("bucket")
    storage.heal()
    yield storage
    storage.heal()
    files.invalidate_cache()
    files.rm("bucket", recursive=True)
