"""Component parameters of estimators: `get_params` and `set_params` reach the settings inside them.

lda.set_params(inference__min_topic_mass=1.0)
GridSearchCV(lda, {"learner": [Memoized(), Batch()], "inference__own_discount": [0.25, 0.5]})
"""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from typing import Any, Self

from topmix.engines import ENGINES, Engine
from topmix.estimators.word_rules import WordRules
from topmix.inference import INFERENCES
from topmix.learners import LEARNERS
from topmix.numerics.threads import count_of_threads
from topmix.parameters.component import resolved, with_settings
from topmix.parameters.declared import as_declared
from topmix.parameters.other_names import refuse_unknown
from topmix.search import SEARCHES

FAMILIES: dict[str, Mapping[str, type[Any]]] = {
    "inference": INFERENCES,
    "learner": LEARNERS,
    "engine": ENGINES,
    "search": SEARCHES,
    "word_rules": {"none": WordRules},
}


def threads_of(estimator: Any) -> int:
    """What `n_jobs` asks for."""
    return count_of_threads(as_declared(estimator.n_jobs, int))


def engine_of(estimator: Any) -> Engine | None:
    """None for an estimator that has no choice of engines."""
    engine: Engine | None = estimator._component("engine") if hasattr(estimator, "engine") else None
    return engine


class ComponentParameters:
    """For scikit-learn estimators, before BaseEstimator in the bases."""

    def __new__(cls, *args: Any, **parameters: Any) -> Self:
        known = inspect.signature(cls.__init__).parameters
        if all(p.kind is not p.VAR_KEYWORD for p in known.values()):  # a subclass may take what it likes
            inside = {
                setting: f"{family}, as in {family}={kind.__name__}({setting}=...)"
                for family in known
                for kind in reversed([*FAMILIES.get(family, {}).values()])  # of those that have it, the default one
                for setting in kind.__dataclass_fields__
            }
            refuse_unknown(cls.__name__, parameters, known, inside)
        return super().__new__(cls)

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Parameters by name; deep ones are those of components, as `component__setting`."""
        parameters: dict[str, Any] = super().get_params(deep=deep)  # type: ignore[misc]
        if deep:
            for name in [name for name in parameters if name in FAMILIES]:
                component = self._component(name, missing=None)
                for setting, value in (component.settings() if component else {}).items():
                    parameters[f"{name}__{setting}"] = value
        return parameters

    def set_params(self, **parameters: Any) -> Self:
        """Sets parameters, and settings of components as `component__setting`."""
        own = {name: value for name, value in parameters.items() if name.partition("__")[0] not in FAMILIES}
        whole = {name: value for name, value in parameters.items() if name in FAMILIES}
        super().set_params(**own, **whole)  # type: ignore[misc]
        changes: dict[str, dict[str, Any]] = {}
        for name, value in parameters.items():
            family, _, setting = name.partition("__")
            if family in FAMILIES and setting:
                if family not in super().get_params(deep=False):  # type: ignore[misc]
                    raise ValueError(f"{type(self).__name__} has no parameter {family!r}")
                changes.setdefault(family, {})[setting] = value
        for family, settings in changes.items():
            if getattr(self, family) is None:
                raise ValueError(f"{family} is None and has no settings: set it to a component first")
            setattr(self, family, with_settings(self._component(family), settings, family))
        return self

    def _threads(self) -> int:
        """Threads of this process, by `n_jobs` and the engine."""
        threads: int = self._component("engine").threads(threads_of(self))
        return threads

    def _component(self, name: str, missing: Any = "refused") -> Any:
        """The component that a parameter stands for. `missing=None`: None where it is not a valid one."""
        given = getattr(self, name)
        try:
            return resolved(given, FAMILIES[name], name)
        except ValueError:
            if missing is None:
                return None
            raise
