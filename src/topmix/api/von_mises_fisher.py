"""Mixtures of directions as a scikit-learn estimator."""

from __future__ import annotations

import numpy as np
from sklearn.utils import check_random_state

from topmix.api.estimator import learned
from topmix.api.gaussian_parameters import responsibilities
from topmix.api.mixture import count_of_samples
from topmix.api.vectors import VectorMixture
from topmix.data.errors import CorpusError
from topmix.data.rows import Directions, Rows
from topmix.engines import Engine
from topmix.files.reader import CheckedReader
from topmix.fitting.history import Callback
from topmix.learners import Learner
from topmix.likelihoods.von_mises_fisher import CONCENTRATIONS, OBJECTIVES, VonMisesFisher, sample
from topmix.likelihoods.von_mises_fisher_start import MANY, STARTS, empty, given, start
from topmix.local import LocalStep
from topmix.local.candidates import RowCandidateStep
from topmix.numerics.bessel import LARGEST as LARGEST_CONCENTRATION, ratio
from topmix.parameters.checks import count_of_active, one_of, positive_number
from topmix.read import How, Reading
from topmix.read.rows import unchecked_rows
from topmix.stats import MixtureStats


class VonMisesFisherMixture(VectorMixture):
    """Clusters of directions: text embeddings, normalised vectors, and whatever is compared by the cosine.

    Each cluster is a von Mises-Fisher distribution: a mean direction, and a concentration around it. Where spherical
    k-means only compares cosines, this model also learns how wide each cluster is and how many rows it has. Fitted by
    EM with posteriors that keep the `n_active` best clusters of each row.

    Parameters
    ----------
    n_components : int
        Number of clusters, K.
    concentration_type : {"free", "tied"}
        Whether each cluster has a concentration of its own, or all have the same. With one for all, rows go to the
        nearest mean direction up to the weights, as in spherical k-means.
    objective : {"map", "ml"}
        What is maximised: the log likelihood and the log of a weak prior (see `prior_rows`), or the likelihood alone.
        Under "ml" only `max_concentration` stops a cluster of one row.
    n_active : int or None
        Clusters kept per row, L. 1 is hard assignment, as in k-means; None keeps all K.
    learner : {"memoized", "batch", "stochastic"} or an object of topmix.learners
        How the data is visited. Memoized and batch climb the same objective, and memoized, which updates clusters after
        each batch, gets there sooner. Stochastic forgets a batch once it is over, and its objective is an estimate.
    engine : {"threads", "serial", "ray", "cuda"} or an object of topmix.engines
        Who runs the kernels. The results are the same for any engine; those of "cuda", a GPU, within rounding.
    weight_concentration_prior : float or None
        Dirichlet prior on the weight of each cluster, alpha / K, under "map". None is 1 / K.
    prior_rows : float
        Pseudo-rows of each cluster under "map": around its own mean direction, and spread as in an average cluster of
        the start. They keep the concentration of a cluster of one row, or of equal rows, finite.
    max_concentration : float
        The largest concentration that a cluster may have.
    normalize : bool
        Whether rows are divided by their lengths. False refuses rows whose length is not one. A row of zeros has no
        direction and is always refused.
    max_iter : int
        Passes over the data, at most. 0 leaves the clusters where they start. A fit that has not converged by then
        warns with scikit-learn's ConvergenceWarning.
    tol : float
        Stop when a pass lifts the objective by less than this, per row.
    max_time : float or None
        Seconds for the whole fit, all starts together. None: no limit.
    n_init : int
        Starts to try; the one with the best objective is kept.
    init : {"auto", "k-means++", "random_from_data"} or array
        Where clusters start: rows far from each other, or random rows, then a few rounds of spherical k-means on a
        sample. "auto" tries both and takes the one that is closer to its rows. Or responsibilities
        (n_samples, n_components), or labels (n_samples,).
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
    weights_ : ndarray of shape (n_components,)
        Share of each cluster.
    mean_directions_ : ndarray of shape (n_components, n_features)
        mu, of unit length.
    concentrations_ : ndarray of shape (n_components,)
        kappa; 0 is uniform on the sphere. The cosine between a row of the cluster and its mean direction is
        about (D - 1) / (2 kappa) short of one where that is small.
    means_ : ndarray of shape (n_components, n_features)
        The expected row of each cluster, which is shorter than one.
    labels_ : ndarray of shape (n_samples,)
        The most probable cluster of each row of the last `fit`. Not part of a saved model.
    objective_, elbo_ : float
        The objective at the end, summed over rows.
    lower_bound_ : float
        The same; per row for "ml".
    lower_bounds_ : list of float
        lower_bound_ after each pass.
    history_ : list of Record
        One record per pass.
    n_iter_, converged_, n_features_in_, feature_names_in_ : as in scikit-learn.

    Notes
    -----
    Rows are computed in the type that they come in: float32 is twice as fast, and where concentrations are so high that
    it would lose more than a thousandth of a nat, float64 takes its place. An array that is mapped from a file
    (numpy.memmap, or the path of a .npy file) is read one piece at a time.

    Examples
    --------
    >>> import numpy as np
    >>> from topmix import VonMisesFisherMixture
    >>> X = np.repeat(np.eye(3), 20, axis=0) + 0.1 * np.random.default_rng(0).normal(size=(60, 3))
    >>> vmf = VonMisesFisherMixture(3, random_state=0).fit(X)
    >>> sorted(np.bincount(vmf.labels_).tolist())
    [20, 20, 20]
    """

    _likelihood = VonMisesFisher
    _least_of_each = 8  # an update takes K D operations, however few rows it is made from

    mean_directions_ = learned[np.ndarray](lambda f: f.model.likelihood.parameters.mu)
    concentrations_ = learned[np.ndarray](lambda f: f.model.likelihood.parameters.kappa)

    weight_concentration_prior_type = "dirichlet_distribution"  # the only one

    def __init__(
        self,
        n_components: int = 8,
        *,
        concentration_type: str = "free",
        objective: str = "map",
        n_active: int | None = 8,
        learner: str | Learner = "memoized",
        engine: str | Engine = "threads",
        weight_concentration_prior: float | None = None,
        prior_rows: float = 1.0,
        max_concentration: float = 1e6,
        normalize: bool = True,
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
        self.concentration_type = concentration_type
        self.objective = objective
        self.n_active = n_active
        self.learner = learner
        self.engine = engine
        self.weight_concentration_prior = weight_concentration_prior
        self.prior_rows = prior_rows
        self.max_concentration = max_concentration
        self.normalize = normalize
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

    def sample(self, n_samples: int = 1) -> tuple[np.ndarray, np.ndarray]:
        """Rows drawn from the fitted mixture, cluster by cluster, and the cluster of each."""
        self._found()
        rng = np.random.default_rng(check_random_state(self.random_state).randint(2**31, size=4))
        counts = rng.multinomial(count_of_samples(n_samples), self.weights_)
        labels = np.repeat(np.arange(len(self.weights_)), counts)
        rows = [
            sample(mu, kappa, n, rng) for mu, kappa, n in zip(self.mean_directions_, self.concentrations_, counts) if n
        ]
        return np.concatenate(rows), labels

    def _read_data(self, X: object, how: How, known: Reading | None) -> tuple[Directions, Reading]:
        if isinstance(X, Directions):
            if known is None:
                names = None if X.feature_names is None else np.asarray(X.feature_names, dtype=object)
                return X, Reading(X.shape[1], names)
            if X.shape[1] == known.n_features:
                return X, known
        table, reading = unchecked_rows(X, owner=type(self).__name__, known=known, sparse=False)
        try:
            return Directions(table.data, normalize=bool(self.normalize)), reading
        except CorpusError as error:
            raise ValueError(f"X: {error}") from None

    def _prepared(self, data: Directions, weight: np.ndarray | None, K: int) -> VonMisesFisher:
        one_of(self.objective, OBJECTIVES, "objective")
        if isinstance(self.init, str):
            one_of(self.init, STARTS, "init")
        self._allocation(K)
        b = positive_number(self.prior_rows, "prior_rows", least=1e-20)
        most = positive_number(self.max_concentration, "max_concentration", least=1e-20)
        if most > LARGEST_CONCENTRATION:
            raise ValueError(f"max_concentration must be at most {LARGEST_CONCENTRATION:g}, got {most:g}")
        kind = one_of(self.concentration_type, CONCENTRATIONS, "concentration_type")
        return empty(
            data, weight, K, objective=self.objective, prior_rows=b, max_concentration=most, concentration_type=kind
        )

    def _first(
        self,
        prepared: VonMisesFisher,
        data: Directions,
        weight: np.ndarray | None,
        K: int,
        rng: np.random.Generator,
    ) -> tuple[VonMisesFisher, np.ndarray]:
        r = responsibilities(self.init, len(data), K, STARTS, "init")
        if r is None:
            model = start(prepared, data, weight, str(self.init), rng)
        else:
            model = given(prepared, r, data, weight)
        return model, model.N

    def _halves(self, rows: Rows, r: np.ndarray) -> MixtureStats:
        return MixtureStats(given(self._directions, r, rows, None).total, r.sum(axis=0), 0.0, 0.0)

    def _local_step(self, K: int) -> LocalStep:
        step = RowCandidateStep(self._likelihood, count_of_active(self.n_active, K))
        is_worth_it = K >= MANY and step.n_active <= step.n_candidates
        return step if is_worth_it and self._component("learner").remembers_rows else super()._local_step(K)

    @property
    def means_(self) -> np.ndarray:
        """The expected row of each cluster: A_D(kappa) mu, which is shorter than one."""
        return ratio(self.n_features_in_, np.maximum(self.concentrations_, 1e-30))[:, None] * self.mean_directions_

    @property
    def _directions(self) -> VonMisesFisher:
        likelihood = self._found().model.likelihood
        assert isinstance(likelihood, VonMisesFisher)
        return likelihood

    def _n_parameters(self) -> int:
        K, D = self.mean_directions_.shape
        n_concentrations = K if self._directions.concentration_type == "free" else 1
        return K - 1 + K * (D - 1) + n_concentrations

    def _read_likelihood(self, file: CheckedReader, K: int, objective: str) -> VonMisesFisher:
        return VonMisesFisher.read(file, file.n_features, K, one_of(objective, OBJECTIVES, "objective"))
