"""What a learner is asked to do, and what every learner offers."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Generator, Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar, NamedTuple, Self, TypeAlias

import numpy as np

from topmix.base.component import Component
from topmix.corpus.corpus import Corpus
from topmix.corpus.rows import Rows
from topmix.corpus.shard import Batches, Shards
from topmix.engines.engine import Engine, Memo, Workers
from topmix.models.mixture import Momentum
from topmix.models.model import Model, SomeModel, SomeTotal
from topmix.models.topics import TopicModel
from topmix.steps.step import Info, LocalStep

PAIRS_PER_BATCH = 1 << 26  # responsibilities, of 6 bytes, that a step holds unless batch_size asks for more
SomeWorkers: TypeAlias = Any  # Workers, or those that one learner alone asks


@dataclass(frozen=True)
class Task:
    """Data, a first model, and who computes."""

    data: Corpus | Rows
    model: SomeModel  # a Mixture or a TopicModel
    batches: Batches
    step: LocalStep
    engine: Engine
    threads: int
    n_active: int  # L
    max_iter: int
    weight: np.ndarray | None = None  # [rows]
    is_warm: bool = False  # the model is one that was fitted before

    @property
    def n_rows(self) -> float:
        """Rows of the data, or their weight."""
        return float(len(self.data)) if self.weight is None else float(self.weight.sum())


class PassResult(NamedTuple):
    model: SomeModel  # Model; the same type as it began with
    total: SomeTotal  # statistics of all the data, as the learner has them
    info: Info  # of the local steps of this pass, added up


# A model that is sent back is what the next pass starts from. So priors are learned and topics edited between passes,
# and no learner knows of it.
Passes = Generator[PassResult, SomeModel, None]


@dataclass
class State:
    """What a learner carries from pass to pass besides the model: it writes here, and continues from what it finds.

    Between two passes this, the model and what the workers remember are all there is: a fit that is put together from
    them continues with the same bits.
    """

    total: SomeTotal = None  # None: no pass was made yet
    memo: Memo = field(default_factory=dict)  # memoized: the last statistics of each shard
    t: int = 0  # steps so far: passes, or batches for stochastic learning
    pseudo_counts: SomeTotal = None  # statistics to start the next pass from, which fade during it
    momentum: Momentum | None = None  # memoized: what it takes from one pass to the next, where it is asked for
    n_tokens: float | None = None  # stochastic: a batch is weighed by its share of these tokens instead of rows


class PassMaker:
    """How a pass is made. Learners do it, and what else goes over data again and again: chains, versions of topics."""

    fades: ClassVar[bool] = False  # whether pseudo-counts fade through the first pass, and may stay sparse
    has_memo: ClassVar[bool] = False  # whether it keeps the statistics of each shard, which the search for topics needs
    travels: ClassVar[bool] = False  # whether parts of the model travel between workers, who keep their rows: then
    # `interrupted` gives a model in the middle of a pass

    @abstractmethod
    def batches(self, data: Corpus | Rows, L: int, rng: np.random.Generator, default: int = 10) -> Batches:
        """Which rows are visited together. `default` is how many batches to make where no size is set."""

    def open(self, task: Task, rng: np.random.Generator) -> Workers:
        """The workers that `passes` asks."""
        return task.engine.open(Shards(task.data, task.batches, task.weight), task.step, task.threads)

    @abstractmethod
    def passes(self, model: SomeModel, workers: SomeWorkers, state: State) -> Passes:
        """Passes without end, from this model and this state."""

    @property
    def direction(self) -> str:
        """Where the objective of mixtures goes from pass to pass: see `Stopping`."""
        return "rises"

    def updates_per_pass(self, n_batches: int) -> int:
        return 1

    def interrupted(self, workers: SomeWorkers, model: Model) -> Model | None:
        """The model at the moment of an interrupt; None where the learner may be in the middle of a total."""
        return None

    def warm_up_passes(self, task: Task) -> int:
        """First passes whose objective says nothing of convergence."""
        return 0


class Learner(Component, PassMaker):
    """A component that a user passes in."""

    samples: ClassVar[bool] = False  # whether its passes can be sampling sweeps
    remembers_rows: ClassVar[bool] = True  # whether the model's counts contain what the last visit to a row found

    def check_engine(self, engine: Engine) -> None:
        """Raises ValueError where the learner cannot use this engine."""

    def check_posterior(self, posterior: str) -> None:
        """Raises ValueError where the learner cannot use this posterior of documents."""

    def check_stream(self) -> None:
        """Raises ValueError where topics cannot be learned from batches that are seen once."""

    def check_topics(self, model: TopicModel) -> None:
        """Raises ValueError where the learner cannot learn such topics."""

    def for_mixture(self, name: str, likelihood: type, parameters: Mapping[str, object], data: Corpus | Rows) -> Self:
        """This learner, with a batch size for this mixture where it needs one. ValueError where it cannot learn it;
        `name` and `parameters` are those of the estimator."""
        return self


def count_of_batches(batch_size: int | None, data: Corpus | Rows, L: int, default: int) -> int:
    """Batches per pass: `default` of them, more where one would hold too much in memory, or as batch_size says."""
    if batch_size is None:
        held = data.nnz * L if isinstance(data, Corpus) else 0  # rows of a table are visited a piece at a time
        return min(max(default, -(-held // PAIRS_PER_BATCH)), max(len(data), 1))
    return -(-len(data) // batch_size)
