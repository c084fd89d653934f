"""How far a fit is: a bar where there is a terminal, a line a pass where there is none.

    with FitProgress(n_passes=20, n_tokens=corpus.n_tokens) as progress:
        LDA(max_iter=20, callbacks=[progress]).fit(corpus)

It writes to stderr, so that results can be piped.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from types import TracebackType
from typing import Any, Self

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from topmix.history import Callback, Record


class FitProgress:
    """A callback, and the display around it.

    Parameters
    ----------
    n_passes : int
        Passes that the fit makes at most; all starts together where it has several.
    n_tokens : float or None
        Tokens or rows of the data. With it the objective is shown per token, and the speed.
    title : str
        What stands before the bar.
    lines : bool
        Print a line a pass where there is no terminal. Otherwise nothing is shown there.
    """

    def __init__(
        self,
        n_passes: int,
        n_tokens: float | None = None,
        *,
        title: str = "fit",
        lines: bool = True,
        console: Console | None = None,
    ):
        self.n_tokens, self.title = n_tokens, title
        self.console = console or Console(stderr=True)
        live = self.console.is_terminal or self.console.is_jupyter
        self.lines = lines and not live
        self.n_calls = 0
        self._bar = Progress(
            TextColumn("{task.description}"),
            BarColumn(bar_width=20),
            MofNCompleteColumn(),
            TextColumn("passes"),
            TimeElapsedColumn(),
            TextColumn("{task.fields[detail]}"),
            console=self.console,
            disable=not live,
        )
        self._task = self._bar.add_task(title, total=n_passes, detail="")

    def __call__(self, record: Record, model: Any) -> None:
        self.n_calls += 1
        detail = describe(record, self.n_tokens)
        self._bar.update(self._task, completed=self.n_calls, detail=detail)
        if self.lines:
            text = f"{self.title}: pass {record.n_pass}, {record.seconds:.1f} s, {detail}"
            self.console.print(text, highlight=False, markup=False, soft_wrap=True)

    def __enter__(self) -> Self:
        self._bar.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, _: TracebackType | None) -> None:
        if error is None and self.n_calls:  # it stopped early because it was done: a full bar
            self._bar.update(self._task, total=self.n_calls)
        self._bar.stop()


@contextmanager
def shown(verbose: int, n_passes: int, n_tokens: float | None, title: str) -> Iterator[list[Callback]]:
    """Callbacks for an estimator's `verbose`: none, or a display that lasts as long as the block."""
    if not verbose:
        yield []
        return
    with FitProgress(n_passes, n_tokens, title=title) as progress:
        yield [progress]


def describe(record: Record, n_tokens: float | None) -> str:
    """The objective and the speed so far, initialisation counted."""
    if not n_tokens:
        return f"objective {record.objective:.6g}"
    speed = n_tokens * record.n_pass / max(record.seconds, 1e-9)
    return f"{record.objective / n_tokens:.4f} a token  {in_short(speed)} tokens/s"


def in_short(n: float) -> str:
    """Three digits and a unit: 1.23M."""
    for unit in ("", "k", "M", "G"):
        if n < 999.5 or unit == "G":
            break
        n /= 1000
    return f"{n:.3g}{unit}" if n < 999.5 else f"{n:.0f}{unit}"
