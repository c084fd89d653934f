"""Workers with GPUs, which are emulated: shards stay on their devices, and what travels is a change of the model."""

import os
import signal
import sys
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from unittest import mock

import numpy as np
import pytest
from ray import cloudpickle

from benchmarks.harness.cluster import NODE
from tests.cuda.emulated import Emulated
from topmix import HDP, LDA
from topmix.api.supervised import _of_processors
from topmix.cuda.hosted import HostedStep
from topmix.data import sample_lda
from topmix.engines import Ray, Serial, Threads, ray_calls, ray_gpu, ray_pool
from topmix.engines.ray_actor import n_bytes
from topmix.engines.ray_calls import Calls
from topmix.engines.ray_gpu import RayGpuWorkers
from topmix.inference import Collapsed
from topmix.learners import Memoized, Stochastic

from .conftest import same

SLOW = pytest.mark.slow  # the same by another way
ROOT = str(Path(__file__).parents[2])


class There:
    """Opens an emulated GPU where workers are."""

    def opened(self):
        sys.path.insert(0, ROOT)
        from tests.cuda.emulated import EmulatedDevice

        return EmulatedDevice()


cloudpickle.register_pickle_by_value(sys.modules[__name__])  # workers have no tests


@dataclass(frozen=True, repr=False)
class RayWithGpus(Ray):
    """Each worker with an emulated GPU."""

    def open(self, shards, step, threads):
        hosted = HostedStep(step, There())
        return RayGpuWorkers(shards, hosted, self._pool(), self.cpus_per_worker, self.copies)


def lda(engine, **parameters):
    learner = Memoized(batch_size=60, batches_per_update=3)
    usual = {"n_components": 8, "learner": learner, "max_iter": 6, "tol": -np.inf, "random_state": 0, "n_active": 4}
    return LDA(**usual | {"inference": Collapsed(sweeps=0)} | parameters, engine=engine)


@pytest.fixture(scope="module", autouse=True)
def released():
    """Other tests have the cores after these."""
    yield
    for workers in (1, 3):
        for copies in (0, 1):
            RayWithGpus(workers=workers, copies=copies).release()


@pytest.fixture(scope="module")
def alone(saved):
    return lda(Emulated()).fit(saved)


def test_workers_have_the_bits_of_one_gpu(cluster, saved, alone):
    model = lda(RayWithGpus(workers=3)).fit(saved)
    same(model, alone)


@contextmanager
def at_a_visit(act, number):
    """Inside, `act` is called with the worker that was given the visit with this number."""
    ask, seen = Calls.ask, []

    def watched(self, key, peer, *args, **more):
        ask(self, key, peer, *args, **more)
        if key[0] == "visit":
            seen.append(peer)
            if len(seen) == number:
                act(peer)

    with mock.patch.object(Calls, "ask", watched):
        yield
    assert len(seen) >= number


def kill(peer):
    os.kill(peer.pid, signal.SIGKILL)


@pytest.mark.parametrize("workers", [pytest.param(1, marks=SLOW), 3])
def test_a_pass_brings_changes_and_no_rows(cluster, workers):
    """Rows come once. Then each worker gets what rounds have changed, and returns what its shards change."""
    corpus = sample_lda(360, 300, 6, doc_length=200, random_state=0).corpus
    changes, made = [], RayGpuWorkers._round

    def watched(self, stats, change):
        changes.append(n_bytes(change))
        return made(self, stats, change)

    never = mock.patch.multiple(ray_gpu, MOST_MODELS=np.inf), mock.patch.multiple(ray_calls, LATE_AT_LEAST=np.inf)
    with never[0], never[1], mock.patch.object(RayGpuWorkers, "_round", watched):
        model = lda(RayWithGpus(workers=workers, copies=0)).fit(corpus)
    np.testing.assert_array_equal(model.components_, lda(Emulated()).fit(corpus).components_)
    passes = [record.workers for record in model.history_]
    assert passes[0]["sent"] > n_bytes(corpus.index) + n_bytes(corpus.value)
    documents = 6 * 8 * 8 * 5  # at most: shards, topics, bytes and arrays of what they report besides
    for n, found in enumerate(passes[2:], 2):  # before, models have pseudo-counts
        model_less_counts = 200 * 2 * workers
        one, others = sum(changes[2 * n : 2 * n + 2]), (workers - 1) * sum(changes[2 * n - 1 : 2 * n + 1])
        assert 0 < found["sent"] - one - others < model_less_counts  # one was asked for the objective of this pass
        assert 0 < found["received"] - sum(changes[2 * n : 2 * n + 2]) < documents
        assert found["added"] == found["copied"] == 0.0


@pytest.mark.parametrize("number", [pytest.param(2, marks=SLOW), 14, pytest.param(26, marks=SLOW)])
def test_a_worker_that_is_lost_is_replaced(cluster, saved, alone, caplog, number):
    """Before anything was saved, and after that."""
    with at_a_visit(kill, number):
        model = lda(RayWithGpus(workers=3)).fit(saved)
    same(model, alone)
    assert any("was lost" in record.getMessage() for record in caplog.records)


