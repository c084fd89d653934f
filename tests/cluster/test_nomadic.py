"""Blocks of parameters that travel between the workers of a cluster: nothing is lost, nobody has everything."""

import os
import signal

import numpy as np
import pytest

from topmix import LDA, GaussianMixture, MultinomialMixture
from topmix.data import Corpus, sample_lda
from topmix.engines.blocks import BlockError
from topmix.engines.ray_blocks import Run
from topmix.engines.ray_engine import Ray
from topmix.learners import Asynchronous

whole_round = Run.round


@pytest.fixture(scope="module")
def corpus():
    return sample_lda(300, 200, 5, doc_length=50, random_state=0).corpus


def lda(engine, **parameters):
    usual = {"n_components": 8, "learner": Asynchronous(warm_up=2), "max_iter": 6, "tol": -np.inf, "random_state": 0}
    return LDA(**usual | parameters, inference="variational", engine=engine)


def counts_of(model):
    return model.model_.words.total.counts()


def test_one_worker_repeats_itself(cluster, corpus):
    one, again = (lda(Ray(workers=1)).fit(corpus) for _ in range(2))
    Ray(workers=1).release()
    np.testing.assert_array_equal(one.components_, again.components_)
    assert [r.objective for r in one.history_] == [r.objective for r in again.history_]
    of_words = 8 * 8 * np.count_nonzero(corpus.to_scipy().sum(axis=0))
    assert 0 < one.history_[-1].workers["block_bytes"] < of_words / 4  # one block at a time


def test_several_workers_come_as_far_as_threads_and_none_has_everything(three, corpus, tmp_path):
    corpus.save(tmp_path / "corpus.topmix")
    model = lda(three).fit(Corpus.open(tmp_path / "corpus.topmix"))
    near = lda("threads", n_jobs=3).fit(corpus)
    np.testing.assert_allclose(counts_of(model).sum(axis=1), corpus.to_scipy().sum(axis=0), rtol=1e-9, atol=1e-9)
    objective, of_threads = model.history_[-1].objective, near.history_[-1].objective
    assert objective > of_threads - 0.01 * abs(of_threads)  # blocks arrive in another order each time: it may be above
    status = model.history_[-1].workers
    assert status["workers"] == 3
    assert 0 < status["block_bytes"] < 0.75 * 8 * counts_of(model).size
    assert status["added"] > 0 < status["received"]


@pytest.mark.slow  # a longer fit
def test_priors_are_learned(three, corpus):
    how = {"doc_topic_prior": "auto", "max_iter": 3}
    model, near = lda(three, **how).fit(corpus), lda("threads", n_jobs=3, **how).fit(corpus)
    assert counts_of(model).sum() == pytest.approx(corpus.n_tokens, rel=1e-9)
    np.testing.assert_allclose(model.doc_topic_prior_, near.doc_topic_prior_, rtol=0.2)


def losing(run, n_round):
    """The counts of a block are lost after the second round."""
    refs, summaries = whole_round(run, n_round)
    if n_round == 1:
        import ray

        refs[3] = ray.put(np.zeros_like(ray.get(refs[3])))
    return refs, summaries


@pytest.mark.slow  # test_nomad_protocol.py has what workers find
def test_what_a_block_lost_is_an_error_that_names_it(three, corpus, monkeypatch):
    monkeypatch.setattr(Run, "round", losing)
    with pytest.raises(BlockError, match=r"block 3 has 0\.0 counts of"):
        lda(three).fit(corpus)


@pytest.fixture
def killer(three):
    """A callback that kills a worker after the third pass, once."""
    from topmix.engines.ray_pool import pool_of

    killed = []

    def kill(record, view):
        if record.n_pass == 3 and not killed:
            killed.append(pool_of(three).peers[0].place.pid)
            os.kill(killed[0], signal.SIGKILL)

    return kill


@pytest.mark.slow  # waits for a worker to come back; test_faults.py kills one
def test_a_worker_is_killed_and_the_fit_goes_on_from_the_last_pass(three, killer, corpus, caplog):
    model = lda(three, callbacks=[killer]).fit(corpus)
    assert [record.n_pass for record in model.history_] == list(range(1, 7))
    assert counts_of(model).sum() == pytest.approx(corpus.n_tokens, rel=1e-9)
    assert model.history_[-1].objective > model.history_[2].objective
    (line,) = [r.getMessage() for r in caplog.records if r.name == "topmix.ray" and "was lost" in r.getMessage()]
    assert "workers go on from the end of pass" in line
    assert "\n" not in line


