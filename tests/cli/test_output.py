"""Where commands write: pipes and links stay, and what cannot be written is said before the work."""

from __future__ import annotations

import os
import signal
import stat
import threading

import pytest
from typer.testing import CliRunner

import topmix
from topmix.apps.command import app
from topmix.data import sample_lda
from topmix.learn.history import FitProgress


def call(*args):
    return CliRunner().invoke(app, [str(arg) for arg in args])


@pytest.fixture(scope="module")
def small(tmp_path_factory):
    """A corpus and a model of it."""
    folder = tmp_path_factory.mktemp("small")
    sample_lda(60, 40, 3, doc_length=30, random_state=0).corpus.save(folder / "c.topmix")
    assert call("fit", folder / "c.topmix", "-k", "3", "-o", folder / "m", "--max-iter", "2", "-q").exit_code == 0
    return folder


WAYS = {
    "fit": ["fit", "{c}", "-k", "3", "--max-iter", "2", "-q", "-o"],
    "infer": ["infer", "{m}", "{c}", "--to", "csv", "-o"],
    "report": ["report", "{m}", "-o"],
    "convert a corpus": ["convert", "{c}", "--to", "topmix"],
    "convert a model": ["convert", "{m}", "--to", "csv"],
}


def command(way, small, output):
    return [arg.format(c=small / "c.topmix", m=small / "m") for arg in WAYS[way]] + [str(output)]


@pytest.mark.parametrize("way", WAYS)
def test_a_pipe_receives_what_a_command_writes(way, small, tmp_path):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    found = []
    reader = threading.Thread(target=lambda: found.append(pipe.read_bytes()))
    reader.start()
    done = call(*command(way, small, pipe))
    assert done.exit_code == 0, done.output
    reader.join(10)
    assert len(found[0]) > 100
    assert stat.S_ISFIFO(pipe.stat().st_mode)
    assert [path.name for path in tmp_path.iterdir()] == ["pipe"]


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("name", ["n" * 256, "nowhere/file"])
def test_a_path_that_cannot_be_written_is_said_before_the_work(way, name, small, tmp_path, monkeypatch):
    worked = []
    for place in ("documents.DocumentsAt.at", "explore_command.write_report", "convert_command.export"):
        monkeypatch.setattr(f"topmix.apps.command.{place}", lambda *_, **__: worked.append(1))
    done = call(*command(way, small, tmp_path / name))
    assert done.exit_code == 1
    assert "File name too long" in done.output.replace("\n", " ") or "does not exist" in done.output
    assert not worked


def test_a_checkpoint_that_cannot_be_written_is_said_before_the_work(small, tmp_path, monkeypatch):
    monkeypatch.setattr(
        "topmix.apps.command.documents.DocumentsAt.at", lambda *_, **__: pytest.fail("it has read the data")
    )
    done = call(*command("fit", small, tmp_path / "m"), "--checkpoint", tmp_path / ("c" * 256))
    assert done.exit_code == 1
    assert "File name too long" in done.output.replace("\n", " ")


def test_a_link_to_a_model_stays(small, tmp_path):
    (tmp_path / "now").symlink_to("monday.model")
    assert call(*command("fit", small, tmp_path / "now")).exit_code == 0
    (tmp_path / "monday.model").chmod(0o640)
    assert call(*command("fit", small, tmp_path / "now")).exit_code == 0
    assert (tmp_path / "now").is_symlink()
    assert stat.S_IMODE((tmp_path / "monday.model").stat().st_mode) == 0o640
    assert topmix.load(tmp_path / "now").n_components == 3


def interrupt_at(monkeypatch, *passes):
    """Ctrl-C, once at the end of each of these passes; several at once where a number is repeated."""
    real = FitProgress.__call__

    def pressed(self, record, view):
        answer = real(self, record, view)
        for _ in range(passes.count(record.n_pass)):
            signal.raise_signal(signal.SIGINT)
        return answer

    monkeypatch.setattr(FitProgress, "__call__", pressed)


def test_a_second_ctrl_c_says_what_was_lost(small, tmp_path, monkeypatch):
    """Of a model that is too large to be copied after each pass."""
    monkeypatch.setattr("topmix.learn.fit.MOST_KEPT", 0)
    interrupt_at(monkeypatch, 3, 3)
    more = ["--model", "MultinomialMixture", "--n-init", "1"]
    done = call("fit", small / "c.topmix", "-k", "3", "-o", tmp_path / "m", "--tol=-1", "--max-iter", "9", *more)
    assert done.exit_code == 130
    assert "before the first pass ended" not in done.output
    said = " ".join(done.output.split())
    assert "stopped by a second Ctrl-C in the pass after 2 passes; no model was saved" in said
    assert "continues from" not in said
    assert not (tmp_path / "m").exists()


def test_a_second_ctrl_c_saves_the_topics_of_the_last_pass(small, tmp_path, monkeypatch):
    interrupt_at(monkeypatch, 3, 3)
    done = call("fit", small / "c.topmix", "-k", "3", "-o", tmp_path / "m", "--tol=-1", "--max-iter", "9")
    assert done.exit_code == 130
    assert "saved in" in done.output
    assert "warm_start" not in done.output
    assert topmix.load(tmp_path / "m").n_iter_ == 3


def test_a_second_ctrl_c_saves_topics_that_are_whole(small, tmp_path, monkeypatch):
    """Asynchronous workers have them at any moment."""
    interrupt_at(monkeypatch, 3, 3)
    how = ["--learner", "asynchronous", "--inference", "variational", "--threads", "1", "--n-init", "1"]
    done = call("fit", small / "c.topmix", "-k", "3", "-o", tmp_path / "m", "--tol=-1", "--max-iter", "9", *how)
    assert done.exit_code == 130
    assert "saved in" in done.output
    assert topmix.load(tmp_path / "m").n_iter_ == 3


def test_ctrl_c_before_the_first_pass_says_so(small, tmp_path, monkeypatch):
    monkeypatch.setattr("topmix.learn.fit.Fit.begin", lambda *_: [signal.raise_signal(signal.SIGINT)] * 2)
    monkeypatch.setattr("topmix.learn.history.StopOnInterrupt._remember", signal.default_int_handler)
    done = call("fit", small / "c.topmix", "-k", "3", "-o", tmp_path / "m")
    assert done.exit_code == 130
    assert "before the first pass ended; nothing was saved" in " ".join(done.output.split())