@pytest.mark.slow  # a worker that is lost is the same
def test_a_node_that_is_lost_costs_visits(cluster, saved, alone):
    """What was saved has a copy on another node."""

    def remove(peer):
        head = cluster.head_node.node_id
        node = next(n for n in cluster.list_all_nodes() if n.node_id != head)
        cluster.remove_node(node, allow_graceful=False)

    try:
        with at_a_visit(remove, 20), mock.patch.multiple(ray_gpu, MOST_ROUNDS=2):
            model = lda(RayWithGpus(workers=3)).fit(saved)
    finally:
        cluster.add_node(**NODE)
    np.testing.assert_array_equal(model.components_, alone.components_)


def test_shards_move(cluster, saved, alone):
    """Homes change between all rounds, to workers that have the shard's rows or not."""
    turn = [0]

    def moved(self, shards, *, together):
        turn[0] += 1
        order = sorted(self.pool.peers, key=lambda peer: (peer.number + turn[0]) % 3)
        before = {b: self._home[b] for b in shards if self._visits.get(b)}
        for b in shards:
            self.move(b, order[b % 3])
        if turn[0] % 2:
            self.save([b for b, peer in before.items() if peer is not self._home[b]], before)

    with mock.patch.object(RayGpuWorkers, "find_homes", moved):
        model = lda(RayWithGpus(workers=3)).fit(saved)
    same(model, alone)


@pytest.mark.parametrize(
    "parameters",
    [
        pytest.param({"learner": "batch", "inference": "variational"}, marks=SLOW),
        pytest.param({"learner": "batch", "inference": Collapsed(sweeps=2)}, marks=SLOW),
        {"doc_topic_prior": "auto", "topic_word_prior": "auto"},
    ],
    ids=str,
)
def test_every_schedule_has_the_bits_of_one_gpu(cluster, saved, parameters):
    model, alone = (lda(engine, **parameters).fit(saved) for engine in (RayWithGpus(workers=3), Emulated()))
    same(model, alone)


@pytest.mark.slow  # its chain is not on the workers
def test_sampling_in_one_place_in_between(cluster, saved):
    """Its chain is on the processor. Workers continue from what it gives them, and a lost one does too."""
    parameters = {"inference": Collapsed(sweeps=2), "max_iter": 8}
    alone = lda(RayWithGpus(workers=3), **parameters).fit(saved)
    assert "sampling" in [record.phase for record in alone.history_]
    with at_a_visit(kill, 24):
        model = lda(RayWithGpus(workers=3), **parameters).fit(saved)
    same(model, alone)


@pytest.mark.slow  # tests/cuda/test_checkpoints.py has it without Ray
def test_a_checkpoint_continues_on_either_engine(cluster, saved, alone, tmp_path):
    engines = RayWithGpus(workers=3), Emulated()
    for i, first in enumerate(engines):
        path = tmp_path / f"{i}.ckpt"
        lda(first, max_iter=3).fit(saved, checkpoint=path)
        for j, then in enumerate(engines):
            copy = tmp_path / f"{i}{j}.ckpt"
            copy.write_bytes(path.read_bytes())
            model = lda(then).fit(saved, checkpoint=copy)
            np.testing.assert_array_equal(model.components_, alone.components_)


def test_what_stays_on_hosts(cluster, saved):
    """Stochastic learning and HDP have tables and statistics on the host."""
    for estimator, parameters in ((LDA, {"learner": Stochastic(batch_size=60)}), (HDP, {"search": None})):
        got, want = (
            estimator(6, max_iter=2, n_active=4, random_state=0, engine=engine, **parameters).fit(saved)
            for engine in (RayWithGpus(workers=3), "threads")
        )
        np.testing.assert_allclose(got.components_, want.components_, rtol=1e-3, atol=1e-2)
        np.testing.assert_allclose(got.transform(saved), want.transform(saved), atol=1e-4)


def test_batches_of_a_stream(cluster, saved):
    got, want = (lda(engine).partial_fit(saved).partial_fit(saved) for engine in (RayWithGpus(workers=3), Emulated()))
    np.testing.assert_allclose(got.components_, want.components_, rtol=1e-6, atol=1e-5)


def test_a_node_that_is_about_to_go_hands_over_what_it_has(cluster, saved, alone, caplog):
    """Its worker ends once all is elsewhere, and nothing is lost."""
    leaving = set()

    def drain(peer):
        leaving.add(peer.node)

    engine, goes = RayWithGpus(workers=3), mock.patch.object(ray_pool.Pool, "let_go", autospec=True)
    with mock.patch.multiple(ray_pool, draining=leaving.copy, LOOK_SECONDS=0), at_a_visit(drain, 14), goes as let_go:
        model = lda(engine).fit(saved)
    engine.release()
    same(model, alone)
    assert let_go.called
    assert sum(record.workers["copied"] for record in model.history_) > 0
    assert not any("lost" in record.getMessage() for record in caplog.records)


def test_responses_of_documents_are_learned_on_processors():
    assert _of_processors(Ray(workers=2, gpus_per_worker=1)) == Ray(workers=2)
    assert _of_processors(Emulated()) == Threads()
    assert _of_processors(Serial()) == Serial()
