"""Components: the settings of one algorithm in one object, and parameters in the types that they declare.

A component is a frozen dataclass. It checks itself when it is made, compares by value, prints what differs from its
defaults, survives scikit-learn's `clone`, and goes to files by its name. A string is short for the object with its
defaults.
"""

from __future__ import annotations

import math
import typing
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields, replace
from functools import cache
from types import NoneType, UnionType
from typing import Any, TypeAlias, TypeVar, cast

import numpy as np

Json: TypeAlias = dict[str, Any]  # a table of values by name, as JSON has it


@dataclass(frozen=True, repr=False)
class Component:
    """Base of all components. Subclasses with settings are frozen dataclasses with `repr=False`."""

    def __post_init__(self) -> None:
        for name, value in all_as_declared(self.settings(), declared_types(cast(Any, type(self)))).items():
            object.__setattr__(self, name, value)  # 2.0 is 2: equal components are equal to the letter, in files too
        self.check()

    def check(self) -> None:
        """Raises ValueError for settings that make no sense."""

    def settings(self) -> Json:
        """Every field by name."""
        return {f.name: vars(self)[f.name] for f in fields(self)}

    def __repr__(self) -> str:
        defaults = {f.name: f.default for f in fields(self)}
        changed = [f"{name}={value!r}" for name, value in self.settings().items() if value != defaults[name]]
        return f"{type(self).__name__}({', '.join(changed)})"

    def to_dict(self) -> Json:
        """The component as JSON holds it: its name and every field."""
        return {"component": type(self).__name__, **self.settings()}


C = TypeVar("C", bound=Component)
Family = Mapping[str, type[C]]  # short names -> classes


def resolved(setting: object, family: Family[C], parameter: str) -> C:
    """The component that a user's setting stands for: the object itself, or the one that the string names.

    An object of the user's own class will do, where that class extends the base of the family, for instance Engine.
    """
    if isinstance(setting, str):
        if setting not in family:
            raise ValueError(f"{parameter}={setting!r} is not one of {', '.join(map(repr, family))}")
        return family[setting]()
    ancestors = next(iter(family.values())).__mro__
    if isinstance(setting, ancestors[ancestors.index(Component) - 1]):
        return cast(C, setting)
    names = ", ".join(f"{kind.__name__}(...)" for kind in dict.fromkeys(family.values()))
    raise ValueError(f"{parameter} must be one of {', '.join(map(repr, family))}, or one of {names}; got {setting!r}")


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


def from_dict(values: Mapping[str, object], family: Family[C], parameter: str) -> C:
    """What `to_dict` gave. Raises ValueError for anything else."""
    kinds = {kind.__name__: kind for kind in family.values()}
    name = values.get("component")
    if not isinstance(name, str) or name not in kinds:
        raise ValueError(f"{parameter} cannot be {str(name)[:60]!r}")
    kind = kinds[name]
    if unknown := set(values) - {f.name for f in fields(kind)} - {"component"}:
        raise ValueError(f"{parameter}: {name} has no setting {sorted(unknown)[0][:60]!r}")
    return kind(**{k: v for k, v in values.items() if k != "component"})


# Parameters in the types that their signature declares.
#
# People pass NumPy's numbers, arrays without dimensions, and 2.0 where a whole number is meant. The library and its
# files see Python's own int, float, bool and str.

LARGEST_WHOLE = 2**63 - 1  # of whole numbers: what 64 bits hold
NAMES: dict[object, str] = {int: "an integer", float: "a number", bool: "True or False", str: "a string",
                            NoneType: "None"}  # fmt: skip


@cache
def declared_types(owner: type | Callable[..., object]) -> Json:
    """Types by name: of the fields of a dataclass, or of the arguments of a function."""
    try:
        return typing.get_type_hints(owner)
    except NameError:  # a class of the user's, whose names are not to be found
        return {}


def plain(value: object) -> object:
    """NumPy's scalars, and arrays without dimensions, as Python has them."""
    if isinstance(value, np.ndarray | np.generic) and value.ndim == 0:
        return float(value) if value.dtype.kind == "f" else value.item()  # `item` of a long double is a long double
    return value


def each_value(value: object, change: Callable[[object], object]) -> object:
    """What JSON holds, with its values changed one by one."""
    if isinstance(value, dict):
        return {str(k): each_value(v, change) for k, v in value.items()}
    if isinstance(value, list | tuple):
        return [each_value(v, change) for v in value]
    return change(value)


def is_special(value: object) -> bool:
    """Whether it is NaN or infinite, which JSON does not know."""
    return isinstance(value, float) and not math.isfinite(value)


def is_whole(value: object) -> typing.TypeGuard[int]:
    """Whether it is an integer, of Python or of NumPy; true and false are none."""
    return isinstance(value, int | np.integer) and not isinstance(value, bool)


def as_declared(value: object, hint: object) -> object:
    """The value in the declared type, if it can be had without a change of what it says; else as it is."""
    value, kinds = plain(value), _kinds(hint)
    if hint in (Any, object) or isinstance(value, bool) or type(value) in kinds:
        return value
    if isinstance(value, float) and int in kinds and value.is_integer():
        return int(value)
    if isinstance(value, int) and float in kinds:
        return float(value) if abs(value) < 1e300 else value
    if isinstance(value, int) and bool in kinds and value in (0, 1):
        return bool(value)
    return value


def fits(value: object, hint: object) -> bool:
    """Whether a value is of the declared type. An integer passes for a float, true and false for either, and 0 and 1
    for true and false."""
    kinds = _kinds(hint)
    if isinstance(value, float):
        return float in kinds
    if isinstance(value, bool | int):
        is_flag = bool in kinds and value in (0, 1)
        return float in kinds or is_flag or (int in kinds and abs(value) <= LARGEST_WHOLE)
    return (NoneType if value is None else type(value)) in kinds


def all_as_declared(parameters: Mapping[str, object], hints: Mapping[str, object]) -> dict[str, object]:
    """Parameters in their declared types. One that is of another type is a ValueError.

    Parameters that may be objects, and those that may be anything, are left to whoever uses them.
    """
    values = {}
    for name, setting in parameters.items():
        hint = hints.get(name, Any)
        value = values[name] = as_declared(setting, hint)
        if all(kind in NAMES for kind in _kinds(hint)) and not fits(value, hint):
            wanted = " or ".join(NAMES[kind] for kind in sorted(_kinds(hint), key=lambda kind: kind is not NoneType))
            raise ValueError(f"{name} must be {wanted}, got {setting!r}")
    return values


def _kinds(hint: object) -> tuple[object, ...]:
    """The types of a union; a type alone."""
    is_union = typing.get_origin(hint) in (typing.Union, UnionType)
    return typing.get_args(hint) if is_union else (hint,)
