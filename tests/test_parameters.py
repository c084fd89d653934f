"""Every public parameter of every estimator and component, changed once, and a fact that the change must bring about.

A fact is registered for one parameter of one or more owners. A parameter that nobody registered fails the first test.
"""

from __future__ import annotations

import contextlib
import inspect
import io
from collections.abc import Callable
from typing import Any
from unittest.mock import patch

import numpy as np
import pytest
from sklearn.datasets import make_blobs

from topmix import LDA, GaussianMixture
from topmix.allocations.stick_breaking import StickBreaking
from topmix.data import Corpus, sample_lda
from topmix.data.shard import Shards
from topmix.engines import ENGINES, Serial, Threads
from topmix.estimators import ESTIMATORS
from topmix.inference import INFERENCES, Collapsed, Variational
from topmix.learners import LEARNERS, Asynchronous, Batch, Memoized, Stochastic
from topmix.learners.asynchronous_topics import AsynchronousTopics
from topmix.numerics.threads import threads
from topmix.search import SEARCHES, TopicSearch

FAMILIES = {"inference": INFERENCES, "learner": LEARNERS, "engine": ENGINES, "search": SEARCHES}
COMPONENTS = {cls.__name__: (family, cls) for family, known in FAMILIES.items() for cls in known.values()}
TOPICS = ("LDA", "HDP")
MIXTURES = ("GaussianMixture", "MultinomialMixture", "VonMisesFisherMixture")
CHAINS = ("GibbsLDA", "CombinatorialLDA")

X = sample_lda(90, 30, 4, doc_length=40, doc_topic_prior=0.1, random_state=1).corpus.to_scipy().toarray()
X[:, 29] = 0  # a word that nobody uses
ROWS = make_blobs([140, 80, 50, 30], 3, cluster_std=1.5, random_state=3)[0]
SMALL: dict[str, dict[str, Any]] = {
    "LDA": {"max_iter": 4, "tol": -np.inf},
    "HDP": {"max_iter": 4, "tol": -np.inf, "search": None},
    "GibbsLDA": {"max_iter": 6},
    "CombinatorialLDA": {"max_iter": 4, "tol": -np.inf},
    "GaussianMixture": {"max_iter": 4, "tol": -np.inf},
    "MultinomialMixture": {"max_iter": 4, "tol": -np.inf},
    "VonMisesFisherMixture": {"max_iter": 4, "tol": -np.inf},
    # Components are settings of an estimator.
    "CVB0": {"learner": "batch"},
    "SCVB0": {"learner": "stochastic"},
    "Asynchronous": {"inference": "variational", "n_jobs": 2},
    "TopicSearch": {"n_components": 3, "max_iter": 200, "tol": 1e-3},
}
FACTS: dict[str, tuple[str, Callable[[Owner], None]]] = {}


class Owner:
    """Makes and fits a small model with some parameters of the estimator or component changed."""

    def __init__(self, name: str):
        family, self.component = COMPONENTS.get(name, (None, None))
        self.name, self.family = name, family
        self.estimator = name if family is None else "HDP" if family == "search" else "LDA"
        self.data = ROWS if self.estimator in ("GaussianMixture", "VonMisesFisherMixture") else X

    def make(self, on: dict[str, Any] | None = None, **parameters: Any) -> Any:
        own = {self.family: self.component(**parameters)} if self.component else parameters
        small = {"n_components": 4, "random_state": 0} | SMALL[self.estimator] | SMALL.get(self.name, {})
        return ESTIMATORS[self.estimator](**small | (on or {}) | own)

    def __call__(self, on: dict[str, Any] | None = None, data: Any = None, **parameters: Any) -> Any:
        return self.make(on, **parameters).fit(self.data if data is None else data)


def fact(parameter: str, *owners: str) -> Callable[[Callable[[Owner], None]], Callable[[Owner], None]]:
    def register(function: Callable[[Owner], None]) -> Callable[[Owner], None]:
        for owner in owners:
            assert f"{owner}.{parameter}" not in FACTS
            FACTS[f"{owner}.{parameter}"] = owner, function
        return function

    return register


def found(model: Any) -> np.ndarray:
    """What a fit learned."""
    return model.means_ if hasattr(model, "means_") else model.components_


def differ(a: Any, b: Any) -> bool:
    return not np.array_equal(found(a), found(b))


def same(a: Any, b: Any) -> bool:
    return np.array_equal(found(a), found(b))


def in_use(model: Any, data: np.ndarray = X) -> float:
    """Topics that documents use, on average."""
    return model.transform(data, sparse_output=True).nnz / len(data)


