"""Components: settings of one algorithm in one object, as estimators, scikit-learn and files see them."""

from __future__ import annotations

import json
import pickle
from dataclasses import FrozenInstanceError, dataclass, fields, replace

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer

from topmix import HDP, LDA, GaussianMixture, MultinomialMixture, Seeds
from topmix.base.component import Component, from_dict, resolved, with_settings
from topmix.chains import Parallel, Sequential
from topmix.data import sample_lda
from topmix.engines import ENGINES
from topmix.engines.engine import Engine
from topmix.engines.local import Serial, Threads
from topmix.estimators import ESTIMATORS
from topmix.estimators.declared import FAMILIES
from topmix.inference import CVB0, SCVB0, Collapsed, Variational
from topmix.learners import Asynchronous, Batch, Memoized, Stochastic
from topmix.search import TopicSearch

# For every setting of every component another value than its default, and values that it refuses.
SETTINGS = {
    Collapsed: {
        "min_topic_mass": (1.0, [-1.0, np.nan, "x", True]), "restarts": (3, [-1, 1.5]), "cold_visits": (None, [-1]),
        "selection": ("often", ["always", None, []]), "max_doc_update_iter": (7, [0, 1.5, None]),
        "doc_tol": (0.5, [-0.1, np.nan, None]), "stopping": ("mean", ["min"]),
        "smoothing": (0.1, [0.0, "x"]), "own_discount": (0.25, [-0.1, 1.1, None]), "sweeps": (7, [-1, 1.5, None]),
    },
    SCVB0: {
        "doc_burn_in": (0, [-1, 0.5]), "doc_scale": (2.0, [0.0, np.inf]), "doc_offset": (1.0, [0.0, None]),
        "doc_decay": (0.9, [0.0, "x"]),
    },
    CVB0: {"doc_burn_in": (3, [-1, None])},
    Memoized: {
        "batch_size": (20, [0, 1.5, "x", True]),
        "batches_per_update": (3, [0, None, 2.5]),
        "momentum": (2.0, [-1, 11, None, "x"]),
    },
    Batch: {},
    Stochastic: {
        "batch_size": (20, [0]), "scale": (2.0, [0.0, None]), "offset": (1.0, [0.0, -1.0]), "decay": (0.9, [np.nan]),
        "total_samples": (1e4, [0.0, -5.0, "x"]), "half_life": (1e3, [0.0, -5.0, np.nan]),
    },
    Asynchronous: {
        "workers": (2, [0, 1.5]), "batch_size": (20, [0]), "tail": ("mean", ["rest"]), "warm_up": (0, [-1, None]),
        "block_words": (1, [0, 1.5]), "per_token": (True, ["x", None]),
    },
    Threads: {}, Serial: {},
    Parallel: {"annealing": (3, [-1, 1.5]), "learn_every": (2, [0]), "batch_size": (20, [0, "x"])},
    Sequential: {"annealing": (3, [-1, 1.5]), "learn_every": (2, [0])},
    Seeds: {
        "words": ([["a"], None, ["b"]], ["a", [3]]), "strength": (1.0, [0, None]),
        "ban": ([["a"]], ["a", {"x": ["a"]}, [3]]), "pin": ([None, ["b", 2]], [5, [["a", 1.5]]]),
    },
    TopicSearch: {"warm_up": (0, [-1, None]), "polish": (0, [-1, 1.5]), "max_topics": (20, [0, "x"])},
}  # fmt: skip
ONLY_COLLAPSED = ("own_discount", "sweeps")
SETTINGS[Variational] = {k: v for k, v in SETTINGS[Collapsed].items() if k not in ONLY_COLLAPSED}
KINDS = [(name, kind) for name, family in FAMILIES.items() for kind in family.values() if kind in SETTINGS]
kinds = pytest.mark.parametrize(("family", "kind"), KINDS, ids=[kind.__name__ for _, kind in KINDS])


def changed(kind):
    """An object of this class with no setting at its default."""
    return kind(**{name: value for name, (value, _) in SETTINGS[kind].items()})


@pytest.fixture(scope="module")
def corpus():
    return sample_lda(80, 40, 3, doc_length=30, random_state=0).corpus


