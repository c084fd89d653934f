"""The harness itself: clocks, curves, cache, splits and the table. No peer is run here."""

import json
import sys
import time
from dataclasses import asdict
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
import scipy.sparse as sp

BENCHMARKS = Path(__file__).resolve().parents[2] / "benchmarks"
MODULES = ("curves", "datasets", "drawing", "hdp_methods", "methods", "resident", "runs", "time_to_quality")


@pytest.fixture
def bench(monkeypatch):
    """The benchmark's modules, imported as a script imports them, and forgotten afterwards."""
    monkeypatch.syspath_prepend(str(BENCHMARKS))
    before = {name: sys.modules.pop(name, None) for name in MODULES}
    yield SimpleNamespace(**{name: __import__(name) for name in MODULES})
    for name, module in before.items():
        sys.modules.pop(name, None)
        if module is not None:
            sys.modules[name] = module


@pytest.fixture
def data_folder(tmp_path, monkeypatch):
    """120 tiny documents, two of them empty, as the corpus "tiny"."""
    X = np.random.default_rng(0).poisson(0.5, (120, 40))
    X[[3, 50]] = 0
    (tmp_path / "tiny").mkdir()
    sp.save_npz(tmp_path / "tiny" / "X.npz", sp.csr_matrix(X))
    (tmp_path / "tiny" / "vocab.txt").write_text("\n".join(f"w{v}" for v in range(40)) + "\n")
    monkeypatch.setenv("TOPMIX_DATA", str(tmp_path))
    return X


def curve(bench, method="sklearn", points=(), setting="online", **kwargs):
    final = {"score": points[-1][1] if points else 0.0, "npmi": 0.1, "diversity": 0.5, "empty": 0, "duplicate": 1}
    return bench.curves.Curve(
        method, setting, "1.0", "tiny", 3, 0, 8.0, list(points), final | {"largest_share": 0.4}, **kwargs
    )


def test_the_split_is_fixed_and_covers_every_document_once(bench, data_folder):
    a, b = bench.datasets.load("tiny"), bench.datasets.load("tiny")
    assert (a.train != b.train).nnz == (a.test != b.test).nnz == 0
    assert (a.test.shape[0], a.train.shape[0]) == (11, 107)  # 10% of 118: two are empty
    np.testing.assert_array_equal(a.train.sum(axis=0) + a.test.sum(axis=0), data_folder.sum(axis=0))
    assert len(a.vocabulary) == 40


def test_validation_documents_come_out_of_the_training_ones_and_test_documents_are_in_neither(bench, data_folder):
    for split in (0, 1):
        test, validation = (bench.datasets.load("tiny", split=split, role=role) for role in ("test", "validation"))
        assert (validation.test.shape[0], validation.train.shape[0]) == (11, 96)
        rows = np.vstack([validation.test.toarray(), validation.train.toarray()])
        np.testing.assert_array_equal(rows, test.train.toarray())
    assert (bench.datasets.load("tiny", split=0).test != bench.datasets.load("tiny", split=1).test).nnz


def test_a_missing_corpus_says_where_it_was_looked_for(bench, data_folder, capsys):
    with pytest.raises(FileNotFoundError, match="set TOPMIX_DATA"):
        bench.datasets.load("absent")
    assert bench.time_to_quality.main(["--corpus", "absent"]) == 2
    assert "absent" in capsys.readouterr().err


def test_the_watch_stands_still_while_paused(bench):
    watch = bench.curves.Stopwatch()
    with watch.pause():
        time.sleep(0.2)
    assert watch() < 0.1


def test_milestones_rise_to_the_budget(bench):
    for budget in (0.1, 0.5, 3.0, 60.0):
        times = bench.curves.milestones(budget)
        assert times[-1] == budget
        assert np.all(np.diff(times) > 0)


def test_a_curve_knows_its_best_and_when_it_got_there(bench):
    c = curve(bench, points=[(1, -8.0), (2, -7.0), (4, -7.5)])
    assert c.score_at(0.5) == -np.inf
    assert c.score_at(4) == -7.0
    assert c.time_to(-7.2) == 2
    assert c.time_to(-6.0) == np.inf


def test_the_cache_finds_only_the_same_run_on_the_same_machine(bench, tmp_path):
    path = tmp_path / "results" / "peers.jsonl"
    c = curve(bench, points=[(1.0, -8.0)], settings={"threads": 2}, machine="here", calibration=0.1)
    bench.curves.Cache(path).put(c)
    cache = bench.curves.Cache(path)
    assert asdict(cache.get(c)) == asdict(c)
    for change in ({"machine": "there"}, {"K": 4}, {"version": "2"}, {"settings": {"threads": 4}}, {"budget": 9.0},
                   {"split": 1}, {"role": "validation"}, {"evaluator": "half_split"}):  # fmt: skip
        assert cache.get(bench.curves.Curve(**asdict(c) | change)) is None


