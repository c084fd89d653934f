"""Mixtures of bags of words as a scikit-learn estimator."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Self

import numpy as np
import scipy.sparse as sp
from sklearn.utils import Tags, check_random_state

from topmix.api.checkpoints import Keep
from topmix.api.estimator import learned
from topmix.api.gaussian_parameters import responsibilities
from topmix.api.mixture import MixtureEstimator, count_of_samples
from topmix.api.sklearn_callbacks import with_sklearn_callbacks
from topmix.data.corpus import Corpus
from topmix.engines import Engine
from topmix.files.reader import CheckedReader
from topmix.fitting.history import Callback
from topmix.learners import Learner
from topmix.likelihoods.categorical import Categorical
from topmix.likelihoods.categorical_start import STARTS, given, start
from topmix.parameters.checks import one_of, positive_number, whole_number
from topmix.read import How, Reading, read, read_known


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
    learner : {"memoized", "batch", "stochastic", "asynchronous"} or an object of topmix.learners
        How the data is visited. Memoized and batch climb the same bound, and memoized, which moves after each batch,
        gets there sooner. Stochastic remembers nothing of a batch, and its bound is an estimate. Asynchronous workers
        keep their share of the rows while clusters travel between them; they hold the rows and their n_active clusters
        in memory.
    engine : {"threads", "serial", "ray", "cuda"} or an object of topmix.engines
        Who runs the kernels. The results are the same for any engine; those of "cuda", a GPU, within rounding.
    weight_concentration_prior_type : {"dirichlet_distribution", "dirichlet_process"}
        The prior on weights: a Dirichlet, or a Dirichlet process cut off after n_components sticks.
    weight_concentration_prior : float or None
        Dirichlet prior on the weight of each cluster, alpha / K, or the process's concentration. None is 1 / K.
    topic_word_prior : float
        Dirichlet prior on the words of a cluster, eta.
    max_iter : int
        Passes over the data, at most. 0 leaves the clusters where they start. A fit that has not converged by then
        warns with scikit-learn's ConvergenceWarning.
    tol : float
        Stop when a pass lifts the bound by less than this, per row.
    max_time : float or None
        Seconds for the whole fit, all starts together. None: no limit.
    n_init : int
        Starts to try; the one with the best bound is kept.
    init : {"auto", "k-means++", "random", "documents"} or array
        Where clusters start, from a sample of the rows. "k-means++" is spherical k-means on damped counts. "auto" goes
        on from there by collapsed Gibbs sampling, in several chains, and takes the most probable. "random" samples from
        random clusters. "documents" are K rows that are far from each other. Or responsibilities (n_samples,
        n_components), or labels (n_samples,).
    warm_start : bool
        Start `fit` from the clusters of the last one.
    n_jobs : int or None
        Threads. None and -1 use all cores. The results are the same for any value.
    random_state : int, RandomState or None
    verbose : int or None
        1 shows progress on stderr: a bar on a terminal, a line per pass elsewhere. None shows a bar on a terminal or in
        a notebook if the fit takes longer than ten seconds. 0 is silent.
    callbacks : list of callables or None
        Each is called as f(record, view) after a pass; a true value ends the fit. See topmix.fitting.PassView.

    Attributes
    ----------
    components_ : ndarray of shape (n_components, n_features)
        Pseudo-counts: expected tokens of each word in each cluster, plus the prior.
    topic_word_ : ndarray of shape (n_components, n_features)
        Probabilities of words in clusters; rows sum to one.
    weights_ : ndarray of shape (n_components,)
        Expected share of each cluster.
    objective_, elbo_ : float
        The objective at the end.
    lower_bound_ : float
        The same, as scikit-learn has it: per row for "ml".
    lower_bounds_ : list of float
        lower_bound_ after each pass.
    history_ : list of Record
        One record per pass.
    n_iter_, converged_, n_features_in_, feature_names_in_ : as in scikit-learn.

    Examples
    --------
    >>> import numpy as np
    >>> from topmix import MultinomialMixture
    >>> X = np.array([[5, 0, 1], [4, 1, 0], [0, 6, 2], [0, 5, 1]])
    >>> labels = MultinomialMixture(2, n_init=5, random_state=0).fit_predict(X)
    >>> bool(labels[0] == labels[1] != labels[2] == labels[3])
    True
    """

    _likelihood = Categorical

    components_ = learned[np.ndarray](lambda f: np.ascontiguousarray(f.model.likelihood.lam.T), keep=True)
    topic_word_ = learned[np.ndarray](lambda f: f.view.topic_word)

    def __init__(
        self,
        n_components: int = 8,
        *,
        objective: str = "vb",
        n_active: int | None = 8,
        learner: str | Learner = "memoized",
        engine: str | Engine = "threads",
        weight_concentration_prior_type: str = "dirichlet_distribution",
        weight_concentration_prior: float | None = None,
        topic_word_prior: float = 0.3,
        max_iter: int = 100,
        tol: float = 1e-3,
        max_time: float | None = None,
        n_init: int = 1,
        init: object = "auto",
        warm_start: bool = False,
        n_jobs: int | None = None,
        random_state: object = None,
        verbose: int | None = None,
        callbacks: list[Callback] | None = None,
    ):
        self.n_components = n_components
        self.objective = objective
        self.n_active = n_active
        self.learner = learner
        self.engine = engine
        self.weight_concentration_prior_type = weight_concentration_prior_type
        self.weight_concentration_prior = weight_concentration_prior
        self.topic_word_prior = topic_word_prior
        self.max_iter = max_iter
        self.tol = tol
        self.max_time = max_time
        self.n_init = n_init
        self.init = init
        self.warm_start = warm_start
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose
        self.callbacks = callbacks

    @with_sklearn_callbacks
    def fit(
        self,
        X: object,
        y: object = None,
        sample_weight: object = None,
        *,
        text: str | Sequence[str] | None = None,
        vectorizer: object = None,
        feature_names: Sequence[str] | None = None,
        layer: str | None = None,
        checkpoint: str | os.PathLike[str] | None = None,
        checkpoint_every: int = 1,
    ) -> Self:
        """Learns the clusters of X: texts, or counts of shape (n_samples, n_features). `LDA.fit` says what X may be,
        and what the last six arguments mean.

        Warns with scikit-learn's ConvergenceWarning where `max_iter` passes were not enough; not where `tol` is
        negative, which asks for all of them, and not where a callback ended the fit.
        """
        how, keep = How(text, vectorizer, feature_names, layer), Keep.of(checkpoint, checkpoint_every)
        return self._fit_as(X, y, how, sample_weight, keep=keep)

    def sample(self, n_samples: int = 1, *, length: int = 100) -> tuple[sp.csr_array, np.ndarray]:
        """Rows of `length` words drawn from the fitted mixture, cluster by cluster, and the cluster of each."""
        self._found()
        rng = check_random_state(self.random_state)
        n_samples, length = count_of_samples(n_samples), whole_number(length, "length")
        labels = np.repeat(np.arange(len(self.weights_)), rng.multinomial(n_samples, self.weights_))
        rows = [sp.csr_array(rng.multinomial(length, self.topic_word_[k])[None]) for k in labels]
        return sp.vstack(rows, format="csr"), labels

    def _read_data(self, X: object, how: How, known: Reading | None) -> tuple[Corpus, Reading]:
        owner, engine = type(self).__name__, self._engine()
        if known is not None:
            return read_known(X, known, owner=owner, engine=engine), known
        return read(X, how, owner=owner, engine=engine)

    def _prepared(self, data: Corpus, weight: np.ndarray | None, K: int) -> None:
        positive_number(self.topic_word_prior, "topic_word_prior")
        if isinstance(self.init, str):
            one_of(self.init, STARTS, "init")
        self._allocation(K)

    def _first(
        self, prepared: None, data: Corpus, weight: np.ndarray | None, K: int, rng: np.random.Generator
    ) -> tuple[Categorical, np.ndarray | None]:
        eta = float(self.topic_word_prior)
        r = responsibilities(self.init, len(data), K, STARTS, "init")
        if r is not None:
            total, N = given(data, weight, r)
        elif self.init == "documents":
            first = Categorical.start(data, weight, K, eta, rng, self.objective)
            return first, np.ones(K) if self.objective == "ml" else None
        else:
            total, N = start(data, weight, K, str(self.init), eta, self._weight_prior(K), rng)
        return Categorical(Categorical.prior(data.shape[1], eta, self.objective), total, self.objective), N

    def _weight_prior(self, K: int) -> float:
        """Of each cluster, where a start needs it: a process that is cut off at K is about a Dirichlet of alpha / K."""
        prior = 1.0 / K if self.weight_concentration_prior is None else float(self.weight_concentration_prior)
        return prior / K if self.weight_concentration_prior_type == "dirichlet_process" else prior

    def _n_parameters(self) -> int:
        K, V = self.components_.shape
        return K - 1 + K * (V - 1)

    def _read_likelihood(self, file: CheckedReader, K: int, objective: str) -> Categorical:
        return Categorical.read(file, file.n_features, K, objective)

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.positive_only = True
        return tags
