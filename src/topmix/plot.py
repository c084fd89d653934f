"""Plots of fitted models with matplotlib (`pip install 'topmix[plot]'`)."""

from topmix.apps.plot import (
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
    "effects", "ellipses", "sweep", "top_words", "topic_map", "topic_tree",
    "topics_by", "topics_over_time", "words_by",
]  # fmt: skip
