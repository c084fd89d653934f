"""How much a stream remembers, where it forgets by days: documents fade with their age, however many come on a day.

    f = 2^(-days / h),   W' = f W + n,   ρ = n / W'

W are the documents that the stream remembers, each worth what is left of it, and n those of a new batch. A step of this
size gives all of them their weight. The learner knows a half-life in documents, and one gives the same step:
1 - 2^(-n / half_life) = n / W'.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from datetime import date

import numpy as np

from topmix.data.columns import day_of

FIRST_DAY, LAST_DAY = (int(np.datetime64(day, "D").astype(np.int64)) for day in (date.min, date.max))
LEAST_LEFT = 1e-9  # of what was learned: a half-life is positive


@dataclass(frozen=True)
class Age:
    """Of what a stream has learned."""

    day: int | None = None  # of the last batch, since 1970
    remembered: float = 0.0  # W

    def after(self, day: int, n_docs: int, half_life: float) -> tuple[Age, float, float | None]:
        """Its age with a batch of this day; what is left of the past, f; and the half-life in documents for a step. A
        batch that is late counts as one of the last day."""
        newest = day if self.day is None else max(self.day, day)
        left = 1.0 if self.day is None else 0.5 ** ((newest - self.day) / half_life)
        remembered = left * self.remembered + n_docs
        if not self.remembered:
            return Age(newest, remembered), left, None
        past = max(1.0 - n_docs / remembered, LEAST_LEFT)
        return Age(newest, remembered), left, n_docs / -math.log2(past) if past < 1.0 else None


def day_number(date: object) -> int:
    """Days since 1970 of an ISO string, or a date of Python, pandas or NumPy."""
    day = day_of(date)
    if np.isnat(day):
        raise ValueError(
            f"a batch of a stream that forgets by days needs its date: learn(batch, date='2024-05-31'), not {date!r}"
        )
    return int(day.astype(np.int64))
