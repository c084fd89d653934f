"""A worker killed, a node removed, the driver killed, a full object store: the fit goes on, or is
continued from its checkpoint, to the same bits; and the log says in one line what happened.

benchmarks/ray_faults.py does each of these twenty times.
"""

import os
import signal
import subprocess
import sys
import textwrap
import time

import numpy as np
import pytest

from benchmarks.harness.cluster import (
    FilledStore,
    RemovedNode,
    Strangers,
    in_the_middle,
    kill_all,
    kill_one,
)
from topmix import HDP, LDA
from topmix.data import sample_lda
from topmix.engines.local import Threads
from topmix.engines.ray_engine import Ray
from topmix.engines.ray_pool import pool_of
from topmix.learners import Memoized
from topmix.steps.documents import FoldIn

from .conftest import same

LEARNER = Memoized(batch_size=30, batches_per_update=3)


def lda(engine, **parameters):
    usual = {"n_components": 12, "learner": LEARNER, "max_iter": 4, "tol": -np.inf, "random_state": 0}
    return LDA(**usual | parameters, engine=engine)


@pytest.fixture(scope="module")
def undisturbed(saved):
    return lda("threads").fit(saved)


def said(caplog):
    return [record.getMessage() for record in caplog.records if record.name == "topmix.ray"]


def test_a_worker_is_killed_in_the_middle_of_a_pass(three, saved, undisturbed, caplog):
    with in_the_middle(kill_one, at=18):
        same(lda(three).fit(saved), undisturbed)
    (line,) = [line for line in said(caplog) if "was lost" in line]
    assert "its process or its node ended" in line
    assert "\n" not in line


@pytest.mark.slow  # one worker killed in a pass is the same
def test_a_worker_is_killed_in_the_search_for_the_number_of_topics(three, saved, caplog):
    def fit(engine):
        learner = Memoized(batch_size=60, batches_per_update=2)
        return HDP(4, max_iter=14, random_state=0, learner=learner, engine=engine).fit(saved)

    with in_the_middle(kill_one, at=30):
        same(fit(three), fit("threads"))
    assert any("was lost" in line for line in said(caplog))


def test_a_worker_is_killed_while_documents_are_solved(three, saved, undisturbed, cut):
    """As `transform` and stochastic learning ask: shard by shard, in order."""
    found = []
    for engine in (Threads(), three):
        with in_the_middle(kill_one, at=5):
            workers = engine.open(cut(saved, 11), FoldIn(), 1)
            found.append([(b, folded.docs.count) for b, folded, _ in workers.run(undisturbed.model_.tables, range(11))])
            workers.close()
    for (a, x), (b, y) in zip(*found, strict=True):
        assert a == b
        np.testing.assert_array_equal(x, y)


class Deadly:
    """A local step that ends its process."""

    def __call__(self, shard, tables, memory, scratch):
        os._exit(1)


@pytest.mark.slow  # waits for workers to come back
def test_a_visit_that_ends_every_worker_is_an_error(three, saved, undisturbed, cut, monkeypatch):
    from ray import cloudpickle

    from topmix.engines import ray_workers

    monkeypatch.setattr(ray_workers, "MOST_LOST", 2)
    cloudpickle.register_pickle_by_value(sys.modules[__name__])  # workers cannot import tests
    workers = three.open(cut(saved, 3), Deadly(), 1)
    with pytest.raises(ConnectionError, match="2 workers were lost one after another in the same visit"):
        list(workers.run(undisturbed.model_.tables, range(3)))
    workers.close()
    cloudpickle.unregister_pickle_by_value(sys.modules[__name__])
    same(lda(three).fit(saved), undisturbed)


@pytest.mark.slow  # waits for workers to come back
def test_all_workers_are_killed(three, saved, undisturbed):
    with in_the_middle(kill_all, at=18):
        same(lda(three).fit(saved), undisturbed)


def started_again(peer):
    """Its process is killed, and Ray has started another one. No call of a fit fails: nobody says so."""
    import ray

    before = peer.place
    os.kill(before.pid, signal.SIGKILL)
    while True:
        try:
            if ray.get(peer.actor.about.remote()) != before:
                return before
        except ray.exceptions.RayActorError:
            time.sleep(0.1)


@pytest.mark.slow  # waits for workers to come back
def test_a_worker_is_lost_between_two_fits(three, saved, undisturbed):
    lda(three).fit(saved)
    peer = pool_of(three).peers[0]
    before = started_again(peer)
    assert peer.place == before
    assert pool_of(three).peers[0].place != before
    same(lda(three).fit(saved), undisturbed)


@pytest.fixture
def removal(cluster, three):
    """What ends a node that has a worker. Another node joins after the test, and the next one has new workers: those
    of the lost node came back anywhere, and some may still wait for what was lost with it."""
    remove = RemovedNode(cluster)
    yield remove
    remove.mend()
    three.release()


@pytest.mark.slow  # needs a copy of what the node remembers, which a busy machine has not always made by then
def test_a_node_is_removed(three, saved, undisturbed, removal, caplog):
    """With what its shards remember; the copies on other nodes go on."""
    with in_the_middle(removal, at=18):
        same(lda(three).fit(saved), undisturbed)
    assert any("was lost: its process or its node ended" in line for line in said(caplog))


@pytest.mark.slow  # as above
def test_without_copies_a_removed_node_ends_the_fit_and_the_checkpoint_continues_it(
    three, saved, undisturbed, removal, tmp_path
):
    engine, path = Ray(workers=3, copies=0), tmp_path / "checkpoint"
    with (
        in_the_middle(removal, at=42),  # the fourth pass; the checkpoint is of the second
        pytest.raises(ConnectionError, match=r"lost with its node.*checkpoint"),
    ):
        lda(engine).fit(saved, checkpoint=path, checkpoint_every=2)
    engine.release()
    same(lda(three).fit(saved, checkpoint=path, checkpoint_every=2), undisturbed)


