"""Steps on a GPU whose data and results are on the host, as workers of a cluster run them."""

import pickle
from dataclasses import dataclass

import numpy as np
import pytest

from topmix import HDP, LDA, GaussianMixture
from topmix.cuda.hosted import HostedStep
from topmix.data import sample_lda
from topmix.engines.cuda import Cuda
from topmix.engines.local import LocalWorkers, Threads, Worker
from topmix.engines.ray_engine import Ray
from topmix.inference import Collapsed
from topmix.learners import Memoized, Stochastic
from topmix.steps.documents import CVB0Step, TopicStep

CORPUS = sample_lda(40, 50, 4, doc_length=25, random_state=2).corpus


@dataclass(frozen=True, repr=False)
class Hosted(Threads):
    """A worker with a GPU, without the cluster."""

    device: Cuda | None = None

    def open(self, shards, step, threads):
        sent = pickle.loads(pickle.dumps(HostedStep(step, self.device)))
        return LocalWorkers(shards, Worker(sent, threads).step)


@pytest.mark.parametrize(
    ("estimator", "parameters"),
    [
        (LDA, {"learner": Memoized(batch_size=15), "inference": Collapsed(sweeps=0)}),
        (LDA, {"learner": "batch", "inference": "variational"}),
        (LDA, {"learner": Stochastic(batch_size=15), "inference": "variational"}),
        (HDP, {"search": None}),
    ],
    ids=str,
)
def test_a_fit_is_that_of_the_processor(engine, estimator, parameters):
    settings = {"n_active": 3, "max_iter": 3, "random_state": 0} | parameters
    want, got = estimator(4, **settings).fit(CORPUS), estimator(4, engine=Hosted(engine), **settings).fit(CORPUS)
    np.testing.assert_allclose(got.components_, want.components_, rtol=1e-3, atol=2e-3)
    np.testing.assert_allclose(got.transform(CORPUS), want.transform(CORPUS), atol=1e-4)
    assert got.score(CORPUS) == pytest.approx(want.score(CORPUS), rel=1e-5)
    again = estimator(4, engine=Hosted(engine), **settings).fit(CORPUS)
    np.testing.assert_array_equal(got.components_, again.components_)


def test_a_fit_explores(engine):
    settings = {"max_iter": 8, "random_state": 0, "inference": Collapsed(sweeps=2), "n_active": 3}
    model = LDA(4, engine=Hosted(engine), **settings).fit(CORPUS)
    assert [record.phase for record in model.history_].count("sampling") == 2
    assert model.components_.sum() == pytest.approx(CORPUS.n_tokens + 4 * 50 * model.topic_word_prior_, rel=1e-6)


def test_the_device_is_given_back(engine):
    device = engine.opened()
    step = HostedStep(TopicStep(), type("Given", (), {"opened": lambda self: device})())
    worker = Worker(step)
    worker.close()  # before it was used
    assert step._device is None


def test_what_cannot_travel_is_refused():
    with pytest.raises(ValueError, match="cannot run CVB0Step on GPUs"):
        HostedStep(CVB0Step(), Cuda())
    with pytest.raises(ValueError, match="on GPUs: they have LDA and HDP"):
        GaussianMixture(2, engine=Ray(gpus_per_worker=1)).fit(np.random.default_rng(0).normal(size=(20, 2)))
    with pytest.raises(ValueError, match="gpus_per_worker must be 0 or 1"):
        Ray(gpus_per_worker=2)
