"""The examples run, quickly, and warn of nothing."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

EXAMPLES = sorted((Path(__file__).parents[1] / "examples").glob("*.py"))


FIVE_TASKS = ("texts_to_topics", "sections_and_years", "vectors", "stream_and_service")


def test_each_example_is_short():
    for path in EXAMPLES:
        assert len(path.read_text().splitlines()) < 30, path
    assert {*FIVE_TASKS} <= {path.stem for path in EXAMPLES}


@pytest.mark.slow  # as the tutorials
@pytest.mark.parametrize("path", EXAMPLES, ids=lambda p: p.stem)
def test_example_runs(path, demo_cache, tmp_path):
    done = subprocess.run([sys.executable, "-W", "error::DeprecationWarning:__main__", path], env=demo_cache,
                          cwd=tmp_path, capture_output=True, encoding="utf-8", check=False)  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert done.stdout
    assert "Warning" not in done.stderr
    assert not list(tmp_path.iterdir())


@pytest.mark.slow  # a minute of commands that tests/cli tests one by one
def test_the_commands_run_on_a_folder(tmp_path):
    subjects = ("sea boat sail wind harbour ship mast tide", "chess rook queen king board pawn mate bishop")
    for i in range(40):
        words = subjects[i % 2].split()
        (tmp_path / f"{i:02}.txt").write_text(" ".join(words[(i + j * (1 + i % 3)) % 8] for j in range(30)))
    script = EXAMPLES[0].with_name("command_line.sh")
    done = subprocess.run(["sh", script, tmp_path], env=os.environ | {"TOPMIX": f"{sys.executable} -m topmix"},
                          capture_output=True, encoding="utf-8", check=False)  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert "rook" in done.stdout
    assert len(list(tmp_path.iterdir())) == 40
