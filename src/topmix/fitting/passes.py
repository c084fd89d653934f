"""The loop of a fit: a pass, its record, the callbacks, and whether there is another."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from topmix.engines import Watched
from topmix.fitting.history import LEARNING, Callback, Clock, Record, passes_made
from topmix.fitting.view import PassView
from topmix.learners import Passes, PassResult


@dataclass(frozen=True)
class Stopping:
    """When a fit is over."""

    max_iter: int
    least_gain: float  # a pass that changes the objective by less has converged
    direction: str = "rises"  # "falls" where it is minimised; "either" where priors move under it
    opening: int = 0  # first passes whose objective is another one
    before: float | None = None  # the objective at which the fit begins, where an earlier fit ended there

    def has_converged(self, history: Sequence[Record]) -> bool:
        if self.before is not None and len(history) == 1:  # either way: the data may be another
            return abs(history[0].objective - self.before) < self.least_gain
        if len(history) < self.opening + 2:
            return False
        gain = history[-1].objective - history[-2].objective
        return {"rises": gain, "falls": -gain, "either": abs(gain)}[self.direction] < self.least_gain


@dataclass
class Log:
    """Where passes are recorded. Records are appended as they happen, so an interrupted fit has its history too."""

    clock: Clock
    fitted: Callable[[Any], Any]  # model -> a fitted copy of the estimator
    callbacks: Iterable[Callback] = ()
    history: list[Record] = field(default_factory=list)
    workers: Any = None  # who compute

    def record(self, result: PassResult, moves: dict[str, float], phase: str = LEARNING) -> bool:
        """Adds a record and tells the callbacks; whether one of them ends the fit."""
        terms = result.model.bound(result.total)
        effort = {name: value for name, value in result.info.items() if isinstance(value, float)}
        n_pass, K = len(self.history) + 1, result.model.n_components
        status = self.workers.status() if isinstance(self.workers, Watched) else {}
        self.history.append(Record(n_pass, self.clock(), sum(terms.values()), K, terms, effort, moves, phase, status))
        view = PassView(result.model, self.fitted)
        answers = [call(self.history[-1], view) for call in self.callbacks]  # all of them are called
        return any(answers)


class Between:
    """What else happens between two passes. This one does nothing."""

    phase = LEARNING  # what the present pass does

    def moves(self) -> dict[str, float]:
        """Changes of the number of topics before the last pass, for its record."""
        return {}

    def has_converged(self, history: list[Record], stopping: Stopping) -> bool:
        return stopping.has_converged(history)

    def after(self, result: PassResult, is_last: bool) -> Any:
        """Another model for the next pass to start from, or None."""
        return None

    def keep(self, model: Any, following: Any, is_last: bool) -> None:
        """The pass is over: `following` is what `after` returned."""


def run_passes(passes: Passes, stopping: Stopping, log: Log, between: Between | None = None) -> tuple[Any, bool]:
    """Runs a learner until it has converged; returns its model and whether it has.

    Passes that the history has already count as made. Where they were enough, the model is None.
    """
    between = between or Between()
    model = following = None
    stopped, converged = False, between.has_converged(log.history, stopping)
    while not (stopped or converged) and passes_made(log.history) < stopping.max_iter:
        result = passes.send(following)
        model = result.model
        stopped = log.record(result, between.moves(), between.phase)
        converged = between.has_converged(log.history, stopping)
        is_last = stopped or converged or passes_made(log.history) == stopping.max_iter
        following = between.after(result, is_last)
        between.keep(model, following, is_last)
    return model, converged
