"""The topics of a fitted model in one form for all estimators. Reports, exports and plots read this form."""

from topmix.estimators.topic_view import TopicView, proportions, view_of, word_names

__all__ = ["TopicView", "proportions", "view_of", "word_names"]
