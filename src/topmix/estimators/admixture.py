"""Admixtures as scikit-learn estimators: groups of rows mix clusters, as documents mix topics."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from functools import partial
from itertools import pairwise
from typing import Self, Unpack

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.utils import Tags, TransformerTags

from topmix import _core
from topmix.base.checks import count_of_active, one_of, positive_number, whole_number
from topmix.base.dirichlet import NEGLIGIBLE
from topmix.corpus.corpus import Corpus
from topmix.corpus.rows import GroupedRows, Rows, sums_between
from topmix.estimators.declared import VectorOptions, fraction, takes
from topmix.estimators.estimator import learned
from topmix.estimators.gaussian import GaussianMixture
from topmix.estimators.mixture import NO_PROCESS
from topmix.estimators.vectors import VectorMixture
from topmix.estimators.von_mises_fisher import VonMisesFisherMixture
from topmix.io.columns import column_of
from topmix.io.documents import AS_IT_IS
from topmix.io.reading import How, Reading
from topmix.io.rows import in_groups, split_groups
from topmix.learn.cluster_exchanges import exchanged
from topmix.learn.cluster_search import SearchedClusters
from topmix.learn.fit import FitSettings, Problem
from topmix.learn.history import Outcome
from topmix.learn.learners import Learner
from topmix.models.document_prior import DocumentPrior
from topmix.models.mixture import WEIGHTS, Admixture, FiniteDirichlet, WeightPrior
from topmix.models.stick_prior import StickPrior, Sticks
from topmix.results.mixture import FittedMixture
from topmix.steps import rows as row_steps
from topmix.steps.rows import GroupStep

FIRST_PRIOR = 1.0  # alpha, summed over clusters, before it is learned
STICK_PRIOR = 10.0  # gamma: how many clusters there are expected to be, as in HDP


def of_groups(X: object, column: str | Iterable[object], corpus: Corpus) -> list[object]:
    """One value for each group, of values of groups or of rows."""
    values, data = column_of(X, column), corpus.vector_groups
    assert data is not None
    if len(values) == len(data) or len(values) != len(data.rows):
        return values  # whose number the callers check
    order = np.arange(len(values)) if data.order is None else data.order
    found = [values[order[a]] if b > a else None for a, b in pairwise(data.starts.tolist())]
    for g, (a, b) in enumerate(pairwise(data.starts.tolist())):
        if any(values[n] != found[g] and values[n] == values[n] for n in order[a:b]):
            name = g if corpus.names is None else repr(corpus.names[g])
            raise ValueError(f"the rows of group {name} have several values: pass one for each group")
    return found


class AdmixtureEstimator(VectorMixture):
    """A mixture whose weights differ from group to group; here is everything that does not depend on its clusters. A
    class that derives from this one and from a mixture is an admixture of its clusters.

    Parameters
    ----------
    n_components : int
        Number of clusters, K; with a Dirichlet process, the number to start with.
    n_active : int or None
        Clusters kept per row, L. 1 is hard assignment; None keeps all K. A group may have all of them.
    learner : {"memoized", "batch", "stochastic"} or an object of topmix.learners
        How the data is visited, as in GaussianMixture, but for "asynchronous".
    weight_concentration_prior_type : {"dirichlet_distribution", "dirichlet_process"}
        The prior on the proportions of groups: a Dirichlet, or a hierarchical Dirichlet process, as in HDP. With the
        latter memoized fits find the number of clusters: they are merged, divided and deleted while the bound rises.
    weight_concentration_prior : float or None
        Dirichlet prior on the proportion of each cluster in a group, or the concentration of the process, in all
        clusters together. None learns it, a Dirichlet for each cluster.

    Attributes
    ----------
    weights_ : ndarray of shape (n_components,)
        Share of all rows that each cluster has.
    weight_concentration_prior_ : ndarray of shape (n_components,)
        The prior of proportions, as given or learned.
    labels_ : ndarray of shape (n_samples,)
        The most probable cluster of each row of the last `fit`, given its group. Not part of a saved model.

    Notes
    -----
    A group is never divided, and its rows are in memory at once; data mapped from a file is read a few groups at a
    time. Groups have no part in where clusters start.
    """

    weight_concentration_prior_type: str = "dirichlet_distribution"

    _kind = Admixture
    _takes = "groups"

    weight_concentration_prior_ = learned[np.ndarray](lambda f: f.model.prior.alpha)

    @takes(VectorOptions)
    def fit(self, X: object, groups: object = None, sample_weight: object = None, **how: Unpack[VectorOptions]) -> Self:
        """Learns clusters of the rows of X, of shape (n_samples, n_features), and how groups of rows mix them.

        `groups` has the group of each row: numbers or names, in any order, a file of them, or the name of a column of
        X, which is a DataFrame or the path of a .csv, .tsv or .parquet file. Or X is a list of arrays, one for each
        group. Without either each row is a group of its own. `texts` may also have one text for each group, in the
        order of `transform`. A checkpoint of a fit of fewer than 20 passes continues with the same `max_iter` alone.
        """
        return self._fit_as(X, None, sample_weight, how, groups)

    def partial_fit(self, X: object, groups: object = None, sample_weight: object = None) -> Self:
        """One stochastic step on these groups, as for a mixture. Streams do not learn the prior of groups: it stays."""
        return self._learn(lambda: self._declared()._step(X, groups, sample_weight))

    def fit_predict(self, X: object, groups: object = None, sample_weight: object = None) -> np.ndarray:
        """`fit`, then its labels."""
        return self.fit(X, groups, sample_weight).labels_

    def fit_transform(self, X: object, groups: object = None, sample_weight: object = None) -> np.ndarray:
        """`fit`, then `transform`."""
        return self.fit(X, groups, sample_weight).transform(X, groups)

    def transform(self, X: object, groups: object = None) -> NDArray[np.float64]:
        """Proportions of the clusters in each group, of shape (n_groups, n_components), under the fitted clusters. Rows
        are in the order of `numpy.unique(groups)`, or of the list."""
        return self._proportions(self._rows(X, groups))

    def _proportions(self, data: Corpus | Rows) -> NDArray[np.float64]:
        f = self._found()
        assert data.groups is not None
        assert f.model.prior is not None
        parts = [a.N for a in f.assign_groups(data.groups, self._solver(), keep_clusters=False)]
        return f.model.prior.mean(np.concatenate(parts))

    def score(self, X: object, groups: object = None) -> float:
        """The mean of score_samples."""
        return float(np.mean(self.score_samples(X, groups)))

    def completion_score(
        self, X: object, groups: object = None, *, held_out: float = 0.2, random_state: int = 0
    ) -> float:
        """The mean log likelihood of held-out rows, given the other rows of their groups. `held_out` is the part of the
        rows of each group, at least one of two or more. Groups of one row are left out."""
        scores, n = self._completion(X, groups, held_out=held_out, random_state=random_state)
        if not n.any():
            raise ValueError("no group of X has two rows, so that none can be predicted from the others")
        return float(scores.sum() / n.sum())

    def _completion(
        self, X: object, groups: object = None, *, held_out: float = 0.2, random_state: int = 0
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        part = fraction(held_out, "held_out")
        f, data = self._found(), self._rows(X, groups).groups
        assert data is not None
        data = data.alone()
        seed = whole_number(random_state, "random_state", least=0)
        rng, held = np.random.default_rng(seed), np.zeros(len(data.rows), bool)
        for a, b in pairwise(data.starts.tolist()):
            if b - a > 1:
                held[a + rng.permutation(b - a)[: min(max(1, round(part * (b - a))), b - a - 1)]] = True
        weight = np.empty(len(held))
        weight[slice(None) if data.order is None else data.order] = ~held
        visits = f.assign_groups(data, self._solver(), want_likelihood=True, weight=weight)  # group by group
        scores = np.concatenate([a.likelihood for a in visits])
        return sums_between(np.where(held, scores, 0.0), data.starts), sums_between(held, data.starts)

    def bic(self, X: object) -> float:
        """Refused: groups have proportions, and there is no count of parameters that rows determine."""
        raise ValueError(f"{type(self).__name__} has no information criterion: compare completion_score(X, groups)")

    aic = bic

    def counts(self, X: object, groups: object = None, texts: object = None) -> Corpus:  # type: ignore[override]
        """Groups as documents: a Corpus in the words of `texts`, one for each row or group, with the rows beside it."""
        return self._read_known(X, groups, texts)

    def _column(self, X: object, column: str | Iterable[object], *beside: object, **named: object) -> list[object]:
        """Of tables of groups: `column` has a value for each row or for each group."""
        return of_groups(X, column, self._read_known(X, *beside, **named))

    def _shares(self, data: Corpus | Rows, n_texts: int) -> sp.csr_array:
        """Words belong to the cluster of their row, or to the clusters of their group."""
        return sp.csr_array(self._proportions(data)) if n_texts == len(data) else super()._shares(data, n_texts)

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.transformer_tags = TransformerTags(preserves_dtype=[])
        return tags

    def _data(
        self, X: object, groups: object = None, how: How = AS_IT_IS, known: Reading | None = None
    ) -> tuple[GroupedRows, Reading]:
        was_read = isinstance(X, Corpus)
        X = X.vectors if isinstance(X, Corpus) and X.vectors is not None else X
        if isinstance(X, GroupedRows):
            if was_read and known is not None:
                return X, known
            rows, reading = self._read_rows(X.rows, known)
            return GroupedRows(rows, X.starts, X.order, X.names, X.texts), reading
        X, groups, starts = split_groups(X, groups)
        rows, reading = self._read_rows(X, known)
        return in_groups(rows, groups) if starts is None else GroupedRows(rows, starts), reading

    def _further(self, problem: Problem, found: Outcome, settings: FitSettings) -> Outcome:
        # Clusters of digits by variances alone get a higher objective that way, and are no better.
        may_improve = getattr(self, "covariance_type", "full") == "full" and found.converged
        if not may_improve or problem.is_warm or self._is_process() or not self._component("learner").remembers_rows:
            return found
        return exchanged(problem, found, settings, self._rng())

    def _is_process(self) -> bool:
        kind = one_of(self.weight_concentration_prior_type, WEIGHTS, "weight_concentration_prior_type")
        if kind == "dirichlet_process" and self._objective() == "ml":
            raise ValueError(NO_PROCESS)
        return kind == "dirichlet_process"

    def _problem(self, data: Corpus | Rows, weight: np.ndarray | None, K: int, before: FittedMixture | None) -> Problem:
        problem = replace(super()._problem(data, weight, K, before), warm_up=self._warm_up())
        if not (self._is_process() and problem.learner.has_memo):
            return problem
        plan = partial(SearchedClusters, step=self._local_step(K), max_clusters=max(len(data), int(self.n_components)))
        return replace(problem, plan=plan)

    def _check_warm(self, f: FittedMixture, K: int | None) -> set[str]:
        return super()._check_warm(f, None if self._is_process() else K)

    def _prior(self, K: int) -> DocumentPrior | StickPrior:
        """Of the proportions of groups."""
        given, objective = self.weight_concentration_prior, self._objective()
        if self._is_process():
            alpha = FIRST_PRIOR if given is None else positive_number(given, "weight_concentration_prior")
            return StickPrior(Sticks.even(K, STICK_PRIOR), alpha, STICK_PRIOR, learns_concentration=given is None)
        alpha = FIRST_PRIOR / K if given is None else positive_number(given, "weight_concentration_prior")
        alpha = NEGLIGIBLE if objective == "ml" else alpha
        posterior = "variational" if objective == "vb" else "collapsed"
        return DocumentPrior(np.full(K, alpha), posterior, learned=given is None and objective != "ml")

    def _weight_prior(self) -> WeightPrior:
        """Of the mixtures that clusters start from."""
        objective = self._objective()
        return lambda K: FiniteDirichlet.uniform(1.0 / K, K, objective)

    def _learner(self) -> Learner:
        learner = super()._learner()
        if learner.travels:
            raise ValueError(f"{type(self).__name__} cannot be learned with learner='asynchronous': use 'memoized'")
        return learner

    def _local_step(self, K: int, *, is_stream: bool = False) -> GroupStep:
        n = _core.MAX_TOPICS if self._is_process() else K  # clusters that there may be
        return GroupStep(self._likelihood, count_of_active(self.n_active, n), self._warm_up())

    def _warm_up(self) -> int:
        """First passes that may lower the objective."""
        return 0 if self._before() is not None else min(row_steps.WARM_UP, int(self.max_iter or 0) // 2)


class GaussianAdmixture(AdmixtureEstimator, GaussianMixture, without=["candidates"]):
    """Groups of vectors that mix clusters: images of patches, documents of word vectors, patients of cells.

    As LDA, with vectors in the place of words: each row of a group comes from one of K Gaussian clusters, which all
    groups share, and each group has proportions of its own, which `transform` gives. Clusters, priors and starts are
    those of GaussianMixture.

    Examples
    --------
    >>> import numpy as np
    >>> from topmix import GaussianAdmixture
    >>> rng = np.random.default_rng(0)
    >>> left, right = rng.normal(-5, 1, (60, 2)), rng.normal(5, 1, (60, 2))
    >>> X = np.concatenate([left[:45], right[:15], left[45:], right[15:]])
    >>> groups = ["a"] * 60 + ["b"] * 60
    >>> gm = GaussianAdmixture(2, random_state=0).fit(X, groups)
    >>> np.sort(gm.transform(X, groups)).round(2)
    array([[0.26, 0.74],
           [0.26, 0.74]])
    """


class VonMisesFisherAdmixture(AdmixtureEstimator, VonMisesFisherMixture):
    """Groups of directions that mix clusters: documents of sentence or word embeddings.

    As LDA, with unit vectors in the place of words: each row of a group comes from one of K von Mises-Fisher clusters,
    which all groups share, and each group has proportions of its own, which `transform` gives. Clusters and starts are
    those of VonMisesFisherMixture.

    Examples
    --------
    >>> import numpy as np
    >>> from topmix import VonMisesFisherAdmixture
    >>> words = np.eye(3) + 0.1 * np.random.default_rng(0).normal(size=(40, 3, 3))
    >>> documents = [words[:20, 0], np.concatenate([words[:20, 1], words[20:, 2]]), words[20:, 0]]
    >>> vmf = VonMisesFisherAdmixture(3, random_state=0).fit(documents)
    >>> np.sort(vmf.transform(documents)).round(1)
    array([[0. , 0. , 1. ],
           [0. , 0.5, 0.5],
           [0. , 0. , 1. ]])
    """
