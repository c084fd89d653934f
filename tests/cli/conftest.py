"""A folder of texts, and a model that the command learned from it."""

from __future__ import annotations

import os
import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest

TOPMIX = Path(sysconfig.get_path("scripts")) / ("topmix.exe" if sys.platform == "win32" else "topmix")
SUBJECTS = {
    "baking": ["flour", "butter", "sugar", "dough", "oven", "bread", "cake", "crust", "yeast", "knead"],
    "sailing": ["wind", "sail", "boat", "harbour", "anchor", "mast", "keel", "rudder", "tide", "rope"],
    "chess": ["pawn", "rook", "bishop", "knight", "queen", "king", "castle", "board", "gambit", "endgame"],
    "music": ["melody", "chord", "rhythm", "tempo", "violin", "piano", "singer", "concert", "tune", "octave"],
}
ENVIRONMENT = {k: v for k, v in os.environ.items() if k not in ("FORCE_COLOR", "NO_COLOR", "TTY_COMPATIBLE")}
ENVIRONMENT |= {"COLUMNS": "80", "TERM": "xterm-256color", "PYTHONIOENCODING": "utf-8"}


def text_of(subject: str, n: int) -> str:
    words = SUBJECTS[subject]
    return "The " + " ".join(words[(n * n + i * i) % 10] for i in range(30 + n % 7)) + f" and {words[n % 10]}."


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if isinstance(item, pytest.Function) and "cli" in item.path.parts and "fitted" in item.fixturenames:
            item.add_marker(pytest.mark.xdist_group("cli"))  # one process fits the model


@pytest.fixture(scope="session")
def subjects():
    return SUBJECTS


@pytest.fixture(scope="session")
def run():
    """run(*args): the command as a process, with what it said."""

    def call(*args, cwd=None, env=None):
        return subprocess.run([TOPMIX, *map(str, args)], env=ENVIRONMENT | (env or {}), capture_output=True,
                              encoding="utf-8", timeout=300, check=False, cwd=cwd)  # fmt: skip

    return call


@pytest.fixture(scope="session")
def start():
    """start(*args, cwd): the command as a process that runs on; it is ended when the test is."""

    def begin(*args, cwd):
        return subprocess.Popen([TOPMIX, *map(str, args)], env=ENVIRONMENT, cwd=cwd, stderr=subprocess.PIPE, text=True)

    return begin


@pytest.fixture(scope="session")
def work(tmp_path_factory):
    """A folder with docs/ (25 texts of each subject, in a folder for each) and new/ (5 texts)."""
    folder = tmp_path_factory.mktemp("work")
    for subject in SUBJECTS:
        (folder / "docs" / subject).mkdir(parents=True)
        for n in range(25):
            (folder / "docs" / subject / f"{n:02d}.txt").write_text(text_of(subject, n))
    (folder / "new").mkdir()
    for n, subject in enumerate(SUBJECTS):
        (folder / "new" / f"{subject}.txt").write_text(text_of(subject, n + 50) + " Zeppelin!")
    (folder / "new" / "nothing.txt").write_text("Zeppelin zeppelin.")
    return folder


@pytest.fixture(scope="session")
def fitted(work, run):
    """What `topmix fit docs/ -k 4 -o model --seed 1` said, with few passes; the model is in work/model."""
    done = run("fit", "docs/", "-k", "4", "-o", "model", "--seed", "1", "--max-iter", "12", cwd=work)
    assert done.returncode == 0, done.stderr
    return done


@pytest.fixture(scope="session")
def model(work, fitted):
    return work / "model"
