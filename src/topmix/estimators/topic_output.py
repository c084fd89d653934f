"""What a fitted topic model says: of documents, and of itself."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from topmix.data.shard import Shard, Shards, in_order
from topmix.estimators.inputs import as_corpus, count_of_threads
from topmix.local import FoldedIn, TopicStep
from topmix.models.topics import TopicModel
from topmix.numerics import dirichlet


class TopicOutputMixin(ClassNamePrefixFeaturesOutMixin, TransformerMixin):
    """For estimators with `model_`, `components_` and a `_step` that solves documents under fixed topics."""

    model_: TopicModel
    components_: np.ndarray
    n_jobs: int | None
    random_state: Any

    @abstractmethod
    def _step(self, K: int) -> TopicStep: ...

    def fit_transform(self, X: Any, y: Any = None, *, normalize: bool = True) -> np.ndarray | sp.csr_array:
        """`fit`, then `transform`."""
        return self.fit(X).transform(X, normalize=normalize)

    def transform(self, X: Any, *, normalize: bool = True, sparse_output: bool = False) -> np.ndarray | sp.csr_array:
        """Topic proportions of documents, shape (n_samples, n_components).

        normalize=False gives pseudo-counts, tokens plus prior. With sparse_output only the topics that a document uses
        are stored, and what the prior gives to the others is left out: rows sum to a little less than one.
        """
        check_is_fitted(self, "model_")
        corpus = as_corpus(self, X, reset=False)
        alpha, K = self.model_.prior.alpha, self.model_.n_components
        parts = []
        for shard in Shards(corpus, in_order(corpus)):
            docs = self._fold_in(shard).docs
            counts = sp.csr_array((docs.count.astype(np.float64), docs.topic, docs.indptr), shape=(shard.n_rows, K))
            scale = 1.0 / (shard.lengths + alpha.sum()) if normalize else np.ones(shard.n_rows)
            if sparse_output:
                counts.data += alpha[docs.topic]
                counts.data *= np.repeat(scale, np.diff(docs.indptr))
                parts.append(counts)
            else:
                theta = counts.toarray() + alpha
                parts.append(theta / theta.sum(axis=1, keepdims=True) if normalize else theta)
        return sp.vstack(parts, format="csr") if sparse_output else np.concatenate(parts)

    def score(self, X: Any, y: Any = None) -> float:
        """A lower bound on the log likelihood of X given the topics, summed over documents.  docs/math.md Eq. (3.13).

        scikit-learn's adds what the topics themselves cost, -KL(q(phi) || p(phi)), the same number whatever X is.
        Collapsed: a lower bound on the log likelihood at the topics' and the documents' estimated proportions.
        """
        check_is_fitted(self, "model_")
        corpus = as_corpus(self, X, reset=False)
        return sum(self._fold_in(shard, want_words=True).bound for shard in Shards(corpus, in_order(corpus)))

    def perplexity(self, X: Any) -> float:
        """exp(-score per token): of the documents' own words, after they were seen. Not a held-out measure by itself.

        For a fair comparison of models use topmix.metrics.completion_score on documents that were not trained on.
        """
        check_is_fitted(self, "model_")
        corpus = as_corpus(self, X, reset=False)
        return float(np.exp(-self.score(corpus) / max(corpus.n_tokens, 1.0)))

    def top_words(self, n: int = 10) -> list[list[str]]:
        """The n most probable words of each topic, best first."""
        check_is_fitted(self, "model_")
        names = getattr(self, "feature_names_in_", None)
        best = np.argsort(-self.components_, axis=1, kind="stable")[:, :n]
        return [[str(v) if names is None else str(names[v]) for v in row] for row in best]

    @property
    def exp_dirichlet_component_(self) -> np.ndarray:
        check_is_fitted(self, "model_")
        return np.exp(dirichlet.expected_log(self.components_, axis=1))

    @property
    def random_state_(self) -> np.random.RandomState:
        check_is_fitted(self, "model_")
        return check_random_state(self.random_state)

    def _fold_in(self, shard: Shard, *, want_words: bool = False) -> FoldedIn:
        step, tables = self._step(self.model_.n_components), self.model_.tables(shard.cols)
        return step.fold_in(shard, tables, count_of_threads(self.n_jobs), want_words)

    @property
    def _n_features_out(self) -> int:
        return len(self.components_)
