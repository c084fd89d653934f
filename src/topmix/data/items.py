"""Documents that come one by one: lists, columns of tables, iterators."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import chain
from typing import Any

import numpy as np


def first_and_all(items: Iterable[Any]) -> tuple[Any, Iterator[Any]]:
    """The first of some items, None if there is none, and an iterator of all."""
    rest = iter(items)
    for first in rest:
        return first, chain([first], rest)
    return None, iter(())


def is_texts(X: Any) -> bool:
    """Whether X is one-dimensional and starts with a text, or with a list of tokens."""
    if isinstance(X, np.ndarray):
        return X.ndim == 1 and X.dtype.kind in "UTO" and _starts_with_text(X)
    if isinstance(X, list | tuple):
        return _starts_with_text(X)
    one_column = ("Series", "Index", "StringArray", "LargeStringArray", "ChunkedArray", "Column")
    return type(X).__name__ in one_column and _starts_with_text(plain(X))


def plain(X: Iterable[Any]) -> Iterator[Any]:
    """The items of a column, without the scalars of pyarrow."""
    return (item.as_py() if hasattr(item, "as_py") else item for item in X)


def _starts_with_text(items: Iterable[Any]) -> bool:
    for item in items:
        if isinstance(item, str):
            return True
        if item is None or item != item or (isinstance(item, list | tuple) and not item):  # missing, or no tokens
            continue
        return isinstance(item, list | tuple) and isinstance(item[0], str)
    return False
