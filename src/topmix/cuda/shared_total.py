"""Counts of words in topics that workers of a cluster have on their GPUs, as the process that calls them has them.

Its counts are the truth, in whole numbers of 1 / unit, and every worker has a copy: counts that everybody began with,
and the changes of rounds since. So a round sends the sum of what its shards have changed, and not a table.
"""

from __future__ import annotations

import copy
import secrets
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

import numpy as np

from topmix.cuda.words import SMALLEST_FACTOR
from topmix.files.writer import Writer
from topmix.stats import PseudoCounts, WordStats, WordTotal


class Change(NamedTuple):
    """Of counts [V, K], in parts of a token."""

    places: np.ndarray  # of the flat counts
    values: np.ndarray  # integers


class RoundWords(NamedTuple):
    """The words' part of what shards of a round report. One of them has the changes of all."""

    totals: np.ndarray  # [K] float64, tokens of each topic
    changes: tuple[Change, ...] = ()
    sent: Any = None  # where workers find the changes: references

    def plus(self, other: RoundWords) -> RoundWords:
        assert not other.changes
        return self._replace(totals=self.totals + other.totals)


class Counts(NamedTuple):
    """Where the counts of a model come from: copies of the same token and version are the same."""

    token: str
    version: int  # of `base`
    base: Any  # a reference to counts [V, K], in tokens; None: all are zero
    changes: tuple[Any, ...]  # references to those that came after it, one for each version


class TotalElsewhere(NamedTuple):
    """What travels of a total besides its counts."""

    totals: np.ndarray
    factor: float
    pseudo: PseudoCounts | None
    pseudo_weight: float


class Ask(Protocol):
    def __call__(self, total: SharedTotal, what: str, /, *arguments: object) -> Any:
        """What a method of the counts on a device returns."""
        ...


@dataclass(slots=True)
class SharedTotal(WordTotal):
    unit: float = 1.0
    ask: Ask | None = None  # for what workers find faster, and with the bits of a device
    counts_: Counts | None = None  # how workers come by the counts; None: by all of them

    @classmethod
    def like(cls, total: WordTotal, unit: float, ask: Ask | None = None) -> SharedTotal:
        """The same counts, rounded as `DeviceWordTotal.of` does."""
        factor = total.factor if SMALLEST_FACTOR <= total.factor <= 1.0 else 1.0
        is_empty = not total.totals.any()
        raw = np.zeros(total.shape) if is_empty else np.rint(total.raw * (total.factor / factor * unit)) / unit
        made = cls(raw, total.totals.copy(), factor, total.pseudo, total.pseudo_weight, unit, ask)
        made.counts_ = Counts(secrets.token_hex(8), 0, None, ()) if is_empty else None
        return made

    @property
    def is_exact(self) -> bool:
        return True

    def empty(self) -> SharedTotal:
        none = WordTotal(np.broadcast_to(0.0, self.shape), np.zeros(self.shape[1]))
        return SharedTotal.like(none, self.unit, self.ask)

    def on_host(self) -> WordTotal:
        return WordTotal(self.held, self.totals, self.factor, self.pseudo, self.pseudo_weight)

    def elsewhere(self) -> TotalElsewhere:
        return TotalElsewhere(self.totals, self.factor, self.pseudo, self.pseudo_weight)

    def bound(self, posterior: str, eta: np.ndarray, extra: PseudoCounts | None) -> tuple[float, np.ndarray]:
        if self.ask is None:
            return WordTotal.bound(self, posterior, eta, extra)
        found: tuple[float, np.ndarray] = self.ask(self, "bound", posterior, eta, extra)
        return found

    def sum_of_digamma(self, eta: np.ndarray, extra: PseudoCounts | None) -> float:
        if self.ask is None:
            return WordTotal.sum_of_digamma(self, eta, extra)
        return float(self.ask(self, "sum_of_digamma", eta, extra))

    def __deepcopy__(self, memo: dict[int, object]) -> WordTotal:
        return copy.deepcopy(self.on_host(), memo)

    def write(self, out: Writer) -> None:
        self.on_host().write(out)

    def add(self, other: PseudoCounts | WordTotal | WordStats | RoundWords, weight: float = 1.0) -> SharedTotal:
        if isinstance(other, PseudoCounts):
            WordTotal.add(self, other, weight)
        elif isinstance(other, RoundWords):
            self._change(other, weight)
            self.totals += weight * other.totals
        else:
            self.counts_ = None
            if isinstance(other, WordTotal):  # rounded as on a device
                if isinstance(other, SharedTotal):
                    counts, factor = np.rint(other.raw * self.unit), other.factor / self.unit
                else:
                    counts, factor = np.rint(other.raw * (other.factor * self.unit)), 1.0 / self.unit
                self.raw += np.rint(counts * (weight * factor / self.factor * self.unit)) / self.unit
                self.totals += weight * other.totals
            else:
                WordTotal.add(self, other, weight)
        return self

    def _change(self, other: RoundWords, weight: float) -> None:
        if not other.changes:
            return
        counts, amount = self.raw.reshape(-1), weight / self.factor
        for places, values in other.changes:
            counts[places] += values * (amount / self.unit)
        if amount != 1.0:
            self.counts_ = None
        elif self.counts_ is not None:
            self.counts_ = self.counts_._replace(changes=(*self.counts_.changes, other.sent))

    def scale(self, c: float) -> SharedTotal:
        self.counts_ = None
        WordTotal.scale(self, c)
        return self
