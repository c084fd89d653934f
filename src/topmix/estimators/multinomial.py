"""Mixtures of bags of words as a scikit-learn estimator."""

from __future__ import annotations

from typing import Self, Unpack

import numpy as np
import scipy.sparse as sp
from sklearn.utils import Tags, check_random_state

from topmix.base.checks import positive_number, whole_number
from topmix.corpus.corpus import Corpus
from topmix.estimators.declared import ClusterOptions, responsibilities, takes
from topmix.estimators.estimator import learned
from topmix.estimators.mixture import MixtureEstimator
from topmix.estimators.odd_data import check_sums
from topmix.io.documents import AS_IT_IS, read
from topmix.io.reading import How, Reading
from topmix.models.categorical import STARTS, Categorical, WordStart


class MultinomialMixture(MixtureEstimator):
    """Clusters of count vectors, with posteriors that keep the top few clusters of each row.

    Every row belongs to one cluster (for rows that mix several, see LDA), and a cluster is a distribution over words.

    Parameters
    ----------
    objective : {"vb", "map", "ml"}
        What is climbed: a bound on the evidence with full posteriors of weights and words; the log posterior of weights
        and words, at its mode in log odds; or the likelihood alone (EM).
    topic_word_prior : float
        Dirichlet prior on the words of a cluster, eta.
    init : {"auto", "k-means++", "random", "documents"} or array
        Where clusters start. "k-means++" is spherical k-means on damped counts. "auto" goes on from there by collapsed
        Gibbs sampling, and "random" samples from random clusters. "documents" are K rows that are far from each other.
        Or responsibilities (n_samples, n_components), or labels (n_samples,).

    Attributes
    ----------
    components_ : ndarray of shape (n_components, n_features)
        Pseudo-counts: expected tokens of each word in each cluster, plus the prior.
    topic_word_ : ndarray of shape (n_components, n_features)
        Probabilities of words in clusters; rows sum to one.

    Examples
    --------
    >>> import numpy as np
    >>> from topmix import MultinomialMixture
    >>> X = np.array([[5, 0, 1], [4, 1, 0], [0, 6, 2], [0, 5, 1]])
    >>> labels = MultinomialMixture(2, n_init=5, random_state=0).fit_predict(X)
    >>> bool(labels[0] == labels[1] != labels[2] == labels[3])
    True
    """

    objective = "vb"
    topic_word_prior: float = 0.3
    init: object = "auto"

    _likelihood = Categorical

    components_ = learned[np.ndarray](lambda f: np.ascontiguousarray(f.model.likelihood.lam.T), keep=True)
    topic_word_ = learned[np.ndarray](lambda f: f.view.topic_word)

    @takes(ClusterOptions)
    def fit(self, X: object, y: object = None, sample_weight: object = None, **how: Unpack[ClusterOptions]) -> Self:
        """Learns the clusters of X: texts, or counts of shape (n_samples, n_features). `LDA.fit` says what X may be."""
        return self._fit_as(X, y, sample_weight, how)

    def sample(self, n_samples: int = 1, *, length: int = 100) -> tuple[sp.csr_array, np.ndarray]:
        """Rows of `length` words drawn from the fitted mixture, cluster by cluster, and the cluster of each."""
        self._found()
        rng = check_random_state(self.random_state)
        labels, n = self._sampled_labels(n_samples, rng), whole_number(length, "length")
        rows = [sp.csr_array(rng.multinomial(n, self.topic_word_[k])[None]) for k in labels]
        return sp.vstack(rows, format="csr"), labels

    def _data(
        self, X: object, groups: object = None, how: How = AS_IT_IS, known: Reading | None = None
    ) -> tuple[Corpus, Reading]:
        self._refuse_groups(groups)
        corpus, reading = read(X, how, known, owner=type(self).__name__, engine=self._engine())
        check_sums(corpus)
        return corpus, reading

    def _read_known(self, X: object) -> Corpus:
        return self._rows(X, None)

    def _start(self, data: Corpus, weight: np.ndarray | None, K: int) -> WordStart:
        eta = positive_number(self.topic_word_prior, "topic_word_prior")
        r = responsibilities(self.init, len(data), K, STARTS, "init")
        # A process that is cut off at K is about a Dirichlet of alpha / K.
        prior = 1.0 / K if self.weight_concentration_prior is None else float(self.weight_concentration_prior)
        prior = prior / K if self.weight_concentration_prior_type == "dirichlet_process" else prior
        return WordStart(data, weight, K, eta, self.objective, prior, str(self.init) if r is None else r)

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.positive_only = True
        return tags
