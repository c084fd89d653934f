"""A hierarchy of topics: average linkage on Hellinger distances between their words."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from topmix.fitted.names import RELEVANCE, distinct
from topmix.fitted.view import TopicView
from topmix.metrics.counts import top_ids


class Branch(NamedTuple):
    """Two topics or branches that are joined. Branches are numbered from K, in the order of joining."""

    node: int
    left: int  # a topic if it is less than K, else a branch
    right: int
    distance: float  # mean Hellinger distance between the topics of both sides
    topics: list[int]  # all that are below it, near ones next to each other
    share: float  # of all tokens
    words: list[str]  # probable in its topics, and rarer in others


class TopicTree(NamedTuple):
    leaves: list[int]  # the topics in the tree, as linkage numbers them
    linkage: NDArray[np.float64]  # [leaves - 1, 4] as scipy.cluster.hierarchy has it
    branches: list[Branch]  # nearest first


def tree_of(view: TopicView, n_words: int = 5) -> TopicTree:
    """The tree of the topics that are not empty."""
    from scipy.cluster.hierarchy import leaves_list, linkage
    from scipy.spatial.distance import squareform

    leaves = np.flatnonzero(~view.is_empty())
    if len(leaves) < 2:
        return TopicTree(leaves.tolist(), np.zeros((0, 4)), [])
    distance = view.distance[np.ix_(leaves, leaves)]
    Z = linkage(squareform((distance + distance.T) / 2, checks=False), "average", optimal_ordering=len(leaves) <= 1000)
    order = {int(leaf): place for place, leaf in enumerate(leaves_list(Z))}
    return TopicTree(leaves.tolist(), Z, _branches(view, leaves, Z, order, n_words))


def _branches(
    view: TopicView, leaves: NDArray[np.intp], Z: NDArray[np.float64], order: dict[int, int], n_words: int
) -> list[Branch]:
    n = len(leaves)
    below: dict[int, list[int]] = {i: [i] for i in range(n)}
    tokens = {i: view.share[k] * view.topic_word[k] for i, k in enumerate(leaves.tolist())}  # of the open nodes alone
    number = [*leaves.tolist(), *(view.n_topics + i for i in range(n - 1))]
    branches = []
    for i, (a, b, distance, _) in enumerate(Z.tolist()):
        a, b = int(a), int(b)
        joined = tokens[n + i] = tokens.pop(a) + tokens.pop(b)
        below[n + i] = sorted(below[a] + below[b], key=order.__getitem__)
        left, right = sorted((a, b), key=lambda side: order[below[side][0]])
        branches.append(
            Branch(
                number[n + i], number[left], number[right], float(distance),
                [int(leaves[j]) for j in below[n + i]], float(joined.sum()), _words(view, joined, n_words),
            )
        )  # fmt: skip
    return branches


def _words(view: TopicView, joined: NDArray[np.float64], n: int) -> list[str]:
    relevance = view.relevance(joined / max(float(joined.sum()), 1e-300), RELEVANCE)
    return distinct(view.words_of(top_ids(relevance[None], min(2 * n + 5, len(relevance)))[0]), n)


def nested(tree: TopicTree, view: TopicView, names: list[str]) -> dict[str, object] | None:
    """The tree as dicts: a node has `children`, a topic has `topic` and `name`. None where there are no topics."""
    made: dict[int, dict[str, object]] = {
        k: {"topic": k, "name": names[k], "share": float(view.share[k])} for k in tree.leaves
    }
    for branch in tree.branches:
        about = {"node": branch.node, "distance": branch.distance, "share": branch.share, "words": branch.words}
        made[branch.node] = about | {"children": [made.pop(branch.left), made.pop(branch.right)]}
    return next(iter(made.values()), None)
