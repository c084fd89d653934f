"""One start of a mixture, with its workers."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from topmix.data.corpus import Corpus
from topmix.data.rows import GroupedRows, Rows
from topmix.data.shard import Batches
from topmix.engines import Engine, Workers
from topmix.fitting.checkpoint import restore_generator
from topmix.fitting.history import Record
from topmix.fitting.loop import Log, Schedule, Stopping, no_passes
from topmix.fitting.mixture_checkpoint import MixtureCheckpoint, MixtureProgress, around
from topmix.learners import Learner, Passes, PassResult, State, Task
from topmix.local import LocalStep
from topmix.local.candidates import BY_CANDIDATES
from topmix.local.groups import GroupStep
from topmix.models.admixture import Admixture
from topmix.models.mixture import Mixture
from topmix.numerics.blas import one_thread
from topmix.search.clusters import ClusterProblem, ClusterSearch


@dataclass(frozen=True)
class MixtureProblem:
    """What a fit of a mixture has to do, as the parameters of an estimator say."""

    data: Corpus | Rows
    weight: np.ndarray | None  # of each row
    start: Callable[
        [np.random.Generator], tuple[Mixture | Admixture, Any]
    ]  # a model, and pseudo-counts that fade, or None
    step: LocalStep
    learner: Learner
    engine: Engine
    threads: int
    n_active: int  # L
    max_iter: int
    least_gain: float
    batches: Batches
    is_warm: bool
    before: float | None  # the objective where the fit begins, if it is known
    lengths: np.ndarray | None = None  # [groups] rows of each, where rows are in groups
    warm_up: int = 0  # first passes that may lower the objective
    search: ClusterProblem | None = None  # for the number of clusters
    checkpoint: MixtureCheckpoint | None = None
    found: MixtureProgress | None = None  # in its file
    dealt_with: Mapping[str, object] = field(default_factory=dict)  # state of the generator that dealt the batches

    def sizes(self) -> list[int]:
        """Rows of each batch, or its groups."""
        each = np.arange(len(self.data))
        return [len(each[rows]) for rows in self.batches]


@dataclass
class Paused:
    """A fit between two passes: what the learner carries, and who remembers the rest."""

    problem: MixtureProblem
    workers: Workers
    state: State
    log: Log

    def keep(
        self,
        model: Mixture | Admixture,
        following: Mixture | Admixture | None,
        search: dict[str, Any] | None = None,
    ) -> None:
        """Writes the checkpoint."""
        p, memory, history = self.problem, self.workers.recall(), self.log.history
        assert p.checkpoint is not None
        p.checkpoint.write(MixtureProgress(model, following, self.state, memory, history, p.dealt_with, search))

    def is_due(self, is_last: bool) -> bool:
        """Whether there is a checkpoint after this pass."""
        checkpoint = self.problem.checkpoint
        return checkpoint is not None and (is_last or len(self.log.history) % checkpoint.at.every == 0)

    def resume(self, found: MixtureProgress, placed: Mixture | Admixture) -> None:
        """Workers and the total are as they were. The total is where the model is."""
        checkpoint = self.problem.checkpoint
        assert checkpoint is not None
        with checkpoint.at.names_the_file():
            checkpoint.check(found, self.problem.sizes(), on_device=self.problem.engine.on_device)
        self.workers.restore(found.memory)
        self.state.total = around(self.state.total, placed.likelihood.total)


class FullScans(Schedule):
    """A fit converges in a pass that scored rows by all clusters: candidates alone may hide that others are better."""

    def __init__(self, paused: Paused | None = None) -> None:
        self.paused = paused

    def keep(self, model: Mixture | Admixture, following: Mixture | Admixture | None, is_last: bool) -> None:
        if self.paused is not None and self.paused.is_due(is_last):
            self.paused.keep(model, following)

    def has_converged(self, history: Sequence[Record], stopping: Stopping) -> bool:
        return not (history and history[-1].effort.get(BY_CANDIDATES)) and stopping.has_converged(history)


class RelearnedPrior(FullScans):
    """The prior of groups follows the statistics after each pass."""

    def __init__(self, paused: Paused | None, lengths: np.ndarray) -> None:
        super().__init__(paused)
        self.lengths = lengths

    def after(self, result: PassResult, is_last: bool) -> Admixture | None:
        model: Admixture = result.model
        return model.relearn(result.total, self.lengths)


class SearchedClusters(FullScans):
    """`topmix.search` says what comes next."""

    def __init__(self, paused: Paused | None, search: ClusterSearch, n_passes: int) -> None:
        super().__init__(paused)
        self.search, self.written = search, n_passes  # made before

    def moves(self) -> dict[str, float]:
        return self.search.take_moves()

    def has_converged(self, history: Sequence[Record], stopping: Stopping) -> bool:
        return self.search.done_at is not None and len(history) > self.search.done_at

    def after(self, result: PassResult, is_last: bool) -> Admixture | None:
        return self.search.after(result)

    def keep(self, model: Mixture | Admixture, following: Mixture | Admixture | None, is_last: bool) -> None:
        """As the search was when nothing was on trial, perhaps some passes ago. A trial is made again."""
        paused, safe = self.paused, self.search.safe
        if paused is None or (checkpoint := paused.problem.checkpoint) is None:
            return
        if safe is None:
            if paused.is_due(is_last):
                paused.keep(model, None, self.search.warming())
                self.written = len(paused.log.history)
        elif safe.n_passes // checkpoint.at.every > self.written // checkpoint.at.every or (
            is_last and safe.n_passes > self.written
        ):
            here, past = safe.here, paused.log.history[: safe.n_passes]
            state = State(here.total, here.memo, paused.state.t)
            dealt_with = paused.problem.dealt_with
            checkpoint.write(MixtureProgress(here.model, None, state, here.memory, past, dealt_with, safe.known))
            self.written = safe.n_passes


def _held(passes: Passes) -> Passes:
    """The same passes. BLAS is held to one thread through each of them: to hold it and let it go again for every kernel
    takes longer than a kernel on few rows."""
    following = None
    with closing(passes):
        while True:
            with one_thread():
                result = passes.send(following)
            following = yield result


class MixtureStart:
    def __init__(self, problem: MixtureProblem, rng: np.random.Generator, log: Log) -> None:
        p, learner = problem, problem.learner
        self.learner, self.log = learner, log
        self.schedule, pseudo = FullScans(), None
        if p.found is not None:
            log.history[:] = p.found.history
            self.model = p.found.model
        else:
            with one_thread():
                self.model, pseudo = p.start(rng)
        model, direction = self.model, learner.direction
        if isinstance(model, Admixture) and model.prior.learned and model.prior.posterior == "collapsed":
            direction = "unsteady"
        self.stopping = Stopping(p.max_iter, p.least_gain, direction, p.warm_up, before=p.before)
        self.updates_per_pass = learner.updates_per_pass(len(p.batches))
        self.workers: Workers | None = None
        self.passes: Passes = no_passes()
        if p.max_iter == 0:
            return
        task = Task(p.data, model, p.batches, p.step, p.engine, p.threads, p.n_active, p.max_iter, p.weight, p.is_warm)
        self.workers = learner.open(task, rng)
        state = State(pseudo_counts=pseudo) if p.found is None else p.found.state
        # Only where there is a checkpoint: it would keep what is on a device until after the end.
        paused = None if p.checkpoint is None else Paused(p, self.workers, state, log)
        self.schedule = FullScans(paused) if p.lengths is None else RelearnedPrior(paused, p.lengths)
        try:
            placed = self.workers.place(model if p.found is None or p.found.following is None else p.found.following)
            if p.found is not None and paused is not None:
                paused.resume(p.found, placed)
            if p.search is not None:
                search = self._search(p, p.search, self.workers, state, rng)
                self.schedule, placed = SearchedClusters(paused, search, len(log.history)), search.first or placed
            self.passes = _held(learner.passes(placed, self.workers, state))
        except BaseException:
            self.workers.close()
            raise

    def _search(
        self, p: MixtureProblem, clusters: ClusterProblem, workers: Workers, state: State, rng: np.random.Generator
    ) -> ClusterSearch:
        assert isinstance(p.data, GroupedRows)
        assert isinstance(p.step, GroupStep)
        limits, rows, found = (p.max_iter, p.warm_up, p.least_gain), (p.data, p.weight, p.batches), None
        rng = rng.spawn(1)[0]
        if p.found is not None and p.checkpoint is not None:
            with p.checkpoint.at.names_the_file():
                known = p.found.known()
                restore_generator(rng, known.random)
            found = known, PassResult(p.found.model, state.total, {}), len(p.found.history)
        return ClusterSearch(clusters, workers, state, rows, p.step, limits, rng, found)

    def interrupted(self) -> Mixture | Admixture | None:
        found: Mixture | Admixture | None = self.learner.interrupted(self.workers, self.model)
        return found

    def ended(self, model: Mixture | Admixture | None) -> Mixture | Admixture:
        """A search that was stopped in the middle of a trial ends with what was there before, and the last record says
        so."""
        schedule, history = self.schedule, self.log.history
        if model is not None and isinstance(schedule, SearchedClusters) and schedule.search.was_trial is not None:
            here = schedule.search.was_trial
            model, terms = here.model, here.model.bound(here.total)
            history[-1] = replace(
                history[-1],
                objective=sum(terms.values()),
                n_components=model.n_components,
                terms=terms,
                moves={**history[-1].moves, "stopped": 0.0},
            )
        return self.model if model is None else model.on_host()

    def close(self) -> None:
        if self.workers is not None:
            self.workers.close()
