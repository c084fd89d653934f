"""Many fits of one estimator: the data that they share, and who runs them. Sweeps and consensuses are made of these."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext
from threading import Event
from types import TracebackType
from typing import Any, NamedTuple, Self, TypeVar

import numpy as np
from numpy.typing import NDArray
from rich.console import Console
from sklearn.base import clone

from topmix.corpus.corpus import Corpus
from topmix.estimators import SUPERVISED
from topmix.estimators.estimator import Estimator
from topmix.estimators.mixture import MixtureEstimator
from topmix.estimators.variational import VariationalTopics
from topmix.estimators.vectors import documents_of, without_words
from topmix.io.documents import read
from topmix.io.priors import beside
from topmix.io.reading import How, Reading
from topmix.learn.history import PassView, Record, bar, in_time

R = TypeVar("R")


class FitData(NamedTuple):
    """What fits learn from. A cluster's rows, and their groups, are documents with vectors beside them."""

    corpus: Corpus
    reading: Reading
    columns: dict[str, np.ndarray]  # that topics depend on, one value per document

    @classmethod
    def read(
        cls,
        estimator: Estimator,
        data: object,
        how: How,
        *,
        groups: object = None,
        texts: object = None,
        metadata: object = None,
    ) -> FitData:
        name = type(estimator).__name__
        if groups is not None and estimator._takes != "groups":
            raise ValueError(f"a {name} knows no groups: groups= is for admixtures")
        if texts is not None and estimator._takes == "words":
            raise ValueError("texts= stand beside vectors, and the estimator is a topic model: pass them as data")
        if isinstance(estimator, MixtureEstimator):
            rows, reading, words = estimator._declared()._documents(data, groups, texts, how, None)
            if isinstance(rows, Corpus):  # a mixture of counts
                corpus = rows
            else:  # rows are documents, with the words beside them where there are some
                corpus = documents_of(rows, without_words(len(rows), 1) if words is None else words[0])
        else:
            corpus, reading = read(data, how, engine=estimator._engine())
        source, columns = data if metadata is None else metadata, {}
        if isinstance(estimator, VariationalTopics):
            names = [column for prior in estimator._column_priors() for column in prior.columns]
            columns = beside(source, names, corpus.n_docs)
        if metadata is not None and not columns:
            raise ValueError(f"metadata= has what topics depend on, and those of {estimator!r} depend on nothing")
        return cls(corpus, reading, columns)

    @property
    def n_rows(self) -> int:
        """That clusters are made of; documents of topics."""
        vectors = self.corpus.vectors
        return self.corpus.n_docs if vectors is None else len(vectors.rows)

    def fitted(self, model: Any, rows: NDArray[np.intp] | None = None) -> None:
        """Fits a model to some of the documents, or to all."""
        corpus = self.corpus if rows is None else self.corpus[rows]
        columns = self.columns if rows is None else {name: values[rows] for name, values in self.columns.items()}
        model.fit(corpus, **({"metadata": columns} if columns else {}))


class PlannedFit(NamedTuple):
    """One fit to make."""

    title: str
    n_components: int
    seed: int
    rows: NDArray[np.intp] | None = None  # of the documents; all of them


