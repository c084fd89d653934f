"""Copies of an estimator that is being fitted, for callbacks to keep."""

from __future__ import annotations

import copy
from typing import Any, TypeVar

E = TypeVar("E")


def snapshot(estimator: E) -> E:
    """A copy that later passes do not change."""
    return without_its_end(copy.copy(estimator))


def without_its_end(estimator: E) -> E:
    """The same estimator without the attributes that only the end of a fit knows, so none of an earlier fit either."""
    now: Any = estimator
    for name in (*now._saved_attributes, "labels_"):
        vars(now).pop(name, None)
    now.history_ = list(now.history_)
    now.n_iter_ = len(now.history_)
    return estimator
