"""A fit that fails or is interrupted leaves the estimator as it was: never the old topics under the new words."""

from __future__ import annotations

from contextlib import suppress

import numpy as np
import pandas as pd
import pytest

import topmix
from topmix.data import Corpus

from .estimators import ASYNCHRONOUS, answers, counts_only, everyone, make, same

rng = np.random.default_rng(0)
COUNTS = rng.poisson(1.0, (40, 9)).astype(np.float32)
OTHERS = rng.poisson(1.0, (30, 6)).astype(np.float32)


def data(name, X, words):
    if counts_only(name):
        return Corpus.from_scipy(X, vocabulary=words)
    return pd.DataFrame(X + rng.normal(0, 0.1, X.shape), columns=words)


class Broken(Exception):
    pass


def at_pass(n, error):
    def callback(record, view):
        if record.n_pass == n:
            raise error

    return callback


MOMENTS = {
    "reading": lambda name, model: (data(name, OTHERS, list("ABCDEF")) if counts_only(name) else [["x"] * 6] * 30, {}),
    "a parameter": lambda name, model: (data(name, OTHERS, list("ABCDEF")), {"max_iter": -1}),
    "the start": lambda name, model: (data(name, OTHERS, list("ABCDEF")), {"init": "x", "init_params": "x"}),
    "pass 1": lambda name, model: (data(name, OTHERS, list("ABCDEF")), {"callbacks": [at_pass(1, Broken())]}),
    "pass 3": lambda name, model: (data(name, OTHERS, list("ABCDEF")), {"callbacks": [at_pass(3, Broken())]}),
    "Ctrl-C in pass 1": lambda name, model: (
        data(name, OTHERS, list("ABCDEF")), {"callbacks": [at_pass(1, KeyboardInterrupt())]}),
    "Ctrl-C in pass 3": lambda name, model: (
        data(name, OTHERS, list("ABCDEF")), {"callbacks": [at_pass(3, KeyboardInterrupt())]}),
}  # fmt: skip


@pytest.fixture
def fitted():
    def fit(name):
        X = data(name, COUNTS, list("abcdefghi"))
        return make(name, tol=-np.inf).fit(X), X

    return fit


@everyone
@pytest.mark.parametrize("moment", MOMENTS)
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_a_failed_refit_changes_nothing(name, moment, fitted, tmp_path, monkeypatch):
    model, X = fitted(name)
    said, state, history = answers(model, X), set(vars(model)), model.history_
    before = model.top_words(3) if hasattr(model, "top_words") else None
    Y, changes = MOMENTS[moment](name, model)
    if moment == "reading" and counts_only(name):
        monkeypatch.setattr("topmix.io.documents.replace", broken)  # the last step of reading
    known = {p: value for p, value in changes.items() if p in model.get_params(deep=False)}
    given = model.get_params(deep=False)
    model.set_params(**known)
    with pytest.raises((Broken, ValueError, KeyboardInterrupt)):
        model.fit(Y)
    monkeypatch.undo()
    model.set_params(**{p: given[p] for p in known})
    kept_partial = "Ctrl-C" in moment and name in ASYNCHRONOUS  # whose topics are whole at any moment
    if kept_partial:
        X, said = Y, answers(model, Y)
        assert list(model.feature_names_in_) == list("ABCDEF")
        assert len(model.history_) == model.n_iter_ == int(moment[-1])
    else:
        assert set(vars(model)) == state
        assert model.history_ is history
        assert list(model.feature_names_in_) == list("abcdefghi")
        same(answers(model, X), said)
        assert before is None or model.top_words(3) == before
    model.save(tmp_path / "model")
    same(answers(topmix.load(tmp_path / "model"), X), said)
    assert model.fit(Y if moment != "reading" else X) is model  # and it can be fitted again


def broken(*_args, **_more):
    raise Broken


@everyone
def test_a_failed_first_fit_leaves_no_attributes(name):
    model = make(name)
    before = set(vars(model))
    with suppress(ValueError):
        model.set_params(max_iter=-1).fit(data(name, OTHERS, list("ABCDEF")))
    assert set(vars(model)) == before


@everyone
def test_an_interrupted_first_fit_has_its_last_pass(name, monkeypatch):
    if name in ASYNCHRONOUS:
        return  # which has topics too: above
    monkeypatch.setattr("topmix.learn.fit.FREE", np.inf)  # on a busy machine a copy takes long, and the next one waits
    X = data(name, COUNTS, list("abcdefghi"))
    model = make(name, tol=-np.inf, callbacks=[at_pass(3, KeyboardInterrupt())])
    with pytest.warns(UserWarning, match="has the model of pass 3"), pytest.raises(KeyboardInterrupt):
        model.fit(X)
    assert len(model.history_) == 3
    seen = []
    make(name, tol=-np.inf, callbacks=[lambda record, view: seen.append(view.fitted()) or record.n_pass == 3]).fit(X)
    same(answers(model, X), answers(seen[-1], X))