def runs(
    estimator: Estimator,
    data: FitData,
    plan: Sequence[PlannedFit],
    score: Callable[[object, PlannedFit, float], tuple[R, str]],
    progress: SweepProgress,
    *,
    side_by_side: bool = False,
) -> Iterator[R]:
    """What `score(model, run, seconds)` keeps of each fit, in the order of the plan; it also says what to show.

    Fits run side by side on the cores that `n_jobs` allows, or on a device. Ctrl-C is raised here, once those that are
    under way have ended with their pass.
    """
    engine, threads, at_once = estimator._engine(), estimator._threads(), 1
    if side_by_side:
        at_once = min(engine.most_fits, len(plan), len(plan) if engine.on_device else threads)
    stop, free = Event(), list(range(at_once))

    def one(run: PlannedFit) -> tuple[R, str, float] | None:
        if stop.is_set():
            return None
        model: Any = clone(estimator)
        # No progress of its own, unless it is asked to.
        model.set_params(n_components=run.n_components, random_state=run.seed, verbose=model.verbose or 0)
        if at_once == 1:
            progress.begin(model, run.title)
        else:
            ends = [*(model.callbacks or ()), lambda record, view: stop.is_set()]
            model.set_params(n_jobs=max(threads // at_once, 1), verbose=0, callbacks=ends)
        stream = free.pop()  # one step for the interpreter: no two threads get the same
        try:
            with engine.own_stream(stream, at_once) if side_by_side else nullcontext():
                began = time.perf_counter()
                data.fitted(model, run.rows)
                seconds = time.perf_counter() - began
                return None if stop.is_set() else (*score(model, run, seconds), seconds)
        finally:
            free.append(stream)

    with ThreadPoolExecutor(at_once) as pool:
        # One after another they run here, where Ctrl-C ends a fit at once.
        started = [pool.submit(one, run) for run in plan] if at_once > 1 else []
        try:
            for n, run in enumerate(plan):
                done = started[n].result() if started else one(run)
                assert done is not None  # nobody has stopped it
                value, said, seconds = done
                progress.ended(run.n_components, run.title, said, seconds)
                yield value
        finally:  # also where a fit has failed: the others end with their pass
            stop.set()
            for future in started:
                future.cancel()


class SweepProgress:
    """A bar on a terminal, and elsewhere a line for each fit; nothing if `verbose` is 0."""

    def __init__(self, plan: Sequence[PlannedFit], verbose: int, name: str = "sweep"):
        self.name, self.console = name, Console(stderr=True, quiet=not verbose)
        self.is_live = bool(verbose) and self.console.is_terminal and not self.console.is_jupyter
        self.has_lines = bool(verbose) and not self.is_live
        self.n_fits, self.n_done, self.work_done = len(plan), 0, 0
        self.work = sum(run.n_components for run in plan)  # the time of a fit grows with its size
        self.began = time.perf_counter()
        self.bar = bar(self.console, "fits", "left")
        self.task = self.bar.add_task(name.capitalize(), total=self.n_fits, left="")

    def begin(self, model: Any, title: str) -> None:
        """Before a fit, which tells the bar of each pass."""
        if not self.is_live:
            return
        self.bar.update(self.task, description=title)

        def show(record: Record, view: PassView) -> None:
            self.bar.update(self.task, description=f"{title}, pass {record.n_pass}")

        model.set_params(callbacks=[*(model.callbacks or ()), show])

    def ended(self, K: int, title: str, found: str, seconds: float) -> None:
        """After a fit, and what is known of it."""
        self.n_done += 1
        self.work_done += K
        left = (time.perf_counter() - self.began) * (self.work - self.work_done) / self.work_done
        said = f"about {in_time(left)} left" if left >= 1 else ""
        self.bar.update(self.task, description=title, completed=self.n_done, left=said)
        if self.has_lines:
            line = f"{self.name}: {self.n_done} of {self.n_fits}: {title}, {found}, {seconds:.1f} s"
            self.console.print(line, highlight=False, markup=False, soft_wrap=True)

    def __enter__(self) -> Self:
        if self.is_live:
            self.bar.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, _: TracebackType | None) -> None:
        if self.is_live:
            self.bar.stop()


def checked_estimator(estimator: Any, kinds: Any) -> Any:
    """An estimator of these kinds, whose number of topics and seed can be set, and which needs no labels."""
    estimator = estimator() if isinstance(estimator, type) else estimator
    name = type(estimator).__name__
    if not isinstance(estimator, kinds):
        raise ValueError(f"estimator must be a topic model such as LDA(), or a mixture of vectors; {name} is none")
    if name in SUPERVISED:
        raise ValueError(f"fits are of models that need documents alone, and {name} needs labels or numbers, too")
    is_process = estimator._takes == "groups" and estimator._is_process()
    if is_process and estimator._component("learner").has_memo:
        raise ValueError(
            f"{name} finds the number of clusters by itself under a Dirichlet process: fit it alone, or with "
            "weight_concentration_prior_type='dirichlet_distribution'"
        )
    return estimator
