"""Estimators: parameters in words, attributes with a trailing underscore, following scikit-learn's API. Each one is
imported when it is asked for."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from topmix.estimators.files import MODULE_OF, load, load_predictor

if TYPE_CHECKING:
    from topmix.estimators.admixture import GaussianAdmixture, VonMisesFisherAdmixture
    from topmix.estimators.combinatorial import CombinatorialLDA
    from topmix.estimators.gaussian import GaussianMixture
    from topmix.estimators.gibbs import GibbsLDA
    from topmix.estimators.lda import HDP, LDA
    from topmix.estimators.multinomial import MultinomialMixture
    from topmix.estimators.supervised import LabelledLDA, SupervisedLDA
    from topmix.estimators.von_mises_fisher import VonMisesFisherMixture
    from topmix.results.predictor import Predictor
    from topmix.results.seeds import Seeds

    ESTIMATORS: dict[str, Any]  # classes by name
    SUPERVISED: dict[str, Any]  # those that need y

__all__ = [
    "ESTIMATORS", "HDP", "LDA", "SUPERVISED", "CombinatorialLDA", "GaussianAdmixture", "GaussianMixture", "GibbsLDA",
    "LabelledLDA", "MultinomialMixture", "Predictor", "Seeds", "SupervisedLDA", "VonMisesFisherAdmixture",
    "VonMisesFisherMixture", "load", "load_predictor",
]  # fmt: skip

_HOMES = {name: f"topmix.estimators.{module}" for name, module in MODULE_OF.items()}
_HOMES |= {"Predictor": "topmix.results.predictor", "Seeds": "topmix.results.seeds"}
_WITH_Y = ("LabelledLDA", "SupervisedLDA")


def __getattr__(name: str) -> Any:
    value: object
    if name in ("ESTIMATORS", "SUPERVISED"):
        value = {known: __getattr__(known) for known in MODULE_OF if (known in _WITH_Y) == (name == "SUPERVISED")}
    elif name in _HOMES:
        value = getattr(importlib.import_module(_HOMES[name]), name)
    else:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    globals()[name] = value
    return value
