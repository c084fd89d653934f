"""Seed words from a file."""

import json

import pytest
from typer.testing import CliRunner

import topmix
from topmix.cli import app
from topmix.cli.seeds import read_seeds

TEXTS = ["boat sail wind mast boat sail", "chess rook pawn king chess rook"] * 10


@pytest.fixture
def docs(tmp_path):
    path = tmp_path / "docs.txt"
    path.write_text("\n".join(TEXTS))
    return path


def test_seeds_from_a_file(docs, tmp_path):
    (tmp_path / "seeds.txt").write_text("# topics\nchess rook\nboat, sail\n")
    options = ["-k", "2", "--seeds", tmp_path / "seeds.txt", "--seed-strength", "1", "--max-iter", "5", "--quiet"]
    done = CliRunner().invoke(app, ["fit", str(docs), "-o", str(tmp_path / "model"), *map(str, options)])
    assert done.exit_code == 0, done.output
    model = topmix.load(tmp_path / "model")
    assert model.seeds == [["chess", "rook"], ["boat", "sail"]]
    assert model.seed_strength == 1
    assert set(model.top_words(2)[0]) <= {"chess", "rook", "pawn", "king"}


def test_forms_of_seed_files(tmp_path):
    (tmp_path / "seeds.json").write_text(json.dumps([None, {"boat": 2.0}]))
    assert read_seeds(tmp_path / "seeds.json") == [None, {"boat": 2.0}]
    (tmp_path / "seeds.txt").write_text("\nnew york, sail\n")
    assert read_seeds(tmp_path / "seeds.txt") == [None, ["new york", "sail"]]


def test_a_missing_file_is_said(docs, tmp_path):
    done = CliRunner().invoke(app, ["fit", str(docs), "-o", str(tmp_path / "model"), "--seeds", "none.txt"])
    assert done.exit_code == 2
    assert "there is no file none.txt" in done.output
