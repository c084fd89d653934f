"""One fit, from its first model to its last pass: of topics, clusters, groups that mix clusters, and chains.

An estimator makes a `Problem`, a value that says what there is to learn, and `run` learns it. A `Fit` is all that there
is between two passes: the model, what the learner carries, what workers remember, the history, and where the schedule
is. The learner says how a pass is made; the schedule says what comes after it: the same again, other priors, sampling,
or a trial of other topics. Ctrl-C, callbacks, `max_time`, progress and checkpoints are the same for all fits.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from functools import cached_property
from time import perf_counter
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

import numpy as np

from topmix.base.fields import ModelFileError
from topmix.corpus.corpus import Corpus
from topmix.corpus.rows import Rows
from topmix.corpus.shard import Batches, row_sums
from topmix.engines.engine import Engine, Watched
from topmix.learn.history import (
    LEARNING,
    SWEEPS,
    Callback,
    Clock,
    Outcome,
    PassView,
    Record,
    Stopping,
    TimeLimit,
    shown,
)
from topmix.learn.learners import Passes, PassMaker, PassResult, SomeWorkers, State, Task
from topmix.models.model import SomeModel, SomeTotal
from topmix.models.topics import TopicModel
from topmix.steps import LocalStep, Memory

if TYPE_CHECKING:
    from topmix.learn.checkpoint import Checkpoint

MOST_KEPT = 1 << 24  # features x components of a model that is copied after a pass: 128 MB
FREE, SHARE = 0.01, 0.02  # seconds of a copy that are nothing, and the share of the time that longer ones may take

# A first model, and statistics that fade in the first pass, or None.
First: TypeAlias = Callable[[np.random.Generator], tuple[SomeModel, SomeTotal]]
PassPlan: TypeAlias = "Callable[[Fit, np.random.Generator], Schedule]"  # a schedule, perhaps with settings of its own


@dataclass(frozen=True)
class Problem:
    """What a fit has to do, as the parameters of an estimator say."""

    data: Corpus | Rows
    first: First
    step: LocalStep
    learner: PassMaker
    engine: Engine
    threads: int
    n_active: int  # L
    max_iter: int
    least_gain: float  # a pass that changes the objective by less has converged
    plan: PassPlan
    empty: TopicModel | None = None  # of topics: priors and options, without counts
    weight: np.ndarray | None = None  # of each row
    n_rows: float = 0.0  # rows of a mixture, or their weight
    batches: int = 10  # of a pass, where the learner has no size for them
    deals_first: bool = False  # rows are dealt to shards before the first model, and once for all starts
    is_warm: bool = False  # it starts from what an earlier fit learned
    before: float | None = None  # the objective where the fit begins, if an earlier fit ended there
    warm_up: int = 0  # first passes that may lower the objective
    weighs_tokens: bool = False  # stochastic: a batch is weighed by its share of the tokens
    keep: Checkpoint | None = None

    @property
    def corpus(self) -> Corpus:
        """The data of topics."""
        assert isinstance(self.data, Corpus)
        return self.data


@dataclass
class FitSettings:
    """How long a fit may go on, whom it calls after a pass, and what it is for them and after Ctrl-C."""

    title: str
    size: float  # tokens or rows of the data
    n_features: int
    fitted: Callable[[SomeModel, Sequence[Record]], Any]  # FittedTopics or FittedMixture, for a model after some passes
    estimator: Callable[[Any], object]  # the one that has learned this
    n_init: int = 1
    max_time: float | None = None
    callbacks: Sequence[Callback] = ()
    verbose: int | None = 0
    keeps_last: bool = True  # whether Ctrl-C leaves the last pass; an earlier fit is not replaced by half of another
    clock: Clock = field(default_factory=Clock)


class Interrupted(Exception):
    """Ctrl-C. `fitted` is what there is of the fit, or None."""

    def __init__(self, fitted: Any, n_pass: int | None = None):
        self.fitted, self.n_pass = fitted, n_pass


class Schedule:
    """What comes after a pass, by the history and by what it found. This one makes passes until they change little."""

    phase = LEARNING  # what the present pass does

    def __init__(self, fit: Fit, rng: np.random.Generator) -> None:
        self.fit, self.rng = fit, rng
        self.made: dict[str, float] = {}  # changes of the number of topics since the last record

    def direction(self, model: SomeModel) -> str:
        """Where the objective goes from pass to pass: see `Stopping`."""
        return "rises"

    def passes(self, model: SomeModel, learn: Callable[[SomeModel], Passes]) -> Passes:
        """The passes of the fit from this model; `learn` makes those of the learner."""
        return learn(model)

    def resume(self, moment: Moment) -> SomeModel:
        """Does what was due after the pass that a checkpoint holds; returns the model of the next one."""
        return self.fit.placed(moment.next_model)

    def has_converged(self) -> bool:
        return self.fit.stopping.has_converged(self.fit.history)

    def ends_here(self) -> bool:
        """A callback ends the fit: whether at once, or after a pass that makes a whole model of what there is."""
        return True

    def after(self, result: PassResult, is_last: bool) -> SomeModel:
        """Another model for the next pass to start from, or None."""
        return None

    def keep(self, is_last: bool) -> None:
        """The pass is over: writes a checkpoint where one is due."""
        if (checkpoint := self.fit.due(is_last)) is not None:
            checkpoint.write(self.fit.moment())

    def ended(self, model: SomeModel) -> SomeModel:
        """What was learned, given the model of the last pass."""
        return model.on_host()


class Moment(NamedTuple):
    """A fit between two passes, as values: a fit that is put together from them continues with the same bits."""

    model: SomeModel
    following: SomeModel  # what the next pass starts from, where that is another
    state: State
    memory: Mapping[int, Memory]  # what workers remember of each shard
    history: Sequence[Record]
    random: Mapping[str, object]  # the state of the generator that dealt rows to shards, before it did
    schedule: Mapping[str, object] | None = None  # what the schedule knows, as JSON holds it
    before: SomeModel = None  # what the schedule may go back to

    @property
    def next_model(self) -> SomeModel:
        return self.model if self.following is None else self.following


NO_PASSES: Passes = (result for result in list[PassResult]())
Deal = tuple[Batches, Mapping[str, object]]  # which rows are visited together, and the generator's state before


def dealt(p: Problem, rng: np.random.Generator) -> Deal:
    state = rng.bit_generator.state  # so that a resumed fit deals rows as this one
    return p.learner.batches(p.data, 1 if p.deals_first else p.n_active, rng, p.batches), state


class Fit:
    """One start of a problem, between two passes."""

    workers: SomeWorkers = None  # None: there is no pass to make

    def __init__(
        self, problem: Problem, settings: FitSettings, callbacks: Sequence[Callback] = (), before: Sequence[Record] = ()
    ) -> None:
        self.problem, self.settings, self.callbacks, self.before = problem, settings, callbacks, list(before)
        self.history: list[Record] = []
        self.model: SomeModel = None  # of the last pass
        self.following: SomeModel = None  # what the next pass starts from, where that is another
        self.state = State()
        self.schedule, self.stopping = Schedule(self, np.random.default_rng(0)), Stopping(0, 0.0)
        self.passes: Passes = NO_PASSES
        self.batches: Batches = []
        self.is_told = self.is_stopped = self.converged = False
        self.last: object = None  # what was fitted after the last pass that was copied, and its number
        self.last_pass = 0
        self._next_copy = 0.0

    def begin(self, rng: np.random.Generator, deal: Deal | None = None, moment: Moment | None = None) -> None:
        """From the first model, or from the moment that a checkpoint holds."""
        p = self.problem
        if moment is None:
            self.model, pseudo_counts = p.first(rng)
            self.state = State(pseudo_counts=pseudo_counts)
        else:
            self.model, self.state, self.history = moment.model, moment.state, list(moment.history)
        if p.weighs_tokens:
            self.state.n_tokens = p.corpus.n_tokens
        self.batches, self.random = deal or dealt(p, rng)
        task = Task(
            p.data, self.model if moment is None else moment.next_model, self.batches, p.step, p.engine, p.threads,
            p.n_active, p.max_iter - len(self.history), p.weight, is_warm=p.is_warm or moment is not None,
        )  # fmt: skip
        if p.max_iter:
            self.workers = p.learner.open(task, rng)
        self.schedule = p.plan(self, rng)
        direction, warm_up = self.schedule.direction(self.model), p.warm_up or p.learner.warm_up_passes(task)
        direction = p.learner.direction if direction == "rises" else direction
        self.stopping = Stopping(p.max_iter, p.least_gain, direction, warm_up, p.before)
        if self.workers is not None:
            workers, learner, state = self.workers, p.learner, self.state
            if moment is None or p.keep is None:
                placed = workers.place(self.model)
            else:
                with p.keep.names_the_file():
                    p.keep.files.check(moment, self)
                    workers.restore(moment.memory)
                    placed = self.schedule.resume(moment)
            self.passes = self.schedule.passes(placed, lambda m: learner.passes(workers.place(m), workers, state))
        self.converged = self.schedule.has_converged()

    def placed(self, model: SomeModel) -> SomeModel:
        """A model of a checkpoint where workers read it. The total is where the model is."""
        assert self.problem.keep is not None
        placed = self.workers.place(model)
        self.problem.keep.files.place(self.state, model, placed)
        return placed

    @property
    def is_over(self) -> bool:
        return self.is_stopped or self.converged or len(self.history) >= self.stopping.max_iter

    def step(self) -> None:
        """One pass, its record and the callbacks; then what the schedule does after it."""
        result, schedule = self.passes.send(self.following), self.schedule
        self.model = model = result.model
        terms, phase = model.bound(result.total), schedule.phase
        effort = {name: value for name, value in result.info.items() if isinstance(value, float)}
        n_pass, moves, schedule.made = len(self.before) + len(self.history) + 1, schedule.made, {}
        status = self.workers.status() if isinstance(self.workers, Watched) else {}
        seconds, K = self.settings.clock(), model.n_components
        self.history.append(Record(n_pass, seconds, sum(terms.values()), K, terms, effort, moves, phase, status))
        if self.settings.keeps_last and phase not in SWEEPS:  # a copy, for a fit that Ctrl-C ends
            began = perf_counter()
            if not self.can_copy(model):
                self.last = None
            elif began >= self._next_copy:
                self.last, self.last_pass = self._fitted(model), n_pass
                took = perf_counter() - began
                self._next_copy = began + took / SHARE if took > FREE else 0.0
        view = PassView(model, lambda model: self.settings.estimator(self._fitted(model)))
        answers = [call(self.history[-1], view) for call in self.callbacks]  # all of them are called
        self.is_told |= any(answers)
        self.is_stopped = self.is_told and schedule.ends_here()
        self.converged = schedule.has_converged()
        self.following = schedule.after(result, self.is_over)
        schedule.keep(self.is_over)

    def _fitted(self, model: SomeModel) -> object:
        return self.settings.fitted(model, [*self.before, *self.history])

    def can_copy(self, model: SomeModel) -> bool:
        """Whether a second model takes little memory."""
        return bool(model.n_components * self.settings.n_features <= MOST_KEPT)

    @cached_property
    def lengths(self) -> list[np.ndarray]:
        """Of each shard's documents, in tokens."""
        corpus = self.problem.corpus
        lengths = row_sums(corpus.indptr, corpus.value)
        return [lengths[rows] for rows in self.batches]

    def start_over(self, pseudo_counts: SomeTotal) -> None:
        """The next pass is like the first, from these pseudo-counts, which fade into what data says."""
        self.state.memo.clear()
        self.state.total, self.state.pseudo_counts = None, pseudo_counts

    def moment(self) -> Moment:
        return Moment(self.model, self.following, self.state, self.workers.recall(), self.history, self.random)

    def due(self, is_last: bool, passes_each: int = 1) -> Checkpoint | None:
        """The checkpoint, where one is to be written now."""
        keep = self.problem.keep
        is_due = keep is not None and (is_last or len(self.history) % (keep.every * passes_each) == 0)
        return keep if is_due else None

    def learn(self) -> Outcome:
        try:
            while not self.is_over:
                self.step()
        except KeyboardInterrupt:
            now = self.problem.learner.interrupted(self.workers, self.model) if self.workers is not None else None
            if now is not None:  # in the middle of a pass
                raise Interrupted(self._fitted(now)) from None
            raise
        n_updates = len(self.history) * self.problem.learner.updates_per_pass(len(self.batches))
        return Outcome(self.schedule.ended(self.model), self.history, self.converged, n_updates)

    def close(self) -> None:
        """Nothing is held that may be on a device. A schedule knows its fit: without it the data is free at once."""
        self.passes.close()
        self.passes, self.state = NO_PASSES, State()
        del self.schedule
        self.model = self.following = None
        if self.workers is not None:
            self.workers.close()


