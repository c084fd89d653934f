"""Fitted estimators as pages, reports, exports and plots read them."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from topmix.fitted.tree import tree_of
from topmix.fitted.view import TopicView

__all__ = ["TopicView", "proportions", "tree_of", "view_of", "word_names"]


def view_of(model: Any) -> TopicView:
    """The topics of a fitted estimator. Raises ValueError where it has no topics of words."""
    view: TopicView = model._found().view
    return view


def word_names(model: Any, n_words: int) -> list[str]:
    """The names of the features of a fitted estimator, or their numbers as strings."""
    names = model._found().reading.words
    return [str(v) for v in (range(n_words) if names is None else names)]


def proportions(model: Any, X: Any) -> NDArray[np.float64]:
    """[documents, K] rows that sum to one: topic proportions, or the posterior of the clusters of a mixture."""
    return np.asarray(model.transform(X) if hasattr(model, "transform") else model.predict_proba(X))
