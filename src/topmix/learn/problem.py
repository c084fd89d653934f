"""What there is to learn, as a value that an estimator makes, and what is found."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, TypeAlias

import numpy as np

from topmix.corpus.corpus import Corpus
from topmix.corpus.rows import Rows
from topmix.engines.engine import Engine
from topmix.learn.history import Callback, Clock, Record
from topmix.learn.learners import PassMaker
from topmix.models.model import SomeModel, SomeTotal
from topmix.models.topics import TopicModel
from topmix.steps import LocalStep

if TYPE_CHECKING:  # checkpoints and schedules are of fits
    from topmix.learn.checkpoint import Checkpoint
    from topmix.learn.fit import Fit, Schedule

INTERRUPTED = (
    "the fit was interrupted, and has the model of pass {}: fit again with warm_start=True to go on from there"
)


class First(Protocol):
    """Where a fit starts."""

    def model(self, rng: np.random.Generator) -> tuple[SomeModel, SomeTotal]:
        """A first model, and statistics that fade in the first pass, or None."""


class Given(NamedTuple):
    """A fit that starts from this model."""

    start: SomeModel
    pseudo_counts: SomeTotal = None

    def model(self, rng: np.random.Generator) -> tuple[SomeModel, SomeTotal]:
        return self.start, self.pseudo_counts


PassPlan: TypeAlias = "Callable[[Fit, np.random.Generator], Schedule]"  # a schedule, perhaps with settings of its own


@dataclass(frozen=True)
class Problem:
    """What a fit has to do, as the parameters of an estimator say."""

    data: Corpus | Rows
    first: First
    step: LocalStep
    learner: PassMaker
    engine: Engine
    threads: int
    n_active: int  # L
    max_iter: int
    least_gain: float  # a pass that changes the objective by less has converged
    plan: PassPlan
    empty: TopicModel | None = None  # of topics: priors and options, without counts
    weight: np.ndarray | None = None  # of each row
    batches: int = 10  # of a pass, where the learner has no size for them
    deals_first: bool = False  # rows are dealt to shards before the first model, and once for all starts
    is_warm: bool = False  # it starts from what an earlier fit learned
    before: float | None = None  # the objective where the fit begins, if an earlier fit ended there
    warm_up: int = 0  # first passes that may lower the objective
    weighs_tokens: bool = False  # stochastic: a batch is weighed by its share of the tokens
    keep: Checkpoint | None = None

    @property
    def n_rows(self) -> float:
        """Rows of the data, or their weight."""
        return float(len(self.data.rows)) if self.weight is None else float(self.weight.sum())


@dataclass
class FitSettings:
    """How long a fit may go on, whom it calls after a pass, and what it is for them and after Ctrl-C."""

    title: str
    size: float  # tokens or rows of the data
    n_features: int
    fitted: Callable[[SomeModel, Sequence[Record]], Any]  # FittedTopics or FittedMixture, for a model after some passes
    estimator: Callable[[Any], object]  # the one that has learned this
    n_init: int = 1
    max_time: float | None = None
    callbacks: Sequence[Callback] = ()
    verbose: int | None = 0
    keeps_last: bool = True  # whether Ctrl-C leaves the last pass; an earlier fit is not replaced by half of another
    clock: Clock = field(default_factory=Clock)


@dataclass(frozen=True)
class Stopping:
    """When a fit is over."""

    max_iter: int
    least_gain: float
    # "falls" where it is minimised; "either" where priors move under it; "unsteady": as well, and a pass may come to
    # the same height on the other side of the top, so two in a row must change little
    direction: str = "rises"
    warm_up: int = 0  # first passes whose objective is another one
    before: float | None = None  # the objective at which the fit begins, where an earlier fit ended there

    def has_converged(self, history: Sequence[Record]) -> bool:
        if self.before is not None and len(history) == 1:  # either way: the data may be another
            return abs(history[0].objective - self.before) < self.least_gain
        if len(history) < self.warm_up + 2:
            return False
        gain = history[-1].objective - history[-2].objective
        if self.direction == "unsteady":
            before = history[-2].objective - history[-3].objective if len(history) > self.warm_up + 2 else np.inf
            return max(abs(gain), abs(before)) < self.least_gain
        return {"rises": gain, "falls": -gain, "either": abs(gain)}[self.direction] < self.least_gain

    def better(self, a: Sequence[Record], b: Sequence[Record]) -> bool:
        """Whether a fit with history a ended better than one with b."""
        sign = -1.0 if self.direction == "falls" else 1.0
        return sign * last_objective(a, sign) > sign * last_objective(b, sign)


def last_objective(history: Sequence[Record], sign: float = 1.0) -> float:
    """Where a fit ended; infinitely bad where no pass was made."""
    return history[-1].objective if history else -sign * float("inf")


class Outcome(NamedTuple):
    model: SomeModel
    history: list[Record]
    converged: bool
    n_updates: int = 0

    @property
    def objective(self) -> float:
        return last_objective(self.history)


class Interrupted(Exception):
    """Ctrl-C. `fitted` is what there is of the fit, or None."""

    def __init__(self, fitted: Any, n_pass: int | None = None):
        self.fitted, self.n_pass = fitted, n_pass


def warn_of_interrupt(n_pass: int | None) -> None:
    if n_pass:
        warnings.warn(INTERRUPTED.format(n_pass), UserWarning, stacklevel=5)
