"""Moves that change the number of topics, each kept only if the bound of the whole corpus rises.

`Documents` is what they see: the last statistics of every shard and the topics of every document. With these a merge
is judged exactly, without a visit to the data but for one entropy that was gathered in the pass before. Births, splits
and deletions (`proposals.py`) are tried out: a few passes with them, and back to where it was if the bound fell.
"""

from topmix.search.adaptation import Adaptation, Course, Sources
from topmix.search.documents import Documents
from topmix.search.fit import Fit
from topmix.search.scouts import Scouts, largest

__all__ = ["Adaptation", "Course", "Documents", "Fit", "Scouts", "Sources", "largest"]
