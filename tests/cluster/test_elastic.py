"""Machines that join a cluster during a fit."""

import time
from collections import Counter
from contextlib import contextmanager
from types import SimpleNamespace

import numpy as np
import pytest

from benchmarks.harness.cluster import NODE, WAIT_SECONDS
from topmix import LDA
from topmix.engines import ray_actor, ray_pool
from topmix.engines.ray_engine import Ray
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
    """Adds machines, which are gone after the test."""

    class Machines:
        def __init__(self):
            self.added = []

        def add(self):
            self.added.append(cluster.add_node(**NODE))

    made = Machines()
    yield made
    for node in made.added:
        cluster.remove_node(node, allow_graceful=False)


@contextmanager
def visits():
    """(shard, worker) of all visits that are begun inside."""
    made, begin = [], RayWorkers._begin

    def watched(self, b, peer, tables):
        made.append((b, peer.number))
        return begin(self, b, peer, tables)

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

    kind = ray.remote(concurrency_groups={ray_actor.BLOCKS: 4})(ray_actor.ShardActor)
    pool = ray_pool.Pool.__new__(ray_pool.Pool)
    pool.peers = [ray_pool.Peer(i, kind.options(num_cpus=cpus).remote()) for i, cpus in enumerate((5, 1))]
    until(lambda: len(pool.alive()) == 2 or any(peer.is_alive for peer in pool.peers))
    assert [peer.is_alive for peer in pool.peers] == [False, True]
    pool.end()
    until(lambda: ray.available_resources().get("CPU") == ray.cluster_resources()["CPU"])  # nodes of others may go


@pytest.mark.slow  # the learner is another one, who is told of it in the same way
def test_topics_travel_among_those_that_are_there(cluster, saved, machines, caplog):
    engine = Ray(cpus_per_worker=NODE["num_cpus"])

    def change(record, view):
        if record.n_pass == 2:
            machines.add()
            until(lambda: pool_of(engine).look_around() or len(pool_of(engine).alive()) == 4)

    how = {"inference": "variational", "learner": Asynchronous(warm_up=2), "max_iter": 8, "callbacks": [change]}
    model = lda(engine, **how).fit(saved)
    engine.release()
    assert [record.workers["workers"] for record in model.history_] == [3, 3, 4, 4, 4, 4, 4, 4]
    assert model.history_[-1].objective > model.history_[1].objective
    assert model.model_.words.total.counts().sum() == pytest.approx(saved.n_tokens, rel=1e-9)
    assert not any("lost" in r.getMessage() for r in caplog.records if r.name == "topmix.ray")


@pytest.mark.parametrize("together", [False, True])
def test_shares_are_even_and_the_same_in_every_pass(together):
    workers = RayWorkers.__new__(RayWorkers)
    for n in range(1, 8):
        peers = [SimpleNamespace(number=i) for i in range(n)]
        for shards in (range(23), range(7, 12), [9]):
            homes = workers.homes(shards, peers, together=together)
            assert homes == workers.homes(shards, peers, together=together)
            share = Counter(peer.number for peer in homes.values())
            assert set(share.values()) <= {len(shards) // n, -(-len(shards) // n)}
        single = Counter(workers.homes([b], peers, together=together)[b].number for b in range(n))
        assert single == dict.fromkeys(range(n), 1)
