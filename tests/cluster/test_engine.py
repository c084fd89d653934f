"""What an engine with a cluster behind it promises besides bits."""

import inspect
import re
import subprocess
import sys
import time

import numpy as np
import pytest

from topmix import LDA
from topmix.base.component import from_dict
from topmix.corpus.shard import Shards, in_order
from topmix.data import Corpus, CorpusError, sample_lda
from topmix.engines import ENGINES
from topmix.engines.ray_engine import Ray
from topmix.learn.history import describe
from topmix.learners import Memoized
from topmix.steps.documents import FoldIn


def test_settings_are_checked_and_survive_a_file():
    engine = Ray(address="auto", workers=8, cpus_per_worker=2)
    assert from_dict(engine.to_dict(), ENGINES, "engine") == engine
    assert repr(Ray()) == "Ray()"
    wrong = {"workers": 0, "cpus_per_worker": 0, "address": 7, "gpus_per_worker": 2, "copies": 2}
    wrong["start_seconds"] = 0
    for bad in ({name: value} for name, value in wrong.items()):
        with pytest.raises(ValueError, match=next(iter(bad))):
            Ray(**bad)


def test_every_setting_has_its_effect(cluster):
    import ray

    from topmix.engines.ray_pool import pool_of

    assert list(inspect.signature(Ray).parameters) == [
        "address", "workers", "cpus_per_worker", "gpus_per_worker", "copies", "start_seconds"
    ]  # fmt: skip
    corpus = sample_lda(60, 30, 3, doc_length=20, random_state=0).corpus
    free = ray.available_resources()["CPU"]
    for copies in (0, 1):
        engine = Ray(address=cluster.address, workers=2, cpus_per_worker=2, copies=copies)
        model = LDA(3, max_iter=2, engine=engine, random_state=0).fit(corpus)
        status = model.history_[-1].workers
        assert status["workers"] == len(pool_of(engine).peers) == 2
        assert (status["copied"] > 0) == bool(copies)
        assert status["sent"] > 0 < status["received"]
        assert status["rows_per_second"] > 0 < status["worker_bytes"]
        assert ray.available_resources()["CPU"] == free - 4
        engine.release()
        while ray.available_resources()["CPU"] != free:
            time.sleep(0.1)
    assert LDA(3, max_iter=2, random_state=0).fit(corpus).history_[-1].workers == {}


def test_ray_is_imported_when_workers_are_opened_and_not_before():
    code = "import sys, topmix, topmix.engines; topmix.LDA(engine='ray'); assert 'ray' not in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True)


def test_without_ray_the_error_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(ImportError, match=r"pip install 'topmix\[ray\]'"):
        LDA(2, engine="ray").fit(np.eye(3))


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
    first = [peer.place.pid for peer in pool_of(engine).peers]
    assert len(set(first)) == 2
    assert [peer.place.pid for peer in pool_of(engine).peers] == first
    actor = pool_of(engine).peers[0].actor
    engine.release()
    with pytest.raises(ray.exceptions.RayActorError):
        ask_for_ever(actor)  # it is told to end, and does so soon


def ask_for_ever(actor):
    import ray

    while True:
        ray.get(actor.about.remote())


def test_a_worker_that_no_node_has_room_for(cluster, monkeypatch, caplog):
    from topmix.engines import ray_pool

    monkeypatch.setattr(ray_pool, "QUIET_SECONDS", 0.2)
    why = r"no worker of 5 CPUs could be started within 1 seconds: the cluster has 3 machines, the largest with 4 CPUs"
    with pytest.raises(ConnectionError, match=why):
        LDA(2, max_iter=1, engine=Ray(workers=1, cpus_per_worker=5, start_seconds=1)).fit(np.eye(3))
    said = [r.getMessage() for r in caplog.records if r.name == "topmix.ray"]
    assert said == ["no worker is there yet: waiting for room or new machines, up to 1 seconds"]


@pytest.mark.slow  # waits for Ray
def test_idle_workers_of_other_engines_give_way(cluster):
    """Workers of an engine stay, and end when another one starts its own."""
    import ray

    from topmix.engines import ray_pool

    for key in list(ray_pool._pools):
        key[1].release()
    while ray.available_resources()["CPU"] < 12:
        time.sleep(0.05)
    X = np.random.default_rng(0).poisson(0.5, (40, 20))

    def workers_of(engine, **more):
        model = LDA(2, max_iter=1, engine=engine, random_state=0, **more).fit(X)
        return model.history_[-1].workers["workers"]

    def engines():
        return {pool.engine for pool in ray_pool._pools.values()}

    first = Ray(workers=1, cpus_per_worker=4, start_seconds=10)
    assert (workers_of(first), engines()) == (1, {first})
    all_of_it = Ray(cpus_per_worker=4)
    assert (workers_of(all_of_it), engines()) == (3, {all_of_it})  # as many as fit
    seen = []

    def ask_another(record, view):
        with pytest.raises(ConnectionError, match=r"at work: 3 of Ray\(cpus_per_worker=4\); all others belong to"):
            view.fitted().set_params(engine=first).transform(X)
        seen.append(record.n_pass)

    workers_of(all_of_it, callbacks=[ask_another])
    assert (seen, engines()) == ([1], {all_of_it})  # those at work stay
    assert (workers_of(first), engines()) == (1, {first})
    first.release()


def test_the_command_fits_on_a_cluster_and_says_how_it_goes(cluster, tmp_path):
    sample_lda(200, 60, 3, doc_length=20, random_state=0).corpus.save(tmp_path / "corpus.topmix")
    command = [
        sys.executable,
        "-c",
        "from topmix.apps.command import main; main()",
        "fit",
        "corpus.topmix",
        "-k",
        "3",
        "-o",
        "model",
        "--max-iter",
        "3",
    ]
    options = ["--engine", "ray", "--engine.address", cluster.address, "--engine.workers", "2"]
    subprocess.run([*command, *options, "--n-init", "1", "--quiet"], check=True, cwd=tmp_path)
    import topmix

    model = topmix.load(tmp_path / "model")
    assert model.engine == "threads"  # a file does not choose it
    assert [record.workers["workers"] for record in model.history_] == [2.0] * model.n_iter_
    said = describe(model.history_[-1], 4000.0)
    assert re.search(r"2 workers, \S+ rows/s, \S+B a pass, memory \S+B each", said)


@pytest.mark.slow  # of the benchmarks alone
def test_the_benchmark_runs(cluster, tmp_path, capsys):
    from benchmarks.harness import results
    from benchmarks.ray import main

    assert main(["--quick", "--out", str(tmp_path / "rows")]) == 0
    assert "of the throughput" in capsys.readouterr().out
    (row,) = results.read(tmp_path / "rows")
    assert row["result"]["excess"] >= 1.0
