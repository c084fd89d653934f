"""Seed words from a file."""

import pytest
from typer.testing import CliRunner

import topmix
from topmix import Seeds
from topmix.apps.command import app

TEXTS = ["boat sail wind mast boat sail", "chess rook pawn king chess rook"] * 10


@pytest.fixture
def docs(tmp_path):
    path = tmp_path / "docs.txt"
    path.write_text("\n".join(TEXTS))
    return path


def test_seeds_from_a_file(docs, tmp_path):
    (tmp_path / "seeds.txt").write_text("# topics\nchess rook\nboat, sail\n")
    options = ["-k", "2", "--seeds", tmp_path / "seeds.txt", "--seeds.strength", "1", "--max-iter", "5", "--quiet"]
    done = CliRunner().invoke(app, ["fit", str(docs), "-o", str(tmp_path / "model"), *map(str, options)])
    assert done.exit_code == 0, done.output
    model = topmix.load(tmp_path / "model")
    assert model.seeds == Seeds([["chess", "rook"], ["boat", "sail"]], strength=1)
    assert set(model.top_words(2)[0]) <= {"chess", "rook", "pawn", "king"}


def test_forms_of_seed_files(tmp_path):
    (tmp_path / "seeds.txt").write_text("\nnew york, sail\n")
    assert Seeds.read(tmp_path / "seeds.txt") == Seeds([None, ["new york", "sail"]])
    (tmp_path / "seeds.txt").write_text("sail -rook\n=new york, chess, - mast\n=king\n")
    assert Seeds.read(tmp_path / "seeds.txt") == Seeds(
        [["sail"], ["chess"], None], ban={0: ["rook"], 1: ["mast"]}, pin={1: ["new york"], 2: ["king"]}
    )
    (tmp_path / "seeds.txt").write_text("=sail\n")
    assert Seeds.read(tmp_path / "seeds.txt") == Seeds(pin=[["sail"]])


def test_words_are_pinned_and_banned_by_a_file(docs, tmp_path):
    (tmp_path / "words.txt").write_text("chess =rook -sail\n")
    options = ["-k", "2", "--seeds", tmp_path / "words.txt", "--max-iter", "5", "--quiet"]
    done = CliRunner().invoke(app, ["fit", str(docs), "-o", str(tmp_path / "model"), *map(str, options)])
    assert done.exit_code == 0, done.output
    model = topmix.load(tmp_path / "model")
    word = list(model.feature_names_in_).index
    assert model.seeds == Seeds([["chess"]], ban=[["sail"]], pin=[["rook"]])
    assert model.topic_word_[0, word("sail")] < 1e-9 < model.topic_word_[0, word("rook")]
    assert model.topic_word_[1, word("rook")] < 1e-9


def test_a_missing_file_is_said(docs, tmp_path):
    done = CliRunner().invoke(app, ["fit", str(docs), "-o", str(tmp_path / "model"), "--seeds", "none.txt"])
    assert done.exit_code == 2
    assert "there is no file none.txt" in done.output
