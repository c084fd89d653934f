"""Topic proportions of documents: pi_d ~ Dir(alpha_1, ..., alpha_K).  docs/math.md Eqs. (3.1), (3.8)."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from scipy.special import digamma, gammaln, xlogy

from topmix import _core
from topmix.allocations.doc_topics import DocTopics
from topmix.data.design_rows import DesignRows
from topmix.files.reader import CheckedReader, ModelFileError
from topmix.files.writer import Writer
from topmix.numerics import dirichlet
from topmix.stats import MixtureStats, PseudoCounts, TopicStats, WordStats, WordTotal

LARGEST_STEP = 10.0  # what learning may multiply or divide alpha_0 by at once


class DocumentSums(NamedTuple):
    """Sums over documents d and their topics k that the statistics of a shard are made of."""

    n_docs: int
    lengths: float  # sum_d log(N_d + alpha_0); of psi where it is variational
    rise: np.ndarray  # [K] sum_d psi(N_dk + alpha_k) - psi(alpha_k), where somebody needs it
    above: np.ndarray  # [K] collapsed: sum_d log((N_dk + alpha_k) / alpha_k)
    within: float  # collapsed: sum_dk N_dk log(N_dk + alpha_k) - sum_d N_d log(N_d + alpha_0)
    gammas: float  # variational: sum_dk log Gamma(N_dk + alpha_k) - log Gamma(alpha_k)
    length_gammas: float = 0.0  # variational: sum_d log Gamma(N_d + alpha_0)


@dataclass(frozen=True)
class DocumentPrior:
    """The prior that every document's proportions share. Documents themselves are local: a model never holds them."""

    alpha: np.ndarray  # [K]
    posterior: str  # "variational" | "collapsed"
    learned: bool = False  # alpha is re-estimated after each pass

    def of(self, design: DesignRows | None) -> DocumentPrior:
        """The priors of documents: all have this one."""
        return self

    def own(self, scale: float = 1.0) -> None:
        """Priors of single documents: there are none."""

    def responses(self) -> _core.Responses | None:
        """What is known of single documents beside their words: nothing."""
        return None

    def of_documents(self) -> np.ndarray:
        """[1, K]"""
        return self.alpha[None, :]

    def no_stats(self, S: WordTotal | PseudoCounts | MixtureStats) -> TopicStats:
        """Statistics of no documents, with these counts of words, or of rows."""
        K = len(self.alpha)
        return TopicStats(S, 0.0, 0.0, 0.0, 0.0, np.zeros(K), np.zeros(K))

    def past_stats(self, S: WordTotal) -> TopicStats:
        """Statistics of past documents: this prior keeps nothing of them."""
        return self.no_stats(S)

    def log_weights(self, N: np.ndarray) -> np.ndarray:
        """[documents, K] E log pi_dk of documents with these counts, or log pi_dk at its point."""
        theta, log = N + self.alpha, np.log if self.posterior == "collapsed" else digamma
        return np.asarray(log(theta) - log(theta.sum(axis=1, keepdims=True)))

    def mean(self, N: np.ndarray) -> np.ndarray:
        """[documents, K] their expected proportions."""
        theta = N + self.alpha
        return np.asarray(theta / theta.sum(axis=1, keepdims=True))

    def update(self, total: TopicStats) -> DocumentPrior:
        """It does not move with the topics; see `relearn`."""
        return self

    def summarise(
        self,
        words: WordStats | MixtureStats,
        docs: DocTopics,
        lengths: np.ndarray,
        H: float,
        present: np.ndarray | None = None,
    ) -> TopicStats:
        """Statistics of documents with these topics; `lengths` are their tokens.  Eq. (3.8).

        A topic that a document does not use keeps its prior: only the topics in use are visited. `present` is the
        probability that a document has one of its topics at all, where alpha is learned with that, Eq. (A.9).
        """
        alpha, n_docs = self.alpha, len(lengths)
        K, a0 = len(alpha), float(alpha.sum())
        a, N = alpha[docs.topic], docs.count.astype(np.float64)
        rise: np.ndarray = np.zeros(K)
        if self.learned or self.posterior == "variational":
            p = 1.0 if present is None else present
            rise += np.bincount(docs.topic, p * (digamma(N / p + a) - digamma(a)), minlength=K)
        if self.posterior == "collapsed":
            above = np.bincount(docs.topic, np.log((N + a) / a), minlength=K)
            A = float(np.sum(N * np.log(N + a)) - xlogy(lengths, lengths + a0).sum())
            sums = DocumentSums(n_docs, np.log(lengths + a0).sum(), rise, above, A, 0.0)
        else:
            G = np.sum(gammaln(N + a) - gammaln(a)), gammaln(lengths + a0).sum()
            sums = DocumentSums(n_docs, digamma(lengths + a0).sum(), rise, rise, 0.0, G[0], G[1])
        return self.stats(words, sums, H)

    def stats(self, words: object, sums: DocumentSums, H: float) -> TopicStats:
        """Eq. (3.8) from sums over documents."""
        alpha = self.alpha
        if self.posterior == "collapsed":  # log theta_dk = log(N_dk + alpha_k) - log(N_d + alpha_0)
            T = sums.n_docs * np.log(alpha) - sums.lengths
            T += sums.above
            return TopicStats(words, float(sums.n_docs), H, 0.0, sums.within, T, alpha * sums.rise)
        T = sums.rise + sums.n_docs * digamma(alpha) - sums.lengths
        G = float(sums.gammas + sums.n_docs * gammaln(alpha).sum() - sums.length_gammas)
        return TopicStats(words, float(sums.n_docs), H, G, -float(alpha @ T), T, alpha * sums.rise)

    def bound(self, total: TopicStats) -> float:
        """The documents' part of the objective.  Eq. (3.10)."""
        prior = float(self.alpha @ total.T)
        if self.posterior == "variational":
            prior += total.D * float(dirichlet.log_normaliser(self.alpha))
        return total.G + total.A + prior

    def documents(self, stats: TopicStats) -> float:
        """The same without what a MAP estimate adds for its prior density, which is not a likelihood of anything.

        Their part of Eq. (3.13).
        """
        return self.bound(stats) if self.posterior == "variational" else stats.A

    def relearn(self, total: TopicStats, lengths: np.ndarray) -> DocumentPrior:
        """The prior that fits these statistics; `lengths` are the tokens of all documents.  Eq. (3.11).

        Variational: the alpha that maximises the bound for q as it is, D c_Dir(alpha) + sum_k alpha_k T_k. Collapsed: a
        step up the Dirichlet-multinomial likelihood of the documents' counts. A floor keeps unused topics
        from being lost for good.
        """
        if not (total.D > 0 and np.any(lengths > 0)):
            return self
        if self.posterior == "variational":
            alpha = dirichlet.most_likely(total.T / total.D, self.alpha)
        else:
            alpha = self._minka(total.M * (len(lengths) / total.D), lengths[lengths > 0])
        return replace(self, alpha=np.maximum(alpha, 1e-3 * alpha.sum() / len(alpha)))

    def _minka(self, c: np.ndarray, lengths: np.ndarray) -> np.ndarray:
        """After Minka (2000), Sec. 3, but his bound is used for the topics only, with c_k = M_k: what solves

            alpha_k = a c_k / sum c,      a sum_d [psi(N_d + a) - psi(a)] = sum c

        for the sum a. The left side rises with a. His fixed point would end there if it were iterated with c held; one
        step of it is much shorter. A blended c is of many alphas, each times its own rise, so it lags and no more.
        """
        from scipy.optimize import brentq  # here, because fixed priors do without it

        a0 = float(self.alpha.sum())
        length, times = np.unique(lengths, return_counts=True)

        def excess(log_a: float) -> float:
            a = np.exp(log_a)
            return float(a * (times @ (digamma(length + a) - digamma(a))) - c.sum())

        if not c.sum() > 0:
            return self.alpha
        low, high = np.log(a0 / LARGEST_STEP), np.log(a0 * LARGEST_STEP)
        if excess(low) >= 0:
            log_a = low
        else:
            log_a = high if excess(high) <= 0 else brentq(excess, low, high, xtol=1e-10)
        return np.exp(log_a) * c / c.sum()

    def write(self, out: Writer) -> None:
        out.array("alpha", self.alpha)
        out.value("learned", self.learned)

    @classmethod
    def read(cls, file: CheckedReader, K: int, posterior: str) -> DocumentPrior:
        alpha = file.array("alpha", K, positive=True)
        if alpha.max() > np.finfo(np.float32).max:  # in which kernels take it
            raise ModelFileError(f"{file.prefix}alpha has {alpha.max():g}, which is too large")
        return cls(alpha, posterior, file.flag("learned"))
