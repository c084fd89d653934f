"""Mixtures as scikit-learn estimators."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
import scipy.sparse as sp
from sklearn.base import BaseEstimator, DensityMixin
from sklearn.utils import Tags, check_random_state
from sklearn.utils.validation import _check_sample_weight, check_is_fitted

from topmix import _core
from topmix.allocations.finite import FiniteDirichlet
from topmix.data.corpus import Corpus
from topmix.data.shard import Shards, at_random, in_order
from topmix.engines import ENGINES
from topmix.estimators.inputs import (
    as_corpus,
    chosen,
    count_of_active,
    count_of_batches,
    count_of_components,
    count_of_threads,
    positive_count,
)
from topmix.estimators.saving import SaveMixin, words_from_arrays, words_to_arrays
from topmix.history import Callback, Clock, Record, passes
from topmix.learners import LEARNERS
from topmix.likelihoods.categorical import Assignment, Categorical
from topmix.local import MixtureStep
from topmix.model import Mixture
from topmix.parts import SMALLEST, ModelFileError, Parts
from topmix.progress import shown


class MultinomialMixture(SaveMixin, DensityMixin, BaseEstimator):
    """Clusters of count vectors, with posteriors that keep the top few clusters of each row.

    Every row belongs to one cluster (for rows that mix several, see LDA), and a cluster is a distribution over words.
    Fitted by coordinate ascent on the evidence lower bound, which never falls.

    Parameters
    ----------
    n_components : int
        Number of clusters, K.
    n_active : int or None
        Clusters kept per row, L. 1 is hard assignment, as in k-means; None keeps all K.
    learner : {"memoized", "batch", "stochastic"}
        How the data is visited. Memoized and batch climb the same bound, and memoized, which moves after each batch,
        gets there sooner; stochastic remembers nothing of a batch once it is gone, and its bound is an estimate.
    weight_concentration_prior : float or None
        Dirichlet prior on the weight of each cluster, alpha / K. None is 1 / K.
    word_prior : float
        Dirichlet prior on the words of a cluster, eta.
    batch_size : int or None
        Rows between two updates of the memoized learner. None makes ten batches.
    max_iter : int
        Passes over the data, at most.
    tol : float
        Stop when a pass lifts the bound by less than this, per row.
    n_init : int
        Starts to try; the one with the best bound is kept.
    warm_start : bool
        Start `fit` from the clusters of the last one.
    engine : {"threads", "serial"} or None
        Who runs the kernels. None is "threads".
    n_jobs : int or None
        Threads; None and -1 are all cores. The result is the same, bit for bit, whatever it is.
    random_state : int, RandomState or None
    verbose : int
        1 shows progress on stderr: a bar on a terminal, a line a pass elsewhere.
    callbacks : list of callables or None
        Each is called as f(record, model) after a pass; a true value ends the fit.

    Attributes
    ----------
    components_ : ndarray of shape (n_components, n_features)
        Expected word probabilities; rows sum to one.
    weights_ : ndarray of shape (n_components,)
        Expected share of each cluster.
    elbo_ : float
        The evidence lower bound at the end.
    history_ : list of Record
        One record a pass.
    n_iter_, converged_, n_features_in_, feature_names_in_ : as in scikit-learn.
    """

    def __init__(
        self,
        n_components: int = 8,
        *,
        n_active: int | None = 8,
        learner: str = "memoized",
        weight_concentration_prior: float | None = None,
        word_prior: float = 0.1,
        batch_size: int | None = None,
        max_iter: int = 100,
        tol: float = 1e-3,
        n_init: int = 1,
        warm_start: bool = False,
        engine: str | None = None,
        n_jobs: int | None = None,
        random_state: Any = None,
        verbose: int = 0,
        callbacks: list[Callback] | None = None,
    ):
        self.n_components = n_components
        self.n_active = n_active
        self.learner = learner
        self.weight_concentration_prior = weight_concentration_prior
        self.word_prior = word_prior
        self.batch_size = batch_size
        self.max_iter = max_iter
        self.tol = tol
        self.n_init = n_init
        self.warm_start = warm_start
        self.engine = engine
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose
        self.callbacks = callbacks

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Learns the clusters of X, counts of shape (n_samples, n_features)."""
        clock = Clock()
        corpus = as_corpus(self, X, reset=not (self.warm_start and hasattr(self, "model_")))
        weight = None
        if sample_weight is not None:
            weight = _check_sample_weight(sample_weight, corpus.to_scipy(), dtype=np.float64, ensure_non_negative=True)
        rng = np.random.default_rng(check_random_state(self.random_state).randint(2**31, size=4))
        shards = Shards(corpus, self._rows(corpus, rng), weight)
        n_init = positive_count(self.n_init, "n_init")
        with shown(self.verbose, self.max_iter * n_init, corpus.n_tokens, type(self).__name__) as display:
            callbacks = [*(self.callbacks or ()), *display]
            tries = [self._fit_once(corpus, shards, rng, clock, callbacks) for _ in range(n_init)]
        model, self.history_, self.converged_ = max(tries, key=lambda t: t[1][-1].objective)
        self.n_iter_ = len(self.history_)
        self.elbo_ = self.history_[-1].objective
        self._set_model(model)
        return self

    def fit_predict(self, X: Any, y: Any = None, sample_weight: Any = None) -> np.ndarray:
        return self.fit(X, sample_weight=sample_weight).predict(X)

    def predict(self, X: Any) -> np.ndarray:
        """The most probable cluster of each row."""
        return self._most_probable(self._checked(X))

    def predict_proba(self, X: Any, *, sparse_output: bool = False) -> np.ndarray | sp.csr_array:
        """Posterior probabilities of shape (n_samples, n_components); at most n_active of a row are not zero."""
        a = self._assign(self._checked(X))
        n, L = a.r.shape
        entries = (a.r.ravel().astype(np.float64), a.cluster.ravel(), np.arange(0, n * L + 1, L))
        proba = sp.csr_array(entries, shape=(n, self.model_.n_components))
        proba.data /= np.repeat(np.asarray(proba.sum(axis=1)).ravel(), L)  # float32 shares sum to one only roughly
        return proba if sparse_output else proba.toarray()

    def score_samples(self, X: Any) -> np.ndarray:
        """The lower bound on the log likelihood of each row, given the fitted clusters."""
        return self._assign(self._checked(X), all_clusters=True).likelihood

    def score(self, X: Any, y: Any = None) -> float:
        """The mean of score_samples."""
        return float(np.mean(self.score_samples(X)))

    def _fit_once(
        self, corpus: Corpus, shards: Shards, rng: np.random.Generator, clock: Clock, callbacks: list[Callback]
    ) -> tuple[Mixture, list[Record], bool]:
        K = count_of_components(self.n_components)
        threads = count_of_threads(self.n_jobs)
        step = MixtureStep(Categorical, count_of_active(self.n_active, K))
        engine = chosen(ENGINES, self.engine or "threads", "engine")(shards, step, threads)
        start = self._start(corpus, shards.weight, K, rng, threads)
        seed = start.as_stats() if start is getattr(self, "model_", None) else None  # warm: fades in the first pass
        history: list[Record] = []
        self.history_ = history  # now, so that an interrupted fit has it too
        model, _, converged = passes(
            chosen(LEARNERS, self.learner, "learner")(start, engine, seed),
            max_iter=positive_count(self.max_iter, "max_iter"),
            tol=self.tol,
            scale=corpus.shape[0],
            clock=clock,
            history=history,
            callbacks=callbacks,
        )
        return model, history, converged

    def _start(
        self, corpus: Corpus, weight: np.ndarray | None, K: int, rng: np.random.Generator, threads: int
    ) -> Mixture:
        if self.warm_start and hasattr(self, "model_"):
            if self.model_.n_components != K:
                raise ValueError(f"warm_start keeps {self.model_.n_components} clusters, but n_components is now {K}")
            return self.model_
        prior = 1.0 / K if self.weight_concentration_prior is None else self.weight_concentration_prior
        for name, value in (("weight_concentration_prior", prior), ("word_prior", self.word_prior)):
            if not value > 0:
                raise ValueError(f"{name} must be positive, got {value!r}")
        likelihood = Categorical.start(corpus, weight, K, self.word_prior, rng, threads)
        return Mixture(FiniteDirichlet.uniform(prior, K), likelihood, corpus.shape[1], K)

    def _rows(self, corpus: Corpus, rng: np.random.Generator) -> list[slice | np.ndarray]:
        if self.learner == "batch":
            return in_order(corpus)
        return at_random(corpus, count_of_batches(self.batch_size, corpus), rng)

    def _checked(self, X: Any) -> Corpus:
        check_is_fitted(self, "model_")
        return as_corpus(self, X, reset=False)

    def _assign(self, corpus: Corpus, *, all_clusters: bool = False) -> Assignment:
        K, threads = self.model_.n_components, count_of_threads(self.n_jobs)
        L = K if all_clusters else count_of_active(self.n_active, K)
        parts = []
        for shard in Shards(corpus, in_order(corpus)):
            tables = self.model_.tables(shard.cols)
            parts.append(Categorical.assign(shard, tables.likelihood, tables.log_weights, L, threads))
        return Assignment(*(np.concatenate(arrays) for arrays in zip(*parts)))

    def _set_model(self, model: Mixture) -> None:
        self.model_ = model
        self.components_ = model.likelihood.mean()
        self.weights_ = model.allocation.weights()

    def _to_arrays(self) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
        weights, words = self.model_.allocation, self.model_.likelihood
        assert isinstance(weights, FiniteDirichlet)
        assert isinstance(words, Categorical)
        arrays, extra = words_to_arrays(words.eta, words.total)
        extra |= {"n_components": self.model_.n_components, "weights.prior": weights.prior}
        return {"weights.gamma": weights.gamma} | arrays, extra

    def _from_arrays(self, parts: Parts) -> None:
        K, V = parts.integer("n_components", 1, _core.MAX_TOPICS), parts.n_features
        weights = FiniteDirichlet(
            parts.number("weights.prior", SMALLEST), parts.array("weights.gamma", K, positive=True)
        )
        eta, total = words_from_arrays(parts, K, eta_shape=(V, 1), threads=count_of_threads(self.n_jobs))
        if not (total.raw.min() * total.factor > -eta.min() and total.totals.min() >= 0):
            raise ModelFileError("array 'words.raw' has negative counts")
        self._set_model(Mixture(weights, Categorical(eta, total), V, K))

    def _most_probable(self, corpus: Corpus) -> np.ndarray:
        a = self._assign(corpus)
        return a.cluster[np.arange(len(a.r)), a.r.argmax(axis=1)]

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.positive_only = True
        return tags