def test_every_setting_of_the_cpu_components_is_here():
    assert {kind for _, kind in KINDS} == set(SETTINGS)
    for kind, settings in SETTINGS.items():
        assert set(settings) == {f.name for f in fields(kind)}
        for f in fields(kind):
            assert settings[f.name][0] != f.default


@kinds
def test_it_checks_itself(family, kind):
    for name, (value, bad) in SETTINGS[kind].items():
        assert getattr(kind(**{name: value}), name) == value
        for wrong in bad:
            with pytest.raises(ValueError, match=name):
                kind(**{name: wrong})
            with pytest.raises(ValueError, match=name):
                replace(kind(), **{name: wrong})


@kinds
def test_it_is_a_value(family, kind):
    assert kind() == kind()
    assert hash(kind()) == hash(kind())
    assert changed(kind) == changed(kind)
    for name, (value, _) in SETTINGS[kind].items():
        assert kind(**{name: value}) != kind()
        with pytest.raises(FrozenInstanceError):
            setattr(kind(), name, value)
    assert pickle.loads(pickle.dumps(changed(kind))) == changed(kind)
    for other in SETTINGS:
        assert (kind() == other()) is (kind is other)


@kinds
def test_it_prints_what_differs_from_the_default(family, kind):
    assert repr(kind()) == f"{kind.__name__}()"
    said = ", ".join(f"{name}={value!r}" for name, (value, _) in SETTINGS[kind].items())
    assert repr(changed(kind)) == f"{kind.__name__}({said})"
    assert eval(repr(changed(kind)), {kind.__name__: kind}) == changed(kind)


@kinds
def test_it_goes_through_json_by_its_name(family, kind):
    for component in (kind(), changed(kind)):
        there = json.loads(json.dumps(component.to_dict()))
        assert there["component"] == kind.__name__
        back = from_dict(there, FAMILIES[family], family)
        assert back == component
        assert type(back) is kind
    for bad, said in (
        ({}, f"{family} cannot be"),
        ({"component": "Nobody"}, f"{family} cannot be 'Nobody'"),
        ({"component": kind.__name__, "__class__": 1}, f"{kind.__name__} has no setting '__class__'"),
    ):
        with pytest.raises(ValueError, match=said):
            from_dict(bad, FAMILIES[family], family)


def test_a_string_is_short_for_the_object_with_its_defaults():
    for family, members in FAMILIES.items():
        for name, kind in members.items():
            assert resolved(name, members, family) == kind()
            assert resolved(kind(), members, family) == kind()
        with pytest.raises(ValueError, match=f"{family}='magic' is not one of '{next(iter(members))}'"):
            resolved("magic", members, family)
        for wrong in (3, None, [], int, next(iter(members.values()))):
            with pytest.raises(ValueError, match=f"{family} must be one of"):
                resolved(wrong, members, family)
    given = Memoized(batch_size=3)
    assert resolved(given, FAMILIES["learner"], "learner") is given
    with pytest.raises(ValueError, match="learner must be one of"):
        resolved(Serial(), FAMILIES["learner"], "learner")


def test_a_class_of_ones_own_may_extend_the_base_of_a_family():
    @dataclass(frozen=True, repr=False)
    class Mine(Memoized):
        more: int = 1

    mine = Mine(more=2)
    assert resolved(mine, FAMILIES["learner"], "learner") is mine
    with pytest.raises(ValueError, match="engine must be one of"):
        resolved(mine, ENGINES, "engine")
    with pytest.raises(ValueError, match="engine must be one of"):
        resolved(Component(), ENGINES, "engine")


def test_a_class_of_ones_own_without_settings_need_not_be_a_dataclass(corpus):
    class Mine(Engine):
        def open(self, shards, step, threads):
            return Serial().open(shards, step, threads)

    assert repr(Mine()) == "Mine()"
    assert Mine() == Mine() != Serial()
    model = LDA(3, max_iter=2, random_state=0, engine=Mine())
    assert model.get_params()["engine"] == Mine()
    assert clone(model).engine == Mine()
    want = LDA(3, max_iter=2, random_state=0).fit(corpus).components_
    np.testing.assert_array_equal(model.fit(corpus).components_, want)


