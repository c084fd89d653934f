"""Fits with engine="cuda" are those of the processor, within rounding."""

import contextlib
import copy
import gc
import itertools
import sys
from dataclasses import replace

import numpy as np
import pytest

from topmix import HDP, LDA, LabelledLDA, SupervisedLDA
from topmix.corpus.shard import Shards
from topmix.cuda.shard import CorpusOnDevice
from topmix.data import sample_lda
from topmix.engines.cuda import Cuda
from topmix.engines.local import Threads
from topmix.inference import Collapsed, Variational
from topmix.learners import Batch, Memoized, State, Stochastic
from topmix.priors import ByGroup, Covariates
from topmix.steps.documents import TopicStep

from .emulated import Emulated, EmulatedDevice

CORPUS = sample_lda(40, 50, 4, doc_length=25, random_state=2).corpus  # no document of it sits on an edge
SETTINGS = {"n_active": 3, "max_iter": 2, "tol": 0.0, "random_state": 0}


def fitted(**parameters):
    return LDA(4, **(SETTINGS | parameters)).fit(CORPUS)


FITS = [
    {"learner": Memoized(batch_size=9, batches_per_update=3)},
    {"learner": Stochastic(batch_size=15, decay=0.9), "max_iter": 2},
    {"doc_topic_prior": "auto", "inference": "variational", "learner": "batch"},
    {"inference": Collapsed(restarts=2, selection="often"), "learner": Memoized(batch_size=15)},
]
MORE_FITS = [  # through the same kernels, with other settings
    {"learner": Memoized(batch_size=9)},
    {"learner": "batch", "inference": Collapsed(own_discount=0.0, min_topic_mass=0.5)},
    {"inference": Variational(cold_visits=1), "learner": Memoized(batch_size=15)},
    {"inference": Variational(stopping="mean", doc_tol=1e-3), "learner": "batch"},
    {"doc_topic_prior": "auto", "topic_word_prior": "auto", "learner": "batch"},
    {"init": "random", "learner": Memoized(batch_size=15)},
    {"topic_word_prior": np.random.default_rng(0).uniform(0.01, 0.1, (4, 50)), "learner": "batch"},
    {"inference": Variational(restarts=2), "learner": "batch"},
]


@pytest.mark.parametrize("parameters", [*FITS, *(pytest.param(x, marks=pytest.mark.slow) for x in MORE_FITS)], ids=str)
def test_a_fit_is_that_of_the_processor(engine, parameters):
    want, got = fitted(**parameters), fitted(engine=engine, **parameters)
    np.testing.assert_allclose(got.components_, want.components_, rtol=1e-3, atol=2e-3)
    for name in ("objective", "terms", "effort"):
        for a, b in zip(got.history_, want.history_):
            assert getattr(a, name) == pytest.approx(getattr(b, name), rel=1e-5, abs=1e-3)
    np.testing.assert_allclose(got.doc_topic_prior_, want.doc_topic_prior_, rtol=1e-4)
    np.testing.assert_allclose(got.topic_word_prior_, want.topic_word_prior_, rtol=1e-4)
    np.testing.assert_allclose(got.transform(CORPUS), want.transform(CORPUS), atol=1e-4)
    assert got.score(CORPUS) == pytest.approx(want.score(CORPUS), rel=1e-5)
    assert got.perplexity(CORPUS) == pytest.approx(want.perplexity(CORPUS), rel=1e-5)


@pytest.mark.parametrize(
    "parameters", [{"learner": Memoized(batch_size=15)}, {"inference": "variational", "learner": "batch"}], ids=str
)
def test_covariates_are_those_of_the_processor(engine, parameters):
    """Without sweeps: priors of single documents have no sampler on the device."""
    frame = {"group": ["a", "b"] * 20, "x": np.linspace(-1, 1, 40).tolist()}
    sweepless = {"doc_topic_prior": Covariates("group + x"), "max_iter": 3}
    want, got = (
        LDA(4, **(SETTINGS | sweepless | parameters | more)).fit(CORPUS, metadata=frame)
        for more in ({}, {"engine": engine})
    )
    np.testing.assert_allclose(got.components_, want.components_, rtol=1e-3, atol=2e-3)
    np.testing.assert_allclose(got.effects()["estimate"], want.effects()["estimate"], atol=1e-3)
    assert np.ptp(want.effects()["estimate"]) > 0.1
    for a, b in zip(got.history_, want.history_, strict=True):
        assert a.objective == pytest.approx(b.objective, rel=1e-5)
    np.testing.assert_allclose(got.transform(CORPUS, metadata=frame), want.transform(CORPUS, metadata=frame), atol=1e-4)
    np.testing.assert_allclose(got.transform(CORPUS), want.transform(CORPUS), atol=1e-4)
    assert got.score(CORPUS, metadata=frame) == pytest.approx(want.score(CORPUS, metadata=frame), rel=1e-5)
    assert got.score(CORPUS) == pytest.approx(want.score(CORPUS), rel=1e-5)


