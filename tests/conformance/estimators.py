"""Small estimators of every kind, the marks that run a test for each, and all that a fitted one says."""

import warnings

import numpy as np
import pytest
from sklearn.utils import get_tags

from topmix.estimators import ESTIMATORS
from topmix.learners import Asynchronous

FIXED = {"HDP": {"search": None}}  # as many topics as were asked for; scikit-learn's checks see the defaults
# Workers are another way through fit, so these are held to all of it as well.
ASYNCHRONOUS = {
    "LDA, asynchronous": {"learner": Asynchronous(warm_up=0), "inference": "variational"},
    "GaussianMixture, asynchronous": {"learner": "asynchronous"},
    "MultinomialMixture, asynchronous": {"learner": "asynchronous"},
}
EVERYONE = [*ESTIMATORS, *ASYNCHRONOUS]


def class_of(name):
    return ESTIMATORS[name.split(",")[0]]


def make(name, **parameters):
    """Small and repeatable; of the other parameters, those that it has."""
    common = {"n_components": 4, "max_iter": 5, "random_state": 0, "n_jobs": 1} | FIXED.get(name, {})
    known = class_of(name)._get_param_names()
    return class_of(name)(
        **common | {p: value for p, value in parameters.items() if p in known} | ASYNCHRONOUS.get(name, {})
    )


def counts_only(name):
    return get_tags(make(name)).input_tags.positive_only


def has(name, parameter):
    """Whether it has a parameter, or a component with such a setting, that a test may set."""
    return parameter in make(name).get_params(deep=True) and not (
        name in ASYNCHRONOUS and parameter.partition("__")[0] == "learner"
    )


everyone = pytest.mark.parametrize("name", EVERYONE)
of_counts = pytest.mark.parametrize("name", [name for name in EVERYONE if counts_only(name)])


def those_with(parameter):
    return pytest.mark.parametrize("name", [name for name in EVERYONE if has(name, parameter)])


def answers(model, X):
    """All that a fitted estimator says of X and of itself."""
    out = [np.asarray(getattr(model, a)) for a in ("components_", "weights_", "means_") if hasattr(model, a)]
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="X (has|does not have valid) feature names")
        verbs = ("predict", "predict_proba", "transform", "score_samples")
        out += [np.asarray(getattr(model, verb)(X)) for verb in verbs if hasattr(model, verb)]
    return out


def same(a, b):
    for x, y in zip(a, b, strict=True):
        np.testing.assert_array_equal(x, y)


def ask(model, X):
    """One of its verbs."""
    return model.predict(X) if hasattr(model, "predict") else model.transform(X)