@pytest.mark.slow  # starts two programs
def test_the_driver_is_killed_and_another_one_continues(cluster, three, saved, undisturbed, tmp_path):
    program = f"""
        import numpy as np, sys
        from topmix import LDA
        from topmix.engines import Ray
        from topmix.learners import Memoized

        def wait(record, view):
            print(record.n_pass, flush=True)
            if record.n_pass == 3:
                sys.stdin.read()  # for ever: the checkpoint of the second pass is there, that of the third is not

        engine = Ray(address={cluster.address!r}, workers=2)
        LDA(12, learner=Memoized(batch_size=30, batches_per_update=3), max_iter=4, tol=-np.inf, random_state=0,
            engine=engine, callbacks=[wait]).fit({str(saved.path)!r}, checkpoint={str(tmp_path / "checkpoint")!r})
    """
    driver = subprocess.Popen(
        [sys.executable, "-c", textwrap.dedent(program)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    for line in driver.stdout:
        if line.strip() == "3":
            break
    driver.send_signal(signal.SIGKILL)
    driver.communicate()
    passes = []
    model = lda(three, callbacks=[lambda record, view: passes.append(record.n_pass)])
    same(model.fit(saved, checkpoint=tmp_path / "checkpoint"), undisturbed)
    assert passes == [3, 4]


@pytest.mark.slow  # waits for Ray
def test_object_stores_are_full(three):
    corpus = sample_lda(400, 2000, 6, doc_length=100, random_state=0).corpus
    settings = {"n_components": 200, "max_iter": 2, "learner": Memoized(batch_size=100, batches_per_update=2)}
    fill = FilledStore()
    with in_the_middle(fill, at=6):
        model = lda(three, **settings).fit(corpus)
    fill.mend()
    np.testing.assert_array_equal(model.components_, lda("threads", **settings).fit(corpus).components_)


@pytest.mark.skipif(sys.platform != "linux", reason="/proc says which ports there are")
def test_strangers_at_every_port(three, saved, undisturbed):
    same(lda(three).fit(saved), undisturbed)  # with its workers, which have ports too
    with Strangers() as strangers:
        same(lda(three).fit(saved), undisturbed)
    assert len(strangers.ports) >= 8  # of the head, three nodes, three workers and this process
    assert len(strangers.met) >= 5


ALONE = """
import sys
import numpy as np
from topmix import LDA
from topmix.engines import Ray
from topmix.learners import Memoized

def fit():
    learner = Memoized(batch_size=30, batches_per_update=3)
    engine = Ray(address="local", workers=2)
    return LDA(12, learner=learner, max_iter=4, tol=-np.inf, random_state=0, engine=engine).fit(sys.argv[1])

fit()
print("fitted", flush=True)
sys.stdin.readline()
np.save(sys.argv[2], fit().components_)
"""


@pytest.mark.slow  # starts a cluster; the test after it has the reason
@pytest.mark.skipif(sys.platform != "linux", reason="/proc says which ports there are")
def test_a_cluster_of_our_own_listens_on_this_machine_alone_and_stands_strangers(saved, undisturbed, tmp_path):
    from ipaddress import ip_address

    program = [sys.executable, "-W", "ignore", "-c", ALONE, str(saved.path), str(tmp_path / "found.npy")]
    with subprocess.Popen(program, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as child:
        assert "fitted" in iter(lambda: child.stdout.readline().strip(), "")
        with Strangers(child.pid) as strangers:
            child.communicate("\n")
    assert child.returncode == 0
    assert len(strangers.ports) >= 5
    assert all(ip_address(address).is_loopback for address, _ in strangers.ports), strangers.ports
    assert len(strangers.met) >= 5
    np.testing.assert_array_equal(np.load(tmp_path / "found.npy"), undisturbed.components_)


def test_ray_is_asked_to_listen_on_this_machine_alone_where_it_is_started(monkeypatch):
    from types import SimpleNamespace

    from ray._private import ray_constants, services

    from topmix.engines import ray_pool

    asked = []
    monkeypatch.setattr(ray_pool, "_named", {})
    monkeypatch.setattr(ray_pool.ray, "is_initialized", lambda: False)
    monkeypatch.setattr(ray_pool.ray, "get_runtime_context", lambda: SimpleNamespace(gcs_address="127.0.0.1:7"))
    monkeypatch.setattr(ray_constants, "ENABLE_RAY_CLUSTER", True)
    monkeypatch.setattr(ray_pool.ray, "init", lambda **how: asked.append((ray_constants.ENABLE_RAY_CLUSTER, how)))
    monkeypatch.setattr(services, "canonicalize_bootstrap_address", lambda a: None if a in (None, "local") else a)
    for address in ("10.9.8.7:6379", "local", None):
        ray_pool.connect(address)
        monkeypatch.setattr(ray_pool.ray, "is_initialized", lambda: True)
        ray_pool.connect(address)  # a second fit, by the name that it was given
        if address != "local":
            with pytest.raises(ValueError, match="is connected to the cluster at"):
                ray_pool.connect("10.9.8.8:6379" if address is None else "local")
        monkeypatch.setattr(ray_pool.ray, "is_initialized", lambda: False)
    assert [open_to_others for open_to_others, _ in asked] == [True, False, False]
    assert [how.get("include_dashboard") for _, how in asked] == [None, False, False]
    assert ray_constants.ENABLE_RAY_CLUSTER
