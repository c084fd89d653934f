"""Parameters in the types that their signature declares.

People pass NumPy's numbers, arrays without dimensions, 2.0 where a whole number is meant and 1 where any number is.
Everything below the door sees Python's own int, float, bool and str, and so do files.
"""

from __future__ import annotations

import typing
from collections.abc import Callable, Mapping
from functools import cache
from types import NoneType, UnionType
from typing import Any

import numpy as np

LARGEST_WHOLE = 2**63 - 1  # of whole numbers: what 64 bits hold
NAMES: dict[object, str] = {
    int: "an integer",
    float: "a number",
    bool: "True or False",
    str: "a string",
    NoneType: "None",
}


@cache
def declared_types(owner: type | Callable[..., object]) -> dict[str, Any]:
    """Types by name: of the fields of a dataclass, or of the arguments of a function."""
    try:
        return typing.get_type_hints(owner)
    except NameError:  # a class of the user's, whose names are not to be found
        return {}


def plain(value: object) -> object:
    """NumPy's scalars, and arrays without dimensions, as Python has them."""
    if isinstance(value, np.ndarray) and value.ndim == 0:
        value = value[()]
    if isinstance(value, np.floating):
        return float(value)  # `item` of a long double is a long double
    return value.item() if isinstance(value, np.generic) else value


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
    found = {}
    for name, given in parameters.items():
        hint = hints.get(name, Any)
        value = found[name] = as_declared(given, hint)
        if all(kind in NAMES for kind in _kinds(hint)) and not fits(value, hint):
            wanted = " or ".join(NAMES[kind] for kind in sorted(_kinds(hint), key=lambda kind: kind is not NoneType))
            raise ValueError(f"{name} must be {wanted}, got {given!r}")
    return found


def _kinds(hint: object) -> tuple[object, ...]:
    """The types of a union; a type alone."""
    is_union = typing.get_origin(hint) in (typing.Union, UnionType)
    return typing.get_args(hint) if is_union else (hint,)
