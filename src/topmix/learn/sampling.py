"""Sampling between the first passes of a fit and its last ones.

After about four passes documents stand still, because a topic that left a document cannot come back. Sampling lets it:
a token may have any topic of its document or, with weight alpha, of its word. Alpha starts high, so that topics which
hold the wrong documents together come apart, and falls to what lets documents have few topics again. Passes of the
fixed point then polish what was found. docs/evidence.md has the measurements.

A fit never ends in the middle of it: alpha falls faster where `max_time` asks for it, a callback that ends the fit ends
the sampling, which a pass then polishes, and Ctrl-C leaves the model from before. A fit that sampling left worse goes
back to that model.

The first sweep is the same learner with another option of documents, which travels with the tables. Where the topics of
all tokens fit into one place, which the data says and never the engine, they are then gathered from the shards, and the
sweeps are those of a chain (learn/chains.py), with half the work because its tables are the counts. When sampling has
nearly settled, topics are exchanged (learn/tokens.py). What comes next is a function of the history alone, so a resumed
fit continues as if it had never stopped.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise

import numpy as np

from topmix.base.fields import ModelFileError
from topmix.learn.chains import Chain
from topmix.learn.fit import Fit, Moment
from topmix.learn.history import DRAWING, LEARNING, POLISHING, SAMPLING, SWEEPS, Record, Stopping
from topmix.learn.learners import Passes, PassResult
from topmix.learn.schedules import TopicPasses
from topmix.learn.tokens import exchanged
from topmix.models.covariate_prior import CovariatePrior
from topmix.models.document_prior import DocumentPrior
from topmix.models.model import SomeModel
from topmix.models.statistics import TopicStats, places
from topmix.models.topics import DocumentOptions, Sampling, TopicModel
from topmix.models.words import WordTotal
from topmix.steps.documents import Visit

FIRST_PASSES = 4  # before sampling; fewer where they converge
LAST_PASSES = 2  # after it, at least
LEAST_SWEEPS = 20  # fewer, for want of time, are not worth it
FIRST_EXCHANGE = 2 / 3  # of the sweeps: topics have nearly settled
EXCHANGE_EVERY = 10  # sweeps, as long as the last exchange found something
SWEEPS_PER_PASS = 10  # of a checkpoint: sweeps are many and short
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
        n_sampled, n_drawn = (sum(record.phase == phase for record in history) for phase in SWEEPS)
        if last == SAMPLING and n_sampled < self.sweeps and self.share(history) <= 1:
            return SAMPLING
        has_time = self.max_time is None or history[-1].seconds + _polishing(history) < self.max_time
        return DRAWING if last in SWEEPS and n_drawn < self.draws and has_time else POLISHING

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


class SamplingSchedule(TopicPasses):
    """Passes over documents with sampling between the first and the last, which leaves some of `max_time` seconds."""

    def __init__(
        self, fit: Fit, rng: np.random.Generator, restarts: bool, sweeps: int, draws: int = 0,
        max_time: float | None = None,
    ) -> None:  # fmt: skip
        super().__init__(fit, rng, restarts)
        self.plan = SamplingPlan(sweeps, int(rng.integers(2**63)), max_time, draws)
        self.phase = LEARNING
        self.is_told_to_end = False
        self.model_before: TopicModel | None = None  # the one that sampling began with, unless it is large
        self.model = self.empty  # of the next pass
        self.chain: Chain | None = None  # where sweeps are made in one place

    def passes(self, model: TopicModel, learn: Callable[[TopicModel], Passes]) -> Passes:
        """Those of the learner, and sweeps of the chain while there is one."""
        learning: Passes | None = None
        following: SomeModel = model
        try:
            while True:
                if (chain := self.chain) is not None:
                    sampling = self.model.document_options.sampling
                    assert sampling is not None
                    chain.sweep(chain.prior.alpha * (sampling.concentration / chain.prior.alpha.sum()))
                    result = PassResult(chain, None, {})
                elif learning is None:
                    result = next(learning := learn(following))
                else:
                    result = learning.send(following)
                following = yield result
        finally:
            if learning is not None:
                learning.close()

    def ends_here(self) -> bool:
        self.is_told_to_end = True
        return self.phase not in SWEEPS

    def has_converged(self) -> bool:
        return self.plan.has_converged(self.fit.history, self.fit.stopping)

    def after(self, result: PassResult, is_last: bool) -> TopicModel | None:
        if self.chain is not None:
            if self.chain.sweeps % LEARN_EVERY == 0:
                self.chain.relearn()
            words = replace(self.model.words, eta=self.chain.words.eta)
            return self._in_next_phase(replace(self.model, prior=self.chain.prior, words=words))
        following = super().after(result, is_last)
        if is_last:
            return following
        following = self._in_next_phase(following or result.model)
        self._remember(result.model)
        return following

    def _remember(self, model: TopicModel) -> None:
        """The model of the last pass, where sampling comes next."""
        if self.fit.history[-1].phase == LEARNING != self.phase and self.fit.can_copy(model):
            self.model_before = copy.deepcopy(model.on_host())

    def ended(self, model: TopicModel) -> TopicModel:
        """The model of the last pass, or the one that sampling began with if that was better."""
        history = self.fit.history
        learned = [record for record in history if record.phase == LEARNING]
        if self.model_before is None or not learned or history[-1].objective >= learned[-1].objective:
            return super().ended(model)
        back = {f"back to pass {learned[-1].n_pass}": learned[-1].objective - history[-1].objective}
        history[-1] = replace(
            learned[-1], n_pass=len(history), seconds=history[-1].seconds, moves=back, phase=history[-1].phase
        )
        return self.model_before

    def keep(self, is_last: bool) -> None:
        fit = self.fit
        checkpoint = fit.due(is_last, SWEEPS_PER_PASS if fit.history[-1].phase in SWEEPS else 1)
        if checkpoint is not None:
            if self.chain is not None:
                self._deal(self.chain)
                fit.state.total = self._counts(self.chain)
            moment = fit.moment()._replace(before=self.model_before)
            checkpoint.write(moment if self.chain is None else moment._replace(model=self.model))
        if not is_last:
            self._continue()  # after the checkpoint: a resumed fit makes it again

    def resume(self, moment: Moment) -> TopicModel:
        self._restart_small_topics()
        model = self._in_next_phase(moment.next_model)
        self.model_before = moment.before
        self._remember(moment.model)
        self._continue()
        return self.fit.placed(model)

    def _in_next_phase(self, model: TopicModel) -> TopicModel:
        """The model with the options of documents that the next pass has."""
        history, plain = self.fit.history, self.empty.document_options
        ends = self.is_told_to_end and self.phase in SWEEPS
        self.phase = POLISHING if ends else self.plan.next_phase(history, self.fit.stopping)
        prior, population = model.prior, self.population
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
        prior, population, n = model.prior, self.population, len(self.fit.history)
        if not isinstance(prior, CovariatePrior) or population is None or self.phase == LEARNING:
            return super()._relearned(model, total)
        if self.phase == SAMPLING:
            if n % SWEEPS_PER_PASS == 0:
                prior = prior.relearn(total, self.lengths, population)
        elif self.phase == DRAWING:
            prior = prior.drawn(total, population, np.random.default_rng([self.plan.seed, n]))
        return replace(model, prior=prior, words=model.words.relearn() if model.words.learned else model.words)

    def _continue(self) -> None:
        """What is due between the last pass and the next one."""
        corpus, history = self.corpus, self.fit.history
        is_plain = type(self.empty.prior) is DocumentPrior and self.fit.problem.learner.fades
        in_shards = corpus.n_tokens > MOST_TOKENS or not is_plain
        if history[-1].phase != SAMPLING or in_shards:
            return
        chain, seed = self.chain, self.plan.seed
        if chain is None:  # it continues from the topics of the shards' tokens
            p, memory, z = self.fit.problem, self.fit.workers.recall(), np.empty(int(corpus.n_tokens), np.uint16)
            for b, rows in enumerate(self.fit.batches):
                if memory[b].z is None:
                    raise ModelFileError("the checkpoint lacks topics of tokens")
                z[places(self.first, rows)[1]] = memory[b].z
            prior, words, device = self.model.prior, self.model.words, p.engine.opened()
            words, n = words.update(WordTotal.zeros(*words.shape)), sum(record.phase == SAMPLING for record in history)
            chain = self.chain = Chain(corpus, prior, words, seed=seed, threads=p.threads, sweeps=n, device=device)
            chain.start(z)
        if self.phase != SAMPLING:
            self._deal(chain)
            self.chain = None
        elif self.plan.exchanges_now(self.phase, history) and not self.model.words.is_told:
            self.made = {EXCHANGE: exchanged(chain, np.random.default_rng([seed, len(history)]))}

    def _deal(self, chain: Chain) -> None:
        """Shards and learner get what the chain has found."""
        docs, z = chain.topics(), chain.z
        rows_of = enumerate(self.fit.batches)
        self.fit.workers.restore({b: Visit(0, docs.of(rows), z[places(self.first, rows)[1]]) for b, rows in rows_of})
        self.fit.start_over(self._counts(chain))

    def _counts(self, chain: Chain) -> TopicStats:
        return chain.prior.no_stats(WordTotal.of(chain.word.astype(np.float64)))

    @cached_property
    def first(self) -> np.ndarray:
        """[documents + 1] where the tokens of each document begin."""
        corpus = self.corpus
        return np.concatenate([[0], np.cumsum(corpus.value, dtype=np.float64)]).astype(np.int64)[corpus.indptr]
