"""What a method reached, and when: the one curve type of all benchmarks."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass, field
from typing import Any, Self

NEVER = float("inf")


@dataclass
class Curve:
    """Points of one run, in order of time, by column.

    A point has the seconds of training, the score (None where nobody evaluated), the number of passes over the data (a
    fraction in the middle of a pass), and whatever else was known there, by name.
    """

    name: str = ""
    seconds: list[float] = field(default_factory=list)
    score: list[float | None] = field(default_factory=list)
    n_pass: list[float | None] = field(default_factory=list)
    extras: dict[str, list[float | None]] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self.seconds)

    def add(
        self, seconds: float, score: float | None = None, n_pass: float | None = None, **extras: float | None
    ) -> None:
        """Appends one point."""
        n = len(self)
        self.seconds.append(float(seconds))
        self.score.append(_number(score))
        self.n_pass.append(_number(n_pass))
        for name in self.extras.keys() | extras.keys():
            self.extras.setdefault(name, [None] * n).append(_number(extras.get(name)))

    def amend(self, score: float, **extras: float | None) -> None:
        """Values of the last point that were not known when it was added."""
        self.score[-1] = _number(score)
        for name, value in extras.items():
            self.extras.setdefault(name, [None] * len(self))[-1] = _number(value)

    def column(self, name: str) -> list[float | None]:
        if name in ("score", "n_pass", "seconds"):
            return getattr(self, name)
        return self.extras.get(name, [None] * len(self))

    def series(self, of: str = "score", against: str = "seconds") -> list[tuple[float, float]]:
        """(seconds, value) of the points that have this value."""
        pairs = zip(self.column(against), self.column(of))
        return [(x, y) for x, y in pairs if x is not None and y is not None]

    def best(self, within: float = NEVER) -> float:
        """The highest score within some seconds; -inf if there was none yet."""
        return max((s for t, s in self.series() if t <= within), default=float("-inf"))

    def time_to(self, value: float, of: str = "score") -> float:
        """Seconds of the first point that has at least this value; inf if there is none."""
        return next((t for t, v in self.series(of) if v >= value), NEVER)

    def value_at(self, seconds: float, of: str = "score") -> float | None:
        """The last value within some seconds."""
        return next((v for t, v in reversed(self.series(of)) if t <= seconds), None)

    def last(self, of: str = "score") -> float:
        """The value of the last point that has one; NaN if there is none."""
        return next((v for _, v in reversed(self.series(of))), float("nan"))

    def pass_seconds(self) -> list[float]:
        """Seconds of each pass but the first, which has initialisation in it. One point per pass."""
        return [b - a for a, b in zip(self.seconds, self.seconds[1:])]

    def brief(self, most: int = 10, digits: int = 3) -> str:
        """Some of the points, in one line."""
        some = self.series()
        return "  ".join(f"{t:.1f}s {s:.{digits}f}" for t, s in some[:: max(1, len(some) // most)])

    def keep(self, points: list[int]) -> None:
        """Only these points stay."""
        for column in (self.seconds, self.score, self.n_pass, *self.extras.values()):
            column[:] = [column[i] for i in points]

    def to_dict(self) -> dict[str, Any]:
        """For JSON."""
        return asdict(self)

    @classmethod
    def from_dict(cls, values: dict[str, Any]) -> Self:
        return cls(**values)


def _number(value: float | None) -> float | None:
    """JSON has no NaN: a value that is none is None."""
    return None if value is None or math.isnan(value) else float(value)
