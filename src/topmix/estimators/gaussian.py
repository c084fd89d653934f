"""Gaussian mixtures as scikit-learn estimators."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from topmix import _core
from topmix.data.shard import Shards, at_random
from topmix.data.table import Table
from topmix.estimators.gaussian_parameters import checked_start, n_parameters, priors, responsibilities
from topmix.estimators.inputs import as_table, count_of_active, positive_count
from topmix.estimators.mixture import MixtureEstimator
from topmix.files.reader import ModelFileError, Parts
from topmix.fitting.history import Callback
from topmix.learners.asynchronous_mixture import Assignments, asynchronous_mixture, usual_rows
from topmix.learners.learner import Passes
from topmix.likelihoods.covariance import SHAPES, Shape
from topmix.likelihoods.frame import Frame
from topmix.likelihoods.gaussian import Gaussian, GaussianPrior, GaussianStats
from topmix.likelihoods.gaussian_start import at, empty, given, start, summary
from topmix.local import CandidateStep, MixtureStep
from topmix.models.mixture import Mixture


class GaussianMixture(MixtureEstimator):
    """Clusters of vectors, with posteriors that keep the top few clusters of each row.

    Stands in for scikit-learn's GaussianMixture (objective "ml") and BayesianGaussianMixture ("vb"), with their names;
    with `n_active=None` and `learner="batch"` it takes their very steps. The defaults are faster: each row keeps its
    `n_active` best clusters, and clusters move after each of ten batches.

    Parameters
    ----------
    n_components : int
        Number of clusters, K.
    covariance_type : {"full", "diag", "spherical", "tied"}
        The shape of covariances: any, with zeros off the diagonal, one number, or any but the same for all clusters.
    zero_mean : bool
        Whether all means are zero, so that clusters differ by their covariances alone.
    objective : {"vb", "map", "ml"}
        What is climbed: a bound on the evidence with full posteriors; the log posterior at a point, its mode where
        parameters are unbounded (log odds of weights, log scale of covariances); or the likelihood alone (EM).
    n_active : int or None
        Clusters kept per row, L. 1 is hard assignment, as in k-means; None keeps all K.
    candidates : int or None
        Clusters that a row is scored by, for hundreds of clusters and more: those nearest to the one that it was in at
        the last visit; every tenth pass scores all. None always does, and so does stochastic learning, which remembers
        nothing of a row. The objective is never overstated, but between full scans it may fall.
    learner : {"memoized", "batch", "stochastic", "asynchronous"}
        How the data is visited. Memoized and batch climb the same objective, and memoized, which moves after each
        batch, gets there sooner; stochastic remembers nothing of a batch once it is gone, and its bound is an estimate.
        Asynchronous gives each of `n_workers` a share of the rows for good, and clusters travel between them; no
        worker waits for another. It holds the rows and their n_active clusters in memory.
    weight_concentration_prior_type : {"dirichlet_distribution", "dirichlet_process"}
        The prior on weights: a Dirichlet, or a Dirichlet process cut off after n_components sticks.
    weight_concentration_prior : float or None
        Dirichlet prior on the weight of each cluster, alpha / K, or the process's concentration. None is 1 / K.
    mean_prior : array of shape (n_features,) or None
        Where means are expected. None is the mean of the data.
    mean_precision_prior : float or None
        How many rows that expectation is worth. None is 1.
    degrees_of_freedom_prior : float or None
        How many rows the expected covariance is worth. None is n_features.
    covariance_prior : array or None
        The expected covariance times degrees_of_freedom_prior: (n_features, n_features) for "full" and "tied",
        (n_features,) for "diag", a number for "spherical". None is the covariance of the data, raised to reg_covar in
        directions that have less.
    reg_covar : float
        Added to the variances of every cluster after each update, as in scikit-learn. Where it is not small beside
        them, the objective may fall a little.
    init_params : {"auto", "k-means++", "kmeans", "random", "random_from_data"} or array
        Where clusters start: rows far from each other, with what is nearest to them; a short k-means; random
        responsibilities; random rows. "auto" takes the first or the last of these, whichever makes a sample of the data
        more likely. Or responsibilities (n_samples, n_components), or labels (n_samples,).
    weights_init, means_init, precisions_init : array or None
        Instead of what init_params found, in scikit-learn's shapes.
    batch_size : int or None
        Rows between two updates. None makes ten batches (memoized) or batches of 4096 (stochastic); asynchronous takes
        more where covariances are large.
    total_samples : int or None
        With partial_fit: how many rows the stream stands for. None is what was seen so far.
    learning_scale, learning_offset, learning_decay : float
        Step size of stochastic learning, rho_t = scale / (offset + t)^decay; t counts batches.
    max_iter : int
        Passes over the data, at most.
    tol : float
        Stop when a pass lifts the objective by less than this, per row.
    max_time : float or None
        Seconds for the whole fit, initialisation and all `n_init` starts counted: the last pass is the last that fits
        in, going by the one before it; every start makes one at least. None: no limit.
    n_init : int
        Starts to try; the one with the best objective is kept.
    warm_start : bool
        Start `fit` from the clusters of the last one.
    engine : {"threads", "serial"} or None
        Who runs the kernels. None is "threads".
    n_workers : int
        With learner="asynchronous": workers that share the rows, the clusters and the threads among them. One has all
        clusters at hand all the time, which serves a row best; with more of them results do not repeat.
    n_jobs : int or None
        Threads; None and -1 are all cores. The result is the same, bit for bit, whatever it is.
    random_state : int, RandomState or None
    verbose : int
        1 shows progress on stderr: a bar on a terminal, a line a pass elsewhere.
    callbacks : list of callables or None
        Each is called as f(record, model) after a pass; a true value ends the fit.

    Attributes
    ----------
    weights_ : ndarray of shape (n_components,)
    means_ : ndarray of shape (n_components, n_features)
    covariances_, precisions_, precisions_cholesky_ : ndarray
        In scikit-learn's shapes. Under "vb" the covariance is, as there, the inverse of the expected precision.
    mean_precision_, degrees_of_freedom_ : ndarray
        beta and nu of each cluster: with the prior, the rows that it stands for.
    elbo_ : float
        The objective at the end, summed over rows.
    lower_bound_ : float
        The same, as scikit-learn has it: per row for "ml".
    history_ : list of Record
        One record a pass.
    n_iter_, converged_, n_features_in_, feature_names_in_ : as in scikit-learn.

    Notes
    -----
    Rows are computed in the type that they come in: float32 is twice as fast, and where covariances are so thin that
    it would lose more than a thousandth of a nat, float64 takes its place. An array mapped from a file (numpy.memmap,
    or the path of a .npy file) is read a piece at a time.
    """

    _likelihood = Gaussian

    def __init__(
        self,
        n_components: int = 8,
        *,
        covariance_type: str = "full",
        zero_mean: bool = False,
        objective: str = "vb",
        n_active: int | None = 8,
        candidates: int | None = None,
        learner: str = "memoized",
        weight_concentration_prior_type: str = "dirichlet_distribution",
        weight_concentration_prior: float | None = None,
        mean_prior: Any = None,
        mean_precision_prior: float | None = None,
        degrees_of_freedom_prior: float | None = None,
        covariance_prior: Any = None,
        reg_covar: float = 1e-6,
        init_params: Any = "auto",
        weights_init: Any = None,
        means_init: Any = None,
        precisions_init: Any = None,
        batch_size: int | None = None,
        total_samples: float | None = None,
        learning_scale: float = 1.0,
        learning_offset: float = 10.0,
        learning_decay: float = 0.7,
        max_iter: int = 100,
        tol: float = 1e-3,
        max_time: float | None = None,
        n_init: int = 1,
        warm_start: bool = False,
        engine: str | None = None,
        n_workers: int = 1,
        n_jobs: int | None = None,
        random_state: Any = None,
        verbose: int = 0,
        callbacks: list[Callback] | None = None,
    ):
        self.n_components = n_components
        self.covariance_type = covariance_type
        self.zero_mean = zero_mean
        self.objective = objective
        self.n_active = n_active
        self.candidates = candidates
        self.learner = learner
        self.weight_concentration_prior_type = weight_concentration_prior_type
        self.weight_concentration_prior = weight_concentration_prior
        self.mean_prior = mean_prior
        self.mean_precision_prior = mean_precision_prior
        self.degrees_of_freedom_prior = degrees_of_freedom_prior
        self.covariance_prior = covariance_prior
        self.reg_covar = reg_covar
        self.init_params = init_params
        self.weights_init = weights_init
        self.means_init = means_init
        self.precisions_init = precisions_init
        self.batch_size = batch_size
        self.total_samples = total_samples
        self.learning_scale = learning_scale
        self.learning_offset = learning_offset
        self.learning_decay = learning_decay
        self.max_iter = max_iter
        self.tol = tol
        self.max_time = max_time
        self.n_init = n_init
        self.warm_start = warm_start
        self.engine = engine
        self.n_workers = n_workers
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose
        self.callbacks = callbacks

    @property
    def precisions_(self) -> np.ndarray:
        return np.linalg.inv(self.covariances_) if self._has_matrices() else 1.0 / self.covariances_

    @property
    def precisions_cholesky_(self) -> np.ndarray:
        """C with C C' the precision, upper triangular."""
        if not self._has_matrices():
            return 1.0 / np.sqrt(self.covariances_)
        lower = np.linalg.inv(np.linalg.cholesky(self.covariances_))
        return np.ascontiguousarray(np.swapaxes(lower, -1, -2))

    def sample(self, n_samples: int = 1) -> tuple[np.ndarray, np.ndarray]:
        """Rows drawn from the fitted mixture, cluster by cluster, and the cluster of each."""
        check_is_fitted(self, "model_")
        rng = check_random_state(self.random_state)
        labels = np.repeat(
            np.arange(len(self.weights_)), rng.multinomial(positive_count(n_samples, "n_samples"), self.weights_)
        )
        noise = rng.standard_normal((len(labels), self.n_features_in_))
        kind = self._gaussian.covariance_type
        if self._has_matrices():
            root = np.linalg.cholesky(self.covariances_)
            noise = noise @ root.T if kind == "tied" else np.einsum("nij,nj->ni", root[labels], noise)
        else:
            sd = np.sqrt(self.covariances_)[labels]
            noise *= sd if kind == "diag" else sd[:, None]
        return self.means_[labels] + noise, labels

    def _learner(self, K: int, threads: int) -> Callable[[Mixture, Shards, Any, np.random.Generator], Passes]:
        if self.learner != "asynchronous":
            return super()._learner(K, threads)
        L, most = count_of_active(self.n_active, K), positive_count(self.max_iter, "max_iter")
        workers = positive_count(self.n_workers, "n_workers")
        for parameter, works, why in (
            (
                "covariance_type",
                ("full", "diag", "spherical"),
                "clusters travel alone, so they cannot share a covariance",
            ),
            (
                "weight_concentration_prior_type",
                ("dirichlet_distribution",),
                "a stick's length depends on all before it",
            ),
            ("candidates", (None,), "a worker scores rows by the clusters that it holds"),
            ("engine", (None, "threads"), "workers are threads that send clusters to each other"),
        ):
            if getattr(self, parameter) not in works:
                raise ValueError(
                    f"learner='asynchronous' needs {parameter} to be {' or '.join(map(repr, works))}, not "
                    f"{getattr(self, parameter)!r}: {why}. Use learner='memoized'."
                )

        def learn(start: Mixture, shards: Shards, seed: Any, rng: np.random.Generator) -> Passes:
            rows = Assignments.none(shards.corpus, shards.weight, shards.rows, L)  # type: ignore[arg-type]
            return asynchronous_mixture(
                start, rows, seed, most, workers=workers, threads=threads,
                rows_at_once=self._rows_at_once(shards.corpus), random_seed=int(rng.integers(2**63)),  # type: ignore[arg-type]
            )  # fmt: skip

        return learn

    def _rows_at_once(self, data: Table) -> int:
        """Between two updates of an asynchronous fit."""
        if self.batch_size is not None:
            return positive_count(self.batch_size, "batch_size")
        return usual_rows(data.shape[1], self.covariance_type == "full")

    def _batches(self, data: Any, rng: np.random.Generator) -> list[slice | np.ndarray]:
        if self.learner != "asynchronous":
            return super()._batches(data, rng)
        return at_random(data, min(10, len(data) // (4 * self._rows_at_once(data))), rng)  # of its first pass

    def _step(self, K: int) -> MixtureStep:
        L = count_of_active(self.n_active, K)
        if self.candidates is None or self.learner == "stochastic":  # which remembers nothing
            return super()._step(K)
        if positive_count(self.candidates, "candidates") < L:
            raise ValueError(f"candidates must be at least n_active, {L}, got {self.candidates!r}")
        return CandidateStep(Gaussian, L)

    def _warm(self, K: int) -> tuple[Mixture, Any] | None:
        warm = super()._warm(K)
        if warm is None:
            return None
        return replace(warm[0], likelihood=replace(self._gaussian, **self._how())), warm[1]

    def _how(self) -> dict[str, Any]:
        """What clusters are computed with, and not part of what they are."""
        return {"n_candidates": int(self.candidates or 0), "threads": self._threads(), "near": None, "age": 0}

    @property
    def _gaussian(self) -> Gaussian:
        likelihood = self.model_.likelihood
        assert isinstance(likelihood, Gaussian)
        return likelihood

    def _has_matrices(self) -> bool:
        return self._gaussian.shape.is_matrix

    def _read(self, X: Any, *, reset: bool) -> Table:
        return as_table(self, X, reset=reset)

    def _prepared(self, data: Table, weight: np.ndarray | None, K: int) -> Gaussian:
        settings = priors(self, data.shape[1])
        self._allocation(K)
        _refuse_what_does_not_fit(K, data.shape[1], self.covariance_type)
        about = summary(data, weight, self.covariance_type, self.zero_mean)
        return replace(empty(about, str(data.data.dtype), K, **settings), **self._how())

    def _first(
        self, prepared: Gaussian, data: Table, weight: np.ndarray | None, K: int, rng: np.random.Generator, threads: int
    ) -> tuple[Gaussian, np.ndarray]:
        r = responsibilities(self.init_params, len(data), K)
        if r is not None:
            model = given(prepared, r, data, weight, threads)
        else:
            model = start(prepared, data, weight, self.init_params, rng, threads)
        weights, means, covariances = checked_start(self, K, data.shape[1])
        N = model.total.N
        if weights is None and means is None and covariances is None:
            return model, N
        N = N if weights is None else weights * N.sum()
        means = model.mean() if means is None else means
        return at(prepared, N, means, model.covariances() if covariances is None else covariances), N

    def _set_attributes(self, model: Mixture) -> None:
        g = self._gaussian
        self.means_, self.covariances_ = g.mean(), g.covariances()
        self.mean_precision_, self.degrees_of_freedom_ = g.posterior.beta, g.posterior.nu

    def _n_parameters(self) -> int:
        return n_parameters(self._gaussian, len(self.weights_))

    def _to_arrays(self) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
        g = self._gaussian
        arrays, extra = self._weights_to_arrays()
        arrays |= {"frame.origin": g.frame.origin, "frame.A": g.frame.A}
        arrays |= {"prior.m": g.prior.m, "prior.B": np.atleast_1d(g.prior.B), "prior.reg": np.atleast_1d(g.prior.reg)}
        arrays |= {"moments.N": g.total.N, "moments.first": g.total.first, "moments.second": g.total.second}
        extra |= {"covariance_type": g.covariance_type, "zero_mean": g.zero_mean, "dtype": g.dtype}
        return arrays, extra | {"prior.beta": g.prior.beta, "prior.nu": g.prior.nu}

    def _from_arrays(self, parts: Parts) -> None:
        K, D = parts.integer("n_components", 1, _core.MAX_TOPICS), parts.n_features
        weights = self._weights_from_arrays(parts, K)
        shape = Shape(parts.choice("covariance_type", SHAPES), D)
        one = (D, D) if shape.is_matrix else (D if shape.name == "diag" else 1,)
        frame = Frame(parts.array("frame.origin", D), parts.array("frame.A", *one))
        B, reg = parts.array("prior.B", *one), parts.array("prior.reg", *one)
        if shape.name == "spherical":
            B, reg = B[0], reg[0]
        beta, nu = parts.number("prior.beta", 1e-20), parts.number("prior.nu", 1e-20)
        prior = GaussianPrior(beta, parts.array("prior.m", D), nu, np.asarray(B), np.asarray(reg))
        total = GaussianStats(
            parts.array("moments.N", K),
            parts.array("moments.first", K, D),
            parts.array("moments.second", shape.n_matrices(K), shape.quadratic_size()),
        )
        dtype = parts.choice("dtype", ("float32", "float64"))
        g = Gaussian(shape.name, weights.objective, parts.flag("zero_mean"), dtype, frame, prior, total)
        with np.errstate(all="ignore"):
            tables = g.tables(np.arange(D))  # raises where a covariance is none
            numbers = (*tables[2:], g.mean(), g.covariances())
        if not all(np.all(np.isfinite(x)) for x in numbers):
            raise ModelFileError("the parameters of clusters make no sense")
        self._set_model(Mixture(weights, g, D, K))


def _refuse_what_does_not_fit(K: int, D: int, covariance_type: str) -> None:
    """Full covariances of thousands of columns: better an error now than a machine that swaps."""
    needed = 8 * 10 * K * D**2 if covariance_type == "full" else 8 * 10 * D**2 if covariance_type == "tied" else 0
    try:
        there = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, ValueError, OSError):  # not on this system
        return
    if needed > there:
        raise ValueError(
            f"{K} clusters with covariance_type={covariance_type!r} in {D} columns need about {needed / 1e9:,.0f} GB, "
            f"and there are {there / 1e9:,.0f} GB of memory. Use 'diag' or 'tied', or fewer columns, by PCA say."
        )
