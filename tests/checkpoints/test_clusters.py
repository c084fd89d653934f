"""Fits of clusters that were interrupted and continue have the same bits as those that were not; others are refused."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from topmix import (
    GaussianAdmixture,
    GaussianMixture,
    MultinomialMixture,
    VonMisesFisherAdmixture,
    VonMisesFisherMixture,
)
from topmix.learn.checkpoint import Checkpoint, CheckpointError
from topmix.learners import Asynchronous, Memoized, Stochastic

from .conftest import Crash, crash_after, forge, same

RNG = np.random.default_rng(0)
VECTORS = RNG.normal(size=(203, 3)) + 1.5 * RNG.integers(0, 3, (203, 1))
COUNTS = RNG.poisson(1.5, (103, 12)) * (1 + (np.arange(12) % 3 == RNG.integers(0, 3, (103, 1))))
WEIGHT = RNG.uniform(0.5, 2.0, 203)
GROUPS = RNG.integers(0, 30, 203)
USUAL = {"n_components": 4, "max_iter": 6, "tol": -1e9, "random_state": 0, "n_active": 2}
BATCHES = Memoized(batch_size=25)
STREAM = Stochastic(batch_size=40)
SEARCH = {"weight_concentration_prior_type": "dirichlet_process", "max_iter": 45, "tol": 1e-2}

KINDS = {
    "Gaussian": (GaussianMixture, {"learner": BATCHES}),
    "Gaussian, batch": (GaussianMixture, {"learner": "batch", "objective": "vb"}),
    "Gaussian, stochastic": (GaussianMixture, {"learner": STREAM, "covariance_type": "diag"}),
    "Gaussian, rounds, weights": (
        GaussianMixture,
        {"learner": Memoized(batch_size=20, batches_per_update=4), "covariance_type": "spherical"},
    ),
    "Gaussian, tied, process": (
        GaussianMixture,
        {"covariance_type": "tied", "weight_concentration_prior_type": "dirichlet_process", "objective": "vb"},
    ),
    "Gaussian, candidates": (GaussianMixture, {"n_components": 9, "candidates": 3, "max_iter": 13, "learner": BATCHES}),
    "Gaussian, momentum": (GaussianMixture, {"learner": Memoized(batch_size=50, momentum=2.0), "max_iter": 12}),
    "directions": (VonMisesFisherMixture, {"learner": BATCHES}),
    "directions, stochastic": (VonMisesFisherMixture, {"learner": STREAM, "objective": "ml"}),
    "directions, candidates": (VonMisesFisherMixture, {"n_components": 40, "max_iter": 7}),
    "words": (MultinomialMixture, {}),
    "words, batch": (MultinomialMixture, {"learner": "batch", "objective": "map"}),
    "words, stochastic": (MultinomialMixture, {"learner": STREAM}),
    "groups": (GaussianAdmixture, {"max_iter": 8, "learner": Memoized(batch_size=8)}),
    "groups, batch, weights": (GaussianAdmixture, {"learner": "batch", "objective": "vb", "covariance_type": "diag"}),
    "groups, a prior that is given": (GaussianAdmixture, {"weight_concentration_prior": 0.1, "objective": "ml"}),
    "groups, search": (VonMisesFisherAdmixture, SEARCH | {"n_components": 2}),
    "groups, search of Gaussians": (
        GaussianAdmixture,
        SEARCH | {"n_components": 5, "learner": Memoized(batch_size=8), "objective": "vb", "covariance_type": "diag"},
    ),
    "groups, process without a search": (GaussianAdmixture, SEARCH | {"learner": "batch", "max_iter": 8}),
    "groups of directions": (VonMisesFisherAdmixture, {}),
    "groups of directions, stochastic": (VonMisesFisherAdmixture, {"learner": Stochastic(batch_size=8)}),
}


@pytest.fixture(scope="module", autouse=True)
def few():
    """Candidates for fewer clusters than usual."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("topmix.models.von_mises_fisher.MANY", 40)
        yield


class Fit:
    """A kind of fit, on its data."""

    def __init__(self, name):
        self.name, (self.cls, self.parameters) = name, KINDS[name]
        X = COUNTS if self.cls is MultinomialMixture else VECTORS
        self.X, self.given = X, {"sample_weight": WEIGHT[: len(X)]} if "weights" in name else {}
        if name.startswith("groups"):
            self.given["groups"] = GROUPS

    def __call__(self, path=None, *, every=1, **more):
        model = self.cls(**USUAL | self.parameters | more)
        return model.fit(self.X, **self.given, checkpoint=path, checkpoint_every=every)