def test_a_method_is_scored_until_its_time_is_up(bench, data_folder, monkeypatch):
    phi = np.random.default_rng(0).random((3, 40))
    asked = []

    def method(X, K, seed, threads, watch, report):
        def topics():
            asked.append(watch())
            return phi, np.full(3, X.sum() / 3)

        while not report(topics):
            time.sleep(0.005)

    monkeypatch.setitem(bench.methods.METHODS, "sklearn", method)
    plan = bench.methods.plan("sklearn", "online", "tiny", 3, 0, 0.7)
    data = bench.datasets.load("tiny")
    c = bench.methods.run(plan, data, threads=1)
    assert 2 <= len(asked) == len(c.points) <= len(bench.curves.milestones(0.7))  # not at every report
    assert c.points[-1][0] >= 0.7
    assert c.final["largest_share"] == pytest.approx(1 / 3)
    json.dumps(asdict(c))


def test_topmix_reports_its_topics_after_each_pass(bench, data_folder):
    seen = []

    def report(topics, documents, objective, **effort):
        seen.append(topics())
        return len(seen) == 2

    data = bench.datasets.load("tiny")
    bench.methods.topmix(data.train, 3, 0, 1, bench.curves.Stopwatch(), report)
    assert len(seen) == 2
    phi, counts = seen[-1]
    np.testing.assert_allclose(phi.sum(axis=1), 1)
    assert counts.sum() == pytest.approx(data.train.sum(), rel=1e-4)


@pytest.mark.parametrize("learner", ["stochastic", "memoized"])
def test_within_passes_topmix_reports_after_each_batch_and_stops_in_the_middle(bench, data_folder, learner):
    seen = []

    def report(topics, documents, **facts):
        seen.append((documents, topics()[0]))
        return len(seen) == 3

    data = bench.datasets.load("tiny")
    settings = {"learner": learner, "batch_size": 20, "within_passes": True}
    bench.methods.topmix(data.train, 3, 0, 1, bench.curves.Stopwatch(), report, **settings)
    assert [d for d, _ in seen] == pytest.approx([107 / 6, 2 * 107 / 6, 3 * 107 / 6])
    assert not np.array_equal(seen[0][1], seen[1][1])


def test_a_method_that_stops_by_itself_is_scored_where_it_stopped(bench, data_folder):
    settings = {"max_iter": 3, "n_docs": 50}
    plan = bench.methods.plan("topmix", "three passes", "tiny", 3, 0, 60.0, settings, evaluator="half_split")
    c = bench.methods.run(plan, bench.datasets.load("tiny"), threads=1)
    assert [entry["documents"] for entry in c.log] == [50, 100, 150]
    assert c.points[-1][0] == c.log[-1]["seconds"]
    assert np.all(np.diff([entry["objective"] for entry in c.log[1:]]) > -1e-3)


def test_ours_are_run_again_when_the_code_changes(bench, data_folder, tmp_path, monkeypatch):
    runs = bench.runs.Runs(tmp_path, threads=1, own_process=False)
    first = runs.curve("topmix", "default", "tiny", 3, 0, 0.1)
    assert runs.curve("topmix", "default", "tiny", 3, 0, 0.1) is first
    monkeypatch.setattr(bench.runs, "code_of_topmix", lambda: "other")
    assert runs.curve("topmix", "default", "tiny", 3, 0, 0.1) is not first


def test_memory_is_watched_but_for_pauses(bench):
    with bench.resident.PeakMemory(0.002) as peak:
        with peak.pause():
            hidden = np.ones(30_000_000)  # 240 MB
            time.sleep(0.05)
            del hidden
        between = peak.anonymous
        seen = np.ones(15_000_000)  # 120 MB
        time.sleep(0.05)
        del seen
    if np.isnan(between):
        pytest.skip("this system has no /proc")
    assert 100 < peak.anonymous - between < 200
    assert peak.resident >= peak.anonymous


def test_the_table_says_when_we_got_there(bench):
    ours = curve(bench, "topmix", [(0.5, -7.9), (1.0, -7.4)], "default")
    slow = curve(bench, "sklearn", [(1.0, -8.0), (4.0, -7.5)])
    fast = curve(bench, "tomotopy", [(1.0, -7.8), (8.1, -7.3)], "fixed")
    text = bench.time_to_quality.table("tiny", 3, 8.0, [ours, slow, fast])
    rows = [line.split() for line in text.splitlines()]
    assert ["4.0", "s", "sklearn", "-7.5000", "1.00", "s", "4.0"] in rows
    assert ["8.1", "s", "tomotopy", "(fixed)", "-7.3000", "not", "reached"] in rows


def test_the_table_has_the_spread_over_seeds(bench):
    runs = [curve(bench, "tomotopy", [(1.0, s)], "fixed") for s in (-7.5, -7.3, -7.4)]
    rows = [line.split() for line in bench.time_to_quality.table("tiny", 3, 8.0, runs).splitlines()]
    assert ["tomotopy", "(fixed)", "3", "-7.4000", "-7.5000", "-7.3000", "0.2000"] in rows


def test_a_method_may_be_named_with_one_setting(bench):
    parse = bench.time_to_quality.method_and_setting
    assert parse("tomotopy:fixed") == ("tomotopy", ["fixed"])
    assert len(parse("tomotopy")[1]) == 3
    with pytest.raises(Exception, match="tomotopy:nonsense"):
        parse("tomotopy:nonsense")
