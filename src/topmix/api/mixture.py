"""What all mixtures share as estimators: fitting, answers about rows, words of clusters, edits, and files."""

from __future__ import annotations

import copy
import warnings
from abc import abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing
from dataclasses import replace
from functools import partial
from typing import Any, ClassVar, Self

import numpy as np
import scipy.sparse as sp
from sklearn.base import DensityMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import _check_sample_weight

from topmix.allocations import WEIGHTS
from topmix.allocations.finite_dirichlet import FiniteDirichlet
from topmix.allocations.stick_breaking import StickBreaking
from topmix.api.checkpoints import Keep, checkpoint_of_clusters
from topmix.api.described import Described
from topmix.api.estimator import learned
from topmix.api.odd_data import check_targets, warn_of_few_rows
from topmix.data.corpus import Corpus
from topmix.data.rows import GroupedRows, Rows
from topmix.data.shard import Shards, in_order
from topmix.engines import Workers
from topmix.engines.rounds import rounds_of
from topmix.files.reader import CheckedReader
from topmix.files.writer import Writer
from topmix.fitted import edits
from topmix.fitted.documents import NO_TOPIC, Solver, assigned, probabilities
from topmix.fitted.frames import DataFrame
from topmix.fitted.mixture import ClusterWords, FittedMixture
from topmix.fitted.tables import document_info
from topmix.fitting.history import Clock, Record
from topmix.fitting.mixture_checkpoint import MixtureCheckpoint
from topmix.fitting.mixtures import MixtureProblem, MixtureStart
from topmix.learners import Learner
from topmix.learners.stochastic import blend, stream_of
from topmix.local import LocalStep
from topmix.local.assign import Assigned
from topmix.local.mixture import MixtureStep
from topmix.models.admixture import Admixture
from topmix.models.mixture import Mixture
from topmix.numerics.dirichlet import OBJECTIVES
from topmix.numerics.threads import use_threads
from topmix.parameters.checks import (
    any_number,
    count_of_active,
    count_of_components,
    number_from,
    one_of,
    positive_number,
    whole_number,
)
from topmix.read import How, Reading, read
from topmix.search.clusters import ClusterProblem

LARGEST_WEIGHT = 1e30  # of a row: its products with counts are summed in floats
NOT_CONVERGED = (  # scikit-learn's words, which people filter by
    "Best performing initialization did not converge. Try different init parameters, or increase max_iter, tol, or "
    "check for degenerate data."
)


