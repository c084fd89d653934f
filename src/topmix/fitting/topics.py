"""One start of a topic model: from its first model, or from a checkpoint, with its workers and its schedule."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from topmix.allocations.response_prior import ResponsePrior
from topmix.data.corpus import Corpus
from topmix.data.shard import Batches
from topmix.files.reader import ModelFileError
from topmix.fitting.checkpoint import Progress
from topmix.fitting.history import Clock
from topmix.fitting.loop import Log, Stopping
from topmix.fitting.plain import Plain
from topmix.fitting.problem import TopicProblem
from topmix.fitting.responding import Responding
from topmix.fitting.sampling import SamplingPlan, SamplingSchedule
from topmix.fitting.searching import Searching
from topmix.learners import State, Task
from topmix.models.topics import TopicModel
from topmix.search.paused import Paused
from topmix.stats import WordStats
from topmix.stats.entries import EntryStats, TokenStats


class TopicStart:
    def __init__(self, problem: TopicProblem, rng: np.random.Generator, log: Log) -> None:
        p, learner, checkpoint = problem, problem.learner, problem.checkpoint
        self.problem, self.found = problem, checkpoint.read(p.empty) if checkpoint else None
        if checkpoint and self.found:
            with checkpoint.names_the_file():
                self.found.restore_generator(rng)
            log.history[:] = self.found.history
            log.course.clock = Clock(log.course.clock() + self.found.history[-1].seconds)
            model, state = self.found.following or self.found.model, self.found.state
        else:
            model = p.start(rng)
            state = State(pseudo_counts=model.pseudo_counts())
        state.n_tokens = p.corpus.n_tokens if p.weighs_tokens else None
        dealt_with = rng.bit_generator.state  # so that a resumed fit deals documents as this one
        batches = learner.batches(p.corpus, p.n_active, rng, p.default_batches)
        task = Task(
            p.corpus, model, batches, p.step, p.engine, p.threads, p.n_active,
            max_iter=p.max_iter - len(log.history), is_warm=p.is_warm or self.found is not None,
        )  # fmt: skip
        self.stopping, self.updates_per_pass = _stopping(p, task), learner.updates_per_pass(len(batches))
        self.workers = learner.open(task, rng)
        try:
            lengths = [p.lengths[rows] for rows in batches] if p.search or checkpoint else []
            paused = Paused(self.workers, state, lengths, p.search.options if p.search else None)
            self.schedule = self._schedule(paused, batches, rng, log, dealt_with)
            if checkpoint and self.found:
                with checkpoint.names_the_file():
                    _check_memory(self.found, paused)
                    paused.restore(self.found.memory)
                    model = self.schedule.resume(self.found, model)
            self.model, placed = model, self.workers.place(model)
            if checkpoint and self.found:
                with checkpoint.names_the_file():
                    _resume_statistics(p.corpus, batches, paused, model, placed)
            self.passes = self.schedule.passes(
                placed, lambda model: learner.passes(self.workers.place(model), self.workers, state)
            )
        except BaseException:
            self.workers.close()
            raise

    def _schedule(
        self, paused: Paused, batches: Batches, rng: np.random.Generator, log: Log, dealt_with: Mapping[str, object]
    ) -> Plain:
        p = self.problem
        second_start = int(rng.integers(2**63)) if p.learner.fades and p.restarts_small_topics else None
        plain = (p, paused, log, dealt_with, second_start)
        if p.sweeps:
            plan = SamplingPlan(p.sweeps, int(rng.integers(2**63)), p.max_time, p.draws)
            return SamplingSchedule(*plain, plan=plan, batches=batches, stopping=self.stopping)
        if isinstance(p.empty.prior, ResponsePrior):
            return Responding(*plain, batches=batches)
        if p.search is not None:
            return Searching(*plain, search=p.search.begin(paused, batches, rng, len(log.history)))
        return Plain(*plain)

    def interrupted(self) -> TopicModel | None:
        found: TopicModel | None = self.problem.learner.interrupted(self.workers, self.model)
        return found

    def ended(self, model: TopicModel | None) -> TopicModel:
        if model is None:  # there was nothing left to do
            model = self.found.model if self.found else self.model
        last = self.schedule.ended(model)
        return last if self.problem.engine.keeps_models else last.on_host()

    def close(self) -> None:
        self.workers.close()


def _stopping(p: TopicProblem, task: Task) -> Stopping:
    model: TopicModel = task.model
    moves = model.learns_priors or model.document_options.own_discount > 0
    direction = "either" if moves and model.words.posterior == "collapsed" else "rises"
    least = p.tol * max(p.corpus.n_tokens, 1.0)
    return Stopping(p.max_iter, least, direction, p.learner.warm_up_passes(task))


def _check_memory(found: Progress, paused: Paused) -> None:
    """Whether a checkpoint is of these shards."""
    lengths, n_shards = paused.lengths, paused.workers.n_shards
    if len(found.memory) != n_shards:
        raise ModelFileError(f"the checkpoint is of {len(found.memory)} shards, expected {n_shards}")
    for b, visit in found.memory.items():
        if visit.docs is not None and len(visit.docs.indptr) != len(lengths[b]) + 1:
            n = len(visit.docs.indptr) - 1
            raise ModelFileError(f"the checkpoint has {n} documents in shard {b}, expected {len(lengths[b])}")
        if visit.z is not None and len(visit.z) != lengths[b].sum():
            n = int(lengths[b].sum())
            raise ModelFileError(f"the checkpoint has {len(visit.z)} tokens in shard {b}, expected {n}")


def _resume_statistics(corpus: Corpus, batches: Batches, paused: Paused, model: TopicModel, placed: TopicModel) -> None:
    """The total is where the model is. Statistics of shards are of one kind of engine: those of a processor are
    rounded sums, and a GPU takes out exactly what it put in."""
    state, is_elsewhere = paused.state, placed.words.total is not model.words.total
    for b, stats in state.memo.items():
        if isinstance(stats.S, WordStats) == is_elsewhere:
            here = "that keeps statistics on a device" if is_elsewhere else "of this process"
            raise ModelFileError(f"the checkpoint is of another engine, and cannot continue on one {here}")
        if isinstance(stats.S, EntryStats):
            n = int(np.diff(corpus.indptr)[batches[b]].sum())
            if stats.S.n_entries != n:
                raise ModelFileError(f"the checkpoint has {stats.S.n_entries} words in shard {b}, expected {n}")
        if isinstance(stats.S, TokenStats) and len(stats.S.z) != (n := int(paused.lengths[b].sum())):
            raise ModelFileError(f"the checkpoint has {len(stats.S.z)} tokens in shard {b}, expected {n}")
    if is_elsewhere and state.total is not None:
        state.total = replace(state.total, S=placed.words.total)
