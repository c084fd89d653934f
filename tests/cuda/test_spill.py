"""Data larger than the device: arrays make room for each other, and nothing else changes."""

import numpy as np
import pytest

from topmix import LDA, MultinomialMixture
from topmix.data import sample_lda
from topmix.engines.cuda import Cuda
from topmix.inference import Collapsed
from topmix.learners import Memoized

from .conftest import ENGINES
from .emulated import Emulated, EmulatedDevice

CORPUS = sample_lda(60, 40, 4, doc_length=30, random_state=2).corpus
BATCHES = Memoized(batch_size=4)

FITS = {  # with the share of the memory that each is to do with
    "LDA": (LDA(4, n_active=3, inference=Collapsed(sweeps=0), learner=BATCHES, max_iter=3, tol=0.0), CORPUS, 0.55),
    "sampling": (LDA(4, inference=Collapsed(sweeps=3), learner=BATCHES, max_iter=9, tol=np.inf), CORPUS, 0.8),
    "MultinomialMixture": (MultinomialMixture(4, learner=BATCHES, max_iter=3), CORPUS, 0.9),
}


def bits(model):
    names = ("components_", "means_", "covariances_", "elbo_")
    return [np.asarray(getattr(model, name)) for name in names if hasattr(model, name)]


def fitted(model, X, memory):
    EmulatedDevice.most_bytes.clear(), EmulatedDevice.spilled.clear()
    return bits(model.set_params(engine=Emulated(memory=memory), random_state=0).fit(X))


# Ten seconds each, and arrays make room for each other alike.
@pytest.mark.parametrize("name", ["LDA", *(pytest.param(n, marks=pytest.mark.slow) for n in FITS if n != "LDA")])
def test_less_memory_changes_no_bit(name):
    model, X, share = FITS[name]
    want = fitted(model, X, None)
    most = max(EmulatedDevice.most_bytes)
    assert not any(EmulatedDevice.spilled)
    memory = int(share * most)
    for a, b in zip(fitted(model, X, memory), want):
        np.testing.assert_array_equal(a, b)
    assert max(EmulatedDevice.most_bytes) <= memory
    assert any(EmulatedDevice.spilled)


if "gpu" in ENGINES:

    def test_less_memory_of_the_gpu_changes_no_bit():
        corpus = sample_lda(3000, 300, 5, doc_length=80, random_state=1).corpus
        model = LDA(20, inference=Collapsed(sweeps=2), learner=Memoized(batch_size=100), max_iter=7, random_state=0)
        want = bits(model.set_params(engine=Cuda()).fit(corpus))  # the memo alone has 12 MB
        got = bits(model.set_params(engine=Cuda(memory=8_000_000)).fit(corpus))
        for a, b in zip(got, want):
            np.testing.assert_array_equal(a, b)


def test_topics_that_can_never_fit_are_refused_with_the_number_that_does():
    with pytest.raises(MemoryError, match=r"500 topics of 40 words need .* at most 20 topics fit"):
        LDA(500, engine=Emulated(memory=10_000)).fit(CORPUS)