class MixtureEstimator(DensityMixin, Described[FittedMixture]):
    """A mixture is an allocation and a likelihood; here is everything that does not depend on which."""

    objective: str
    n_active: int | None
    weight_concentration_prior_type: str = "dirichlet_distribution"
    weight_concentration_prior: float | None
    tol: float
    warm_start: bool

    _likelihood: ClassVar[Any]
    _least_batch: ClassVar[int] = 1  # rows
    _least_of_each: ClassVar[int] = 0  # rows of a batch for each cluster

    weights_ = learned[np.ndarray](lambda f: f.weights)
    elbo_ = learned[float](lambda f: f.objective)
    lower_bound_ = learned[float](lambda f: f.lower_bound)
    labels_ = learned[np.ndarray](lambda f: f.labels)

    @abstractmethod
    def _read_data(self, X: object, how: How, known: Reading | None) -> tuple[Corpus | Rows, Reading]:
        """X, checked."""

    def _data(self, X: object, how: How, known: Reading | None) -> tuple[Corpus | Rows, Reading]:
        """The same, in groups where there are any."""
        if isinstance(X, Corpus) and X.vectors is not None and known is not None:
            return X.vectors, known  # they were read before
        return self._read_data(_vectors(X), how, known)

    @abstractmethod
    def _prepared(self, data: Any, weight: np.ndarray | None, K: int) -> Any:
        """What is the same for all starts; bad parameters are refused here."""

    @abstractmethod
    def _first(
        self, prepared: Any, data: Any, weight: np.ndarray | None, K: int, rng: np.random.Generator
    ) -> tuple[Any, np.ndarray | None]:
        """A likelihood to start from, and the number of rows in each of its clusters, if that is known."""

    @abstractmethod
    def _n_parameters(self) -> int: ...

    @abstractmethod
    def _read_likelihood(self, file: CheckedReader, K: int, objective: str) -> Any: ...

    def _fit_as(
        self,
        X: object,
        y: object,
        how: How,
        sample_weight: object,
        texts: tuple[object, How] | None = None,
        keep: Keep | None = None,
    ) -> Self:
        clock = Clock()
        self._learn(lambda: self._declared()._fit(X, y, how, sample_weight, clock, texts, keep))
        f = self._found()
        if f.n_iter == self.max_iter and f.n_iter > 0 and self.tol >= 0 and not f.converged:
            warnings.warn(NOT_CONVERGED, ConvergenceWarning, stacklevel=4)
        return self

    def _fit(
        self,
        X: object,
        y: object,
        how: How,
        sample_weight: object,
        clock: Clock,
        texts: tuple[object, How] | None = None,
        keep: Keep | None = None,
    ) -> FittedMixture:
        K, max_iter = count_of_components(self.n_components), whole_number(self.max_iter, "max_iter", least=0)
        tol, before = any_number(self.tol, "tol"), self._fitted if self._is_warm() else None
        warm = None if before is None else self._warm(before, K)
        if texts is None and isinstance(X, Corpus) and X.vectors is not None:
            texts = X, How()
        data, reading = self._data(X, how, None if before is None else before.reading)
        documents = None if texts is None else self._read_texts(*texts, data, before)
        learner, weight = self._learner(data), _weights(sample_weight, data)
        n, lengths = len(data), None
        if isinstance(data, GroupedRows):
            n, lengths = len(data.rows), data.lengths(weight)
        check_targets(y, n)
        warn_of_few_rows(n, K)
        n_rows = float(n) if weight is None else float(weight.sum())
        step, rng = self._local_step(K), self._rng()
        checkpoint = None if keep is None else self._checkpoint(keep, data, weight, learner, warm and warm[0], step)
        progress = None if checkpoint is None else checkpoint.read()
        if checkpoint is not None and progress is not None:
            with checkpoint.at.names_the_file():
                progress.restore_generator(rng)
            clock.start -= progress.history[-1].seconds
        dealt_with = rng.bit_generator.state  # so that a resumed fit deals rows as this one
        prepared = self._prepared(rows_of(data), weight, K) if warm is None and progress is None else None
        problem = MixtureProblem(
            data=data,
            weight=weight,
            start=lambda rng: warm or self._started(prepared, data, weight, K, rng),
            step=step,
            learner=learner,
            engine=self._engine(),
            threads=self._threads(),
            n_active=count_of_active(self.n_active, K),
            max_iter=max_iter,
            least_gain=tol * float(n),
            batches=learner.batches(
                data, 1, rng, max(1, min(10, n // max(self._least_batch, self._least_of_each * K)))
            ),
            is_warm=warm is not None,
            before=before.objective if before is not None and before.n_seen == n_rows else None,
            lengths=lengths,
            warm_up=self._warm_up(),
            search=self._search(reading, len(data)),
            checkpoint=checkpoint,
            found=progress,
            dealt_with=dealt_with,
        )

        words = None if before is None else before.texts  # until the fit is over

        def fitted(model: Mixture | Admixture, history: Sequence[Record]) -> FittedMixture:
            return FittedMixture(
                reading=reading,
                model=copy.deepcopy(model.on_host()),
                history=tuple(history),
                n_iter=len(history),
                n_seen=n_rows,
                texts=words if words is not None and words.counts.shape[0] == model.n_components else None,
            )

        size = data.n_tokens if isinstance(data, Corpus) else float(n)
        course = self._course(size, data.shape[1], max_iter, fitted, clock)
        course.keeps_last &= not learner.has_model_in_pass and problem.engine.keeps_last_pass
        found = course.run(partial(MixtureStart, problem), rng)
        f = FittedMixture(
            reading=reading,
            model=found.model,
            history=tuple(found.history),
            n_iter=len(found.history),
            converged=found.converged,
            objective=found.objective,
            n_updates=found.n_updates,
            n_seen=n_rows,
        )
        f = replace(f, labels=self._with(f)._labels(data))
        if documents is None:
            return f
        corpus, read_so = documents
        if corpus.n_tokens == 0:  # vectors alone
            return f if before is None else replace(f, texts=before.texts)
        return replace(f, texts=ClusterWords.of(self._with(f)._shares(data, corpus.n_docs), corpus, read_so))

    def _checkpoint(
        self, keep: Keep, data: Corpus | Rows, weight: np.ndarray | None, learner: Learner, start: Any, step: LocalStep
    ) -> MixtureCheckpoint:
        K, objective = count_of_components(self.n_components), self._objective()
        return MixtureCheckpoint(
            at=checkpoint_of_clusters(self, data, weight, keep, learner, start),
            write_model=self._write_model,
            read_model=lambda file, K: self._read_model(file, K, objective),
            K=K,
            D=data.shape[1],
            step=step,
            has_memo=learner.has_memo,
            has_momentum=bool(getattr(learner, "momentum", 0)),
        )

    def _labels(self, data: Corpus | Rows) -> np.ndarray:
        """The cluster of each row of the fit."""
        return np.concatenate([a.cluster[:, 0] for a in assigned(self._found(), data, self._solver(), 1)])

    def _shares(self, data: Corpus | Rows, n_texts: int) -> sp.csr_array:
        """[texts, K] what clusters have of each text of the fit."""
        f, solver = self._found(), self._solver()
        return sp.vstack(
            [probabilities(a, f.n_topics) for a in assigned(f, data, solver, solver.n_active)], format="csr"
        )

    def _read_texts(
        self, texts: object, how: How, data: Corpus | Rows, before: FittedMixture | None
    ) -> tuple[Corpus, Reading]:
        known = None if before is None or before.texts is None else before.texts.reading
        corpus, reading = read(texts, how, known, owner=type(self).__name__, engine=self._engine())
        self._check_texts(corpus.n_docs, data)
        return corpus, reading

    def _check_texts(self, n: int, data: Corpus | Rows) -> None:
        if n != len(data):
            raise ValueError(f"there are {n} texts for {len(data)} rows of X: pass one each")

    def partial_fit(self, X: object, y: object = None, sample_weight: object = None) -> Self:
        """One stochastic step on these rows. The first call also decides where clusters start and, where they are read
        off the data, their priors; `total_samples` of `Stochastic` says how many rows the stream stands for."""
        return self._learn(lambda: self._declared()._step(X, sample_weight))

    def _step(self, X: object, sample_weight: object) -> FittedMixture:
        K, threads, f = count_of_components(self.n_components), self._threads(), self._fitted
        data, reading = self._data(X, How(), None if f is None else f.reading)
        weight = _weights(sample_weight, data)
        pseudo: Any = None
        if f is None:
            model, pseudo = self._started(self._prepared(rows_of(data), weight, K), data, weight, K, self._rng())
        else:
            model = f.model
        shards = Shards(data, in_order(data), weight)
        n_updates, n_seen = (0, 0.0) if f is None else (f.n_updates, f.n_seen)
        n_seen += shards.n_rows
        step = self._step_of(model.n_components)
        with closing(self._engine().open(shards, step, threads)) as workers:
            model = self._stepped(workers, model, pseudo, n_updates, n_seen, is_first=f is None)
        before = FittedMixture(reading=reading, model=model) if f is None else f
        return replace(before, model=model, n_updates=n_updates + 1, n_seen=n_seen, labels=None)

    def _stepped(
        self,
        workers: Workers,
        model: Mixture | Admixture,
        pseudo: Any,
        n_updates: int,
        n_seen: float,
        *,
        is_first: bool,
    ) -> Mixture | Admixture:
        """The model after one stochastic step on all that the workers have. What is on a device is known here alone, so
        that it is gone when they close."""
        placed, stream = workers.place(model), stream_of(self._component("learner"))
        total: Any = placed.as_stats()
        if is_first:
            total = placed.no_stats().add(pseudo or total)
        elif placed is model:
            total = copy.deepcopy(total)  # the step is made in place
        new, _ = rounds_of(workers, {}).visit_once(placed.tables, range(workers.n_shards))
        size = stream.step_size(n_updates, new.n_rows)
        return placed.update(blend(total, new, size, stream.stands_for(n_seen), new.n_rows)).on_host()

    def fit_predict(self, X: object, y: object = None, sample_weight: object = None) -> np.ndarray:
        """`fit`, then its labels."""
        return self.fit(X, sample_weight=sample_weight).labels_

    def predict(self, X: object, *, min_weight: float = 0.0, min_density: float | None = None) -> np.ndarray:
        """The most probable cluster of each row; -1 where its probability is less than `min_weight`, from 0 to 1, or
        where the log likelihood of the row, as `score_samples` has it, is less than `min_density`."""
        found = np.concatenate([a.cluster[:, 0] for a in self._assigned(X, 1)])
        found[self._outliers(min_weight, min_density, X)] = NO_TOPIC
        return found

    def _outliers(self, min_weight: float, min_density: float | None, X: object) -> Any:
        """The rows that have no cluster as likely as the user asks for."""
        least, is_outlier = number_from(min_weight, "min_weight", 0.0, 1.0), np.zeros(0, np.intp)
        if least > 0:
            weight = sp.csr_array(self.predict_proba(X, sparse_output=True)).max(axis=1)
            is_outlier = np.flatnonzero(weight.toarray().ravel() < least)
        if min_density is None:
            return is_outlier
        return np.union1d(is_outlier, np.flatnonzero(self.score_samples(X) < any_number(min_density, "min_density")))

    def predict_proba(self, X: object, *, sparse_output: bool = False) -> np.ndarray | sp.csr_array:
        """Posterior probabilities of shape (n_samples, n_components); at most n_active of a row are not zero."""
        K = self._found().model.n_components
        parts = (probabilities(a, K) for a in self._assigned(X, count_of_active(self.n_active, K)))
        if sparse_output:
            return sp.vstack(list(parts), format="csr")
        return np.concatenate([part.toarray() for part in parts])

    def score_samples(self, X: object) -> np.ndarray:
        """The log likelihood of each row under the fitted clusters; with objective "vb" a lower bound on it."""
        K = self._found().model.n_components
        return np.concatenate([a.likelihood for a in self._assigned(X, K, keep_clusters=False)])

    def score(self, X: object, y: object = None) -> float:
        """The mean of score_samples."""
        return float(np.mean(self.score_samples(X)))

    def bic(self, X: object) -> float:
        """Bayesian information criterion on X; the lower the better."""
        s = self.score_samples(X)
        return float(-2 * s.sum() + self._n_parameters() * np.log(len(s)))

    def aic(self, X: object) -> float:
        """Akaike information criterion on X; the lower the better."""
        return float(-2 * self.score_samples(X).sum() + 2 * self._n_parameters())

    @property
    def lower_bounds_(self) -> list[float]:
        """`lower_bound_` after each pass, as in scikit-learn."""
        self._found()
        share = self.lower_bound_ / self.elbo_ if self.elbo_ else 1.0  # one, or one over the rows of the fit
        return [share * record.objective for record in self.history_]

    def _warm(self, f: FittedMixture, K: int) -> tuple[Mixture | Admixture, Any]:
        """Where a warm start begins."""
        if f.model.n_components != K:
            raise ValueError(f"warm_start keeps {f.model.n_components} clusters, but n_components is now {K}")
        return f.model, f.model.as_stats()  # which fade in the first pass

    def _started(
        self, prepared: Any, data: Corpus | Rows, weight: np.ndarray | None, K: int, rng: np.random.Generator
    ) -> tuple[Mixture | Admixture, Any]:
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

    def _learner(self, data: Corpus | Rows) -> Learner:
        learner: Learner = self._component("learner")
        learner.check_engine(self._engine())
        return learner.for_mixture(type(self).__name__, self._likelihood, self.get_params(deep=False), data)

    def _warm_up(self) -> int:
        """First passes that may lower the objective."""
        return 0

    def _search(self, reading: Reading, n_groups: int) -> ClusterProblem | None:
        """How the number of clusters is found, where it is."""
        return None

    def _local_step(self, K: int) -> LocalStep:
        return self._step_of(K)

    def _step_of(self, K: int) -> LocalStep:
        """The local step that remembers no candidates."""
        return MixtureStep(self._likelihood, count_of_active(self.n_active, K))

    def _assigned(self, X: object, L: int, *, keep_clusters: bool = True) -> Iterator[Assigned]:
        """The clusters of all rows, a shard at a time, by the engine's workers."""
        return assigned(self._found(), self._rows(X), self._solver(), L, keep_clusters=keep_clusters)

    def _rows(self, X: object) -> Corpus | Rows:
        with use_threads(self._threads()):
            return self._data(X, How(), self._found().reading)[0]

    # Words of clusters. A document is a row of X and, where there are texts, the text beside it.

    def _solver(self) -> Solver:
        n_active = count_of_active(self.n_active, self._found().model.n_components)
        return Solver(self._engine(), self._threads(), n_active)

    def _has_words(self) -> bool:
        return self._fitted is not None and self._fitted.has_words

    def _read_known(self, X: object) -> Corpus:
        rows = self._rows(X)
        assert isinstance(rows, Corpus)
        return rows

    def _parts(self, X: object) -> Iterator[Corpus]:
        yield self.counts(X)

    def document_info(
        self, X: object, *, n_topics: int = 3, min_weight: float = 0.0, min_density: float | None = None
    ) -> DataFrame:
        """A table of the rows of X: their number, cluster, its name, its probability `weight`, the entropy of the
        clusters, the most probable ones with their probabilities, and `density`, the log likelihood of the row.

        Every row has a cluster, unless you say which are outliers: the cluster is -1 where its probability is less than
        `min_weight`, or the density less than `min_density`, for instance `np.quantile(model.score_samples(X), 0.02)`.
        """
        n, least = whole_number(n_topics, "n_topics"), number_from(min_weight, "min_weight", 0.0, 1.0)
        corpus = self.counts(X)
        density = self._density(corpus)
        below = -np.inf if min_density is None else any_number(min_density, "min_density")
        columns = dict(
            document_info(self._solved(), [corpus], self._solver(), n_topics=n, min_weight=least, kept=density >= below)
        )
        if isinstance(corpus.vectors, GroupedRows):
            columns = {"rows" if name == "tokens" else name: values for name, values in columns.items()}
        elif corpus.vectors is not None:
            del columns["tokens"]
        return self._frame(columns | {"density": density})

    def _density(self, corpus: Corpus) -> np.ndarray:
        """The log likelihood of each document."""
        return self.score_samples(corpus)

    # Edits. They change the clusters and n_components, and keep the names and words of clusters. `labels_` are gone:
    # predict(X). To learn on from the edited clusters, fit with warm_start=True.

    def merge_topics(self, groups: Iterable[Sequence[int]]) -> Self:
        """Makes one cluster of each pair (or larger group) of clusters, for instance [(2, 7), (3, 4)], in the place of
        the lowest; later ones move up. It has the rows and the words of all."""
        return self._edited(edits.merge(self._found(), groups))

    def drop_topics(self, topics: Iterable[int]) -> Self:
        """Removes clusters; later ones move up. Their rows belong to others from now on."""
        return self._edited(edits.drop(self._found(), topics))

    def suggest_merges(self, X: object, *, n_pairs: int = 10, max_docs: int = 2000, random_state: int = 0) -> DataFrame:
        """The pairs of clusters with the nearest words, and what merging each alone would do to the log likelihood of a
        row of X: see `LDA.suggest_merges`."""
        seed, n = whole_number(random_state, "random_state", least=0), whole_number(n_pairs, "n_pairs")
        corpus = edits.sampled(self.counts(X), whole_number(max_docs, "max_docs"), seed)
        return self._frame(edits.suggest_merges(self._found(), corpus, self._solver(), n))

    def _edited(self, f: FittedMixture) -> Self:
        self.n_components = f.n_topics
        for name in {"init", "init_params"} & self.get_params(deep=False).keys():
            if not isinstance(getattr(self, name), str):  # clusters that were given one by one
                setattr(self, name, "auto")
        self._fitted = f
        return self

    def _write(self, fitted: FittedMixture, out: Writer) -> None:
        out.value("objective", fitted.optimises)
        self._write_model(fitted.model, out)
        if fitted.texts is not None:
            fitted.texts.write(out.at("texts"))

    def _write_model(self, model: Any, out: Writer) -> None:
        weights = model.allocation
        out.value("weights", next(name for name, kind in WEIGHTS.items() if isinstance(weights, kind)))
        weights.write(out.at("weights"))
        model.likelihood.write(out.at("clusters"))

    def _read(self, about: dict[str, Any], file: CheckedReader, K: int) -> FittedMixture:
        model = self._read_model(file, K, file.choice("objective", OBJECTIVES))
        return FittedMixture(**about, model=model, texts=self._read_words(file, K))

    def _read_model(self, file: CheckedReader, K: int, objective: str) -> Mixture | Admixture:
        weights = WEIGHTS[file.choice("weights", tuple(WEIGHTS))].read(file.at("weights"), K, objective)
        return Mixture(weights, self._read_likelihood(file.at("clusters"), K, objective), file.n_features, K)

    def _read_words(self, file: CheckedReader, K: int) -> ClusterWords | None:
        return ClusterWords.read(file.at("texts"), K) if file.has("texts.indptr") else None


def rows_of(data: Any) -> Any:
    """Without groups."""
    return data.rows if isinstance(data, GroupedRows) else data


def _vectors(X: object) -> object:
    """The rows of documents that have vectors beside them; other data as it is."""
    return X.vectors if isinstance(X, Corpus) and X.vectors is not None else X


def count_of_samples(n_samples: Any) -> int:
    try:
        return whole_number(n_samples, "it")
    except ValueError as error:
        raise ValueError(f"Invalid value for 'n_samples': {error}") from None


def _weights(sample_weight: object, data: Corpus | Rows) -> np.ndarray | None:
    if sample_weight is None:
        return None
    rows = data.to_scipy() if isinstance(data, Corpus) else data.data
    # Private, and public nowhere: scikit-learn's own checks and errors of weights.
    weight = np.asarray(_check_sample_weight(sample_weight, rows, dtype=np.float64, ensure_non_negative=True))
    largest = float(weight.max(initial=0.0))
    if largest > 0 and not 1 / LARGEST_WEIGHT <= largest <= LARGEST_WEIGHT:
        raise ValueError(
            f"the largest sample_weight is {largest:.3g}; it must be from {1 / LARGEST_WEIGHT:g} to "
            f"{LARGEST_WEIGHT:g}, so that weighted rows can be summed: multiply all weights by a constant"
        )
    return weight
