"""What an engine offers, and what learners see of its workers."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, MutableMapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import TYPE_CHECKING, ClassVar, NamedTuple, Protocol, TypeAlias, TypeVar, runtime_checkable

import numpy as np

from topmix.base.component import Component
from topmix.corpus.shard import Shards
from topmix.models.model import SomeTotal, Stats
from topmix.models.statistics import tree_sum
from topmix.steps import Info, LocalStep, Memory

if TYPE_CHECKING:
    from topmix.cuda.device import Device
    from topmix.engines.ray_blocks import BlockWorkers

M = TypeVar("M")
Memo: TypeAlias = MutableMapping[int, SomeTotal]  # the last statistics of each shard
Tables: TypeAlias = Callable[[np.ndarray], object]  # of the columns of a shard


class ShardResult(NamedTuple):
    shard: int
    stats: SomeTotal  # Stats, or whatever the step is asked for
    info: Info


class Workers(ABC):
    """Workers on the shards of one data set. They own what local steps remember of each shard."""

    n_shards: int
    n_rows: float  # or their weight

    @abstractmethod
    def run(self, tables: Tables, shards: Iterable[int]) -> Iterator[ShardResult]:
        """The results of `shards`, in that order, under the tables that `tables(columns)` makes for each."""

    def rounds(self, memo: Memo) -> Rounds:
        """They continue from what `memo` holds. Workers who can add among themselves have their own: with the same tree
        and so the same bits."""
        return Rounds(self, memo)

    def place(self, model: M) -> M:
        """The model where these workers read it: itself, or with its counts on their device. Its `on_host` is the way
        back."""
        return model

    @abstractmethod
    def recall(self) -> dict[int, Memory]:
        """What the local step remembers of each shard that was visited. The values are not to be changed."""

    @abstractmethod
    def restore(self, memory: Mapping[int, Memory]) -> None:
        """Puts what `recall` gave, or a changed copy of it, in the place of all that is remembered."""

    def forget(self) -> None:
        """The next visit to each shard is like the first."""
        self.restore({})

    @abstractmethod
    def close(self) -> None:
        """Ends the workers. Nothing is asked of them any more."""


@runtime_checkable
class Watched(Protocol):
    """Workers who say how they are: those of a cluster do."""

    def status(self) -> dict[str, float]:
        """Of the time since the last call: workers, rows_per_second, worker_bytes (memory of the largest), busy (the
        share of the time that workers visited), processor (seconds of those visits), and bytes that were sent,
        received, added and copied."""
        ...


class Engine(Component):
    """A component that can open workers."""

    maps_files: ClassVar[bool] = True  # whether it learns from a temporary file of this machine as from memory
    on_device: ClassVar[bool] = False  # whether its workers compute elsewhere than on the processor
    is_cluster: ClassVar[bool] = False
    may_travel: ClassVar[bool] = False  # whether parameters may travel between workers: learner="asynchronous"
    most_fits: ClassVar[int] = 1  # that may run at once, each in a thread of this process

    def threads(self, n_jobs: int) -> int:
        """How many of n_jobs threads this process uses, for the tables of a model as for its workers."""
        return n_jobs

    def opened(self) -> Device | None:
        """The device, where it has one."""
        return None

    def own_stream(self, number: int, of: int) -> AbstractContextManager[None]:
        """Inside, this thread of the process fits apart from others, which do so at the same time."""
        return nullcontext()

    def of_processors(self) -> Engine:
        """The same without GPUs, for what they have no kernel for."""
        return self

    def for_blocks(self, n_rows: float) -> BlockWorkers:
        """Of a cluster: its workers, for blocks of parameters that travel between them."""
        raise TypeError(f"{type(self).__name__} is no cluster")

    @abstractmethod
    def open(self, shards: Shards, step: LocalStep, threads: int) -> Workers:
        """`threads` is what one worker may use; it changes no result."""


# Rounds: the statistics of several shards under one model, added in a tree.


class Round(NamedTuple):
    new: Stats
    old: Stats | None  # the same shards at their last visit; None at the first
    info: Info


def add_info(total: Info, more: Info) -> None:
    """total += more, name by name. Neither number nor array of `more` is changed."""
    for name, value in more.items():
        total[name] = total[name] + value if name in total else value


class Rounds:
    """Shards report to this process, which keeps their statistics and adds them."""

    memo: Memo  # the last statistics of each shard, wherever they lie

    def __init__(self, workers: Workers, memo: Memo):
        self.workers, self.memo = workers, memo

    def visit(self, tables: Tables, shards: Sequence[int]) -> Round:
        """Visits the shards and puts what they report in the memo, in the place of what was there."""
        results = list(self.workers.run(tables, shards))  # all of them before the memo changes
        old, info = self.remembered(shards), Info()
        for b, new, more in results:
            self.memo[b] = new
            add_info(info, more)
        return Round(tree_sum(result.stats for result in results), old, info)

    def visit_once(self, tables: Tables, shards: Sequence[int]) -> tuple[Stats, Info]:
        """The same without a memo."""
        info = Info()

        def reported() -> Iterator[Stats]:
            for _, new, more in self.workers.run(tables, shards):
                add_info(info, more)
                yield new

        return tree_sum(reported()), info

    def remembered(self, shards: Sequence[int]) -> Stats | None:
        """The sum of what the memo has of these shards."""
        known = [self.memo[b] for b in shards if b in self.memo]
        return tree_sum(known) if known else None
