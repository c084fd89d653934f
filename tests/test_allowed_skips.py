"""The run fails when a test is skipped for a reason that tests/conftest.py does not allow."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ALLOWED = """
import pytest

def test_that_passes():
    pass

def test_that_is_skipped():
    pytest.skip("has no max_time")

@pytest.mark.xfail(reason="an expected failure is not a skip")
def test_that_fails():
    raise AssertionError
"""
FORBIDDEN = """
import pytest

def test_that_is_skipped():
    pytest.skip("has no max_time today")
"""
MODULE = 'import pytest; pytest.importorskip("no_such_module", reason="odd")'


@pytest.mark.parametrize("workers", [0, 1])
def test_a_skip_that_is_not_listed_fails_the_run(tmp_path, workers):
    """Skips that are listed do not: the tests have some, and pass."""
    shutil.copy(Path(__file__).with_name("conftest.py"), tmp_path)
    (tmp_path / "test_a.py").write_text(ALLOWED)
    (tmp_path / "test_b.py").write_text(FORBIDDEN)
    (tmp_path / "test_c.py").write_text(MODULE)
    done = subprocess.run([sys.executable, "-m", "pytest", "-n", str(workers), "-p", "no:cacheprovider", "."],
                          cwd=tmp_path, capture_output=True, text=True, timeout=200, check=False)  # fmt: skip
    assert done.returncode == 1, done.stdout
    found = done.stdout.partition("ALLOWED_SKIPS does not list")[2].splitlines()
    assert "test_b.py::test_that_is_skipped: has no max_time today" in found
    assert "test_c.py: odd" in found
    assert not any("test_a.py" in line for line in found)
