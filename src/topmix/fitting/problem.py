"""What a fit of a topic model has to do, as the parameters of an estimator say."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from topmix.allocations.covariate_prior import CovariatePrior, Population
from topmix.data.corpus import Corpus
from topmix.data.shard import Batches, row_sums
from topmix.engines import Engine
from topmix.fitting.checkpoint import Checkpoint
from topmix.learners import Learner
from topmix.local import LocalStep
from topmix.models.document_options import DocumentOptions
from topmix.models.topics import TopicModel
from topmix.search.paused import Paused
from topmix.search.search import Search


@dataclass(frozen=True)
class SearchProblem:
    """What the search for the number of topics needs."""

    options: Callable[[str, bool], DocumentOptions]  # of documents: (posterior, whether the search is still on)
    begin: Callable[[Paused, Batches, np.random.Generator, int], Search]


@dataclass(frozen=True)
class TopicProblem:
    corpus: Corpus
    empty: TopicModel  # priors and options, without counts
    start: Callable[..., TopicModel]  # (rng)
    step: LocalStep
    learner: Learner
    engine: Engine
    threads: int
    n_active: int  # L
    max_iter: int
    tol: float  # per token
    default_batches: int = 10
    sweeps: int = 0  # of sampling
    draws: int = 0  # sweeps that draw effects of covariates too
    max_time: float | None = None  # seconds, of which sampling leaves some
    is_warm: bool = False  # topics are those of an earlier fit
    restarts_small_topics: bool = False  # topics that are small after the first pass start again
    weighs_tokens: bool = False  # stochastic: a batch is weighed by its share of the tokens
    search: SearchProblem | None = None
    checkpoint: Checkpoint | None = None

    @cached_property
    def lengths(self) -> np.ndarray:
        """[documents] tokens, for whoever needs them."""
        return row_sums(self.corpus.indptr, self.corpus.value)

    @cached_property
    def population(self) -> Population | None:
        """The documents as priors with covariates are learned from them."""
        design = self.corpus.design
        is_needed = design is not None and isinstance(self.empty.prior, CovariatePrior)
        return Population.of(design, self.lengths) if design is not None and is_needed else None
