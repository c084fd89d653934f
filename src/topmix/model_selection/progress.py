"""The progress of many fits, on stderr: a bar over all of them on a terminal or in a notebook, else a line per fit."""

from __future__ import annotations

import time
from types import TracebackType
from typing import Self

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from sklearn.base import BaseEstimator

from topmix.fitting.history import Record
from topmix.fitting.notebook import NotebookBar
from topmix.fitting.progress import in_time
from topmix.fitting.view import PassView
from topmix.model_selection.measure import Fit


class SweepProgress:
    """Shows nothing if `verbose` is 0."""

    def __init__(
        self, sizes: list[int], n_seeds: int, verbose: int, console: Console | None = None, name: str = "sweep"
    ):
        self.name = name
        self.console = console or Console(stderr=True, quiet=not verbose)
        self.notebook = NotebookBar("fits") if verbose and self.console.is_jupyter else None
        self.is_live = bool(verbose) and self.console.is_terminal and self.notebook is None
        self.has_lines = bool(verbose) and not self.is_live and self.notebook is None
        self.n_fits, self.n_done = len(sizes) * n_seeds, 0
        self.work, self.work_done = float(sum(sizes) * n_seeds), 0.0  # the time of a fit grows with its size
        self.began, self.left = time.perf_counter(), ""
        self.bar = Progress(
            TextColumn("{task.description}"),
            BarColumn(bar_width=20),
            MofNCompleteColumn(),
            TextColumn("fits"),
            TimeElapsedColumn(),
            TextColumn("{task.fields[left]}"),
            console=self.console,
        )
        self.task = self.bar.add_task(name.capitalize(), total=self.n_fits, left="")

    def begin(self, model: BaseEstimator, K: int, seed: int) -> None:
        """Before a fit. Models of topmix tell the bar of each pass."""
        if not self.is_live and self.notebook is None:
            return
        title = f"{K} topics, seed {seed}"
        self._show(title)
        if "callbacks" in model.get_params(deep=False):

            def show(record: Record, view: PassView) -> None:
                self._show(f"{title}, pass {record.n_pass}")

            model.set_params(callbacks=[*(model.callbacks or ()), show])

    def end(self, fit: Fit) -> None:
        found = f"score {fit.score:.4f}, coherence {fit.coherence:.3f}"
        self.ended(fit.n_components, f"{fit.n_components} topics, seed {fit.seed}", found, fit.seconds)

    def ended(self, K: int, title: str, found: str, seconds: float) -> None:
        """After a fit, and what is known of it."""
        self.n_done += 1
        self.work_done += K
        passed = time.perf_counter() - self.began
        left = passed * (self.work - self.work_done) / self.work_done
        self._show(title, f"about {in_time(left)} left" if left >= 1 else "")
        if self.has_lines:
            said = f"{self.name}: {self.n_done} of {self.n_fits}: {title}, {found}, {seconds:.1f} s"
            self.console.print(said, highlight=False, markup=False, soft_wrap=True)

    def _show(self, title: str, left: str | None = None) -> None:
        """What is done now, and the time that is left if that is known anew."""
        self.left = self.left if left is None else left
        if self.is_live:
            self.bar.update(self.task, description=title, completed=self.n_done, left=self.left)
        if self.notebook is not None:
            passed, last = in_time(time.perf_counter() - self.began), self.n_done == self.n_fits
            self.notebook.show(title, self.n_done, self.n_fits, [passed, self.left], [], last=last)

    def __enter__(self) -> Self:
        if self.is_live:
            self.bar.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, _: TracebackType | None) -> None:
        if self.is_live:
            self.bar.stop()
