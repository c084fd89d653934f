"""What a learner is asked to do, what every learner offers, and three of them: batch, memoized and stochastic."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Callable, Generator, Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar, NamedTuple, Self, TypeAlias

import numpy as np

from topmix.base.checks import MOST_POSITIVE, number_from, positive_number, whole_number, whole_number_or_none
from topmix.base.component import Component
from topmix.corpus.corpus import Corpus
from topmix.corpus.rows import Rows
from topmix.corpus.shard import Batches, Shards, at_random, in_order
from topmix.engines.engine import Engine, M, Memo, Workers, add_info
from topmix.models.model import Model, SomeModel, SomeTotal, Stats
from topmix.models.momentum import Momentum
from topmix.models.statistics import TopicStats
from topmix.models.topics import TopicModel
from topmix.steps import Info, LocalStep

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
    """What a learner carries from pass to pass besides the model: it writes here, and continues from what it finds."""

    total: SomeTotal = None  # None: no pass was made yet
    memo: Memo = field(default_factory=dict)  # memoized: the last statistics of each shard
    t: int = 0  # steps so far: passes, or batches for stochastic learning
    pseudo_counts: SomeTotal = None  # statistics to start the next pass from, which fade during it
    momentum: Momentum | None = None  # memoized: what it takes from one pass to the next, where it is asked for
    n_tokens: float | None = None  # stochastic: a batch is weighed by its share of these tokens instead of rows


class PassMaker:
    """How a pass is made: by learners, and by chains and versions of topics, which go over data again and again too."""

    fades: ClassVar[bool] = False  # whether pseudo-counts fade through the first pass, and may stay sparse
    has_memo: ClassVar[bool] = False  # whether it keeps the statistics of each shard, which the search for topics needs
    travels: ClassVar[bool] = False  # whether parts of the model travel between workers, who keep their rows

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
    """A component that a user passes in. Each check raises ValueError where the learner cannot do what is asked."""

    samples: ClassVar[bool] = False  # whether its passes can be sampling sweeps
    remembers_rows: ClassVar[bool] = True  # whether the model's counts contain what the last visit to a row found

    def check_engine(self, engine: Engine) -> None: ...
    def check_posterior(self, posterior: str) -> None: ...
    def check_stream(self) -> None: ...
    def check_topics(self, model: TopicModel) -> None: ...

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


@dataclass(frozen=True, repr=False)
class Batch(Learner):
    """Updates once per pass, from all rows. It has no settings.

    Examples
    --------
    >>> from topmix.learners import Batch
    >>> Batch()
    Batch()
    """

    samples: ClassVar[bool] = True

    def batches(self, data: Corpus | Rows, L: int, rng: np.random.Generator, default: int = 10) -> Batches:
        return in_order(data)

    def passes(self, model: Model, workers: Workers, state: State) -> Passes:
        rounds = workers.rounds({})
        while True:
            new, info = rounds.visit_once(model.tables, range(workers.n_shards))
            state.total = total = model.no_stats()
            total += new
            model = model.update(total)
            model = (yield PassResult(model, total, info)) or model


# Memoized: total += new - old, so the total is exact and the model moves at every round.  docs/math.md Eq. (1.9).
#
# Pseudo-counts are statistics to start from that are not from data. If they were dropped after the first round, the
# model would keep only what that round happens to contain, and topics that it does not use would die. So they fade
# during the pass, and none of them is left at its end. Whoever changes the model between two passes may set new ones in
# the state, which fade through the next pass.
#
# Momentum (models/momentum.py) is made of the same: what a pass starts from besides the total fades while its rounds
# replace it by what the data say.

MOST_MOMENTUM = 10.0


@dataclass(frozen=True, repr=False)
class Memoized(Learner):
    """Visits batches in turn and updates after each round, without a learning rate.

    Parameters
    ----------
    batch_size : int or None
        Rows per batch. None makes ten rounds of batches, so that a pass has ten updates.
    batches_per_update : int
        Batches per round. The batches of a round are computed under the same model, so several workers can share
        them. The result depends on this number, and never on the number of workers.
    momentum : float
        For GaussianMixture and VonMisesFisherMixture: how many times what the last pass changed is added before the
        next one. 2 saves a third to two thirds of the passes where clusters overlap, and 4 as much for directions. The
        objective may fall in a pass; the passes after that go half as far. 0 adds nothing.

    Examples
    --------
    >>> from topmix.learners import Memoized
    >>> Memoized(batch_size=1000)
    Memoized(batch_size=1000)
    """

    batch_size: int | None = None
    batches_per_update: int = 1
    momentum: float = 0.0

    fades: ClassVar[bool] = True
    has_memo: ClassVar[bool] = True
    samples: ClassVar[bool] = True

    def check(self) -> None:
        whole_number_or_none(self.batch_size, "batch_size")
        whole_number(self.batches_per_update, "batches_per_update")
        number_from(self.momentum, "momentum", 0.0, MOST_MOMENTUM)

    def batches(self, data: Corpus | Rows, L: int, rng: np.random.Generator, default: int = 10) -> Batches:
        return at_random(data, count_of_batches(self.batch_size, data, L, default * self.batches_per_update), rng)

    @property
    def direction(self) -> str:
        return "unsteady" if self.momentum else "rises"

    def updates_per_pass(self, n_batches: int) -> int:
        return -(-n_batches // self.batches_per_update)

    def passes(self, model: SomeModel, workers: Workers, state: State) -> Passes:
        if self.momentum and not Momentum.suits(model):
            raise ValueError(
                f"momentum={self.momentum!r} works for GaussianMixture and VonMisesFisherMixture on the CPU alone: "
                "set it to 0"
            )
        rounds, n = workers.rounds(state.memo), workers.n_shards
        state.memo = rounds.memo
        width = self.batches_per_update
        in_rounds = [range(begin, min(begin + width, n)) for begin in range(0, n, width)]
        momentum = (state.momentum or Momentum(self.momentum)) if self.momentum else None
        state.momentum = momentum
        while True:
            info = Info()
            if state.total is None:
                state.total = model.no_stats()
            total, pseudo, state.pseudo_counts = state.total, state.pseudo_counts, None
            if pseudo is not None:
                total += pseudo
                model = model.update(total)
            if momentum is not None:
                model = momentum.begin(model, total)
            left = 1.0
            for shards in in_rounds:
                new, old, more = rounds.visit(model.tables, shards)
                if old is not None:
                    total -= old  # first out, then in: with one shard this is batch, bit for bit
                if pseudo is not None:
                    for _ in shards:
                        total.add(pseudo, -1.0 / n)
                total += new
                add_info(info, more)
                left -= len(shards) / n
                is_last = left < 0.5 / n
                model = model.update(total) if momentum is None or is_last else momentum.update(model, total, left)
            was_exact = (state.t == 0 or total.is_exact) and (pseudo is None or pseudo.is_removable)
            if not was_exact and (n > 1 or pseudo is not None):  # sum again, without the rounding of differences
                pseudo = None
                state.total = total = model.no_stats()
                for shards in in_rounds:
                    total += rounds.remembered(shards)
                model = model.update(total)
            if momentum is not None:
                momentum.end(model, total)
            state.t += 1
            model = (yield PassResult(model, total, info)) or model


# Stochastic: total = (1 - rho_t) total + rho_t (rows / rows seen) new, rho_t = s / (tau + t)^kappa.
#
# Natural-gradient steps on the bound, docs/math.md Eq. (1.10). Nothing is kept of a batch after its step, so the data
# may be a stream.


@dataclass(frozen=True, repr=False)
class Stochastic(Learner):
    """Blends each batch into the model with a step size rho_t = scale / (offset + t)^decay; t counts batches.

    Parameters
    ----------
    batch_size : int or None
        Rows per batch. None is 512 documents, or 4096 rows of a table.
    scale, offset, decay : float
        The step size, never larger than one.
    total_samples : float or None
        In partial_fit: how many rows the stream stands for. None is the number seen so far; with a half-life, never
        more than half_life / log 2, which is what a stream that forgets remembers.
    half_life : float or None
        Rows after which what was learned is worth half: no step is smaller than 1 - 2^(-rows of the batch / half_life).
        None never forgets; steps get smaller for ever.

    Examples
    --------
    >>> from topmix.learners import Stochastic
    >>> Stochastic(decay=0.9)
    Stochastic(decay=0.9)
    """

    batch_size: int | None = None
    scale: float = 1.0
    offset: float = 10.0
    decay: float = 0.7
    total_samples: float | None = None
    half_life: float | None = None

    remembers_rows: ClassVar[bool] = False

    def check(self) -> None:
        whole_number_or_none(self.batch_size, "batch_size")
        positive_number(self.scale, "scale")
        positive_number(self.offset, "offset")
        number_from(self.decay, "decay", 0.0, MOST_POSITIVE)
        for name in ("total_samples", "half_life"):
            if getattr(self, name) is not None:
                positive_number(getattr(self, name), name)

    def batches(self, data: Corpus | Rows, L: int, rng: np.random.Generator, default: int = 10) -> Batches:
        return at_random(data, count_of_batches(self.batch_size or data.usual_batch, data, L, default), rng)

    def updates_per_pass(self, n_batches: int) -> int:
        return n_batches

    def step_size(self, t: int, n_rows: float = 0.0) -> float:
        """rho_t, for a batch of so many rows.  Eqs. (1.10), (1.10b)"""
        try:
            step = min(1.0, self.scale / (self.offset + t) ** self.decay)
        except (OverflowError, ZeroDivisionError):  # a huge decay
            step = 0.0 if self.offset + t > 1 else 1.0
        return step if self.half_life is None else max(step, 1.0 - 0.5 ** (n_rows / self.half_life))

    def stands_for(self, n_seen: float) -> float:
        """How many rows a stream represents that has seen so many."""
        if self.total_samples is not None:
            return self.total_samples
        return n_seen if self.half_life is None else min(n_seen, self.half_life / math.log(2.0))

    def passes(self, model: Model, workers: Workers, state: State) -> Passes:
        amount = workers.n_rows if state.n_tokens is None else state.n_tokens
        if state.total is None:
            state.total = model.no_stats()
            if state.pseudo_counts is not None:
                state.total += state.pseudo_counts
                state.pseudo_counts = None
        total = state.total
        while True:
            info = Info()
            for b in range(workers.n_shards):
                for _, new, more in workers.run(model.tables, [b]):
                    seen = new.n_rows if state.n_tokens is None else tokens(new)
                    total = blend(total, new, self.step_size(state.t, new.n_rows), amount, seen)
                    state.t += 1
                    add_info(info, more)
                model = model.update(total)
            model = (yield PassResult(model, total, info)) or model


def stream_of(learner: Learner) -> Stochastic:
    """The steps of partial_fit: the learner's own, or the usual ones where it has none."""
    return learner if isinstance(learner, Stochastic) else Stochastic()


