"""A fit that was interrupted and continues has the same bits as one that was not."""

from __future__ import annotations

import itertools
from dataclasses import replace

import numpy as np
import pytest

import topmix
from topmix.data import sample_lda
from topmix.engines.local import Serial
from topmix.inference import Collapsed, Variational
from topmix.learn import sampling
from topmix.learn.checkpoint import Checkpoint, CheckpointError
from topmix.learn.history import Record, TimeLimit
from topmix.learners import Memoized, Stochastic

from .conftest import N_PASSES, Crash, crash_after, lda, same

STREAM = Stochastic(batch_size=20)
KINDS = {
    "memoized, cold": {"inference": Collapsed(cold_visits=None, sweeps=0)},
    "memoized, warm": {"inference": Collapsed(cold_visits=2, sweeps=0)},
    "memoized, one batch": {"learner": Memoized(batch_size=1000)},
    "memoized, rounds": {"learner": Memoized(batch_size=12, batches_per_update=4)},
    "batch": {"learner": "batch"},
    "batch, cold": {"learner": "batch", "inference": Collapsed(cold_visits=None, sweeps=0)},
    "stochastic fixed point": {"learner": STREAM},
    "SCVB0": {"learner": STREAM, "inference": "scvb0"},
    "SCVB0, memoized": {"inference": "scvb0"},
    "variational": {"inference": Variational(restarts=1)},
    "priors learned": {"doc_topic_prior": "auto", "topic_word_prior": "auto"},
    "variational, priors learned": {"inference": "variational", "doc_topic_prior": "auto", "topic_word_prior": "auto"},
    "priors learned in a stream": {"learner": STREAM, "doc_topic_prior": "auto"},
    "topics that start again": {"n_components": 30},
    "sampling": {"inference": Collapsed(sweeps=3), "tol": np.inf, "max_iter": 12},
    "sampling, batch": {"inference": Collapsed(sweeps=2), "learner": "batch", "tol": np.inf, "max_iter": 12},
    "priors given": {"doc_topic_prior": np.linspace(0.1, 0.3, 4), "topic_word_prior": np.linspace(0.01, 0.1, 40)},
}


