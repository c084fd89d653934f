"""What all mixtures share as estimators: fitting, answers about rows, and files."""

from __future__ import annotations

import copy
import warnings
from abc import abstractmethod
from collections.abc import Iterator
from contextlib import closing
from typing import Any, ClassVar, Self

import numpy as np
import scipy.sparse as sp
from sklearn.base import BaseEstimator, DensityMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state
from sklearn.utils.validation import _check_sample_weight, check_is_fitted

from topmix.allocations import WEIGHTS
from topmix.allocations.finite_dirichlet import FiniteDirichlet
from topmix.allocations.stick_breaking import StickBreaking
from topmix.data.corpus import Corpus
from topmix.data.shard import Shards, in_order
from topmix.data.table import Table
from topmix.estimators.all_or_nothing import all_or_nothing
from topmix.estimators.components import ComponentParameters
from topmix.estimators.saving import SaveMixin
from topmix.estimators.sklearn_callbacks import CallbackSupportMixin, with_sklearn_callbacks
from topmix.estimators.snapshot import snapshot
from topmix.files.reader import CheckedReader
from topmix.files.writer import Writer
from topmix.fitting.history import Callback, Clock, Record, last_objective
from topmix.fitting.passes import Log, Stopping, run_passes
from topmix.fitting.progress import shown
from topmix.learners import Learner, State, Task
from topmix.learners.stochastic import blend, stream_of
from topmix.local import LocalStep
from topmix.local.assign import Assigned, AssignStep
from topmix.local.mixture import MixtureStep
from topmix.models.mixture import Mixture
from topmix.numerics.dirichlet import OBJECTIVES
from topmix.numerics.threads import use_threads
from topmix.parameters.checks import (
    any_number,
    count_of_active,
    count_of_components,
    one_of,
    positive_number,
    whole_number,
)

NOT_CONVERGED = (  # scikit-learn's words, which people filter by
    "Best performing initialization did not converge. Try different init parameters, or increase max_iter, tol, or "
    "check for degenerate data."
)


