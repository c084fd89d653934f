"""What happened during a fit: one record per pass, what callbacks see of it, and how its progress is shown."""

from __future__ import annotations

import html
import signal
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field, fields
from types import FrameType, TracebackType
from typing import Any, NamedTuple, Self, TypeAlias

import numpy as np
from rich.console import Console, Group
from rich.live import Live
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from rich.text import Text

from topmix.base.checks import is_number
from topmix.base.component import Json
from topmix.base.fields import CheckedReader, ModelFileError
from topmix.learn.chains import TokenTopics
from topmix.models.mixture import Admixture, Mixture
from topmix.models.model import SomeModel
from topmix.models.topics import TopicModel
from topmix.models.words import WordTotal

Learned: TypeAlias = TopicModel | Mixture | Admixture | TokenTopics  # what a pass leaves


class PassView:
    """A fit after a pass, the same for every estimator. It is valid during the callback only.

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
            counts = model.word
        else:
            total = model.words.total.on_host() if isinstance(model, TopicModel) else model.on_host().likelihood.total
            if not isinstance(total, WordTotal):
                return None
            counts = total.raw if total.factor == 1.0 else total.counts()
        view = counts.view()  # the fit goes on with this array
        view.flags.writeable = False
        return view

    def fitted(self) -> Any:
        """A fitted copy of the estimator as it is now: yours to keep, to score and to save."""
        return self._fitted(self._model)


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
            is_table = isinstance(value, dict)
            is_sound = is_table == (name in tables) and all(map(is_number, value.values() if is_table else [value]))
            if not (value in PHASES if name == "phase" else is_sound):
                raise ValueError(f"{name} of a record cannot be {str(value)[:60]}")
        return cls(**known)


def passes_of(history: Sequence[Record]) -> str:
    """How many passes were made, in words: "9 passes and 150 sampling sweeps"."""
    n_sweeps = sum(record.phase == SAMPLING for record in history)
    counted = [(len(history) - n_sweeps, "pass", "es"), (n_sweeps, "sampling sweep", "s")]
    return " and ".join(f"{n} {what}{more if n != 1 else ''}" for n, what, more in counted if n or what == "pass")


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
    """Seconds since it was made, plus those that were spent before: who knows of these moves `start`."""

    def __init__(self) -> None:
        self.start = time.perf_counter()

    def __call__(self) -> float:
        return time.perf_counter() - self.start


def read_history(file: CheckedReader) -> list[Record]:
    """The records in a model file or a checkpoint."""
    try:
        return [Record.from_dict(record) for record in file.items("history")]
    except (TypeError, ValueError) as error:
        raise ModelFileError(f"the history makes no sense: {error}") from error


@dataclass(frozen=True)
class Stopping:
    """When a fit is over."""

    max_iter: int
    least_gain: float
    # "falls" where it is minimised; "either" where priors move under it; "unsteady": as well, and a pass may come to
    # the same height on the other side of the top, so two in a row must change little
    direction: str = "rises"
    warm_up: int = 0  # first passes whose objective is another one
    before: float | None = None  # the objective at which the fit begins, where an earlier fit ended there

    def has_converged(self, history: Sequence[Record]) -> bool:
        if self.before is not None and len(history) == 1:  # either way: the data may be another
            return abs(history[0].objective - self.before) < self.least_gain
        if len(history) < self.warm_up + 2:
            return False
        gain = history[-1].objective - history[-2].objective
        if self.direction == "unsteady":
            before = history[-2].objective - history[-3].objective if len(history) > self.warm_up + 2 else np.inf
            return max(abs(gain), abs(before)) < self.least_gain
        return {"rises": gain, "falls": -gain, "either": abs(gain)}[self.direction] < self.least_gain

    def better(self, a: Sequence[Record], b: Sequence[Record]) -> bool:
        """Whether a fit with history a ended better than one with b."""
        sign = -1.0 if self.direction == "falls" else 1.0
        first, second = (sign * history[-1].objective if history else -np.inf for history in (a, b))
        return bool(first > second)


class Outcome(NamedTuple):
    model: SomeModel
    history: list[Record]
    converged: bool
    n_updates: int = 0

    @property
    def objective(self) -> float:
        return self.history[-1].objective if self.history else -np.inf


class StopOnInterrupt:
    """A callback. The first Ctrl-C inside the block ends the fit after the pass it is in; the second raises as always.
    For the main thread of a program, where signals arrive."""

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


# The progress of a fit: a bar where there is a terminal or a notebook, a line per pass where there is none. It goes to
# stderr, so that results can be piped.

LATE = 10.0  # seconds after which a fit shows its progress by itself
EVERY = 0.1  # seconds between two updates of a bar in a notebook
SHOWN_TOPICS, SHOWN_WORDS, SHOWN_RELEVANCE = 6, 10, 0.8


class FitProgress:
    """A callback, and the display around it.

        with FitProgress(n_passes=20, n_tokens=corpus.n_tokens) as progress:
            LDA(max_iter=20, callbacks=[progress]).fit(corpus)

    Parameters
    ----------
    n_passes : int
        Passes that the fit makes at most, over all its starts.
    n_tokens : float or None
        Tokens or rows of the data. With it the objective is shown per token, and the speed.
    title : str
        The text before the bar.
    words : sequence of str or None
        The vocabulary. With it a terminal also shows the words of the largest topics.
    unit : str
        What n_tokens counts.
    lines : bool
        Whether to print a line per pass where there is no terminal.
    after : float
        Seconds before there is a display.
    """

    def __init__(
        self, n_passes: int, n_tokens: float | None = None, *, title: str = "fit", words: Sequence[str] | None = None,
        unit: str = "token", lines: bool = True, after: float = 0.0, console: Console | None = None,
    ):  # fmt: skip
        self.n_passes, self.n_tokens, self.title, self.words, self.unit = n_passes, n_tokens, title, words, unit
        self.console, self.after, self.n_calls = console or Console(stderr=True), after, 0
        is_notebook = self.console.is_jupyter  # the bar of rich would be lost when the notebook is saved
        is_live = self.console.is_terminal and not is_notebook
        self.lines, self.is_seen = lines and not is_live and not is_notebook, is_live or is_notebook
        self._is_notebook, self._next_update = is_notebook, 0.0
        self._output: Any = None  # of a notebook
        self._last: tuple[str, list[str], list[str]] | None = None  # title, what is said, topics
        self._bar = bar(self.console, "passes", "left", "detail")
        self._task = self._bar.add_task(title, total=n_passes, detail="", left="")
        self._live = Live(self._bar, console=self.console, transient=words is not None) if is_live else None

    def __call__(self, record: Record, view: PassView) -> None:
        self.n_calls += 1
        if record.seconds < self.after:
            return
        detail, phase = describe(record, self.n_tokens, self.unit), "" if record.phase == LEARNING else record.phase
        left = record.seconds / self.n_calls * (self.n_passes - self.n_calls)
        said, passed = f"≤ {in_time(left)} left" if left >= 1 else "", in_time(record.seconds)
        title = f"{self.title}, {phase}" if phase else self.title
        if self._is_notebook:
            self._last = title, [passed, detail], [line.plain for line in self._topics(view)]
            if time.monotonic() >= self._next_update:
                self._show_in_notebook(title, self.n_passes, [passed, said, detail], self._last[2])
        if self._live is not None:
            self._live.start()
            self._bar.update(self._task, description=title, completed=self.n_calls, detail=detail, left=said)
            self._live.update(Group(self._bar, *self._topics(view)))
        if self.lines:
            text = f"{self.title}: pass {record.n_pass}{phase and f' ({phase})'}, {record.seconds:.1f} s, {detail}"
            self.console.print(text, highlight=False, markup=False, soft_wrap=True)

    def __enter__(self) -> Self:
        if self._live is not None and not self.after:
            self._live.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, _: TracebackType | None) -> None:
        if error is None and self.n_calls:  # it stopped early because it was done: a full bar
            self._bar.update(self._task, total=self.n_calls, left="")
        if self._live is not None:
            self._live.stop()
        if self._last is not None:
            title, said, lines = self._last
            self._show_in_notebook(title, self.n_passes if error is not None else self.n_calls, said, lines)

    def _show_in_notebook(self, title: str, total: int, said: list[str], lines: list[str]) -> None:
        """One output that is written again after each pass: `said` follows the bar, and `lines` are below it. It needs
        no ipywidgets, and a saved notebook has what was shown last."""
        self._next_update = time.monotonic() + EVERY
        parts = [f"{self.n_calls}/{total} passes", *filter(None, said)]
        plain = "\n".join(["  ".join([title, *parts]), *lines])
        below = "".join(f"<br>{html.escape(line)}" for line in lines)
        bar = f'<progress value="{self.n_calls}" max="{max(total, 1)}" style="width:16em"></progress>'
        rest = html.escape(" · ".join(parts))
        shown = f'<div style="white-space:pre-wrap">{html.escape(title)} {bar} {rest}{below}</div>'
        data = {"text/plain": plain, "text/html": shown}
        if self._output is None:
            from IPython.display import display

            self._output = display(data, raw=True, display_id=True)
        else:
            self._output.update(data, raw=True)

    def _topics(self, view: PassView) -> list[Text]:
        """A line each for the largest topics."""
        if self.words is None or (counts := view.counts()) is None:
            return []
        largest = np.argsort(-counts.sum(axis=0), kind="stable")[:SHOWN_TOPICS].tolist()
        base = np.maximum(counts.sum(axis=1), 1e-300) ** (1.0 - SHOWN_RELEVANCE)
        lines = []
        for k in largest:
            relevance = counts[:, k] / base  # in the order of its logarithm, as words are shown elsewhere
            best = np.argpartition(-relevance, min(SHOWN_WORDS, len(counts) - 1))[:SHOWN_WORDS]
            best = best[np.argsort(-relevance[best], kind="stable")]
            said = " ".join(self.words[v] for v in best.tolist())
            lines.append(Text(f"  {k:>4}  {said}", style="dim", no_wrap=True, overflow="ellipsis"))
        return lines


def bar(console: Console, unit: str, *fields: str) -> Progress:
    """How many of all there are, and these fields of the task."""
    before = TextColumn("{task.description}"), BarColumn(bar_width=20), MofNCompleteColumn(), TextColumn(unit)
    after = (TextColumn(f"{{task.fields[{name}]}}") for name in fields)
    return Progress(*before, TimeElapsedColumn(), *after, console=console)


@contextmanager
def shown(verbose: int | None, n_passes: int, n_tokens: float | None, title: str) -> Iterator[list[Callback]]:
    """Callbacks for an estimator's `verbose`: none, or a display that lasts as long as the block. None: one that shows
    itself where the fit takes long and somebody looks."""
    after = LATE if verbose is None else 0.0 if verbose else np.inf
    with FitProgress(n_passes, n_tokens, title=title, lines=bool(verbose), after=after) as progress:
        yield [progress] if verbose or (verbose is None and progress.is_seen) else []


def describe(record: Record, n_tokens: float | None, unit: str = "token") -> str:
    """The objective and the speed so far, initialisation counted; of a cluster its workers, bytes and memory too."""
    said, w = f"objective {record.objective:.6g}", record.workers
    if n_tokens:
        speed = n_tokens * record.n_pass / max(record.seconds, 1e-9)
        said = f"{record.objective / n_tokens:.4f} per {unit}  {in_short(speed)} {unit}s/s"
    if not w:
        return said
    n, sent = round(w["workers"]), sum(w[name] for name in ("sent", "received", "added", "copied"))
    workers = f"{n} worker{'s' if n != 1 else ''}, {in_short(w['rows_per_second'])} rows/s"
    return f"{said}  {workers}, {in_short(sent)}B a pass, memory {in_short(w['worker_bytes'])}B each"


def in_time(seconds: float) -> str:
    """1:02:03, without the hours where there are none."""
    minutes, hours = int(seconds) // 60 % 60, int(seconds) // 3600
    return f"{hours}:{minutes:02d}:{int(seconds) % 60:02d}" if hours else f"{minutes}:{int(seconds) % 60:02d}"


def in_short(n: float) -> str:
    """Three digits and a unit: 1.23M."""
    for unit in ("", "k", "M", "G"):
        if n < 999.5 or unit == "G":
            break
        n /= 1000
    return f"{n:.3g}{unit}" if n < 999.5 else f"{n:.0f}{unit}"