SLOW = ("groups, search",)  # the other search goes the same way


@pytest.fixture(
    scope="module", params=[pytest.param(name, marks=pytest.mark.slow if name in SLOW else ()) for name in KINDS]
)
def kind(request):
    """How to fit, and the fit that was never interrupted."""
    fit = Fit(request.param)
    return fit, fit()


@pytest.mark.parametrize("n_passes", [0, 2])
def test_interrupted_after_a_pass(kind, n_passes, tmp_path):
    fit, whole = kind
    path = tmp_path / "checkpoint"
    with pytest.raises(Crash):
        fit(path, callbacks=[crash_after(n_passes)])
    assert path.exists() == (n_passes > 0)
    resumed = fit(path, n_jobs=1, engine="serial")
    same(resumed, whole)
    np.testing.assert_array_equal(resumed.labels_, whole.labels_)
    assert np.all(np.diff([r.seconds for r in resumed.history_]) > 0)


def test_interrupted_again_and_again(kind, tmp_path):
    fit, whole = kind
    every = 6 if "search" in fit.name else 1
    for n_passes in itertools.count(1, every):
        try:
            last = fit(tmp_path / "file", callbacks=[crash_after(n_passes)])
            break
        except Crash:
            pass
    same(last, whole)


@pytest.mark.parametrize("where", ["passes", "exchanges"])
def test_exchanges_after_the_passes_end_as_they_would_have(where, tmp_path, monkeypatch):
    rng, path, passes = np.random.default_rng(3), tmp_path / "file", []
    centres, cluster = rng.normal(0, 3, (9, 2)), rng.integers(0, 9, 400)
    X, groups = centres[cluster] + 0.6 * rng.normal(size=(400, 2)), cluster // 3 * 8 + rng.integers(0, 8, 400)

    def fit(path=None, *callbacks):
        model = GaussianAdmixture(9, init_params="random_from_data", random_state=0, callbacks=list(callbacks))
        return model.fit(X, groups, checkpoint=path)

    def crash(*args):
        raise Crash

    whole = fit(None, lambda record, view: passes.append(record.n_pass))
    assert len(passes) < len(whole.history_)  # clusters were exchanged
    with monkeypatch.context() as patch:
        patch.setattr(GaussianAdmixture, "_further", crash)
        with pytest.raises(Crash):
            fit(path, *([crash_after(7)] if where == "passes" else []))
    made = len(passes)
    same(fit(path, lambda record, view: passes.append(record.n_pass)), whole)
    assert len(passes) - made == (made - 7 if where == "passes" else 0)


def test_a_search_that_ran_out_of_passes_goes_on(tmp_path):
    fit = Fit("groups, search of Gaussians")
    whole = fit()
    assert {move.split()[0] for record in whole.history_ for move in record.moves} >= {"merge", "birth"}
    for n in (20, 24, 29):
        fit(tmp_path / "file", max_iter=n)
    same(fit(tmp_path / "file"), whole)


def test_a_finished_fit_is_read_back_and_may_go_on(kind, tmp_path):
    fit, whole = kind
    if "groups" in fit.name:  # whose first passes depend on how many there will be
        return
    short = fit(tmp_path / "file", max_iter=3)

    def never(record, view):
        raise AssertionError

    same(fit(tmp_path / "file", max_iter=3, callbacks=[never]), short)
    same(fit(tmp_path / "file", every=4), whole)


def test_convergence_and_callbacks_end_it_alike(tmp_path):
    fit = Fit("Gaussian")
    whole = fit(max_iter=100, tol=1e-3)
    assert whole.converged_
    stopped = fit(tmp_path / "file", max_iter=100, tol=1e-3, callbacks=[lambda record, view: record.n_pass == 2])
    assert not stopped.converged_
    for _ in range(2):  # the second time there is nothing left to do
        same(fit(tmp_path / "file", max_iter=100, tol=1e-3), whole)


