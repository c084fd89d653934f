"""What a user can set of the search for the number of topics."""

from __future__ import annotations

from dataclasses import dataclass

from topmix.parameters.checks import whole_number, whole_number_or_none
from topmix.parameters.component import Component


@dataclass(frozen=True, repr=False)
class TopicSearch(Component):
    """How HDP finds its number of topics.

    Short fits of several sizes say with how many topics to begin. Then topics are merged, added, split and deleted
    while the bound of the whole corpus rises. A few passes with the number settled come last.

    Parameters
    ----------
    warm_up : int
        Collapsed passes with which new topics begin, where the final inference is collapsed: they lead to a higher
        bound than variational ones. Never more than a quarter of max_iter.
    polish : int
        Passes at the end, with the number of topics settled; one more where the search is over before max_iter. Never
        more than a quarter of max_iter.
    max_topics : int or None
        The largest number of topics to try; where n_components is larger, this many come first. None is half the
        number of documents.

    Examples
    --------
    >>> from topmix.search import TopicSearch
    >>> TopicSearch(max_topics=200)
    TopicSearch(max_topics=200)
    """

    warm_up: int = 4
    polish: int = 9
    max_topics: int | None = None

    def check(self) -> None:
        whole_number(self.warm_up, "warm_up", least=0)
        whole_number(self.polish, "polish", least=0)
        whole_number_or_none(self.max_topics, "max_topics")
