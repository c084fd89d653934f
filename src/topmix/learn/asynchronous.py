"""Asynchronous: workers keep their rows, and parts of the model travel between them.  docs/math.md, 3.10 and G.1.

Extreme stochastic variational inference (Zhang et al. 2019): a worker that has some parameters solves its own rows for
them, puts the new statistics in the place of the old, and sends the parameters on. So this learner opens workers of its
own, and what it yields are snapshots of a fit that goes on meanwhile: sums of what each worker alone has written, which
are consistent though nobody stopped. With several workers the bits differ from run to run.

On a cluster a block of parameters is at one worker at a time. The driver has the model, because it makes an estimator
of it; it deals blocks out and collects them after each pass, while workers go on.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import ClassVar, Self

import numpy as np

from topmix.base.checks import one_of, whole_number, whole_number_or_none
from topmix.corpus.corpus import Corpus
from topmix.corpus.rows import Rows
from topmix.corpus.shard import Batches, at_random
from topmix.engines.engine import Engine
from topmix.learn.asynchronous_workers import OwnRows
from topmix.learn.learners import Learner, Passes, SomeWorkers, State, Task
from topmix.models.model import Model
from topmix.models.topics import TopicModel

FIRST_BATCHES = 10  # of the first pass of a mixture, at most


@dataclass(frozen=True, repr=False)
class Asynchronous(Learner):
    """Workers that do not wait for each other. With several of them, results differ from run to run.

    Parameters
    ----------
    workers : int or None
        Workers that share the rows. None is n_jobs for topics and 1 for mixtures, where one worker has all clusters at
        hand all the time and serves a row best.
    batch_size : int or None
        Mixtures: rows between two updates. None takes more where an update costs more.
    tail : {"best", "mean"}
        Topics: the share of each topic outside the n_active best, the same for all of them. "best" maximises the bound
        under that constraint; "mean" is the mean of the shares they would have had.
    warm_up : int
        Topics: first passes, never more than half of max_iter, that weigh by posterior means. They keep documents open
        to topics that are still forming. After them the bound rises.
    block_words : int or None
        Topics: words that travel together. None takes as many as fit into a cache.
    per_token : bool
        Topics: the counts of a word follow every token, as Algorithm 5 of the paper has it, instead of once per visit.
        Words then travel one by one, each round in a new order. Slow; for comparisons. Needs engine="threads".

    Examples
    --------
    >>> from topmix.learners import Asynchronous
    >>> Asynchronous(workers=2)
    Asynchronous(workers=2)
    """

    workers: int | None = None
    batch_size: int | None = None
    tail: str = "best"
    warm_up: int = 20
    block_words: int | None = None
    per_token: bool = False

    travels: ClassVar[bool] = True

    def check(self) -> None:
        for name in ("workers", "batch_size"):
            whole_number_or_none(getattr(self, name), name)
        one_of(self.tail, ("best", "mean"), "tail")
        whole_number(self.warm_up, "warm_up", least=0)
        if not isinstance(self.per_token, bool):
            raise ValueError(f"per_token must be True or False, got {self.per_token!r}")
        if whole_number_or_none(self.block_words, "block_words") not in (None, 1) and self.per_token:
            raise ValueError(f"per_token=True needs block_words=1, got {self.block_words!r}: words travel one by one")

    def check_engine(self, engine: Engine) -> None:
        if not engine.may_travel:
            raise ValueError(
                f"'asynchronous' has workers of its own: engine must be 'threads' or 'ray', got {engine!r}"
            )
        if engine.is_cluster and self.workers is not None:
            raise ValueError(f"workers={self.workers!r}: on a cluster, Ray(workers=...) says how many there are")
        if engine.is_cluster and self.per_token:
            raise ValueError("per_token=True needs engine='threads': a message for every word would take far too long")

    def check_posterior(self, posterior: str) -> None:
        if posterior != "variational":
            raise ValueError("learner='asynchronous' needs inference='variational': set it, or use learner='memoized'")

    def check_stream(self) -> None:
        raise ValueError("partial_fit is a stochastic step; learner='asynchronous' keeps its documents: use fit")

    def check_topics(self, model: TopicModel) -> None:
        if model.prior.is_process:
            raise ValueError("HDP cannot be learned with learner='asynchronous': use 'memoized'")
        if not model.prior.is_shared:
            raise ValueError("learner='asynchronous' has one prior for all documents: use 'memoized'")
        if model.words.held is not None:
            raise ValueError("learner='asynchronous' cannot ban, pin or freeze words: use 'memoized'")

    def for_mixture(self, name: str, likelihood: type, parameters: Mapping[str, object], data: Corpus | Rows) -> Self:
        from topmix.learn.asynchronous_mixture import rows_per_update

        usual = rows_per_update(name, likelihood, parameters, data)
        return replace(self, batch_size=self.batch_size or usual)

    def batches(self, data: Corpus | Rows, L: int, rng: np.random.Generator, default: int = 10) -> Batches:
        """Of the first pass of a mixture, which is memoized; topics need none."""
        if self.batch_size is None:  # `for_mixture` chooses one
            return []
        return at_random(data, min(FIRST_BATCHES, len(data) // (4 * self.batch_size)), rng)

    def open(self, task: Task, rng: np.random.Generator) -> SomeWorkers:
        from topmix.learn import asynchronous_mixture as mixture, asynchronous_topics as topics

        seed, engine = int(rng.integers(2**63)), task.engine
        if not isinstance(task.model, TopicModel):
            assert self.batch_size is not None, "for_mixture chooses a size"
            if engine.is_cluster:
                return mixture.MixtureOnCluster(task, engine, self.batch_size, seed)
            return mixture.AsynchronousMixture(task, self.workers or 1, self.batch_size, seed)
        assert isinstance(task.data, Corpus)
        settle, block_words = topics.SETTLING_PASSES if task.is_warm else 0, 1 if self.per_token else self.block_words
        warm_up = self.warm_up_passes(task)
        travel = topics.Travel(task.n_active, self.tail, warm_up, settle, seed, block_words, self.per_token)
        if engine.is_cluster:
            return topics.TopicsOnCluster(task.data, task.model, engine, travel, task.max_iter)
        return topics.AsynchronousTopics(task.data, task.model, self.workers or task.threads, travel, task.max_iter)

    def warm_up_passes(self, task: Task) -> int:
        has_none = task.is_warm or not isinstance(task.model, TopicModel)
        return 0 if has_none else min(self.warm_up, task.max_iter // 2)

    def interrupted(self, workers: OwnRows, model: Model) -> Model:
        return workers.interrupted(model)

    def passes(self, model: Model, workers: OwnRows, state: State) -> Passes:
        return workers.passes(model, state)
