"""Topic proportions of documents: pi_d ~ Dir(alpha_1, ..., alpha_K).  docs/math.md Eqs. (3.1), (3.8)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Annotated, ClassVar, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray
from scipy.special import digamma, gammaln, xlogy

from topmix import _core
from topmix.base import dirichlet
from topmix.base.checks import SMALLEST
from topmix.base.fields import CheckedReader
from topmix.base.threads import threads
from topmix.corpus.design import DesignRows
from topmix.models.model import SomeSums
from topmix.models.statistics import TopicStats, places
from topmix.models.stored import Flag, Ids, Numbers, Starts, Stored


@dataclass(frozen=True)
class DocTopics(Stored):
    """Tokens of each document in each of its topics: N_dk > 0 only."""

    indptr: Annotated[np.ndarray, Starts("n", "pairs")]
    topic: Annotated[np.ndarray, Ids("pairs", below="K", dtype="U16")]  # ascending within a document
    count: Annotated[np.ndarray, Numbers("pairs", dtype="F32", low=0.0)]

    def of(self, rows: slice | np.ndarray) -> DocTopics:
        """Of these documents alone."""
        indptr, at = places(self.indptr, rows)
        return DocTopics(indptr, self.topic[at], self.count[at])


Array = NDArray[np.float64]
ALPHA = Numbers("K", low=SMALLEST, high=float(np.finfo(np.float32).max))  # in which kernels take it


class Prior(Stored):
    """A prior on the proportions of documents. Documents themselves are local: a model never holds them.

    Its methods here are those of a prior that all documents share and that nothing moves.
    """

    alpha: Array  # [K], what kernels see
    posterior: str  # "variational" | "collapsed"
    learned: bool = False  # re-estimated after each pass
    is_process: ClassVar[bool] = False  # whether there may be any number of topics
    is_shared: ClassVar[bool] = True  # by all documents
    is_curved: bool = False  # whether statistics hold what draws of its parameters need

    def of(self, design: DesignRows | None) -> Prior:
        """The prior of these documents."""
        return self

    def own(self, scale: float = 1.0) -> _core.Priors | None:
        """Priors of single documents, as kernels see them."""
        return None

    def responses(self) -> _core.Responses | None:
        """Responses of single documents, as kernels see them."""
        return None

    def of_documents(self) -> Array:
        """[1 or documents, K]"""
        return self.alpha[None, :]

    @property
    def rest(self) -> float:
        """Of topics that are not in the model."""
        return 0.0

    def log_weights(self, N: Array) -> Array:
        """[documents, K] E log pi_dk of documents with these counts, or log pi_dk at its point."""
        theta, log = N + self.alpha, np.log if self.posterior == "collapsed" else digamma
        return np.asarray(log(theta) - log(theta.sum(axis=1, keepdims=True) + self.rest))

    def mean(self, N: Array) -> Array:
        """[documents, K] their expected proportions, of the topics that there are: they sum to one."""
        theta = N + self.alpha
        return np.asarray(theta / theta.sum(axis=1, keepdims=True))

    def sizes(self, K: int) -> tuple[int, int]:
        """Of T and M in statistics of K topics."""
        return 1, 0

    def no_stats(self, S: SomeSums) -> TopicStats:
        """Statistics of no documents, with these counts of words, or of rows."""
        n_T, n_M = self.sizes(len(self.alpha))
        return TopicStats(S, 0.0, 0.0, 0.0, 0.0, np.zeros(n_T), np.zeros(n_M))

    def past_stats(self, S: SomeSums) -> TopicStats:
        """Statistics of past documents, as far as the prior keeps them."""
        return self.no_stats(S)

    def summarise(
        self, words: SomeSums, docs: DocTopics, lengths: Array, H: float, present: Array | None = None
    ) -> TopicStats:
        """Statistics of documents with these topics; `lengths` are their tokens. `present` is the probability that a
        document has one of its topics at all, where alpha is learned with that, Eq. (A.9)."""
        raise NotImplementedError("documents are summarised by their own prior: see `of`")

    def update(self, total: TopicStats) -> Self:
        """The prior that moves with topics."""
        return self

    def relearn(self, total: TopicStats, lengths: Array, population: Population | None = None) -> Prior:
        """The prior that fits these statistics after a pass. `population` is of documents with covariates."""
        return self

    def bound(self, total: TopicStats) -> float:
        """The documents' part of the objective.  Eqs. (3.10), (3.31)"""
        return total.G + total.A + float(total.T[0])

    def documents(self, stats: TopicStats) -> float:
        """The same without what does not depend on the documents' words: their part of Eq. (3.13)."""
        return stats.G if self.posterior == "variational" else stats.A

    def with_alpha(self, alpha: Array, kept: np.ndarray) -> Prior:
        """Of the topics `kept`, after an edit that gave all of them these [K'] values."""
        raise NotImplementedError

    def rescaled(self, of: Callable[[Array], Array], D: float | None = None) -> Prior:
        """Of other clusters, whose shares are `of` those that were. `D` documents have been seen; None: as many."""
        raise NotImplementedError

    def read_like(self, file: CheckedReader, K: int, posterior: str) -> Prior:
        """A prior of this kind."""
        return type(self).read(file, K=K, posterior=posterior)


# Documents that have priors of their own, as local steps and kernels see them.  docs/math.md, section 3.11.

MOST_ROWS = 1 << 14  # distinct documents that the normaliser is summed over; of more, a sample
MOST_PRODUCTS = 1 << 22  # numbers in the products of their columns


