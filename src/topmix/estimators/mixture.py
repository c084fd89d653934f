"""What all mixtures share as estimators: fitting, answers about rows and the texts beside them, edits and files."""

from __future__ import annotations

import copy
import warnings
from abc import abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import replace
from functools import partial
from typing import Any, ClassVar, Self

import numpy as np
import scipy.sparse as sp
from sklearn.base import DensityMixin
from sklearn.exceptions import ConvergenceWarning

from topmix.base.checks import any_number, count_of_active, count_of_components, one_of, positive_number, whole_number
from topmix.base.dirichlet import OBJECTIVES
from topmix.base.fields import CheckedReader, Writer
from topmix.base.threads import use_threads
from topmix.corpus.corpus import Corpus
from topmix.corpus.rows import GroupedRows, Rows
from topmix.corpus.shard import Shards, in_order
from topmix.estimators.declared import FitOptions, checked_weights, fraction
from topmix.estimators.described import Edited
from topmix.estimators.estimator import Learning, Started, check_targets, learned
from topmix.estimators.files import checkpoint_of
from topmix.estimators.priors import renewed
from topmix.io.documents import AS_IT_IS
from topmix.io.reading import How, Reading
from topmix.learn.checkpoint import ClusterFiles
from topmix.learn.clusters import ClusterPasses, ClusterStart, first_clusters
from topmix.learn.fit import First, FitSettings, Problem, run, starting_from
from topmix.learn.history import Outcome, Record
from topmix.learn.learners import streamed
from topmix.models.document_prior import Prior
from topmix.models.mixture import WEIGHTS, Admixture, Allocation, Mixture, StickBreaking, WeightPrior
from topmix.models.model import Likelihood, SomeTotal
from topmix.results.mixture import ClusterWords, FittedMixture
from topmix.results.tables import document_info
from topmix.results.topics import NO_TOPIC, AboutFit, Solver
from topmix.results.view import DataFrame
from topmix.steps.rows import MixtureStep, RowStep

NOT_CONVERGED = (  # scikit-learn's words, which people filter by
    "Best performing initialization did not converge. Try different init parameters, or increase max_iter, tol, or "
    "check for degenerate data."
)
NO_PROCESS = "a Dirichlet process is a prior, and objective='ml' has none: use 'vb' or 'map'"

# What a fit reads: counts or rows, in groups where there are any, and a document for each row or for each group.
Read = tuple[Corpus | Rows, Reading, tuple[Corpus, Reading] | None]


