"""Workers with GPUs, which are emulated: each runs kernels of its own, and returns statistics that the cluster adds."""

import sys
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest
from ray import cloudpickle

from benchmarks.harness.cluster import in_the_middle, kill_one
from tests.cuda.emulated import Emulated
from topmix import HDP, LDA
from topmix.cuda.hosted import HostedStep
from topmix.engines.local import Serial, Threads
from topmix.engines.ray_engine import Ray
from topmix.engines.ray_workers import RayWorkers
from topmix.inference import Collapsed
from topmix.learners import Memoized, Stochastic

from .conftest import same

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
        return RayWorkers(shards, hosted, self._pool(), self.cpus_per_worker, self.copies)


def lda(engine, **parameters):
    learner = Memoized(batch_size=60, batches_per_update=3)
    usual = {"n_components": 8, "learner": learner, "max_iter": 6, "tol": -np.inf, "random_state": 0, "n_active": 4}
    return LDA(**usual | {"inference": Collapsed(sweeps=0)} | parameters, engine=engine)


@pytest.fixture(scope="module", autouse=True)
def released():
    """Other tests have the cores after these."""
    yield
    for workers in (1, 3):
        RayWithGpus(workers=workers).release()


@pytest.fixture(scope="module")
def by_three(cluster, saved):
    return lda(RayWithGpus(workers=3)).fit(saved)


def test_any_number_of_workers_gives_the_same_bits(by_three, saved):
    same(lda(RayWithGpus(workers=1)).fit(saved), by_three)


def test_a_fit_is_near_that_of_one_gpu_and_of_the_processor(by_three, saved):
    for engine in (Emulated(), "threads"):
        alone = lda(engine).fit(saved)
        np.testing.assert_allclose(by_three.components_, alone.components_, rtol=1e-3, atol=1e-2)
        assert by_three.objective_ == pytest.approx(alone.objective_, rel=1e-6)


def test_a_worker_that_is_lost_changes_no_bit(by_three, saved, caplog):
    with in_the_middle(kill_one, at=14):
        same(lda(RayWithGpus(workers=3)).fit(saved), by_three)
    assert any("was lost" in record.getMessage() for record in caplog.records)


@pytest.mark.slow  # of the chain nothing is on the workers
def test_sampling_in_one_place_in_between(cluster, saved):
    parameters = {"inference": Collapsed(sweeps=2), "max_iter": 8}
    fits = [lda(RayWithGpus(workers=workers), **parameters).fit(saved) for workers in (1, 3)]
    assert "sampling" in [record.phase for record in fits[0].history_]
    same(*fits)


@pytest.mark.parametrize(
    ("estimator", "parameters"), [(LDA, {"learner": Stochastic(batch_size=60)}), (HDP, {"search": None})], ids=str
)
def test_other_learners_and_models(cluster, saved, estimator, parameters):
    got, want = (
        estimator(6, max_iter=2, n_active=4, random_state=0, engine=engine, **parameters).fit(saved)
        for engine in (RayWithGpus(workers=3), "threads")
    )
    np.testing.assert_allclose(got.components_, want.components_, rtol=1e-3, atol=1e-2)
    np.testing.assert_allclose(got.transform(saved), want.transform(saved), atol=1e-4)


def test_responses_of_documents_are_learned_on_processors():
    assert Ray(workers=2, gpus_per_worker=1).of_processors() == Ray(workers=2)
    assert Emulated().of_processors() == Threads()
    assert Serial().of_processors() == Serial()
