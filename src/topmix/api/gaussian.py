"""Gaussian mixtures as scikit-learn estimators."""

from __future__ import annotations

import os
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from sklearn.utils import Tags, check_random_state

from topmix.api.estimator import learned
from topmix.api.gaussian_growth import JUDGES, LEAST_ROWS, TRIAL_PASSES, grown, sampled, settled
from topmix.api.gaussian_parameters import by_hand, checked_start, n_parameters, priors, responsibilities
from topmix.api.mixture import count_of_samples
from topmix.api.vectors import VectorMixture
from topmix.data.rows import Rows
from topmix.engines import Engine
from topmix.files.reader import CheckedReader
from topmix.fitted.mixture import FittedMixture
from topmix.fitting.history import Callback
from topmix.learners import Learner
from topmix.likelihoods.covariance import SingularCovariance
from topmix.likelihoods.gaussian import Gaussian, GaussianPrior
from topmix.likelihoods.gaussian_prior import chosen_prior
from topmix.likelihoods.gaussian_start import STARTS, at, differ_by_spread, empty, given, in_many_units, start, summary
from topmix.local import LocalStep
from topmix.local.candidates import CandidateStep
from topmix.models.admixture import Admixture
from topmix.models.mixture import Mixture
from topmix.parameters.checks import count_of_active, whole_number
from topmix.read import How, Reading, read_rows
from topmix.stats import MixtureStats

# Where k-means decides where clusters start; with more clusters or rows all starts are tried (docs/choosing.md).
FEW_CLUSTERS, MANY_ROWS = 25, 100_000
LEAST_GAIN = 0.1  # of what clusters gain over one: with less k-means in the scales of the columns as they are is taken
OWN_GAIN = 0.02  # the same for another k-means in these scales; from so many rows on there are so many of them:
OTHERS_FROM, N_OTHERS = 10_000, 2
ENOUGH_ROWS, ENOUGH_PER_COLUMN = 1_000, 20  # per cluster; the latter where it has a matrix: no prior is needed