def test_without_a_seed_the_deal_is_in_the_file(tmp_path):
    fit, path = Fit("Gaussian"), tmp_path / "file"
    whole = fit(path, random_state=None, max_iter=2)
    copy = path.read_bytes()
    on = [fit(path, random_state=None)]
    path.write_bytes(copy)
    on.append(fit(path, random_state=None))
    same(*on)
    assert on[0].history_[:2] == whole.history_


def test_a_warm_start_is_continued_from_the_same_clusters(tmp_path):
    fit, path = Fit("Gaussian"), tmp_path / "file"
    first, other = fit(max_iter=2, warm_start=True), fit(max_iter=3, warm_start=True)
    whole = fit(max_iter=2, warm_start=True).set_params(max_iter=6).fit(VECTORS)
    with pytest.raises(Crash):
        first.set_params(max_iter=6, callbacks=[crash_after(2)]).fit(VECTORS, checkpoint=path)
    with pytest.raises(CheckpointError, match="the start was"):
        other.fit(VECTORS, checkpoint=path)
    same(first.set_params(callbacks=None).fit(VECTORS, checkpoint=path), whole)


def test_time_that_was_spent_counts(tmp_path):
    fit, path = Fit("Gaussian"), tmp_path / "file"
    spent = fit(path, max_iter=3).history_[-1].seconds
    assert fit(path, max_time=spent).n_iter_ == 4
    assert fit(path, max_time=3600.0).n_iter_ == 6


OTHERS = {
    "n_components": 5, "learner": STREAM, "covariance_type": "diag", "objective": "vb", "reg_covar": 1e-3,
    "random_state": 1, "n_active": 3, "init_params": {"means": np.zeros((4, 3))},
}  # fmt: skip


@pytest.mark.parametrize("parameter", OTHERS)
def test_another_fit_is_refused(parameter, tmp_path):
    fit = Fit("Gaussian")
    fit(tmp_path / "file", max_iter=2)
    with pytest.raises(CheckpointError, match=f"file: the checkpoint of another fit: {parameter} was .* and is"):
        fit(tmp_path / "file", **{parameter: OTHERS[parameter]})


def test_other_data_is_refused(tmp_path):
    fit = Fit("Gaussian")
    fit(tmp_path / "file", max_iter=2)
    other = VECTORS.copy()
    other[7, 1] += 1e-9
    for X in (other, VECTORS[:200], VECTORS[::-1], VECTORS.astype(np.float32)):
        with pytest.raises(CheckpointError, match="the data was"):
            GaussianMixture(**USUAL).fit(X, checkpoint=tmp_path / "file")
    with pytest.raises(CheckpointError, match="the weights was None"):
        GaussianMixture(**USUAL).fit(VECTORS, sample_weight=WEIGHT, checkpoint=tmp_path / "file")
    Fit("groups")(tmp_path / "groups")
    with pytest.raises(CheckpointError, match="the groups was"):
        GaussianAdmixture(**USUAL).fit(VECTORS, GROUPS % 7, checkpoint=tmp_path / "groups")
    with pytest.raises(CheckpointError, match="the warm-up was 4 passes and is 10"):
        Fit("groups")(tmp_path / "groups", max_iter=40)


def test_what_no_checkpoint_holds_is_refused_before_the_work(tmp_path):
    path = tmp_path / "file"
    for more, message in (
        ({"n_init": 2}, "n_init=1"),
        ({"learner": Asynchronous()}, "responsibilities of Asynchronous"),
    ):
        with pytest.raises(ValueError, match=message):
            Fit("Gaussian")(path, **more)
    with pytest.raises(ValueError, match="checkpoint_every"):
        Fit("Gaussian")(path, every=0)
    with pytest.raises(OSError, match="x"):
        Fit("Gaussian")(tmp_path / "not there" / "x")
    assert not list(tmp_path.iterdir())


def _put(name, place, value):
    def edit(about, arrays):
        arrays[name][place] = value

    return edit


