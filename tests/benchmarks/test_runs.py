"""A method is trained, scored and remembered. No peer is run here."""

import json
import time

import numpy as np
import pytest

from benchmarks.harness import datasets, machine, methods, results, runs
from benchmarks.harness.engines import TimedThreads
from benchmarks.harness.memory import PeakMemory
from benchmarks.harness.methods import ours, topmix
from benchmarks.harness.methods.method import Topics
from benchmarks.harness.stopwatch import Milestones, Stopwatch
from topmix.inference import CVB0
from topmix.learners import Asynchronous, Batch


def test_a_method_is_scored_until_its_time_is_up(tiny, monkeypatch):
    phi = np.random.default_rng(0).random((3, 40))
    asked = []

    def method(X, K, seed, threads, watch, report):
        def topics():
            asked.append(watch.seconds)
            return Topics(phi, np.full(3, X.sum() / 3), np.full(3, 0.2))

        passes = 0
        while not report(topics, passes := passes + 1, extra=7):
            time.sleep(0.005)

    monkeypatch.setitem(methods.METHODS, "sklearn", method)
    run = runs.train(runs.Plan("sklearn", "fixed", "tiny", 3, 0, 0.7, {}), datasets.load("tiny"))
    scored = run.curve.series()
    assert 2 <= len(scored) <= len(Milestones(0.7).times)  # not at every report
    assert len(asked) == len(scored) + 1  # and once more for what is measured at the end
    assert run.curve.seconds[-1] >= 0.7
    assert run.curve.last("documents") == len(run.curve) * 96
    assert run.curve.last("extra") == 7
    assert run.final["largest_share"] == pytest.approx(1 / 3)
    assert run.final["score_with_own_alpha"] != run.final["score"]
    json.dumps(run.to_dict())


def test_topmix_reports_its_topics_after_each_pass(tiny):
    seen = []

    def report(topics, n_pass, objective, **effort):
        seen.append(topics())
        return n_pass == 2

    data = datasets.load("tiny")
    topmix.topics(data.train, 3, 0, 1, Stopwatch(), report)
    assert len(seen) == 2
    np.testing.assert_allclose(seen[-1].topic_word.sum(axis=1), 1)
    assert seen[-1].tokens.sum() == pytest.approx(data.train.sum(), rel=1e-4)


@pytest.mark.parametrize("learner", ["stochastic", "memoized"])
def test_within_passes_topmix_reports_after_each_batch_and_stops_in_the_middle(tiny, learner):
    seen = []

    def report(topics, n_pass, **facts):
        seen.append((n_pass, topics().topic_word))
        return len(seen) == 3

    settings = {"learner": learner, "learner__batch_size": 20, "within_passes": True}
    topmix.topics(datasets.load("tiny").train, 3, 0, 1, Stopwatch(), report, **settings)
    assert [n for n, _ in seen] == pytest.approx([1 / 5, 2 / 5, 3 / 5])
    assert not np.array_equal(seen[0][1], seen[1][1])


def test_a_method_that_stops_by_itself_is_scored_where_it_stopped(tiny):
    settings = {"max_iter": 3}
    plan = runs.Plan("topmix", "three passes", "tiny", 3, 0, 60.0, settings, evaluator="half_split", n_docs=50)
    run = runs.train(plan, plan.data())
    assert run.curve.column("documents") == [50, 100, 150]
    assert run.curve.n_pass == [1, 2, 3]
    assert run.curve.score[-1] == run.final["score"]
    assert np.all(np.diff([v for _, v in run.curve.series("objective")][1:]) > -1e-3)


def test_a_remembered_run_is_found_only_on_the_same_machine_with_the_same_corpus_and_settings(tiny, monkeypatch):
    plan = runs.Plan("topmix", "default", "tiny", 3, 0, 0.1, {"threads": 2})
    same = runs.key(plan)
    assert runs.key(plan) == same
    for change in ({"K": 4}, {"seed": 1}, {"settings": {}}, {"seconds": 9.0}, {"split": 1}, {"role": "validation"},
                   {"evaluator": "half_split"}, {"threads": 1}, {"corpus": "generated"}):  # fmt: skip
        assert runs.key(runs.Plan(**vars(plan) | change)) != same
    monkeypatch.setattr(machine, "fingerprint", lambda: "another machine")
    assert runs.key(plan) != same


