"""The stored stubs describe the module that is built."""

import subprocess
import sys
from pathlib import Path

import pytest


def test_stubs_match_the_native_module():
    pytest.importorskip("nanobind", reason="stubs are made by nanobind's stubgen")
    script = Path(__file__).parents[1] / "tools" / "stubs.py"
    run = subprocess.run([sys.executable, str(script), "--check"], capture_output=True, text=True, check=False)
    assert run.returncode == 0, f"run `python tools/stubs.py --write`:\n{run.stdout}{run.stderr}"
