"""What an engine offers, and what learners see of its workers."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, ClassVar, NamedTuple, Protocol

import numpy as np

from topmix.data.shard import Shards
from topmix.local import Info, LocalStep
from topmix.parameters.component import Component


class ShardResult(NamedTuple):
    shard: int
    stats: Any
    info: Info


class Workers(Protocol):
    """Workers on the shards of one data set. They own what local steps remember of each shard."""

    n_shards: int
    n_rows: float  # or their weight

    def run(self, tables: Callable[[np.ndarray], Any], shards: Iterable[int]) -> Iterator[ShardResult]:
        """The results of `shards`, in that order, under the tables that `tables(columns)` makes for each."""
        ...

    def place(self, model: Any) -> Any:
        """The model where these workers read it: itself, or with its counts on their device. Its `on_host` is the way
        back."""
        ...

    def recall(self) -> dict[int, Any]:
        """What the local step remembers of each shard that was visited. The values are not to be changed."""
        ...

    def restore(self, memory: Mapping[int, Any]) -> None:
        """Puts what `recall` gave, or a changed copy of it, in the place of all that is remembered."""
        ...

    def forget(self) -> None:
        """The next visit to each shard is like the first."""
        ...

    def close(self) -> None:
        """Ends the workers. Nothing is asked of them any more."""
        ...


class Engine(Component):
    """A component that can open workers."""

    has_checkpoints: ClassVar[bool] = True  # whether what its workers remember can go to a file

    @abstractmethod
    def open(self, shards: Shards, step: LocalStep, threads: int) -> Workers:
        """`threads` is what one worker may use; it changes no result."""
