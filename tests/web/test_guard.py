"""The guard in front of every service: token, host, origin, size, headers."""

from __future__ import annotations

import json
import socket
from urllib.parse import urlsplit

import httpx
import pytest
from starlette.applications import Starlette
from starlette.routing import Route

from topmix.web import Guard, NotFound, Refused, Server, answer_in_json


def echo(request, fields):
    return {"got": fields}


def fail(request):
    kind = request.query_params.get("kind")
    raise {
        "value": ValueError("wrong"),
        "none": NotFound("nothing"),
        "now": Refused("later"),
        "bug": KeyError("s3cret"),
    }[kind]


APP = Starlette(
    routes=[
        Route("/", answer_in_json(lambda request: {"hello": "world"})),
        Route("/health", answer_in_json(lambda request: {"ok": True})),
        Route("/echo", answer_in_json(echo, reads_body=True), methods=["POST"]),
        Route("/fail", answer_in_json(fail)),
    ]
)


@pytest.fixture(scope="module")
def server():
    with Server(APP, open_paths=("/health",), max_body=1000) as running:
        yield running


@pytest.fixture
def client(server):
    with httpx.Client(base_url=server.address, headers={"Authorization": f"Bearer {server.token}"}) as client:
        yield client


def test_who_comes_before_the_server_runs_is_not_refused():
    waiting = Server(APP)
    with socket.create_connection(("127.0.0.1", waiting.port), timeout=10) as early:
        early.sendall(b"GET /health HTTP/1.1\r\nHost: 127.0.0.1:%d\r\n\r\n" % waiting.port)
        with waiting:
            assert early.recv(100).startswith(b"HTTP/1.1 401")


def test_nothing_is_answered_without_the_token(server):
    for headers in ({}, {"Authorization": "Bearer wrong"}, {"Authorization": server.token}, {"Cookie": "topmix=x"}):
        got = httpx.get(server.address, headers=headers)
        assert got.status_code == 401
        assert "Authorization: Bearer TOKEN" in got.text  # what to send
        assert "token" in got.json()["error"]
    assert httpx.get(server.address + "?token=wrong").status_code == 401
    assert httpx.get(server.address + "health").json() == {"ok": True}


def test_the_token_leaves_the_address_and_becomes_a_cookie(server):
    first = httpx.get(server.url.replace("?", "?a=1&"), follow_redirects=False)
    assert first.status_code == 303
    assert first.headers["location"] == "/?a=1"
    cookie = first.headers["set-cookie"]
    assert "HttpOnly" in cookie
    assert "SameSite=lax" in cookie  # a strict one is not sent on the way from a file or another page
    assert f"topmix-{server.port}=" in cookie
    with httpx.Client(follow_redirects=True) as browser:
        assert browser.get(server.url).json() == {"hello": "world"}
        assert browser.get(server.address).json() == {"hello": "world"}


def test_the_redirect_never_leads_elsewhere(server):
    got = httpx.get(f"http://127.0.0.1:{server.port}//evil.example/?token={server.token}", follow_redirects=False)
    assert got.headers["location"] == "/evil.example/"
    for path, where in {
        "/%5Cevil.example/": "/evil.example/",
        "/%5C/evil.example/": "/evil.example/",
        "/a%5Cb": "/a%5Cb",
        "/a%0D%0AX-Owned:%20yes": "/a%0D%0AX-Owned%3A%20yes",
        "/%01%7F": "/%01%7F",
        "/%C3%A9%FF": "/%C3%A9%EF%BF%BD",
    }.items():
        got = httpx.get(f"http://127.0.0.1:{server.port}{path}?token={server.token}", follow_redirects=False)
        assert (got.status_code, got.headers["location"]) == (303, where)
        assert "x-owned" not in got.headers


def test_tokens_that_an_address_a_header_or_a_cookie_cannot_hold_are_refused_at_the_start():
    for wrong in (
        "short",
        "semi;colon",
        'quo"ted-secret',
        "with a space",
        "not-äscii",
        "per%41cent",
        "a&token=b",
        "new\nline",
    ):
        for made in (Guard, Server):
            with pytest.raises(ValueError, match="a token must have 8 or more letters"):
                made(APP, token=wrong)
    with pytest.raises(ValueError, match="8 or more"):
        Guard(APP, token="")
    for token in ("base64+and/slashes==", "a.b_c~d-e"):
        with Server(APP, token=token) as server, httpx.Client(follow_redirects=True) as browser:
            assert browser.get(server.url).status_code == browser.get(server.address).status_code == 200
            assert httpx.get(server.address, headers={"Authorization": f"Bearer {token}"}).status_code == 200


