"""A trial of other topics: when it has shown whether they are better, and the state to go back to if they are not.

Gains of passes fall like those of a geometric series, for what is tried as for what was there before. So what the old
topics would have by now is known, and so is what more passes promise to either.

The way back costs nothing: statistics of shards are values, so the state before a trial is a few references.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import NamedTuple

from topmix.local.topics import Visit
from topmix.search.documents import Documents
from topmix.search.merge import Pair

TRIAL = 3  # passes: one while pseudo-counts fade, one to settle, one after mergers
LONGEST = 15  # while it promises to pay
RATIOS = (0.75, 0.9)  # of the gain of one pass to that of the pass before; gains fall faster only at first


class Pace(NamedTuple):
    """The gain of a pass, and the ratio of the next gain to it."""

    gain: float = 0.0
    ratio: float = RATIOS[0]

    def after(self, gain: float) -> Pace:
        """Another pass, and what it gained."""
        gain = max(gain, 0.0)
        ratio = gain / self.gain if self.gain > 0 else RATIOS[1]
        return Pace(gain, min(max(ratio, RATIOS[0]), RATIOS[1]))

    def promise(self, n_passes: float = math.inf) -> float:
        """What so many more passes would gain."""
        return self.gain * self.ratio * (1.0 - self.ratio**n_passes) / (1.0 - self.ratio)


@dataclass
class Trial:
    what: str
    before: Documents
    memory: dict[int, Visit]
    refused: set[Pair]
    old: Pace  # before
    size: int | None = None  # which of the sizes is tried, if the trial is of a size
    pace: Pace = field(default_factory=Pace)
    age: int = 0  # passes
    last: float = -math.inf  # bound

    @property
    def kind(self) -> str:
        return self.what.split()[0]

    def passed(self, bound: float) -> None:
        """Another pass; `last` is then to be the bound after mergers."""
        if self.age:
            self.pace = self.pace.after(bound - self.last)
        self.age, self.last = self.age + 1, bound

    def gain(self, here: Documents) -> float:
        return here.bound() - self.before.bound()

    def worth(self, here: Documents) -> float:
        """What it promises to have gained in the end over what the old topics promised."""
        return self.gain(here) + self.pace.promise() - self.old.promise()

    def verdict(self, here: Documents, is_last: bool) -> bool | None:
        """Whether the topics on trial are better; None where it is too early to say. Fits of another size are judged
        when they are equally old. Other trials are judged when they are better than the old topics, or no longer
        promise to be."""
        if self.size is not None or is_last:
            return self.gain(here) > 0
        if self.age < TRIAL:
            return None
        if self.gain(here) > self.old.promise(self.age):
            return True
        return None if self.worth(here) > 0 and self.age < LONGEST else False