class MixtureEstimator(Started, Learning, DensityMixin, Edited[FittedMixture]):
    """A mixture is an allocation and a likelihood; here is everything that does not depend on which.

    Parameters
    ----------
    n_active : int or None
        Clusters kept per row, L. 1 is hard assignment, as in k-means; None keeps all K.
    learner : {"memoized", "batch", "stochastic", "asynchronous"} or an object of topmix.learners
        How the data is visited. "memoized" and "batch" climb the same objective; memoized, which moves after each
        batch, gets there sooner. The bound of "stochastic" is an estimate. "asynchronous" workers hold their rows in
        memory while clusters travel between them.
    weight_concentration_prior_type : {"dirichlet_distribution", "dirichlet_process"}
        The prior on weights: a Dirichlet, or a Dirichlet process cut off after n_components sticks.
    weight_concentration_prior : float or None
        Dirichlet prior on the weight of each cluster, alpha / K, or the process's concentration. None is 1 / K.
    max_iter : int
        Passes over the data, at most. 0 leaves the clusters where they start. If they have not converged by then,
        there is a ConvergenceWarning, unless `tol` is negative or a callback ended the fit.
    tol : float
        Stop when a pass lifts the objective by less than this, per row.

    Attributes
    ----------
    weights_ : ndarray of shape (n_components,)
        Share of each cluster.
    labels_ : ndarray of shape (n_samples,)
        The most probable cluster of each row of the last `fit`. Not part of a saved model.
    objective_, elbo_ : float
        The objective at the end, summed over rows.
    lower_bound_ : float
        The same, as scikit-learn has it: per row for "ml".
    lower_bounds_ : list of float
        lower_bound_ after each pass.
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

    weights_ = learned[np.ndarray](lambda f: f.weights)
    elbo_ = learned[float](lambda f: f.objective)
    lower_bound_ = learned[float](lambda f: f.lower_bound)
    labels_ = learned[np.ndarray](lambda f: f.labels)

    @property
    def lower_bounds_(self) -> list[float]:
        self._found()
        share = self.lower_bound_ / self.elbo_ if self.elbo_ else 1.0  # one, or one over the rows of the fit
        return [share * record.objective for record in self.history_]

    @abstractmethod
    def _data(
        self, X: object, groups: object = None, how: How = AS_IT_IS, known: Reading | None = None
    ) -> tuple[Corpus | Rows, Reading]:
        """X, checked, in groups where there are any."""

    @abstractmethod
    def _start(self, data: Any, weight: np.ndarray | None, K: int) -> ClusterStart:
        """Where clusters start; bad parameters are refused here."""

    def _documents(self, X: object, groups: object, texts: object, how: How, before: FittedMixture | None) -> Read:
        return *self._data(X, groups, how, None if before is None else before.reading), None

    def _refuse_groups(self, groups: object) -> None:
        if groups is not None:
            raise ValueError(f"a {type(self).__name__} knows no groups: groups= is for admixtures")

    def _further(self, problem: Problem, found: Outcome, settings: FitSettings) -> Outcome:
        """The fit goes on in another way, where there is one."""
        return found

    def _shares(self, data: Corpus | Rows, n_texts: int) -> sp.csr_array:
        """[texts, K] what clusters have of each text of the fit."""
        return self._found().probabilities(data, self._solver(), self._solver().n_active)[0]

    def _warm(self, f: FittedMixture, data: Corpus | Rows, K: int) -> Mixture | Admixture:
        """Clusters that were learned before, to start from, with the priors of now."""
        model, changed = f.model, self._check_warm(f, K)
        if changed:
            model = replace(model, likelihood=self._start(data.rows, None, K).again(model.likelihood))
        if "weight_concentration_prior" in changed:
            prior: Any = self._prior(K)
            if isinstance(model, Mixture):
                return replace(model, allocation=prior.update(model.sizes))
            return replace(model, prior=renewed(prior, model.prior))
        return model

    def _first_clusters(self, data: Corpus | Rows, weight: np.ndarray | None, K: int) -> First:
        return partial(first_clusters, self._prior(K), self._start(data.rows, weight, K), data.shape[1])

    def _objective(self) -> str:
        return one_of(self.objective, OBJECTIVES, "objective")

    def _prior(self, K: int) -> Allocation | Prior:
        """Of weights, before anything is learned."""
        return self._weight_prior()(K)

    def _weight_prior(self) -> WeightPrior:
        kind = WEIGHTS[one_of(self.weight_concentration_prior_type, WEIGHTS, "weight_concentration_prior_type")]
        prior, objective = self.weight_concentration_prior, self._objective()
        if kind is StickBreaking and objective == "ml":
            raise ValueError(NO_PROCESS)
        if prior is not None:
            prior = positive_number(prior, "weight_concentration_prior")
        return lambda K: kind.uniform(1.0 / K if prior is None else prior, K, objective)

    def _local_step(self, K: int, *, is_stream: bool = False) -> RowStep:
        """A stream remembers nothing of a row."""
        return MixtureStep(self._likelihood, count_of_active(self.n_active, K))

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
        K, before = count_of_components(self.n_components), self._before()
        data, reading, texts = self._documents(X, groups, options.texts, options.how, before)
        problem = self._problem(data, checked_weights(sample_weight, data), K, before)
        n = len(data.rows)
        check_targets(y, n)
        if n < K:
            warnings.warn(f"there are more clusters ({K}) than rows ({n}), so some stay empty", stacklevel=6)
        if options.checkpoint is not None:
            found_size = K if problem.plan is ClusterPasses else None
            step = self._local_step(K)
            files = ClusterFiles.of(problem, step, found_size, self._likelihood, self._objective())
            problem = replace(problem, keep=checkpoint_of(self, problem, options, files))
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
        if texts is None:
            return f
        if texts[0].n_tokens == 0:  # vectors alone
            return replace(f, texts=before_texts)
        return replace(f, texts=ClusterWords.of(now._shares(data, texts[0].n_docs), *texts))

    def _problem(self, data: Corpus | Rows, weight: np.ndarray | None, K: int, before: FittedMixture | None) -> Problem:
        rows, parameters = data.rows, self.get_params(deep=False)
        learner = self._learner().for_mixture(type(self).__name__, self._likelihood, parameters, data)
        n_rows = float(len(rows)) if weight is None else float(weight.sum())
        if before is None:
            first = self._first_clusters(data, weight, K)
        else:
            model = self._warm(before, data, K)
            first = starting_from(model, model.as_stats())
        return Problem(
            data=data,
            first=first,
            step=self._local_step(K),
            learner=learner,
            engine=self._engine(),
            threads=self._threads(),
            n_active=count_of_active(self.n_active, K),
            max_iter=whole_number(self.max_iter, "max_iter", least=0),
            least_gain=any_number(self.tol, "tol") * n_rows,
            plan=ClusterPasses,
            weight=weight,
            n_rows=n_rows,
            batches=max(1, min(10, len(rows) // max(self._least_batch, self._least_of_each * K))),
            deals_first=True,
            is_warm=before is not None,
            before=before.objective if before is not None and before.n_seen == n_rows else None,
        )

    def partial_fit(self, X: object, y: object = None, sample_weight: object = None) -> Self:
        """One stochastic step on these rows. The first call also decides where clusters start and, where they are read
        off the data, their priors; `total_samples` of `Stochastic` says how many rows the stream stands for."""
        return self._learn(lambda: self._declared()._step(X, None, sample_weight))

    def _step(self, X: object, groups: object, sample_weight: object) -> FittedMixture:
        K, f = count_of_components(self.n_components), self._fitted
        data, reading = self._data(X, groups, known=None if f is None else f.reading)
        weight, pseudo = checked_weights(sample_weight, data), None
        is_first = f is None
        if f is None:
            model, pseudo = self._first_clusters(data, weight, K)(self._rng())
            f = FittedMixture(reading=reading, model=model)
        before, shards = f.model, Shards(data, in_order(data), weight)
        step, learner = self._local_step(f.n_topics, is_stream=True), self._component("learner")
        n_seen = f.n_seen + shards.n_rows

        def past(placed: Mixture | Admixture) -> SomeTotal:
            total: SomeTotal = placed.as_stats()
            if is_first:
                return placed.no_stats().add(pseudo or total)
            return copy.deepcopy(total) if placed is before else total  # the step is made in place

        with closing(self._engine().open(shards, step, self._threads())) as workers:
            model = streamed(workers, before, past, learner, f.n_updates, n_seen)[0]  # nothing else of a device
        return replace(f, model=model, n_updates=f.n_updates + 1, n_seen=n_seen, labels=None)

    def fit_predict(self, X: object, y: object = None, sample_weight: object = None) -> np.ndarray:
        """`fit`, then its labels."""
        return self.fit(X, sample_weight=sample_weight).labels_

    def _solver(self) -> Solver:
        return Solver(self._engine(), self._threads(), count_of_active(self.n_active, self._found().n_topics))

    def _rows(self, X: object, groups: object) -> Any:
        with use_threads(self._threads()):
            return self._data(X, groups, known=self._found().reading)[0]

    def predict(
        self, X: object, groups: object = None, *, min_weight: float = 0.0, min_density: float | None = None
    ) -> np.ndarray:
        """The most probable cluster of each row, of an admixture given the rows of its group; -1 where its probability
        is less than `min_weight`, from 0 to 1, or where the log likelihood of the row, as `score_samples` has it, is
        less than `min_density`."""
        data, least = self._rows(X, groups), fraction(min_weight, "min_weight")
        f, solver = self._found(), self._solver()
        found = np.concatenate([a.cluster[:, 0] for a in f.assign(data, solver, 1)])
        if least > 0:
            weight = f.probabilities(data, solver, solver.n_active)[0].max(axis=1)
            found[weight.toarray().ravel() < least] = NO_TOPIC
        if min_density is not None:
            found[f.likelihood(data, solver) < any_number(min_density, "min_density")] = NO_TOPIC
        return found

    def predict_proba(
        self, X: object, groups: object = None, *, sparse_output: bool = False
    ) -> np.ndarray | sp.csr_array:
        """Posterior probabilities of shape (n_samples, n_components), of an admixture given the rows of the group; at
        most n_active of a row are not zero."""
        solver = self._solver()
        r, _ = self._found().probabilities(self._rows(X, groups), solver, solver.n_active)
        return r if sparse_output else r.toarray()

    def score_samples(self, X: object, groups: object = None) -> np.ndarray:
        """The log likelihood of each row under the fitted clusters; with objective "vb" a lower bound on it. Of an
        admixture with the proportions of its group, which its rows have a part in: see also `completion_score`."""
        return self._found().likelihood(self._rows(X, groups), self._solver())

    def score(self, X: object, y: object = None) -> float:
        """The mean of score_samples."""
        return float(np.mean(self.score_samples(X)))

    def _n_parameters(self) -> int:
        """Under scikit-learn's name, which its own tests call."""
        return self._found().model.n_parameters()

    def bic(self, X: object) -> float:
        """Bayesian information criterion on X; the lower the better."""
        s = self.score_samples(X)
        return float(-2 * s.sum() + self._n_parameters() * np.log(len(s)))

    def aic(self, X: object) -> float:
        """Akaike information criterion on X; the lower the better."""
        return float(-2 * self.score_samples(X).sum() + 2 * self._n_parameters())

    def _sampled_labels(self, n_samples: object, rng: np.random.Generator | np.random.RandomState) -> np.ndarray:
        """The clusters of rows that are drawn, in order."""
        n = whole_number(n_samples, "Invalid value for 'n_samples': it")  # scikit-learn's words
        return np.repeat(np.arange(len(self.weights_)), rng.multinomial(n, self.weights_))

    def _has_words(self) -> bool:
        return self._fitted is not None and self._fitted.has_words

    def _parts(self, X: object, *beside: object, **named: object) -> Iterator[Corpus]:
        yield self._read_known(X, *beside, **named)

    def document_info(
        self, X: object, *beside: object, n_topics: int = 3, min_weight: float = 0.0, min_density: float | None = None,
        **named: object,
    ) -> DataFrame:  # fmt: skip
        """A table of the rows of X: their number, cluster, its name, its probability `weight`, the entropy of the
        clusters, the most probable ones with their probabilities, and `density`, the log likelihood of the row. Of an
        admixture, `document_info(X, groups)`, a table of groups, with the number of `rows` and their mean `density`.

        Every row has a cluster, unless you say which are outliers: the cluster is -1 where its probability is less than
        `min_weight`, or the density less than `min_density`, for instance `np.quantile(model.score_samples(X), 0.02)`.
        """
        n, least = whole_number(n_topics, "n_topics"), fraction(min_weight, "min_weight")
        f, solver, corpus = self._solved(), self._solver(), self._read_known(X, *beside, **named)
        density = f.density(corpus, solver)
        below = -np.inf if min_density is None else any_number(min_density, "min_density")
        columns = dict(document_info(f, [corpus], solver, n_topics=n, min_weight=least, kept=density >= below))
        if isinstance(corpus.vectors, GroupedRows):
            columns = {"rows" if name == "tokens" else name: values for name, values in columns.items()}
        elif corpus.vectors is not None:
            del columns["tokens"]
        return self._frame(columns | {"density": density})

    def _edited(self, f: FittedMixture) -> Self:
        self.n_components = f.n_topics
        for name in {"init", "init_params"} & self.get_params(deep=False).keys():
            if not isinstance(vars(self)[name], str):  # clusters that were given one by one
                setattr(self, name, "auto")
        self._fitted = f
        return self

    def _write(self, fitted: FittedMixture, out: Writer) -> None:
        out.value("objective", fitted.model.objective)
        fitted.model.write(out)
        if fitted.texts is not None:
            fitted.texts.write(out.at("texts"))

    def _read(self, about: AboutFit, file: CheckedReader, K: int) -> FittedMixture:
        objective = file.choice("objective", OBJECTIVES)
        texts = ClusterWords.read(file.at("texts"), K=K) if file.has("texts") else None
        model = self._kind.read(file, self._likelihood, file.n_features, K, objective)
        return FittedMixture(**about, model=model, texts=texts)
