"""What happened during a fit: one record per pass."""

from __future__ import annotations

import signal
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field, fields
from types import FrameType, TracebackType
from typing import Any, Self, TypeAlias

import numpy as np

from topmix.base.component import Json
from topmix.base.fields import CheckedReader, ModelFileError
from topmix.learn.chains import TokenTopics
from topmix.models.mixture import Admixture, Mixture
from topmix.models.topics import TopicModel
from topmix.models.words import WordTotal

# What a callback sees of a fit after a pass.

Learned: TypeAlias = TopicModel | Mixture | Admixture | TokenTopics  # what a pass leaves


class PassView:
    """The state of a fit after a pass, the same for every estimator. It is valid during the callback only.

    Examples
    --------
    >>> import numpy as np
    >>> from topmix import LDA
    >>> def largest(record, view):
    ...     print(record.n_pass, view.n_components, view.weights.shape)
    >>> X = np.random.default_rng(0).poisson(0.3, (50, 20))
    >>> _ = LDA(3, max_iter=1, random_state=0, callbacks=[largest]).fit(X)
    1 3 (3,)
    """

    def __init__(self, model: Learned, fitted: Callable[[Learned], object]):
        self._model, self._fitted = model, fitted

    @property
    def n_components(self) -> int:
        return int(self._model.n_components)

    @property
    def weights(self) -> np.ndarray:
        """[K] the share of each topic or cluster."""
        return np.array(self._model.weights())

    def counts(self) -> np.ndarray | None:
        """[V, K] tokens of each word in each topic, not to be written to; None where rows are not words."""
        model = self._model
        if isinstance(model, TokenTopics):
            return _read_only(model.word)
        total = model.words.total.on_host() if isinstance(model, TopicModel) else model.on_host().likelihood.total
        if not isinstance(total, WordTotal):
            return None
        return _read_only(total.raw) if total.factor == 1.0 else total.counts()

    def fitted(self) -> Any:
        """A fitted copy of the estimator as it is now: yours to keep, to score and to save."""
        return self._fitted(self._model)


def _read_only(array: np.ndarray) -> np.ndarray:
    """The fit goes on with this array: a callback that writes to it is an error, not a spoilt fit."""
    view = array.view()
    view.flags.writeable = False
    return view


# What a pass does: learn by the fixed point, sample topics of tokens, sample effects of covariates too, learn again
# from what sampling found, learn versions of topics, or learn from responses of documents too.
PHASES = ("learning", "sampling", "drawing", "polishing", "versions", "responding")
LEARNING, SAMPLING, DRAWING, POLISHING, VERSIONS, RESPONDING = PHASES
SWEEPS = (SAMPLING, DRAWING)


@dataclass(frozen=True, slots=True)
class Record:
    """One pass over the data."""

    n_pass: int
    seconds: float  # since the fit began, initialisation counted
    objective: float
    n_components: int
    terms: dict[str, float] = field(default_factory=dict)  # the objective, term by term
    effort: dict[str, float] = field(default_factory=dict)  # iterations and the like, as the local step counts them
    moves: dict[str, float] = field(default_factory=dict)  # changes of the number of topics before it, with their gain
    phase: str = LEARNING
    workers: dict[str, float] = field(default_factory=dict)  # how those of a cluster are: engines/engine.py: Watched

    def to_dict(self) -> Json:
        return asdict(self)

    @classmethod
    def from_dict(cls, values: Json) -> Self:
        """What `to_dict` gave, perhaps of a later version with more fields. Raises ValueError or TypeError."""
        known = {f.name: values[f.name] for f in fields(cls) if f.name in values}
        tables = {f.name for f in fields(cls) if f.default_factory is dict}
        for name, value in known.items():
            numbers = value.values() if isinstance(value, dict) else [value]
            is_sound = isinstance(value, dict) == (name in tables) and all(isinstance(n, int | float) for n in numbers)
            if not (value in PHASES if name == "phase" else is_sound):
                raise ValueError(f"{name} of a record cannot be {str(value)[:60]}")
        return cls(**known)


def passes_of(history: Sequence[Record]) -> str:
    """How many passes were made, in words: "9 passes and 150 sampling sweeps"."""
    n_sweeps = sum(record.phase == SAMPLING for record in history)
    n_passes = len(history) - n_sweeps
    said = f"{n_passes} pass{'es' if n_passes != 1 else ''}"
    return f"{said} and {n_sweeps} sampling sweep{'s' if n_sweeps != 1 else ''}" if n_sweeps else said


Callback = Callable[[Record, PassView], bool | None]  # a true value ends the fit after the pass


class TimeLimit:
    """A callback that ends the fit when another pass like the last would take too long."""

    def __init__(self, limit: float):
        self.limit, self.last, self.reached = limit, 0.0, False

    def __call__(self, record: Record, view: PassView) -> bool:
        before = self.last if 0 < self.last <= record.seconds else 0.0  # another fit has begun
        if not before:  # a pass took as long as those before it, which a checkpoint may have
            before = record.seconds * (1 - 1 / record.n_pass)
        took, self.last = record.seconds - before, record.seconds
        self.reached = record.seconds + took > self.limit
        return self.reached


class Clock:
    """Seconds since it was made, plus those that were spent before."""

    def __init__(self, spent: float = 0.0) -> None:
        self.start = time.perf_counter() - spent

    def __call__(self) -> float:
        return time.perf_counter() - self.start


def read_history(file: CheckedReader) -> list[Record]:
    """The records in a model file or a checkpoint."""
    try:
        return [Record.from_dict(record) for record in file.items("history")]
    except (TypeError, ValueError) as error:
        raise ModelFileError(f"the history makes no sense: {error}") from error


# Ctrl-C that ends a fit after the pass it is in, so that what was learned can still be shown or saved.


class StopOnInterrupt:
    """A callback. The first Ctrl-C inside the block is remembered and ends the fit; the second raises as always.

    For the main thread of a program, where signals arrive.
    """

    def __init__(self) -> None:
        self.stopped = False
        self.n_passes = 0  # that are over

    def __call__(self, record: Record, view: PassView) -> bool:
        self.n_passes += 1
        return self.stopped

    def __enter__(self) -> Self:
        self._before = signal.signal(signal.SIGINT, self._remember)
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, _: TracebackType | None) -> None:
        signal.signal(signal.SIGINT, self._before)

    def _remember(self, number: int, frame: FrameType | None) -> None:
        if self.stopped:
            raise KeyboardInterrupt
        self.stopped = True
