"""Topic proportions of documents: pi_d ~ Dir(alpha_1, ..., alpha_K).  docs/math.md Eqs. (3.1), (3.8)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import digamma, gammaln, xlogy

from topmix import dirichlet
from topmix.stats import TopicStats


@dataclass(frozen=True)
class DocTopics:
    """Tokens of each document in each of its topics, sparse: N_dk > 0 only."""

    indptr: np.ndarray  # [D + 1] int64
    topic: np.ndarray  # uint16, ascending within a document
    count: np.ndarray  # float32


@dataclass(frozen=True)
class DocumentPrior:
    """The prior that every document's proportions share. Documents themselves are local: a model never holds them."""

    alpha: np.ndarray  # [K]
    posterior: str  # "variational" | "collapsed"

    def terms(self, docs: DocTopics, lengths: np.ndarray) -> tuple[float, float, np.ndarray]:
        """(G, A, T) of Eq. (3.8) for documents with these topics; `lengths` are their tokens.

        A topic that a document does not use keeps its prior: only the topics in use are visited.
        """
        alpha, n_docs = self.alpha, len(lengths)
        K, a0 = len(alpha), float(alpha.sum())
        a, N = alpha[docs.topic], docs.count.astype(np.float64)
        if self.posterior == "collapsed":  # log theta_dk = log(N_dk + alpha_k) - log(N_d + alpha_0)
            log_norm = np.log(lengths + a0)
            T = np.bincount(docs.topic, np.log((N + a) / a), minlength=K) + n_docs * np.log(alpha) - log_norm.sum()
            A = float(np.sum(N * np.log(N + a)) - xlogy(lengths, lengths + a0).sum())
            return 0.0, A, T
        T = np.bincount(docs.topic, digamma(N + a) - digamma(a), minlength=K)
        T += n_docs * digamma(alpha) - digamma(lengths + a0).sum()
        G = float(np.sum(gammaln(N + a) - gammaln(a)) + n_docs * gammaln(alpha).sum() - gammaln(lengths + a0).sum())
        return G, -float(alpha @ T), T

    def bound(self, total: TopicStats) -> float:
        """The documents' part of the objective.  Eq. (3.10)."""
        documents = total.G + total.A + float(self.alpha @ total.T)
        if self.posterior == "variational":
            documents += total.D * float(dirichlet.log_normaliser(self.alpha))
        return documents
