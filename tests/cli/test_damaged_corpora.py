"""The command refuses a damaged corpus in one line, whichever subcommand reads it."""

from __future__ import annotations

import numpy as np
import pytest

from tools.saved_corpora import parts, sealed
from topmix import LDA
from topmix.apps.command import main
from topmix.data import Corpus

WORDS = [f"w{v}" for v in range(9)]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A model; flipped.topmix, which does not match its checksum; forged.topmix, which does, and has a bad word id."""
    folder = tmp_path_factory.mktemp("damaged")
    corpus = Corpus.from_scipy(np.random.default_rng(0).poisson(2.0, (20, 9)) + 1, vocabulary=WORDS)
    LDA(2, max_iter=2, random_state=0).fit(corpus).save(folder / "model")
    corpus.save(folder / "forged.topmix")
    table, metadata, blob = parts((folder / "forged.topmix").read_bytes())
    at = table["index"]["data_offsets"][0] + 4 * 20
    whole = bytes(blob)
    blob[at : at + 4] = np.int32(2**24).tobytes()
    (folder / "forged.topmix").write_bytes(sealed(table, metadata, blob))
    file = bytearray((folder / "forged.topmix").read_bytes())
    file[-len(blob) :] = whole  # the checksum is that of the forged rows
    (folder / "flipped.topmix").write_bytes(file)
    return folder


FLIPPED = "index does not match its checksum"
FORGED = "row 2, column 16777216: the column is outside"


@pytest.mark.parametrize(
    ("command", "said"),
    [
        ("fit forged.topmix -k 2 -o new", FORGED),
        ("fit forged.topmix -k 2 -o new --no-verify", FORGED),
        ("infer model forged.topmix -o out.csv", FORGED),
        ("eval model forged.topmix", FORGED),
        ("eval model flipped.topmix", FLIPPED),
        ("report model --corpus forged.topmix -o out.html", FORGED),
        ("convert forged.topmix copy.topmix", FORGED),
    ],
)
def test_a_damaged_corpus_is_refused(folder, command, said, monkeypatch, capsys):
    monkeypatch.chdir(folder)
    monkeypatch.setattr("sys.argv", ["topmix", *command.split()])
    with pytest.raises(SystemExit) as ended:
        main()
    assert ended.value.code == 1
    error = capsys.readouterr().err
    assert said in " ".join(error.split())
    assert "Traceback" not in error
    assert sorted(path.name for path in folder.iterdir()) == ["flipped.topmix", "forged.topmix", "model"]
