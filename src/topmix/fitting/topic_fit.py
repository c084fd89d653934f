"""One start of a topic model: from its first model, or from a checkpoint, to its last pass."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from topmix.data.corpus import Corpus
from topmix.data.shard import Batches, row_sums
from topmix.engines import Engine
from topmix.files.reader import ModelFileError
from topmix.fitting.checkpoint import Checkpoint, Progress
from topmix.fitting.exchange import MOST_TOKENS, exchanged
from topmix.fitting.exploration import Exploration
from topmix.fitting.history import EXPLORING, Clock, Record
from topmix.fitting.passes import Between, Log, Stopping, run_passes
from topmix.learners import Learner, PassResult, State, Task
from topmix.local import LocalStep
from topmix.local.topics import Visit
from topmix.models.topic_start import restarted
from topmix.models.topics import TopicModel
from topmix.search.documents import Documents
from topmix.search.paused_fit import PausedFit
from topmix.search.search import Search
from topmix.stats import WordStats, WordTotal
from topmix.stats.entries import EntryStats, TokenStats


@dataclass(frozen=True)
class TopicProblem:
    """Everything that a fit needs, as the estimator's parameters say."""

    corpus: Corpus
    empty: TopicModel  # priors and options, without counts
    start: Callable[[np.random.Generator], TopicModel]
    step: LocalStep
    learner: Learner
    engine: Engine
    threads: int
    n_active: int  # L
    max_iter: int
    tol: float  # per token
    default_batches: int = 10
    sweeps: int = 0  # of exploration
    max_time: float | None = None  # seconds, which exploration leaves some of
    is_warm: bool = False  # topics are those of an earlier fit
    restarts_small_topics: bool = False  # topics that are small after the first pass start again
    weighs_tokens: bool = False  # stochastic: a batch is weighed by its share of the tokens
    options: Callable[[str, bool], Any] | None = None  # of documents, where the number of topics is searched for
    search: Callable[[PausedFit, Batches, np.random.Generator, int], Search] | None = None


