"""Sampling between the first passes of a fit and its last ones.

After about four passes documents stand still, because a topic that left a document cannot come back. Sampling lets it:
a token may have any topic of its document or, with weight alpha, of its word. Alpha starts high, so that topics which
hold the wrong documents together come apart, and falls to what lets documents have few topics again. Passes of the
fixed point then polish what was found. docs/evidence.md has the measurements.

Sampling is the same learner with another option: the options of documents that travel with the tables ask for it, and
the local step returns the same statistics. What comes next is a function of the history alone, so a resumed fit
continues as if it had never stopped.

Sampling moves tokens one at a time, and cannot leave a state where one topic of the data is held twice and two others
lie in one. Between sweeps, topics are therefore exchanged: two become one, and another becomes two. chains/exchange.py
finds such exchanges and judges them exactly; here the topics of tokens are gathered from the shards and dealt back.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

import numpy as np

from topmix.chains.exchange import exchange
from topmix.chains.hard_topics import HardTopics
from topmix.data.corpus import Corpus
from topmix.data.shard import Batches
from topmix.files.reader import ModelFileError
from topmix.fitting.checkpoint import Progress
from topmix.fitting.history import LEARNING, POLISHING, SAMPLING, Record
from topmix.fitting.loop import Stopping
from topmix.fitting.plain import Plain
from topmix.learners import PassResult
from topmix.models.document_options import DocumentOptions, Sampling
from topmix.models.topics import TopicModel
from topmix.stats import WordTotal

FIRST_PASSES = 4  # before sampling; fewer where they converge
LAST_PASSES = 2  # after it, at least
EXCHANGE_EVERY = 10  # sweeps
CONCENTRATION = 10.0, 0.5  # the sum of alpha in the first sweep and in the last
MOST_TOKENS = 10_000_000  # of a corpus: topics of tokens come together in one place
PENALTY = 8.0  # for a topic that a document uses, in nats
# Nats per token that a split must gain: two subjects in one topic gain .3 to .4 (planted ones), the halves of a large
# topic of filler words .04 to .21 (kos), and a reader has nothing from two of those.
DIFFERENCE = 0.25


@dataclass(frozen=True)
class SamplingPlan:
    """Which pass is a sweep, and at which concentration."""

    sweeps: int
    seed: int
    max_time: float | None = None

    def next_phase(self, history: Sequence[Record], stopping: Stopping) -> str:
        """What the next pass does."""
        last = history[-1].phase if history else LEARNING
        n = sum(record.phase == last for record in history)
        if last == LEARNING:
            is_over = n >= FIRST_PASSES or stopping.has_converged(history)
            return SAMPLING if is_over and self._has_time(history) else LEARNING
        if last == SAMPLING:
            return SAMPLING if n < self.sweeps and self._has_time(history) else POLISHING
        return POLISHING

    def exchanges_now(self, phase: str, history: Sequence[Record]) -> bool:
        """Whether exchanges are tried before a pass of this phase."""
        n = sum(record.phase == SAMPLING for record in history)
        return phase == SAMPLING and n > 0 and n % EXCHANGE_EVERY == 0

    def options(self, plain: DocumentOptions, phase: str, history: Sequence[Record]) -> DocumentOptions:
        """How documents are solved in a pass of this phase."""
        if phase != SAMPLING:
            return plain
        n = sum(record.phase == SAMPLING for record in history)
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


class SamplingSchedule(Plain):
    """The schedule of a fit with sweeps."""

    def __init__(self, *plain: Any, plan: SamplingPlan, batches: Batches, stopping: Stopping) -> None:
        super().__init__(*plain)
        self.plan, self.batches, self.stopping = plan, batches, stopping
        self.phase = LEARNING

    def has_converged(self, history: Sequence[Record], stopping: Stopping) -> bool:
        return self.plan.has_converged(history, stopping)

    def after(self, result: PassResult, is_last: bool) -> TopicModel | None:
        following = super().after(result, is_last)
        return following if is_last else self._in_next_phase(following or result.model)

    def keep(self, model: TopicModel, following: TopicModel | None, is_last: bool) -> None:
        super().keep(model, following, is_last)
        if not is_last:
            self._exchange()  # after the checkpoint: a resumed fit makes it again

    def resume(self, found: Progress, model: TopicModel) -> TopicModel:
        model = self._in_next_phase(super().resume(found, model))
        self._exchange()
        return model

    def _in_next_phase(self, model: TopicModel) -> TopicModel:
        """The model with the options of documents that the next pass has."""
        history, plain = self.log.history, self.problem.empty.document_options
        self.phase = self.plan.next_phase(history, self.stopping)
        return replace(model, document_options=self.plan.options(plain, self.phase, history))

    def _exchange(self) -> None:
        """Topics of tokens after exchanges, where one pays; their counts fade into what the next sweep finds."""
        p, history, paused = self.problem, self.log.history, self.paused
        if not self.plan.exchanges_now(self.phase, history) or p.corpus.n_tokens > MOST_TOKENS or not p.learner.fades:
            return
        rng, memory = np.random.default_rng([self.plan.seed, len(history)]), paused.memory
        z = {b: visit.z for b, visit in memory.items() if visit.z is not None}
        if len(z) != paused.workers.n_shards:
            raise ModelFileError("the checkpoint lacks topics of tokens")
        found = exchanged(p.corpus, self.batches, z, p.empty.n_components, rng, p.threads)
        if found is None:
            return
        counts, z = found
        paused.restore({b: visit._replace(z=z[b]) for b, visit in memory.items()})
        paused.start_over(p.empty.prior.no_stats(WordTotal.of(counts)))


def exchanged(
    corpus: Corpus, batches: Batches, z: Mapping[int, np.ndarray], K: int, rng: np.random.Generator, threads: int
) -> tuple[np.ndarray, dict[int, np.ndarray]] | None:
    """Counts [V, K] and the tokens' topics of each shard after exchanges, or None where none pays."""
    hard = HardTopics(corpus, K, PENALTY, threads)
    first = first_tokens(corpus)
    places = [tokens_of(first, rows) for rows in batches]
    topics = np.empty(hard.n_tokens, np.uint16)
    for b, where in enumerate(places):
        topics[where] = z[b]
    hard.start(topics)
    if exchange(hard, rng, DIFFERENCE) == 0.0:
        return None
    return hard.word.astype(np.float64), {b: hard.z[where] for b, where in enumerate(places)}


def first_tokens(corpus: Corpus) -> np.ndarray:
    """[documents + 1] where the tokens of each document begin."""
    return np.concatenate([[0], np.cumsum(corpus.value, dtype=np.float64)]).astype(np.int64)[corpus.indptr]


def tokens_of(first: np.ndarray, rows: slice | np.ndarray) -> np.ndarray:
    """Where the tokens of these rows lie among all, in their order."""
    begin, length = first[:-1][rows], np.diff(first)[rows]
    return np.repeat(begin - np.concatenate([[0], np.cumsum(length)[:-1]]), length) + np.arange(length.sum())
