"""Exploration: sampling between the first passes of a fit and its last ones.

After about four passes documents stand still, because a topic that left a document cannot come back. Sampling lets it:
a token may have any topic of its document or, with weight alpha, of its word. Alpha starts high, so that topics which
hold the wrong documents together come apart, and falls to what lets documents have few topics again. Passes of the
fixed point then polish what was found. docs/evidence.md has the measurements.

What comes next is a function of the history alone, so a resumed fit continues as if it had never stopped.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

from topmix.fitting.history import EXPLORING, LEARNING, POLISHING, Record
from topmix.fitting.passes import Stopping
from topmix.models.document_options import DocumentOptions, Sampling

FIRST_PASSES = 4  # before exploration; fewer where they converge
LAST_PASSES = 2  # after it, at least
EXCHANGE_EVERY = 10  # sweeps
CONCENTRATION = 10.0, 0.5  # the sum of alpha in the first sweep and in the last


@dataclass(frozen=True)
class Exploration:
    sweeps: int
    seed: int
    max_time: float | None = None

    def next_phase(self, history: Sequence[Record], stopping: Stopping) -> str:
        """What the next pass does."""
        last = history[-1].phase if history else LEARNING
        n = sum(record.phase == last for record in history)
        if last == LEARNING:
            is_over = n >= FIRST_PASSES or stopping.has_converged(history)
            return EXPLORING if is_over and self._has_time(history) else LEARNING
        if last == EXPLORING:
            return EXPLORING if n < self.sweeps and self._has_time(history) else POLISHING
        return POLISHING

    def exchanges_now(self, phase: str, history: Sequence[Record]) -> bool:
        """Whether exchanges are tried before a pass of this phase."""
        n = sum(record.phase == EXPLORING for record in history)
        return phase == EXPLORING and n > 0 and n % EXCHANGE_EVERY == 0

    def options(self, plain: DocumentOptions, phase: str, history: Sequence[Record]) -> DocumentOptions:
        """How documents are solved in a pass of this phase."""
        if phase != EXPLORING:
            return plain
        n = sum(record.phase == EXPLORING for record in history)
        high, low = CONCENTRATION
        concentration = high * (low / high) ** (n / max(self.sweeps - 1, 1))
        return replace(plain, sampling=Sampling(concentration, n, self.seed))

    def has_converged(self, history: Sequence[Record], stopping: Stopping) -> bool:
        if not self._has_time(history) and all(record.phase == LEARNING for record in history):
            return stopping.has_converged(history)
        polished = [record for record in history if record.phase == POLISHING]
        return len(polished) >= LAST_PASSES and stopping.has_converged(polished)

    def _has_time(self, history: Sequence[Record]) -> bool:
        """Whether the last passes would still fit in after another sweep."""
        if self.max_time is None or not history:
            return True
        ends = [0.0, *(record.seconds for record in history)]
        took = [end - begin for begin, end in pairwise(ends)]
        passes = [t for t, record in zip(took, history) if record.phase == LEARNING]
        return ends[-1] + took[-1] + LAST_PASSES * max(passes) < self.max_time
