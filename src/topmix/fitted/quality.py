"""Which topics are worth reading. Most fits of real texts have a few that are not, and a reader should not have to find
out which.

A topic is judged beside the other topics of the model, so the limits are shares of a median and need no corpus of their
own. `docs/evidence.md` has what they find in abstracts that somebody has read.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from topmix.fitted.reproducibility import REAL
from topmix.fitted.view import TopicView

GOOD = "good"
EMPTY, FILLER = "empty", "filler: its most probable words belong to other topics"
SMALL, FEW = "small: {:.1%} of all {}", "few documents: {} with a tenth or more of it"
INCOHERENT = "low coherence: its words are seldom in the same documents"
UNRELIABLE = "not to be relied on: {:.0%} of the fits have it"
WORDS = 10
LEAST_OWN = 0.25  # of the median: how much of its most probable words a topic has
LEAST_SHARE = 0.2  # of the mean share
LEAST_COHERENCE = 1 / 3  # of the median
LEAST_DOCUMENTS, PART = 3, 0.1  # documents with at least such a part of the topic


def quality(
    view: TopicView, coherence: NDArray[np.float64] | None = None, n_documents: NDArray[np.int64] | None = None
) -> list[str]:
    """Per topic "good", or why it is not worth reading. `coherence` is the NPMI of each topic, and `n_documents` how
    many documents have a tenth of it or more. A consensus has seen which topics are not real."""
    K, share, is_empty = view.n_topics, view.share, view.is_empty()
    top = view.top(min(WORDS, len(view.words)))
    joint = share[:, None] * np.take_along_axis(view.topic_word, top, axis=1)
    own = (joint / np.maximum(view.frequency[top], 1e-300)).mean(axis=1)  # p(k | w) of the most probable words
    used = ~is_empty
    if not used.any():
        return [EMPTY] * K
    is_filler = own < LEAST_OWN * np.median(own[used])
    is_small = share < LEAST_SHARE / used.sum()
    is_incoherent = np.zeros(K, bool)
    if coherence is not None and (middle := float(np.median(coherence[used]))) > 0:
        is_incoherent = coherence < LEAST_COHERENCE * middle
    seen = view.reproducibility
    found = []
    for k in range(K):
        if is_empty[k]:
            found.append(EMPTY)
        elif seen is not None and seen.similarity[k] < REAL:  # not where it is unknown
            found.append(UNRELIABLE.format(seen.found[k]))
        elif n_documents is not None and n_documents[k] < LEAST_DOCUMENTS:
            found.append(FEW.format(n_documents[k]))
        elif is_filler[k]:
            found.append(FILLER)
        elif is_incoherent[k]:
            found.append(INCOHERENT)
        else:
            unit = "tokens" if view.tokens else "documents"
            found.append(SMALL.format(share[k], unit) if is_small[k] else GOOD)
    return found


def best_first(view: TopicView, of_topics: list[str]) -> NDArray[np.intp]:
    """The numbers of the topics: those that are worth reading, largest first, and then the others."""
    return np.lexsort((-view.share, np.array([said != GOOD for said in of_topics])))
