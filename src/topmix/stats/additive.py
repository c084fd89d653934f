"""Statistics that add, subtract and scale field by field."""

from __future__ import annotations

import copy
from dataclasses import fields
from typing import Self

import numpy as np

from topmix.stats.tree import plus


class Additive:
    """For dataclasses: arrays and numbers add, nested statistics add themselves."""

    def add(self, other: Self, weight: float = 1.0) -> Self:
        """self += weight * other, in place."""
        for f in fields(self):  # type: ignore[arg-type]
            mine, theirs = getattr(self, f.name), getattr(other, f.name)
            if isinstance(mine, np.ndarray):
                mine += weight * theirs
            elif isinstance(mine, float):
                setattr(self, f.name, mine + weight * theirs)
            else:
                mine.add(theirs, weight)
        return self

    def plus(self, other: Self) -> Self:
        """The sum, as a new value. Unlike `add` it also works for what shards report."""
        return type(self)(*(plus(getattr(self, f.name), getattr(other, f.name)) for f in fields(self)))  # type: ignore[arg-type]

    def scale(self, c: float) -> Self:
        """self *= c, in place."""
        for f in fields(self):  # type: ignore[arg-type]
            mine = getattr(self, f.name)
            if isinstance(mine, np.ndarray):
                mine *= c
            elif isinstance(mine, float):
                setattr(self, f.name, mine * c)
            else:
                mine.scale(c)
        return self

    @property
    def is_removable(self) -> bool:
        """Whether adding this to a total and subtracting it again leaves the bits that were there before."""
        return False

    @property
    def is_exact(self) -> bool:
        """Whether differences of these statistics have no rounding, so that no total needs to be summed again."""
        return False

    def copy(self) -> Self:
        return copy.deepcopy(self)

    def __iadd__(self, other: Self) -> Self:
        return self.add(other)

    def __isub__(self, other: Self) -> Self:
        return self.add(other, -1.0)

    def __add__(self, other: Self) -> Self:
        return self.copy().add(other)

    def __sub__(self, other: Self) -> Self:
        return self.copy().add(other, -1.0)

    def __mul__(self, c: float) -> Self:
        return self.copy().scale(c)

    __rmul__ = __mul__
