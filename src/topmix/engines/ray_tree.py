"""Statistics of rounds on a Ray cluster: workers keep them, and add among themselves in the tree of every engine."""

from __future__ import annotations

from collections.abc import Iterator, MutableMapping

import ray
from ray import ObjectRef

from topmix.engines.ray_calls import Answer, Calls
from topmix.engines.ray_pool import Peer
from topmix.engines.rounds import Memo
from topmix.models.model import Stats
from topmix.stats.tree import tree_sum

Node = tuple[int, int]  # of the tree: the leaves from, to


class RayMemo(MutableMapping[int, Stats]):
    """The last statistics of each shard, on the node that visited it. Reading one fetches it."""

    def __init__(self, memo: Memo):
        self.refs: dict[int, ObjectRef] = {}
        self.sums: dict[tuple[int, ...], ObjectRef] = {}  # of rounds, while none of their shards has changed
        self.update(memo)

    def __getitem__(self, b: int) -> Stats:
        found: Stats = ray.get(self.refs[b])
        return found

    def __setitem__(self, b: int, stats: Stats) -> None:
        self.refs[b] = ray.put(stats)
        self.sums.clear()

    def __delitem__(self, b: int) -> None:
        del self.refs[b]
        self.sums.clear()

    def __iter__(self) -> Iterator[int]:
        return iter(self.refs)

    def __len__(self) -> int:
        return len(self.refs)


class Tree:
    """The sum of some parts, by workers. Two parts are added where the first of them lies, once both are there."""

    def __init__(self, calls: Calls, n: int):
        self.calls, self.root = calls, (0, n)
        self._parts: dict[Node, tuple[ObjectRef, Peer]] = {}
        self._whole: dict[Node, tuple[Node, Node]] = {}  # half -> its two halves, in order
        tree_sum(((i, i + 1) for i in range(n)), self._join)

    def _join(self, left: Node, right: Node) -> Node:
        self._whole[left] = self._whole[right] = (left, right)
        return left[0], right[1]

    def put(self, node: Node, ref: ObjectRef, peer: Peer) -> None:
        self._parts[node] = ref, peer
        halves = self._whole.get(node)
        if halves is not None and all(half in self._parts for half in halves):
            (a, peer), (b, _) = (self._parts.pop(half) for half in halves)
            whole = halves[0][0], halves[1][1]
            self.calls.ask(("add", whole), self.calls.best(peer), "add", a, b, n_returns=2)

    def added(self, answer: Answer) -> int:
        """An addition has ended; returns the bytes of its second part."""
        self.put(answer.key[1], answer.refs[0], answer.peer)
        return int(answer.last)

    @property
    def sum(self) -> ObjectRef | None:
        """The reference of the sum; None while it is not there."""
        return self._parts[self.root][0] if self.root in self._parts else None
