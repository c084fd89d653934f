"""`topmix consensus`: a model of many fits, from the shell."""

from __future__ import annotations

import json

import pytest
from typer.testing import CliRunner

import topmix
from topmix.apps.command import app

QUICK = ("--inference.sweeps", "5")


def call(*args):
    return CliRunner().invoke(app, ["consensus", *map(str, args)])


def test_it_writes_a_model_and_shows_its_topics(work, tmp_path):
    done = call(work / "docs", "-k", "4", "--fits", "4", "-o", tmp_path / "model", *QUICK)
    assert done.exit_code == 0, done.output
    assert done.stderr == ""  # nobody watches
    assert "of 4 topics are called real, by 4 fits" in done.stdout
    model = topmix.load(tmp_path / "model")
    assert model._found().reproducibility.n_fits == 4
    assert model.tokenizer_  # it takes plain text


def test_json_has_the_table(work, tmp_path):
    given = ("-k", "3", "--fits", "4", "--model", "multinomial-mixture", "--json")
    done = call(work / "docs", *given, "-o", tmp_path / "model")
    found = json.loads(done.stdout)
    assert found["fits"] == 4
    assert [topic["topic"] for topic in found["topics"]] == [0, 1, 2]
    assert {"reproducibility", "low", "high", "reliability", "always", "sometimes"} <= found["topics"][0].keys()


@pytest.mark.parametrize(("options", "code", "said"), [
    (("-k", "400"), 1, "too few for 400 topics"),
    (("-k", "2", "--fits", "1"), 2, "fits"),
    (("-k", "2", "--model", "gaussian-mixture"), 2, "does not take documents"),
])  # fmt: skip
def test_bad_options_are_explained(work, tmp_path, options, code, said):
    done = call(work / "docs", "-o", tmp_path / "model", *options)
    assert done.exit_code == code
    assert said in done.stderr
