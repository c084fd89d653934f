"""Mixtures with engine="cuda" are those of the processor, within rounding."""

import contextlib
import gc
import itertools

import numpy as np
import pytest

from topmix import GaussianMixture, MultinomialMixture, VonMisesFisherMixture
from topmix.corpus.shard import Shards
from topmix.cuda import clusters
from topmix.data import sample_lda
from topmix.engines.cuda import Cuda
from topmix.learners import Memoized, Stochastic
from topmix.models.categorical import Categorical
from topmix.models.frame import SingularCovariance
from topmix.models.gaussian import Gaussian
from topmix.steps.rows import MixtureStep

from ..pairs import pairs
from .emulated import Emulated, EmulatedDevice

RNG = np.random.default_rng(0)
ROWS = np.concatenate([RNG.normal(c, 1.0, (25, 3)) @ RNG.normal(size=(3, 3)) for c in (-4, 0, 4)])
WORDS = sample_lda(40, 50, 4, doc_length=25, random_state=2).corpus
WEIGHT = RNG.uniform(0.1, 2.0, len(ROWS))
LEARNERS = {"memoized": Memoized(batch_size=40), "batch": "batch", "stochastic": Stochastic(batch_size=40)}
SETTINGS = {"max_iter": 2, "tol": -1.0, "random_state": 0, "n_active": 2, "learner": LEARNERS["memoized"]}


def same(got, want, X, tolerance):
    for a, b in zip(got.history_, want.history_):
        assert a.terms == pytest.approx(b.terms, rel=tolerance, abs=tolerance)
    np.testing.assert_allclose(got.weights_, want.weights_, rtol=tolerance, atol=tolerance)
    np.testing.assert_allclose(got.score_samples(X), want.score_samples(X), rtol=tolerance, atol=tolerance)
    np.testing.assert_array_equal(got.predict(X), want.predict(X))
    np.testing.assert_allclose(got.predict_proba(X), want.predict_proba(X), atol=10 * tolerance)


def tolerance_of(dtype):
    return 1e-9 if dtype == np.float64 else 1e-4


def both(engine, make, X, weight=None, **parameters):
    """The same fit by the engine and by the processor."""
    return (make(**(SETTINGS | parameters | which)).fit(X, sample_weight=weight) for which in ({"engine": engine}, {}))


@pytest.mark.parametrize(
    ("covariance_type", "zero_mean", "learner"),
    pairs(["full", "diag", "spherical", "tied"], [False, True], list(LEARNERS)),
)
def test_gaussians_are_those_of_the_processor(engine, covariance_type, zero_mean, learner):
    X = ROWS.astype(np.float32)
    parameters = {"covariance_type": covariance_type, "zero_mean": zero_mean, "learner": LEARNERS[learner]}
    got, want = both(engine, lambda **p: GaussianMixture(4, **p), X, **parameters)
    same(got, want, X, 1e-4)
    np.testing.assert_allclose(got.means_, want.means_, rtol=1e-3, atol=1e-4)
    np.testing.assert_allclose(got.covariances_, want.covariances_, rtol=1e-3, atol=1e-4)


@pytest.mark.parametrize(
    "parameters",
    [
        {"objective": "map"},
        {"objective": "ml", "learner": "batch"},
        {"objective": "ml", "zero_mean": True, "reg_covar": 0.0},
        {"objective": "map", "covariance_type": "tied"},
        {"n_active": None},
        {"n_active": 1, "objective": "ml"},
        {"weight_concentration_prior_type": "dirichlet_process"},
        {"learner": Memoized(batch_size=20, batches_per_update=2)},
    ],
    ids=str,
)
def test_doubles_are_those_of_the_processor_to_the_last_digits(engine, parameters):
    got, want = both(engine, lambda **p: GaussianMixture(4, **p), ROWS, WEIGHT, **parameters)
    same(got, want, ROWS, 1e-9)
    np.testing.assert_allclose(got.covariances_, want.covariances_, rtol=1e-8, atol=1e-9)


