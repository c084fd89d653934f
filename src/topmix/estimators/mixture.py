"""What all mixtures share as estimators: fitting, answers about rows, words of clusters, edits, and files."""

from __future__ import annotations

import copy
import warnings
from abc import abstractmethod
from collections.abc import Mapping, Sequence
from contextlib import closing
from dataclasses import replace
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
import scipy.sparse as sp
from sklearn.exceptions import ConvergenceWarning

from topmix.base.checks import (
    any_number,
    count_of_active,
    count_of_components,
    one_of,
    positive_number,
    whole_number,
)
from topmix.base.dirichlet import OBJECTIVES
from topmix.base.fields import CheckedReader, Writer
from topmix.corpus.corpus import Corpus
from topmix.corpus.rows import GroupedRows, Rows
from topmix.corpus.shard import Shards, in_order
from topmix.estimators.checkpoints import checkpoint_of_clusters
from topmix.estimators.clusters import ClusterEstimator
from topmix.estimators.declared import FitOptions
from topmix.estimators.estimator import Started
from topmix.estimators.odd_data import check_targets, checked_weights, warn
from topmix.io.reading import How, Reading
from topmix.learn.checkpoint import ClusterFiles
from topmix.learn.cluster_search import ClusterSearchPlan
from topmix.learn.clusters import ClusterPasses, ClusterStart, FirstClusters
from topmix.learn.fit import run
from topmix.learn.history import Record
from topmix.learn.learners import streamed
from topmix.learn.problem import FitSettings, Given, Outcome, PassPlan, Problem
from topmix.models.document_prior import Prior
from topmix.models.mixture import WEIGHTS, Admixture, FiniteDirichlet, Mixture, StickBreaking, WeightPrior
from topmix.models.model import Likelihood, SomeTotal
from topmix.results.mixture import ClusterWords, FittedMixture
from topmix.results.topics import AboutFit
from topmix.steps import LocalStep
from topmix.steps.rows import MixtureStep

NOT_CONVERGED = (  # scikit-learn's words, which people filter by
    "Best performing initialization did not converge. Try different init parameters, or increase max_iter, tol, or "
    "check for degenerate data."
)
NO_PROCESS = "a Dirichlet process is a prior, and objective='ml' has none: use 'vb' or 'map'"


class ClusterData(NamedTuple):
    """What a mixture reads: counts or rows, in groups where there are any, and the words beside them."""

    data: Corpus | Rows
    reading: Reading
    words: Corpus | None = None  # a document for each row, or for each group
    words_reading: Reading | None = None


