"""The search for the number of topics: moves that are kept only if the bound of the whole corpus rises.

`Documents` is what moves see: the last statistics of every shard and the topics of every document. With these a merger
is judged exactly, without a visit to the data, except for one entropy that the pass before gathered. Births, splits and
deletions (`proposals.py`) are tried: a few passes with them, and back to the state before if the bound is not higher.
"""

from topmix.search.settings import TopicSearch

SEARCHES = {"auto": TopicSearch}

__all__ = ["SEARCHES", "TopicSearch"]
