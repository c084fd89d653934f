"""A fit on the device that was interrupted and continues has the same bits as one that was not."""

import itertools

import numpy as np
import pytest

from topmix import (
    HDP,
    LDA,
    GaussianAdmixture,
    GaussianMixture,
    MultinomialMixture,
    VonMisesFisherAdmixture,
    VonMisesFisherMixture,
)
from topmix.data import sample_lda
from topmix.inference import Collapsed, Variational
from topmix.learn import sampling
from topmix.learn.checkpoint import CheckpointError
from topmix.learners import Memoized, Stochastic

CORPUS = sample_lda(16, 30, 4, doc_length=12, random_state=2).corpus
SETTINGS = {"n_active": 3, "max_iter": 5, "tol": 0.0, "random_state": 0}


class Crash(Exception):
    pass


def crash_after(n_passes):
    def callback(record, view):
        if record.n_pass == n_passes:
            raise Crash

    return [callback]


PLAIN = Collapsed(sweeps=0)
KINDS = {
    "memoized": LDA(4, inference=PLAIN, learner=Memoized(batch_size=6)),
    "rounds": LDA(4, inference=PLAIN, learner=Memoized(batch_size=5, batches_per_update=3)),
    "batch": LDA(4, inference=PLAIN, learner="batch"),
    "stream": LDA(4, learner=Stochastic(batch_size=10)),
    "variational": LDA(4, inference=Variational(cold_visits=1), doc_topic_prior="auto"),
    "sampling": LDA(4, inference=Collapsed(sweeps=3), learner=Memoized(batch_size=6)),
    "HDP": HDP(4),
}


ALIKE = ("rounds", "batch", "variational")  # what is in the file is as in the others


@pytest.mark.parametrize(
    "kind", [pytest.param(kind, marks=pytest.mark.slow if kind in ALIKE else ()) for kind in KINDS]
)
def test_an_interrupted_fit_has_the_same_bits(engine, kind, tmp_path, monkeypatch):
    monkeypatch.setattr(sampling, "FIRST_EXCHANGE", 1 / 3)
    monkeypatch.setattr(sampling, "EXCHANGE_EVERY", 1)
    settings = SETTINGS | ({"tol": np.inf, "max_iter": 12} if kind == "sampling" else {})
    model = KINDS[kind].set_params(engine=engine, callbacks=None, **settings)
    whole = model.fit(CORPUS)
    want, passes = whole.components_, [record.objective for record in whole.history_]
    for n_passes in itertools.count(1):
        model.set_params(callbacks=crash_after(n_passes))
        try:
            model.fit(CORPUS, checkpoint=tmp_path / "file")
            break
        except Crash:
            pass
    assert n_passes > len(passes) > 3
    np.testing.assert_array_equal(model.components_, want)
    assert [record.objective for record in model.history_] == passes


def test_a_checkpoint_stays_with_its_kind_of_engine(engine, tmp_path):
    for first, then in ((engine, "threads"), ("threads", engine)):
        path = tmp_path / str(first)
        LDA(4, engine=first, **SETTINGS).set_params(max_iter=2).fit(CORPUS, checkpoint=path)
        with pytest.raises(CheckpointError, match="of another engine"):
            LDA(4, engine=then, **SETTINGS).fit(CORPUS, checkpoint=path)


def test_the_search_may_change_its_engine(engine, tmp_path):
    """Its statistics are on the host."""
    settings = SETTINGS | {"max_iter": 12}
    HDP(4, engine=engine, **settings).set_params(max_iter=8).fit(CORPUS, checkpoint=tmp_path / "file")
    there = HDP(4, engine="threads", **settings).fit(CORPUS, checkpoint=tmp_path / "file")
    assert there.n_iter_ == 12


ROWS = np.random.default_rng(0).normal(size=(90, 3)).astype(np.float32)
WORDS = np.random.default_rng(0).poisson(1.0, (40, 9))
GROUPS = [np.arange(90) % 7]
CLUSTERS = {
    "full": (GaussianMixture(3), [ROWS]),
    "full, stochastic": (GaussianMixture(3, learner=Stochastic(batch_size=30)), [ROWS]),
    "tied": (GaussianMixture(3, covariance_type="tied", learner=Memoized(batch_size=30)), [ROWS]),
    "directions": (VonMisesFisherMixture(3, learner="batch"), [ROWS]),
    "words": (MultinomialMixture(4, n_active=2, learner=Memoized(batch_size=9)), [WORDS]),
    "words, all clusters": (MultinomialMixture(4, n_active=None, learner=Memoized(batch_size=9)), [WORDS]),
    "words, stochastic": (MultinomialMixture(4, learner=Stochastic(batch_size=9)), [WORDS]),
    "groups": (GaussianAdmixture(3, learner=Memoized(batch_size=3, batches_per_update=2)), [ROWS, *GROUPS]),
    "groups of directions": (VonMisesFisherAdmixture(3), [ROWS, *GROUPS]),
}


@pytest.mark.parametrize("kind", CLUSTERS)
def test_an_interrupted_fit_of_clusters_has_the_same_bits(engine, kind, tmp_path):
    model, data = CLUSTERS[kind]
    model.set_params(engine=engine, max_iter=5, tol=-1e9, random_state=0, callbacks=None)
    passes, want = [r.objective for r in model.fit(*data).history_], model.score_samples(*data)
    for n_passes in (2, 4):
        model.set_params(callbacks=crash_after(n_passes))
        with pytest.raises(Crash):
            model.fit(*data, checkpoint=tmp_path / "file")
    model.set_params(callbacks=None).fit(*data, checkpoint=tmp_path / "file")
    assert [r.objective for r in model.history_] == passes
    np.testing.assert_array_equal(model.score_samples(*data), want)


def test_words_in_clusters_stay_with_their_kind_of_engine(engine, tmp_path):
    model = MultinomialMixture(4, max_iter=2, tol=-1e9, random_state=0)
    for first, then in ((engine, "threads"), ("threads", engine)):
        path = tmp_path / str(first)
        model.set_params(engine=first, max_iter=2).fit(WORDS, checkpoint=path)
        with pytest.raises(CheckpointError, match="of another engine"):
            model.set_params(engine=then, max_iter=3).fit(WORDS, checkpoint=path)
