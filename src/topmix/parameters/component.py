"""Components: the settings of one algorithm in one object.

A component is a frozen dataclass. It checks itself when it is made, compares by value, prints what differs from its
defaults, survives scikit-learn's `clone`, and goes to files by its name. The object that a user passes is the object
that runs; a string is short for the object with its defaults.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from typing import Any, TypeVar, cast

from topmix.parameters.declared import all_as_declared, declared_types


@dataclass(frozen=True, repr=False)
class Component:
    """Base of all components. Subclasses with settings are frozen dataclasses with `repr=False`."""

    def __post_init__(self) -> None:
        for name, value in all_as_declared(self.settings(), declared_types(cast(Any, type(self)))).items():
            object.__setattr__(self, name, value)  # 2.0 is 2: equal components are equal to the letter, in files too
        self.check()

    def check(self) -> None:
        """Raises ValueError for settings that make no sense."""

    def settings(self) -> dict[str, Any]:
        """Every field by name."""
        return {f.name: vars(self)[f.name] for f in fields(self)}

    def __repr__(self) -> str:
        defaults = {f.name: f.default for f in fields(self)}
        changed = [f"{name}={value!r}" for name, value in self.settings().items() if value != defaults[name]]
        return f"{type(self).__name__}({', '.join(changed)})"

    def to_dict(self) -> dict[str, Any]:
        """The component as JSON holds it: its name and every field."""
        return {"component": type(self).__name__, **self.settings()}


C = TypeVar("C", bound=Component)
Family = Mapping[str, type[C]]  # short names -> classes


def resolved(given: object, family: Family[C], parameter: str) -> C:
    """The component that a user's setting stands for: the object itself, or the one that the string names.

    An object of the user's own class will do, where that class extends the base of the family, for instance Engine.
    """
    if isinstance(given, str):
        if given not in family:
            raise ValueError(f"{parameter}={given!r} is not one of {', '.join(map(repr, family))}")
        return family[given]()
    if isinstance(given, _base(family)):
        return given
    names = ", ".join(f"{kind.__name__}(...)" for kind in dict.fromkeys(family.values()))
    raise ValueError(f"{parameter} must be one of {', '.join(map(repr, family))}, or one of {names}; got {given!r}")


def _base(family: Family[C]) -> type[C]:
    """What all classes of a family extend: the class right below Component."""
    ancestors = next(iter(family.values())).__mro__
    return ancestors[ancestors.index(Component) - 1]


def with_settings(component: C, changes: Mapping[str, object], parameter: str) -> C:
    """The component with some fields changed; an unknown field is a ValueError."""
    known = component.settings()
    for name in changes:
        if name not in known:
            raise ValueError(
                f"{parameter} is {type(component).__name__}, which has no setting {name!r}: "
                f"it has {', '.join(known) or 'none'}"
            )
    return replace(component, **changes)


def from_dict(values: Mapping[str, Any], family: Family[C], parameter: str) -> C:
    """What `to_dict` gave. Raises ValueError for anything else."""
    kinds = {kind.__name__: kind for kind in family.values()}
    name = values.get("component")
    if not isinstance(name, str) or name not in kinds:
        raise ValueError(f"{parameter} cannot be {str(name)[:60]!r}")
    kind = kinds[name]
    known = {f.name for f in fields(kind)}
    unknown = set(values) - known - {"component"}
    if unknown:
        raise ValueError(f"{parameter}: {name} has no setting {sorted(unknown)[0][:60]!r}")
    return kind(**{k: v for k, v in values.items() if k != "component"})