def iterations(model: Any, n_pass: int = 1) -> float:
    return model.history_[n_pass - 1].effort["iterations"]


def test_every_public_parameter_has_a_fact():
    owners = {**ESTIMATORS, **{name: cls for name, (_, cls) in COMPONENTS.items()}}
    known = {f"{name}.{p}" for name, cls in owners.items() for p in inspect.signature(cls).parameters}
    assert known - set(FACTS) == set(), "parameters without a fact"
    assert set(FACTS) - known == set(), "facts about parameters that are no more"


# All estimators


@fact("n_components", *ESTIMATORS)
def as_many_as_asked_for(fit):
    assert len(found(fit(n_components=2))) == 2
    assert len(found(fit(n_components=7))) == 7


@fact("max_iter", *ESTIMATORS)
def passes_at_most(fit):
    assert fit(max_iter=2).n_iter_ == len(fit(max_iter=2).history_) == 2
    assert fit(max_iter=5).n_iter_ == 5


@fact("tol", *TOPICS, *MIXTURES, "CombinatorialLDA")
def a_loose_tolerance_ends_sooner(fit):
    loose, tight = (fit(tol=tol, max_iter=60) for tol in (1e3, 1e-9))
    assert loose.n_iter_ == 2 < tight.n_iter_
    assert loose.converged_


@fact("random_state", *ESTIMATORS)
def one_seed_one_result(fit):
    assert same(fit(random_state=1), fit(random_state=1))
    assert differ(fit(random_state=1), fit(random_state=2))


@fact("n_jobs", *ESTIMATORS)
def threads_change_no_bit(fit):
    seen = []

    def watch(record, view):
        seen.append(getattr(view._model, "threads", None) if fit.name == "CombinatorialLDA" else threads())

    assert same(fit(n_jobs=1, callbacks=[watch]), fit(n_jobs=3, callbacks=[watch]))
    assert set(seen) == {1, 3}


@fact("verbose", *ESTIMATORS)
def a_line_per_pass_or_none(fit):
    for verbose, lines in ((0, 0), (1, 3)):
        with contextlib.redirect_stderr(io.StringIO()) as said:
            fit(verbose=verbose, max_iter=3)
        assert said.getvalue().count(": pass ") == lines


@fact("callbacks", *ESTIMATORS)
def callbacks_see_passes_and_end_the_fit(fit):
    seen = []

    def stop(record, view):
        seen.append((record.n_pass, view.n_components, view.weights.shape, type(view.fitted()).__name__))
        return record.n_pass == 2

    model = fit(callbacks=[stop])
    assert seen == [(n, 4, (4,), fit.name) for n in (1, 2)]
    assert model.n_iter_ == 2


@fact("warm_start", *ESTIMATORS)
def a_warm_fit_goes_on(fit):
    cold, warm = fit(warm_start=False), fit(warm_start=True)
    first = warm.history_[0].objective
    assert cold.fit(fit.data).history_[0].objective == first
    better = warm.fit(fit.data).history_[0].objective - first
    assert better < 0 if fit.name == "CombinatorialLDA" else better > 0
    with pytest.raises(ValueError, match="warm_start keeps 4"):
        warm.set_params(n_components=5).fit(fit.data)


# Topic models and mixtures


@fact("engine", *TOPICS, *MIXTURES)
def engines_change_no_bit(fit):
    runs = [fit(engine=engine, n_jobs=3) for engine in ("threads", Threads(), "serial", Serial())]
    assert all(same(run, runs[0]) for run in runs)
    asked = []

    class Watched(Serial):
        def open(self, shards, step, threads):
            asked.append(type(step).__name__)
            return super().open(shards, step, threads)

    model = fit(engine=Watched())
    model.predict(fit.data) if hasattr(model, "predict") else model.transform(fit.data)
    assert len(set(asked)) == 2  # to fit, and to answer
    none = Shards(Corpus.from_scipy(X), [])
    assert [engine.open(none, None, 3).worker.threads for engine in (Serial(), Threads())] == [1, 3]


