"""Registered facts about parameters, and the small models that they are about."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
from sklearn.datasets import make_blobs

from topmix.data import sample_lda
from topmix.engines import ENGINES
from topmix.estimators import ESTIMATORS
from topmix.inference import INFERENCES
from topmix.learners import LEARNERS
from topmix.search import SEARCHES

FAMILIES = {"inference": INFERENCES, "learner": LEARNERS, "engine": ENGINES, "search": SEARCHES}  # with names
COMPONENTS = {cls.__name__: (family, cls) for family, known in FAMILIES.items() for cls in known.values()}
TOPICS = ("LDA", "HDP")
MIXTURES = ("GaussianMixture", "MultinomialMixture", "VonMisesFisherMixture")
ADMIXTURES = ("GaussianAdmixture", "VonMisesFisherAdmixture")
CHAINS = ("GibbsLDA", "CombinatorialLDA")

X = sample_lda(90, 30, 4, doc_length=40, doc_topic_prior=0.1, random_state=1).corpus.to_scipy().toarray()
X[:, 29] = 0  # a word that nobody uses
FEW = X[:45]  # one batch, for a search of a hundred passes
ROWS = make_blobs([140, 80, 50, 30], 3, cluster_std=1.5, random_state=3)[0]
SMALL: dict[str, dict[str, Any]] = {
    "LDA": {"max_iter": 4, "tol": -np.inf},
    "HDP": {"max_iter": 4, "tol": -np.inf, "search": None},
    "GibbsLDA": {"max_iter": 6},
    "CombinatorialLDA": {"max_iter": 4, "tol": -np.inf},
    "GaussianMixture": {"max_iter": 4, "tol": -np.inf},
    "MultinomialMixture": {"max_iter": 4, "tol": -np.inf},
    "VonMisesFisherMixture": {"max_iter": 4, "tol": -np.inf},
    "GaussianAdmixture": {"max_iter": 4, "tol": -np.inf},
    "VonMisesFisherAdmixture": {"max_iter": 4, "tol": -np.inf},
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
        self.data = ROWS if self.estimator in ("GaussianMixture", "VonMisesFisherMixture", *ADMIXTURES) else X
        if family == "search":
            self.data = FEW

    def make(self, on: dict[str, Any] | None = None, **parameters: Any) -> Any:
        own = {self.family: self.component(**parameters)} if self.component else parameters
        small = {"n_components": 4, "random_state": 0} | SMALL[self.estimator] | SMALL.get(self.name, {})
        return ESTIMATORS[self.estimator](**small | (on or {}) | own)

    def __call__(self, on: dict[str, Any] | None = None, data: Any = None, **parameters: Any) -> Any:
        if not on and data is None and not parameters:
            return plain(self.name)
        return self.make(on, **parameters).fit(self.data if data is None else data)


@cache
def plain(name: str) -> Any:
    """Nothing changed: many facts compare with this fit."""
    owner = Owner(name)
    return owner.make().fit(owner.data)


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
