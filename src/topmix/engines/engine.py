"""What an engine offers, and what learners see of its workers."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import Any, ClassVar, NamedTuple, Protocol, TypeAlias, TypeVar, runtime_checkable

import numpy as np

from topmix.cuda.device import Device
from topmix.data.corpus import Corpus
from topmix.data.parquet_texts import ParquetTexts
from topmix.data.shard import Shards
from topmix.data.vectorize import Vectorizer
from topmix.local import Info, LocalStep
from topmix.parameters.component import Component

M = TypeVar("M")
Memory: TypeAlias = Any  # what a local step wants to see at its next visit to a shard: its own type
Tables: TypeAlias = Callable[[np.ndarray], Any]  # of the columns of a shard


class ShardResult(NamedTuple):
    shard: int
    stats: Any  # Stats, or whatever the step is asked for
    info: Info


class Workers(Protocol):
    """Workers on the shards of one data set. They own what local steps remember of each shard."""

    n_shards: int
    n_rows: float  # or their weight

    def run(self, tables: Tables, shards: Iterable[int]) -> Iterator[ShardResult]:
        """The results of `shards`, in that order, under the tables that `tables(columns)` makes for each."""
        ...

    def place(self, model: M) -> M:
        """The model where these workers read it: itself, or with its counts on their device. Its `on_host` is the way
        back."""
        ...

    def recall(self) -> dict[int, Memory]:
        """What the local step remembers of each shard that was visited. The values are not to be changed."""
        ...

    def restore(self, memory: Mapping[int, Memory]) -> None:
        """Puts what `recall` gave, or a changed copy of it, in the place of all that is remembered."""
        ...

    def forget(self) -> None:
        """The next visit to each shard is like the first."""
        ...

    def close(self) -> None:
        """Ends the workers. Nothing is asked of them any more."""
        ...


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

    has_checkpoints: ClassVar[bool] = True  # whether what its workers remember can go to a file
    maps_files: ClassVar[bool] = True  # whether it learns from a temporary file of this machine as from memory
    counts_texts: ClassVar[bool] = False  # whether `count_texts` may do it
    keeps_last_pass: ClassVar[bool] = True  # whether a copy of the model after each pass costs next to nothing
    on_device: ClassVar[bool] = False  # whether its workers compute elsewhere than on the processor
    samples: ClassVar[bool] = True  # whether its workers can sample topics of tokens
    keeps_models: ClassVar[bool] = False  # whether a model that was learned stays where its workers have it
    most_fits: ClassVar[int] = 1  # that may run at once, each in a thread of this process

    def threads(self, n_jobs: int) -> int:
        """How many of n_jobs threads this process uses, for the tables of a model as for its workers."""
        return n_jobs

    def count_texts(
        self,
        texts: ParquetTexts,
        vectorizer: Vectorizer,
        vocabulary: Sequence[str] | None = None,
        out: Path | None = None,
    ) -> Corpus | None:
        """The corpus of these texts, counted by the workers, in the file `out` or a temporary one: in the words of a
        vocabulary, or in those that the vectorizer learns. None where the caller is to count them."""
        return None

    def opened(self) -> Device | None:
        """The device, where it has one."""
        return None

    def lane(self, number: int, of: int) -> AbstractContextManager[None]:
        """Inside, this thread of the process has one of several places to fit in, which are used at once."""
        return nullcontext()

    @abstractmethod
    def open(self, shards: Shards, step: LocalStep, threads: int) -> Workers:
        """`threads` is what one worker may use; it changes no result."""
