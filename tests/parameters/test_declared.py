"""Parameters in odd types: a fit takes them as what they say, `get_params` gives them back, and files hold them."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.base import clone

import topmix
from topmix.base.component import as_declared
from topmix.base.fields import ModelFileError
from topmix.chains import Parallel
from topmix.inference import SCVB0, Collapsed, Variational
from topmix.learners import Asynchronous, Memoized, Stochastic
from topmix.search import TopicSearch

from .facts import ROWS, Owner

SAVED = {  # each wrote a file that `load` refused, or was refused though it says a whole number
    "a whole prior": ("MultinomialMixture", {"topic_word_prior": 1}),
    "a NumPy prior": ("MultinomialMixture", {"topic_word_prior": np.float32(0.25)}),
    "a whole number as a float": ("LDA", {"n_components": 4.0, "max_iter": np.float64(2), "n_init": 1.0}),
    "arrays without dimensions": ("LDA", {"n_components": np.array(4), "max_iter": np.array(2.0), "tol": np.array(0)}),
    "flags as numbers": ("GaussianMixture", {"zero_mean": 1, "warm_start": np.True_, "verbose": False}),
    "precisions, full": ("GaussianMixture", {"init_params": {"precisions": np.array([np.eye(3)] * 4)}}),
    "precisions as lists": ("GaussianMixture", {"init_params": {"precisions": np.array([np.eye(3)] * 4).tolist()}}),
    "a list of arrays": ("GaussianMixture", {"init_params": {"means": list(ROWS[:4])}}),
    "a part of a start": ("GaussianMixture", {"init_params": {"weights": [0.25] * 4}}),
    "labels": ("GaussianMixture", {"init_params": (np.arange(300) % 4).astype(np.uint8)}),
    "whole priors": ("GaussianMixture", {"mean_prior": [0, 0, 0], "covariance_prior": np.eye(3, dtype=int),
                                         "mean_precision_prior": 2, "degrees_of_freedom_prior": np.int64(5)}),
    "a small precision": ("GaussianMixture", {"mean_precision_prior": 1e-29, "degrees_of_freedom_prior": 2.5}),
    "large batches": ("GibbsLDA", {"sampler": Parallel(batch_size=2**31)}),
    "large batches as a float": ("GibbsLDA", {"sampler": Parallel(batch_size=1e12, annealing=1.0), "thin": 2.0}),
    "a large component": ("LDA", {"learner": Memoized(batch_size=2**40)}),
    "a whole penalty": ("CombinatorialLDA", {"penalty": np.int64(3), "smoothing": 1}),
    "a learned prior of one topic": ("LDA", {"n_components": 1, "doc_topic_prior": "auto", "inference": "variational"}),
    "threads as a float": ("VonMisesFisherMixture", {"n_jobs": 1.0, "prior_rows": 2, "normalize": 1}),
    "a topic search": ("HDP", {"search": TopicSearch(max_topics=8.0), "max_iter": 12.0}),
}  # fmt: skip


@pytest.mark.parametrize(("name", "given"), SAVED.values(), ids=SAVED)
def test_what_a_fit_takes_a_file_holds(name, given, tmp_path):
    fit = Owner(name)
    model = fit.make(**given)
    assert all(model.get_params(deep=False)[p] is value for p, value in given.items())
    fitted = model.fit(fit.data)
    assert fitted is model
    assert all(model.get_params(deep=False)[p] is value for p, value in given.items())
    assert clone(model).get_params(deep=False).keys() == model.get_params(deep=False).keys()
    model.save(tmp_path / "model")
    loaded = topmix.load(tmp_path / "model")
    for p, value in given.items():
        if isinstance(value, dict):
            for key in value:
                np.testing.assert_array_equal(getattr(loaded, p)[key], value[key])
        else:
            np.testing.assert_array_equal(getattr(loaded, p), value)
    answers = [m.transform(fit.data) if hasattr(m, "transform") else m.predict_proba(fit.data) for m in (model, loaded)]
    np.testing.assert_array_equal(*answers)


def test_components_have_the_types_that_they_declare():
    made = Collapsed(cold_visits=2.0, restarts=np.int64(3), own_discount=np.float32(1), doc_tol=1)
    assert made == Collapsed(cold_visits=2, restarts=3, own_discount=1.0, doc_tol=1.0)
    assert [type(value) for value in (made.cold_visits, made.restarts, made.doc_tol)] == [int, int, float]
    assert repr(made) == repr(Collapsed(cold_visits=2, restarts=3, own_discount=1.0, doc_tol=1.0))
    assert Asynchronous(per_token=np.True_).per_token is True
    assert Memoized(batch_size=np.array(5)).settings() == {"batch_size": 5, "batches_per_update": 1, "momentum": 0.0}


@pytest.mark.parametrize(
    ("hint", "given", "wanted"),
    [(int, 2.0, 2), (int, 2.5, 2.5), (int, np.uint8(3), 3), (int | None, None, None), (float, 2, 2.0), (bool, 1, True),
     (bool, 2, 2), (str, np.str_("a"), "a"), (float | None, np.array(1), 1.0), (int, True, True),
     (float, np.inf, np.inf), (float, np.longdouble(0.5), 0.5)],
)  # fmt: skip
def test_a_value_says_the_same_in_its_declared_type(hint, given, wanted):
    found = as_declared(given, hint)
    assert type(found) is type(wanted)
    assert found == wanted


REFUSED = {
    "a fraction": ("LDA", {"max_iter": 2.5}, "max_iter must be None or an integer, got 2.5"),
    "text": ("LDA", {"n_components": "4"}, "n_components must be an integer, got '4'"),
    "a flag that is none": ("LDA", {"warm_start": "no"}, "warm_start must be True or False"),
    "a flag that is a number": ("LDA", {"warm_start": 2}, "warm_start must be True or False"),
    "none": ("LDA", {"tol": None}, "tol must be a number, got None"),
    "more than 64 bits": ("LDA", {"max_iter": 2**70}, "max_iter must be"),
    "not a number": ("GaussianMixture", {"tol": np.nan}, "tol must be a number"),
    "a prior that float32 loses": ("LDA", {"topic_word_prior": 1e-120}, "from 1e-30 to 1e"),
    "a small prior of documents": ("GibbsLDA", {"doc_topic_prior": 1e-120}, "from 1e-30 to 1e"),
    "priors apart": ("LDA", {"doc_topic_prior": [1.0, 1.0, 1.0, 1e77]}, "from 1e-30 to 1e"),
    "a prior of documents without digits": ("LDA", {"doc_topic_prior": 1e20}, "from 1e-30 to 1e"),
    "a concentration without digits": ("HDP", {"doc_topic_prior": 1e20}, "one positive number, from 1e-30 to 1e"),
    "a small weight": ("MultinomialMixture", {"weight_concentration_prior": 1e-120}, "from 1e-30 to 1e"),
    "a large start": ("LDA", {"init": np.full((4, 30), 1e150)}, "init must not have counts over 1e"),
    "a start of words": ("LDA", {"init": [["a"]]}, "init must be numbers"),
    "a prior of words": ("LDA", {"topic_word_prior": [["a"], [1, 2]]}, "topic_word_prior must be a number, an array"),
}


@pytest.mark.parametrize(("name", "given", "message"), REFUSED.values(), ids=REFUSED)
def test_what_makes_no_sense_is_refused_and_changes_nothing(name, given, message):
    fit = Owner(name)
    model = fit.make(**given)
    before = dict(vars(model))
    with pytest.raises(ValueError, match=message):
        model.fit(fit.data)
    assert vars(model) == before


@pytest.mark.parametrize(
    ("component", "settings"),
    [(Stochastic, {"total_samples": np.nan}), (Stochastic, {"total_samples": -1}), (Stochastic, {"scale": -0.5}),
     (Stochastic, {"scale": 0}), (Stochastic, {"offset": 0.0}), (Stochastic, {"offset": -10}),
     (Stochastic, {"decay": np.inf}), (Stochastic, {"decay": -1}), (Stochastic, {"decay": np.nan}),
     (SCVB0, {"doc_scale": -1}), (SCVB0, {"doc_offset": 0}), (Variational, {"max_doc_update_iter": 2**31}),
     (Asynchronous, {"per_token": "no"}), (TopicSearch, {"polish": 0.5})],
)  # fmt: skip
def test_a_component_refuses_what_makes_no_sense(component, settings):
    [name] = settings
    with pytest.raises(ValueError, match=f"^{name} must be"):
        component(**settings)


def test_a_step_size_is_a_number_whatever_the_decay():
    assert Stochastic(offset=1e30, decay=1e20).step_size(3) == 0.0
    assert Stochastic(offset=0.5, decay=1e20).step_size(0) == 1.0
    assert Stochastic().step_size(0) == 1.0 / 10.0**0.7


def test_a_file_that_would_not_load_is_not_written(tmp_path):
    """And the model that was there stays."""
    fit = Owner("LDA")
    model = fit()
    model.save(tmp_path / "model")
    before = (tmp_path / "model").read_bytes()
    model.model_.words.total.raw[0, 0] = np.nan
    with pytest.raises(ModelFileError, match="was not written, because `load` would refuse it"):
        model.save(tmp_path / "model")
    assert (tmp_path / "model").read_bytes() == before
    assert [path.name for path in tmp_path.iterdir()] == ["model"]
