"""Every public parameter of every estimator and component, changed once, and a fact that the change must bring about.

A fact is registered for one parameter of one or more owners. A parameter that nobody registered fails the first test.
"""

from __future__ import annotations

import inspect

import pytest

from topmix.estimators import ESTIMATORS

from . import of_components, of_estimators, of_mixtures, of_topics  # noqa: F401
from .facts import COMPONENTS, FACTS, Owner


def test_every_public_parameter_has_a_fact():
    owners = {**ESTIMATORS, **{name: cls for name, (_, cls) in COMPONENTS.items()}}
    del owners["Ray"]  # whose settings need a cluster: tests/cluster/test_engine.py
    known = {f"{name}.{p}" for name, cls in owners.items() for p in inspect.signature(cls).parameters}
    assert known - set(FACTS) == set(), "parameters without a fact"
    assert set(FACTS) - known == set(), "facts about parameters that are no more"


@pytest.mark.parametrize("parameter", sorted(FACTS))
def test_a_parameter_has_its_effect(parameter):
    owner, function = FACTS[parameter]
    function(Owner(owner))
