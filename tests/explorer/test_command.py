"""`topmix explore` and `topmix fit --explore`, as programs that are killed and interrupted."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
from contextlib import contextmanager

import httpx
import numpy as np
import pytest
from typer.testing import CliRunner

import topmix
from topmix.apps.command import app
from topmix.explorer import Explorer, Session


@contextmanager
def running(*arguments):
    """(process, client) of a command that serves, when it has said its address."""
    program = "from topmix.apps.command import main; main()"
    command = [sys.executable, "-c", program, *map(str, arguments), "--no-browser"]
    with subprocess.Popen(command, stderr=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        try:
            said = ""
            while (found := re.search(r"(http://127\.0\.0\.1:\d+/)\?token=(\S+)", said)) is None:
                line = process.stderr.readline()
                assert line, said
                said += line
            with httpx.Client(base_url=found[1], headers={"Authorization": f"Bearer {found[2]}"}, timeout=60) as client:
                yield process, client
        finally:
            process.kill()


def do(client, what, **fields):
    got = client.post(f"/api/do/{what}", json={"version": client.get("/api/status").json()["version"], **fields})
    assert got.status_code == 200, got.text
    return got.json()


@pytest.mark.skipif(os.name != "posix", reason="needs POSIX signals")
def test_a_killed_explorer_goes_on_from_its_last_state(fitted, documents, tmp_path):
    fitted.save(tmp_path / "model")
    documents.corpus.save(tmp_path / "docs.topmix")
    arguments = ("explore", tmp_path / "model", "--corpus", tmp_path / "docs.topmix", "--seed", 3, "--json")
    with running(*arguments) as (process, client):
        do(client, "apply", edit={"do": "merge", "topics": [0, 3]})
        do(client, "apply", edit={"do": "rename", "topic": 1, "name": "kept"})
        before = client.get("/api/overview").json()
        process.send_signal(signal.SIGKILL)
        process.wait(120)
    with running(*arguments) as (process, client):
        after = client.get("/api/overview").json()
        assert after["overview"] | {"history": None, "about": None} == before["overview"] | {
            "history": None,
            "about": None,
        }
        assert after["status"]["edits"] == before["status"]["edits"]
        do(client, "learn", passes=1)
        for _ in range(2400):
            if (status := client.get("/api/status").json())["busy"] is None:
                break
            time.sleep(0.05)
        assert status["edits"][-1] == {"do": "learn", "passes": 1, "seed": 3}
        process.send_signal(signal.SIGINT)
        assert process.wait(120) == 0
        assert json.loads(process.stdout.read())["url"].startswith(str(client.base_url))
    assert topmix.load(tmp_path / "model").n_components == 5  # the model file stays as it was


@pytest.mark.skipif(os.name != "posix", reason="needs POSIX signals")
def test_a_fit_is_explored_and_then_edited(documents, tmp_path):
    lines = zip(documents.texts, documents.columns["date"])
    (tmp_path / "docs.jsonl").write_text("\n".join(json.dumps({"text": t, "date": day}) for t, day in lines))
    fit = (
        "fit",
        tmp_path / "docs.jsonl",
        "--column",
        "date",
        "-k",
        4,
        "--max-iter",
        3,
        "-o",
        tmp_path / "model",
        "--explore",
        "--max-time",
        "5m",
    )
    with running(*fit) as (process, client):
        for _ in range(2400):
            if client.get("/api/status").json()["busy"] is None:
                break
            time.sleep(0.05)
        assert len(client.get("/api/overview").json()["overview"]["share"]) == 4
        columns = client.get("/api/status").json()["columns"]
        assert [(c["name"], c["is_time"]) for c in columns] == [("date", True)]
        do(client, "apply", edit={"do": "delete", "topic": 2})
        process.send_signal(signal.SIGINT)
        assert process.wait(120) == 0
    assert topmix.load(tmp_path / "model").n_components == 4
    assert '"delete"' in (tmp_path / "model.session").read_text()


def test_clusters_of_vectors_are_explored_when_their_fit_is_over(documents, tmp_path, monkeypatch):
    seen = []
    monkeypatch.setattr(Explorer, "wait", lambda explorer: seen.append(explorer.session))
    rng, n = np.random.default_rng(0), 90
    np.save(tmp_path / "x.npy", rng.normal(size=(n, 4)) + 5 * np.eye(4)[np.arange(n) % 3])
    lines = ("text,year", *(f"{'rook pawn' if d % 3 else 'harbour sail'} {d},{2000 + d % 5}" for d in range(n)))
    (tmp_path / "t.csv").write_text("\n".join(lines))
    words = ["fit", tmp_path / "x.npy", "--texts", tmp_path / "t.csv", "--model", "vmf", "-k", "3", "-o",
             tmp_path / "m", "--column", "year", "--explore", "--no-browser"]  # fmt: skip
    done = CliRunner().invoke(app, list(map(str, words)))
    assert done.exit_code == 0, done.output
    (session,) = seen
    assert session.busy is None
    assert session.library.corpus.vectors is not None
    assert len(session.snapshot.model.weights_) == 3
    assert list(session.library.columns) == ["year"]


@pytest.mark.parametrize("when", ["open", "wait"])
def test_ctrl_c_at_any_moment_after_a_fit_is_the_end_of_exploring(documents, tmp_path, monkeypatch, when):
    def interrupt(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(*{"open": (Session, "open"), "wait": (Explorer, "wait")}[when], interrupt)
    documents.corpus.save(tmp_path / "docs.topmix")
    done = CliRunner().invoke(app, ["fit", str(tmp_path / "docs.topmix"), "-k", "4", "--max-iter", "2", "-o",
                                    str(tmp_path / "model"), "--explore", "--no-browser"])  # fmt: skip
    assert done.exit_code == 0, done.output
    assert topmix.load(tmp_path / "model").n_components == 4


def test_what_cannot_be_explored_is_said(fitted, tmp_path):
    fitted.save(tmp_path / "model")
    run = CliRunner().invoke
    done = run(app, ["explore", str(tmp_path / "none"), "--no-browser"])
    assert done.exit_code == 1
    done = run(app, ["explore", str(tmp_path / "model"), "--column", "date", "--no-browser"])
    assert done.exit_code == 2
    assert "--corpus" in done.output
    (tmp_path / "rows.csv").write_text("a,b\n1,2\n2,1\n3,3\n")
    done = run(app, ["fit", str(tmp_path / "rows.csv"), "--model", "GaussianMixture", "-k", "2", "-o",
                     str(tmp_path / "g"), "--explore", "--no-browser"])  # fmt: skip
    assert done.exit_code == 2
    assert "nothing to explore" in done.output