@pytest.mark.parametrize("learner", LEARNERS)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_directions_are_those_of_the_processor(engine, dtype, learner):
    X = ROWS.astype(dtype)
    kind = "tied" if learner == "batch" else "free"
    parameters = {"learner": LEARNERS[learner], "concentration_type": kind}
    got, want = both(engine, lambda **p: VonMisesFisherMixture(4, **p), X, WEIGHT, **parameters)
    same(got, want, X, tolerance_of(dtype))
    np.testing.assert_allclose(got.concentrations_, want.concentrations_, rtol=10 * tolerance_of(dtype))
    np.testing.assert_array_equal(got.labels_, want.labels_)


@pytest.mark.parametrize(("objective", "n_active", "learner"), pairs(["vb", "map", "ml"], [2, None], list(LEARNERS)))
def test_words_are_those_of_the_processor(engine, objective, n_active, learner):
    parameters = {"learner": LEARNERS[learner], "objective": objective, "n_active": n_active}
    got, want = both(engine, lambda **p: MultinomialMixture(4, **p), WORDS, WEIGHT[:40], **parameters)
    same(got, want, WORDS, 1e-5)
    np.testing.assert_allclose(got.components_, want.components_, rtol=1e-4, atol=1e-4)


def test_rows_in_several_blocks_give_the_same(engine, monkeypatch):
    monkeypatch.setattr(clusters, "rows_at_a_time", lambda weights, L: 16)
    got, want = both(engine, lambda **p: GaussianMixture(4, **p), ROWS, WEIGHT)
    same(got, want, ROWS, 1e-9)


MAKERS = {
    "full": lambda **p: GaussianMixture(4, **p),
    "tied": lambda **p: GaussianMixture(4, covariance_type="tied", **p),
    "directions": lambda **p: VonMisesFisherMixture(4, **p),
    "words": lambda **p: MultinomialMixture(4, **p),
}


def data_of(kind):
    return WORDS if kind == "words" else ROWS.astype(np.float32)


@pytest.mark.parametrize("kind", MAKERS)
def test_a_fit_has_the_same_bits_in_every_run(engine, kind):
    orders = [Emulated(order=n) for n in (0, 5)] if isinstance(engine, Emulated) else [engine] * 2
    first, *others = [MAKERS[kind](**SETTINGS, engine=each).fit(data_of(kind)) for each in orders]
    for other in others:
        np.testing.assert_array_equal(first.weights_, other.weights_)
        np.testing.assert_array_equal(first.score_samples(data_of(kind)), other.score_samples(data_of(kind)))
        assert first.history_[-1].terms == other.history_[-1].terms