def test_ctrl_c_leaves_the_model_of_the_last_pass(three, corpus):
    def interrupt(record, view):
        if record.n_pass == 2:
            raise KeyboardInterrupt

    model = lda(three, callbacks=[interrupt])
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
def test_what_cannot_travel_is_refused(three, parameters, said):
    with pytest.raises(ValueError, match=said):
        LDA(2, inference="variational", engine=three, **{"learner": "asynchronous"} | parameters).fit(np.eye(3))


@pytest.fixture(scope="module")
def vectors():
    rng = np.random.default_rng(0)
    return rng.normal(0, 2.5, (10, 4))[rng.integers(10, size=900)] + rng.normal(size=(900, 4))


def mixture(engine, **parameters):
    usual = {"n_components": 12, "n_active": 3, "max_iter": 8, "tol": -np.inf, "random_state": 0}
    return GaussianMixture(**usual | parameters, learner="asynchronous", engine=engine)


@pytest.mark.parametrize("kind", ["full", "diag"])
def test_clusters_travel_between_workers(three, vectors, tmp_path, kind):
    np.save(tmp_path / "rows.npy", vectors)
    model = mixture(three, covariance_type=kind).fit(np.load(tmp_path / "rows.npy", mmap_mode="r"))
    near = mixture("threads", covariance_type=kind, n_jobs=1).fit(vectors)
    assert model.model_.likelihood.total.N.sum() == pytest.approx(len(vectors), rel=1e-9)
    objectives = [r.objective for r in model.history_]
    assert np.all(np.diff(objectives) > -1e-9 * abs(objectives[0]))  # coordinate ascent, whoever has which clusters
    assert objectives[-1] > objectives[0]
    assert objectives[-1] == pytest.approx(near.history_[-1].objective, rel=0.03)
    status = model.history_[-1].workers
    assert status["workers"] == 3
    everything = 8 * 12 * (1 + 2 * 4 + (10 if kind == "full" else 4))
    assert 0 < status["block_bytes"] < everything


def sparse_mixture(name, engine, **how):
    usual = {"n_active": 3, "max_iter": 8, "tol": -np.inf, "random_state": 0, "learner": "asynchronous"}
    if name == "words":
        return MultinomialMixture(24, init="documents", engine=engine, **usual | how)
    # With a prior instead of reg_covar, which belongs to no objective: that would fall now and then.
    vb = {"objective": "vb", "reg_covar": 0.0}
    return GaussianMixture(24, covariance_type="diag", engine=engine, **vb | usual | how)


@pytest.mark.slow  # dense rows travel alike
@pytest.mark.parametrize("name", ["words", "vectors"])
def test_clusters_of_sparse_rows_travel_between_workers(three, corpus, tmp_path, name):
    """Workers read their own rows of a saved corpus; a sparse table is sent as it is."""
    corpus.save(tmp_path / "c.topmix")
    rows = Corpus.open(tmp_path / "c.topmix") if name == "words" else corpus.to_scipy()[:, :30]
    model = sparse_mixture(name, three).fit(rows)
    objectives = [r.objective for r in model.history_]
    assert np.all(np.diff(objectives) > -1e-7 * abs(objectives[0]))
    assert objectives[-1] > objectives[0] + 1
    if name == "words":  # to the bit: shares are on a grid, and counts are whole numbers
        near = sparse_mixture(name, "threads", n_jobs=1).fit(corpus)
        assert objectives[-1] == pytest.approx(near.history_[-1].objective, rel=0.03)
        counts = model.model_.likelihood.total.counts()
        np.testing.assert_array_equal(counts.sum(axis=1), corpus.to_scipy().sum(axis=0))
    status = model.history_[-1].workers
    assert status["workers"] == 3
    assert 0 < status["block_bytes"] < 8 * 24 * (1 + (1 if name == "words" else 2) * rows.shape[1])


@pytest.mark.slow  # as above for topics
def test_one_worker_of_a_mixture_repeats_itself(cluster, vectors):
    one, again = (mixture(Ray(workers=1)).fit(vectors, sample_weight=np.ones(900)) for _ in range(2))
    Ray(workers=1).release()
    np.testing.assert_array_equal(one.means_, again.means_)


@pytest.mark.slow  # as above for topics
def test_a_killed_worker_loses_no_row_of_a_mixture(three, killer, vectors, caplog):
    model = mixture(three, callbacks=[killer]).fit(vectors)
    assert [record.n_pass for record in model.history_] == list(range(1, 9))
    assert model.model_.likelihood.total.N.sum() == pytest.approx(len(vectors), rel=1e-9)
    assert any("workers go on from the end of pass" in r.getMessage() for r in caplog.records)
