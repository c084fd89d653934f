"""Plots of fitted models with matplotlib (`pip install 'topmix[plot]'`)."""

from topmix.apps.plot import (
    convergence,
    effects,
    ellipses,
    sweep,
    top_words,
    topic_map,
    topic_tree,
    topics_by,
    topics_over_time,
    words_by,
)

__all__ = [
    "convergence", "effects", "ellipses", "sweep", "top_words", "topic_map", "topic_tree",
    "topics_by", "topics_over_time", "words_by",
]  # fmt: skip
