"""What every result rests on: the parts of a corpus, the clock, curves, rows, and how a peer's setting is chosen."""

import json
import re

import numpy as np
import pytest

import papers.everything
from benchmarks import everything, page, time_to_quality
from benchmarks.harness import datasets, jobs, machine, methods, results, runner, runs
from benchmarks.harness.curve import Curve
from benchmarks.harness.methods import ours
from benchmarks.harness.methods.method import Topics
from benchmarks.harness.runs import Plan, Run
from benchmarks.harness.stopwatch import Milestones, Stopwatch
from benchmarks.peers import GROUPS, choice

pytestmark = pytest.mark.slow  # of the benchmarks alone


def documents(X):
    """Which documents of the fixture these are."""
    return set(X[:, [0]].toarray()[:, 0].astype(int).tolist())


def test_the_parts_are_disjoint_and_the_test_documents_are_the_same_in_every_split(tiny):
    splits = [datasets.load("tiny", split=split, role=role) for split in (0, 1, 7) for role in datasets.ROLES]
    test = documents(splits[0].test)
    for data in splits:
        parts = [documents(X) for X in (data.train, data.validation, data.test)]
        assert [len(part) for part in parts] == [96, 11, 11]  # 10% of 118, twice
        assert set().union(*parts) == set(range(120)) - {3, 50}
        assert parts[2] == test
    assert documents(splits[0].validation) != documents(splits[-1].validation)
    with pytest.raises(ValueError, match="training"):
        datasets.load("tiny", role="training")


def test_a_missing_corpus_says_where_it_was_looked_for(tiny, tmp_path, capsys):
    with pytest.raises(FileNotFoundError, match=f"{tmp_path}.* set TOPMIX_DATA"):
        datasets.load("absent")
    assert time_to_quality.main(["--corpus", "absent"]) == 2
    assert "absent" in capsys.readouterr().err


def test_the_watch_stands_still_while_paused():
    now = [100.0]
    watch = Stopwatch(lambda: now[0])
    now[0] += 3  # initialisation
    with watch.pause(), watch.pause():
        now[0] += 50  # evaluation
        assert watch.seconds == 3
    now[0] += 2
    assert watch.seconds == 5


def test_a_milestone_is_due_once_and_after_the_budget_always():
    due = Milestones(1.0, per_octave=1, first=0.25)  # 0.25, 0.5, 1
    assert [due.due(t) for t in (0.1, 0.3, 0.4, 0.9, 0.95, 1.0, 1.1)] == [False, True, False, True, False, True, True]


def test_a_curve_knows_its_best_and_when_it_was_there_and_survives_json():
    curve = Curve("ours")
    curve.add(1, -8.0, 0.5)
    curve.add(2, -7.0, 1, objective=-9.0)
    curve.add(3, None, 1.5, documents=30)
    curve.add(4, -7.5, 2, objective=-8.5)
    assert curve.best() == -7.0
    assert curve.best(within=1.5) == -8.0
    assert curve.time_to(-7.2) == 2
    assert curve.time_to(-6.0) == np.inf
    assert curve.series("objective", against="n_pass") == [(1, -9.0), (2, -8.5)]
    assert curve.value_at(3.5) == -7.0
    assert Curve.from_dict(json.loads(json.dumps(curve.to_dict(), allow_nan=False))) == curve


def test_a_row_has_machine_versions_commit_corpus_and_settings(tiny, tmp_path):
    path = tmp_path / "new" / "results.jsonl"
    out = results.Results(path, "passes")
    out.add({"seconds": np.float32(1.5), "all": np.arange(2), "nothing": float("nan")}, {"K": 3}, datasets.load("tiny"))
    (row,) = results.read(path)
    assert row["benchmark"] == "passes"
    assert row["machine"]["processor"] == machine.processor()
    assert row["versions"]["topmix"].endswith(f"+{machine.code_of_topmix()}")
    assert row["commit"] == machine.commit()
    assert row["corpus"] == {"name": "tiny", "sha256": datasets.sha256("tiny"), "split": 0, "role": "test"}
    assert row["settings"] == {"K": 3}
    assert row["result"] == {"seconds": 1.5, "all": [0, 1], "nothing": None}


