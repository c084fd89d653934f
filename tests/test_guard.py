"""The regression guard says which kernel has grown. tools/guard.py counts; here is how it judges."""

import importlib.util
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]


@pytest.fixture(scope="module")
def guard():
    spec = importlib.util.spec_from_file_location("guard", ROOT / "tools" / "guard.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_a_kernel_that_grew_by_more_than_three_per_cent_fails_by_name(guard):
    worse, said = guard.compare({"v3 a": 1000, "v3 b": 1000}, {"v3 a": 1031, "v3 b": 1029})
    assert worse
    assert any("v3 a" in line and "+3.1%" in line for line in said)
    assert not any("v3 b" in line for line in said)


def test_kernels_within_three_per_cent_pass(guard):
    worse, said = guard.compare({"v3 a": 1000}, {"v3 a": 1029})
    assert not worse
    assert said == ["guard: 1 kernels within 3% of the baseline"]


def test_better_and_new_kernels_pass_and_are_named(guard):
    worse, said = guard.compare({"v3 a": 1000}, {"v3 a": 900, "v3 new": 5})
    assert not worse
    assert "better by 10.0%" in said[0]
    assert "v3 new is new" in said[1]


def test_a_compiler_without_baseline_is_skipped_with_a_line(guard, monkeypatch, capsys):
    monkeypatch.setattr(guard, "compiler_name", lambda: "another compiler")
    monkeypatch.setattr(guard.shutil, "which", lambda name: "/usr/bin/" + name)
    assert guard.main([]) == 0
    assert "no baseline for another compiler" in capsys.readouterr().out


def test_without_valgrind_it_is_skipped_with_a_line(guard, monkeypatch, capsys):
    monkeypatch.setattr(guard.shutil, "which", lambda name: None)
    assert guard.main([]) == 0
    assert "valgrind is not installed" in capsys.readouterr().out
