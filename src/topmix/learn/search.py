"""The search for the number of topics or clusters: a schedule that makes passes, tries moves, and keeps those that pay.

When passes gain little, other topics or clusters are tried for a few passes, and undone unless the objective of all
data gets higher than that of the old ones would be by then. Gains of passes fall like a geometric series, so that is
known, and so is what more passes promise to either. The way back costs nothing: statistics of shards are values.

A checkpoint holds the last safe point, a moment with nothing on trial, perhaps some passes ago; an interrupted trial is
made again. A search that is stopped in the middle of a trial ends with what was there before.
"""

from __future__ import annotations

import copy
import math
from abc import abstractmethod
from collections.abc import Callable, Generator, Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Annotated, Any, Generic, NamedTuple, TypeVar

import numpy as np

from topmix.base.component import Json
from topmix.base.fields import CheckedReader, ModelFileError, Writer
from topmix.learn.fit import Fit, Moment, Schedule, restore_generator
from topmix.learn.learners import PassResult, State
from topmix.models.model import SomeModel
from topmix.models.statistics import TopicStats
from topmix.models.stored import Flag, Sizes, Stored, Value, number
from topmix.steps import Info, Memory

TRIAL = 3  # passes: one while pseudo-counts fade, one to settle, one after mergers
LONGEST = 15  # while it promises to pay
RATIOS = (0.75, 0.9)  # of the gain of one pass to that of the pass before; gains fall faster only at first


@dataclass(frozen=True)
class SearchSnapshot:
    """A fit between two passes, as a search sees and changes it."""

    model: SomeModel
    total: TopicStats  # the next pass changes it
    memo: Mapping[int, TopicStats]  # of each shard
    memory: Mapping[int, Memory]  # what workers remember of each shard

    @cached_property
    def worth(self) -> float:
        """The objective that decides, of the total as it is when first asked."""
        return float(sum(self.model.bound(self.total).values()))


class Move(NamedTuple):
    """Other topics or clusters for the same data, to be tried."""

    what: str
    model: SomeModel
    counts: TopicStats  # statistics to start from, which fade in the first pass
    memory: Mapping[int, Memory] | None = None  # where documents start; None: from their words alone
    warm_up: int = 0  # first passes, which do not count
    fresh: int = 1  # passes after these, in which documents start from their words
    size: int | None = None  # which of the sizes to start with: fits of another size are judged when equally old

    @property
    def kind(self) -> str:
        return self.what.split()[0]


class Pace(NamedTuple):
    """The gain of a pass, and the ratio of the next gain to it."""

    gain: float = 0.0
    ratio: float = RATIOS[0]

    def after(self, gain: float) -> Pace:
        gain = max(gain, 0.0)
        ratio = gain / self.gain if self.gain > 0 else RATIOS[1]
        return Pace(gain, min(max(ratio, RATIOS[0]), RATIOS[1]))

    def promise(self, n_passes: float = math.inf) -> float:
        """What so many more passes would gain."""
        return self.gain * self.ratio * (1.0 - self.ratio**n_passes) / (1.0 - self.ratio)


@dataclass
class Trial:
    move: Move
    before: float  # the objective
    old: Pace  # before
    pace: Pace = field(default_factory=Pace)
    age: int = 0  # passes
    last: float = -math.inf  # the objective, after mergers

    def passed(self, worth: float) -> None:
        if self.age:
            self.pace = self.pace.after(worth - self.last)
        self.age, self.last = self.age + 1, worth

    def verdict(self, is_last: bool) -> bool | None:
        """Whether it is better than what was there before, or does not promise to be any more; None where it is too
        early to say."""
        gain = self.last - self.before
        if self.move.size is not None or is_last:
            return gain > 0
        if self.age < TRIAL:
            return None
        if gain > self.old.promise(self.age):
            return True
        return None if gain + self.pace.promise() - self.old.promise() > 0 and self.age < LONGEST else False


class Listed(Value):
    """A table or a set, as a list of its entries."""

    def __init__(self, kind: type[dict] | type[set], is_sound: Callable[..., bool]) -> None:
        self.kind, self.is_sound = kind, is_sound

    def read(self, file: CheckedReader, name: str, sizes: Sizes) -> object:
        found = self.kind((first, second) for first, second in file.listed(name))
        if not self.is_sound(found):
            raise ModelFileError(f"{name!r} makes no sense")
        return found

    def write(self, out: Writer, name: str, value: Any) -> None:
        out.value(name, [list(entry) for entry in (value.items() if isinstance(value, dict) else sorted(value))])