@fact("learner", *TOPICS, *MIXTURES)
def learners_update_after_their_own_number_of_batches(fit):
    n = {name: fit(learner=name, max_iter=2).n_batch_iter_ for name in ("memoized", "batch")}
    batches = min(10, len(fit.data) // 30) if fit.name == "HDP" else 10
    assert n == {"memoized": 2 * batches, "batch": 2}
    assert fit(learner=Stochastic(batch_size=30), max_iter=2).n_batch_iter_ == 2 * -(-len(fit.data) // 30)
    assert same(fit(learner="batch"), fit(learner=Batch()))
    if fit.name in ("LDA", "GaussianMixture"):
        settings = {"inference": "variational"} if fit.name == "LDA" else {}
        assert fit(learner="asynchronous", n_jobs=1, **settings).n_iter_ == 4
    else:
        with pytest.raises(ValueError, match="asynchronous"):
            fit(learner="asynchronous", **({"inference": "variational"} if fit.name == "HDP" else {}))


@fact("inference", *TOPICS)
def inference_is_what_was_asked_for(fit):
    assert fit().model_.words.posterior == fit(inference=Collapsed()).model_.words.posterior == "collapsed"
    assert fit(inference="variational").model_.words.posterior == "variational"
    if fit.name == "LDA":
        assert differ(fit(inference="cvb0"), fit(learner="batch"))
        assert differ(fit(inference="scvb0", learner="stochastic"), fit(learner="stochastic"))
    else:
        with pytest.raises(ValueError, match="HDP needs inference"):
            fit(inference="cvb0")


@fact("n_active", *TOPICS)
def a_word_keeps_so_many_topics(fit):
    word = np.zeros((1, 30))
    word[0, X.sum(axis=0).argmax()] = 50
    for L in (1, 3):
        model = fit(n_active=L, inference=Variational(min_topic_mass=0.0))
        assert model.transform(word, sparse_output=True).nnz <= L
    assert fit(n_active=None, inference=Variational(min_topic_mass=0.0)).transform(word, sparse_output=True).nnz == 4


@fact("n_active", *MIXTURES)
def a_row_keeps_so_many_clusters(fit):
    for L in (1, 3):
        assert np.count_nonzero(fit(n_active=L).predict_proba(fit.data), axis=1).max() <= L
    assert fit(n_active=None).predict_proba(fit.data, sparse_output=True).nnz == 4 * len(fit.data)


@fact("doc_topic_prior", "LDA", "GibbsLDA")
def alpha_is_what_an_empty_document_has(fit):
    alpha = np.array([0.1, 0.2, 0.3, 0.4])
    model = fit(doc_topic_prior=alpha)
    np.testing.assert_allclose(model.transform(np.zeros((1, 30)))[0], alpha)
    assert fit(doc_topic_prior=0.3).doc_topic_prior_ == 0.3
    assert fit().doc_topic_prior_ == 0.5 / 4
    learned = {"learn_every": 2} if fit.name == "GibbsLDA" else {}
    assert len(set(fit(doc_topic_prior="auto", **learned).doc_topic_prior_)) == 4


@fact("doc_topic_prior", "HDP")
def alpha_is_shared_by_topics(fit):
    model = fit(doc_topic_prior=2.0)
    np.testing.assert_allclose(model.doc_topic_prior_, 2 * model.topic_shares_)
    assert fit().concentration_ == 0.5
    assert fit(doc_topic_prior="auto", max_iter=8).concentration_ != 0.5


@fact("topic_word_prior", *TOPICS, "GibbsLDA", "MultinomialMixture")
def eta_is_what_an_unused_word_has(fit):
    np.testing.assert_allclose(fit(topic_word_prior=0.4).components_[:, 29], 0.4)
    if fit.name == "MultinomialMixture":
        return
    eta = np.linspace(0.1, 0.4, 120).reshape(4, 30)
    np.testing.assert_allclose(fit(topic_word_prior=eta).components_[:, 29], eta[:, 29])
    np.testing.assert_allclose(fit(topic_word_prior=eta[0]).components_[:, 29], eta[0, 29])
    learned = {"learn_every": 2} if fit.name == "GibbsLDA" else {}
    assert fit(topic_word_prior="auto", **learned).topic_word_prior_ != 0.03


@fact("smoothing", *TOPICS)
def smoothing_stands_for_eta_in_reports(fit):
    model = fit(smoothing=0.7, topic_word_prior=0.2)
    counts = model.components_ - 0.2 + 0.7
    np.testing.assert_allclose(model.topic_word_, counts / counts.sum(axis=1, keepdims=True))
    assert same(model, fit(topic_word_prior=0.2))  # and changes no topic


@fact("smoothing", "CombinatorialLDA")
def smoothing_is_added_to_counts(fit):
    np.testing.assert_allclose(fit(smoothing=0.7).components_ - fit(smoothing=0.2).components_, 0.5)


@fact("max_time", "LDA")
def seconds_end_a_fit(fit):
    assert fit(max_time=1e-9).n_iter_ == 1
    assert fit(max_time=1e9).n_iter_ == 4


@fact("n_init", "LDA", *MIXTURES)
def the_best_of_several_starts(fit):
    one, several = fit(n_init=1), fit(n_init=6)
    others = [fit(random_state=seed).elbo_ for seed in range(6)]
    assert several.elbo_ >= one.elbo_
    assert several.elbo_ > min(others)


@fact("init", *TOPICS)
def topics_start_where_they_are_told_to(fit):
    given = np.random.default_rng(0).gamma(1, 1, (4, 30))
    start = fit(init=given, max_iter=0)
    np.testing.assert_allclose(start.components_, given + start.topic_word_prior_)
    assert same(fit(init=start, max_iter=0), fit(init=start.components_, max_iter=0))
    starts = {name: fit(init=name, max_iter=0) for name in ("auto", "blended", "documents", "random")}
    assert same(starts["auto"], starts["blended"])
    assert differ(starts["blended"], starts["documents"])
    assert np.ptp(starts["random"].components_) < 1.0  # near-uniform


@fact("weight_concentration_prior", "HDP")
def gamma_is_kept_or_learned(fit):
    assert fit(weight_concentration_prior=3.0).weight_concentration_ == 3.0
    assert fit().weight_concentration_ == 10.0
    assert fit(weight_concentration_prior="auto", max_iter=8).weight_concentration_ != 10.0
    small, large = (fit(weight_concentration_prior=g).topic_shares_.sum() for g in (1.0, 100.0))
    assert small > large  # more is left for topics that are not there yet


@fact("search", "HDP")
def the_number_of_topics_is_found_or_kept(fit):
    assert len(found(fit(search=None))) == 4
    searched = fit(search=TopicSearch(max_topics=8), n_components=1, max_iter=200, tol=1e-3)
    assert 1 < len(found(searched)) <= 8
    assert any(record.moves for record in searched.history_)


# Mixtures


@fact("objective", "GaussianMixture", "MultinomialMixture")
def objectives_differ(fit):
    vb, at_mode, ml = (fit(objective=name, max_iter=30) for name in ("vb", "map", "ml"))
    assert vb.elbo_ < ml.elbo_  # the evidence is smaller than the largest likelihood
    assert ml.lower_bound_ == pytest.approx(ml.elbo_ / len(fit.data))
    assert vb.lower_bound_ == vb.elbo_
    assert differ(vb, at_mode)


@fact("weight_concentration_prior", *MIXTURES)
def a_strong_prior_evens_weights_out(fit):
    np.testing.assert_allclose(fit(weight_concentration_prior=1e9).weights_, 0.25, rtol=1e-5)
    assert np.ptp(fit(weight_concentration_prior=1e-3).weights_) > 0.01


@fact("weight_concentration_prior_type", "GaussianMixture", "MultinomialMixture")
def weights_may_be_sticks(fit):
    sticks = fit(weight_concentration_prior_type="dirichlet_process")
    assert isinstance(sticks.model_.allocation, StickBreaking)
    assert not np.array_equal(sticks.weights_, fit().weights_)


@fact("covariance_type", "GaussianMixture")
def covariances_have_a_shape(fit):
    shapes = {"full": (4, 3, 3), "tied": (3, 3), "diag": (4, 3), "spherical": (4,)}
    assert {kind: fit(covariance_type=kind).covariances_.shape for kind in shapes} == shapes


@fact("zero_mean", "GaussianMixture")
def means_may_be_zero(fit):
    assert np.all(fit(zero_mean=True).means_ == 0)
    np.testing.assert_allclose(fit(zero_mean=True, n_components=1, objective="ml").covariances_[0], ROWS.T @ ROWS / 300)


@fact("candidates", "GaussianMixture")
def neighbours_are_named(fit):
    settings = {"n_components": 8, "n_active": 2}
    near = fit(candidates=3, **settings)
    assert near.model_.likelihood.tables(None).neighbours.shape == (8, 3)
    assert fit(**settings).model_.likelihood.tables(None).neighbours.shape == (8, 0)
    assert differ(near, fit(**settings))


@fact("mean_prior", "GaussianMixture")
def means_go_where_they_are_expected(fit):
    model = fit(mean_prior=[7.0, 8.0, 9.0], mean_precision_prior=1e9)
    np.testing.assert_allclose(model.means_, [[7.0, 8.0, 9.0]] * 4, atol=1e-3)


@fact("mean_precision_prior", "GaussianMixture")
def rows_that_the_expected_mean_is_worth(fit):
    model = fit(mean_precision_prior=5.0)
    np.testing.assert_allclose(model.mean_precision_.sum(), 300 + 4 * 5.0)
    np.testing.assert_allclose(fit(mean_precision_prior=1e9).means_, [ROWS.mean(axis=0)] * 4, atol=1e-3)


@fact("degrees_of_freedom_prior", "GaussianMixture")
def rows_that_the_expected_covariance_is_worth(fit):
    assert fit(degrees_of_freedom_prior=7.0).degrees_of_freedom_.sum() == pytest.approx(300 + 4 * 7.0)
    assert fit().degrees_of_freedom_.sum() == pytest.approx(300 + 4 * 3)


@fact("covariance_prior", "GaussianMixture")
def covariances_go_where_they_are_expected(fit):
    model = fit(covariance_prior=1e9 * np.diag([1.0, 2.0, 3.0]), degrees_of_freedom_prior=1e9)
    np.testing.assert_allclose(model.covariances_, [np.diag([1.0, 2.0, 3.0])] * 4, atol=1e-3)


@fact("reg_covar", "GaussianMixture")
def variances_are_raised(fit):
    plain, raised = (fit(n_components=1, objective="ml", reg_covar=reg).covariances_[0] for reg in (0.0, 2.0))
    np.testing.assert_allclose(raised - plain, 2 * np.eye(3), atol=1e-6)


@fact("init_params", "GaussianMixture")
def clusters_start_where_they_are_told_to(fit):
    begin = {"max_iter": 0, "objective": "ml"}
    names = ("auto", "k-means++", "kmeans", "random", "random_from_data")
    starts = {name: fit(init_params=name, **begin) for name in names}
    assert np.ptp(starts["random"].means_, axis=0).max() < 3  # random responsibilities: all near the mean
    assert all(np.ptp(starts[name].means_, axis=0).max() > 3 for name in names if name != "random")
    labels = np.arange(300) % 4
    by_label, by_share = (fit(init_params=init, **begin) for init in (labels, np.eye(4)[labels]))
    np.testing.assert_allclose(by_label.means_, [ROWS[labels == k].mean(axis=0) for k in range(4)])
    assert same(by_label, by_share)
    given = {"weights": [0.1, 0.2, 0.3, 0.4], "means": ROWS[:4], "precisions": np.array([np.eye(3) / 2] * 4)}
    made = fit(init_params=given, **begin)
    np.testing.assert_allclose(made.weights_, given["weights"])
    np.testing.assert_allclose(made.means_, given["means"])
    np.testing.assert_allclose(made.precisions_, given["precisions"], atol=1e-12)


# Directions


@fact("concentration_type", "VonMisesFisherMixture")
def clusters_may_be_equally_wide(fit):
    assert np.ptp(fit(concentration_type="tied").concentrations_) == 0 < np.ptp(fit().concentrations_)


@fact("objective", "VonMisesFisherMixture")
def the_likelihood_alone_has_no_prior(fit):
    at_mode, ml = fit(objective="map"), fit(objective="ml")
    assert ml.lower_bound_ == pytest.approx(ml.elbo_ / len(ROWS))
    assert same(fit(objective="ml", prior_rows=100.0), ml)
    assert differ(at_mode, ml)
    with pytest.raises(ValueError, match="objective"):
        fit(objective="vb")


@fact("prior_rows", "VonMisesFisherMixture")
def pseudo_rows_hold_concentrations_together(fit):
    few, many = (np.ptp(fit(prior_rows=rows).concentrations_) for rows in (1.0, 1e6))
    assert many < 0.01 * few


@fact("max_concentration", "VonMisesFisherMixture")
def concentrations_have_a_limit(fit):
    assert fit(max_concentration=7.0).concentrations_.max() == pytest.approx(7.0)
    assert fit().concentrations_.max() > 8


@fact("normalize", "VonMisesFisherMixture")
def rows_of_other_lengths_are_refused(fit):
    unit = ROWS / np.linalg.norm(ROWS, axis=1, keepdims=True)
    np.testing.assert_allclose(found(fit(data=unit, normalize=False)), found(fit()), rtol=1e-6)
    with pytest.raises(ValueError, match="normalize"):
        fit(normalize=False)


@fact("init_params", "VonMisesFisherMixture")
def directions_start_where_they_are_told_to(fit):
    starts = {name: fit(init_params=name, max_iter=0) for name in ("auto", "k-means++", "random_from_data")}
    assert any(same(starts["auto"], starts[name]) for name in ("k-means++", "random_from_data"))
    labels = np.arange(300) % 4
    by_label, by_share = (fit(init_params=init, max_iter=0) for init in (labels, np.eye(4)[labels]))
    unit = ROWS / np.linalg.norm(ROWS, axis=1, keepdims=True)
    sums = np.array([unit[labels == k].sum(axis=0) for k in range(4)])
    np.testing.assert_allclose(by_label.mean_directions_, sums / np.linalg.norm(sums, axis=1, keepdims=True))
    assert same(by_label, by_share)
    with pytest.raises(ValueError, match="init_params"):
        fit(init_params={"means": ROWS[:4]})


# Chains


@fact("sampler", "GibbsLDA")
def samplers_are_two_chains(fit):
    assert differ(fit(sampler="parallel"), fit(sampler="sequential"))
    assert same(fit(sampler="sequential", batch_size=7), fit(sampler="sequential"))  # which has no blocks


@fact("burn_in", "GibbsLDA")
def sweeps_before_samples(fit):
    assert [fit(burn_in=n, thin=1, annealing=0).n_samples_ for n in (0, 2, 6)] == [6, 4, 0]


@fact("thin", "GibbsLDA")
def sweeps_between_samples(fit):
    assert [fit(burn_in=0, thin=n, annealing=0).n_samples_ for n in (1, 2, 4)] == [6, 3, 1]


@fact("annealing", "GibbsLDA")
def documents_have_many_topics_at_first(fit):
    first = {}
    for n in (0, 3):
        sizes = []
        count = [lambda _, view, sizes=sizes: sizes.append(len(view._model.topics().topic))]
        fit(annealing=n, n_components=20, callbacks=count)
        first[n] = sizes[0]
    assert first[3] > first[0]
    with pytest.raises(ValueError, match="annealing"):
        fit(annealing=4)  # more than the burn-in


@fact("learn_every", "GibbsLDA")
def sweeps_between_updates_of_priors(fit):
    seen = []
    watch = [lambda _, view: seen.append(view._model.prior.alpha.sum())]
    fit(learn_every=3, annealing=0, doc_topic_prior="auto", max_iter=8, callbacks=watch)
    changed = np.flatnonzero(np.diff(seen)) + 1  # sweeps that began with another alpha
    assert changed.tolist() == [3, 6]


@fact("batch_size", "GibbsLDA")
def documents_of_a_block(fit):
    seen = []
    fit(batch_size=40, callbacks=[lambda _, view: seen.append(view._model.bounds)])
    assert seen[0] == [0, 40, 80, 90]


@fact("init", *CHAINS)
def tokens_start_where_they_are_told_to(fit):
    topics = np.zeros(int(X.sum()), int)
    settings = {"penalty": 1e6, "algorithm": "word"} if fit.name == "CombinatorialLDA" else {"n_components": 4}
    one = fit(init=topics, max_iter=1, **settings)
    assert one.components_[0].sum() > fit(init="random", max_iter=1, **settings).components_[0].sum()
    again = fit(init=fit(init=topics, max_iter=1, **settings), max_iter=1, **settings)
    assert again.history_[0].objective != fit(init="random", max_iter=1, **settings).history_[0].objective
    with pytest.raises(ValueError, match="init="):
        fit(init="magic")


@fact("penalty", "CombinatorialLDA")
def a_topic_costs(fit):
    few, many = (fit(penalty=penalty, max_iter=10) for penalty in (50.0, 0.5))
    assert in_use(few) < in_use(many)
    assert fit(penalty="auto").penalty_ == pytest.approx(np.log(4) + np.log(X.sum() / 90))


@fact("algorithm", "CombinatorialLDA")
def algorithms_go_further_and_further(fit):
    ends = [fit(algorithm=name, init="random", max_iter=10).objective_ for name in ("basic", "word", "word+refine")]
    assert ends[2] < min(ends[:2])
    assert ends[0] != ends[1]


# Inference


@fact("min_topic_mass", "Collapsed", "Variational")
def small_topics_leave_documents(fit):
    assert in_use(fit(min_topic_mass=0.0)) > in_use(fit()) > in_use(fit(min_topic_mass=12.0))


@fact("restarts", "Collapsed", "Variational")
def documents_are_tried_without_small_topics(fit):
    model = fit(min_topic_mass=0.0)
    before, topics = model.score(X), in_use(model)
    model.set_params(inference__restarts=4)
    assert in_use(model) < topics
    if fit.name == "Variational":  # whose score is the objective of documents
        assert model.score(X) > before
    assert fit(restarts=4).history_[0].effort["restarts"] > 0 == fit().history_[0].effort["restarts"]


@fact("cold_visits", "Collapsed", "Variational")
def later_visits_start_from_the_last(fit):
    settings = {"min_topic_mass": 0.0, "doc_tol": 1e-4}
    warm, cold = fit(cold_visits=1, **settings), fit(cold_visits=None, **settings)
    assert warm.history_[0].objective == cold.history_[0].objective
    assert iterations(warm, 4) < iterations(cold, 4)


@fact("selection", "Collapsed", "Variational")
def when_topics_are_chosen(fit):
    assert differ(fit({"n_active": 2}, selection="last"), fit({"n_active": 2}, selection="often"))
    assert same(fit({"n_active": None}, selection="last"), fit({"n_active": None}, selection="often"))


@fact("max_doc_update_iter", "Collapsed", "Variational")
def iterations_of_a_document(fit):
    assert iterations(fit(max_doc_update_iter=1)) <= 90 * 2 < iterations(fit())


@fact("doc_tol", "Collapsed", "Variational")
def a_tight_tolerance_takes_longer(fit):
    assert iterations(fit(doc_tol=1.0)) < iterations(fit()) < iterations(fit(doc_tol=1e-5))


@fact("stopping", "Collapsed", "Variational")
def the_mean_change_is_smaller_than_the_largest(fit):
    assert iterations(fit(stopping="mean", doc_tol=0.01)) < iterations(fit(stopping="max", doc_tol=0.01))


@fact("exclude", "Collapsed")
def a_token_does_not_judge_itself(fit):
    """A document of one token: only the prior says what its topic is."""
    model = fit(min_topic_mass=0.0, own_discount=0.0, max_doc_update_iter=500, doc_tol=0.0)
    token = np.zeros((1, 30))
    token[0, X.sum(axis=0).argmax()] = 1
    shares = model.components_[:, token[0].argmax()] / model.components_.sum(axis=1)
    alone = model.set_params(inference__exclude=True).transform(token, normalize=False)[0] - model.doc_topic_prior_
    np.testing.assert_allclose(alone, shares / shares.sum(), rtol=1e-3)
    with_itself = model.set_params(inference__exclude=False).transform(token, normalize=False)[0]
    assert with_itself.max() > alone.max()


@fact("own_discount", "Collapsed")
def own_words_count_less(fit):
    exact = fit({"learner": "batch"}, own_discount=0.0, min_topic_mass=0.0, doc_tol=1e-6, max_doc_update_iter=1000)
    assert np.all(np.diff([record.objective for record in exact.history_]) > 0)  # EM
    runs = [fit(own_discount=own) for own in (0.0, 0.5, 1.0)]
    assert differ(runs[0], runs[1])
    assert differ(runs[1], runs[2])
    on_stream = [fit({"learner": "stochastic"}, own_discount=own) for own in (0.0, 1.0)]
    assert same(*on_stream)  # a stream has no last visit


@fact("doc_burn_in", "CVB0", "SCVB0")
def sweeps_before_a_document_counts(fit):
    none, some = (fit({"max_iter": 1}, doc_burn_in=n).elbo_ for n in (0, 5))
    assert some > none


@fact("doc_scale", "SCVB0")
@fact("doc_offset", "SCVB0")
@fact("doc_decay", "SCVB0")
def the_average_of_a_document_moves(fit):
    """Three ways to make every step next to nothing have one result, and it is another one."""
    still = [fit(doc_scale=1e-12), fit(doc_offset=1e14), fit(doc_decay=40.0)]
    for other in still[1:]:
        np.testing.assert_allclose(other.components_, still[0].components_, rtol=1e-3, atol=1e-3)
    assert np.abs(fit().components_ - still[0].components_).max() > 1


# Learners


@fact("batch_size", "Memoized", "Stochastic")
def rows_of_a_batch(fit):
    assert fit({"max_iter": 1}, batch_size=20).n_batch_iter_ == 5
    assert fit({"max_iter": 1}, batch_size=90).n_batch_iter_ == 1


@fact("batches_per_update", "Memoized")
def batches_of_a_round(fit):
    one, three, all_of_them = (fit({"max_iter": 2}, batches_per_update=n) for n in (1, 3, 10))
    assert [m.n_batch_iter_ for m in (one, three, all_of_them)] == [20, 8, 2]
    assert differ(one, three)
    start = {"init": np.random.default_rng(0).gamma(1, 1, (4, 30)), "max_iter": 1}
    batch, round_ = LDA(4, learner="batch", **start).fit(X), LDA(4, learner=Memoized(9, 10), **start).fit(X)
    np.testing.assert_allclose(round_.components_, batch.components_, rtol=1e-5, atol=1e-5)


@fact("scale", "Stochastic")
@fact("offset", "Stochastic")
@fact("decay", "Stochastic")
def steps_get_smaller(fit):
    """Three ways to make every step next to nothing leave the topics where they start."""
    start = fit({"max_iter": 0}).components_
    for settings in ({"scale": 1e-12}, {"offset": 1e18}, {"decay": 40.0}):
        np.testing.assert_allclose(fit(**settings).components_, start, rtol=1e-4, atol=1e-4)
    assert np.abs(fit().components_ - start).max() > 1
    learner = Stochastic(scale=3.0, offset=16.0, decay=0.5)
    assert (learner.step_size(0), learner.step_size(9)) == (0.75, 0.6)
    assert Stochastic(scale=100.0).step_size(0) == 1.0


@fact("total_samples", "Stochastic")
def rows_that_a_stream_stands_for(fit):
    for n in (90, 900):
        model = fit.make(total_samples=n, scale=100.0, decay=0.0).partial_fit(X)
        np.testing.assert_allclose(model.components_.sum(), X.sum() * n / 90 + 4 * 30 * 0.08, rtol=1e-5)


@fact("workers", "Asynchronous")
def one_worker_repeats_itself(fit):
    assert same(fit(workers=1), fit(workers=1))
    with patch("topmix.learners.asynchronous.AsynchronousTopics", wraps=AsynchronousTopics) as opened:
        for n in (1, 3, None):
            fit(workers=n)
    assert [call.args[2] for call in opened.call_args_list] == [1, 3, 2]  # as many as n_jobs where it is not said


@fact("batch_size", "Asynchronous")
def rows_between_two_updates(fit):
    runs = []
    for learner in (Asynchronous(batch_size=10), Asynchronous(batch_size=100), Asynchronous()):
        runs.append(GaussianMixture(4, learner=learner, max_iter=3, tol=-np.inf, random_state=0).fit(ROWS))
    assert differ(runs[0], runs[1])
    assert differ(runs[0], runs[2])


@fact("outside", "Asynchronous")
def topics_outside_the_best_share_alike(fit):
    on = {"n_active": 2, "max_iter": 30, "n_jobs": 1}
    best, mean = (fit(on, outside=name, opening=0) for name in ("best", "mean"))
    assert differ(best, mean)
    assert np.all(np.diff([record.objective for record in best.history_]) > -1e-6)
    assert same(fit(on | {"n_active": 4}, outside="best"), fit(on | {"n_active": 4}, outside="mean"))


@fact("opening", "Asynchronous")
def first_passes_weigh_by_means(fit):
    on = {"n_jobs": 1, "max_iter": 12}
    assert differ(fit(on, opening=0), fit(on, opening=3))
    assert same(fit(on, opening=6), fit(on, opening=20))  # never more than half of the passes
    rises = np.diff([record.objective for record in fit(on, opening=0).history_])
    assert np.all(rises > -1e-6)


# The search


@fact("warm_up", "TopicSearch")
def collapsed_passes_come_first(fit):
    for n in (0, 2):
        seen = []
        fit({"callbacks": [lambda _, view, seen=seen: seen.append(view._model.words.posterior)]}, warm_up=n)
        assert seen[: n + 1] == ["collapsed"] * n + ["variational"]


@fact("polish", "TopicSearch")
def last_passes_change_no_number(fit):
    model = fit(polish=5)
    begin = next(record.n_pass for record in model.history_ if "polish" in record.moves)
    assert len(model.history_) - begin + 1 == 5 + 1  # one more: the search was over before max_iter
    assert model.model_.words.posterior == "collapsed"
    none = fit(polish=0)
    assert not any("polish" in record.moves for record in none.history_)
    assert none.model_.words.posterior == "variational"


@fact("max_topics", "TopicSearch")
def topics_at_most(fit):
    assert len(found(fit(max_topics=2))) <= 2 < len(found(fit()))
    assert max(record.n_components for record in fit(max_topics=2).history_) <= 2 < fit.make().n_components


@pytest.mark.parametrize("parameter", sorted(FACTS))
def test_a_parameter_has_its_effect(parameter):
    owner, function = FACTS[parameter]
    function(Owner(owner))
