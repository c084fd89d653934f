"""Something that is being tried out: when it has shown whether it is better, and where to go back to if it is not.

Gains of passes fall like those of a geometric series, for what is tried as for what was there before. So what the old
topics would have by now is known, and so is what more passes promise to either.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import NamedTuple

from topmix.local import Visited
from topmix.search.documents import Documents
from topmix.search.merge import Pair

TRIAL = 3  # passes: one while the seed fades, one to settle, one after merges
LONGEST = 15  # while it promises to pay
RATIOS = (0.75, 0.9)  # of a pass's gain to the one before; it may fall faster at first, but not for long


class Pace(NamedTuple):
    """What a pass gained, and what part of it the next one will."""

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
    memory: dict[int, Visited]
    refused: set[Pair]
    old: Pace  # before
    size: int | None = None  # which of the scouts' sizes it is, if that is what it is about
    pace: Pace = field(default_factory=Pace)
    age: int = 0  # passes
    last: float = -math.inf  # bound

    @property
    def kind(self) -> str:
        return self.what.split()[0]

    def passed(self, bound: float) -> None:
        """Another pass; `last` is then to be what merges made of it."""
        if self.age:
            self.pace = self.pace.after(bound - self.last)
        self.age, self.last = self.age + 1, bound

    def gain(self, here: Documents) -> float:
        return here.bound() - self.before.bound()

    def worth(self, here: Documents) -> float:
        """What it promises to have gained in the end over what the old topics promised."""
        return self.gain(here) + self.pace.promise() - self.old.promise()

    def verdict(self, here: Documents, is_last: bool) -> bool | None:
        """Whether what is tried is better; None where it is too early to say. Fits that start anew are judged when they
        are equally old, other trials when they are ahead of the old topics, or do not promise to be any more."""
        if self.size is not None or is_last:
            return self.gain(here) > 0
        if self.age < TRIAL:
            return None
        if self.gain(here) > self.old.promise(self.age):
            return True
        return None if self.worth(here) > 0 and self.age < LONGEST else False