def tokens(stats: TopicStats) -> float:
    """Tokens of a batch: with these in the place of rows, the total amounts to all tokens for any document lengths."""
    return float(stats.S.totals.sum())


def blend(total: Stats, new: Stats, rho: float, amount: float, amount_new: float) -> Stats:
    """One step, in place: `new` saw amount_new and stands for `amount`. An empty batch changes nothing."""
    return total.scale(1.0 - rho).add(new, rho * amount / amount_new) if amount_new > 0 else total


def streamed(
    workers: Workers, model: M, past: Callable[[M], SomeTotal], learner: Learner, n_updates: int, n_seen: float,
    tokens_per_row: float | None = None,
) -> tuple[M, SomeTotal]:  # fmt: skip
    """The model after one stochastic step on all that the workers have, and the statistics of these. `past` are those
    of the placed model; with `tokens_per_row` a batch is weighed by its tokens. Callers keep nothing of a device."""
    placed: SomeModel = workers.place(model)
    new: SomeTotal
    stream, total = stream_of(learner), past(placed)
    stands_for = stream.stands_for(n_seen)
    new, _ = workers.rounds({}).visit_once(placed.tables, range(workers.n_shards))
    seen = new.n_rows
    if tokens_per_row is not None:
        stands_for, seen = stands_for * tokens_per_row, tokens(new)
    return placed.update(blend(total, new, stream.step_size(n_updates, new.n_rows), stands_for, seen)).on_host(), new