def test_versions_come_apart_on_the_processor(engine):
    frame = {"group": ["a", "b"] * 20}
    settings = SETTINGS | {"topic_word_prior": ByGroup("group"), "inference": "variational"}
    want, got = (LDA(4, engine=each, **settings).fit(CORPUS, metadata=frame) for each in ("threads", engine))
    np.testing.assert_allclose(got.topic_word_of("b"), want.topic_word_of("b"), rtol=1e-2, atol=1e-4)
    assert got.history_[-1].phase == "versions"
    with pytest.raises(ValueError, match="no kernel for labels"):
        LabelledLDA(engine=engine).fit(CORPUS, frame["group"])


def test_responses_are_learned_on_the_processor(engine):
    y = np.arange(40) % 2
    settings = {"inference": "variational", "response_weight": 3.0, "max_iter": 2, "random_state": 0}
    want, got = (SupervisedLDA(4, engine=each, **settings).fit(CORPUS, y) for each in ("threads", engine))
    np.testing.assert_allclose(got.components_, want.components_, rtol=1e-2, atol=1e-2)
    np.testing.assert_array_equal(got.predict(CORPUS), want.predict(CORPUS))


def test_a_fit_has_the_same_bits_in_every_run(engine):
    orders = [Emulated(order=n) for n in (0, 5)] if isinstance(engine, Emulated) else [engine] * 2
    first, *others = [fitted(engine=each) for each in orders]
    for other in others:
        np.testing.assert_array_equal(first.components_, other.components_)
        assert first.history_[-1].terms == other.history_[-1].terms


def test_memoized_with_one_shard_is_batch_bit_for_bit(engine):
    shards = Shards(CORPUS, [slice(0, 40)])
    found = []
    for learner in (Memoized(), Batch()):
        model = LDA(4, **SETTINGS)._empty_model(50)
        raw = np.random.default_rng(0).gamma(1.0, 1.0, (50, 4))
        model = replace(model, words=model.words.update(type(model.words.total).of(raw)))
        workers = engine.open(shards, TopicStep(2), 1)
        passes = learner.passes(workers.place(model), workers, State())
        found.append([m.on_host().words.total.raw for m, _, _ in itertools.islice(passes, 3)])
        workers.close()
    np.testing.assert_array_equal(*found)


def test_what_was_added_can_be_taken_out_exactly(engine):
    model = fitted().model_
    workers = engine.open(Shards(CORPUS, [slice(0, 15), slice(15, 40)]), TopicStep(), 1)
    placed = workers.place(model)
    before = placed.words.total.on_host().raw
    (_, a, _), (_, b, _) = workers.run(placed.tables, [0, 1])
    total = placed.words.total
    total.add(a.S).add(b.S)
    assert not np.array_equal(total.on_host().raw, before)
    assert total.on_host().raw.sum() == before.sum() + CORPUS.n_tokens
    total.add(b.S, -1.0).add(a.S, -1.0)
    np.testing.assert_array_equal(total.on_host().raw, before)
    workers.close()


def test_a_total_that_is_scaled_often_keeps_its_counts(engine):
    model = fitted().model_
    workers = engine.open(Shards(CORPUS, [slice(0, 40)]), TopicStep(), 1)
    total, want = workers.place(model).words.total, copy.deepcopy(model.words.total)
    for _ in range(40):
        total.scale(0.7), want.scale(0.7)
    np.testing.assert_allclose(total.on_host().raw * 1e6, want.counts() * 1e6, atol=2.0)
    np.testing.assert_allclose(total.totals, want.totals)
    workers.close()


