"""Every script runs on generated data and writes rows, and says which question it answers.

Scripts run in this process: starting Python and importing everything would take longer than most of them.
"""

from __future__ import annotations

import importlib
import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from benchmarks.harness import datasets, results, runs

pytestmark = pytest.mark.slow  # minutes, and of the benchmarks alone

ROOT = Path(__file__).resolve().parents[2]
QUICK = {  # where it is not --quick
    "top_l": ["--K", "50", "--L", "4", "--cells", "2000", "--repeat", "1"],
    "corpus_scale": ["--gb", "0.002", "--folder", "{tmp}"],
    "exploration": ["planted", "--quick"],
    "stream": ["corpus", "--quick"],
    "texts": ["table", "--quick"],
    "gpu_worker": ["--quick", "--engine", "emulated"],
    "single_cells": ["--quick", "--folder", "{tmp}"],
    "patches_scale": ["--quick", "--file", "{tmp}/patches.npy"],
    "cuda": ["--quick", "--engine", "threads", "--scores"],
    "small_and_diagonal": ["small", "--data", "iris", "--repeats", "1"],
    "cuda_mixtures": ["--quick", "--engine", "threads"],
}
QUICK |= {name: ["--quick", "--runs", "{tmp}"] for name in ("hdp", "sparsity", "restarts")}
OTHERS = {
    "everything": "runs the jobs of benchmarks/peers",
    "page": "fills the tables of a page",
    "asynchronous_stress": "below",
    "time_to_quality": "below",
    "corpus": "needs abstracts",
    "read_topics": "needs tomotopy, and minutes",
    "scaling": "pretends to be a cluster for minutes",
    "ray": "tests/cluster tests what it times",
    "ray_faults": "tests/cluster does each once",
    "host_faults": "tests/hosts does each once",
    "hosts": "tests/hosts fits on such hosts",
    "storage": "a server and a cluster; tests/storage and tests/cluster test what it measures",
    "nomadic": "tests/cluster tests what it times",
    "von_mises_fisher": "needs a corpus",
}
SCRIPTS = sorted(path.stem for path in (ROOT / "benchmarks").glob("*.py") if path.stem != "__init__")


@pytest.mark.parametrize("name", sorted({*SCRIPTS} - {*OTHERS}))
def test_a_script_writes_rows(tmp_path, monkeypatch, name):
    if name == "single_cells":
        pytest.importorskip("anndata", reason="anndata is not installed")
    if name in ("patches", "patches_scale", "candidates", "kmeans"):
        monkeypatch.setenv("TOPMIX_DATA", str(tmp_path))
        images = np.random.default_rng(0).integers(0, 256, (20, 72, 72)).cumsum(axis=2) % 256  # neighbours are alike
        (tmp_path / "bsds400").mkdir()
        np.savez(tmp_path / "bsds400" / "images.npz", train400=images)
        np.savez(tmp_path / "bsds400" / "test_images.npz", set12_1=images[0], bsd68_1=images[1])
    given = [argument.format(tmp=tmp_path) for argument in QUICK.get(name, ["--quick"])]
    given += ["--threads", "1", "--out", str(tmp_path / "out.jsonl")]
    if name == "gpu_worker":  # it puts something in the place of Ray, which other tests may have imported
        subprocess.run([sys.executable, "-m", f"benchmarks.{name}", *given], cwd=ROOT, check=True)
    else:
        assert importlib.import_module(f"benchmarks.{name}").main(given) == 0
    rows = results.read(tmp_path / "out.jsonl")
    assert {row["benchmark"] for row in rows} == {name}
    assert all(row["result"] for row in rows)


@pytest.mark.parametrize("name", sorted({*SCRIPTS} - {"everything", "page"}))
def test_help_asks_the_question_that_the_script_answers(name, capsys):
    with pytest.raises(SystemExit) as stopped:
        importlib.import_module(f"benchmarks.{name}").main(["--help"])
    assert stopped.value.code == 0
    said = capsys.readouterr().out
    assert "?" in said
    assert f"python -m benchmarks.{name}" in said
    assert "--out FILE" in said


def test_time_to_quality_tries_settings_of_the_command_line(tmp_path, monkeypatch):
    monkeypatch.setattr(runs, "in_own_process", lambda plan: runs.train(plan, plan.data()).to_dict())
    main = importlib.import_module("benchmarks.time_to_quality").main
    where = ["--runs", str(tmp_path), "--out", str(tmp_path / "out.jsonl")]
    given = ["--corpus", datasets.GENERATED, "--K", "5", "--seconds", "0.05", "--methods", "topmix"]
    assert main([*given, "--lda", '{"min_topic_mass": 2}', *where]) == 0
    (row,) = results.read(tmp_path / "out.jsonl")
    assert row["settings"]["settings"] == {"inference__min_topic_mass": 2}
    with pytest.raises(SystemExit):
        main([*given, "--lda", json.dumps({"min_topic_mess": 2})])


def test_asynchronous_stress_survives_its_own_interrupts():
    """In a process of its own, where a SIGINT that comes too late does not end the tests."""
    command = [sys.executable, "-m", "benchmarks.asynchronous_stress", "--runs", "12"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, encoding="utf-8", timeout=280, check=False)
    assert done.returncode == 0, done.stderr
    assert "all well" in done.stdout