@pytest.fixture(scope="module", autouse=True)
def often():
    """Exchanges after the first sweep, and after the next where they paid."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sampling, "FIRST_EXCHANGE", 1 / 3)
        patch.setattr(sampling, "EXCHANGE_EVERY", 1)
        yield


@pytest.fixture(scope="module", params=KINDS)
def kind(request, corpus):
    """Parameters, and the fit that was never interrupted."""
    return KINDS[request.param], lda(**KINDS[request.param]).fit(corpus)


@pytest.mark.parametrize("n_passes", [0, 2, N_PASSES - 1])
def test_interrupted_after_a_pass(kind, corpus, n_passes, tmp_path):
    parameters, whole = kind
    path = tmp_path / "checkpoint"
    with pytest.raises(Crash):
        lda(**parameters, callbacks=[crash_after(n_passes)]).fit(corpus, checkpoint=path)
    assert path.exists() == (n_passes > 0)
    resumed = lda(**parameters, n_jobs=1, engine="serial").fit(corpus, checkpoint=path)
    same(resumed, whole)
    assert np.all(np.diff([r.seconds for r in resumed.history_]) > 0)


def test_interrupted_at_every_pass(kind, corpus, tmp_path):
    parameters, whole = kind
    for n_passes in itertools.count(1):
        try:
            last = lda(**parameters, callbacks=[crash_after(n_passes)]).fit(corpus, checkpoint=tmp_path / "file")
            break
        except Crash:
            pass
    assert n_passes == len(whole.history_)
    same(last, whole)


def test_a_checkpoint_changes_nothing(kind, corpus, tmp_path):
    parameters, whole = kind
    same(lda(**parameters).fit(corpus, checkpoint=tmp_path / "file", checkpoint_every=4), whole)


def test_a_finished_fit_is_read_back_and_may_go_on(kind, corpus, tmp_path):
    parameters, whole = kind
    short = lda(**parameters | {"max_iter": 3}).fit(corpus, checkpoint=tmp_path / "file")

    def never(record, view):
        raise AssertionError

    same(lda(**parameters, callbacks=[never]).set_params(max_iter=3).fit(corpus, checkpoint=tmp_path / "file"), short)
    same(lda(**parameters).fit(corpus, checkpoint=tmp_path / "file"), whole)


def test_it_is_written_every_so_often_and_at_the_end(corpus, tmp_path):
    path, seen = tmp_path / "file", []
    watch = [lambda record, view: seen.append(path.exists() and path.stat().st_mtime_ns)]
    lda(callbacks=watch, max_iter=5).fit(corpus, checkpoint=path, checkpoint_every=3)
    assert seen[:3] == [False] * 3
    assert seen[3] == seen[4] < path.stat().st_mtime_ns
    assert [p.name for p in tmp_path.iterdir()] == ["file"]
    with pytest.raises(ValueError, match="checkpoint_every"):
        lda().fit(corpus, checkpoint=path, checkpoint_every=0)


def test_convergence_and_callbacks_end_it_alike(corpus, tmp_path):
    whole = lda(max_iter=100, tol=1e-2).fit(corpus)
    assert whole.converged_
    stop = [lambda record, view: record.n_pass == 2]
    stopped = lda(max_iter=100, tol=1e-2, callbacks=stop).fit(corpus, checkpoint=tmp_path / "file")
    assert not stopped.converged_
    for _ in range(2):  # the second time there is nothing left to do
        same(lda(max_iter=100, tol=1e-2).fit(corpus, checkpoint=tmp_path / "file"), whole)


def test_the_first_pass_of_a_resumed_fit_did_not_take_all_the_time():
    limit = TimeLimit(10.0)
    assert not limit(Record(8, 8.0, 0.0, 4), None)
    assert not limit(Record(9, 9.0, 0.0, 4), None)
    assert limit(Record(10, 10.0, 0.0, 4), None)
    assert limit(Record(1, 6.0, 0.0, 4), None)  # of another fit


def test_without_a_seed_the_deal_is_in_the_file(corpus, tmp_path):
    """What was drawn when the fit began is what goes on, whatever would be drawn now."""
    path = tmp_path / "file"
    whole = lda(random_state=None, max_iter=2).fit(corpus, checkpoint=path)
    copy = path.read_bytes()
    on = [lda(random_state=None).fit(corpus, checkpoint=path)]
    path.write_bytes(copy)
    on.append(lda(random_state=None).fit(corpus, checkpoint=path))
    same(*on)
    assert on[0].history_[:2] == whole.history_


def test_from_a_mapped_corpus_and_edited_topics(corpus, tmp_path):
    corpus.save(tmp_path / "corpus")
    first = lda(warm_start=True).fit(tmp_path / "corpus").drop_topics([1])
    first.save(tmp_path / "model")
    whole = topmix.load(tmp_path / "model").fit(tmp_path / "corpus")
    with pytest.raises(Crash):
        first.set_params(callbacks=[crash_after(3)]).fit(tmp_path / "corpus", checkpoint=tmp_path / "file")
    same(topmix.load(tmp_path / "model").fit(tmp_path / "corpus", checkpoint=tmp_path / "file"), whole)
    with pytest.raises(CheckpointError, match="the start was"):
        topmix.load(tmp_path / "model").drop_topics([0]).set_params(n_components=2).fit(
            corpus, checkpoint=tmp_path / "file"
        )


def test_another_name_for_the_same_component_is_the_same_fit(corpus, tmp_path):
    """A string is short for the object with its defaults; and who computes changes no bit."""
    whole = lda(inference="variational").fit(corpus)
    lda(inference="variational", max_iter=2).fit(corpus, checkpoint=tmp_path / "file")
    again = lda(learner=Memoized(), inference=Variational(), engine=Serial(), n_jobs=1, verbose=0)
    same(again.fit(corpus, checkpoint=tmp_path / "file"), whole)


def test_a_checkpoint_without_the_topics_of_tokens_is_refused(corpus, tmp_path, monkeypatch):
    path, explored = tmp_path / "file", {"inference": Collapsed(sweeps=12), "tol": np.inf, "max_iter": 30}
    monkeypatch.setattr(sampling, "FIRST_EXCHANGE", 2 / 3)  # after the sweep whose checkpoint is read
    with pytest.raises(Crash):
        lda(**explored, callbacks=[crash_after(11)]).fit(corpus, checkpoint=path)
    read = Checkpoint.read

    def without_tokens(self):
        found = read(self)
        return found._replace(memory={b: replace(visit, z=None) for b, visit in found.memory.items()})

    monkeypatch.setattr(Checkpoint, "read", without_tokens)
    with pytest.raises(CheckpointError, match="lacks topics of tokens"):
        lda(**explored).fit(corpus, checkpoint=path)


@pytest.fixture
def worse(monkeypatch):
    """A corpus whose topics sampling makes worse."""
    monkeypatch.setattr(sampling, "CONCENTRATION", (1e7, 1e7))  # any token may have any topic
    return sample_lda(120, 200, 20, doc_length=50, random_state=1).corpus


SAMPLED = {"n_components": 20, "inference": Collapsed(sweeps=6), "max_iter": 12}


@pytest.mark.parametrize("n_passes", [4, 5, 9, 11])  # the last before sampling, sweeps, and the last but one
def test_a_resumed_fit_goes_back_to_the_topics_from_before_sampling(worse, n_passes, tmp_path):
    whole = lda(**SAMPLED).fit(worse)
    assert "back to pass 4" in whole.history_[-1].moves
    with pytest.raises(Crash):
        lda(**SAMPLED, callbacks=[crash_after(n_passes)]).fit(worse, checkpoint=tmp_path / "file")
    for _ in range(2):  # the second time there is nothing left to do
        same(lda(**SAMPLED).fit(worse, checkpoint=tmp_path / "file"), whole)


def test_a_fit_that_a_callback_ended_before_sampling_goes_back_too(worse, tmp_path):
    stop = [lambda record, view: record.n_pass == 4]
    lda(**SAMPLED, callbacks=stop).fit(worse, checkpoint=tmp_path / "file")
    same(lda(**SAMPLED).fit(worse, checkpoint=tmp_path / "file"), lda(**SAMPLED).fit(worse))
