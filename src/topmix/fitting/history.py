"""What happened during a fit: one record a pass, and the loop that makes them."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass, field, fields
from typing import Any, Self

from topmix.learners.learner import Passes


@dataclass(frozen=True, slots=True)
class Record:
    """One pass over the data."""

    n_pass: int
    seconds: float  # since the fit began, initialisation counted
    objective: float
    n_components: int
    terms: dict[str, float] = field(default_factory=dict)  # the objective, term by term
    effort: dict[str, float] = field(default_factory=dict)  # what the pass cost, as the local step counts it
    moves: dict[str, float] = field(default_factory=dict)  # what was done to the topics before it, and what that gained

    def to_dict(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def from_dict(cls, values: dict[str, Any]) -> Self:
        """What `to_dict` gave, perhaps of a later version that says more. Raises ValueError or TypeError."""
        known = {f.name: values[f.name] for f in fields(cls) if f.name in values}
        tables = {f.name for f in fields(cls) if f.default_factory is dict}
        for name, value in known.items():
            if isinstance(value, dict) != (name in tables):
                raise ValueError(f"{name} of a record cannot be {str(value)[:60]}")
            if not all(isinstance(number, int | float) for number in (value.values() if name in tables else [value])):
                raise ValueError(f"{name} of a record cannot be {str(value)[:60]}")
        return cls(**known)


Callback = Callable[[Record, Any], bool | None]


class TimeLimit:
    """A callback that ends the fit when another pass like the last would take too long."""

    def __init__(self, limit: float):
        self.limit, self.last, self.reached = limit, 0.0, False

    def __call__(self, record: Record, model: Any) -> bool:
        took, self.last = record.seconds - self.last, record.seconds
        self.reached = record.seconds + took > self.limit
        return self.reached


class Clock:
    """Seconds since it was made, after those that were spent before."""

    def __init__(self, spent: float = 0.0) -> None:
        self.start = time.perf_counter() - spent

    def __call__(self) -> float:
        return time.perf_counter() - self.start


def passes(
    learner: Passes,
    *,
    max_iter: int,
    tol: float,
    scale: float,
    clock: Clock,
    history: list[Record],
    callbacks: Iterable[Callback] = (),
    between: Callable[[Any, Any], Any] = lambda model, total: None,
    effort: Callable[[], dict[str, float]] = dict,
    keep: Callable[[Any, Any, bool], None] = lambda model, following, is_last: None,
    may_fall: bool = False,
    falls: bool = False,
    moves: Callable[[], dict[str, float]] = dict,
    settled: Callable[[], bool] | None = None,
) -> tuple[Any, Any, bool]:
    """Runs a learner until a pass lifts the objective by less than tol * scale; returns (model, total, converged).

    Records are appended to `history` as they happen, so an interrupted fit has its history too; passes that it has
    already count as made, and where they were enough the model is None. A callback that returns a true value ends the
    fit after the pass. `between` may return another model for the next pass to start from. `keep` is told of each pass
    when it is over: the model, the one that `between` made, and whether it was the last. Where the objective `may_fall`
    because priors move under it, only a small change ends the fit, not a fall. One that `falls` is to be minimised.
    Where `between` makes `moves`, it knows better when all is `settled`.
    """
    callbacks = list(callbacks)
    model = total = following = None
    stopped, converged = False, settled is None and _has_converged(history, tol * scale, may_fall, falls)
    while not (stopped or converged) and len(history) < max_iter:
        model, total = learner.send(following)
        terms = model.bound(total)
        n_pass, K = len(history) + 1, model.n_components
        history.append(Record(n_pass, clock(), sum(terms.values()), K, terms, effort(), moves()))
        answers = [call(history[-1], model) for call in callbacks]  # all of them are asked
        stopped = any(answers)
        converged = settled() if settled else _has_converged(history, tol * scale, may_fall, falls)
        following = between(model, total)
        keep(model, following, stopped or converged or len(history) == max_iter)
    return model, total, converged


def _has_converged(history: list[Record], least: float, may_fall: bool, falls: bool) -> bool:
    if len(history) < 2:
        return False
    gain = history[-1].objective - history[-2].objective
    return (abs(gain) if may_fall else -gain if falls else gain) < least
