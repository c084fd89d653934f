"""Mixtures of bags of words as scikit-learn estimators."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.utils import Tags, check_random_state
from sklearn.utils.validation import check_is_fitted

from topmix import _core
from topmix.data.corpus import Corpus
from topmix.estimators.inputs import as_corpus, count_of_threads, positive_count, positive_number
from topmix.estimators.mixture import MixtureEstimator
from topmix.estimators.saving import words_from_arrays, words_to_arrays
from topmix.files.reader import ModelFileError, Parts
from topmix.fitting.history import Callback
from topmix.likelihoods.categorical import Categorical
from topmix.models.mixture import Mixture


class MultinomialMixture(MixtureEstimator):
    """Clusters of count vectors, with posteriors that keep the top few clusters of each row.

    Every row belongs to one cluster (for rows that mix several, see LDA), and a cluster is a distribution over words.
    Fitted by coordinate ascent on the evidence lower bound, which never falls.

    Parameters
    ----------
    n_components : int
        Number of clusters, K.
    objective : {"vb", "map", "ml"}
        What is climbed: a bound on the evidence with full posteriors of weights and words; the log posterior of weights
        and words, at its mode in log odds; or the likelihood alone (EM).
    n_active : int or None
        Clusters kept per row, L. 1 is hard assignment, as in k-means; None keeps all K.
    learner : {"memoized", "batch", "stochastic"}
        How the data is visited. Memoized and batch climb the same bound, and memoized, which moves after each batch,
        gets there sooner; stochastic remembers nothing of a batch once it is gone, and its bound is an estimate.
    weight_concentration_prior_type : {"dirichlet_distribution", "dirichlet_process"}
        The prior on weights: a Dirichlet, or a Dirichlet process cut off after n_components sticks.
    weight_concentration_prior : float or None
        Dirichlet prior on the weight of each cluster, alpha / K, or the process's concentration. None is 1 / K.
    word_prior : float
        Dirichlet prior on the words of a cluster, eta.
    batch_size : int or None
        Rows between two updates of the memoized and stochastic learners. None makes ten batches.
    total_samples : int or None
        With partial_fit: how many rows the stream stands for. None is what was seen so far.
    learning_scale, learning_offset, learning_decay : float
        Step size of stochastic learning, rho_t = scale / (offset + t)^decay; t counts batches.
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
        The objective at the end.
    lower_bound_ : float
        The same, as scikit-learn has it: per row for "ml".
    history_ : list of Record
        One record a pass.
    n_iter_, converged_, n_features_in_, feature_names_in_ : as in scikit-learn.
    """

    _likelihood = Categorical

    def __init__(
        self,
        n_components: int = 8,
        *,
        objective: str = "vb",
        n_active: int | None = 8,
        learner: str = "memoized",
        weight_concentration_prior_type: str = "dirichlet_distribution",
        weight_concentration_prior: float | None = None,
        word_prior: float = 0.1,
        batch_size: int | None = None,
        total_samples: float | None = None,
        learning_scale: float = 1.0,
        learning_offset: float = 10.0,
        learning_decay: float = 0.7,
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
        self.objective = objective
        self.n_active = n_active
        self.learner = learner
        self.weight_concentration_prior_type = weight_concentration_prior_type
        self.weight_concentration_prior = weight_concentration_prior
        self.word_prior = word_prior
        self.batch_size = batch_size
        self.total_samples = total_samples
        self.learning_scale = learning_scale
        self.learning_offset = learning_offset
        self.learning_decay = learning_decay
        self.max_iter = max_iter
        self.tol = tol
        self.n_init = n_init
        self.warm_start = warm_start
        self.engine = engine
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose
        self.callbacks = callbacks

    def sample(self, n_samples: int = 1, *, length: int = 100) -> tuple[sp.csr_array, np.ndarray]:
        """Rows of `length` words drawn from the fitted mixture, cluster by cluster, and the cluster of each."""
        check_is_fitted(self, "model_")
        rng = check_random_state(self.random_state)
        n_samples, length = positive_count(n_samples, "n_samples"), positive_count(length, "length")
        labels = np.repeat(np.arange(len(self.weights_)), rng.multinomial(n_samples, self.weights_))
        rows = [sp.csr_array(rng.multinomial(length, self.components_[k])[None]) for k in labels]
        return sp.vstack(rows, format="csr"), labels

    def _read(self, X: Any, *, reset: bool) -> Corpus:
        return as_corpus(self, X, reset=reset)

    def _prepared(self, data: Corpus, weight: np.ndarray | None, K: int) -> None:
        positive_number(self.word_prior, "word_prior")
        self._allocation(K)

    def _first(
        self, prepared: None, data: Corpus, weight: np.ndarray | None, K: int, rng: np.random.Generator, threads: int
    ) -> tuple[Categorical, np.ndarray | None]:
        start = Categorical.start(data, weight, K, self.word_prior, rng, threads, self.objective)
        return start, np.ones(K) if self.objective == "ml" else None

    def _set_attributes(self, model: Mixture) -> None:
        self.components_ = model.likelihood.mean()

    def _n_parameters(self) -> int:
        K, V = self.components_.shape
        return K - 1 + K * (V - 1)

    def _to_arrays(self) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
        words = self.model_.likelihood
        assert isinstance(words, Categorical)
        weights, about = self._weights_to_arrays()
        arrays, extra = words_to_arrays(words.eta, words.total)
        return weights | arrays, about | extra

    def _from_arrays(self, parts: Parts) -> None:
        K, V = parts.integer("n_components", 1, _core.MAX_TOPICS), parts.n_features
        weights = self._weights_from_arrays(parts, K)
        eta, total = words_from_arrays(parts, K, eta_shape=(V, 1), threads=count_of_threads(self.n_jobs))
        if not (total.raw.min() * total.factor > -eta.min() and total.totals.min() >= 0):
            raise ModelFileError("array 'words.raw' has negative counts")
        self._set_model(Mixture(weights, Categorical(eta, total, weights.objective), V, K))

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.positive_only = True
        return tags
