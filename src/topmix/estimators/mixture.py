"""What all mixtures share as estimators: fitting, answers about rows, and files. Their models come by a few hooks."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterator
from typing import Any, ClassVar, Self

import numpy as np
import scipy.sparse as sp
from sklearn.base import BaseEstimator, DensityMixin
from sklearn.utils import check_random_state
from sklearn.utils.validation import _check_sample_weight, check_is_fitted

from topmix.allocations.finite import FiniteDirichlet
from topmix.allocations.sticks import StickBreaking
from topmix.data.corpus import Corpus
from topmix.data.shard import Shards, at_random, in_order
from topmix.data.table import Table
from topmix.engines import ENGINES
from topmix.estimators.inputs import (
    any_number,
    chosen,
    count_of_active,
    count_of_batches,
    count_of_components,
    count_of_threads,
    positive_count,
    positive_number,
)
from topmix.estimators.saving import SaveMixin
from topmix.estimators.sklearn_callbacks import CallbackSupportMixin, telling_callbacks
from topmix.files.reader import SMALLEST, Parts
from topmix.fitting.history import Callback, Clock, Record, TimeLimit, passes
from topmix.fitting.progress import shown
from topmix.learners import LEARNERS
from topmix.learners.learner import Passes
from topmix.learners.stochastic import StepSize, blend
from topmix.local import MixtureStep, rows_at_a_time
from topmix.models.mixture import Mixture
from topmix.numerics.dirichlet import OBJECTIVES

ALLOCATIONS: dict[str, type[FiniteDirichlet] | type[StickBreaking]] = {
    "dirichlet_distribution": FiniteDirichlet,
    "dirichlet_process": StickBreaking,
}
STOCHASTIC_ROWS = 4096  # between two updates, unless batch_size says otherwise


class MixtureEstimator(SaveMixin, DensityMixin, CallbackSupportMixin, BaseEstimator):
    """A mixture is an allocation and a likelihood; here is everything that does not depend on which."""

    _saved_attributes = ("n_iter_", "converged_", "elbo_", "lower_bound_", "n_batch_iter_", "n_seen_")
    _likelihood: ClassVar[Any]
    max_time: float | None = None
    model_: Mixture

    @abstractmethod
    def _read(self, X: Any, *, reset: bool) -> Corpus | Table:
        """X, checked."""

    @abstractmethod
    def _prepared(self, data: Any, weight: np.ndarray | None, K: int) -> Any:
        """What is the same for all starts; bad parameters are refused here."""

    @abstractmethod
    def _first(
        self, prepared: Any, data: Any, weight: np.ndarray | None, K: int, rng: np.random.Generator, threads: int
    ) -> tuple[Any, np.ndarray | None]:
        """A likelihood to start from, and how many rows each of its clusters stands for, if that is known."""

    @abstractmethod
    def _set_attributes(self, model: Mixture) -> None: ...

    @abstractmethod
    def _n_parameters(self) -> int: ...

    @telling_callbacks
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Learns the clusters of X, of shape (n_samples, n_features)."""
        clock, K, threads = Clock(), count_of_components(self.n_components), count_of_threads(self.n_jobs)
        learn = self._learner(K, threads)
        n_init, max_iter = positive_count(self.n_init, "n_init"), positive_count(self.max_iter, "max_iter")
        tol = any_number(self.tol, "tol")
        limits = [] if self.max_time is None else [TimeLimit(positive_number(self.max_time, "max_time"))]
        warm = self._warm(K)
        data = self._read(X, reset=warm is None)
        weight = _weights(sample_weight, data)
        rng = self._rng()
        prepared = self._prepared(data, weight, K) if warm is None else None
        shards = Shards(data, self._batches(data, rng), weight)
        size = data.n_tokens if isinstance(data, Corpus) else float(len(data))
        best: tuple[Mixture, list[Record], bool] | None = None
        with shown(self.verbose, max_iter * n_init, size, type(self).__name__) as display:
            callbacks: list[Callback] = [*(self.callbacks or ()), *limits, *display]
            for _ in range(n_init):
                start, seed = warm or self._started(prepared, data, weight, K, rng, threads)
                self.history_: list[Record] = []  # now, so that an interrupted fit has it too
                model, converged = self._learned(
                    start, learn(start, shards, seed, rng), callbacks, max_iter, tol, float(len(data)), clock
                )
                if best is None or self.history_[-1].objective > best[1][-1].objective:
                    best = model, self.history_, converged
        assert best is not None
        model, self.history_, self.converged_ = best
        self.n_iter_, self.elbo_ = len(self.history_), self.history_[-1].objective
        self.lower_bound_ = self.elbo_ / shards.n_rows if self.objective == "ml" else self.elbo_
        self.n_batch_iter_, self.n_seen_ = self.n_iter_ * len(shards), shards.n_rows
        self._set_model(model)
        return self

    def _learned(
        self,
        start: Mixture,
        run: Passes,
        callbacks: list[Callback],
        max_iter: int,
        tol: float,
        n_rows: float,
        clock: Clock,
    ) -> tuple[Mixture, bool]:
        """Passes until they are enough: the model, and whether it has converged."""
        latest = start

        def remember(_: Record, model: Mixture) -> None:
            nonlocal latest
            latest = model

        try:
            model, _, converged = passes(
                run, max_iter=max_iter, tol=tol, scale=n_rows, clock=clock, history=self.history_,
                callbacks=[remember, *callbacks],
            )  # fmt: skip
        except KeyboardInterrupt:
            if self.learner == "asynchronous":  # which works on copies; others may be in the middle of a total
                self._set_model(latest)
            raise
        finally:
            run.close()  # workers of an asynchronous fit would go on
        return model, converged

    def partial_fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """One stochastic step on these rows. The first call also decides where clusters start and, where they are read
        off the data, their priors; `total_samples` says how many rows the stream stands for."""
        first, K, threads = not hasattr(self, "model_"), count_of_components(self.n_components), self._threads()
        data = self._read(X, reset=first)
        weight = _weights(sample_weight, data)
        if first:
            model, seed = self._started(self._prepared(data, weight, K), data, weight, K, self._rng(), threads)
            total = model.no_stats(threads).add(seed or model.as_stats())
            self.n_batch_iter_, self.n_seen_, self.history_ = 0, 0.0, []
        else:
            model = self.model_
            total = model.as_stats()
        shards = Shards(data, in_order(data), weight)
        self.n_seen_ = getattr(self, "n_seen_", 0.0) + shards.n_rows
        step = MixtureStep(self._likelihood, count_of_active(self.n_active, model.n_components))
        new = model.no_stats(threads)
        for shard in shards:
            new += step(shard, model.tables(shard.cols), None, threads)[0]
        size = self._step_size()(getattr(self, "n_batch_iter_", 0))
        model = model.update(blend(total, new, size, float(self.total_samples or self.n_seen_), new.n_rows))
        self.n_batch_iter_ = getattr(self, "n_batch_iter_", 0) + 1
        self._set_model(model)
        return self

    def fit_predict(self, X: Any, y: Any = None, sample_weight: Any = None) -> np.ndarray:
        """`fit`, then `predict`."""
        return self.fit(X, sample_weight=sample_weight).predict(X)

    def predict(self, X: Any) -> np.ndarray:
        """The most probable cluster of each row."""
        return self._gathered(X, 1, lambda a: a.cluster[:, 0].copy())

    def predict_proba(self, X: Any, *, sparse_output: bool = False) -> np.ndarray | sp.csr_array:
        """Posterior probabilities of shape (n_samples, n_components); at most n_active of a row are not zero."""
        check_is_fitted(self, "model_")
        K = self.model_.n_components
        L = count_of_active(self.n_active, K)

        def probabilities(a: Any) -> sp.csr_array:
            r = a.r.astype(np.float64)
            r /= r.sum(axis=1, keepdims=True)  # float32 shares sum to one only roughly
            return sp.csr_array((r.ravel(), a.cluster.ravel(), np.arange(0, r.size + 1, L)), shape=(len(r), K))

        if sparse_output:
            return sp.vstack([probabilities(a) for a in self._assigned(X, L)], format="csr")
        return self._gathered(X, L, lambda a: probabilities(a).toarray())

    def score_samples(self, X: Any) -> np.ndarray:
        """The log likelihood of each row under the fitted clusters; with objective "vb" a lower bound on it."""
        check_is_fitted(self, "model_")
        return self._gathered(X, self.model_.n_components, lambda a: a.likelihood)

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

    def _warm(self, K: int) -> tuple[Mixture, Any] | None:
        if not (self.warm_start and hasattr(self, "model_")):
            return None
        if self.model_.n_components != K:
            raise ValueError(f"warm_start keeps {self.model_.n_components} clusters, but n_components is now {K}")
        return self.model_, self.model_.as_stats()  # which fade in the first pass

    def _started(
        self, prepared: Any, data: Corpus | Table, weight: np.ndarray | None, K: int, rng: Any, threads: int
    ) -> tuple[Mixture, Any]:
        likelihood, N = self._first(prepared, data, weight, K, rng, threads)
        allocation = self._allocation(K)
        model = Mixture(allocation if N is None else allocation.update(N), likelihood, data.shape[1], K)
        return model, None if N is None else model.as_stats()

    def _allocation(self, K: int) -> FiniteDirichlet | StickBreaking:
        kind = chosen(ALLOCATIONS, self.weight_concentration_prior_type, "weight_concentration_prior_type")
        chosen(dict.fromkeys(OBJECTIVES), self.objective, "objective")
        if kind is StickBreaking and self.objective == "ml":
            raise ValueError("a Dirichlet process is a prior, and objective='ml' has none: use 'vb' or 'map'")
        prior = 1.0 / K if self.weight_concentration_prior is None else self.weight_concentration_prior
        return kind.uniform(positive_number(prior, "weight_concentration_prior"), K, self.objective)

    def _batches(self, data: Corpus | Table, rng: np.random.Generator) -> list[slice | np.ndarray]:
        if self.learner == "batch":
            return in_order(data)
        size = self.batch_size
        if self.learner == "stochastic" and size is None and isinstance(data, Table):
            size = STOCHASTIC_ROWS
        return at_random(data, count_of_batches(size, data), rng)

    def _learner(self, K: int, threads: int) -> Callable[[Mixture, Shards, Any, np.random.Generator], Passes]:
        """What makes passes over shards, from a model and a seed; bad parameters are refused here."""
        make_engine = chosen(ENGINES, self.engine or "threads", "engine")
        learner, step = chosen(LEARNERS, self.learner, "learner"), self._step(K)
        settings: dict[str, Any] = {"step_size": self._step_size()} if self.learner == "stochastic" else {}
        return lambda start, shards, seed, rng: learner(start, make_engine(shards, step, threads), seed, **settings)

    def _step(self, K: int) -> MixtureStep:
        return MixtureStep(self._likelihood, count_of_active(self.n_active, K))

    def _step_size(self) -> StepSize:
        return StepSize(self.learning_scale, self.learning_offset, self.learning_decay)

    def _threads(self) -> int:
        return count_of_threads(self.n_jobs)

    def _rng(self) -> np.random.Generator:
        return np.random.default_rng(check_random_state(self.random_state).randint(2**31, size=4))

    def _assigned(self, X: Any, L: int) -> Iterator[Any]:
        """The assignment of all rows, a piece at a time."""
        check_is_fitted(self, "model_")
        data, K = self._read(X, reset=False), self.model_.n_components
        for shard in Shards(data, in_order(data)):
            tables = self.model_.tables(shard.cols)
            for piece in shard.pieces(rows_at_a_time(K, L, data.shape[1])):
                yield self._likelihood.assign(piece, tables.likelihood, tables.log_weights, L, self._threads())

    def _gathered(self, X: Any, L: int, what: Callable[[Any], np.ndarray]) -> np.ndarray:
        return np.concatenate([what(a) for a in self._assigned(X, L)])

    def _set_model(self, model: Mixture) -> None:
        self.model_ = model
        self.weights_ = model.allocation.weights()
        self._set_attributes(model)

    def _weights_to_arrays(self) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
        weights = self.model_.allocation
        assert isinstance(weights, FiniteDirichlet | StickBreaking)
        extra: dict[str, Any] = {"n_components": self.model_.n_components, "weights.prior": weights.prior}
        extra["objective"] = weights.objective
        if isinstance(weights, StickBreaking):
            return {"weights.sticks": weights.sticks}, extra | {"weights": "dirichlet_process"}
        return {"weights.gamma": weights.gamma}, extra | {"weights": "dirichlet_distribution"}

    def _weights_from_arrays(self, parts: Parts, K: int) -> FiniteDirichlet | StickBreaking:
        objective = parts.choice("objective", OBJECTIVES, missing="vb")
        prior = parts.number("weights.prior", SMALLEST)
        if parts.choice("weights", tuple(ALLOCATIONS), missing="dirichlet_distribution") == "dirichlet_process":
            return StickBreaking(prior, parts.array("weights.sticks", 2, K, positive=True), objective)
        return FiniteDirichlet(prior, parts.array("weights.gamma", K, positive=True), objective)


def _weights(sample_weight: Any, data: Corpus | Table) -> np.ndarray | None:
    if sample_weight is None:
        return None
    rows = data.to_scipy() if isinstance(data, Corpus) else data.data
    return np.asarray(_check_sample_weight(sample_weight, rows, dtype=np.float64, ensure_non_negative=True))
