"""What happened during a fit: one record per pass."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field, fields
from typing import Any, Self

from topmix.files.reader import CheckedReader, ModelFileError
from topmix.fitting.view import PassView

# What a pass does: learn by the fixed point, sample topics of tokens, sample effects of covariates too, learn again
# from what sampling found, learn versions of topics, or learn from responses of documents too.
LEARNING, SAMPLING, DRAWING, POLISHING, VERSIONS, RESPONDING = PHASES = (
    "learning",
    "sampling",
    "drawing",
    "polishing",
    "versions",
    "responding",
)
SWEEPS = (SAMPLING, DRAWING)


@dataclass(frozen=True, slots=True)
class Record:
    """One pass over the data."""

    n_pass: int
    seconds: float  # since the fit began, initialisation counted
    objective: float
    n_components: int
    terms: dict[str, float] = field(default_factory=dict)  # the objective, term by term
    effort: dict[str, float] = field(default_factory=dict)  # iterations and the like, as the local step counts them
    moves: dict[str, float] = field(default_factory=dict)  # changes of the number of topics before it, with their gain
    phase: str = LEARNING
    workers: dict[str, float] = field(default_factory=dict)  # how those of a cluster are: engines/engine.py: Watched

    def to_dict(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def from_dict(cls, values: dict[str, Any]) -> Self:
        """What `to_dict` gave, perhaps of a later version with more fields. Raises ValueError or TypeError."""
        known = {f.name: values[f.name] for f in fields(cls) if f.name in values}
        tables = {f.name for f in fields(cls) if f.default_factory is dict}
        if known.pop("phase", LEARNING) not in PHASES:
            raise ValueError(f"phase of a record cannot be {str(values['phase'])[:60]}")
        for name, value in known.items():
            if isinstance(value, dict) != (name in tables):
                raise ValueError(f"{name} of a record cannot be {str(value)[:60]}")
            if not all(isinstance(number, int | float) for number in (value.values() if name in tables else [value])):
                raise ValueError(f"{name} of a record cannot be {str(value)[:60]}")
        return cls(**known, phase=values.get("phase", LEARNING))


def passes_of(history: Sequence[Record]) -> str:
    """How many passes were made, in words: "9 passes and 150 sampling sweeps"."""
    n_sweeps = sum(record.phase == SAMPLING for record in history)
    n_passes = len(history) - n_sweeps
    said = f"{n_passes} pass{'es' if n_passes != 1 else ''}"
    return f"{said} and {n_sweeps} sampling sweep{'s' if n_sweeps != 1 else ''}" if n_sweeps else said


Callback = Callable[[Record, PassView], bool | None]  # a true value ends the fit after the pass


class TimeLimit:
    """A callback that ends the fit when another pass like the last would take too long."""

    def __init__(self, limit: float):
        self.limit, self.last, self.reached = limit, 0.0, False

    def __call__(self, record: Record, view: PassView) -> bool:
        before = self.last if 0 < self.last <= record.seconds else 0.0  # another fit has begun
        if not before:  # a pass took as long as those before it, which a checkpoint may have
            before = record.seconds * (1 - 1 / record.n_pass)
        took, self.last = record.seconds - before, record.seconds
        self.reached = record.seconds + took > self.limit
        return self.reached


class Clock:
    """Seconds since it was made, plus those that were spent before."""

    def __init__(self, spent: float = 0.0) -> None:
        self.start = time.perf_counter() - spent

    def __call__(self) -> float:
        return time.perf_counter() - self.start


def read_history(file: CheckedReader) -> list[Record]:
    """The records in a model file or a checkpoint."""
    try:
        return [Record.from_dict(record) for record in file.items("history")]
    except (TypeError, ValueError) as error:
        raise ModelFileError(f"the history makes no sense: {error}") from error