class TopicFit(Between):
    def __init__(self, problem: TopicProblem, rng: np.random.Generator, log: Log, checkpoint: Checkpoint | None):
        self.problem, self.rng, self.log, self.checkpoint = problem, rng, log, checkpoint
        self.search: Search | None = None
        self.interrupted: TopicModel | None = None  # what there is of a fit that Ctrl-C ended
        self.updates_per_pass = 1
        self.exploration: Exploration | None = None

    @cached_property
    def lengths(self) -> np.ndarray:
        """[documents] tokens, for whoever needs them."""
        return row_sums(self.problem.corpus.indptr, self.problem.corpus.value)

    def run(self) -> tuple[TopicModel, bool]:
        """The model at the end, and whether it has converged."""
        p, learner, rng = self.problem, self.problem.learner, self.rng
        found = self.checkpoint.read(p.empty) if self.checkpoint else None
        if found and self.checkpoint:
            with self.checkpoint.names_the_file():
                found.restore_generator(rng)
            self.log.history[:] = found.history
            self.log.clock = Clock(self.log.clock() + found.history[-1].seconds)
            model, self.state = found.following or found.model, found.state
        else:
            model = p.start(rng)
            self.state = State(pseudo_counts=model.pseudo_counts())
        self.state.n_tokens = p.corpus.n_tokens if p.weighs_tokens else None
        self.dealt_with = rng.bit_generator.state  # so that a resumed fit deals documents as this one
        batches = learner.batches(p.corpus, p.n_active, rng, p.default_batches)
        self.batches = batches
        self.updates_per_pass = learner.updates_per_pass(len(batches))
        task = Task(
            p.corpus, model, batches, p.step, p.engine, p.threads, p.n_active,
            max_iter=p.max_iter - len(self.log.history), is_warm=p.is_warm or found is not None,
        )  # fmt: skip
        self.workers = self.log.workers = learner.open(task, rng)
        try:
            learned, converged = self._learned(found, model, task, batches)
        finally:
            self.workers.close()
        if learned is None:  # there was nothing left to do
            learned = found.model if found else model
        return self._ended(learned).on_host(), converged

    def _learned(
        self, found: Progress | None, model: TopicModel, task: Task, batches: Batches
    ) -> tuple[TopicModel | None, bool]:
        """Passes until they are enough; no model where none was made."""
        p, learner, rng = self.problem, self.problem.learner, self.rng
        self.second_start = int(rng.integers(2**63)) if learner.fades and p.restarts_small_topics else None
        self.stopping = self._stopping(task)
        self.may_explore = found is None or found.may_explore
        if p.sweeps and self.may_explore:
            self.exploration = Exploration(p.sweeps, int(rng.integers(2**63)), p.max_time)
        if p.search is not None and p.options is not None:
            lengths = [self.lengths[rows] for rows in batches]
            paused = PausedFit(self.workers, self.state, lengths, p.options)
            self.search = p.search(paused, batches, rng, len(self.log.history))
        if found and self.checkpoint:
            with self.checkpoint.names_the_file():
                model = self._resume(found, model, [self.lengths[rows] for rows in batches])
        placed = self.workers.place(model)
        if found and self.checkpoint:
            with self.checkpoint.names_the_file():
                self._resume_statistics(model, placed)
        passes = learner.passes(placed, self.workers, self.state)
        try:
            return run_passes(passes, self.stopping, self.log, self)
        except KeyboardInterrupt:
            self.interrupted = learner.interrupted(self.workers, model)
            raise
        finally:
            passes.close()

    def _stopping(self, task: Task) -> Stopping:
        p, documents = self.problem, task.model.documents
        moves = task.model.learns_priors or documents.own_discount > 0
        direction = "either" if moves and task.model.words.posterior == "collapsed" else "rises"
        least = p.tol * max(p.corpus.n_tokens, 1.0)
        return Stopping(p.max_iter, least, direction, p.learner.warm_up_passes(task))

    def _resume(self, found: Progress, model: TopicModel, lengths: list[np.ndarray]) -> TopicModel:
        """Gives workers and search their memory back; returns the model that the next pass starts from. `lengths` are
        the tokens of the documents of each shard."""
        if len(found.memory) != self.workers.n_shards:
            raise ModelFileError(f"the checkpoint is of {len(found.memory)} shards, expected {self.workers.n_shards}")
        for b, visit in found.memory.items():
            if visit.docs is not None and len(visit.docs.indptr) != len(lengths[b]) + 1:
                n = len(visit.docs.indptr) - 1
                raise ModelFileError(f"the checkpoint has {n} documents in shard {b}, expected {len(lengths[b])}")
            if visit.z is not None and len(visit.z) != lengths[b].sum():
                n = int(lengths[b].sum())
                raise ModelFileError(f"the checkpoint has {len(visit.z)} tokens in shard {b}, expected {n}")
        self.workers.restore(found.memory)
        if self.search is not None:
            return resume_search(self.search, found)
        self._restart_small_topics()
        model = self._in_next_phase(model)
        self._exchange()
        return model

    def _resume_statistics(self, model: TopicModel, placed: TopicModel) -> None:
        """The total is where the model is. Statistics of shards are of one kind of engine: those of a processor are
        rounded sums, and a GPU takes out exactly what it put in."""
        state, is_elsewhere = self.state, placed.words.total is not model.words.total
        for b, stats in state.memo.items():
            if isinstance(stats.S, WordStats) == is_elsewhere:
                here = "that keeps statistics on a device" if is_elsewhere else "of this process"
                raise ModelFileError(f"the checkpoint is of another engine, and cannot continue on one {here}")
            if isinstance(stats.S, EntryStats) and stats.S.n_entries != (n := self._entries(b)):
                raise ModelFileError(f"the checkpoint has {stats.S.n_entries} words in shard {b}, expected {n}")
            if isinstance(stats.S, TokenStats) and len(stats.S.z) != (n := int(self.lengths[self.batches[b]].sum())):
                raise ModelFileError(f"the checkpoint has {len(stats.S.z)} tokens in shard {b}, expected {n}")
        if is_elsewhere and state.total is not None:
            state.total = replace(state.total, S=placed.words.total)

    def _entries(self, b: int) -> int:
        return int(np.diff(self.problem.corpus.indptr)[self.batches[b]].sum())

    def _in_next_phase(self, model: TopicModel) -> TopicModel:
        """The model with the options of documents that the next pass has."""
        if self.exploration is None:
            return model
        history, plain = self.log.history, self.problem.empty.documents
        self.phase = self.exploration.next_phase(history, self.stopping)
        return replace(model, documents=self.exploration.options(plain, self.phase, history))

    def _restart_small_topics(self) -> None:
        """After the first pass: pseudo-counts for topics that found next to nothing, to fade through the second."""
        if self.second_start is None or self.state.t != 1:
            return
        rng = np.random.default_rng(self.second_start)
        again = restarted(self.problem.corpus, np.asarray(self.state.total.S.totals), rng)
        self.state.pseudo_counts = None if again is None else self.problem.empty.prior.no_stats(again)

    def _exchange(self) -> None:
        """Topics of tokens after exchanges, where one pays; their counts fade into what the next sweep finds."""
        p, model, history = self.problem, self.problem.empty, self.log.history
        if self.exploration is None or not self.exploration.exchanges_now(self.phase, history):
            return
        if p.corpus.n_tokens > MOST_TOKENS or not p.learner.fades:
            return
        rng, memory = np.random.default_rng([self.exploration.seed, len(history)]), self.workers.recall()
        z = {b: visit.z for b, visit in memory.items() if visit.z is not None}
        if len(z) != self.workers.n_shards:
            raise ModelFileError("the checkpoint lacks topics of tokens")
        found = exchanged(p.corpus, self.batches, z, model.n_components, rng, p.threads)
        if found is None:
            return
        counts, z = found
        self.workers.restore({b: visit._replace(z=z[b]) for b, visit in memory.items()})
        self.state.memo.clear()
        self.state.total, self.state.pseudo_counts = None, model.prior.no_stats(WordTotal.of(counts))

    # What happens between two passes

    def moves(self) -> dict[str, float]:
        return self.search.take_moves() if self.search else {}

    def has_converged(self, history: list[Record], stopping: Stopping) -> bool:
        if self.search:
            return self.search.is_done
        if self.exploration:
            return self.exploration.has_converged(history, stopping)
        return stopping.has_converged(history)

    def after(self, result: PassResult, is_last: bool) -> TopicModel | None:
        if self.search:
            return self.search.after(result)
        if not is_last:
            self._restart_small_topics()
        now = result.model
        following: TopicModel | None = now.relearn(result.total, self.lengths) if now.learns_priors else None
        if self.exploration is None or is_last:
            return following
        return self._in_next_phase(following or result.model)

    def keep(self, model: TopicModel, following: TopicModel | None, is_last: bool) -> None:
        history, checkpoint = self.log.history, self.checkpoint
        if checkpoint is not None and self.search:
            write_search(checkpoint, self.search, history, self.dealt_with)
        elif checkpoint is not None and (is_last or len(history) % self._passes_per_checkpoint(checkpoint) == 0):
            memory = self.workers.recall()
            progress = Progress(model, following, self.state, memory, history, self.dealt_with)
            checkpoint.write(replace(progress, may_explore=self.may_explore))
        if not is_last:
            self._exchange()  # after the checkpoint: a resumed fit makes it again

    def _passes_per_checkpoint(self, checkpoint: Checkpoint) -> int:
        """Sweeps are many and short: ten of them count as a pass."""
        return checkpoint.every * (10 if self.log.history[-1].phase == EXPLORING else 1)

    def _ended(self, model: TopicModel) -> TopicModel:
        """A search that was stopped in the middle of a trial ends with what was there before, and the last record says
        so."""
        search, history = self.search, self.log.history
        if search is None or not search.was_trial or search.safe_point is None:
            return model
        here = search.safe_point.here
        terms, moves = here.model.bound(here.total), history[-1].moves | search.moves | {"stopped": 0.0}
        history[-1] = replace(
            history[-1],
            objective=sum(terms.values()),
            n_components=here.model.n_components,
            terms=terms,
            moves={what: gain for what, gain in moves.items() if not what.startswith("try")},
        )
        return here.model


