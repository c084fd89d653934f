"""Rounds: the statistics of several shards under one model, added in a tree.

Learners ask `rounds_of(workers, memo)`. Workers who can add among themselves offer their own; for all others it is done
here, with the same tree and so the same bits.
"""

from __future__ import annotations

from collections.abc import Iterator, MutableMapping, Sequence
from typing import Any, NamedTuple, Protocol, runtime_checkable

from topmix.engines.engine import Tables, Workers
from topmix.local import Info, add_info
from topmix.models.model import Stats
from topmix.stats.tree import tree_sum

Memo = MutableMapping[int, Any]


class Round(NamedTuple):
    new: Stats
    old: Stats | None  # the same shards at their last visit; None at the first
    info: Info


class Rounds(Protocol):
    memo: Memo  # the last statistics of each shard, wherever they lie

    def visit(self, tables: Tables, shards: Sequence[int]) -> Round:
        """Visits the shards and puts what they report in the memo, in the place of what was there."""
        ...

    def visit_once(self, tables: Tables, shards: Sequence[int]) -> tuple[Stats, Info]:
        """The same without a memo."""
        ...

    def remembered(self, shards: Sequence[int]) -> Stats | None:
        """The sum of what the memo has of these shards."""
        ...


@runtime_checkable
class AddsRounds(Protocol):
    """Workers with rounds of their own."""

    def rounds(self, memo: Memo) -> Rounds:
        """They continue from what `memo` holds."""
        ...


def rounds_of(workers: Workers, memo: Memo) -> Rounds:
    return workers.rounds(memo) if isinstance(workers, AddsRounds) else LocalRounds(workers, memo)


class LocalRounds:
    """Shards report to this process, which keeps their statistics and adds them."""

    def __init__(self, workers: Workers, memo: Memo):
        self.workers, self.memo = workers, memo

    def visit(self, tables: Tables, shards: Sequence[int]) -> Round:
        results = list(self.workers.run(tables, shards))  # all of them before the memo changes
        old, info = self.remembered(shards), Info()
        for b, new, more in results:
            self.memo[b] = new
            add_info(info, more)
        return Round(tree_sum(result.stats for result in results), old, info)

    def visit_once(self, tables: Tables, shards: Sequence[int]) -> tuple[Stats, Info]:
        info = Info()

        def reported() -> Iterator[Stats]:
            for _, new, more in self.workers.run(tables, shards):
                add_info(info, more)
                yield new

        return tree_sum(reported()), info

    def remembered(self, shards: Sequence[int]) -> Stats | None:
        known = [self.memo[b] for b in shards if b in self.memo]
        return tree_sum(known) if known else None