class GaussianMixture(VectorMixture):
    """Clusters of vectors, with posteriors that keep the top few clusters of each row.

    Stands in for scikit-learn's GaussianMixture and BayesianGaussianMixture, with their names; with `n_active=None` and
    `learner="batch"` the objectives "ml" and "vb" take their very steps. The defaults are faster and find better
    clusters: each row keeps its `n_active` best clusters, clusters move after each of up to ten batches, and the prior
    of covariances is as strong as the data asks for.

    Parameters
    ----------
    n_components : int
        Number of clusters, K.
    covariance_type : {"full", "diag", "spherical", "tied"}
        The shape of covariances: any, with zeros off the diagonal, one number, or any but the same for all clusters.
    zero_mean : bool
        Whether all means are zero, so that clusters differ by their covariances alone.
    objective : {"map", "vb", "ml"}
        What is climbed: the log posterior at a point, its mode where parameters are unbounded (log odds of weights, log
        scale of covariances); a bound on the evidence with full posteriors; or the likelihood alone (EM).
    n_active : int or None
        Clusters kept per row, L. 1 is hard assignment, as in k-means; None keeps all K.
    candidates : int or None
        Clusters that a row is scored by, for hundreds of clusters and more: those nearest to the one that it was in at
        the last visit; every tenth pass scores all. None always does, and so does stochastic learning, which remembers
        nothing of a row. The objective is never overstated, but between full scans it may fall.
    learner : {"memoized", "batch", "stochastic", "asynchronous"} or an object of topmix.learners
        How the data is visited. Memoized and batch climb the same objective, and memoized, which moves after each
        batch, gets there sooner. Stochastic remembers nothing of a batch, and its bound is an estimate. Asynchronous
        workers keep their share of the rows while clusters travel between them; they hold the rows and their n_active
        clusters in memory.
    engine : {"threads", "serial", "ray", "cuda"} or an object of topmix.engines
        Who runs the kernels. The results are the same for any engine; those of "cuda", a GPU, within rounding.
    weight_concentration_prior_type : {"dirichlet_distribution", "dirichlet_process"}
        The prior on weights: a Dirichlet, or a Dirichlet process cut off after n_components sticks.
    weight_concentration_prior : float or None
        Dirichlet prior on the weight of each cluster, alpha / K, or the process's concentration. None is 1 / K.
    mean_prior : array of shape (n_features,) or None
        Where means are expected. None is the mean of the data.
    mean_precision_prior : float or None
        How many rows that expectation is worth. None is 1 with "vb" and next to nothing with "map".
    degrees_of_freedom_prior : float or None
        How many rows the expected covariance is worth. None is n_features with "vb"; with "map" the data chooses among
        none and up to 300, by scoring each row by its cluster without it.
    covariance_prior : array or None
        The expected covariance times degrees_of_freedom_prior: (n_features, n_features) for "full" and "tied",
        (n_features,) for "diag", a number for "spherical". None is the covariance of the data with "vb", raised to
        reg_covar in directions that have less, and with "map" the covariance that clusters have on average.
    reg_covar : float
        Added to the variances of every cluster after each update, as in scikit-learn. Where it is not small beside
        them, the objective may fall a little.
    init_params : {"auto", "split", "k-means++", "kmeans", "random", "random_from_data"}, array or dict
        Where clusters start: one cluster that is divided until there are enough, with a few passes over a growing
        sample in between; rows far from each other, with what is nearest to them; k-means; random
        responsibilities; random rows. "auto" is k-means for up to 25 clusters of fewer than 100,000 rows, unless
        columns in other units or clusters one within another make another start clearly better. Beyond that, and with
        `zero_mean`, it tries "split", "k-means++", "random_from_data" and a short k-means, in the scales of the columns
        and in those of the whole data, and takes what makes a sample of the data most likely after a pass over it. Or
        responsibilities (n_samples, n_components), or labels (n_samples,). Or a dict with some of "weights", "means"
        and "precisions", in the shapes of scikit-learn's weights_init, means_init and precisions_init; the rest is as
        with "auto".
    max_iter : int
        Passes over the data, at most. 0 leaves the clusters where they start. A fit that has not converged by then
        warns with scikit-learn's ConvergenceWarning.
    tol : float
        Stop when a pass lifts the objective by less than this, per row.
    max_time : float or None
        Seconds for the whole fit, all starts together. None: no limit.
    n_init : int
        Starts to try; the one with the best objective is kept.
    warm_start : bool
        Start `fit` from the clusters of the last one.
    n_jobs : int or None
        Threads. None and -1 use all cores (scikit-learn uses one). The results are the same for any value.
    random_state : int, RandomState or None
    verbose : int or None
        1 shows progress on stderr: a bar on a terminal, a line per pass elsewhere. None shows a bar on a terminal or in
        a notebook if the fit takes longer than ten seconds. 0 is silent.
    callbacks : list of callables or None
        Each is called as f(record, view) after a pass; a true value ends the fit. See topmix.fitting.PassView.

    Attributes
    ----------
    weights_ : ndarray of shape (n_components,)
    means_ : ndarray of shape (n_components, n_features)
    covariances_, precisions_, precisions_cholesky_ : ndarray
        In scikit-learn's shapes. Under "vb" the covariance is, as there, the inverse of the expected precision. To make
        a mixture without a fit, set weights_, means_ and then precisions_cholesky_.
    mean_precision_, degrees_of_freedom_ : ndarray
        beta and nu of each cluster: with the prior, the rows that it stands for.
    objective_, elbo_ : float
        The objective at the end, summed over rows.
    lower_bound_ : float
        The same, as scikit-learn has it: per row for "ml".
    lower_bounds_ : list of float
        lower_bound_ after each pass.
    labels_ : ndarray of shape (n_samples,)
        The most probable cluster of each row of the last `fit`. Not part of a saved model.
    history_ : list of Record
        One record per pass.
    n_iter_, converged_, n_features_in_, feature_names_in_ : as in scikit-learn.

    Notes
    -----
    Rows are computed in the type that they come in: float32 is twice as fast, and where covariances are so thin that
    it would lose more than a thousandth of a nat, float64 takes its place. An array mapped from a file (numpy.memmap,
    or the path of a .npy file) is read a piece at a time.

    X may be sparse, a SciPy matrix or a Corpus. Its rows are made dense a piece at a time; only passes with
    `learner="asynchronous"`, which need `covariance_type="diag"` then, compute with the entries alone.

    Examples
    --------
    >>> import numpy as np
    >>> from topmix import GaussianMixture
    >>> rng = np.random.default_rng(0)
    >>> X = np.concatenate([rng.normal(-5, 1, (50, 2)), rng.normal(5, 1, (50, 2))])
    >>> gm = GaussianMixture(2, random_state=0).fit(X)
    >>> gm.means_.shape
    (2, 2)
    """

    _likelihood = Gaussian
    _least_batch = 2_000  # an update of the clusters costs more than a visit to fewer

    means_ = learned[np.ndarray](lambda f: f.model.likelihood.mean(), keep=True)
    covariances_ = learned[np.ndarray](lambda f: f.model.likelihood.covariances(), keep=True)
    mean_precision_ = learned[np.ndarray](lambda f: f.model.likelihood.posterior.beta)
    degrees_of_freedom_ = learned[np.ndarray](lambda f: f.model.likelihood.posterior.nu)

    def __init__(
        self,
        n_components: int = 8,
        *,
        covariance_type: str = "full",
        zero_mean: bool = False,
        objective: str = "map",
        n_active: int | None = 8,
        candidates: int | None = None,
        learner: str | Learner = "memoized",
        engine: str | Engine = "threads",
        weight_concentration_prior_type: str = "dirichlet_distribution",
        weight_concentration_prior: float | None = None,
        mean_prior: object = None,
        mean_precision_prior: float | None = None,
        degrees_of_freedom_prior: float | None = None,
        covariance_prior: object = None,
        reg_covar: float = 1e-6,
        init_params: object = "auto",
        max_iter: int = 100,
        tol: float = 1e-3,
        max_time: float | None = None,
        n_init: int = 1,
        warm_start: bool = False,
        n_jobs: int | None = None,
        random_state: object = None,
        verbose: int | None = None,
        callbacks: list[Callback] | None = None,
    ):
        self.n_components = n_components
        self.covariance_type = covariance_type
        self.zero_mean = zero_mean
        self.objective = objective
        self.n_active = n_active
        self.candidates = candidates
        self.learner = learner
        self.engine = engine
        self.weight_concentration_prior_type = weight_concentration_prior_type
        self.weight_concentration_prior = weight_concentration_prior
        self.mean_prior = mean_prior
        self.mean_precision_prior = mean_precision_prior
        self.degrees_of_freedom_prior = degrees_of_freedom_prior
        self.covariance_prior = covariance_prior
        self.reg_covar = reg_covar
        self.init_params = init_params
        self.max_iter = max_iter
        self.tol = tol
        self.max_time = max_time
        self.n_init = n_init
        self.warm_start = warm_start
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

    @precisions_cholesky_.setter
    def precisions_cholesky_(self, value: Any) -> None:
        """A mixture made by hand, as with scikit-learn: set weights_ and means_, and this last. It is one at a point,
        whatever `objective` says, and ready to predict, to score, to sample, to be saved and to start a warm fit."""
        if not (hasattr(self, "weights_") and hasattr(self, "means_")):
            raise AttributeError("set weights_ and means_ first, and precisions_cholesky_ last")
        model = by_hand(self.covariance_type, self.weights_, self.means_, value)
        for name in {"weights_", "means_"} & set(vars(self)):
            delattr(self, name)  # the model has them from now on
        self._fitted = FittedMixture(reading=Reading(model.n_features), model=model)

    def sample(self, n_samples: int = 1) -> tuple[np.ndarray, np.ndarray]:
        """Rows drawn from the fitted mixture, cluster by cluster, and the cluster of each."""
        kind = self._gaussian.covariance_type
        rng = check_random_state(self.random_state)
        sizes = rng.multinomial(count_of_samples(n_samples), self.weights_)
        labels = np.repeat(np.arange(len(self.weights_)), sizes)
        noise = rng.standard_normal((len(labels), self.n_features_in_))
        if self._has_matrices():
            root = np.linalg.cholesky(self.covariances_)
            noise = noise @ root.T if kind == "tied" else np.einsum("nij,nj->ni", root[labels], noise)
        else:
            sd = np.sqrt(self.covariances_)[labels]
            noise *= sd if kind == "diag" else sd[:, None]
        return self.means_[labels] + noise, labels

    def _halves(self, rows: Rows, r: np.ndarray) -> MixtureStats:
        return MixtureStats(given(self._gaussian, r, rows, None).total, r.sum(axis=0), 0.0, 0.0)

    def _local_step(self, K: int) -> LocalStep:
        L = count_of_active(self.n_active, K)
        if self.candidates is None or not self._component("learner").remembers_rows:
            return super()._local_step(K)
        if whole_number(self.candidates, "candidates") < L:
            raise ValueError(f"candidates must be at least n_active, {L}, got {self.candidates!r}")
        return CandidateStep(Gaussian, L)

    def _warm(self, f: FittedMixture, K: int) -> tuple[Mixture | Admixture, Any]:
        model, stats = super()._warm(f, K)
        return replace(model, likelihood=replace(self._gaussian, **self._how())), stats

    def _how(self) -> dict[str, Any]:
        """What clusters are computed with, and not part of what they are."""
        return {"n_candidates": int(self.candidates or 0), "near": None, "age": 0}

    @property
    def _gaussian(self) -> Gaussian:
        likelihood = self._found().model.likelihood
        assert isinstance(likelihood, Gaussian)
        return likelihood

    def _has_matrices(self) -> bool:
        return self._gaussian.shape.is_matrix

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        learner = self._component("learner", missing=None)
        tags.input_tags.sparse = self.covariance_type == "diag" or not (learner and learner.travels)
        return tags

    def _read_data(self, X: object, how: How, known: Reading | None) -> tuple[Rows, Reading]:
        return read_rows(X, owner=type(self).__name__, known=known)

    def _prepared(self, data: Rows, weight: np.ndarray | None, K: int) -> _Prepared:
        settings = priors(self, data.shape[1])
        self._allocation(K)
        _refuse_what_does_not_fit(K, data.shape[1], self.covariance_type)
        about = summary(data, weight, self.covariance_type, self.zero_mean)
        model = replace(empty(about, str(data.data.dtype), K, **settings), **self._how())
        return _Prepared(model, self.objective == "map" and settings["covariance_prior"] is None)

    def _first(
        self, prepared: _Prepared, data: Rows, weight: np.ndarray | None, K: int, rng: np.random.Generator
    ) -> tuple[Gaussian, np.ndarray]:
        how, empty = "auto" if isinstance(self.init_params, dict) else self.init_params, prepared.model
        r = responsibilities(how, len(data), K, STARTS, "init_params")
        weights, means, covariances = checked_start(self, K, data.shape[1])
        known = [part is not None for part in (weights, means, covariances)]
        starts: list[_Start] = []
        if r is not None:
            starts = [_Start(given(empty, r, data, weight))]
        elif not all(known):
            starts = self._starts(empty, data, weight, str(how), rng)
        if r is None and any(known):
            n_rows = float(len(data)) if weight is None else float(weight.sum())
            N = starts[0].model.total.N if weights is None else weights * n_rows
            means = starts[0].model.mean() if means is None else means
            starts = [
                _Start(at(empty, N, means, starts[0].model.covariances() if covariances is None else covariances))
            ]
        model = self._chosen(prepared, starts, data, weight, r is not None or any(known), rng)
        return model, model.total.N

    def _starts(
        self, prepared: Gaussian, data: Rows, weight: np.ndarray | None, how: str, rng: np.random.Generator
    ) -> list[_Start]:
        """First clusters by one of STARTS; of several, the first is preferred."""
        K, is_tied = len(prepared.total.N), self.covariance_type == "tied"
        if is_tied and how == "split":
            raise ValueError("init_params='split' divides clusters by their spread, and with 'tied' they share it")
        if how == "auto" and K <= FEW_CLUSTERS and len(data) < MANY_ROWS and not self.zero_mean:
            x, w = sampled(prepared, data, weight, rng, at_most=LEAST_ROWS)
            ways = ["kmeans"] + ["plain kmeans"] * (N_OTHERS if len(data) >= OTHERS_FROM else 0)
            ways += ["scaled kmeans"] if in_many_units(prepared) else []
            ways += ["split"] if not is_tied and differ_by_spread(prepared, x, w) else []
        else:
            ways = [how]
        divided: list[Gaussian] = []
        if not is_tied and not {"split", "auto"}.isdisjoint(ways):
            plain, L = replace(prepared, n_candidates=0), count_of_active(self.n_active, K)
            try:
                model = grown(plain, self._allocation, data, weight, L, rng.spawn(1)[0])
                divided.append(replace(model, n_candidates=prepared.n_candidates))
            except SingularCovariance:  # of a part of the sample; all of the data may do
                if how == "split":
                    raise
        starts = [(way, m) for way in ways if way != "split" for m in start(prepared, data, weight, way, rng)]
        if "auto" in ways:
            return [_Start(self._most_likely(divided, [m for _, m in starts], data, weight, rng))]
        return [_Start(m, OWN_GAIN if way == "plain kmeans" else LEAST_GAIN) for way, m in starts] + [
            _Start(m) for m in divided
        ]

    def _most_likely(
        self,
        divided: list[Gaussian],
        starts: list[Gaussian],
        data: Rows,
        weight: np.ndarray | None,
        rng: np.random.Generator,
    ) -> Gaussian:
        """Of clusters that were divided, which have seen passes, or of the two best starts, which have not: before the
        first pass the shares and covariances of a good start may still be far off."""
        first, L = starts[0], count_of_active(self.n_active, len(starts[0].total.N))
        x, w = sampled(first, data, weight, rng)
        tries = [(m, 0) for m in divided] + [(m, TRIAL_PASSES) for m in starts[: 2 - len(divided)]]
        judged = [settled(m, self._allocation, x, w, L, rng, n, JUDGES) for m, n in tries]
        return max(judged, key=lambda found: found.likelihood(w)).model

    def _chosen(
        self,
        prepared: _Prepared,
        starts: list[_Start],
        data: Rows,
        weight: np.ndarray | None,
        is_given: bool,
        rng: np.random.Generator,
    ) -> Gaussian:
        """One of the starts, with the prior that the data asks for, the same for all starts of a fit. Both are judged
        after some passes over a sample: where clusters start, they are not yet as thin as they will be. Clusters that
        the user gave stay where they are."""
        model, degrees, shape = starts[0].model, self.degrees_of_freedom_prior, starts[0].model.shape
        enough = len(model.total.N) * (ENOUGH_PER_COLUMN * shape.D if shape.is_matrix else ENOUGH_ROWS)
        if prepared.is_open and degrees is None and (shape.name == "tied" or len(data) > enough):
            prepared.is_open = False  # the prior is none
        if len(starts) > 1 or (prepared.is_open and prepared.prior is None):
            (x, w), L = sampled(model, data, weight, rng), count_of_active(self.n_active, len(model.total.N))
            best, *others = (settled(s.model, self._allocation, x, w, L, rng) for s in starts)
            for other, s in zip(others, starts[1:], strict=True):
                if other.likelihood(w) > best.likelihood(w) + s.least_gain * best.gain(w):
                    best = other
            if prepared.is_open and prepared.prior is None:
                prepared.prior = chosen_prior(best.model, w, best.two, degrees)
            model = model if is_given else best.model
        if prepared.prior is None:
            return model
        model = replace(model, prior=prepared.prior)
        return model.update(model.total, model.total.N)

    def _n_parameters(self) -> int:
        return n_parameters(self._gaussian, len(self.weights_))

    def _read_likelihood(self, file: CheckedReader, K: int, objective: str) -> Gaussian:
        return Gaussian.read(file, file.n_features, K, objective)


class _Start(NamedTuple):
    model: Gaussian
    least_gain: float = LEAST_GAIN  # that it needs to be taken in the place of those before it


@dataclass
class _Prepared:
    """What all starts of a fit share."""

    model: Gaussian  # at its prior
    is_open: bool  # whether the data is to choose the prior of covariances
    prior: GaussianPrior | None = None  # which the first start chose


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
