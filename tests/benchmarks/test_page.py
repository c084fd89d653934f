"""docs/benchmarks.md and README.md say what the stored rows say. Rows are read; nothing is run."""

import pytest

from benchmarks import page
from benchmarks.harness import results
from benchmarks.harness.curve import Curve
from benchmarks.peers.choice import best


@pytest.mark.parametrize("path", page.PAGES, ids=lambda path: path.name)
def test_the_tables_are_those_of_the_rows(path):
    text = path.read_text(encoding="utf-8")
    assert "<!-- rows " in text
    assert page.filled(text, results.FOLDER) == text, "run python -m benchmarks.page"


def run(method, seconds, scores):
    curve = Curve(method)
    for t, score in zip(seconds, scores):
        curve.add(t, score, 1, validation=score)
    return {"settings": {"method": method, "setting": "default"}, "result": {"curve": curve.to_dict()}}


def test_a_seed_that_never_gets_there_is_said():
    b = best([run("tomotopy", [5.0, 10.0], [-7.2, -7.1])])
    good, bad = run("topmix", [0.5, 1.0], [-7.15, -7.05]), run("topmix", [0.5, 1.0], [-7.3, -7.2])
    assert page.sooner(b, [good, good]) == "1.00 s, 10 times sooner"
    assert page.sooner(b, [good, bad]) == "1.00 s, 10 times sooner; 1 of 2 seeds"
    assert page.sooner(b, [bad]) == "never"
    assert page.said(b) == "tomotopy default, 10 s: −7.100"
