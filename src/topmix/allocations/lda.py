"""Topic proportions of documents: pi_d ~ Dir(alpha_1, ..., alpha_K).  docs/math.md Eqs. (3.1), (3.8)."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from scipy.special import digamma, gammaln, xlogy

from topmix import dirichlet
from topmix.stats import TopicStats, WordStats


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
    learned: bool = False  # alpha is re-estimated after each pass

    def summarise(self, words: WordStats, docs: DocTopics, lengths: np.ndarray, H: float) -> TopicStats:
        """Statistics of documents with these topics; `lengths` are their tokens.  Eq. (3.8).

        A topic that a document does not use keeps its prior: only the topics in use are visited.
        """
        alpha, n_docs = self.alpha, len(lengths)
        K, a0 = len(alpha), float(alpha.sum())
        a, N = alpha[docs.topic], docs.count.astype(np.float64)
        M: np.ndarray = np.zeros(K)
        if self.learned or self.posterior == "variational":
            M += np.bincount(docs.topic, digamma(N + a) - digamma(a), minlength=K)
        if self.posterior == "collapsed":  # log theta_dk = log(N_dk + alpha_k) - log(N_d + alpha_0)
            T = n_docs * np.log(alpha) - np.log(lengths + a0).sum()
            T += np.bincount(docs.topic, np.log((N + a) / a), minlength=K)
            A = float(np.sum(N * np.log(N + a)) - xlogy(lengths, lengths + a0).sum())
            return TopicStats(words, float(n_docs), H, 0.0, A, T, M)
        T = M + n_docs * digamma(alpha) - digamma(lengths + a0).sum()
        G = float(np.sum(gammaln(N + a) - gammaln(a)) + n_docs * gammaln(alpha).sum() - gammaln(lengths + a0).sum())
        return TopicStats(words, float(n_docs), H, G, -float(alpha @ T), T, M)

    def bound(self, total: TopicStats) -> float:
        """The documents' part of the objective.  Eq. (3.10)."""
        prior = float(self.alpha @ total.T)
        if self.posterior == "variational":
            prior += total.D * float(dirichlet.log_normaliser(self.alpha))
        elif self.learned:  # a constant, until alpha moves
            prior += total.D * float(dirichlet.log_normaliser(self.alpha + 1.0))
        return total.G + total.A + prior

    def documents(self, stats: TopicStats) -> float:
        """The same without what a MAP estimate adds for its prior density, which is not a likelihood of anything.

        Their part of Eq. (3.13).
        """
        return self.bound(stats) if self.posterior == "variational" else stats.A

    def relearn(self, total: TopicStats, lengths: np.ndarray) -> DocumentPrior:
        """One fixed-point step (Minka 2000) on the Dirichlet-multinomial likelihood of documents' counts.  Eq. (3.11).

        `lengths` are the tokens of all documents. A floor keeps a topic that nobody uses from being lost for good.
        """
        a0 = float(self.alpha.sum())
        rate = float(np.mean(digamma(lengths + a0) - digamma(a0))) * total.D
        if not rate > 0:
            return self
        return replace(self, alpha=np.maximum(self.alpha * total.M / rate, 1e-3 * a0 / len(self.alpha)))