def test_seeds_favour_their_words(engine):
    parameters = {"learner": "batch", "topic_word_prior": 0.05}
    want, got = LDA(4, **SETTINGS, **parameters), LDA(4, engine=engine, **SETTINGS, **parameters)
    for model in (want, got):
        model.init = np.random.default_rng(1).gamma(1.0, 1.0, (4, 50))
        model.fit(CORPUS)
    np.testing.assert_allclose(got.components_, want.components_, rtol=1e-3, atol=2e-3)


def test_partial_fit_is_that_of_the_processor(engine):
    want, got = LDA(4, **SETTINGS), LDA(4, engine=engine, **SETTINGS)
    for rows in (slice(0, 20), slice(20, 40)):
        want.partial_fit(CORPUS[rows]), got.partial_fit(CORPUS[rows])
    np.testing.assert_allclose(got.components_, want.components_, rtol=1e-3, atol=2e-3)


def test_callbacks_see_the_model(engine):
    seen = []

    def look(record, view):
        seen.append((view.fitted().transform(CORPUS), view.counts().sum(), view.weights.sum()))

    fitted(engine=engine, callbacks=[look], max_iter=2)
    assert len(seen) == 2
    for theta, tokens, weights in seen:
        assert theta.shape == (40, 4)
        assert tokens == CORPUS.n_tokens
        assert weights == pytest.approx(1.0)


def test_documents_without_words_are_no_error(engine):
    X = CORPUS.to_scipy().toarray()
    X[3] = 0
    want, got = LDA(4, **SETTINGS).fit(X), LDA(4, engine=engine, **SETTINGS).fit(X)
    np.testing.assert_allclose(got.transform(X), want.transform(X), atol=1e-4)
    assert got.score(X) == pytest.approx(want.score(X), rel=1e-5)


@pytest.mark.parametrize(
    ("estimator", "said"),
    [
        (LDA(40, n_active=None), "at most 32 topics of a word"),
        (LDA(4, inference="cvb0"), "it has LDA and HDP with inference='collapsed' or 'variational'"),
        (LDA(4, inference="scvb0"), "cannot run SCVB0Step"),
    ],
    ids=str,
)
def test_what_there_is_no_kernel_for_is_refused(estimator, said):
    with pytest.raises(ValueError, match=said):
        estimator.set_params(engine=Emulated(), random_state=0).fit(CORPUS)


class FakeCuPy:
    """A CuPy whose driver or devices are missing."""

    class CUDARuntimeError(Exception):
        pass

    def __init__(self, count):
        self.cuda = self.runtime = self
        self.count = count

    def getDeviceCount(self):
        if isinstance(self.count, str):
            raise self.CUDARuntimeError(self.count)
        return self.count


@pytest.mark.parametrize(
    ("cupy", "error", "said"),
    [
        (None, ImportError, r"needs CuPy .*: pip install 'topmix\[cuda\]'"),
        (FakeCuPy("cudaErrorInsufficientDriver: too old"), RuntimeError, "needs NVIDIA's driver"),
        (FakeCuPy("cudaErrorNoDevice: no device"), RuntimeError, "needs an NVIDIA GPU, and there is none"),
        (FakeCuPy(0), RuntimeError, "needs an NVIDIA GPU, and there is none"),
        (FakeCuPy(1), RuntimeError, "there is no device 3; this machine has 1"),
    ],
)
def test_what_is_missing_is_said(cupy, error, said, monkeypatch):
    monkeypatch.setitem(sys.modules, "cupy", cupy)
    model = LDA(4, engine=Cuda(device=3))
    with pytest.raises(error, match=said):
        model.fit(CORPUS)
    model.set_params(engine=Threads(), max_iter=1).fit(CORPUS)  # still usable


class StopHere(Exception):
    pass


def stops(record, view):
    raise StopHere


