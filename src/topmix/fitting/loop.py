"""One fit, from its first start to its last pass: for topics, mixtures and chains.

The loop makes the passes of a start, records them, calls callbacks, asks the schedule what comes next, and keeps the
best start. Ctrl-C ends it with what there is.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from time import perf_counter
from typing import Any, Generic, NamedTuple, Protocol, TypeVar

import numpy as np

from topmix.engines import Watched
from topmix.fitting.history import LEARNING, SWEEPS, Callback, Clock, Record, TimeLimit
from topmix.fitting.progress import shown
from topmix.fitting.view import PassView
from topmix.learners import Passes, PassResult

INTERRUPTED = (
    "the fit was interrupted, and has the model of pass {}: fit again with warm_start=True to go on from there"
)
MOST_KEPT = 1 << 24  # features x components of a model that is copied after a pass: 128 MB
FREE, SHARE = 0.01, 0.02  # seconds of a copy that are nothing, and the share of the time that longer ones may take

F = TypeVar("F")  # what was fitted: FittedTopics, FittedMixture
M = TypeVar("M")  # the model that passes learn: TopicModel, Mixture, Chain, HardTopics


@dataclass(frozen=True)
class Stopping:
    """When a fit is over."""

    max_iter: int
    least_gain: float  # a pass that changes the objective by less has converged
    direction: str = "rises"  # "falls" where it is minimised; "either" where priors move under it; "unsteady": as well,
    # and a pass may come to the same height on the other side of the top, so two in a row must change little
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


class Schedule:
    """What comes after a pass, as a function of the history and of what the pass found. This one is the plain one:
    passes until they change little."""

    phase = LEARNING  # what the present pass does

    def moves(self) -> dict[str, float]:
        """Changes of the number of topics before the last pass, for its record."""
        return {}

    def has_converged(self, history: Sequence[Record], stopping: Stopping) -> bool:
        return stopping.has_converged(history)

    def ends_here(self) -> bool:
        """A callback ends the fit: whether at once, or after a pass that makes a whole model of what there is."""
        return True

    def after(self, result: PassResult, is_last: bool) -> Any:
        """Another model for the next pass to start from, or None."""
        return None

    def keep(self, model: Any, following: Any, is_last: bool) -> None:
        """The pass is over: `following` is what `after` returned."""


PLAIN = Schedule()


def no_passes() -> Passes:
    yield from ()


class Start(Protocol[M]):
    """A start of a fit, ready for its first pass."""

    passes: Passes
    stopping: Stopping
    updates_per_pass: int

    @property
    def workers(self) -> object:
        """Who compute."""

    @property
    def schedule(self) -> Schedule: ...

    def interrupted(self) -> M | None:
        """The model of this moment, where it is whole at any moment; else None."""

    def ended(self, model: M | None) -> M:
        """What was learned, given the model of the last pass; None: there was no pass left to make."""

    def close(self) -> None: ...


class Outcome(NamedTuple, Generic[M]):
    model: M
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


@dataclass
class Course(Generic[F]):
    """How long a fit may go on, and whom it calls after a pass."""

    title: str
    size: float  # tokens or rows of the data
    max_iter: int
    fitted: Callable[[Any, Sequence[Record]], F]  # what there is after a pass, as a value of its own
    shown_as: Callable[[F], Any]  # ... and as an estimator, for callbacks
    n_init: int = 1
    max_time: float | None = None
    callbacks: Sequence[Callback] = ()
    verbose: int | None = 0
    keeps_last: bool = True  # whether Ctrl-C leaves the last pass; an earlier fit is not replaced by half of another
    n_features: int = 0
    clock: Clock = field(default_factory=Clock)

    def run(self, begin: Callable[[np.random.Generator, Log], Start[M]], rng: np.random.Generator) -> Outcome[M]:
        """`begin` makes a start."""
        best: Outcome[M] | None = None
        limits: list[Callback] = [] if self.max_time is None else [TimeLimit(self.max_time)]
        with shown(self.verbose, self.max_iter * self.n_init, self.size, self.title) as display:
            for _ in range(self.n_init):
                log = Log(self, [*self.callbacks, *limits, *display])
                try:
                    start = begin(rng, log)
                    try:
                        found = self._passes(start, log)
                    finally:
                        start.passes.close()
                        start.passes = no_passes()  # a closed generator may keep what it had, also on a device
                        start.close()
                except KeyboardInterrupt:
                    if best is not None and self.keeps_last:  # an earlier start is whole
                        raise Interrupted(self.fitted(best.model, best.history), len(best.history)) from None
                    raise Interrupted(log.last, log.last_pass) from None
                if best is None or start.stopping.better(found.history, best.history):
                    best = found
        assert best is not None
        return best

    def _passes(self, start: Start[M], log: Log) -> Outcome[M]:
        """Passes until they are enough. Those that the history has already count as made."""
        log.workers = start.workers
        try:
            model, converged = run_passes(start.passes, start.stopping, log, start.schedule)
        except KeyboardInterrupt:
            if (now := start.interrupted()) is not None:
                raise Interrupted(self.fitted(now, log.history)) from None
            raise
        n_updates = len(log.history) * start.updates_per_pass
        return Outcome(start.ended(model), log.history, converged, n_updates)


@dataclass
class Log:
    """Where the passes of a start are recorded, as they happen."""

    course: Course[Any]
    callbacks: Sequence[Callback] = ()
    history: list[Record] = field(default_factory=list)
    workers: object = None
    last: Any = None  # what was fitted after the last pass that was copied, and its number
    last_pass: int = 0
    next_copy: float = 0.0

    def record(self, result: PassResult, moves: dict[str, float], phase: str = LEARNING) -> bool:
        """Adds a record and calls the callbacks; whether one of them ends the fit."""
        terms = result.model.bound(result.total)
        effort = {name: value for name, value in result.info.items() if isinstance(value, float)}
        n_pass, K = len(self.history) + 1, result.model.n_components
        status = self.workers.status() if isinstance(self.workers, Watched) else {}
        self.history.append(
            Record(n_pass, self.course.clock(), sum(terms.values()), K, terms, effort, moves, phase, status)
        )
        if self.course.keeps_last and phase not in SWEEPS:
            self._keep(result.model)
        view = PassView(result.model, lambda model: self.course.shown_as(self._fitted(model)))
        answers = [call(self.history[-1], view) for call in self.callbacks]  # all of them are called
        return any(answers)

    def _fitted(self, model: Any) -> Any:
        return self.course.fitted(model, self.history)

    def can_copy(self, model: Any) -> bool:
        """Whether a second model takes little memory."""
        return bool(model.n_components * self.course.n_features <= MOST_KEPT)

    def _keep(self, model: Any) -> None:
        """A copy of the model for a fit that Ctrl-C ends, unless it is large."""
        began = perf_counter()
        if not self.can_copy(model):
            self.last = None
        elif began >= self.next_copy:
            self.last, self.last_pass = self._fitted(model), len(self.history)
            took = perf_counter() - began
            self.next_copy = began + took / SHARE if took > FREE else 0.0


def run_passes(passes: Passes, stopping: Stopping, log: Log, schedule: Schedule = PLAIN) -> tuple[Any, bool]:
    """Runs a learner until it has converged; returns its model and whether it has. Where the passes of the history
    were enough, the model is None."""
    model = following = None
    history = log.history
    told = stopped = False
    converged = schedule.has_converged(history, stopping)
    while not (stopped or converged) and len(history) < stopping.max_iter:
        result = passes.send(following)
        model = result.model
        told |= log.record(result, schedule.moves(), schedule.phase)
        stopped = told and schedule.ends_here()
        converged = schedule.has_converged(history, stopping)
        is_last = stopped or converged or len(history) == stopping.max_iter
        following = schedule.after(result, is_last)
        schedule.keep(model, following, is_last)
    return model, converged


def warn_of_interrupt(n_pass: int | None) -> None:
    if n_pass:
        warnings.warn(INTERRUPTED.format(n_pass), UserWarning, stacklevel=5)