def starting_from(model: SomeModel, pseudo_counts: SomeTotal = None) -> First:
    """A start from this model."""
    return lambda rng: (model, pseudo_counts)


def restore_generator(rng: np.random.Generator, state: Mapping[str, object]) -> None:
    try:
        rng.bit_generator.state = state
    except (TypeError, ValueError, KeyError, OverflowError) as error:
        raise ModelFileError(f"the checkpoint has no state of a random generator: {error}") from error


def run(problem: Problem, settings: FitSettings, rng: np.random.Generator, before: Outcome | None = None) -> Outcome:
    """The best of all starts. Where the fit goes on from what it has learned `before`, in another way, the history of
    both is one."""
    moment, deal, best = None, None, None
    if problem.keep is not None and (moment := problem.keep.read()) is not None:
        with problem.keep.names_the_file():
            restore_generator(rng, moment.random)
        settings.clock.start -= moment.history[-1].seconds
    if problem.deals_first:
        deal = dealt(problem, rng)
    past = before.history if before is not None else []
    limits: list[Callback] = [] if settings.max_time is None else [TimeLimit(settings.max_time)]
    n_passes = len(past) + problem.max_iter * settings.n_init
    with shown(settings.verbose, n_passes, settings.size, settings.title) as display:
        for _ in range(settings.n_init):
            fit = Fit(problem, settings, [*settings.callbacks, *limits, *display], past)
            try:
                with closing(fit):
                    fit.begin(rng, deal, moment)
                    found = fit.learn()
            except KeyboardInterrupt:
                whole = best or before  # an earlier start, or what was learned before
                if whole is not None and settings.keeps_last and (best is not None or fit.last is None):
                    raise Interrupted(settings.fitted(whole.model, whole.history), len(whole.history)) from None
                raise Interrupted(fit.last, fit.last_pass) from None
            if best is None or fit.stopping.better(found.history, best.history):
                best = found
    assert best is not None
    if before is None:
        return best
    return best._replace(history=[*past, *best.history], n_updates=before.n_updates + best.n_updates)
