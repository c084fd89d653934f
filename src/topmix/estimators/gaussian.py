"""Gaussian mixtures as scikit-learn estimators."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from sklearn.utils import Tags, check_random_state

from topmix.base.checks import (
    MOST_POSITIVE,
    check_memory,
    count_of_active,
    number_from,
    one_of,
    positive_number,
    whole_number,
)
from topmix.corpus.corpus import Corpus
from topmix.corpus.rows import Rows
from topmix.estimators.declared import Settings, array, responsibilities
from topmix.estimators.estimator import learned
from topmix.estimators.vectors import VectorMixture
from topmix.io.reading import Reading
from topmix.io.rows import read_rows
from topmix.learn.clusters import GaussianStart, Parts
from topmix.models.frame import SHAPES
from topmix.models.gaussian import Gaussian
from topmix.models.gaussian_start import STARTS
from topmix.models.mixture import Admixture, Mixture
from topmix.results.mixture import FittedMixture
from topmix.steps.rows import CandidateStep, RowStep


class GaussianMixture(VectorMixture):
    """Clusters of vectors, with posteriors that keep the top few clusters of each row.

    Replaces scikit-learn's GaussianMixture and BayesianGaussianMixture, with their names; with `n_active=None` and
    `learner="batch"` the objectives "ml" and "vb" take the same steps. The defaults are faster and find better
    clusters.

    Parameters
    ----------
    covariance_type : {"full", "diag", "spherical", "tied"}
        The shape of covariances: any, with zeros off the diagonal, one number, or any but the same for all clusters.
    zero_mean : bool
        Whether all means are zero, so that clusters differ by their covariances alone.
    objective : {"map", "vb", "ml"}
        What is climbed: the log posterior at a point, its mode where parameters are unbounded (log odds of weights, log
        scale of covariances); a bound on the evidence with full posteriors; or the likelihood alone (EM).
    candidates : int or None
        Clusters that a row is scored by, for hundreds of clusters and more: those nearest to the one that it was in at
        the last visit; every tenth pass scores all. None always scores all, and so does stochastic learning.
    mean_prior : array of shape (n_features,) or None
        Where means are expected. None is the mean of the data.
    mean_precision_prior : float or None
        How many rows that expectation is worth. None is 1 with "vb" and next to nothing with "map".
    degrees_of_freedom_prior : float or None
        How many rows the expected covariance is worth. None is n_features with "vb"; with "map" the data chooses among
        none and up to 300, by scoring each row by its cluster without it.
    covariance_prior : array or None
        The expected covariance times degrees_of_freedom_prior: (n_features, n_features) for "full" and "tied",
        (n_features,) for "diag", a number for "spherical". None is the covariance of the data with "vb", and with "map"
        the covariance that clusters have on average.
    reg_covar : float
        Added to the variances of every cluster after each update, as in scikit-learn.
    init_params : {"auto", "split", "k-means++", "kmeans", "random", "random_from_data"}, array or dict
        Where clusters start. "split" divides one cluster until there are enough; "k-means++" takes rows far from each
        other, "random" random responsibilities, and "random_from_data" random rows. "auto" is k-means for up to 25
        clusters of fewer than 100,000 rows, unless another start is clearly better; beyond that it tries "split" and a
        short k-means on a sample, and takes the better. Or responsibilities (n_samples, n_components), or labels
        (n_samples,). Or a dict with some of "weights", "means" and "precisions", in the shapes of scikit-learn's
        weights_init, means_init and precisions_init; the rest is as with "auto".

    Attributes
    ----------
    means_ : ndarray of shape (n_components, n_features)
    covariances_, precisions_, precisions_cholesky_ : ndarray
        In scikit-learn's shapes. Under "vb" the covariance is, as there, the inverse of the expected precision.
    mean_precision_, degrees_of_freedom_ : ndarray
        beta and nu of each cluster: with the prior, the rows that it stands for.

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

    covariance_type: str = "full"
    zero_mean: bool = False
    candidates: int | None = None
    mean_prior: object = None
    mean_precision_prior: float | None = None
    degrees_of_freedom_prior: float | None = None
    covariance_prior: object = None
    reg_covar: float = 1e-6
    init_params: object = "auto"

    _likelihood = Gaussian
    _least_batch = 2_000  # an update of the clusters costs more than a visit to fewer

    means_ = learned[np.ndarray](lambda f: f.model.likelihood.mean(), keep=True)
    covariances_ = learned[np.ndarray](lambda f: f.model.likelihood.covariances(), keep=True)
    mean_precision_ = learned[np.ndarray](lambda f: f.model.likelihood.posterior.beta)
    degrees_of_freedom_ = learned[np.ndarray](lambda f: f.model.likelihood.posterior.nu)

    @property
    def precisions_(self) -> np.ndarray:
        return np.linalg.inv(self.covariances_) if self._gaussian.shape.is_matrix else 1.0 / self.covariances_

    @property
    def precisions_cholesky_(self) -> np.ndarray:
        """C with C C' the precision, upper triangular."""
        if not self._gaussian.shape.is_matrix:
            return 1.0 / np.sqrt(self.covariances_)
        lower = np.linalg.inv(self._gaussian.roots())
        return np.ascontiguousarray(np.swapaxes(lower, -1, -2))

    def sample(self, n_samples: int = 1) -> tuple[np.ndarray, np.ndarray]:
        """Rows drawn from the fitted mixture, cluster by cluster, and the cluster of each."""
        kind = self._gaussian.covariance_type
        rng = check_random_state(self.random_state)
        labels = self._sampled_labels(n_samples, rng)
        noise = rng.standard_normal((len(labels), self.n_features_in_))
        if self._gaussian.shape.is_matrix:
            root = self._gaussian.roots()
            noise = noise @ root.T if kind == "tied" else np.einsum("nij,nj->ni", root[labels], noise)
        else:
            sd = np.sqrt(self.covariances_)[labels]
            noise *= sd if kind == "diag" else sd[:, None]
        return self.means_[labels] + noise, labels

    def _local_step(self, K: int, *, is_stream: bool = False) -> RowStep:
        L = count_of_active(self.n_active, K)
        if is_stream or self.candidates is None or not self._component("learner").remembers_rows:
            return super()._local_step(K)
        if whole_number(self.candidates, "candidates") < L:
            raise ValueError(f"candidates must be at least n_active, {L}, got {self.candidates!r}")
        return CandidateStep(Gaussian, L)

    def _warm(self, f: FittedMixture, data: Corpus | Rows, K: int) -> Mixture | Admixture:
        model = super()._warm(f, data, K)
        assert isinstance(model.likelihood, Gaussian)
        clusters = replace(model.likelihood, n_candidates=int(self.candidates or 0), near=None, age=0)
        return replace(model, likelihood=clusters)

    @property
    def _gaussian(self) -> Gaussian:
        likelihood = self._found().model.likelihood
        assert isinstance(likelihood, Gaussian)
        return likelihood

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        learner = self._component("learner", missing=None)
        tags.input_tags.sparse = self.covariance_type == "diag" or not (learner and learner.travels)
        return tags

    def _read_rows(self, X: object, known: Reading | None) -> tuple[Rows, Reading]:
        return read_rows(X, owner=type(self).__name__, known=known)

    def _start(self, data: Rows, weight: np.ndarray | None, K: int) -> GaussianStart:
        kind, D = one_of(self.covariance_type, SHAPES, "covariance_type"), data.shape[1]
        check_memory(
            8 * 10 * D**2 * {"full": K, "tied": 1}.get(kind, 0),
            f"{K} clusters with covariance_type={kind!r} in {D} columns",
            "Use 'diag' or 'tied', or fewer columns, by PCA say.",
        )
        mean, covariance = self.mean_prior, self.covariance_prior
        is_matrix, shape = kind in ("full", "tied"), _shapes(1, D)["full" if kind == "tied" else kind][1:]
        if covariance is not None:
            covariance = positive(covariance, shape, "covariance_prior", is_matrix)
        if self.mean_precision_prior is not None:
            positive_number(self.mean_precision_prior, "mean_precision_prior")
        if self.degrees_of_freedom_prior is not None:
            least = D - 1.0 if is_matrix else 0.0
            positive_number(self.degrees_of_freedom_prior, "degrees_of_freedom_prior", least=least)
        settings = {
            "covariance_type": kind,
            "objective": self._objective(),
            "zero_mean": bool(self.zero_mean),
            "mean_prior": None if mean is None else array(np.atleast_1d(np.asarray(mean)), (D,), "mean_prior"),
            "mean_precision_prior": self.mean_precision_prior,
            "degrees_of_freedom_prior": self.degrees_of_freedom_prior,
            "covariance_prior": covariance,
            "reg_covar": number_from(self.reg_covar, "reg_covar", 0.0, MOST_POSITIVE),
        }
        init = self.init_params
        parts: Parts = (None, None, None)
        if isinstance(init, dict):
            parts = self._given_clusters(init, K, D)
            init = "auto"
        r = responsibilities(init, len(data), K, STARTS, "init_params")
        how, L, weights = str(init) if r is None else r, count_of_active(self.n_active, K), self._weight_prior()
        return GaussianStart(data, weight, K, settings, weights, L, how, parts, int(self.candidates or 0))

    def _given_clusters(self, given: Settings, K: int, D: int) -> Parts:
        """Weights, means and covariances, the inverse of precisions, as far as init_params gives them."""
        where, unknown = "init_params: ", given.keys() - {"weights", "means", "precisions"}
        if unknown:
            raise ValueError(f"init_params may have 'weights', 'means' and 'precisions', not {sorted(unknown)[0]!r}")
        weights, means, precisions = (given.get(name) for name in ("weights", "means", "precisions"))
        if weights is not None:
            weights = array(weights, (K,), "weights", where)
            if weights.min() < 0 or not np.isclose(weights.sum(), 1):
                raise ValueError(f"{where}The parameter 'weights' must not be negative and must sum to one")
        if means is not None:
            if self.zero_mean:
                raise ValueError(f"{where}'means' do not go with zero_mean=True")
            means = array(means, (K, D), "means", where)
        if precisions is None:
            return weights, means, None
        kind, is_matrix = self.covariance_type, self.covariance_type in ("full", "tied")
        precisions = positive(precisions, _shapes(K, D)[kind], f"{kind} precision", is_matrix, where)
        return weights, means, np.linalg.inv(precisions) if is_matrix else 1.0 / precisions


def _shapes(K: int, D: int) -> dict[str, tuple[int, ...]]:
    """Of scikit-learn's precisions."""
    return {"full": (K, D, D), "tied": (D, D), "diag": (K, D), "spherical": (K,)}


def positive(value: object, shape: tuple[int, ...], parameter: str, is_matrix: bool, where: str = "") -> np.ndarray:
    """Symmetric positive definite matrices, or positive numbers."""
    a = array(value, shape, parameter, where)
    if not is_matrix and a.min() > 0:
        return a
    if is_matrix and np.allclose(a, np.swapaxes(a, -1, -2)) and np.linalg.eigvalsh(a).min() > 0:
        return a
    wanted = "symmetric, positive-definite" if is_matrix else "positive"
    raise ValueError(f"{where}The parameter '{parameter}' should be {wanted}")