def write_search(checkpoint: Checkpoint, search: Search, history: list[Record], dealt_with: Any) -> None:
    """A search is kept as it was when nothing was on trial, some passes ago. A trial leaves that state untouched; other
    passes do not, so then it is written now or later."""
    safe = search.safe_point
    if safe is None or not (safe.n_passes == len(history) or search.trial):
        return
    if safe.n_passes // checkpoint.every == checkpoint.n_passes // checkpoint.every and search.phase != "polish":
        return
    checkpoint.n_passes, here = safe.n_passes, safe.here
    state = State(here.total, dict(enumerate(here.memo)), safe.n_passes)
    memory = {b: Visit(safe.memory[b].times, docs) for b, docs in enumerate(here.docs)}
    checkpoint.write(Progress(here.model, None, state, memory, history[: safe.n_passes], dealt_with, safe.known))


def resume_search(search: Search, found: Progress) -> TopicModel:
    """Continues from a moment with nothing on trial."""
    docs, lengths = [found.memory[b].docs for b in range(len(found.memory))], search.fit.lengths
    whole = [d for d, n in zip(docs, lengths) if d is not None and len(d.indptr) == len(n) + 1]
    if len(whole) != len(docs) or len(found.state.memo) != len(docs):
        raise ModelFileError("the checkpoint lacks documents")
    memo = [found.state.memo[b] for b in range(len(docs))]
    here = Documents(found.model, found.state.total, memo, whole, lengths)
    try:
        return search.resume(here, found.search or {})
    except ValueError as error:
        raise ModelFileError(f"the checkpoint cannot be continued from: {error}") from error
