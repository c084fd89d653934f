"""Checks of single settings: the value in the type that the library uses, or a ValueError that names the setting."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from difflib import get_close_matches
from typing import Any, TypeGuard, TypeVar, cast

import numpy as np

from topmix import _core
from topmix.base.component import LARGEST_WHOLE, as_declared, plain


class CorpusError(ValueError):
    """The data is not valid. The message names the file and the line or byte, or the row and column."""


@contextmanager
def needed(what: str, packages: str, extra: str) -> Iterator[None]:
    """Around imports of packages that come with an extra of topmix: what is missing is always said in these words."""
    try:
        yield
    except ImportError as error:
        raise ImportError(f"{what} needs {packages}: pip install 'topmix[{extra}]' ({error})") from error


T = TypeVar("T")
LARGEST = 1e100  # of any number in a file: sums and products of a few of these are still finite
SMALLEST = 1e-100  # of what must be positive in a file
LEAST_POSITIVE, MOST_POSITIVE = 1e-30, 1e30  # of what a user sets: kernels compute in float32
LARGEST_COUNT = 2**31 - 1  # of what kernels count with 32 bits


def is_number(value: object) -> TypeGuard[int | float]:
    """True and false are none."""
    return isinstance(value, int | float) and not isinstance(value, bool)


def is_plural(value: object) -> TypeGuard[Iterable[Any]]:
    """Whether it is several values. A text is one, and so are a table and an array without dimensions."""
    is_one = isinstance(value, str | bytes | Mapping) or getattr(value, "ndim", 1) == 0
    return isinstance(value, Iterable) and not is_one


def as_list(given: Iterable[T]) -> list[T]:
    """A text or a number alone is a list of one."""
    return cast(list[T], list(given) if is_plural(given) else [given])


def are_texts(values: object) -> TypeGuard[list[str]]:
    return isinstance(values, list | tuple) and all(isinstance(value, str) for value in values)


def is_auto(given: object) -> bool:
    """An array would be compared entry by entry."""
    return isinstance(given, str) and given == "auto"


def whole_number(value: object, parameter: str, *, least: int = 1, most: int = LARGEST_WHOLE) -> int:
    """An integer from `least` to `most`; 2.0 is one."""
    number = as_declared(value, int)
    if type(number) is not int or number < least:
        wanted = {0: "0 or a positive integer", 1: "a positive integer"}.get(least, f"an integer, {least} or more")
        raise ValueError(f"{parameter} must be {wanted}, got {value!r}")
    if number > most:
        raise ValueError(f"{parameter} must be at most {most}, got {value!r}")
    return number


def whole_number_or_none(value: object, parameter: str, *, least: int = 1, most: int = LARGEST_WHOLE) -> int | None:
    if value is None:
        return None
    try:
        return whole_number(value, parameter, least=least, most=most)
    except ValueError as error:
        raise ValueError(str(error).replace("must be ", "must be None or ")) from None


def positive_number(value: object, parameter: str, *, least: float = 0.0) -> float:
    """A number larger than `least`, and of a size that kernels can compute with."""
    number = _number(value)
    if number is None or not least < number < np.inf:
        raise ValueError(f"{parameter} must be a number over {least:g}, got {value!r}")
    if not LEAST_POSITIVE <= number <= MOST_POSITIVE:
        raise ValueError(f"{parameter} must be a number from {LEAST_POSITIVE:g} to {MOST_POSITIVE:g}, got {value!r}")
    return number


def number_from(value: object, parameter: str, low: float, high: float = np.inf) -> float:
    """A number from `low` to `high`, both included; never NaN."""
    number = _number(value)
    if number is None or not low <= number <= high:
        wanted = f"from {low:g} to {high:g}" if high < np.inf else f"that is not smaller than {low:g}"
        raise ValueError(f"{parameter} must be a number {wanted}, got {value!r}")
    return number


def any_number(value: object, parameter: str) -> float:
    """A number, which may be infinite."""
    number = _number(value)
    if number is None or np.isnan(number):
        raise ValueError(f"{parameter} must be a number, got {value!r}")
    return number


def one_of(value: object, choices: Iterable[str], parameter: str) -> str:
    names = list(choices)
    if not isinstance(value, str) or value not in names:
        raise ValueError(f"{parameter}={value!r} is not one of {', '.join(map(repr, names))}")
    return str(value)


def count_of_components(n_components: object) -> int:
    number = as_declared(n_components, int)
    if type(number) is not int or not 1 <= number <= _core.MAX_TOPICS:
        raise ValueError(f"n_components must be an integer from 1 to {_core.MAX_TOPICS}, got {n_components!r}")
    return number


def count_of_active(n_active: object, K: int) -> int:
    """L, the clusters kept: None keeps all K, and more than K means K."""
    number = whole_number_or_none(n_active, "n_active")
    return K if number is None else min(number, K)


def numbers_in_range(values: np.ndarray) -> bool:
    """Whether all of them are positive and of a size that `positive_number` takes."""
    return bool(np.all((values >= LEAST_POSITIVE) & (values <= MOST_POSITIVE)))  # not true of NaN


def check_memory(needed: float, what: str, remedy: str) -> None:
    """Better an error now than a machine that swaps. A process may also be held to less than there is (ulimit -v)."""
    try:
        import resource  # not on Windows

        there, limit = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE"), resource.getrlimit(resource.RLIMIT_AS)
    except (ImportError, AttributeError, ValueError, OSError):
        return
    there = there if limit[0] == resource.RLIM_INFINITY else min(there, limit[0])
    if needed > there:
        need = f"about {needed / 1e9:,.0f} GB, and there are {there / 1e9:,.0f} GB of memory"
        raise ValueError(f"{what} need {need}. {remedy}")


def prior_of(prior: object, parameter: str, n: int) -> np.ndarray:
    """[n] float64, positive and finite, from one number or n of them."""
    values = np.asarray(prior, dtype=np.float64)
    if values.shape not in ((), (n,)):
        raise ValueError(f"{parameter} has the shape {values.shape}; it must be a number or have {n} entries")
    if not np.all(values > 0) or not np.all(np.isfinite(values)):
        raise ValueError(f"{parameter} must be positive and finite")
    return np.broadcast_to(values, (n,)).copy()


def _number(value: object) -> float | None:
    """None where it is not a number; a whole number that no double holds is infinite."""
    number = plain(value)
    if not is_number(number):
        return None
    try:
        return float(number)
    except OverflowError:
        return np.inf if number > 0 else -np.inf


# How scikit-learn, gensim, tomotopy, MALLET and papers call what we have: errors say what it is called here.
OURS = {
    "n_components": ("num_topics", "n_topics", "k", "K", "T", "n_clusters", "num_clusters"),
    "max_iter": ("passes", "iterations", "num_iterations", "n_iter", "n_iterations", "n_epochs"),
    "doc_topic_prior": ("alpha",),
    "topic_word_prior": ("eta", "beta"),
    "n_jobs": ("workers", "num_workers", "threads", "num_threads", "n_threads"),
    "random_state": ("seed", "random_seed"),
    "reg_covar": ("regularization",),
}
THEIRS = {theirs: ours for ours, names in OURS.items() for theirs in names}


def refuse_unknown(owner: str, given: Iterable[str], known: Iterable[str], inside: Mapping[str, str]) -> None:
    """A TypeError for the first name that is not known. `inside` are settings of components, and where they belong."""
    names = list(known)
    for name in given:
        if name in names:
            continue
        said = f"{owner} has no parameter {name!r}"
        if THEIRS.get(name) in names:
            raise TypeError(f"{said}; it is called {THEIRS[name]} here")
        if name in inside:
            raise TypeError(f"{said}; it is a setting of {inside[name]}")
        close = get_close_matches(name, names, n=1)
        raise TypeError(said + (f"; did you mean {close[0]}?" if close else ""))
