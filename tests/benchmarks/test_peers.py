"""Settings of peers are chosen on validation documents, and jobs are what the runner can start."""

import numpy as np
import pytest

from benchmarks.harness import datasets, jobs, methods, runner, runs
from benchmarks.harness.curve import Curve
from benchmarks.harness.methods.method import Topics
from benchmarks.peers import GROUPS, choice


def row(name, *points, own=None):
    curve = Curve(name)
    for seconds, validation, test in points:
        curve.add(seconds, test, validation=validation)
    if own:
        curve.amend(curve.score[-1], validation_own_alpha=own[0], score_own_alpha=own[1])
    return {"settings": {"setting": name}, "result": {"curve": curve.to_dict()}}


def test_validation_documents_choose_the_setting_and_the_moment():
    lucky = row("lucky on test", (1, -8.0, -7.0), (2, -7.9, -6.9))
    good = row("good on validation", (1, -7.6, -7.6), (2, -7.4, -7.5), (4, -7.5, -7.3))
    found = choice.best([lucky, good])
    assert found.row is good
    assert (found.validation, found.test, found.seconds) == (-7.4, -7.5, 2)


def test_a_peers_own_prior_counts_where_it_is_better_on_validation():
    fixed, learned = row("fixed", (4, -7.4, -7.5)), row("learned", (4, -7.5, -7.6), own=(-7.3, -7.45))
    found = choice.best([fixed, learned])
    assert (found.row, found.prior, found.test) == (learned, "_own_alpha", -7.45)
    with pytest.raises(ValueError, match="no run"):
        choice.best([])


def test_seconds_to_a_score_are_those_of_test_documents():
    rows = [row("ours", (1, -7.0, -8.0), (2, -7.0, -7.2)), row("ours", (3, -7.0, -7.4))]
    assert choice.reached(rows, -7.3) == [2, np.inf]


def test_both_kinds_of_documents_are_scored_and_the_own_prior_at_the_end(tiny, monkeypatch):
    phi = np.random.default_rng(0).random((3, 40))

    def method(X, K, seed, threads, watch, report):
        passes = 0
        while not report(lambda: Topics(phi, np.ones(3), np.full(3, 0.2)), passes := passes + 1):
            pass

    monkeypatch.setitem(methods.METHODS, "sklearn", method)
    data = datasets.load("tiny")
    found = runs.train(runs.Plan("sklearn", "fixed", "tiny", 3, 0, 0.5, {}), data, both=True).curve
    assert {*found.extras} == {"documents", "validation", "validation_own_alpha", "score_own_alpha"}
    assert len(found.series("validation")) == len(found.series()) >= 2
    assert len(found.series("score_own_alpha")) == 1
    assert found.last("validation") == pytest.approx(runs.completion_score(phi, data.validation))
    assert found.last("score_own_alpha") == pytest.approx(
        runs.completion_score(phi, data.test, doc_topic_prior=np.full(3, 0.2))
    )


def test_the_evaluators_own_prior_is_not_a_learned_one():
    assert not runs.is_learned(None)
    assert not runs.is_learned(np.full(4, 0.125))
    assert runs.is_learned(np.full(4, 0.25))


@pytest.mark.parametrize("small", [True, False])
def test_jobs_have_names_of_their_own_and_functions_that_exist(small):
    found = [job for group in GROUPS for job in jobs.jobs_of("benchmarks.peers", group, small)]
    assert len({job.name for job in found}) == len(found)
    assert {job.experiment for job in found} == {"run"}
    assert all(job.threads == 2 for job in found)


def test_the_runner_skips_what_would_not_end_and_collects_rows(tmp_path, capsys):
    late = jobs.Job("topics", "run", {}, seconds=1e6)
    assert runner.run("benchmarks.peers", [late], tmp_path, 2, deadline=0.0, commit=None) == 0
    assert "1 jobs were not started" in capsys.readouterr().out
    for name in ("topics_run_a", "topics_run_b"):
        (tmp_path / "parts" / f"{name}.jsonl").write_text('{"a": 1}\n')
    runner.collect(tmp_path, GROUPS)
    assert (tmp_path / "topics.jsonl").read_text() == '{"a": 1}\n' * 2
    assert not (tmp_path / "hdp.jsonl").exists()