HOSTILE = {
    "a cluster too many": ("Gaussian, candidates", _put("kept.1.best", 3, 9), "not from 0 to 8"),
    "a negative cluster": ("Gaussian, candidates", _put("kept.1.best", 0, -1), "not from 0 to 8"),
    "a neighbour too many": ("Gaussian, candidates", _put("model.near", 2, 9), "not from 0 to 8"),
    "candidates too few": (
        "Gaussian, candidates",
        lambda about, arrays: about["extra"].update({"model.n_candidates": 0}),
        "expected I32 of",
    ),
    "a candidate too many": ("directions, candidates", _put("kept.0.clusters", 31, 40), "not from 0 to 3"),
    "candidates out of order": ("directions, candidates", _put("kept.0.clusters", 0, 39), "do not ascend"),
    "a word too many": ("words", _put("memo.2.S.cols", -1, 12), "not from 0 to 11"),
    "a word of a cluster too many": ("words", _put("memo.0.S.topic", 0, 4), "not from 0 to 3"),
    "words that run away": ("words", _put("memo.0.S.indptr", -1, 2**40), "expected U16 of"),
    "negative words": ("words", _put("model.clusters.total.totals", 0, -1.0), "negative counts"),
    "not a number": ("Gaussian", _put("memo.0.S.second", 0, np.nan), "not numbers"),
    "no covariance": ("Gaussian", _put("model.clusters.total.second", 0, -1e9), "The covariance of"),
    "more statistics than shards": ("Gaussian", lambda about, _: about.update(n_memo=10), "has no array 'memo.9"),
    "fewer statistics": ("Gaussian", lambda about, _: about.update(n_memo=8), "has arrays that no checkpoint has"),
    "memory": ("Gaussian", lambda about, _: about.update(n_kept=1), "memory of shards, and this fit has none"),
    "a prior to learn": ("Gaussian", lambda about, _: about.update(has_next=True), "prior that is to be learned"),
    "a group of a cluster too many": ("groups", _put("kept.1.groups.topic", 0, 4), "not from 0 to 3"),
    "groups that run away": ("groups", _put("kept.1.groups.indptr", -1, 2**40), "expected U16 of"),
    "less than no rows": ("groups", _put("kept.1.groups.count", 0, -1.0), "not numbers"),
    "no prior": ("groups", _put("next.alpha", 0, -1.0), "not numbers"),
    "no groups": ("groups", lambda about, _: about.update(n_kept=0), "has arrays that no checkpoint has"),
    "a search that is none": (
        "groups, search",
        lambda about, _: about["search"].update(quiet="x"),
        "how far the search was",
    ),
    "no pace": ("groups, search", lambda about, _: about["search"].update(ratio=[1.0]), "how far the search was"),
    "no samples": ("groups, search", lambda about, _: about["search"].update(random=[]), "how far the search was"),
    "no search": ("groups, search", lambda about, _: about.update(search=None), "how far the search was"),
    "no history": ("Gaussian", lambda about, _: about.update(history=[]), "no history"),
    "no generator": ("Gaussian", lambda about, _: about.update(random={"state": 3}), "random generator"),
    "other clusters": ("Gaussian", lambda about, _: about["extra"].update(n_components=3), "3 clusters, expected"),
    "other columns": ("Gaussian", lambda about, _: about.update(n_features=4), "4 columns"),
    "another weight": ("Gaussian", lambda about, _: about["extra"].update({"model.weights": "x"}), "one of"),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_forged_checkpoints_are_refused(name, tmp_path):
    kind, edit, message = HOSTILE[name]
    fit, path, passes = Fit(kind), tmp_path / "file", {"max_iter": 3}
    fit(path, **passes)
    data = path.read_bytes()
    path.write_bytes(forge(data, edit))
    with pytest.raises(CheckpointError, match=f"file: .*{message}"):
        fit(path, **passes)
    path.write_bytes(forge(data, lambda about, arrays: None))
    fit(path, **passes)


@pytest.mark.parametrize(("change", "message"), [
    (lambda found: found.memory.update({0: found.memory[3], 3: found.memory[0]}), "rows in shard 0, expected"),
    (lambda found: found.memory.pop(5), "memory of 5 shards, expected 6"),
    (lambda found: found.state.memo.pop(5), "statistics of 5 shards, expected 6"),
])  # fmt: skip
def test_other_shards_are_refused(change, message, tmp_path, monkeypatch):
    fit, path, read = Fit("Gaussian, candidates"), tmp_path / "file", Checkpoint.read
    sized = {"learner": Memoized(batch_size=34)}
    fit(path, max_iter=3, **sized)

    def changed(self):
        found = read(self)
        change(found)
        return found

    monkeypatch.setattr(Checkpoint, "read", changed)
    with pytest.raises(CheckpointError, match=f"file: the checkpoint has .*{message}"):
        fit(path, **sized)