class MixtureEstimator(Started, ClusterEstimator):
    """A mixture is an allocation and a likelihood; here is everything that does not depend on which.

    Parameters
    ----------
    n_components : int
        Number of clusters, K.
    n_active : int or None
        Clusters kept per row, L. 1 is hard assignment, as in k-means; None keeps all K.
    learner : {"memoized", "batch", "stochastic", "asynchronous"} or an object of topmix.learners
        How the data is visited. Memoized and batch climb the same objective, and memoized, which moves after each
        batch, gets there sooner. Stochastic remembers nothing of a batch, and its bound is an estimate. Asynchronous
        workers keep their share of the rows while clusters travel between them; they hold the rows and their n_active
        clusters in memory.
    weight_concentration_prior_type : {"dirichlet_distribution", "dirichlet_process"}
        The prior on weights: a Dirichlet, or a Dirichlet process cut off after n_components sticks.
    weight_concentration_prior : float or None
        Dirichlet prior on the weight of each cluster, alpha / K, or the process's concentration. None is 1 / K.
    max_iter : int
        Passes over the data, at most. 0 leaves the clusters where they start. A fit that has not converged by then
        warns with scikit-learn's ConvergenceWarning, unless `tol` is negative or a callback ended it.
    tol : float
        Stop when a pass lifts the objective by less than this, per row.
    warm_start : bool
        Start `fit` from the clusters of the last one.
    """

    n_components = 8
    objective: str = "map"
    n_active = 8
    weight_concentration_prior_type: str = "dirichlet_distribution"
    weight_concentration_prior: float | None = None
    max_iter: int = 100

    _kind: ClassVar[type[Mixture] | type[Admixture]] = Mixture
    _likelihood: ClassVar[type[Likelihood]]
    _least_batch: ClassVar[int] = 1  # rows
    _least_of_each: ClassVar[int] = 0  # rows of a batch for each cluster

    @abstractmethod
    def _start(self, data: Any, weight: np.ndarray | None, K: int) -> ClusterStart:
        """Where clusters start; bad parameters are refused here."""

    def _documents(
        self, X: object, groups: object, texts: object, how: How, before: FittedMixture | None
    ) -> ClusterData:
        return ClusterData(*self._data(X, groups, how, None if before is None else before.reading))

    def _refuse_groups(self, groups: object) -> None:
        if groups is not None:
            raise ValueError(f"a {type(self).__name__} knows no groups: groups= is for admixtures")

    def _fit_as(
        self, X: object, y: object, sample_weight: object, how: Mapping[str, object], groups: object = None
    ) -> Self:
        options = FitOptions.of(how)
        self._learn(lambda: self._declared()._fit(X, y, sample_weight, groups, options))
        f = self._found()
        if f.n_iter == self.max_iter and f.n_iter > 0 and self.tol >= 0 and not f.converged:
            warnings.warn(NOT_CONVERGED, ConvergenceWarning, stacklevel=4)
        return self

    def _fit(self, X: object, y: object, sample_weight: object, groups: object, options: FitOptions) -> FittedMixture:
        K, before = count_of_components(self.n_components), self._fitted if self._is_warm() else None
        if before is not None:
            self._check_warm(before, K)
        data, reading, texts, of_texts = self._documents(X, groups, options.texts, options.how, before)
        problem = self._problem(data, checked_weights(sample_weight, data), K, before)
        n = len(rows_of(data))
        check_targets(y, n)
        if n < K:
            warn(f"there are more clusters ({K}) than rows ({n}), so some stay empty or hold a row each")
        if options.keep is not None:
            found_size = None if isinstance(problem.plan, ClusterSearchPlan) else K
            files = ClusterFiles.of(problem, found_size, self._likelihood, self._objective())
            problem = replace(problem, keep=checkpoint_of_clusters(self, problem, options.keep, files))
        before_texts = None if before is None else before.texts

        def value(model: Mixture | Admixture, history: Sequence[Record]) -> FittedMixture:
            kept = before_texts is not None and before_texts.counts.shape[0] == model.n_components
            return FittedMixture(
                reading=reading,
                model=model,
                history=tuple(history),
                n_iter=len(history),
                n_seen=problem.n_rows,
                texts=before_texts if kept else None,  # until this fit is over
            )

        size = data.n_tokens if isinstance(data, Corpus) else float(n)
        settings = self._settings(size, data.shape[1], lambda m, h: value(copy.deepcopy(m.on_host()), h), options.clock)
        settings.keeps_last &= not problem.learner.travels and not problem.engine.on_device
        found = self._further(problem, run(problem, settings, self._rng()), settings)
        f = replace(
            value(found.model, found.history),
            converged=found.converged,
            objective=found.objective,
            n_updates=found.n_updates,
            texts=None,
        )
        now = self._with(f)
        f = replace(f, labels=np.concatenate([a.cluster[:, 0] for a in f.assign(data, now._solver(), 1)]))
        if texts is None or of_texts is None:
            return f
        if texts.n_tokens == 0:  # vectors alone
            return replace(f, texts=before_texts)
        return replace(f, texts=ClusterWords.of(now._shares(data, texts.n_docs), texts, of_texts))

    def _problem(self, data: Corpus | Rows, weight: np.ndarray | None, K: int, before: FittedMixture | None) -> Problem:
        """What there is to learn."""
        rows, parameters = rows_of(data), self.get_params(deep=False)
        learner = self._learner().for_mixture(type(self).__name__, self._likelihood, parameters, data)
        n_rows = float(len(rows)) if weight is None else float(weight.sum())
        return Problem(
            data=data,
            first=self._first_clusters(data, weight, K) if before is None else self._start_from(before.model),
            step=self._local_step(K),
            learner=learner,
            engine=self._engine(),
            threads=self._threads(),
            n_active=count_of_active(self.n_active, K),
            max_iter=whole_number(self.max_iter, "max_iter", least=0),
            least_gain=any_number(self.tol, "tol") * n_rows,
            plan=self._plan(data, weight),
            weight=weight,
            batches=max(1, min(10, len(rows) // max(self._least_batch, self._least_of_each * K))),
            deals_first=True,
            is_warm=before is not None,
            before=before.objective if before is not None and before.n_seen == n_rows else None,
            warm_up=self._warm_up(),
        )

    def _plan(self, data: Corpus | Rows, weight: np.ndarray | None) -> PassPlan:
        return ClusterPasses

    def _further(self, problem: Problem, found: Outcome, settings: FitSettings) -> Outcome:
        """The fit goes on in another way, where there is one."""
        return found

    def _shares(self, data: Corpus | Rows, n_texts: int) -> sp.csr_array:
        """[texts, K] what clusters have of each text of the fit."""
        return self._found().probabilities(data, self._solver(), self._solver().n_active)[0]

    def partial_fit(self, X: object, y: object = None, sample_weight: object = None) -> Self:
        """One stochastic step on these rows. The first call also decides where clusters start and, where they are read
        off the data, their priors; `total_samples` of `Stochastic` says how many rows the stream stands for."""
        return self._learn(lambda: self._declared()._step(X, None, sample_weight))

    def _step(self, X: object, groups: object, sample_weight: object) -> FittedMixture:
        K, f = count_of_components(self.n_components), self._fitted
        data, reading = self._data(X, groups, known=None if f is None else f.reading)
        weight, pseudo = checked_weights(sample_weight, data), None
        if f is None:
            model, pseudo = self._first_clusters(data, weight, K).model(self._rng())
        else:
            model = f.model
        shards = Shards(data, in_order(data), weight)
        n_updates, n_seen = (0, shards.n_rows) if f is None else (f.n_updates, f.n_seen + shards.n_rows)
        step, learner = self._step_of(model.n_components), self._component("learner")

        def past(placed: Mixture | Admixture) -> SomeTotal:
            total: SomeTotal = placed.as_stats()
            if f is None:
                return placed.no_stats().add(pseudo or total)
            return copy.deepcopy(total) if placed is model else total  # the step is made in place

        with closing(self._engine().open(shards, step, self._threads())) as workers:
            model = streamed(workers, model, past, learner, n_updates, n_seen)[0]  # nothing else of a device
        before = FittedMixture(reading=reading, model=model) if f is None else f
        return replace(before, model=model, n_updates=n_updates + 1, n_seen=n_seen, labels=None)

    def fit_predict(self, X: object, y: object = None, sample_weight: object = None) -> np.ndarray:
        """`fit`, then its labels."""
        return self.fit(X, sample_weight=sample_weight).labels_

    def _sampled_labels(self, n_samples: object, rng: np.random.Generator | np.random.RandomState) -> np.ndarray:
        """The clusters of rows that are drawn, in order."""
        n = whole_number(n_samples, "Invalid value for 'n_samples': it")  # scikit-learn's words
        return np.repeat(np.arange(len(self.weights_)), rng.multinomial(n, self.weights_))

    # What is learned, by the parameters

    def _check_warm(self, f: FittedMixture, K: int) -> None:
        """Whether a fit can continue from these clusters."""
        if f.model.n_components != K:
            raise ValueError(f"warm_start keeps {f.model.n_components} clusters, but n_components is now {K}")

    def _start_from(self, model: Mixture | Admixture) -> Given:
        """A start from clusters that were learned before; their statistics fade in the first pass."""
        return Given(model, model.as_stats())

    def _first_clusters(self, data: Corpus | Rows, weight: np.ndarray | None, K: int) -> FirstClusters:
        return FirstClusters(self._prior(K), self._start(rows_of(data), weight, K), data.shape[1])

    def _prior(self, K: int) -> FiniteDirichlet | StickBreaking | Prior:
        """Of weights, before anything is learned."""
        return self._weight_prior().of(K)

    def _objective(self) -> str:
        return one_of(self.objective, OBJECTIVES, "objective")

    def _weight_prior(self) -> WeightPrior:
        """Of the weights of one mixture."""
        kind = WEIGHTS[one_of(self.weight_concentration_prior_type, WEIGHTS, "weight_concentration_prior_type")]
        if kind is StickBreaking and self._objective() == "ml":
            raise ValueError(NO_PROCESS)
        prior = self.weight_concentration_prior
        prior = None if prior is None else positive_number(prior, "weight_concentration_prior")
        return WeightPrior(kind, prior, self._objective())

    def _warm_up(self) -> int:
        """First passes that may lower the objective."""
        return 0

    def _local_step(self, K: int) -> LocalStep:
        return self._step_of(K)

    def _step_of(self, K: int) -> LocalStep:
        """The local step that remembers no candidates."""
        return MixtureStep(self._likelihood, count_of_active(self.n_active, K))

    def _write(self, fitted: FittedMixture, out: Writer) -> None:
        out.value("objective", fitted.optimises)
        fitted.model.write(out)
        if fitted.texts is not None:
            fitted.texts.write(out.at("texts"))

    def _read(self, about: AboutFit, file: CheckedReader, K: int) -> FittedMixture:
        objective = file.choice("objective", OBJECTIVES)
        texts = ClusterWords.read(file.at("texts"), K=K) if file.has("texts") else None
        model = self._kind.read(file, self._likelihood, file.n_features, K, objective)
        return FittedMixture(**about, model=model, texts=texts)


def rows_of(data: object) -> Any:
    """Without groups."""
    return data.rows if isinstance(data, GroupedRows) else data