def test_an_interrupted_start_leaves_the_best_of_those_before():
    X, seen = Corpus.from_scipy(COUNTS), []

    def second(record, view):
        seen.append(record.n_pass)
        if seen.count(1) == 2:
            raise KeyboardInterrupt

    model = make("LDA", tol=-np.inf, n_init=3, callbacks=[second])
    with pytest.warns(UserWarning, match="has the model of pass 5"), pytest.raises(KeyboardInterrupt):
        model.fit(X)
    same(answers(model, X), answers(make("LDA", tol=-np.inf).fit(X), X))


STREAMS = ["LDA", "HDP", "GaussianMixture", "MultinomialMixture", "VonMisesFisherMixture"]


@pytest.mark.parametrize("name", STREAMS)
def test_a_failed_step_of_a_stream_changes_nothing(name, monkeypatch):
    """New words have their place in the topics when the step fails, and a blended total cannot be taken back."""
    X = data(name, COUNTS, list("abcdefghi"))
    model = make(name).partial_fit(X)
    said, n_seen = answers(model, X), model.n_seen_
    wide = np.hstack([OTHERS, OTHERS])[:, :11] if name in ("LDA", "HDP") else COUNTS[:20] + 1
    Y = data(name, wide, list("abcdefghijk")[: wide.shape[1]])
    with monkeypatch.context() as patched:
        patched.setattr("topmix.learn.learners.Stochastic.step_size", broken)
        with pytest.raises(Broken):
            model.partial_fit(Y)
    assert list(model.feature_names_in_) == list("abcdefghi")
    assert model.n_seen_ == n_seen
    same(answers(model, X), said)
    again = make(name).partial_fit(X).partial_fit(Y)
    same(answers(model.partial_fit(Y), Y), answers(again, Y))


def test_a_stream_of_texts_keeps_its_words(monkeypatch):
    texts = ["apples and pears", "ships and sails"] * 10
    model = topmix.LDA(2, random_state=0, n_jobs=1).partial_fit(texts)
    words = list(model.vectorizer_.vocabulary_)
    with monkeypatch.context() as patched:
        patched.setattr("topmix.learn.learners.Stochastic.step_size", broken)
        with pytest.raises(Broken):
            model.partial_fit(["trains and rails", "trains"] * 10)
    assert list(model.vectorizer_.vocabulary_) == words == list(model.feature_names_in_)
    assert model.transform(["apples"]).shape == (1, 2)


def test_callbacks_cannot_spoil_a_fit():
    """What they see of counts is not to be written to, and the rest are copies."""
    X = Corpus.from_scipy(COUNTS)
    for name in ("LDA", "HDP", "GibbsLDA", "CombinatorialLDA", "MultinomialMixture"):
        errors = []

        def write(record, view, errors=errors):
            try:
                view.counts()[:] = 7.0
            except ValueError as error:
                errors.append(error)
            view.weights[:] = 7.0
            copy = view.fitted()
            (copy.model_ if isinstance(copy.model_, np.ndarray) else copy.components_)[:] = 7.0

        plain = make(name, tol=-np.inf).fit(X)
        watched = make(name, tol=-np.inf, callbacks=[write]).fit(X)
        assert len(errors) == len(watched.history_), name
        same(answers(watched, X), answers(plain, X))


def test_rows_without_a_likelihood_are_refused():
    """They were given equal shares, and a score that is not a number."""
    X = (rng.normal(size=(60, 3)) + 5 * (np.arange(60) % 3)[:, None]).astype(np.float32)
    model = topmix.GaussianMixture(3, random_state=0).fit(X)
    X[7] = 1e20
    with pytest.raises(ValueError, match="row 7 of X is so far"):
        model.predict_proba(X)
    assert np.isfinite(model.score(X.astype(np.float64)[:7]))


@pytest.mark.parametrize("covariance_type", ["full", "tied", "diag", "spherical"])
def test_numbers_whose_squares_are_lost_are_refused(covariance_type):
    X = rng.normal(size=(30, 2))
    model = topmix.GaussianMixture(2, covariance_type=covariance_type, random_state=0)
    for scale, message in ((1e200, "divide X by a constant"), (1e60, "divide X"), (1e-100, "multiply X by a constant")):
        with pytest.raises(ValueError, match=message) as found:
            model.fit(scale * X)
        assert type(found.value) is ValueError  # LinAlgError is one too
    assert np.isfinite(model.fit(1e40 * X).score(1e40 * X))


@pytest.mark.parametrize("name", ["GibbsLDA", "CombinatorialLDA"])
@pytest.mark.parametrize("axis", [0, 1])
def test_counters_of_tokens_do_not_wrap(name, axis):
    """Before anything of that size is made."""
    X = np.ones((3, 3))
    X[(slice(2), 1) if axis == 0 else (1, slice(2))] = 1.2e9
    most = "16,777,216" if (name, axis) == ("GibbsLDA", 1) else "2,147,483,647"
    with pytest.raises(ValueError, match=f"at most {most} tokens of a {('word', 'document')[axis]}"):
        make(name).fit(X)
