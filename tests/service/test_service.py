"""Topics over HTTP: what is answered, to whom, and what is refused."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import httpx
import numpy as np
import pytest
from typer.testing import CliRunner

import topmix
from topmix.apps.command import app
from topmix.apps.service import MOST_TEXTS, OPEN_PATHS
from topmix.service import ModelFile, service
from topmix.web import Server

SUBJECTS = ["cat dog bone leash paw vet", "star planet orbit moon comet telescope", "bread flour yeast oven salt dough"]


def texts(n, seed=0):
    rng = np.random.default_rng(seed)
    words = [subject.split() for subject in SUBJECTS]
    return [" ".join(rng.choice(words[d % 3], 12)) for d in range(n)]


@pytest.fixture(scope="module")
def model():
    return topmix.LDA(4, max_iter=10, random_state=0).fit(texts(90)).name_topics({1: '“one” & "two"\\'})


@pytest.fixture(scope="module")
def path(model, tmp_path_factory):
    path = tmp_path_factory.mktemp("model") / "my model"
    model.save(path)
    return path


@pytest.fixture
def client(model):
    with (
        Server(service(model.predictor(), "mine"), token=None) as server,
        httpx.Client(base_url=server.address, headers={"Content-Type": "application/json"}) as client,
    ):
        yield client


def test_one_text_and_several(client, model):
    asked, predictor = texts(5, seed=1), model.predictor()
    got = client.post("/topics", json={"text": asked[0]})
    assert got.status_code == 200
    assert got.json() == {"topics": [share._asdict() for share in predictor(asked[0])]}
    many = client.post("/topics", json={"texts": [*asked, "unheard"], "top": 1}).json()["documents"]
    assert [document["topics"] for document in many[:5]] == [[predictor(t, 1)[0]._asdict()] for t in asked]
    assert many[5] == {"topics": []}
    assert client.post("/topics", json={"texts": []}).json() == {"documents": []}


def test_the_topics_of_the_model(client, model):
    said = client.get("/topics").json()
    assert (said["model"], said["version"]) == ("mine", topmix.__version__)
    info = model.topic_info()
    assert [t["topic"] for t in said["topics"]] == info["topic"].tolist()
    assert [t["name"] for t in said["topics"]] == info["name"].tolist()
    assert [t["words"] for t in said["topics"]] == info["words"].tolist()
    np.testing.assert_allclose([t["share"] for t in said["topics"]], info["share"])
    assert "POST /topics" in client.get("/").json()["endpoints"]


WRONG = {
    "nothing": ({}, "one text"),
    "both": ({"text": "a", "texts": ["a"]}, "one text"),
    "a number": ({"text": 3}, "a string"),
    "a list as text": ({"text": ["a"]}, "a string"),
    "a string as texts": ({"texts": "abc"}, "list of strings"),
    "a list of numbers": ({"texts": ["a", 1]}, "list of strings"),
    "null": ({"text": None}, "a string"),
    "an unknown field": ({"text": "a", "n": 3}, "no field 'n'"),
    "no topics": ({"text": "a", "top": 0}, "top must be"),
    "a top that is none": ({"text": "a", "top": "x"}, "top must be"),
    "too many": ({"texts": ["a"] * (MOST_TEXTS + 1)}, "at most 1,000"),
}


@pytest.mark.parametrize(("body", "why"), WRONG.values(), ids=WRONG)
def test_wrong_requests_are_told_why(client, body, why):
    got = client.post("/topics", json=body)
    assert got.status_code == 400
    assert why in got.json()["error"]


def test_bodies_that_are_no_json_and_addresses_that_are_not_there(client):
    for body in (b"{", b"[]", b'"x"', b"\xff", b"[" * 100_000):
        got = client.post("/topics", content=body)
        assert got.status_code == 400
        assert "body" in got.json()["error"]
    assert client.get("/nowhere").status_code == 404
    assert client.get("/nowhere").json() == {"error": "there is nothing at this address"}
    assert client.delete("/topics").status_code == 405
    assert "method" in client.delete("/topics").json()["error"]


def test_odd_texts_have_answers(client):
    for text in ("", "\0", "cat\ud800dog", "猫 cat", "cat " * 10_000, "<script>", "a" * 100_000):
        got = client.post("/topics", content=json.dumps({"text": text}))
        assert got.status_code == 200, text[:20]


def test_metrics_count(client, model):
    for _ in range(3):
        client.post("/topics", json={"texts": ["cat dog", "unheard"]})
    client.post("/topics", json={})
    client.get("/secret-path")
    said = client.get("/metrics")
    assert said.headers["content-type"].startswith("text/plain; version=")
    lines = said.text.splitlines()
    assert 'topmix_requests_total{method="POST",path="/topics",status="200"} 3.0' in lines
    assert 'topmix_requests_total{method="POST",path="/topics",status="400"} 1.0' in lines
    assert 'topmix_requests_total{method="GET",path="other",status="404"} 1.0' in lines
    assert "topmix_texts_total 6.0" in lines
    assert "topmix_unknown_texts_total 3.0" in lines
    assert 'topmix_request_seconds_bucket{le="+Inf"} 5.0' in lines
    assert "topmix_request_seconds_count 5.0" in lines
    for line in lines:  # the format: comments, or a name, labels and a number
        assert re.fullmatch(r'# (HELP|TYPE) .*|\w+(\{\w+="[^"]*"(,\w+="[^"]*")*\})? [0-9.e+-]+', line), line
    counts = [float(line.split()[-1]) for line in lines if "_bucket" in line]
    assert counts == sorted(counts)


def test_the_guard_stands_before_it(model):
    with Server(service(model.predictor()), open_paths=OPEN_PATHS, max_body=1000) as server:
        assert httpx.get(server.address + "health").json()["status"] == "ok"
        for place in ("topics", "metrics", ""):
            assert httpx.get(server.address + place).status_code == 401
        assert httpx.post(server.address + "topics", json={"text": "cat"}).status_code == 401
        allowed = {"Authorization": f"Bearer {server.token}"}
        got = httpx.post(server.address + "topics", json={"text": "cat"}, headers=allowed)
        assert got.json()["topics"][0]["topic"] == model.predictor()("cat")[0].topic
        assert got.headers["x-content-type-options"] == "nosniff"
        assert httpx.post(server.address + "topics", json={"text": "x" * 2000}, headers=allowed).status_code == 413
        pieces = (b"x" * 100 for _ in range(100))  # without their length
        assert httpx.post(server.address + "topics", content=pieces, headers=allowed).status_code == 413


def begin(*arguments, **environment):
    command = "from topmix.apps.command import main; main()"
    return subprocess.Popen(
        [sys.executable, "-c", command, "serve", *map(str, arguments)],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env={**os.environ, **environment},
    )  # fmt: skip


def test_a_model_file_that_is_replaced_answers_from_then_on(model, tmp_path, monkeypatch, caplog):
    """And one that is damaged, written over or deleted does not: the model from before goes on."""
    monkeypatch.setattr("topmix.apps.service.LOOK_SECONDS", 0.0)
    path, other = tmp_path / "model", topmix.LDA(2, random_state=1).fit(texts(90))
    model.save(path)
    with Server(service(ModelFile(path), "mine"), token=None) as server:

        def topics() -> int:
            got = httpx.post(server.address + "topics", json={"text": "cat dog star"})
            assert got.status_code == 200
            assert httpx.get(server.address).json()["topics"] == len(
                httpx.get(server.address + "topics").json()["topics"]
            )
            return httpx.get(server.address).json()["topics"]

        assert topics() == 4
        other.save(path)
        assert topics() == 2
        whole = path.read_bytes()
        for damage in (b"", whole[:-9], b"x" * len(whole)):
            with open(path, "r+b") as file:  # in place: the pages of a mapped file would be gone
                file.truncate(0)
                file.write(damage)
            assert topics() == 2
        assert "the model from before goes on answering" in caplog.text
        path.unlink()
        assert topics() == 2
        model.save(path)
        assert topics() == 4


def test_the_command_serves_until_ctrl_c(path, model, tmp_path):
    path = Path(shutil.copy(path, tmp_path / "my model"))
    running = begin(path, "--port", "0", "--json")
    try:
        said = json.loads("".join(running.stdout.readline() for _ in range(5)))
        address, token = said["address"], said["token"]
        assert address.startswith("http://127.0.0.1:")
        with httpx.Client(base_url=address, timeout=60) as client:
            deadline = time.monotonic() + 60
            while time.monotonic() < deadline:
                try:
                    assert client.get("health").json()["status"] == "ok"
                    break
                except httpx.TransportError:
                    time.sleep(0.05)
            headers = {"Authorization": f"Bearer {token}"}
            got = client.post("topics", json={"text": "cat dog bone"}, headers=headers).json()["topics"]
            assert got == [share._asdict() for share in model.predictor()("cat dog bone")]
            assert 'model="my model"' in client.get("metrics", headers=headers).text
            assert client.get("topics").status_code == 401
            os.truncate(path, 100)  # while it serves
            assert client.post("topics", json={"text": "cat dog bone"}, headers=headers).json()["topics"] == got
            assert client.post("topics", json={"text": "bread star"}, headers=headers).status_code == 200
    finally:
        running.send_signal(signal.SIGINT)
        _, errors = running.communicate(timeout=120)
    assert running.returncode in (0, 130)
    assert "Traceback" not in errors


def test_errors_of_the_command(path, tmp_path):
    topmix.GaussianMixture(2, random_state=0).fit(np.eye(8)).save(tmp_path / "mixture")
    for arguments, why in (
        ((tmp_path / "none",), "there is no such model file"),
        ((tmp_path / "mixture",), "has no predictor"),
        ((path, "--token", "short"), "8 or more"),
        ((path, "--token", "semi;colon"), "a token must have"),
        ((path, "--token", ""), "a token must have"),
        ((path, "--token", "long-enough", "--no-token"), "--no-token"),
        ((path, "--host", "203.0.113.7"), "cannot listen"),
    ):
        done = CliRunner().invoke(app, ["serve", *map(str, arguments)])
        assert done.exit_code in (1, 2)
        assert why in done.output
        assert isinstance(done.exception, SystemExit)  # no traceback
