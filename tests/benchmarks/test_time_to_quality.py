"""The table of the main benchmark. No peer is run here."""

import pytest

from benchmarks import time_to_quality
from benchmarks.harness.curve import Curve
from benchmarks.harness.methods import label
from benchmarks.harness.runs import Plan, Run


def run(method, setting, points):
    curve = Curve(label(method, setting))
    for seconds, score in points:
        curve.add(seconds, score)
    final = {"score": points[-1][1], "npmi": 0.1, "diversity": 0.5, "empty": 0, "duplicate": 1, "largest_share": 0.4}
    return Run(Plan(method, setting, "tiny", 3, 0, 8.0, {}), curve, final)


def test_the_table_says_when_we_got_there():
    ours = run("topmix", "default", [(0.5, -7.9), (1.0, -7.4)])
    slow = run("sklearn", "fixed", [(1.0, -8.0), (4.0, -7.5)])
    fast = run("tomotopy", "fixed", [(1.0, -7.8), (8.1, -7.3)])
    text = time_to_quality.table("tiny", 3, 8.0, [ours, slow, fast])
    rows = [line.split() for line in text.splitlines()]
    assert ["4.0", "s", "sklearn", "(fixed)", "-7.5000", "1.00", "s", "4.0"] in rows
    assert ["8.1", "s", "tomotopy", "(fixed)", "-7.3000", "not", "reached"] in rows


def test_the_table_has_the_spread_over_seeds():
    runs = [run("tomotopy", "fixed", [(1.0, s)]) for s in (-7.5, -7.3, -7.4)]
    rows = [line.split() for line in time_to_quality.table("tiny", 3, 8.0, runs).splitlines()]
    assert ["tomotopy", "(fixed)", "3", "-7.4000", "-7.5000", "-7.3000", "0.2000"] in rows


def test_a_method_may_be_named_with_one_setting():
    parse = time_to_quality.method_and_setting
    assert parse("tomotopy:fixed") == ("tomotopy", ["fixed"])
    assert len(parse("tomotopy")[1]) == 3
    with pytest.raises(Exception, match="tomotopy:nonsense"):
        parse("tomotopy:nonsense")


def test_a_missing_corpus_is_a_message(tiny, capsys):
    assert time_to_quality.main(["--corpus", "absent"]) == 2
    assert "absent" in capsys.readouterr().err
