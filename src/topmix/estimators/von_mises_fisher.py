"""Mixtures of directions as a scikit-learn estimator."""

from __future__ import annotations

import numpy as np

from topmix.base.bessel import LARGEST as LARGEST_CONCENTRATION, ratio
from topmix.base.checks import CorpusError, count_of_active, one_of, positive_number
from topmix.corpus.directions import Directions
from topmix.corpus.rows import Rows
from topmix.estimators.declared import responsibilities
from topmix.estimators.estimator import learned
from topmix.estimators.vectors import VectorMixture
from topmix.io.reading import Reading
from topmix.io.rows import unchecked_rows
from topmix.models import von_mises_fisher as vmf
from topmix.steps.rows import RowCandidateStep, RowStep


class VonMisesFisherMixture(VectorMixture, without=["weight_concentration_prior_type"]):
    """Clusters of directions: text embeddings, normalised vectors, and whatever is compared by the cosine.

    Each cluster is a von Mises-Fisher distribution: a mean direction, and a concentration around it. Where spherical
    k-means only compares cosines, this model also learns how wide each cluster is and how many rows it has.

    Parameters
    ----------
    concentration_type : {"free", "tied"}
        Whether each cluster has a concentration of its own, or all have the same, as in spherical k-means.
    objective : {"map", "ml"}
        What is maximised: the log likelihood and the log of a weak prior (see `prior_rows`), or the likelihood alone.
    learner : {"memoized", "batch", "stochastic"} or an object of topmix.learners
        How the data is visited, as in GaussianMixture, but for "asynchronous".
    weight_concentration_prior : float or None
        Dirichlet prior on the weight of each cluster, alpha / K, under "map". None is 1 / K.
    prior_rows : float
        Pseudo-rows of each cluster under "map", around its own mean direction. They keep the concentration of a cluster
        of one row, or of equal rows, finite.
    max_concentration : float
        The largest concentration that a cluster may have.
    normalize : bool
        Whether rows are divided by their lengths. False refuses rows whose length is not one.
    init : {"auto", "k-means++", "random_from_data"} or array
        Where clusters start: rows far from each other, or random rows, then spherical k-means on a sample. "auto" tries
        both and takes the better. Or responsibilities (n_samples, n_components), or labels (n_samples,).

    Attributes
    ----------
    mean_directions_ : ndarray of shape (n_components, n_features)
        mu, of unit length.
    concentrations_ : ndarray of shape (n_components,)
        kappa; 0 is uniform on the sphere.
    means_ : ndarray of shape (n_components, n_features)
        The expected row of each cluster, A_D(kappa) mu, which is shorter than one.

    Examples
    --------
    >>> import numpy as np
    >>> from topmix import VonMisesFisherMixture
    >>> X = np.repeat(np.eye(3), 20, axis=0) + 0.1 * np.random.default_rng(0).normal(size=(60, 3))
    >>> vmf = VonMisesFisherMixture(3, random_state=0).fit(X)
    >>> sorted(np.bincount(vmf.labels_).tolist())
    [20, 20, 20]
    """

    concentration_type: str = "free"
    prior_rows: float = 1.0
    max_concentration: float = 1e6
    normalize: bool = True
    init: object = "auto"

    _likelihood = vmf.VonMisesFisher
    _least_of_each = 8  # an update takes K D operations, however few rows it is made from

    mean_directions_ = learned[np.ndarray](lambda f: f.model.likelihood.parameters.mu)
    concentrations_ = learned[np.ndarray](lambda f: f.model.likelihood.parameters.kappa)

    def sample(self, n_samples: int = 1) -> tuple[np.ndarray, np.ndarray]:
        """Rows drawn from the fitted mixture, cluster by cluster, and the cluster of each."""
        self._found()
        rng = self._rng()
        labels = self._sampled_labels(n_samples, rng)
        counts = np.bincount(labels, minlength=len(self.weights_))
        of_clusters = zip(self.mean_directions_, self.concentrations_, counts)
        return np.concatenate([vmf.sample(mu, kappa, n, rng) for mu, kappa, n in of_clusters if n]), labels

    def _read_rows(self, X: object, known: Reading | None) -> tuple[Directions, Reading]:
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

    def _start(self, data: Rows, weight: np.ndarray | None, K: int) -> vmf.DirectionStart:
        one_of(self.objective, vmf.OBJECTIVES, "objective")
        r = responsibilities(self.init, len(data), K, vmf.STARTS, "init")
        most = positive_number(self.max_concentration, "max_concentration", least=1e-20)
        if most > LARGEST_CONCENTRATION:
            raise ValueError(f"max_concentration must be at most {LARGEST_CONCENTRATION:g}, got {most:g}")
        settings = {
            "objective": self.objective,
            "prior_rows": positive_number(self.prior_rows, "prior_rows", least=1e-20),
            "max_concentration": most,
            "concentration_type": one_of(self.concentration_type, vmf.CONCENTRATIONS, "concentration_type"),
        }
        return vmf.DirectionStart(data, weight, K, settings, str(self.init) if r is None else r)

    def _local_step(self, K: int, *, is_stream: bool = False) -> RowStep:
        step = RowCandidateStep(self._likelihood, count_of_active(self.n_active, K))
        is_worth_it = K >= vmf.MANY and step.n_active <= step.n_candidates and not is_stream
        return step if is_worth_it and self._component("learner").remembers_rows else super()._local_step(K)

    @property
    def means_(self) -> np.ndarray:
        return ratio(self.n_features_in_, np.maximum(self.concentrations_, 1e-30))[:, None] * self.mean_directions_
