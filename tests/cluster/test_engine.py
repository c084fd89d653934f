"""What an engine with a cluster behind it promises besides bits."""

import subprocess
import sys

import numpy as np
import pytest

from topmix import LDA, GaussianMixture
from topmix.data import Corpus, CorpusError, sample_lda
from topmix.data.shard import Shards, in_order
from topmix.engines import ENGINES, Ray
from topmix.learners import Memoized
from topmix.local.fold_in import FoldIn
from topmix.parameters.component import from_dict


def test_settings_are_checked_and_survive_a_file():
    engine = Ray(address="auto", workers=8, cpus_per_worker=2)
    assert from_dict(engine.to_dict(), ENGINES, "engine") == engine
    assert repr(Ray()) == "Ray()"
    for bad in ({"workers": 0}, {"cpus_per_worker": 0}, {"address": 7}, {"gpus_per_worker": 1}, {"copies": 2}):
        with pytest.raises(ValueError, match=next(iter(bad))):
            Ray(**bad)


def test_ray_is_imported_when_workers_are_opened_and_not_before():
    code = "import sys, topmix, topmix.engines; topmix.LDA(engine='ray'); assert 'ray' not in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True)


def test_without_ray_the_error_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(ImportError, match=r"pip install 'topmix\[ray\]'"):
        LDA(2, engine="ray").fit(np.eye(3))


@pytest.mark.parametrize("estimator", [LDA(2, inference="variational"), GaussianMixture(2)])
def test_the_asynchronous_learner_is_refused(estimator):
    estimator.set_params(learner="asynchronous", engine="ray")
    with pytest.raises(ValueError, match=r"engine must be 'threads', got Ray\(\)"):
        estimator.fit(np.eye(3))


def test_another_cluster_than_the_connected_one_is_refused(cluster):
    for address, said in (("10.0.0.1:6379", "is connected to the cluster"), ("ray://10.0.0.1:10001", "job submit")):
        with pytest.raises(ValueError, match=said):
            LDA(2, engine=Ray(address=address)).fit(np.eye(3))


def test_an_error_of_a_worker_is_raised_as_it_was(three, tmp_path):
    path = tmp_path / "corpus"
    sample_lda(60, 30, 3, doc_length=20, random_state=0).corpus.save(path)
    corpus = Corpus.open(path)
    workers = three.open(Shards(corpus, in_order(corpus)), FoldIn(), 1)
    path.unlink()  # the driver has it mapped; workers open it
    with pytest.raises(CorpusError, match="storage that all of them see"):
        list(workers.run(None, [0]))
    workers.close()


def test_rows_of_a_saved_corpus_do_not_go_through_the_driver(three, tmp_path, monkeypatch):
    sample_lda(60, 30, 3, doc_length=20, random_state=0).corpus.save(tmp_path / "corpus")
    corpus = Corpus.open(tmp_path / "corpus")
    model = LDA(3, max_iter=2, engine=three, learner=Memoized(batch_size=10), random_state=0)
    monkeypatch.setattr(Shards, "__getitem__", lambda *_: pytest.fail("the driver made a shard"))
    model.fit(corpus)
    assert model.n_iter_ == 2


def test_workers_stay_for_the_next_call_and_end_when_released(cluster):
    import ray

    from topmix.engines.ray_pool import pool_of

    engine, X = Ray(workers=2), np.random.default_rng(0).poisson(0.5, (40, 20))
    LDA(2, max_iter=1, engine=engine).fit(X).transform(X)
    first = [peer.pid for peer in pool_of(engine).peers]
    assert len(set(first)) == 2
    assert [peer.pid for peer in pool_of(engine).peers] == first
    actor = pool_of(engine).peers[0].actor
    engine.release()
    with pytest.raises(ray.exceptions.RayActorError):
        ray.get(actor.about.remote())


def test_more_workers_than_the_cluster_has_room_for(cluster, monkeypatch, caplog):
    from topmix.engines import ray_pool

    monkeypatch.setattr(ray_pool, "MORE_SECONDS", 1.0)
    engine = Ray(workers=2, cpus_per_worker=4)
    taken = Ray(workers=6, cpus_per_worker=1)  # of twelve cores, spread: three nodes have two left each, or fewer
    X = np.random.default_rng(0).poisson(0.5, (40, 20))
    LDA(2, max_iter=1, engine=taken).fit(X)
    monkeypatch.setattr(ray_pool, "START_SECONDS", 1.0)
    with pytest.raises(RuntimeError, match="no worker of 4 CPUs could be started"):
        LDA(2, max_iter=1, engine=engine).fit(X)
    taken.release()