class MixtureEstimator(SaveMixin, DensityMixin, CallbackSupportMixin, ComponentParameters, BaseEstimator):
    """A mixture is an allocation and a likelihood; here is everything that does not depend on which."""

    _saved_attributes = ("n_iter_", "converged_", "elbo_", "lower_bound_", "n_batch_iter_", "n_seen_")
    _likelihood: ClassVar[Any]
    model_: Mixture

    @abstractmethod
    def _data(self, X: Any, *, reset: bool) -> Corpus | Table:
        """X, checked."""

    @abstractmethod
    def _prepared(self, data: Any, weight: np.ndarray | None, K: int) -> Any:
        """What is the same for all starts; bad parameters are refused here."""

    @abstractmethod
    def _first(
        self, prepared: Any, data: Any, weight: np.ndarray | None, K: int, rng: np.random.Generator
    ) -> tuple[Any, np.ndarray | None]:
        """A likelihood to start from, and the number of rows in each of its clusters, if that is known."""

    @abstractmethod
    def _set_attributes(self, model: Mixture) -> None: ...

    @abstractmethod
    def _n_parameters(self) -> int: ...

    @abstractmethod
    def _read_likelihood(self, file: CheckedReader, K: int, objective: str) -> Any: ...

    @with_sklearn_callbacks
    @all_or_nothing
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Learns the clusters of X, of shape (n_samples, n_features).

        Warns with scikit-learn's ConvergenceWarning where `max_iter` passes were not enough; not where `tol` is
        negative, which asks for all of them, and not where a callback ended the fit.
        """
        clock, K = Clock(), count_of_components(self.n_components)
        n_init, max_iter = whole_number(self.n_init, "n_init"), whole_number(self.max_iter, "max_iter", least=0)
        tol, threads = any_number(self.tol, "tol"), self._threads()
        with use_threads(threads):
            warm = self._warm(K)
            data = self._data(X, reset=warm is None)
            learner, step = self._learner(data), self._step(K)
            weight = _weights(sample_weight, data)
            rng = self._rng()
            prepared = self._prepared(data, weight, K) if warm is None else None
            n_init = n_init if warm is None else 1
            n_rows = float(len(data)) if weight is None else float(weight.sum())
            is_continued = warm is not None and getattr(self, "n_seen_", None) == n_rows
            before = getattr(self, "elbo_", None) if is_continued else None
            L = count_of_active(self.n_active, K)
            batches = learner.batches(data, 1, rng)
            size = data.n_tokens if isinstance(data, Corpus) else float(len(data))
            best: tuple[Mixture, list[Record], bool] | None = None
            with shown(self.verbose, max_iter * n_init, size, type(self).__name__) as display:
                callbacks: list[Callback] = [*(self.callbacks or ()), *display]
                for _ in range(n_init):
                    start, pseudo = warm or self._started(prepared, data, weight, K, rng)
                    engine = self._component("engine")
                    task = Task(data, start, batches, step, engine, threads, L, max_iter, weight, warm is not None)
                    log = Log(clock, self._fitted_copy, callbacks)
                    self.history_ = log.history  # now, so that an interrupted fit has it too
                    stopping = Stopping(max_iter, tol * float(len(data)), learner.direction, before=before)
                    model, converged = self._learned(learner, task, pseudo, stopping, log, rng)
                    if best is None or last_objective(log.history) > last_objective(best[1]):
                        best = model, log.history, converged
            assert best is not None
            model, self.history_, self.converged_ = best
            self.n_iter_, self.elbo_, self.n_seen_ = len(self.history_), last_objective(self.history_), n_rows
            self.n_batch_iter_ = self.n_iter_ * learner.updates_per_pass(len(batches))
            self._set_model(model)
            self.lower_bound_ = self.elbo_ / n_rows if self._fitted_objective() == "ml" else self.elbo_
            self._look_back(data)
        if self.n_iter_ == max_iter > 0 and tol >= 0 and not self.converged_:
            warnings.warn(NOT_CONVERGED, ConvergenceWarning, stacklevel=4)
        return self

    def _look_back(self, data: Corpus | Table) -> None:
        """What an estimator has to say of the data that it was fitted to."""

    def _learned(
        self, learner: Learner, task: Task, pseudo: Any, stopping: Stopping, log: Log, rng: np.random.Generator
    ) -> tuple[Mixture, bool]:
        """Passes until they are enough: the model, and whether it has converged."""
        if stopping.max_iter == 0:
            return task.model, False
        with closing(learner.open(task, rng)) as workers:
            log.workers = workers
            return self._passes_made(learner, workers, task.model, State(pseudo_counts=pseudo), stopping, log)

    def _passes_made(
        self, learner: Learner, workers: Any, model: Mixture, state: State, stopping: Stopping, log: Log
    ) -> tuple[Mixture, bool]:
        """What is on a device is known here alone, so that it is gone when the workers close."""
        passes = learner.passes(workers.place(model), workers, state)
        try:
            found, converged = run_passes(passes, stopping, log)
        except KeyboardInterrupt:
            if (now := learner.interrupted(workers, model)) is not None:
                self._set_model(now)
            raise
        finally:
            passes.close()
        return found.on_host(), converged

    @all_or_nothing
    def partial_fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """One stochastic step on these rows. The first call also decides where clusters start and, where they are read
        off the data, their priors; `total_samples` of `Stochastic` says how many rows the stream stands for."""
        first, K, threads = not hasattr(self, "model_"), count_of_components(self.n_components), self._threads()
        with use_threads(threads):
            data = self._data(X, reset=first)
            weight = _weights(sample_weight, data)
            if first:
                model, pseudo = self._started(self._prepared(data, weight, K), data, weight, K, self._rng())
                self.n_batch_iter_, self.n_seen_, self.history_ = 0, 0.0, []
            else:
                model, pseudo = self.model_, None
            shards = Shards(data, in_order(data), weight)
            self.n_seen_ = getattr(self, "n_seen_", 0.0) + shards.n_rows
            step = MixtureStep(self._likelihood, count_of_active(self.n_active, model.n_components))
            with closing(self._component("engine").open(shards, step, threads)) as workers:
                model = self._stepped(workers, model, pseudo, is_first=first)
            self.n_batch_iter_ = getattr(self, "n_batch_iter_", 0) + 1
            self._set_model(model)
        return self

    def _stepped(self, workers: Any, model: Mixture, pseudo: Any, *, is_first: bool) -> Mixture:
        """The model after one stochastic step on all that the workers have."""
        model, given = workers.place(model), model
        total = model.as_stats()
        if is_first:
            total = model.no_stats().add(pseudo or total)
        elif model is given:
            total = copy.deepcopy(total)  # the step is made in place
        new = model.no_stats()
        for _, stats, _ in workers.run(model.tables, range(workers.n_shards)):
            new += stats
        stream = stream_of(self._component("learner"))
        size = stream.step_size(getattr(self, "n_batch_iter_", 0), new.n_rows)
        return model.update(blend(total, new, size, stream.stands_for(self.n_seen_), new.n_rows)).on_host()

    def fit_predict(self, X: Any, y: Any = None, sample_weight: Any = None) -> np.ndarray:
        """`fit`, then `predict`."""
        return self.fit(X, sample_weight=sample_weight).predict(X)

    def predict(self, X: Any) -> np.ndarray:
        """The most probable cluster of each row."""
        return np.concatenate([a.cluster[:, 0] for a in self._assigned(X, 1)])

    def predict_proba(self, X: Any, *, sparse_output: bool = False) -> np.ndarray | sp.csr_array:
        """Posterior probabilities of shape (n_samples, n_components); at most n_active of a row are not zero."""
        check_is_fitted(self, "model_")
        K = self.model_.n_components
        L = count_of_active(self.n_active, K)

        def probabilities(a: Assigned) -> sp.csr_array:
            r = a.r.astype(np.float64)
            r /= r.sum(axis=1, keepdims=True)  # float32 shares sum to one only roughly
            return sp.csr_array((r.ravel(), a.cluster.ravel(), np.arange(0, r.size + 1, L)), shape=(len(r), K))

        parts = (probabilities(a) for a in self._assigned(X, L))
        if sparse_output:
            return sp.vstack(list(parts), format="csr")
        return np.concatenate([part.toarray() for part in parts])

    def score_samples(self, X: Any) -> np.ndarray:
        """The log likelihood of each row under the fitted clusters; with objective "vb" a lower bound on it."""
        check_is_fitted(self, "model_")
        K = self.model_.n_components
        return np.concatenate([a.likelihood for a in self._assigned(X, K, keep_clusters=False)])

    def score(self, X: Any, y: Any = None) -> float:
        """The mean of score_samples."""
        return float(np.mean(self.score_samples(X)))

    def bic(self, X: Any) -> float:
        """Bayesian information criterion on X; the lower the better."""
        s = self.score_samples(X)
        return float(-2 * s.sum() + self._n_parameters() * np.log(len(s)))

    def aic(self, X: Any) -> float:
        """Akaike information criterion on X; the lower the better."""
        return float(-2 * self.score_samples(X).sum() + 2 * self._n_parameters())

    @property
    def lower_bounds_(self) -> list[float]:
        """`lower_bound_` after each pass, as in scikit-learn."""
        check_is_fitted(self, "lower_bound_")
        share = self.lower_bound_ / self.elbo_ if self.elbo_ else 1.0  # one, or one over the rows of the fit
        return [share * record.objective for record in self.history_]

    def _warm(self, K: int) -> tuple[Mixture, Any] | None:
        if not (self.warm_start and hasattr(self, "model_")):
            return None
        if self.model_.n_components != K:
            raise ValueError(f"warm_start keeps {self.model_.n_components} clusters, but n_components is now {K}")
        return self.model_, self.model_.as_stats()  # which fade in the first pass

    def _started(
        self, prepared: Any, data: Corpus | Table, weight: np.ndarray | None, K: int, rng: np.random.Generator
    ) -> tuple[Mixture, Any]:
        """A first model, and the statistics that it was made from, if they are known."""
        likelihood, N = self._first(prepared, data, weight, K, rng)
        allocation = self._allocation(K)
        model = Mixture(allocation if N is None else allocation.update(N), likelihood, data.shape[1], K)
        return model, None if N is None else model.as_stats()

    def _objective(self) -> str:
        return one_of(self.objective, OBJECTIVES, "objective")

    def _allocation(self, K: int) -> FiniteDirichlet | StickBreaking:
        kind = WEIGHTS[one_of(self.weight_concentration_prior_type, WEIGHTS, "weight_concentration_prior_type")]
        if kind is StickBreaking and self._objective() == "ml":
            raise ValueError("a Dirichlet process is a prior, and objective='ml' has none: use 'vb' or 'map'")
        prior = 1.0 / K if self.weight_concentration_prior is None else self.weight_concentration_prior
        return kind.uniform(positive_number(prior, "weight_concentration_prior"), K, self._objective())

    def _learner(self, data: Corpus | Table) -> Learner:
        learner: Learner = self._component("learner")
        learner.check_engine(self._component("engine"))
        return learner.for_mixture(type(self).__name__, self._likelihood, self.get_params(deep=False), data)

    def _step(self, K: int) -> LocalStep:
        return MixtureStep(self._likelihood, count_of_active(self.n_active, K))

    def _rng(self) -> np.random.Generator:
        return np.random.default_rng(check_random_state(self.random_state).randint(2**31, size=4))

    def _assigned(self, X: Any, L: int, *, keep_clusters: bool = True) -> Iterator[Assigned]:
        """The clusters of all rows, a shard at a time, by the engine's workers."""
        check_is_fitted(self, "model_")
        data = self._data(X, reset=False)
        shards, step = Shards(data, in_order(data)), AssignStep(self._likelihood, L, keep_clusters)
        workers = self._component("engine").open(shards, step, self._threads())
        first = 0
        try:
            results = workers.run(workers.place(self.model_).tables, range(len(shards)))
            for _ in range(len(shards)):
                with use_threads(self._threads()):
                    _, assigned, _ = next(results)
                _refuse_too_far(assigned.likelihood, first)
                first += len(assigned.likelihood)
                yield assigned
            del results  # which has the model where the workers read it
        finally:
            workers.close()

    def _set_model(self, model: Mixture) -> None:
        self.model_ = model
        self.weights_ = model.allocation.weights()
        self._set_attributes(model)

    def _fitted_copy(self, model: Mixture) -> Self:
        """A fitted copy of the estimator with this model, for callbacks."""
        now = snapshot(self)
        now._set_model(copy.deepcopy(model.on_host()))
        return now

    def _write(self, out: Writer) -> None:
        weights = self.model_.allocation
        out.value("n_components", self.model_.n_components)
        out.value("objective", self._fitted_objective())
        out.value("weights", next(name for name, kind in WEIGHTS.items() if isinstance(weights, kind)))
        weights.write(out.at("weights"))
        self._write_likelihood(out)

    def _write_likelihood(self, out: Writer) -> None:
        self.model_.likelihood.write(out)

    def _fitted_objective(self) -> str:
        weights = self.model_.allocation
        assert isinstance(weights, FiniteDirichlet | StickBreaking)
        return weights.objective

    def _read(self, file: CheckedReader, K: int) -> None:
        objective = file.choice("objective", OBJECTIVES)
        weights = WEIGHTS[file.choice("weights", tuple(WEIGHTS))].read(file.at("weights"), K, objective)
        self._set_model(Mixture(weights, self._read_likelihood(file, K, objective), file.n_features, K))


def _refuse_too_far(likelihood: np.ndarray, first: int) -> None:
    """Rows so far from all clusters that none of them has a likelihood. `first` is the number of the first row."""
    far = np.flatnonzero(~np.isfinite(likelihood))
    if len(far):
        raise ValueError(
            f"row {first + int(far[0])} of X is so far from all clusters that its likelihood is not a number; "
            "float64 reaches further than float32"
        )


def count_of_samples(n_samples: Any) -> int:
    try:
        return whole_number(n_samples, "it")
    except ValueError as error:
        raise ValueError(f"Invalid value for 'n_samples': {error}") from None


def _weights(sample_weight: Any, data: Corpus | Table) -> np.ndarray | None:
    if sample_weight is None:
        return None
    rows = data.to_scipy() if isinstance(data, Corpus) else data.data
    return np.asarray(_check_sample_weight(sample_weight, rows, dtype=np.float64, ensure_non_negative=True))
