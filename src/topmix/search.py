"""The search for the number of topics: moves that are kept only if the bound of the whole corpus rises."""

from topmix.learn.topic_search import SEARCHES, TopicSearch

__all__ = ["SEARCHES", "TopicSearch"]
