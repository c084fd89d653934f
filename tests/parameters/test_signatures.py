"""The parameters of all estimators: names, order and defaults, as users wrote them into their programs."""

from __future__ import annotations

import inspect

import pytest
from sklearn.base import clone

from topmix.estimators import ESTIMATORS, SUPERVISED

RUNNING = {"n_jobs": None, "random_state": None, "verbose": None, "callbacks": None}
STARTED = {"max_time": None, "n_init": 1}
TOPICS = {"n_active": 16, "inference": "collapsed", "learner": "memoized", "engine": "threads"}
PRIORS = {"doc_topic_prior": None, "topic_word_prior": None}
LDA = {**TOPICS, **PRIORS, "seeds": None, "max_iter": None, "tol": 3e-3, **STARTED, "init": "auto", "warm_start": False}
CLUSTERS = {"n_active": 8, "learner": "memoized", "engine": "threads"}
WEIGHTS = {"weight_concentration_prior_type": "dirichlet_distribution", "weight_concentration_prior": None}
PASSES = {"max_iter": 100, "tol": 1e-3, **STARTED}
GAUSSIAN = {
    **WEIGHTS, "mean_prior": None, "mean_precision_prior": None, "degrees_of_freedom_prior": None,
    "covariance_prior": None, "reg_covar": 1e-6, "init_params": "auto", **PASSES, "warm_start": False,
}  # fmt: skip
SHAPE = {"covariance_type": "full", "zero_mean": False, "objective": "map"}
DIRECTIONS = {
    "prior_rows": 1.0, "max_concentration": 1e6, "normalize": True, **PASSES, "init": "auto", "warm_start": False,
}  # fmt: skip
SIGNATURES = {
    "LDA": {"n_components": 100, **LDA},
    "HDP": {
        "n_components": 100, **TOPICS, "search": "auto", **LDA, "max_iter": 400, "tol": 1e-3,
    },
    "GibbsLDA": {
        "n_components": 100, "sampler": "parallel", "engine": "threads", **PRIORS, "seeds": None, "max_iter": 200,
        "burn_in": None, "thin": 5, **STARTED, "init": None, "warm_start": False,
    },
    "CombinatorialLDA": {
        "n_components": 100, "penalty": 8.0, "algorithm": "word+refine", "smoothing": 0.01, "exchanges": True,
        "early_smoothing": True, "max_iter": 20, "tol": 1e-4, **STARTED, "init": None, "warm_start": False,
    },
    "GaussianMixture": {"n_components": 8, **SHAPE, "n_active": 8, "candidates": None, **CLUSTERS, **GAUSSIAN},
    "MultinomialMixture": {
        "n_components": 8, "objective": "vb", **CLUSTERS, **WEIGHTS, "topic_word_prior": 0.3, **PASSES, "init": "auto",
        "warm_start": False,
    },
    "VonMisesFisherMixture": {
        "n_components": 8, "concentration_type": "free", "objective": "map", **CLUSTERS,
        "weight_concentration_prior": None, **DIRECTIONS,
    },
    "GaussianAdmixture": {"n_components": 8, **SHAPE, **CLUSTERS, **GAUSSIAN},
    "VonMisesFisherAdmixture": {
        "n_components": 8, "concentration_type": "free", "objective": "map", **CLUSTERS, **WEIGHTS, **DIRECTIONS,
    },
    "LabelledLDA": {"n_components_per_label": 1, "n_free": 0, **TOPICS, **PRIORS, "max_iter": None, "tol": 3e-3},
    "SupervisedLDA": {"n_components": 100, "response": "categorical", "response_weight": None, **LDA},
}  # fmt: skip
EVERY = {**ESTIMATORS, **SUPERVISED}


@pytest.mark.parametrize("name", EVERY)
def test_a_signature_stays(name):
    parameters = inspect.signature(EVERY[name]).parameters
    wanted = {**SIGNATURES[name], **RUNNING}
    assert [(p.name, p.default) for p in parameters.values()] == list(wanted.items())
    first, *others = parameters.values()
    assert first.kind is first.POSITIONAL_OR_KEYWORD
    assert all(p.kind is p.KEYWORD_ONLY for p in others)
    assert EVERY[name]().get_params(deep=False) == wanted


def test_a_subclass_declares_what_it_adds():
    class Named(EVERY["LDA"], without=["seeds"]):
        """Topics with a label.

        Parameters
        ----------
        label : str
            What it is called.
        """

        label: str = "none"
        max_iter = 7

    model = clone(Named(5, label="a"))
    assert (model.n_components, model.label, model.max_iter) == (5, "a", 7)
    assert "label : str\n    What it is called." in Named.__doc__
    assert "n_active : int or None\n    Topics kept" in Named.__doc__
    with pytest.raises(TypeError, match="Named has no parameter 'seeds'"):
        Named(seeds=[["a"]])


def test_a_constructor_written_by_hand_stays():
    class Labelled(EVERY["LDA"]):
        def __init__(self, label, n_components=3):
            super().__init__(n_components)
            self.label = label

    class More(Labelled):
        """Derived from it."""

    assert More("a").n_components == 3
    assert list(inspect.signature(More).parameters) == ["label", "n_components"]
