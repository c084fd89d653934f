"""The examples run, quickly, and warn of nothing."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

EXAMPLES = sorted((Path(__file__).parents[1] / "examples").glob("*.py"))


@pytest.mark.slow  # as the tutorials
@pytest.mark.parametrize("path", EXAMPLES, ids=lambda p: p.stem)
def test_example_runs(path, demo_cache, tmp_path):
    done = subprocess.run([sys.executable, "-W", "error::DeprecationWarning:__main__", path], env=demo_cache,
                          cwd=tmp_path, capture_output=True, encoding="utf-8", timeout=120, check=False)  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert done.stdout
    assert "Warning" not in done.stderr
    assert not list(tmp_path.iterdir())
