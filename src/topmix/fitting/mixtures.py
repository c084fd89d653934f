"""One start of a mixture, with its workers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from topmix.data.corpus import Corpus
from topmix.data.rows import GroupedRows, Rows
from topmix.data.shard import Batches
from topmix.engines import Engine, Workers
from topmix.fitting.history import Record
from topmix.fitting.loop import Log, Schedule, Stopping, no_passes
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


class FullScans(Schedule):
    """A fit converges in a pass that scored rows by all clusters: candidates alone may hide that others are better."""

    def has_converged(self, history: Sequence[Record], stopping: Stopping) -> bool:
        return not (history and history[-1].effort.get(BY_CANDIDATES)) and stopping.has_converged(history)


class RelearnedPrior(FullScans):
    """The prior of groups follows the statistics after each pass."""

    def __init__(self, lengths: np.ndarray) -> None:
        self.lengths = lengths

    def after(self, result: PassResult, is_last: bool) -> Admixture | None:
        model: Admixture = result.model
        return model.relearn(result.total, self.lengths)


class SearchedClusters(FullScans):
    """`topmix.search` says what comes next."""

    def __init__(self, search: ClusterSearch) -> None:
        self.search = search

    def moves(self) -> dict[str, float]:
        return self.search.take_moves()

    def has_converged(self, history: Sequence[Record], stopping: Stopping) -> bool:
        return self.search.is_done

    def after(self, result: PassResult, is_last: bool) -> Admixture | None:
        return self.search.after(result)


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
        self.schedule: FullScans = FullScans() if p.lengths is None else RelearnedPrior(p.lengths)
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
        task = Task(
            p.data, self.model, p.batches, p.step, p.engine, p.threads, p.n_active, p.max_iter, p.weight, p.is_warm
        )
        self.workers = learner.open(task, rng)
        state = State(pseudo_counts=pseudo)
        try:
            self.passes = _held(learner.passes(self.workers.place(self.model), self.workers, state))
            if p.search is not None:
                assert isinstance(p.data, GroupedRows)
                assert isinstance(p.step, GroupStep)
                limits = p.max_iter, p.warm_up, p.least_gain
                rows = p.data, p.weight, p.batches
                search = ClusterSearch(p.search, self.workers, state, rows, p.step, limits, rng.spawn(1)[0])
                self.schedule = SearchedClusters(search)
        except BaseException:
            self.workers.close()
            raise

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
