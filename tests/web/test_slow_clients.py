"""Clients that take too long, or are too many, are let go: before anybody looks at a token, and after."""

from __future__ import annotations

import asyncio
import socket
import time

import httpx
import pytest
from starlette.applications import Starlette
from starlette.responses import Response, StreamingResponse
from starlette.routing import Route

from topmix.apps.web import server as limits
from topmix.web import Server, answer_in_json

LONG = b"x" * (64 << 20)


async def ticking(request):
    async def ticks():
        for _ in range(8):
            yield "tick\n"
            await asyncio.sleep(0.1)

    return StreamingResponse(ticks())


APP = Starlette(
    routes=[
        Route("/", answer_in_json(lambda request: {"hello": "world"})),
        Route("/echo", answer_in_json(lambda request, fields: fields, reads_body=True), methods=["POST"]),
        Route("/slow", answer_in_json(lambda request: time.sleep(0.8) or {"slow": True})),
        Route("/long", answer_in_json(lambda request: Response(LONG))),
        Route("/ticking", ticking),
    ]
)


@pytest.fixture
def server(monkeypatch):
    for name in ("HEADER_SECONDS", "BODY_SECONDS", "READ_SECONDS"):
        monkeypatch.setattr(limits, name, 0.4)
    monkeypatch.setattr(limits, "MOST_CONNECTIONS", 12)
    with Server(APP) as running:
        yield running


def opened(server, data=b""):
    client = socket.create_connection(("127.0.0.1", server.port), timeout=30)
    client.sendall(data)
    return client


def is_closed(client) -> bool:
    """Reads to the end: the server has closed the connection, or this raises TimeoutError."""
    try:
        while client.recv(1 << 16):
            pass
    except ConnectionError:
        pass
    client.close()
    return True


def read_whole(client) -> bytes:
    """Until the server closes the connection."""
    with client, client.makefile("rb") as file:
        return file.read()


def head(server, *lines, token=True):
    host = f"Host: 127.0.0.1:{server.port}"
    bearer = [f"Authorization: Bearer {server.token}"] if token else []
    first, *rest = lines
    return "\r\n".join([f"{first} HTTP/1.1", host, *bearer, *rest]).encode()


@pytest.mark.parametrize("token", [True, False])
def test_requests_that_are_never_finished_are_closed(server, token):
    post = head(server, "POST /echo", "Content-Type: application/json", "Content-Length: 100", token=token)
    for begun in (b"", b"G", head(server, "GET /", token=token), post + b"\r\n\r\n", post + b'\r\n\r\n{"a": '):
        assert is_closed(opened(server, begun)), begun


def test_a_byte_now_and_then_does_not_keep_a_connection(server):
    post = head(server, "POST /echo", "Content-Type: application/json", "Content-Length: 1000000")
    for begun in (b"GET / HTTP/1.1\r\nX: ", post + b"\r\n\r\n", b""):
        client = opened(server, begun)
        with pytest.raises(ConnectionError):
            send_slowly(client)
        client.close()


def send_slowly(client) -> None:
    for _ in range(400):
        client.sendall(b"x")
        time.sleep(0.05)


def test_the_second_request_of_a_connection_has_the_same_limits(server):
    client = opened(server, head(server, "GET /") + b"\r\n\r\n")
    assert b"200 OK" in client.recv(1 << 16)
    client.sendall(b"GET / HT")
    assert is_closed(client)


def test_a_client_that_does_not_read_is_let_go(server):
    client = opened(server, head(server, "GET /long") + b"\r\n\r\n")
    time.sleep(2.0)
    got = 0
    try:
        while data := client.recv(1 << 20):
            got += len(data)
    except ConnectionError:
        pass
    client.close()
    assert got < len(LONG)


def test_a_client_that_reads_slowly_gets_all_of_it(server):
    client, got = opened(server, head(server, "GET /long", "Connection: close") + b"\r\n\r\n"), 0
    while data := client.recv(1 << 20):
        got += len(data)
        time.sleep(0.01)
    client.close()
    assert got > len(LONG)


def test_answers_may_take_longer_than_requests(server):
    with httpx.Client(base_url=server.address, headers={"Authorization": f"Bearer {server.token}"}) as client:
        assert client.get("/slow").json() == {"slow": True}
        assert client.get("/ticking").text == "tick\n" * 8
        assert client.get("/").json() == {"hello": "world"}


def test_there_is_a_limit_of_connections_and_those_that_are_there_work(server):
    with httpx.Client(base_url=server.address, headers={"Authorization": f"Bearer {server.token}"}) as first:
        assert first.get("/").status_code == 200
        crowd = [opened(server) for _ in range(60)]
        assert first.get("/").status_code == 200
        there = server._server.server_state.connections
        for _ in range(20):  # one that is too many is there for a moment, until it is closed
            time.sleep(0.01 * (len(there) > 12))
        assert len(there) <= 12
        assert all(is_closed(client) for client in crowd)
    assert httpx.get(server.url, follow_redirects=False).status_code == 303


def test_idle_connections_do_not_keep_others_out(server, monkeypatch):
    """Those without a request give way to new ones; those that are being answered stay."""
    monkeypatch.setattr(limits, "HEADER_SECONDS", 60.0)
    crowd = [opened(server) for _ in range(60)]
    slow = [opened(server, head(server, "GET /slow", "Connection: close") + b"\r\n\r\n") for _ in range(4)]
    time.sleep(0.2)
    crowd += [opened(server) for _ in range(20)]
    for _ in range(3):
        answer = httpx.get(server.address, headers={"Authorization": f"Bearer {server.token}"}, timeout=5)
        assert answer.json() == {"hello": "world"}
    assert all(b"slow" in read_whole(client) for client in slow)
    for client in crowd:
        client.close()


def test_where_all_are_being_answered_one_more_is_too_many(server):
    slow = [opened(server, head(server, "GET /slow", "Connection: close") + b"\r\n\r\n") for _ in range(12)]
    time.sleep(0.2)
    assert is_closed(opened(server))
    assert all(b"slow" in read_whole(client) for client in slow)


def test_clients_that_leave_are_no_errors(server, capfd, caplog):
    post = head(server, "POST /echo", "Content-Type: application/json", "Content-Length: 100")
    for begun in (
        post + b"\r\n\r\n{",
        head(server, "GET /slow") + b"\r\n\r\n",
        head(server, "GET /ticking") + b"\r\n\r\n",
    ):
        client = opened(server, begun)
        time.sleep(0.1)
        client.close()
    time.sleep(1.2)
    assert httpx.get(server.url, follow_redirects=False).status_code == 303
    assert "Traceback" not in capfd.readouterr().err + caplog.text
    assert caplog.text == ""
