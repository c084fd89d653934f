"""Blocks of parameters that travel between the workers of a cluster: nothing is lost, nobody has everything."""

import os
import signal
import sys

import numpy as np
import pytest

from topmix import LDA
from topmix.data import Corpus, sample_lda
from topmix.engines import Ray
from topmix.engines.nomad_ledger import Ledger, LedgerError, Offer, Routes, check_mass, missing
from topmix.engines.ray_nomad import Links
from topmix.engines.ray_nomads import RayNomads
from topmix.learners import Asynchronous


@pytest.fixture(scope="module")
def corpus():
    return sample_lda(300, 200, 5, doc_length=50, random_state=0).corpus


def lda(engine, **parameters):
    usual = {"n_components": 8, "learner": Asynchronous(opening=2), "max_iter": 6, "tol": -np.inf, "random_state": 0}
    return LDA(**usual | parameters, inference="variational", engine=engine)


def counts_of(model):
    return model.model_.words.total.counts()


def test_one_worker_repeats_itself_and_several_come_as_far(cluster, corpus):
    """And no worker has all blocks: the most that one has falls with every worker."""
    found, most = {}, {}
    for n in (1, 1, 2, 4):
        model = lda(Ray(workers=n)).fit(corpus)
        np.testing.assert_allclose(counts_of(model).sum(axis=1), corpus.to_scipy().sum(axis=0), rtol=1e-9, atol=1e-9)
        if n == 1 and n in found:
            np.testing.assert_array_equal(model.components_, found[1].components_)
        status = model.history_[-1].workers
        found[n], most[n] = model, status["block_bytes"]
        assert status["workers"] == n
        assert (status["added"] > 0) == (n > 1)
    for n in (1, 4):
        Ray(workers=n).release()
    whole = 8 * 8 * np.count_nonzero(counts_of(found[1]).sum(axis=1))
    assert most[4] < most[2] < most[1]
    assert most[1] == whole
    bounds = {n: model.history_[-1].objective / corpus.n_tokens for n, model in found.items()}
    near = lda("threads", n_jobs=2).fit(corpus).history_[-1].objective / corpus.n_tokens
    assert bounds[1] == pytest.approx(near, abs=0.05)
    assert min(bounds[2], bounds[4]) > near - 0.05


def test_a_saved_corpus_threads_in_a_worker_and_learned_priors(cluster, corpus, tmp_path):
    corpus.save(tmp_path / "corpus.topmix")
    engine = Ray(workers=2, cpus_per_worker=2)
    how = {"doc_topic_prior": "auto", "max_iter": 3}
    model = lda(engine, **how).fit(Corpus.open(tmp_path / "corpus.topmix"))
    engine.release()
    near = lda("threads", n_jobs=4, **how).fit(corpus)
    assert counts_of(model).sum() == pytest.approx(corpus.n_tokens, rel=1e-9)
    np.testing.assert_allclose(model.doc_topic_prior_, near.doc_topic_prior_, rtol=0.2)


class Broken(Links):
    """An offer of one block is lost, or comes twice."""

    def __init__(self, times):
        self.times, self.n = times, 0

    def send(self, actor, session, run, offer):
        self.n += 1
        for _ in range(self.times if self.n == 5 else 1):
            super().send(actor, session, run, offer)


@pytest.mark.parametrize(
    ("times", "said"), [(0, r"block \d+ was sent by worker \d .* never arrived"), (2, r"block \d+ came twice")]
)
def test_a_lost_or_doubled_block_is_an_error_that_names_it(cluster, corpus, monkeypatch, times, said):
    from ray import cloudpickle

    cloudpickle.register_pickle_by_value(sys.modules[__name__])  # workers cannot import tests
    monkeypatch.setattr(RayNomads, "links", Broken(times))
    with pytest.raises(LedgerError, match=said):
        lda(Ray(workers=2)).fit(corpus)
    cloudpickle.unregister_pickle_by_value(sys.modules[__name__])


def test_a_worker_is_killed_and_the_fit_goes_on_from_the_last_pass(cluster, corpus, caplog):
    from topmix.engines.ray_pool import pool_of

    engine = Ray(workers=2)
    killed = []

    def kill(record, view):
        if record.n_pass == 3 and not killed:
            killed.append(pool_of(engine).peers[0].pid)
            os.kill(killed[0], signal.SIGKILL)

    model = lda(engine, callbacks=[kill]).fit(corpus)
    assert [record.n_pass for record in model.history_] == list(range(1, 7))
    assert counts_of(model).sum() == pytest.approx(corpus.n_tokens, rel=1e-9)
    assert model.history_[-1].objective > model.history_[2].objective
    (line,) = [r.getMessage() for r in caplog.records if r.name == "topmix.ray" and "was lost" in r.getMessage()]
    assert "workers go on from the end of pass" in line
    assert "\n" not in line


def test_ctrl_c_leaves_the_model_of_the_last_pass(cluster, corpus):
    def interrupt(record, view):
        if record.n_pass == 2:
            raise KeyboardInterrupt

    model = lda(Ray(workers=2), callbacks=[interrupt])
    with pytest.raises(KeyboardInterrupt):
        model.fit(corpus)
    assert len(model.history_) == 2
    assert counts_of(model).sum() == pytest.approx(corpus.n_tokens, rel=1e-9)


@pytest.mark.parametrize(
    ("parameters", "said"),
    [
        ({"learner": Asynchronous(workers=2)}, r"Ray\(workers=...\) says"),
        ({"learner": Asynchronous(per_token=True)}, "needs engine='threads'"),
        ({"topic_word_prior": np.ones((2, 3))}, "same for all words"),
    ],
)
def test_what_cannot_travel_is_refused(cluster, parameters, said):
    with pytest.raises(ValueError, match=said):
        LDA(2, inference="variational", engine=Ray(workers=2), **{"learner": "asynchronous"} | parameters).fit(np.eye(3))


# The ledger alone


def offers(routes, block, n):
    return [Offer(block, visit, 1.0, None, 0) for visit in range(n)]


@pytest.mark.parametrize("P", [1, 2, 5])
def test_a_block_visits_every_worker_once_in_a_round(P):
    routes = Routes(P, 7)
    for b in range(11):
        assert sorted(routes.at(b, n) for n in range(P)) == list(range(P))
        assert routes.at(b, 0) == b % P  # dealt evenly


def test_ledgers_know_what_is_missing():
    routes = Routes(2, 0)
    ledgers = [Ledger(w, routes) for w in range(2)]
    for offer in offers(routes, 3, 4):
        worker = ledgers[routes.at(3, offer.visit)]
        worker.receive(offer)
        worker.send(3, offer.visit + 1)
    received, sent = [x.received for x in ledgers], [x.sent for x in ledgers]
    assert "block 3 was sent by worker" in missing(received, sent, routes)
    assert "(visit 4)" in missing(received, sent, routes)
    with pytest.raises(LedgerError, match="came twice: visit 2"):
        ledgers[routes.at(3, 2)].receive(Offer(3, 2, 1.0, None, 0))
    with pytest.raises(LedgerError, match="lost a visit: 6 came"):
        ledgers[routes.at(3, 6)].receive(Offer(3, 6, 1.0, None, 0))
    with pytest.raises(LedgerError, match="is another worker's"):
        ledgers[routes.at(3, 5)].receive(Offer(3, 4, 1.0, None, 0))
    with pytest.raises(LedgerError, match="but is not there"):
        ledgers[0].send(9, 1)
    with pytest.raises(LedgerError, match="block 3 changed on its way"):
        check_mass(Offer(3, 0, 2.0, None, 0), np.ones((1, 1, 1)))
