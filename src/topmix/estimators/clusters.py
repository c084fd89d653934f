"""What all estimators with clusters are to their users: answers about rows, and about documents, which are rows of X
and, where there are texts, the text beside each."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator
from typing import Self

import numpy as np
import scipy.sparse as sp
from sklearn.base import DensityMixin

from topmix.base.checks import any_number, count_of_active, number_from, whole_number
from topmix.base.threads import use_threads
from topmix.corpus.corpus import Corpus
from topmix.corpus.rows import GroupedRows, Rows
from topmix.estimators.described import Edited
from topmix.estimators.estimator import Learning, learned
from topmix.io.documents import AS_IT_IS
from topmix.io.reading import How, Reading
from topmix.results.mixture import FittedMixture
from topmix.results.tables import document_info
from topmix.results.topics import NO_TOPIC, Solver
from topmix.results.view import DataFrame


class ClusterEstimator(Learning, DensityMixin, Edited[FittedMixture]):
    """Mixtures and admixtures. Rows of an admixture are in groups, which its methods take: `predict(X, groups)`.

    Attributes
    ----------
    weights_ : ndarray of shape (n_components,)
        Share of each cluster.
    labels_ : ndarray of shape (n_samples,)
        The most probable cluster of each row of the last `fit`. Not part of a saved model.
    objective_, elbo_ : float
        The objective at the end, summed over rows.
    lower_bound_ : float
        The same, as scikit-learn has it: per row for "ml".
    lower_bounds_ : list of float
        lower_bound_ after each pass.
    """

    weights_ = learned[np.ndarray](lambda f: f.weights)
    elbo_ = learned[float](lambda f: f.objective)
    lower_bound_ = learned[float](lambda f: f.lower_bound)
    labels_ = learned[np.ndarray](lambda f: f.labels)

    @abstractmethod
    def _data(
        self, X: object, groups: object = None, how: How = AS_IT_IS, known: Reading | None = None
    ) -> tuple[Corpus | Rows, Reading]:
        """X, checked, in groups where there are any."""

    def _rows(self, X: object, groups: object) -> Corpus | Rows:
        with use_threads(self._threads()):
            return self._data(X, groups, known=self._found().reading)[0]

    def predict(
        self, X: object, groups: object = None, *, min_weight: float = 0.0, min_density: float | None = None
    ) -> np.ndarray:
        """The most probable cluster of each row, of an admixture given the rows of its group; -1 where its probability
        is less than `min_weight`, from 0 to 1, or where the log likelihood of the row, as `score_samples` has it, is
        less than `min_density`."""
        data, least = self._rows(X, groups), number_from(min_weight, "min_weight", 0.0, 1.0)
        f, solver = self._found(), self._solver()
        found = np.concatenate([a.cluster[:, 0] for a in f.assign(data, solver, 1)])
        if least > 0:
            weight = f.probabilities(data, solver, solver.n_active)[0].max(axis=1)
            found[weight.toarray().ravel() < least] = NO_TOPIC
        if min_density is not None:
            found[f.likelihood(data, solver) < any_number(min_density, "min_density")] = NO_TOPIC
        return found

    def predict_proba(
        self, X: object, groups: object = None, *, sparse_output: bool = False
    ) -> np.ndarray | sp.csr_array:
        """Posterior probabilities of shape (n_samples, n_components), of an admixture given the rows of the group; at
        most n_active of a row are not zero."""
        solver = self._solver()
        r, _ = self._found().probabilities(self._rows(X, groups), solver, solver.n_active)
        return r if sparse_output else r.toarray()

    def score_samples(self, X: object, groups: object = None) -> np.ndarray:
        """The log likelihood of each row under the fitted clusters; with objective "vb" a lower bound on it. Of an
        admixture with the expected proportions of its group, which are inferred from all of its rows: see
        `completion_score` for rows that have no part in it."""
        return self._found().likelihood(self._rows(X, groups), self._solver())

    def score(self, X: object, y: object = None) -> float:
        """The mean of score_samples."""
        return float(np.mean(self.score_samples(X)))

    def _n_parameters(self) -> int:
        """Under scikit-learn's name."""
        return int(self._found().model.n_parameters())

    def bic(self, X: object) -> float:
        """Bayesian information criterion on X; the lower the better."""
        s = self.score_samples(X)
        return float(-2 * s.sum() + self._n_parameters() * np.log(len(s)))

    def aic(self, X: object) -> float:
        """Akaike information criterion on X; the lower the better."""
        return float(-2 * self.score_samples(X).sum() + 2 * self._n_parameters())

    @property
    def lower_bounds_(self) -> list[float]:
        """`lower_bound_` after each pass, as in scikit-learn."""
        self._found()
        share = self.lower_bound_ / self.elbo_ if self.elbo_ else 1.0  # one, or one over the rows of the fit
        return [share * record.objective for record in self.history_]

    def _solver(self) -> Solver:
        n_active = count_of_active(self.n_active, self._found().model.n_components)
        return Solver(self._engine(), self._threads(), n_active)

    def _has_words(self) -> bool:
        return self._fitted is not None and self._fitted.has_words

    def _parts(self, X: object, *beside: object, **named: object) -> Iterator[Corpus]:
        yield self._read_known(X, *beside, **named)

    def document_info(
        self,
        X: object,
        *beside: object,
        n_topics: int = 3,
        min_weight: float = 0.0,
        min_density: float | None = None,
        **named: object,
    ) -> DataFrame:
        """A table of the rows of X: their number, cluster, its name, its probability `weight`, the entropy of the
        clusters, the most probable ones with their probabilities, and `density`, the log likelihood of the row. Of an
        admixture, `document_info(X, groups)`, a table of groups: their names, the shares of clusters, the number of
        their `rows`, and as `density` the mean of these.

        Every row has a cluster, unless you say which are outliers: the cluster is -1 where its probability is less than
        `min_weight`, or the density less than `min_density`, for instance `np.quantile(model.score_samples(X), 0.02)`.
        """
        n, least = whole_number(n_topics, "n_topics"), number_from(min_weight, "min_weight", 0.0, 1.0)
        f, solver, corpus = self._solved(), self._solver(), self._read_known(X, *beside, **named)
        density = f.density(corpus, solver)
        below = -np.inf if min_density is None else any_number(min_density, "min_density")
        info = document_info(f, [corpus], solver, n_topics=n, min_weight=least, kept=density >= below)
        columns = dict(info)
        if isinstance(corpus.vectors, GroupedRows):
            columns = {"rows" if name == "tokens" else name: values for name, values in columns.items()}
        elif corpus.vectors is not None:
            del columns["tokens"]
        return self._frame(columns | {"density": density})

    def _edited(self, f: FittedMixture) -> Self:
        self.n_components = f.n_topics
        for name in {"init", "init_params"} & self.get_params(deep=False).keys():
            if not isinstance(vars(self)[name], str):  # clusters that were given one by one
                setattr(self, name, "auto")
        self._fitted = f
        return self
