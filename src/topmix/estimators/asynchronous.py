"""Fitting topics with workers that do not wait for each other: how the parameters of an estimator become a course."""

from __future__ import annotations

from typing import Any

import numpy as np

from topmix.allocations.lda import DocumentPrior
from topmix.data.corpus import Corpus
from topmix.estimators.inputs import chosen, count_of_active, count_of_threads, positive_count
from topmix.fitting.checkpoint import Checkpoint, Progress
from topmix.fitting.history import Callback, Clock, Record, passes
from topmix.learners import State
from topmix.learners.asynchronous import RESTS, Course, Fleet, asynchronous
from topmix.models.topics import TopicModel

SETTLE = 5  # passes of the documents of a fit that goes on, before topics move again


def check_asynchronous(estimator: Any) -> None:
    """Raises ValueError where parameters ask for what this learner cannot do."""
    if estimator.posterior != "variational":
        raise ValueError("learner='asynchronous' needs posterior='variational': set it, or use learner='memoized'")
    if estimator.local_step != "auto":
        raise ValueError(f"learner='asynchronous' needs local_step='auto', got {estimator.local_step!r}")
    if estimator.engine not in (None, "threads"):
        raise ValueError(
            f"learner='asynchronous' runs on threads of its own: engine must be None, got {estimator.engine!r}"
        )
    chosen(RESTS, estimator.rest, "rest")
    if not isinstance(estimator.opening, int | np.integer) or estimator.opening < 0:
        raise ValueError(f"opening must be an integer, 0 or more, got {estimator.opening!r}")


def fit_asynchronously(
    estimator: Any,
    corpus: Corpus,
    rng: np.random.Generator,
    clock: Clock,
    callbacks: list[Callback],
    kept: tuple[Checkpoint, int] | None,
) -> tuple[TopicModel, list[Record], bool]:
    """As TopicEstimator._fit_once. Where Ctrl-C ends it, the estimator has the model of that moment.

    A checkpoint holds topics and history. Documents start from those topics when it is read, so that what follows is as
    good as uninterrupted but not the same bits.
    """
    threads = count_of_threads(estimator.n_jobs)
    max_iter = positive_count(estimator.max_iter, "max_iter")
    empty = estimator._empty_model(corpus.n_words, threads)
    if not isinstance(empty.prior, DocumentPrior):
        raise ValueError(f"{type(estimator).__name__} cannot be learned with learner='asynchronous'")
    found = kept[0].read(empty) if kept else None
    warm = found is not None or (estimator.warm_start and hasattr(estimator, "model_"))
    if found:
        model, history = found.following or found.model, found.history
        clock = Clock(clock() + history[-1].seconds)
    else:
        model, history = estimator._start(corpus, rng, threads), []
    estimator.history_ = history  # now, so that an interrupted fit has it too
    opening = 0 if warm else min(int(estimator.opening), max_iter // 2)
    n_active = count_of_active(estimator.n_active, model.n_components)
    seed = int(rng.integers(2**63))
    state = State()
    fleet = Fleet.of(corpus, model, threads, Course(n_active, estimator.rest, opening, SETTLE if warm else 0, seed))
    least = estimator.tol * max(corpus.n_tokens, 1.0)

    def settled() -> bool:
        """Passes of the opening climb another objective: what they do to the bound says nothing."""
        if len(history) < opening + 2:
            return False
        return history[-1].objective - history[-2].objective < least

    def keep(model: TopicModel, following: TopicModel | None, is_last: bool) -> None:
        if kept and (is_last or len(history) % kept[1] == 0):
            kept[0].write(Progress(model, following, state, {}, history, rng.bit_generator.state))

    try:
        learned, _, converged = passes(
            asynchronous(model, fleet, max_iter - len(history), state=state),
            max_iter=max_iter,
            tol=estimator.tol,
            scale=max(corpus.n_tokens, 1.0),
            clock=clock,
            history=history,
            callbacks=callbacks,
            between=lambda model, total: model.relearn(total, fleet.lengths),
            keep=keep,
            settled=settled,
        )
    except KeyboardInterrupt:
        estimator._set_model(fleet.now(model))
        raise
    return learned or model, history, converged
