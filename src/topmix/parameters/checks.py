"""Checks of single settings: the value in the type that the library uses, or a ValueError that names the setting."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from topmix import _core


def whole_number(value: Any, parameter: str, *, least: int = 1) -> int:
    """An integer that is not smaller than `least`."""
    if isinstance(value, bool) or not isinstance(value, int | np.integer) or value < least:
        wanted = {0: "0 or a positive integer", 1: "a positive integer"}.get(least, f"an integer, {least} or more")
        raise ValueError(f"{parameter} must be {wanted}, got {value!r}")
    return int(value)


def whole_number_or_none(value: Any, parameter: str, *, least: int = 1) -> int | None:
    if value is None:
        return None
    try:
        return whole_number(value, parameter, least=least)
    except ValueError as error:
        raise ValueError(str(error).replace("must be ", "must be None or ")) from None


def positive_number(value: Any, parameter: str, *, least: float = 0.0) -> float:
    """A finite number larger than `least`."""
    if isinstance(value, bool) or not isinstance(value, int | float | np.number) or not least < float(value) < np.inf:
        raise ValueError(f"{parameter} must be a number over {least:g}, got {value!r}")
    return float(value)


def number_from(value: Any, parameter: str, low: float, high: float = np.inf) -> float:
    """A number from `low` to `high`, both included; never NaN."""
    if isinstance(value, bool) or not isinstance(value, int | float | np.number) or not low <= float(value) <= high:
        wanted = f"from {low:g} to {high:g}" if high < np.inf else f"that is not smaller than {low:g}"
        raise ValueError(f"{parameter} must be a number {wanted}, got {value!r}")
    return float(value)


def any_number(value: Any, parameter: str) -> float:
    """A number, which may be infinite."""
    if isinstance(value, bool) or not isinstance(value, int | float | np.number) or np.isnan(float(value)):
        raise ValueError(f"{parameter} must be a number, got {value!r}")
    return float(value)


def one_of(value: Any, choices: Iterable[str], parameter: str) -> str:
    names = list(choices)
    if value not in names:
        raise ValueError(f"{parameter}={value!r} is not one of {', '.join(map(repr, names))}")
    return str(value)


def count_of_components(n_components: Any) -> int:
    if (
        isinstance(n_components, bool)
        or not isinstance(n_components, int | np.integer)
        or not 1 <= n_components <= _core.MAX_TOPICS
    ):
        raise ValueError(f"n_components must be an integer from 1 to {_core.MAX_TOPICS}, got {n_components!r}")
    return int(n_components)


def count_of_active(n_active: Any, K: int) -> int:
    """L, the clusters kept: None keeps all K, and more than K means K."""
    if n_active is None:
        return K
    if isinstance(n_active, bool) or not isinstance(n_active, int | np.integer) or n_active < 1:
        raise ValueError(f"n_active must be None or a positive integer, got {n_active!r}")
    return min(int(n_active), K)
