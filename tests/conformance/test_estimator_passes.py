"""The passes of every estimator: their history, callbacks, limits of time, and copies on the way."""

import gc
import weakref

import numpy as np
import pytest
from sklearn.exceptions import NotFittedError

from topmix import LDA, GaussianAdmixture, GaussianMixture, load
from topmix.data import Corpus
from topmix.estimators import ESTIMATORS
from topmix.fitting import PassView, TimeLimit

from .estimators import answers, ask, class_of, counts_only, everyone, make, same, those_with


@everyone
def test_history_has_a_record_a_pass(name, data):
    model = make(name, tol=-np.inf).fit(data)
    assert [r.n_pass for r in model.history_] == [1, 2, 3, 4, 5]
    assert model.n_iter_ == 5
    assert not getattr(model, "converged_", False)
    assert np.all(np.diff([r.seconds for r in model.history_]) > 0)
    for r in model.history_:
        assert r.objective == pytest.approx(sum(r.terms.values()))
        assert r.n_components == 4
        assert r.to_dict()["objective"] == r.objective
    if "tol" in model.get_params():
        least = 5 if "Admixture" in name else 2  # two to warm up; then two in a row must change little
        assert make(name, tol=1e9).fit(data).n_iter_ == least  # the first pass has nothing to compare with


@everyone
def test_callbacks_see_every_pass_and_may_stop_it(name, data):
    seen = []

    def watch(record, view):
        seen.append((record, view.n_components))
        return record.n_pass == 3

    model = make(name, tol=-np.inf, callbacks=[watch, lambda *_: None]).fit(data)
    assert [r for r, _ in seen] == model.history_
    assert [k for _, k in seen] == [4, 4, 4]
    assert model.n_iter_ == 3


@everyone
def test_time_ends_a_fit_after_the_pass_that_it_is_in(name, data):
    short, long = (make(name, tol=-np.inf, callbacks=[TimeLimit(s)]).fit(data) for s in (1e-9, 1e9))
    assert (short.n_iter_, long.n_iter_) == (1, 5)
    assert not getattr(short, "converged_", False)
    if name != "LDA, asynchronous":
        same(answers(long, data), answers(make(name, tol=-np.inf).fit(data), data))


@those_with("max_time")
def test_max_time_is_a_limit_of_time(name, data):
    short, long = (make(name, tol=-np.inf, max_time=seconds).fit(data) for seconds in (1e-9, 1e9))
    assert (short.n_iter_, long.n_iter_) == (1, 5)
    assert not getattr(short, "converged_", False)  # samplers do not have it
    same(answers(long, data), answers(make(name, tol=-np.inf).fit(data), data))


@everyone
def test_a_failed_fit_leaves_an_estimator_that_says_it_is_not_fitted(name, data):
    def fail(record, view):
        raise RuntimeError("stop")

    model = make(name, callbacks=[fail])
    with pytest.raises(RuntimeError, match="stop"):
        model.fit(data)
    with pytest.raises(NotFittedError):
        ask(model, data)
    assert not hasattr(model, "history_")


@those_with("warm_start")
def test_warm_start_goes_on(name, data):
    model = make(name, learner="batch", warm_start=True, tol=-np.inf)
    last = model.fit(data).history_[-1].objective
    assert model.fit(data).history_[0].objective >= last - 1e-3 * abs(last)
    with pytest.raises(ValueError, match="warm_start"):
        model.set_params(n_components=5).fit(data)


@everyone
def test_a_view_says_the_same_of_every_estimator(name, data):
    """How many components there are, how large they are, what they say, and a copy to keep."""
    seen = []

    def watch(record, view):
        assert isinstance(view, PassView)
        counts, now = view.counts(), view.fitted()
        assert view.n_components == record.n_components == 4
        assert view.weights.shape == (4,)
        assert np.all(view.weights >= 0)
        assert view.weights.sum() == pytest.approx(1)
        if counts_only(name):
            assert counts.shape == (data.shape[1], 4)
            assert counts.sum() == pytest.approx(data.sum(), rel=1e-5)
        else:
            assert counts is None
        assert type(now) is class_of(name)
        seen.append((now, answers(now, data)))

    last = make(name, tol=-np.inf, callbacks=[watch]).fit(data)
    assert len(seen) == 5
    for n_pass, (now, said) in enumerate(seen, 1):  # the fit went on; the copies did not
        same(answers(now, data), said)
        assert now.n_iter_ == n_pass
        assert now.history_ == last.history_[:n_pass]
        assert not hasattr(now, "converged_")
        for x in said:
            assert np.all(np.isfinite(x))
    assert not all(np.array_equal(a, b) for a, b in zip(seen[0][1], seen[-1][1], strict=True))
    if name != "GibbsLDA":  # whose topics are means over the last sweeps
        same(answers(last, data), seen[-1][1])


@everyone
def test_a_copy_of_a_pass_can_be_saved_and_scored(name, data, tmp_path):
    paths = []

    def keep(record, view):
        now = view.fitted()
        paths.append((tmp_path / str(record.n_pass), answers(now, data)))
        now.save(paths[-1][0])

    make(name, max_iter=2, tol=-np.inf, callbacks=[keep]).fit(data)
    for path, said in paths:
        same(answers(load(path), data), said)


@pytest.mark.parametrize("name", [name for name in ESTIMATORS if hasattr(class_of(name), "partial_fit")])
def test_a_copy_of_a_pass_can_be_fitted_further(name, data):
    copies = []
    last = make(name, max_iter=2, tol=-np.inf, callbacks=[lambda _, view: copies.append(view.fitted())]).fit(data)
    before = answers(last, data)
    for now in copies:
        assert np.all(np.isfinite(answers(now.partial_fit(data), data)[0]))
        assert now.set_params(callbacks=None).fit(data).n_iter_ == 2
    same(answers(last, data), before)


@pytest.mark.parametrize("Estimator", [LDA, GaussianMixture, GaussianAdmixture])
def test_a_fit_lets_go_of_its_data_at_once(Estimator):
    """Nothing goes round in a circle: large data, or temporary files, do not wait for Python's collector."""
    rng = np.random.default_rng(0)
    X = Corpus.from_scipy(rng.poisson(0.3, (80, 40))) if Estimator is LDA else rng.normal(size=(300, 4))
    alive = weakref.ref(X)
    gc.disable()
    try:
        Estimator(3, max_iter=8, random_state=0, tol=-np.inf).fit(X)
        del X
        assert alive() is None
    finally:
        gc.enable()