def test_one_setting_is_changed_and_the_others_stay():
    was = Collapsed(min_topic_mass=1.0, sweeps=3)
    assert with_settings(was, {"doc_tol": 0.5}, "inference") == Collapsed(min_topic_mass=1.0, sweeps=3, doc_tol=0.5)
    assert was == Collapsed(min_topic_mass=1.0, sweeps=3)
    with pytest.raises(ValueError, match="inference is Collapsed, which has no setting 'x': it has min_topic_mass"):
        with_settings(was, {"x": 1}, "inference")
    with pytest.raises(ValueError, match="learner is Batch, which has no setting 'batch_size': it has none"):
        with_settings(Batch(), {"batch_size": 1}, "learner")


# In estimators


WITH = {
    name: [parameter for parameter in kind._get_param_names() if parameter in FAMILIES and parameter != "seeds"]
    for name, kind in ESTIMATORS.items()
}
WITH = {
    name: parameters for name, parameters in WITH.items() if "learner" in parameters
}  # GibbsLDA has an engine alone


@pytest.mark.parametrize("name", WITH)
def test_get_params_reaches_the_settings(name):
    model = ESTIMATORS[name]()
    deep, shallow = model.get_params(deep=True), model.get_params(deep=False)
    assert not any("__" in parameter for parameter in shallow)
    for parameter in WITH[name]:
        component = resolved(getattr(model, parameter), FAMILIES[parameter], parameter)
        assert {f"{parameter}__{s}": v for s, v in component.settings().items()}.items() <= deep.items()
    assert "learner__batches_per_update" in deep
    assert "learner__decay" not in deep
    assert "learner__decay" in model.set_params(learner="stochastic").get_params()
    assert "learner__batch_size" not in model.set_params(learner="magic").get_params()  # fit will say so


@pytest.mark.parametrize("name", WITH)
def test_set_params_changes_the_settings(name):
    model = ESTIMATORS[name]()
    assert model.set_params(learner__batch_size=20) is model
    assert model.learner == Memoized(batch_size=20)
    model.set_params(learner__batches_per_update=3)
    assert model.learner == Memoized(batch_size=20, batches_per_update=3)
    model.set_params(learner="stochastic", learner__decay=0.9, n_components=5)  # first the component, then its setting
    assert model.learner == Stochastic(decay=0.9)
    assert model.n_components == 5
    model.set_params(learner__scale=2.0, learner=Stochastic(batch_size=9))  # in whichever order they come
    assert model.learner == Stochastic(batch_size=9, scale=2.0)
    for bad, said in (
        ({"learner__x": 1}, "learner is Stochastic, which has no setting 'x'"),
        ({"learner__batch_size": 0}, "batch_size must be"),
        ({"nobody": 1}, "Invalid parameter 'nobody'"),
    ):
        with pytest.raises(ValueError, match=said):
            model.set_params(**bad)
    assert model.learner == Stochastic(batch_size=9, scale=2.0)


def test_a_component_that_an_estimator_does_not_have_is_refused():
    with pytest.raises(ValueError, match="GaussianMixture has no parameter 'inference'"):
        GaussianMixture().set_params(inference__doc_tol=0.1)
    with pytest.raises(ValueError, match="Invalid parameter 'inference'"):
        MultinomialMixture().set_params(inference="collapsed")
    with pytest.raises(ValueError, match="search is None and has no settings"):
        HDP(search=None).set_params(search__polish=1)
    assert HDP().set_params(search__polish=1).search == TopicSearch(polish=1)


def test_setting_a_component_in_an_estimator_leaves_the_object_alone():
    shared = Memoized(batch_size=20)
    one, two = LDA(learner=shared), LDA(learner=shared)
    one.set_params(learner__batch_size=30)
    assert one.learner == Memoized(batch_size=30)
    assert two.learner is shared
    assert shared == Memoized(batch_size=20)


@pytest.mark.parametrize("name", WITH)
def test_components_survive_clone(name):
    choices = {"inference": Variational(doc_tol=0.01), "learner": Memoized(20, 3), "engine": Serial(),
               "search": TopicSearch(polish=2)}  # fmt: skip
    given = {parameter: choices[parameter] for parameter in WITH[name]}
    copy = clone(ESTIMATORS[name](**given))
    assert {parameter: getattr(copy, parameter) for parameter in given} == given
    assert repr(copy) == repr(ESTIMATORS[name](**given))


def test_an_estimator_prints_its_components():
    assert repr(LDA(learner=Memoized(batch_size=20))) == "LDA(learner=Memoized(batch_size=20))"
    assert repr(LDA()) == "LDA()"


