"""`topmix infer` reads and writes tables of any length, block by block."""

from __future__ import annotations

import csv
import json
import subprocess
import sys

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner

import topmix
from topmix.apps.command import app, infer_command

MEASURED = """
import resource, sys
from topmix.apps.command import app
try:
    app(sys.argv[1:])
except SystemExit as stopped:
    assert not stopped.code
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // (1024 if sys.platform != "darwin" else 1 << 20))
"""
SUBJECTS = ["flour butter sugar dough oven", "wind sail boat harbour anchor", "pawn rook bishop knight queen"]


def texts(n):
    rng = np.random.default_rng(n)
    words = [subject.split() for subject in SUBJECTS]
    return [" ".join(rng.choice(words[d % 3], 12)) for d in range(n)]


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    path = tmp_path_factory.mktemp("model") / "model"
    topmix.LDA(3, max_iter=5, random_state=0).fit(texts(90)).save(path)
    return path


def infer(*arguments):
    """Runs the command, and gives the most memory it had, in MB."""
    done = subprocess.run(
        [sys.executable, "-c", MEASURED, "infer", *map(str, arguments)], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return int(done.stdout.split()[-1])


def write(path, rows):
    """One group of rows in Parquet: nothing can be skipped, and nothing should be held."""
    names = [f"d{i}" for i in range(len(rows))]
    if path.suffix == ".parquet":
        pq.write_table(pa.table({"id": names, "body": rows}), path, row_group_size=len(rows))
    elif path.suffix == ".csv":
        with open(path, "w", newline="", encoding="utf-8") as file:
            csv.writer(file).writerows([("id", "body"), *zip(names, rows)])
    else:
        path.write_text("".join(json.dumps({"id": i, "body": t}) + "\n" for i, t in zip(names, rows)), "utf-8")
    return path


@pytest.mark.parametrize("kind", ["parquet", "csv", "jsonl"])
def test_blocks_of_a_table_give_what_the_model_gives(model, kind, tmp_path, monkeypatch):
    monkeypatch.setattr(infer_command, "BLOCK_ROWS", 700)
    rows = [*texts(2500), "", "unheard"]
    arguments = model, write(tmp_path / f"in.{kind}", rows), "--field", "body", "-o", tmp_path / "out.parquet"
    done = CliRunner().invoke(app, ["infer", *map(str, arguments)])
    assert done.exit_code == 0, done.output
    found = pq.read_table(tmp_path / "out.parquet")
    assert found["id"].to_pylist() == [f"d{i}" for i in range(len(rows))]
    want = topmix.load(model).transform(rows)
    np.testing.assert_array_equal(np.array(found["theta"].to_pylist(), np.float32), want.astype(np.float32))


@pytest.mark.slow  # six seconds
def test_memory_does_not_grow_with_the_rows(model, tmp_path):
    long = [" ".join([text] * 12) for text in texts(2000)]  # about 1 kB
    few, many = write(tmp_path / "few.parquet", long * 2), write(tmp_path / "many.parquet", long * 20)
    how = ("--field", "body", "--top", "2", "-o", tmp_path / "out.parquet")
    least = infer(model, few, *how)
    assert infer(model, many, *how) - least < 20  # of 36 MB of texts
    assert pq.read_metadata(tmp_path / "out.parquet").num_rows == 40_000
