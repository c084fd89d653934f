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


class Clock:
    """Seconds since it was made."""

    def __init__(self) -> None:
        self.start = time.perf_counter()

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
) -> tuple[Any, Any, bool]:
    """Runs a learner until a pass lifts the objective by less than tol * scale; returns (model, total, converged).

    Records are appended to `history` as they happen, so an interrupted fit has its history too. A callback that returns
    a true value ends the fit after the pass. `between` may return another model for the next pass to start from.
    """
    callbacks = list(callbacks)
    model = total = instead = None
    for _ in range(max_iter):
        model, total = learner.send(instead)
        terms = model.bound(total)
        record = Record(len(history) + 1, clock(), sum(terms.values()), model.n_components, terms, effort())
        gain = record.objective - history[-1].objective if history else float("inf")
        history.append(record)
        stop = [bool(call(record, model)) for call in callbacks]
        if gain < tol * scale:
            return model, total, True
        if any(stop):
            break
        instead = between(model, total)
    return model, total, False