def test_a_method_is_scored_on_both_kinds_of_documents_until_its_time_is_up(tiny, monkeypatch):
    phi = np.random.default_rng(0).random((3, 40))

    def method(X, K, seed, threads, watch, report):
        passes = 0
        while not report(lambda: Topics(phi, np.ones(3), np.full(3, 0.2)), passes := passes + 1):
            pass

    monkeypatch.setitem(methods.METHODS, "sklearn", method)
    data = datasets.load("tiny")
    curve = runs.train(Plan("sklearn", "fixed", "tiny", 3, 0, 0.5, {}), data, both=True).curve
    assert 2 <= len(curve.series()) <= len(Milestones(0.5).times) + 1  # not at every report
    assert curve.last("validation") == pytest.approx(runs.completion_score(phi, data.validation))
    own = runs.completion_score(phi, data.test, doc_topic_prior=np.full(3, 0.2))
    assert curve.last("score_own_alpha") == pytest.approx(own)


def test_a_method_that_stops_by_itself_is_scored_where_it_stopped_here_or_in_a_process_of_its_own(tiny):
    plan = Plan("topmix", "two passes", "tiny", 3, 0, 60.0, {"max_iter": 2}, threads=1, n_docs=50)
    run = runs.train(plan, plan.data())
    assert run.curve.column("documents") == [50, 100]
    assert runs.in_own_process(plan)["final"]["score"] == run.final["score"] == run.curve.score[-1]


def test_a_remembered_run_is_found_only_on_the_same_machine_with_the_same_corpus_and_settings(tiny, monkeypatch):
    plan = Plan("topmix", "default", "tiny", 3, 0, 0.1, {"threads": 2})
    same = runs.key(plan)
    assert runs.key(plan) == same
    for change in ({"K": 4}, {"seed": 1}, {"settings": {}}, {"seconds": 9.0}, {"split": 1}, {"role": "validation"},
                   {"evaluator": "half_split"}, {"threads": 1}, {"corpus": "generated"}):  # fmt: skip
        assert runs.key(Plan(**vars(plan) | change)) != same
    monkeypatch.setattr(machine, "fingerprint", lambda: "another machine")
    assert runs.key(plan) != same


def test_a_command_line_may_have_short_names():
    given = {"learner": "stochastic", "decay": 0.9, "inference__own_discount": 0.0, "min_topic_mass": 2}
    assert ours.full_names(given) == {
        "learner": "stochastic", "learner__decay": 0.9, "inference__own_discount": 0.0, "inference__min_topic_mass": 2,
    }  # fmt: skip
    with pytest.raises(ValueError, match="decay"):
        ours.full_names({"decay": 0.9})  # of a learner that has none


def row(name, *points, own=None):
    curve = Curve(name)
    for seconds, validation, test in points:
        curve.add(seconds, test, validation=validation)
    if own:
        curve.amend(curve.score[-1], validation_own_alpha=own[0], score_own_alpha=own[1])
    return {"settings": {"method": "tomotopy", "setting": name}, "result": {"curve": curve.to_dict()}}


def test_validation_documents_choose_the_setting_the_moment_and_the_prior():
    lucky = row("lucky on test", (1, -8.0, -7.0), (2, -7.9, -6.9))
    good = row("good on validation", (1, -7.6, -7.6), (2, -7.4, -7.5), (4, -7.5, -7.3))
    found = choice.best([lucky, good])
    assert found.row is good
    assert (found.validation, found.test, found.seconds) == (-7.4, -7.5, 2)
    learned = row("learned", (4, -7.5, -7.6), own=(-7.3, -7.45))
    found = choice.best([good, learned])
    assert (found.row, found.prior, found.test) == (learned, "_own_alpha", -7.45)
    assert choice.reached([lucky, good], -7.3) == [1, 4]


def test_a_seed_that_never_gets_there_is_said():
    b = choice.best([row("default", (5, -7.2, -7.2), (10, -7.1, -7.1))])
    good, bad = row("", (0.5, 0, -7.15), (1, 0, -7.05)), row("", (0.5, 0, -7.3), (1, 0, -7.2))
    assert page.sooner(b, [good, bad]) == "1.00 s, 10 times sooner; 1 of 2 seeds"
    assert page.sooner(b, [bad]) == "never"
    assert page.said(b) == "tomotopy default, 10 s: −7.100"


