"""The components that estimators take as parameters, by the name of the parameter; and parameters as declared."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sklearn.base import BaseEstimator

from topmix.chains import SAMPLERS
from topmix.engines import ENGINES
from topmix.fitted.seeds import Seeds
from topmix.inference import INFERENCES
from topmix.learners import LEARNERS
from topmix.parameters.component import Component, resolved
from topmix.parameters.declared import all_as_declared, declared_types
from topmix.search import SEARCHES

FAMILIES: dict[str, Mapping[str, type[Component]]] = {
    "inference": INFERENCES,
    "learner": LEARNERS,
    "engine": ENGINES,
    "search": SEARCHES,
    "sampler": SAMPLERS,
    "seeds": {"none": Seeds},
}


def component_of(given: Any, parameter: str) -> Any:
    """The component that a user's setting stands for; None where there is none."""
    if parameter == "seeds":
        return Seeds.of(given)
    if parameter == "search" and given is None:
        return None
    return resolved(given, FAMILIES[parameter], parameter)


def declared_parameters(estimator: BaseEstimator) -> dict[str, Any]:
    """Its parameters in the types that the signature declares. One of another type is a ValueError."""
    return all_as_declared(estimator.get_params(deep=False), declared_types(type(estimator).__init__))
