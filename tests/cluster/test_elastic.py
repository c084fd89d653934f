"""Machines that join a cluster during a fit, and machines that say that they are about to go."""

import subprocess
import sys
import time
from collections import Counter
from contextlib import contextmanager
from types import SimpleNamespace

import numpy as np
import pytest

from benchmarks.harness.cluster import NODE, WAIT_SECONDS, in_the_middle
from topmix import LDA
from topmix.engines import Ray, ray_actor, ray_nomad, ray_pool
from topmix.engines.ray_pool import pool_of
from topmix.engines.ray_workers import RayWorkers
from topmix.learners import Asynchronous, Memoized

from .conftest import same

PASSES, BATCHES = 5, 12
SLOW = pytest.mark.slow  # the same by another way


def lda(engine, **parameters):
    learner = Memoized(batch_size=30, batches_per_update=4)
    usual = {"n_components": 12, "learner": learner, "max_iter": PASSES, "tol": -np.inf, "random_state": 0}
    return LDA(**usual | parameters, engine=engine)


@pytest.fixture(scope="module")
def undisturbed(saved):
    return lda("threads").fit(saved)


def until(is_so):
    deadline = time.monotonic() + WAIT_SECONDS
    while not is_so():
        assert time.monotonic() < deadline
        time.sleep(0.1)


@pytest.fixture
def machines(cluster):
    """Adds machines, which are gone after the test, and removes others, in whose place new ones come."""

    class Machines:
        added, removed = [], 0

        def add(self):
            self.added.append(cluster.add_node(**NODE))

        def drain(self, node):
            """As a script does on a machine that is told to end."""
            what = ["drain-node", "--address", cluster.address, "--node-id", node]
            why = ["--reason", "DRAIN_NODE_REASON_PREEMPTION", "--reason-message", "spot"]
            command = [sys.executable, "-m", "ray.scripts.scripts", *what, *why, "--deadline-remaining-seconds", "600"]
            subprocess.run(command, check=True, capture_output=True)

        def remove(self, node):
            (found,) = (made for made in cluster.list_all_nodes() if made.node_id == node)
            cluster.remove_node(found, allow_graceful=False)
            self.removed += 1

    made = Machines()
    yield made
    for node in made.added:
        cluster.remove_node(node, allow_graceful=False)
    for _ in range(made.removed):
        cluster.add_node(**NODE)


@contextmanager
def visits():
    """(shard, worker) of all visits that are begun inside."""
    made, begin = [], RayWorkers._begin

    def watched(self, b, peer, tables):
        made.append((b, peer.number))
        begin(self, b, peer, tables)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(RayWorkers, "_begin", watched)
        yield made


@pytest.mark.parametrize("most", [None, pytest.param(4, marks=SLOW)])
def test_a_machine_that_joins_gets_shards(cluster, saved, undisturbed, machines, monkeypatch, most):
    """All that fit, or the fourth of four for which there was no room before."""
    monkeypatch.setattr(ray_pool, "MORE_SECONDS", 3.0)
    engine = Ray(workers=most, cpus_per_worker=NODE["num_cpus"])

    def join(record, view):
        if record.n_pass == 2:
            machines.add()
            until(lambda: pool_of(engine).look_around() or len(pool_of(engine).alive()) == 4)

    with visits() as made:
        model = lda(engine, callbacks=[join]).fit(saved)
    engine.release()
    same(model, undisturbed)
    assert [record.workers["workers"] for record in model.history_] == [3, 3, 4, 4, 4]
    assert len(made) == PASSES * BATCHES
    assert Counter(peer for _, peer in made[-BATCHES:]) == dict.fromkeys(range(4), 3)  # one of each round