@dataclass(frozen=True)
class OwnPriors(Prior):
    """Documents with equal rows of the design have the same prior. A topic with the prior zero is not for them."""

    alpha: Array  # [K] the mean of all documents of the fit
    posterior: str
    design: DesignRows
    rows: NDArray[np.float32]  # [distinct rows of the design, K]
    learns: bool = False  # statistics hold what the priors are learned from, M of Eq. (3.32)
    is_curved: bool = False  # ... and Q, which draws need

    def own(self, scale: float = 1.0) -> _core.Priors:
        return _core.Priors(self.rows if scale == 1.0 else np.float32(scale) * self.rows, self.design.row)

    def of_documents(self) -> Array:
        return self.rows[self.design.row].astype(np.float64)

    def summarise(
        self, words: SomeSums, docs: DocTopics, lengths: Array, H: float, present: Array | None = None
    ) -> TopicStats:
        """Eq. (3.31)"""
        x, K, is_collapsed = self.design.x, self.rows.shape[1], self.posterior == "collapsed"
        P = x.shape[1] if self.learns else 0
        learned = np.zeros(K * (P + P * P))
        M, Q = learned[: K * P].reshape(K, P), learned[K * P :].reshape(K * P, P)
        given = (docs.indptr, docs.topic, docs.count), lengths, self.own(), threads()
        to = (x, M, Q if self.is_curved else None) if self.learns else ()
        G, A, T = _core.own_stats(is_collapsed, *given, *to)
        return TopicStats(words, float(len(lengths)), H, G, A, np.array([T]), learned)


@dataclass(frozen=True)
class Population:
    """All documents of a fit by what the normaliser of their priors depends on: their row of the design, and length."""

    x: Array  # [n, P]
    length: Array  # [n] tokens, at least one
    times: Array  # [n] documents of this kind
    n_docs: int  # those without tokens among them

    @classmethod
    def of(cls, design: DesignRows, lengths: NDArray[np.float64]) -> Population:
        used = lengths > 0
        kinds = np.stack([design.row[used].astype(np.float64), lengths[used]], axis=1)
        kinds, times = np.unique(kinds, axis=0, return_counts=True)
        P = design.x.shape[1]
        most = int(np.clip(MOST_PRODUCTS // (P * P), 1024, MOST_ROWS))
        weight = times.astype(np.float64)
        if len(kinds) > most:  # every so many documents, in the order of rows and lengths
            at = np.cumsum(weight)
            chosen = np.searchsorted(at, (np.arange(most) + 0.5) * (at[-1] / most))
            kinds, weight = kinds[chosen], np.full(most, at[-1] / most)
        return cls(design.x[kinds[:, 0].astype(np.int64)], kinds[:, 1], weight, len(design))

    @cached_property
    def products(self) -> Array:
        """[n, P * P] products of columns."""
        n, P = self.x.shape
        return (self.x[:, :, None] * self.x[:, None, :]).reshape(n, P * P)


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
class DocumentPrior(Prior):
    """Dir(alpha_1, ..., alpha_K) for all documents."""

    alpha: Annotated[np.ndarray, ALPHA]
    posterior: str  # "variational" | "collapsed"
    learned: Flag = False  # alpha is re-estimated after each pass

    def sizes(self, K: int) -> tuple[int, int]:
        return K, K

    def summarise(
        self, words: SomeSums, docs: DocTopics, lengths: Array, H: float, present: Array | None = None
    ) -> TopicStats:
        """Eq. (3.8). A topic that a document does not use keeps its prior: only the topics in use are visited."""
        alpha, n_docs = self.alpha, len(lengths)
        K, a0 = len(alpha), float(alpha.sum())
        a, N, rise = alpha[docs.topic], docs.count.astype(np.float64), np.zeros(K)
        if self.learned or self.posterior == "variational":
            p = 1.0 if present is None else present
            rise += np.bincount(docs.topic, p * (digamma(N / p + a) - digamma(a)), minlength=K)
        if self.posterior == "collapsed":
            above = np.bincount(docs.topic, np.log((N + a) / a), minlength=K)
            A = float(np.sum(N * np.log(N + a)) - xlogy(lengths, lengths + a0).sum())
            sums = DocumentSums(n_docs, np.log(lengths + a0).sum(), rise, above, A, 0.0)
        else:
            gammas, of_lengths = np.sum(gammaln(N + a) - gammaln(a)), gammaln(lengths + a0).sum()
            sums = DocumentSums(n_docs, digamma(lengths + a0).sum(), rise, rise, 0.0, gammas, of_lengths)
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
        prior = float(self.alpha @ total.T)
        if self.posterior == "variational":
            prior += total.D * float(dirichlet.log_normaliser(self.alpha))
        return total.G + total.A + prior

    def documents(self, stats: TopicStats) -> float:
        """Without what a MAP estimate adds for its prior density, which is not a likelihood of anything."""
        return self.bound(stats) if self.posterior == "variational" else stats.A

    def relearn(self, total: TopicStats, lengths: Array, population: Population | None = None) -> DocumentPrior:
        """Eq. (3.11). Variational: the alpha that maximises the bound for q as it is. Collapsed: a step up the
        Dirichlet-multinomial likelihood of the documents' counts. A floor keeps unused topics from being lost."""
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

        for the sum a, with which the left side rises. One step of his fixed point with c held is much shorter.
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
            return np.exp(low) * c / c.sum()
        return np.exp(high if excess(high) <= 0 else brentq(excess, low, high, xtol=1e-10)) * c / c.sum()

    def with_alpha(self, alpha: Array, kept: np.ndarray) -> DocumentPrior:
        return replace(self, alpha=alpha[kept])

    def rescaled(self, of: Callable[[Array], Array], D: float | None = None) -> DocumentPrior:
        return replace(self, alpha=of(self.alpha))
