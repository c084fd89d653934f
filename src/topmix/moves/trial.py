"""Something that is being tried out: when it has shown whether it is better, and where to go back to if it is not."""

from __future__ import annotations

from dataclasses import dataclass, field

from topmix.local import Visited
from topmix.moves.documents import Documents
from topmix.moves.merge import Pair

TRIAL = 3  # passes: one while the seed fades, one to settle, one after merges
LONGEST = 15  # while it promises to pay


def promise(trace: list[float]) -> float:
    """What more passes would gain if the last gain was one of a geometric series."""
    if len(trace) < 3:
        return 0.0
    before, last = trace[-2] - trace[-3], trace[-1] - trace[-2]
    ratio = min(last / before, 0.9) if before > 0 else 0.9
    return last * ratio / (1.0 - ratio) if last > 0 else 0.0


@dataclass
class Trial:
    what: str
    before: Documents
    memory: dict[int, Visited]
    refused: set[Pair]
    pace: float  # what a pass gained before
    size: int | None = None  # which of the scouts' sizes it is, if that is what it is about
    trace: list[float] = field(default_factory=list)  # bounds of its passes

    @property
    def kind(self) -> str:
        return self.what.split()[0]

    def gain(self, here: Documents) -> float:
        return here.bound() - self.before.bound()

    def verdict(self, here: Documents, least: float, is_last: bool) -> bool | None:
        """Whether what is tried is better; None where it is too early to say. Fits that start anew are judged when they
        are equally old, other trials by what they promise as well. They have to gain more than the old topics would
        have by now at the pace they had, and more topics have to be worth a pass besides."""
        gain, age = self.gain(here), len(self.trace)
        if self.size is not None or is_last:
            return gain > 0
        if age < TRIAL:
            return None
        price = self.pace * age
        if here.model.n_components > self.before.model.n_components:
            price += least
        if gain > price:
            return True
        return None if gain + promise(self.trace) > price and age < LONGEST else False