def test_a_grid_over_components_and_their_settings(corpus):
    X = corpus.to_scipy()
    grid = {
        "learner": [Memoized(batch_size=20), Batch(), "memoized"],
        "inference__min_topic_mass": [0.5, 2.5],
    }
    search = GridSearchCV(LDA(3, max_iter=3, random_state=0), grid, cv=2, error_score="raise").fit(X)
    seen = search.cv_results_["params"]
    assert len(seen) == 6
    assert {p["inference__min_topic_mass"] for p in seen} == {0.5, 2.5}
    best = search.best_estimator_
    assert best.inference == Collapsed(min_topic_mass=search.best_params_["inference__min_topic_mass"])
    assert best.learner == search.best_params_["learner"]
    by_mass = {}
    for p, score in zip(seen, search.cv_results_["mean_test_score"], strict=True):
        by_mass.setdefault(p["inference__min_topic_mass"], set()).add(float(score))
    assert by_mass[0.5].isdisjoint(by_mass[2.5])  # the setting reached the fit
    hand = LDA(3, max_iter=3, random_state=0, learner=best.learner, inference=best.inference).fit(X)
    np.testing.assert_array_equal(hand.components_, best.components_)


def test_a_grid_inside_a_pipeline(corpus):
    pipeline = make_pipeline(FunctionTransformer(), LDA(3, max_iter=2, random_state=0))
    grid = {"lda__inference__own_discount": [0.0, 1.0], "lda__engine": ["serial", Threads()]}
    search = GridSearchCV(pipeline, grid, cv=2, error_score="raise").fit(corpus.to_scipy())
    assert search.best_estimator_[-1].inference.own_discount in (0.0, 1.0)
    scores = search.cv_results_["mean_test_score"]
    assert len(set(np.round(scores, 9))) == 2  # who computes changes nothing


def test_a_mixture_in_a_grid():
    X = np.random.default_rng(0).normal(size=(60, 3))
    grid = {"learner": [Memoized(batch_size=15), Stochastic(batch_size=15)], "learner__batch_size": [10, 30]}
    search = GridSearchCV(GaussianMixture(2, max_iter=3, random_state=0), grid, cv=2, error_score="raise").fit(X)
    sizes = {(type(p["learner"]), p["learner__batch_size"]) for p in search.cv_results_["params"]}
    assert len(sizes) == 4
    assert search.best_estimator_.learner.batch_size == search.best_params_["learner__batch_size"]


def test_the_object_and_its_name_give_the_same_bits(corpus):
    for parameter in ("inference", "learner", "engine"):
        for name, kind in FAMILIES[parameter].items():
            if name in ("asynchronous", "cvb0") or kind not in SETTINGS:
                continue
            one, two = (LDA(3, max_iter=2, random_state=0, **{parameter: given}) for given in (name, kind()))
            np.testing.assert_array_equal(one.fit(corpus).components_, two.fit(corpus).components_)


@pytest.mark.parametrize(
    ("parameters", "said"),
    [
        ({"inference": "cvb0", "learner": "stochastic"}, "inference='cvb0' keeps every document's responsibilities"),
        ({"inference": Collapsed(), "learner": "asynchronous"}, "needs inference='variational'"),
        ({"inference": "scvb0", "learner": Asynchronous()}, "needs inference='variational'"),
        ({"inference": "variational", "learner": "asynchronous", "engine": Serial()}, "engine must be 'threads'"),
    ],
)
def test_components_that_do_not_go_together_are_refused_before_anything_is_done(corpus, parameters, said):
    model = LDA(3, **parameters)
    with pytest.raises(ValueError, match=said):
        model.fit(corpus)
    assert not hasattr(model, "history_")


def test_hdp_is_solved_by_fixed_points_only(corpus):
    for inference in ("cvb0", SCVB0()):
        with pytest.raises(ValueError, match="HDP needs inference='collapsed' or 'variational'"):
            HDP(3, inference=inference).fit(corpus)
    with pytest.raises(ValueError, match="asynchronous"):
        HDP(3, inference="variational", learner="asynchronous").fit(corpus)
    hdp = HDP(3, learner="batch", search="auto", max_iter=2, random_state=0).fit(corpus)  # only memoized fits search
    assert len(hdp.components_) == 3