def test_whichever_worker_comes_first_is_seen(cluster):
    """The first of the list has no room for ever."""
    import ray

    kind = ray.remote(concurrency_groups={ray_nomad.GROUP: 4})(ray_actor.ShardActor)
    pool = ray_pool.Pool.__new__(ray_pool.Pool)
    pool.peers = [ray_pool.Peer(i, kind.options(num_cpus=cpus).remote()) for i, cpus in enumerate((5, 1))]
    until(lambda: pool._all_there(0.1) or any(peer.is_alive for peer in pool.peers))
    assert [peer.is_alive for peer in pool.peers] == [False, True]
    pool.end()
    until(lambda: ray.available_resources().get("CPU") == ray.cluster_resources()["CPU"])  # nodes of others may go


@pytest.mark.parametrize("copies", [0, pytest.param(1, marks=SLOW)])
def test_a_machine_that_is_about_to_go_hands_over_what_it_has(
    cluster, saved, undisturbed, machines, monkeypatch, caplog, copies
):
    """It goes as soon as its worker has ended, in the middle of a pass."""
    engine, gone, let_go = Ray(workers=3, copies=copies), [], RayWorkers.let_go

    def drain(workers):
        gone.append(next(p.node for p in workers.pool.alive() if p.node != cluster.head_node.node_id))
        machines.drain(gone[0])

    def remove(workers):
        let_go(workers)
        if gone and not machines.removed and all(peer.node != gone[0] for peer in workers.pool.alive()):
            machines.remove(gone[0])

    monkeypatch.setattr(RayWorkers, "let_go", remove)
    with visits() as made, in_the_middle(drain, at=BATCHES + 2):
        model = lda(engine).fit(saved)
    engine.release()
    assert machines.removed
    same(model, undisturbed)
    assert len(made) == PASSES * BATCHES
    said = [r.getMessage() for r in caplog.records if r.name == "topmix.ray"]
    assert sum("is about to go" in line for line in said) == 1
    assert not any("lost" in line for line in said if "a sum of shards" not in line)


@pytest.mark.slow  # the learner is another one, who is told of it in the same way
def test_topics_travel_among_those_that_are_there(cluster, saved, machines, caplog):
    engine = Ray(cpus_per_worker=NODE["num_cpus"])

    def change(record, view):
        if record.n_pass == 2:
            machines.add()
            until(lambda: pool_of(engine).look_around() or len(pool_of(engine).alive()) == 4)
        if record.n_pass == 4:
            machines.drain(machines.added[0].node_id)

    how = {"inference": "variational", "learner": Asynchronous(warm_up=2), "max_iter": 8, "callbacks": [change]}
    model = lda(engine, **how).fit(saved)
    engine.release()
    assert [record.workers["workers"] for record in model.history_] == [3, 3, 4, 4, 3, 3, 3, 3]
    assert model.history_[-1].objective > model.history_[1].objective
    assert model.model_.words.total.counts().sum() == pytest.approx(saved.n_tokens, rel=1e-9)
    assert not any("lost" in r.getMessage() for r in caplog.records if r.name == "topmix.ray")


@pytest.mark.parametrize("together", [False, True])
def test_shares_are_even_and_no_shard_moves_without_need(together):
    rng = np.random.default_rng(0)
    peers = [SimpleNamespace(number=i) for i in range(7)]
    workers = RayWorkers.__new__(RayWorkers)
    workers._home, workers._n_homes = {}, Counter()
    for _ in range(50):
        there = [peers[i] for i in np.flatnonzero(rng.random(7) < 0.6)] or peers
        workers.pool = SimpleNamespace(wait_for_one=lambda there=there: list(there))
        before = dict(workers._home)
        workers.find_homes(range(23), together=together)
        had, has = (Counter(peer.number for peer in home.values()) for home in (before, workers._home))
        assert {has[peer.number] for peer in there} <= {23 // len(there), -(-23 // len(there))}
        assert has == +workers._n_homes
        stayed = sum(before.get(b) is peer for b, peer in workers._home.items())
        share = sorted((had[peer.number] for peer in there), reverse=True)
        least, more = divmod(23, len(there))
        assert stayed == sum(min(n, least + (i < more)) for i, n in enumerate(share))