def test_ours_are_run_again_when_the_code_changes(tiny, tmp_path, monkeypatch):
    def run():
        out = results.Results(tmp_path / "out.jsonl", "a script")
        return runs.Runs(tmp_path, threads=1, own_process=False, results=out).run(
            "topmix", "default", "tiny", 3, 0, 0.1
        )

    first = run()
    assert run().curve == first.curve
    monkeypatch.setattr(runs, "version_of", lambda method: "other")
    assert run().curve != first.curve
    assert len(results.read(tmp_path / "topmix.jsonl")) == 2  # as often as it was run
    asked = results.read(tmp_path / "out.jsonl")
    assert [row["benchmark"] for row in asked] == ["a script"] * 3  # as often as it was asked for
    assert asked[0]["corpus"]["sha256"] == datasets.sha256("tiny")
    assert runs.Run.from_row(asked[0]).plan == first.plan


def test_a_run_in_its_own_process_is_the_same_run(tiny, tmp_path):
    plan = runs.Plan("topmix", "two passes", "tiny", 3, 0, 60.0, {"max_iter": 2}, threads=1)
    here = runs.train(plan, plan.data())
    there = runs.in_own_process(plan)
    assert there["final"]["score"] == here.final["score"]


def test_memory_is_watched_except_in_pauses():
    with PeakMemory(0.002) as peak:
        with peak.pause():
            hidden = np.ones(30_000_000)  # 240 MB
            time.sleep(0.05)
            del hidden
        between = peak.anonymous
        seen = np.ones(15_000_000)  # 120 MB
        time.sleep(0.3)  # many looks, even where other programs run
        del seen
    if np.isnan(between):
        pytest.skip("this system has no /proc")
    assert 100 < peak.anonymous - between < 200
    assert peak.resident >= peak.anonymous


@pytest.mark.parametrize("settings", [
    {},
    {"inference": "variational", "n_active": None, "inference__min_topic_mass": 0.0, "inference__cold_visits": None},
    {"inference": "scvb0", "inference__doc_burn_in": 2, "learner": "stochastic", "learner__batch_size": 20},
    {"inference": CVB0(), "learner": Batch()},
    {"inference": "variational", "learner": Asynchronous(tail="mean", warm_up=2)},
])  # fmt: skip
def test_settings_are_those_of_set_params(tiny, settings):
    lda = ours.lda(3, max_iter=2, tol=-np.inf, n_jobs=1, random_state=0, **settings).fit(datasets.load("tiny").train)
    set_ = lda.get_params()
    assert all(set_[name] == value for name, value in settings.items() if "__" in name)
    topics = ours.topics_of(lda)
    np.testing.assert_allclose(topics.topic_word.sum(axis=1), 1, rtol=1e-5)
    assert topics.tokens.sum() == pytest.approx(datasets.load("tiny").train.sum(), rel=0.1)


def test_a_command_line_may_have_short_names():
    assert ours.full_names({"min_topic_mass": 2}) == {"inference__min_topic_mass": 2}
    given = {"learner": "stochastic", "decay": 0.9, "inference__own_discount": 0.0, "n_active": 4}
    assert ours.full_names(given) == {
        "learner": "stochastic", "learner__decay": 0.9, "inference__own_discount": 0.0, "n_active": 4,
    }  # fmt: skip
    with pytest.raises(ValueError, match="decay"):
        ours.full_names({"decay": 0.9})  # of a learner that has none


def test_the_parts_of_a_pass_are_measured(tiny):
    engine = TimedThreads()
    ours.lda(3, engine=engine, max_iter=2, n_jobs=1, random_state=0).fit(datasets.load("tiny").train)
    assert engine.times.begin > 0
    assert engine.times.tables > 0
    assert engine.times.step > 0