def test_the_table_says_when_we_got_there_and_the_spread_over_seeds():
    def run(method, setting, *points):
        curve = Curve(methods.label(method, setting))
        for seconds, score in points:
            curve.add(seconds, score)
        final = dict.fromkeys(("npmi", "diversity", "empty", "duplicate", "largest_share"), 0.1)
        return Run(Plan(method, setting, "tiny", 3, 0, 8.0, {}), curve, final | {"score": points[-1][1]})

    found = [run("topmix", "default", (0.5, -7.9), (1.0, -7.4)), run("sklearn", "fixed", (1.0, -8.0), (4.0, -7.5))]
    found += [run("tomotopy", "fixed", (8.1, s)) for s in (-7.3, -7.2)]
    rows = [line.split() for line in time_to_quality.table("tiny", 3, 8.0, found).splitlines()]
    assert ["4.0", "s", "sklearn", "(fixed)", "-7.5000", "1.00", "s", "4.0"] in rows
    assert ["tomotopy", "(fixed)", "2", "-7.2500", "-7.3000", "-7.2000", "0.1000"] in rows


@pytest.mark.parametrize("small", [True, False])
def test_jobs_have_names_of_their_own(small):
    found = [job for group in GROUPS for job in jobs.jobs_of("benchmarks.peers", group, small)]
    assert len({job.name for job in found}) == len(found)


@pytest.mark.parametrize(
    ("main", "stored", "group"),
    [(everything.main, results.FOLDER, "topics"), (papers.everything.main, papers.RESULTS, "hdp")],
    ids=["benchmarks", "papers"],
)
def test_a_small_run_leaves_the_stored_rows_as_they_are(main, stored, group, tmp_path, monkeypatch, capsys):
    ran = []

    def run(package, jobs, out, *how):
        ran.append(out)
        part = out / "parts" / f"{group}-a.jsonl"
        part.parent.mkdir(parents=True)
        part.write_text("{}\n", encoding="utf-8")
        return 0

    monkeypatch.setattr(runner, "run", run)
    monkeypatch.setattr(runner.tempfile, "tempdir", str(tmp_path))
    before = {path: path.read_bytes() for path in stored.glob("*.jsonl")}
    assert main(["--small", "--fresh", "--only", group]) == 0
    assert main(["--small", "--only", group, "--out", str(tmp_path / "mine")]) == 0
    assert {path: path.read_bytes() for path in stored.glob("*.jsonl")} == before
    assert ran[0].parent == tmp_path
    assert ran[1] == tmp_path / "mine"
    said = capsys.readouterr().out
    for out in ran:
        assert f"rows go to {out}" in said
        assert (out / f"{group}.jsonl").read_text() == "{}\n"


def test_the_runner_skips_what_would_not_end_and_collects_rows(tmp_path, capsys):
    late = jobs.Job("topics", "run", {}, seconds=1e6)
    assert runner.run("benchmarks.peers", [late], tmp_path, 2, deadline=0.0, commit=None) == 0
    assert "1 jobs were not started" in capsys.readouterr().out
    for name in ("topics_run_a", "topics_run_b"):
        (tmp_path / "parts" / f"{name}.jsonl").write_text('{"a": 1}\n')
    runner.collect(tmp_path, GROUPS)
    assert (tmp_path / "topics.jsonl").read_text() == '{"a": 1}\n' * 2


@pytest.mark.parametrize("path", page.PAGES, ids=lambda path: path.name)
def test_the_tables_of_the_pages_are_those_of_the_rows(path):
    text = path.read_text(encoding="utf-8")
    assert "<!-- rows " in text
    assert page.filled(text, results.FOLDER) == text, "run python -m benchmarks.page"


@pytest.mark.parametrize("name", ["speed.svg", "speed-dark.svg"])
def test_the_chart_is_that_of_the_rows(name):
    texts = re.findall(
        r"<text [^>]*>([^<]*)</text>", (machine.ROOT / "docs" / "img" / name).read_text(encoding="utf-8")
    )
    waits = page.waits(page.read(results.FOLDER))
    assert len(waits) > 10
    for wait in waits:
        for said in (wait.label, *wait.said()):
            assert said in texts, "run python -m benchmarks.page --draw docs/img"