@pytest.mark.parametrize("is_interrupted", [False, True])
def test_a_fit_leaves_nothing_on_the_device(is_interrupted):
    """At once, without the garbage collector: the next fit needs the memory."""
    EmulatedDevice.arrays.clear()
    gc.collect()
    gc.disable()
    try:
        model = LDA(4, engine=Emulated(), **SETTINGS)
        if is_interrupted:
            with contextlib.suppress(StopHere):
                model.set_params(callbacks=[stops]).fit(CORPUS)
            model.set_params(callbacks=None)
        else:
            model.fit(CORPUS)
        assert len(EmulatedDevice.arrays) > 50
        assert [made().shape for made in EmulatedDevice.arrays if made() is not None] == []
        model.fit(CORPUS).transform(CORPUS)
        assert [made().shape for made in EmulatedDevice.arrays if made() is not None] == []
    finally:
        gc.enable()


def test_settings_are_checked():
    for settings in ({"device": -1}, {"memory": 0}):
        with pytest.raises(ValueError, match=next(iter(settings))):
            Cuda(**settings)


@pytest.mark.parametrize(
    "parameters",
    [
        {"search": None},
        {"search": None, "inference": Variational(restarts=0)},
        {"search": None, "learner": Stochastic(batch_size=15), "doc_topic_prior": "auto"},
        {"max_iter": 24},  # births, splits and mergers
    ],
    ids=str,
)
def test_an_hdp_is_that_of_the_processor(engine, parameters):
    settings = {"n_active": 3, "random_state": 0, "max_iter": 2} | parameters
    want, got = HDP(4, **settings).fit(CORPUS), HDP(4, engine=engine, **settings).fit(CORPUS)
    assert [list(record.moves) for record in got.history_] == [list(record.moves) for record in want.history_]
    assert got.elbo_ == pytest.approx(want.elbo_, rel=1e-6)
    np.testing.assert_allclose(got.components_, want.components_, rtol=1e-3, atol=2e-3)
    np.testing.assert_allclose(got.transform(CORPUS), want.transform(CORPUS), atol=1e-4)
    assert got.score(CORPUS) == pytest.approx(want.score(CORPUS), rel=1e-5)


@pytest.mark.parametrize("rows", [slice(0, 40), slice(5, 5), np.array([3, 7, 8, 39]), np.arange(0, 40, 3)], ids=str)
def test_a_shard_that_the_device_made_is_that_of_the_processor(engine, rows):
    device, shards = engine.opened(), Shards(CORPUS, [slice(0, 2), rows])
    want, got = shards[1], CorpusOnDevice(CORPUS, device).shard(rows, 1)
    np.testing.assert_array_equal(got.cols.host, want.cols)
    np.testing.assert_array_equal(got.lengths, want.lengths)
    assert (got.cols.host.dtype, got.lengths.dtype) == (want.cols.dtype, want.lengths.dtype)
    for name in ("indptr", "index", "value"):
        np.testing.assert_array_equal(device.get(getattr(got, name)), getattr(want, name))
    assert (got.number, got.n_rows) == (want.number, want.n_rows)
    device.close()


def test_a_corpus_without_room_is_dealt_by_the_processor(monkeypatch):
    shards, device = Shards(CORPUS, [slice(0, 40)]), EmulatedDevice(memory=40 * CORPUS.nnz)
    assert CorpusOnDevice.of(shards, device) is None
    monkeypatch.setattr(CorpusOnDevice, "of", lambda shards, device: None)
    here = fitted(engine=Emulated()).components_
    monkeypatch.undo()
    np.testing.assert_array_equal(fitted(engine=Emulated()).components_, here)


@pytest.mark.slow  # seven seconds
def test_an_hdp_with_restarts_is_near_that_of_the_processor(engine):
    """Whether it is better without a topic of a millionth of a token is decided by rounding."""
    settings = {"n_active": 3, "random_state": 0, "max_iter": 3, "search": None, "inference": "variational"}
    want, got = HDP(4, **settings).fit(CORPUS), HDP(4, engine=engine, **settings).fit(CORPUS)
    assert got.elbo_ == pytest.approx(want.elbo_, rel=1e-5)
    np.testing.assert_allclose(got.components_, want.components_, rtol=0.01, atol=0.1)
    for a, b in zip(got.history_, want.history_):
        assert a.effort["restarts"] == pytest.approx(b.effort["restarts"], rel=0.1)
        assert a.effort["accepted"] > 0
