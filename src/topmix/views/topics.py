"""The topics of a fitted model in one form for all estimators. Reports, exports and plots read this form."""

from topmix.estimators.topic_view import TopicView, proportions, view_of, word_names
from topmix.estimators.tree import tree_of

__all__ = ["TopicView", "proportions", "tree_of", "view_of", "word_names"]