def are_numbers(values: Iterable[object]) -> bool:
    return all(type(value) is float and math.isfinite(value) for value in values)


GAINS, WORDS = Listed(dict, lambda found: are_numbers(found.values())), Listed(dict, bool)


@dataclass(frozen=True)
class Known(Stored):
    """What a search knows besides what it has tried."""

    quiet: Flag  # whether the last pass gained little
    gain: Annotated[float, number(0.0)]
    ratio: Annotated[float, number(*RATIOS)]
    made: Annotated[dict[str, float], GAINS]  # moves since the last record
    random: Annotated[Json, WORDS]


S = TypeVar("S", bound=SearchSnapshot)


class SafePoint(NamedTuple, Generic[S]):
    """A moment with nothing on trial."""

    here: S
    n_passes: int
    known: Json  # as JSON holds it


# A `yield` hands out the model of the next pass (None: the learner's own) and receives what that pass found.
Course = Generator[SomeModel, PassResult, None]


class Search(Schedule, Generic[S]):
    """A subclass says which moves there are, and what happens to topics or clusters between two passes."""

    tried: Stored  # what a subclass remembers of what it has tried

    def __init__(self, fit: Fit, rng: np.random.Generator, polish: int = 0, warm_up: int = 0, fresh: int = 1) -> None:
        """With so many passes at the end, and before the first snapshot: of warming up, and with a fresh start."""
        super().__init__(fit, rng)
        self.polish = polish
        self.n_passes = self.n_kept = len(fit.history)
        self.pace = Pace()  # of passes that were not on trial
        self.trial: Trial | None = None
        self.was_trial = self.is_ending = False  # the last pass belonged to a trial; no move comes any more
        self.done_at: int | None = None  # passes
        self.safe: SafePoint[S] | None = None
        self.current: S | None = None  # what learner and workers have
        self.course = self._course(None, False, warm_up, fresh)
        next(self.course)

    # What a subclass says

    @abstractmethod
    def snapshot(self, result: PassResult) -> S:
        """What a pass has left."""

    @abstractmethod
    def next_move(self, here: S, quiet: bool, passes_left: int) -> Move | None:
        """What to try now. None where there is nothing any more, or passes still gain."""

    def warmed_up(self, model: SomeModel) -> SomeModel:
        """The model of the first pass after those of warming up; None for the learner's own."""

    def merged(self, here: S, info: Info) -> S:
        """After the moves that need no trial."""
        return here

    def judged(self, trial: Trial, gain: float, is_kept: bool) -> None: ...
    def settled(self, here: S, quiet: bool) -> S:
        """Where the search goes on from."""
        return here

    def polished(self, model: SomeModel) -> SomeModel:
        """What the last passes start from."""
        return model

    def relearned(self, model: SomeModel) -> SomeModel:
        """The model of the next one of the last passes; None for the learner's own."""

    def random(self) -> Mapping[str, object]:
        return self.rng.bit_generator.state

    # The schedule

    @property
    def passes_left(self) -> int:
        return self.fit.problem.max_iter - self.n_passes

    def is_last(self) -> bool:
        """Whether there are no passes but the last ones."""
        return self.passes_left <= self.polish

    def after(self, result: PassResult, is_last: bool) -> SomeModel:
        self.n_passes += 1
        self.was_trial = self.trial is not None
        return self.course.send(result) if self.passes_left > 0 else None

    def has_converged(self) -> bool:
        return self.done_at is not None and len(self.fit.history) > self.done_at

    def keep(self, is_last: bool) -> None:
        """Writes the last safe point. A trial leaves its statistics untouched; other passes do not."""
        fit, safe, keep = self.fit, self.safe, self.fit.problem.keep
        if keep is None or safe is None or not (safe.n_passes == len(fit.history) or self.trial):
            return
        is_due = is_last or self.is_ending or safe.n_passes // keep.every > self.n_kept // keep.every
        if is_due and safe.n_passes > self.n_kept:
            self.n_kept, here, history = safe.n_passes, safe.here, fit.history[: safe.n_passes]
            state = State(here.total, dict(here.memo), safe.n_passes)
            keep.write(Moment(here.model, None, state, here.memory, history, fit.random, safe.known))

    def resume(self, moment: Moment) -> SomeModel:
        placed = super().resume(moment)
        file = CheckedReader.of_values(moment.schedule or {})
        try:
            known, self.tried = Known.read(file), self.tried.read(file.at("tried"))
        except (TypeError, ValueError, OverflowError) as error:
            raise ModelFileError(f"the checkpoint does not say how far the search was: {error}") from error
        restore_generator(self.rng, known.random)
        self.pace, self.made = Pace(known.gain, known.ratio), dict(known.made)
        here = self.snapshot(PassResult(placed, self.fit.state.total, {}))
        self.course = self._course(here, known.quiet)
        following = next(self.course)
        return placed if following is None else following

    def ended(self, model: SomeModel) -> SomeModel:
        """What was there before a trial, if the fit was stopped in one; the last record says so."""
        if self.was_trial and self.safe is not None:
            model, last = self.safe.here.model, self.fit.history[-1]
            moves = {what: gain for what, gain in {**last.moves, **self.made}.items() if not what.startswith("try")}
            moves, terms, K = moves | {"stopped": 0.0}, model.bound(self.safe.here.total), model.n_components
            objective = sum(terms.values())
            self.fit.history[-1] = replace(last, objective=objective, n_components=K, terms=terms, moves=moves)
        return super().ended(model)

    # The course of a search

    def _course(self, here: S | None, quiet: bool, warm_up: int = 0, fresh: int = 1) -> Course:
        """Passes, and trials whenever it is quiet, until no move is left or passes run out; then the last passes, with
        the number settled, one more where nothing was left to try."""
        if here is None:
            here = self.settled((yield from self._first_passes(None, warm_up, fresh)), False)
        while True:
            left, before = self.passes_left - self.polish, here.worth
            has_time = left > TRIAL
            if has_time or not quiet:  # the last passes are made again by a fit that goes on longer, which makes others
                out = Writer()
                Known(quiet, *self.pace, self.made, dict(self.random())).write(out)
                self.tried.write(out.at("tried"))
                self.safe = SafePoint(here, self.n_passes, copy.deepcopy(out.values))
            move = self.next_move(here, quiet and has_time, left)
            if move is not None:
                here, quiet = yield from self._try(here, move)
                continue
            is_exhausted = quiet and has_time
            if is_exhausted or left <= 0:
                break
            result = yield self.put(here)
            now = self.snapshot(result)
            here = self.merged(now, result.info)
            if self.n_passes > self.fit.problem.warm_up + 1:
                self.pace = self.pace.after(now.worth - before)
                quiet = here is now and here.worth - before < self.fit.problem.least_gain
            here = self.settled(here, quiet)
        self.is_ending, end = True, max(left, 0)
        following = self.put(here)
        if self.polish:
            self.made["polish"], following = 0.0, self.polished(following)
        while True:
            if is_exhausted and self.done_at is None and self.passes_left <= end:
                self.done_at = self.n_passes
            following = self.relearned((yield following).model)

    def _try(self, here: S, move: Move) -> Generator[SomeModel, PassResult, tuple[S, bool]]:
        """Passes with other topics, until it is clear whether they are better. Returns where the search is then, and
        whether it is quiet."""
        trial = self.trial = Trial(move, here.worth, self.pace)
        self.made[f"try {move.what}"], self.current = 0.0, None
        if move.memory is None:
            self.fit.workers.forget()
        else:
            self.fit.workers.restore(move.memory)
        self.fit.start_over(move.counts)
        now = yield from self._first_passes(move.model, move.warm_up, move.fresh)
        trial.last = now.worth
        while (is_kept := trial.verdict(self.is_last())) is None:
            result = yield self.put(now)
            now = self.snapshot(result)
            trial.passed(now.worth)
            now = self.merged(now, result.info)
            trial.last = now.worth
        self.trial, gain = None, trial.last - trial.before
        self.judged(trial, gain, is_kept)
        if is_kept:
            self.made[move.what], self.pace = gain, trial.pace
        else:
            self.made = {f"{move.what}, undone": gain}
        quiet = not is_kept and self.fit.problem.least_gain > 0
        return self.settled(now if is_kept else here, quiet), quiet

    def _first_passes(self, model: SomeModel, warm_up: int, fresh: int) -> Generator[SomeModel, PassResult, S]:
        for left in range(warm_up, 0, -1):
            result = yield model
            model = None if left > 1 else self.warmed_up(result.model)
        for left in range(fresh, 0, -1):
            result = yield model
            now, model = self.snapshot(result), None
            if self.trial is not None:
                self.trial.passed(now.worth)
            if self.is_last():
                break
            if left > 1:
                self.fit.workers.forget()
        return self.merged(now, result.info)

    def put(self, here: S) -> SomeModel:
        """Learner and workers continue from here. The model to go on with, or None for the learner's own."""
        if here is self.current:
            return None
        state = self.fit.state
        self.fit.workers.restore(here.memory)
        for b, stats in here.memo.items():
            state.memo[b] = stats
        state.total, state.pseudo_counts = here.total, None
        return here.model
