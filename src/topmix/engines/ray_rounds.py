"""Rounds on a Ray cluster: workers add among themselves, in the tree that every engine uses.

A round counts as a whole, when its sum has arrived and what its shards remember has a copy. Until then shards are as
they were before it: if anything is lost meanwhile, the round is made again from there, and nothing is counted twice.
"""

from __future__ import annotations

from collections.abc import Iterator, MutableMapping, Sequence
from typing import TYPE_CHECKING, Any

import ray
from ray.exceptions import ObjectLostError

from topmix.engines.ray_actor import n_bytes
from topmix.engines.ray_calls import Answer, Calls, LostData, LostForGood
from topmix.engines.ray_pool import LOG, Peer
from topmix.engines.rounds import Memo, Round, Tables
from topmix.local import Info, add_info
from topmix.stats.tree import tree_sum

if TYPE_CHECKING:
    from topmix.engines.ray_workers import RayWorkers, Visited

ATTEMPTS = 5  # to make a round, before something is wrong that trying again does not mend
Node = tuple[int, int]  # of the tree: the leaves from, to


class RayMemo(MutableMapping[int, Any]):
    """The last statistics of each shard, on the node that visited it. Reading one fetches it."""

    def __init__(self, memo: Memo):
        self.refs: dict[int, Any] = {}
        self.sums: dict[tuple[int, ...], Any] = {}  # of rounds, while none of their shards has changed
        self.update(memo)

    def __getitem__(self, b: int) -> Any:
        return ray.get(self.refs[b])

    def __setitem__(self, b: int, stats: Any) -> None:
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
        self._parts: dict[Node, tuple[Any, Peer]] = {}
        self._whole: dict[Node, tuple[Node, Node]] = {}  # half -> its two halves, in order
        tree_sum(((i, i + 1) for i in range(n)), self._join)

    def _join(self, left: Node, right: Node) -> Node:
        self._whole[left] = self._whole[right] = (left, right)
        return left[0], right[1]

    def put(self, node: Node, ref: Any, peer: Peer) -> None:
        self._parts[node] = ref, peer
        halves = self._whole.get(node)
        if halves is not None and all(half in self._parts for half in halves):
            (a, peer), (b, _) = (self._parts.pop(half) for half in halves)
            whole = halves[0][0], halves[1][1]
            self.calls.ask(("add", whole), self.calls.best(peer), "add", a, b, n_returns=2)

    def heard(self, answer: Answer) -> int:
        """An addition has ended; returns the bytes of its second part."""
        self.put(answer.key[1], answer.refs[0], answer.peer)
        return int(answer.last)

    @property
    def sum(self) -> Any:
        """The reference of the sum; None while it is not there."""
        return self._parts[self.root][0] if self.root in self._parts else None


class RayRounds:
    def __init__(self, workers: RayWorkers, memo: Memo):
        self.workers, self.memo = workers, RayMemo(memo)

    def visit(self, tables: Tables, shards: Sequence[int]) -> Round:
        new, ref, visits = self._made(tables, shards, keep=True)
        old = self.remembered(shards)
        self.workers.accept(visits)
        for visited in visits:
            self.memo.refs[visited.shard] = visited.stats
        self.memo.sums = {key: sum_ for key, sum_ in self.memo.sums.items() if not set(key) & set(shards)}
        self.memo.sums[tuple(shards)] = ref
        self.workers.traffic.look_at_disks()
        return Round(new, old, _info(visits))

    def visit_once(self, tables: Tables, shards: Sequence[int]) -> tuple[Any, Info]:
        new, _, visits = self._made(tables, shards, keep=False)
        self.workers.accept(visits)
        return new, _info(visits)

    def remembered(self, shards: Sequence[int]) -> Any:
        known = [b for b in shards if b in self.memo.refs]
        if not known:
            return None
        if tuple(known) in self.memo.sums:
            try:
                return ray.get(self.memo.sums[tuple(known)])
            except ObjectLostError:
                LOG.warning("a sum of shards %d to %d was lost with its node: it is made again", known[0], known[-1])
        tree, calls = Tree(self.workers.calls, len(known)), self.workers.calls
        for i, b in enumerate(known):
            tree.put((i, i + 1), self.memo.refs[b], calls.best(self.workers.home(b)))
        while tree.sum is None:
            for answer in calls.answers():
                self.workers.traffic.added += tree.heard(answer)
        return ray.get(tree.sum)

    def _made(self, tables: Tables, shards: Sequence[int], *, keep: bool) -> tuple[Any, Any, list[Visited]]:
        """The sum of a round, where it lies, and its visits in the order of shards."""
        self.workers.find_homes(shards, together=True)
        for left in range(ATTEMPTS, 0, -1):
            try:
                ref, visits = self._attempt(tables, shards, keep)
                new = ray.get(ref)
            except (LostData, ObjectLostError) as error:
                self.workers.calls.drop()
                was_memory = isinstance(error, LostData) and error.key[0] == "step"
                if was_memory or left == 1:
                    raise LostForGood(error) from error
                LOG.warning(
                    "results of shards %d to %d were lost with their node: the round is made again from where it began",
                    shards[0], shards[-1],
                )  # fmt: skip
            else:
                self.workers.traffic.received += n_bytes(new)
                return new, ref, visits
        raise AssertionError("unreachable")

    def _attempt(self, tables: Tables, shards: Sequence[int], keep: bool) -> tuple[Any, list[Visited]]:
        calls, traffic = self.workers.calls, self.workers.traffic
        tree, visits, copies = Tree(calls, len(shards)), dict[int, Any](), set[int]()
        position = {b: i for i, b in enumerate(shards)}

        def heard(answer: Answer) -> None:
            what, b = answer.key
            if what == "add":
                traffic.added += tree.heard(answer)
            else:
                copies.discard(b)

        for visited in self.workers.visits(tables, shards, in_order=False):
            if isinstance(visited, Answer):
                heard(visited)
                continue
            visits[visited.shard] = visited if keep else visited._replace(stats=None)
            remembered = [visited.memory] if visited.memory is not None else []
            if self.workers.copy(visited, *remembered, *([visited.stats] if keep else [])):
                copies.add(visited.shard)
            i = position[visited.shard]
            tree.put((i, i + 1), visited.stats, visited.peer)
        while tree.sum is None or copies:
            for answer in calls.answers():
                heard(answer)
        return tree.sum, [visits[b] for b in shards]


def _info(visits: Sequence[Visited]) -> Info:
    info = Info()
    for visited in visits:
        add_info(info, visited.report.info)
    return info
