"""Scripts that measure memory do it in a process of their own."""

from __future__ import annotations

import subprocess

import pytest

from benchmarks import texts
from benchmarks.harness.own_process import measure_apart


def test_a_measurement_apart_finds_what_one_here_finds(tmp_path):
    texts.write_csv(tmp_path / "a.csv", 20_000)
    asked = {"what": "csv", "case": "in memory", "path": str(tmp_path / "a.csv"), "rows": 0, "threads": 1}
    apart, here = measure_apart("texts", asked), texts.measure(**asked)
    assert apart.keys() == here.keys()
    assert apart["input_mb"] == here["input_mb"] > 0


def test_a_measurement_that_fails_is_an_error_here(tmp_path, capfd):
    with pytest.raises(subprocess.CalledProcessError):
        measure_apart("texts", {"what": "nothing"})
    assert "measure() missing" in capfd.readouterr().err
