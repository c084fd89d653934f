"""Result rows: everything that one must know to read a figure."""

import json

import numpy as np

from benchmarks.harness import datasets, machine, results


def test_a_row_has_machine_versions_commit_corpus_and_settings(tiny, tmp_path):
    path = tmp_path / "new" / "results.jsonl"
    out = results.Results(path, "passes")
    out.add({"seconds": np.float32(1.5), "all": np.arange(2), "nothing": float("nan")}, {"K": 3}, datasets.load("tiny"))
    out.add({"seconds": 2.0}, {"K": 4})
    first, second = results.read(path)
    assert first["benchmark"] == "passes"
    assert first["machine"]["processor"] == machine.processor()
    assert first["machine"]["cores"] == machine.cores()
    assert {"python", "numpy", "scikit-learn", "topmix"} <= first["versions"].keys()
    assert first["commit"] == machine.commit()
    assert first["corpus"] == {"name": "tiny", "sha256": datasets.sha256("tiny"), "split": 0, "role": "test"}
    assert first["settings"] == {"K": 3}
    assert first["result"] == {"seconds": 1.5, "all": [0, 1], "nothing": None}
    assert second["corpus"] is None


def test_rows_are_strict_json_and_without_a_file_nothing_is_written(tmp_path):
    results.append(tmp_path / "r.jsonl", {"x": [float("inf"), -np.inf, np.float64("nan")], 1: (np.int64(2), True)})
    line = (tmp_path / "r.jsonl").read_text()
    assert json.loads(line, parse_constant=lambda _: 1 / 0) == {"x": [None, None, None], "1": [2, True]}
    results.Results(None, "passes").add({}, {})
    assert results.read(tmp_path / "absent.jsonl") == []


def test_the_code_of_the_library_is_part_of_its_version():
    assert machine.versions()["topmix"].endswith(f"+{machine.code_of_topmix()}")
    assert machine.version("no such package") is None