@pytest.mark.parametrize("kind", MAKERS)
def test_partial_fit_is_that_of_the_processor(engine, kind):
    X = data_of(kind)
    got, want = MAKERS[kind](**SETTINGS, engine=engine), MAKERS[kind](**SETTINGS)
    for rows in (slice(0, 20), slice(20, 40)):
        got.partial_fit(X[rows]), want.partial_fit(X[rows])
    np.testing.assert_allclose(got.weights_, want.weights_, rtol=1e-4)
    np.testing.assert_allclose(got.score_samples(X), want.score_samples(X), rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("weight", [None, WEIGHT[:40]], ids=["", "weighted"])
def test_words_that_were_added_can_be_taken_out_exactly(engine, weight):
    hard = SETTINGS | {"n_active": 1}  # whole counts are the same on a device
    model = MultinomialMixture(4, **hard).fit(WORDS).model_
    workers = engine.open(Shards(WORDS, [slice(0, 15), slice(15, 40)], weight), MixtureStep(Categorical, 2), 1)
    placed = workers.place(model)
    before = placed.likelihood.total.on_host().raw
    (_, a, _), (_, b, _) = workers.run(placed.tables, [0, 1])
    total = placed.likelihood.total
    total.add(a.S + b.S)
    brought = WORDS.to_scipy().sum(axis=1) @ (np.ones(40) if weight is None else weight)
    assert total.on_host().raw.sum() - before.sum() == pytest.approx(brought, rel=1e-6)
    np.testing.assert_allclose(total.totals, total.on_host().raw.sum(axis=0), rtol=1e-12)
    total.add(b.S, -1.0).add(a.S, -1.0)
    np.testing.assert_array_equal(total.on_host().raw, before)
    workers.close()


def test_warm_starts_callbacks_and_files(engine, tmp_path):
    seen = []

    def look(record, view):
        fitted = view.fitted()
        seen.append((view.weights.sum(), fitted.score_samples(ROWS), fitted.model_.likelihood))

    model = GaussianMixture(4, **SETTINGS, engine=engine, callbacks=[look]).fit(ROWS)
    assert len(seen) == 2
    assert all(isinstance(likelihood, Gaussian) for _, _, likelihood in seen)
    np.testing.assert_allclose(seen[-1][1], model.score_samples(ROWS), atol=1e-9)
    model.set_params(engine="threads", callbacks=None, warm_start=True).save(tmp_path / "model")
    before = model.elbo_
    assert model.set_params(engine=engine).fit(ROWS).elbo_ >= before - 1e-6


def test_less_precise_products_are_an_option(engine):
    X, parameters = ROWS.astype(np.float32), {"precision": "tf32"}
    kind = type(engine)
    fine, coarse = (GaussianMixture(4, objective="vb", **SETTINGS, engine=kind(**p)).fit(X) for p in ({}, parameters))
    error = np.abs(fine.score_samples(X) - coarse.score_samples(X)).max()
    assert 1e-6 < error < 0.1
    with pytest.raises(ValueError, match="is not one of"):
        Cuda(precision="bfloat16")


def test_what_there_is_no_kernel_for_is_refused(engine):
    with pytest.raises(ValueError, match="candidates=None"):
        GaussianMixture(4, candidates=3, **SETTINGS, engine=engine).fit(ROWS)
    with pytest.raises(ValueError, match="engine"):
        GaussianMixture(4, **SETTINGS | {"learner": "asynchronous"}, engine=engine).fit(ROWS)


def test_a_covariance_that_cannot_be_inverted_is_an_error(engine):
    X = np.repeat(np.eye(3), 4, axis=0)
    model = GaussianMixture(3, objective="ml", reg_covar=0.0, random_state=0, engine=engine)
    with pytest.raises(SingularCovariance, match="is singular"):
        model.fit(X)
    model.set_params(objective="vb", max_iter=2, tol=-1.0).fit(X)  # it can still be used


@pytest.mark.parametrize("kind", MAKERS)
def test_nothing_stays_on_the_device(kind):
    def fit(**more):
        with contextlib.suppress(KeyboardInterrupt):
            MAKERS[kind](**SETTINGS, engine=Emulated(), **more).fit(data_of(kind))

    def interrupt(record, view):
        raise KeyboardInterrupt

    for more in ({}, {"callbacks": [interrupt]}):
        before, n_closed = len(EmulatedDevice.arrays), len(EmulatedDevice.at_close)
        fit(**more)
        if not more:  # what an error leaves behind is known to its traceback for a while
            MAKERS[kind](**SETTINGS, engine=Emulated()).partial_fit(data_of(kind)).predict_proba(data_of(kind))
            assert not any(EmulatedDevice.at_close[n_closed:])
        gc.collect()
        assert not [a for a in itertools.islice(EmulatedDevice.arrays, before, None) if a() is not None]


def test_many_fits_hold_no_memory(engine):
    """A hundred of them on the GPU; a few in the host build."""
    free = []
    for n in range(3 if isinstance(engine, Emulated) else 100):
        kind = list(MAKERS)[n % len(MAKERS)]
        MAKERS[kind](**SETTINGS, engine=engine).fit(data_of(kind))
        if not isinstance(engine, Emulated):
            device = engine.opened()
            free.append(device.cupy.cuda.runtime.memGetInfo()[0])
            assert device.pool.total_bytes() == 0
    assert all(after >= free[10] for after in free[10:])  # before that, programs are loaded


def test_out_of_memory_leaves_the_estimator_as_it_was():
    model = GaussianMixture(4, **SETTINGS).fit(ROWS)
    before = model.means_

    class Full(EmulatedDevice):
        def empty(self, shape, dtype):
            raise MemoryError("the memory of device 0 is not enough")

    class FullEngine(Emulated):
        def opened(self):
            return Full()

    with pytest.raises(MemoryError, match="not enough"):
        model.set_params(engine=FullEngine()).fit(ROWS)
    np.testing.assert_array_equal(model.set_params(engine="threads").means_, before)
    model.predict(ROWS)