def test_foreign_names_of_the_host_are_refused(server, client):
    for host in ("evil.example", f"evil.example:{server.port}", "127.0.0.1.evil.example", "", "[::"):
        assert client.get("/", headers={"Host": host}).status_code in (400, 421)
    for host in ("localhost", f"localhost:{server.port}", "[::1]:80"):
        assert client.get("/", headers={"Host": host}).status_code == 200


def test_requests_that_change_something_come_from_our_own_page(server, client):
    cookie = {"Cookie": f"topmix-{server.port}={server.token}"}
    json_body = {"Content-Type": "application/json"}
    own = {"Origin": f"http://127.0.0.1:{server.port}"}
    post = lambda headers: httpx.post(server.address + "echo", content=b"{}", headers=headers).status_code  # noqa: E731
    assert post(cookie | json_body | own) == 200
    assert post(cookie | json_body | {"Origin": "http://evil.example"}) == 403
    assert post(cookie | json_body | {"Origin": f"http://127.0.0.1:{server.port + 1}"}) == 403
    assert post(cookie | json_body | {"Sec-Fetch-Site": "same-site"}) == 403
    for wrong in ("http://[", "http://[::", "null", "", "://", "http://127.0.0.1", f"http://a@127.0.0.1:{server.port}"):
        assert post(cookie | json_body | {"Origin": wrong}) == 403, wrong
    assert post(cookie | {"Content-Type": "text/plain"}) == 403  # what a form of another page can send
    assert post({"Authorization": f"Bearer {server.token}"} | {"Content-Type": "text/plain"}) == 200


def test_there_is_no_cors_and_every_answer_has_the_headers(server, client):
    for got in (
        client.get("/", headers={"Origin": "http://evil.example"}),
        client.options("/", headers={"Origin": "http://evil.example", "Access-Control-Request-Method": "POST"}),
        httpx.get(server.address),
        client.get("/fail?kind=bug"),
        client.get("/nowhere"),
    ):
        assert not [name for name in got.headers if name.startswith("access-control")]
        assert "default-src 'none'" in got.headers["content-security-policy"]
        assert "unsafe" not in got.headers["content-security-policy"]
        assert got.headers["x-content-type-options"] == "nosniff"
        assert got.headers["cache-control"] == "no-store"
        assert "server" not in got.headers


def test_long_bodies_are_refused_with_or_without_their_length(client):
    assert client.post("/echo", content=b'"' + b"x" * 2000 + b'"').status_code == 413

    def pieces():
        for _ in range(100):
            yield b"x" * 100

    assert client.post("/echo", content=pieces()).status_code == 413
    assert client.post("/echo", json={"a": 1}).json() == {"got": {"a": 1}}


def test_errors_are_json_and_do_not_tell_what_is_inside(client, caplog):
    assert (client.get("/fail?kind=value").status_code, client.get("/fail?kind=value").json()) == (
        400,
        {"error": "wrong"},
    )
    assert client.get("/fail?kind=none").status_code == 404
    assert client.get("/fail?kind=now").status_code == 409
    got = client.get("/fail?kind=bug")
    assert got.status_code == 500
    assert "s3cret" not in got.text
    assert "s3cret" in caplog.text
    for body in (b"not json", b"[1]", b"[" * 900):
        got = client.post("/echo", content=body)
        assert got.status_code == 400
        assert "body" in json.loads(got.text)["error"]


def test_the_server_is_private_by_default_takes_a_free_port_and_stops():
    server = Server(APP)
    assert server.is_private
    assert urlsplit(server.url).port == server.port != 0
    assert len(server.token) >= 32
    other = Server(APP)
    assert other.token != server.token
    other.stop()
    server.start()
    with pytest.raises(OSError, match=f"cannot listen at 127.0.0.1, port {server.port}"):
        Server(APP, port=server.port)
    server.stop()
    server.stop()
    with socket.socket() as probe:
        assert probe.connect_ex(("127.0.0.1", server.port)) != 0
