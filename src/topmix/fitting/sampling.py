"""Sampling between the first passes of a fit and its last ones.

After about four passes documents stand still, because a topic that left a document cannot come back. Sampling lets it:
a token may have any topic of its document or, with weight alpha, of its word. Alpha starts high, so that topics which
hold the wrong documents together come apart, and falls to what lets documents have few topics again. Passes of the
fixed point then polish what was found. docs/evidence.md has the measurements.

A fit never ends in the middle of it: alpha falls faster where `max_time` asks for it, a callback that ends the fit ends
the sampling, which a pass then polishes, and Ctrl-C leaves the model from before. If what was found is worse than that
model, the fit goes back to it.

The first sweep is the same learner with another option: the options of documents that travel with the tables ask for
it, and the local step returns the same statistics. Where the topics of all tokens fit into one place, they are then
gathered from the shards, the sweeps are those of a Markov chain (chains/gibbs.py), which have half the work because
their tables are the counts, and at the end what was found is dealt back to the shards. Larger corpora sample in their
shards. Which it is depends on the data, never on the engine. What comes next is a function of the history alone, so a
resumed fit continues as if it had never stopped.

Sampling moves tokens one at a time, and cannot leave a state where one topic of the data is held twice and two others
lie in one. When it has nearly settled, topics are therefore exchanged: two become one, and another becomes two, and
again until none pays. chains/exchange.py finds such exchanges and judges them exactly.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np

from topmix.allocations.covariate_prior import CovariatePrior
from topmix.allocations.doc_topics import places
from topmix.allocations.document_prior import DocumentPrior
from topmix.chains.exchange import exchanged
from topmix.chains.gibbs import Chain
from topmix.chains.gibbs_cuda import CudaChain
from topmix.data.shard import Batches
from topmix.files.reader import ModelFileError
from topmix.fitting.checkpoint import Progress
from topmix.fitting.history import DRAWING, LEARNING, POLISHING, SAMPLING, SWEEPS, Record
from topmix.fitting.loop import Stopping
from topmix.fitting.plain import SWEEPS_PER_PASS, Plain
from topmix.learners import Passes, PassResult
from topmix.local.topics import Visit
from topmix.models.document_options import DocumentOptions, Sampling
from topmix.models.topics import TopicModel
from topmix.stats import TopicStats, WordTotal

FIRST_PASSES = 4  # before sampling; fewer where they converge
LAST_PASSES = 2  # after it, at least
LEAST_SWEEPS = 20  # fewer, for want of time, are not worth it
FIRST_EXCHANGE = 2 / 3  # of the sweeps: topics have nearly settled
EXCHANGE_EVERY = 10  # sweeps, as long as the last exchange found something
LEARN_EVERY = 10  # sweeps between two updates of priors that are learned
EXCHANGE = "exchange"  # among the moves of a record: what was gained before that sweep, zero where none paid
CONCENTRATION = 30.0, 0.5  # the sum of alpha in the first sweep and in the last
MOST_TOKENS = 10_000_000  # of a corpus whose topics of tokens come together in one place


@dataclass(frozen=True)
class SamplingPlan:
    """Which pass is a sweep, and at which concentration."""

    sweeps: int
    seed: int
    max_time: float | None = None
    draws: int = 0  # sweeps after them, in which effects of covariates are drawn too

    def next_phase(self, history: Sequence[Record], stopping: Stopping) -> str:
        """What the next pass does."""
        last = history[-1].phase if history else LEARNING
        if last == LEARNING:
            is_over = len(history) >= FIRST_PASSES or stopping.has_converged(history)
            return SAMPLING if is_over and self._has_time_to_sample(history) else LEARNING
        if last == SAMPLING:
            n = sum(record.phase == SAMPLING for record in history)
            if n < self.sweeps and self.share(history) <= 1:
                return SAMPLING
            return DRAWING if self.draws and self._has_time_to_draw(history) else POLISHING
        if last == DRAWING:
            n = sum(record.phase == DRAWING for record in history)
            return DRAWING if n < self.draws and self._has_time_to_draw(history) else POLISHING
        return POLISHING

    def share(self, history: Sequence[Record]) -> float:
        """Where the next sweep stands: 0 is the first and 1 the last, by number or, with `max_time`, by the clock; more
        than 1 when there is no time for it."""
        begin = [record.seconds for record in history if record.phase == LEARNING]
        n, last = len(history) - len(begin), max(self.sweeps - 1, 1)
        if self.max_time is None or n == 0:
            return n / last
        spent, left = history[-1].seconds - begin[-1], self.max_time - _polishing(history) - begin[-1]
        return max(n / last, spent / max(left - spent / n, 1e-9))

    def exchanges_now(self, phase: str, history: Sequence[Record]) -> bool:
        """Whether exchanges are tried before a pass of this phase."""
        if phase != SAMPLING or history[-1].phase != SAMPLING:
            return False
        tried = [record for record in history if EXCHANGE in record.moves]
        if not tried:
            return self.share(history) >= FIRST_EXCHANGE
        return tried[-1].moves[EXCHANGE] > 0 and len(history) == tried[-1].n_pass + EXCHANGE_EVERY - 1

    def options(self, plain: DocumentOptions, phase: str, history: Sequence[Record]) -> DocumentOptions:
        """How documents are solved in a pass of this phase."""
        if phase not in SWEEPS:
            return plain
        n = sum(record.phase in SWEEPS for record in history)
        if phase == DRAWING:
            return replace(plain, sampling=Sampling(None, n, self.seed))
        high, low = CONCENTRATION
        return replace(plain, sampling=Sampling(high * (low / high) ** self.share(history), n, self.seed))

    def has_converged(self, history: Sequence[Record], stopping: Stopping) -> bool:
        if all(record.phase == LEARNING for record in history) and not self._has_time_to_sample(history):
            return stopping.has_converged(history)
        polished = [record for record in history if record.phase == POLISHING]
        return len(polished) >= LAST_PASSES and stopping.has_converged(polished)

    def _has_time_to_draw(self, history: Sequence[Record]) -> bool:
        return self.max_time is None or history[-1].seconds + _polishing(history) < self.max_time

    def _has_time_to_sample(self, history: Sequence[Record]) -> bool:
        """A sweep takes about half as long as a pass."""
        if self.max_time is None or not history:
            return True
        sampling = min(LEAST_SWEEPS, self.sweeps) * history[-1].seconds / (2 * len(history))
        return history[-1].seconds + sampling + _polishing(history) < self.max_time


def _polishing(history: Sequence[Record]) -> float:
    """Seconds that the last passes will take."""
    ends = [0.0, *(record.seconds for record in history if record.phase == LEARNING)]
    return LAST_PASSES * max(end - begin for begin, end in pairwise(ends))


class SamplingSchedule(Plain):
    """The schedule of a fit with sweeps."""

    def __init__(self, *plain: Any, plan: SamplingPlan, batches: Batches, stopping: Stopping) -> None:
        super().__init__(*plain)
        self.plan, self.batches, self.stopping = plan, batches, stopping
        self.phase = LEARNING
        self.is_told_to_end = False
        self.before: TopicModel | None = None  # the model that sampling began with, unless it is large
        self.model: TopicModel = self.problem.empty  # of the next pass
        self.chain: Chain | None = None  # where sweeps are made in one place
        self.exchanged: dict[str, float] = {}  # since the last pass

    def passes(self, model: TopicModel, learn: Callable[[TopicModel], Passes]) -> Passes:
        """Those of the learner, and sweeps of the chain while there is one."""
        learning: Passes | None = None
        following: TopicModel | None = model
        try:
            while True:
                if self.chain is not None:
                    result = self._sweep(self.chain)
                elif learning is None:
                    assert following is not None
                    result = next(learning := learn(following))
                else:
                    result = learning.send(following)
                following = yield result
        finally:
            if learning is not None:
                learning.close()

    def moves(self) -> dict[str, float]:
        made, self.exchanged = self.exchanged, {}
        return made

    def ends_here(self) -> bool:
        self.is_told_to_end = True
        return self.phase not in SWEEPS

    def has_converged(self, history: Sequence[Record], stopping: Stopping) -> bool:
        return self.plan.has_converged(history, stopping)

    def after(self, result: PassResult, is_last: bool) -> TopicModel | None:
        if self.chain is not None:
            if self.chain.sweeps % LEARN_EVERY == 0:
                self.chain.relearn()
            words = replace(self.model.words, eta=self.chain.words.eta)
            return self._in_next_phase(replace(self.model, prior=self.chain.prior, words=words))
        following = super().after(result, is_last)
        if is_last:
            return following
        was, following = self.phase, self._in_next_phase(following or result.model)
        if was == LEARNING != self.phase and self.log.can_copy(result.model):
            self.before = copy.deepcopy(result.model.on_host())
        return following

    def ended(self, model: TopicModel) -> TopicModel:
        """The model of the last pass, or the one that sampling began with if that was better."""
        history = self.log.history
        learned = [record for record in history if record.phase == LEARNING]
        if self.before is None or not learned or history[-1].objective >= learned[-1].objective:
            return model
        back = {f"back to pass {learned[-1].n_pass}": learned[-1].objective - history[-1].objective}
        history[-1] = replace(
            learned[-1], n_pass=len(history), seconds=history[-1].seconds, moves=back, phase=history[-1].phase
        )
        return self.before

    def keep(self, model: TopicModel, following: TopicModel | None, is_last: bool) -> None:
        if self.chain is not None and self.is_due(is_last):
            self._deal(self.chain)
            self.paused.state.total = self._counts(self.chain)
            model = self.model
        super().keep(model, following, is_last)
        if not is_last:
            self._continue()  # after the checkpoint: a resumed fit makes it again

    def resume(self, found: Progress, model: TopicModel) -> TopicModel:
        model = self._in_next_phase(super().resume(found, model))
        self._continue()
        return model

    def _in_next_phase(self, model: TopicModel) -> TopicModel:
        """The model with the options of documents that the next pass has."""
        history, plain = self.log.history, self.problem.empty.document_options
        ends = self.is_told_to_end and self.phase in SWEEPS
        self.phase = POLISHING if ends else self.plan.next_phase(history, self.stopping)
        prior, population = model.prior, self.problem.population
        if isinstance(prior, CovariatePrior) and population is not None:
            if self.phase == DRAWING:
                model = replace(model, prior=replace(prior, is_curved=True))
            elif prior.is_curved:
                model = replace(model, prior=prior.settled(population))
        self.model = replace(model, document_options=self.plan.options(plain, self.phase, history))
        return self.model

    def _relearned(self, model: TopicModel, total: TopicStats) -> TopicModel | None:
        """Effects of covariates follow the first passes, and every tenth sweep; then they are drawn, and their mean is
        what the last passes have."""
        prior, population, n = model.prior, self.problem.population, len(self.log.history)
        if not isinstance(prior, CovariatePrior) or population is None or self.phase == LEARNING:
            return super()._relearned(model, total)
        if self.phase == SAMPLING:
            if n % SWEEPS_PER_PASS == 0:
                prior = prior.relearn(total, population)
        elif self.phase == DRAWING:
            prior = prior.drawn(total, population, np.random.default_rng([self.plan.seed, n]))
        return replace(model, prior=prior, words=model.words.relearn() if model.words.learned else model.words)

    def _continue(self) -> None:
        """What is due between the last pass and the next one."""
        p, history = self.problem, self.log.history
        in_shards = p.corpus.n_tokens > MOST_TOKENS or type(p.empty.prior) is not DocumentPrior or not p.learner.fades
        if history[-1].phase != SAMPLING or in_shards:
            return
        chain = self.chain = self.chain or self._gathered()
        if self.phase != SAMPLING:
            self._deal(chain)
            self.chain = None
        elif self.plan.exchanges_now(self.phase, history) and not self.model.words.is_told:
            rng = np.random.default_rng([self.plan.seed, len(history)])
            self.exchanged = {EXCHANGE: exchanged(chain, p.corpus, rng)}

    def _gathered(self) -> Chain:
        """The chain that continues from the topics of the shards' tokens."""
        p, memory = self.problem, self.paused.memory
        z = np.empty(int(p.corpus.n_tokens), np.uint16)
        for rows, visit in zip(self.batches, (memory[b] for b in range(self.paused.workers.n_shards))):
            if visit.z is None:
                raise ModelFileError("the checkpoint lacks topics of tokens")
            z[places(self.first, rows)] = visit.z
        prior, words, device = self.model.prior, self.model.words, p.engine.opened()
        assert isinstance(prior, DocumentPrior)
        words = words.update(WordTotal.zeros(*words.shape))
        n_sweeps = sum(record.phase == SAMPLING for record in self.log.history)
        settings: dict[str, Any] = {"seed": self.plan.seed, "threads": p.threads, "sweeps": n_sweeps}
        chain: Chain
        if device is None:
            chain = Chain(p.corpus, prior, words, sampler="parallel", **settings)
        else:
            chain = CudaChain(p.corpus, prior, words, device, **settings)
        chain.start(z)
        return chain

    def _sweep(self, chain: Chain) -> PassResult:
        sampling = self.model.document_options.sampling
        assert sampling is not None
        chain.sweep(chain.prior.alpha * (sampling.concentration / chain.prior.alpha.sum()))
        return PassResult(chain, None, {})

    def _deal(self, chain: Chain) -> None:
        """Shards and learner get what the chain has found."""
        docs, z = chain.topics(), chain.z
        self.paused.restore(
            {b: Visit(0, docs.of(rows), z[places(self.first, rows)]) for b, rows in enumerate(self.batches)}
        )
        self.paused.start_over(self._counts(chain))

    def _counts(self, chain: Chain) -> TopicStats:
        return chain.prior.no_stats(WordTotal.of(chain.word.astype(np.float64)))

    @cached_property
    def first(self) -> np.ndarray:
        """[documents + 1] where the tokens of each document begin."""
        corpus = self.problem.corpus
        return np.concatenate([[0], np.cumsum(corpus.value, dtype=np.float64)]).astype(np.int64)[corpus.indptr]
