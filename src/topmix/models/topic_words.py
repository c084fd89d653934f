"""Words of topics: phi_k ~ Dir(eta_k).  docs/math.md Eqs. (3.2)-(3.4), (3.10)."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Annotated, NamedTuple

import numpy as np
import scipy.sparse as sp
from scipy.special import digamma, gammaln, xlogy

from topmix.base.checks import SMALLEST
from topmix.models.sparse_counts import Sparse
from topmix.models.statistics import PseudoCounts
from topmix.models.stored import Flag, Ids, Numbers, Stored, choice
from topmix.models.words import WordTotal

# Where the prior on words, eta, is not given. A large one learns better, and a small one predicts better.

WORD_PRIOR = 0.03
COLLAPSED_WORD_PRIOR = 0.08  # of collapsed topics while they are learned: what is rare in a topic weighs less there
COLLAPSED_WORD_PRIOR_TOTAL = 16.0  # ... and its largest sum over topics: a large prior empties small topics


def collapsed_word_prior(K: int) -> float:
    """The default eta of collapsed topics.  docs/evidence.md."""
    return min(COLLAPSED_WORD_PRIOR, COLLAPSED_WORD_PRIOR_TOTAL / K)


# What topics keep whatever documents say: words that never belong to them, and topics whose words stay as they are.
#
# A prior of nothing would not do. A document all of whose topics lack a word still has to give its tokens to one of
# them, and a topic that once has a word would keep it. So tables, and what is reported, are changed after they were
# made from the counts; the counts remain the sums of what documents said.

LEAST = np.float32(1e-30)  # weight of a banned word over that of its best topic: the floor of all tables
BANNED = 1e-9  # pseudo-counts of a banned word, over its prior
MOST = 80.0  # log of a weight: more does not fit a float


@dataclass(frozen=True, eq=False)
class HeldWords(Stored):
    banned: Annotated[sp.csr_array, Sparse("V", "K", of_flags=True)]  # [V, K]
    topics: Annotated[np.ndarray, Ids("n", below="K", dtype="I64", ascending=True)]  # that are frozen
    counts: Annotated[np.ndarray, Numbers("n", "V", low=0.0)]  # their tokens when they were
    sizes: Annotated[np.ndarray, Numbers("n", low=0.0)]  # sums of these over all words

    @classmethod
    def none(cls, V: int, K: int) -> HeldWords:
        return cls(sp.csr_array((V, K), dtype=bool), np.zeros(0, np.int64), np.zeros((0, V)), np.zeros(0))

    @classmethod
    def of(cls, banned: sp.sparray, frozen: dict[int, np.ndarray]) -> HeldWords | None:
        """None where there is nothing to hold."""
        pairs = sp.csr_array(banned, dtype=bool, copy=True)
        pairs.eliminate_zeros()
        pairs.sort_indices()
        topics = np.array(sorted(frozen), np.int64)
        counts = np.array([frozen[int(k)] for k in topics], np.float64).reshape(len(topics), pairs.shape[0])
        return cls(pairs, topics, counts, counts.sum(axis=1)) if pairs.nnz or len(topics) else None

    @property
    def frozen(self) -> dict[int, np.ndarray]:
        return {int(k): counts for k, counts in zip(self.topics, self.counts)}

    def pairs(self) -> tuple[np.ndarray, np.ndarray]:
        """Words and topics that do not go together."""
        return np.repeat(np.arange(self.banned.shape[0]), np.diff(self.banned.indptr)), self.banned.indices

    def log_words(self, posterior: str, prior: np.ndarray, norm: np.ndarray, cols: np.ndarray) -> np.ndarray:
        """[n, words] log probabilities of words in the frozen topics, or their expectations."""
        pseudo, of = self.counts[:, cols] + prior.T, norm[self.topics][:, None]
        if posterior == "collapsed":
            return np.asarray(np.log(pseudo / of))
        return np.asarray(digamma(pseudo) - digamma(of))


NEVER = 1e-25  # share of the prior that a sampler leaves a banned word: no token is ever drawn there


class WordTables(NamedTuple):
    """What one shard needs of the topics."""

    table: np.ndarray  # [words, K] float32, each row over its largest entry
    log_scale: np.ndarray  # [words] float64, log of that entry
    norm: np.ndarray  # [K] float64, tokens and prior counts of each topic
    least: float  # the smallest prior count of a word


@dataclass(frozen=True)
class TopicWords(Stored):
    """q(phi_k) = Dir(eta_k + S_k), or its mean when collapsed. Borrows the total: copy that before keeping a model."""

    eta: Annotated[np.ndarray, Numbers((1, "V"), (1, "K"), low=SMALLEST)]
    total: WordTotal
    posterior: Annotated[str, choice("variational", "collapsed")]
    learned: Flag = False  # eta is one number, re-estimated after each pass
    bounds_evidence: bool = False  # the objective is variational even where the tables are collapsed
    smoothing: float | None = None  # in the place of eta where topics are reported
    extra: PseudoCounts | None = None  # what the prior adds to some words of some topics
    held: HeldWords | None = None  # banned words and frozen topics

    @property
    def shape(self) -> tuple[int, int]:
        return self.total.shape

    @property
    def is_told(self) -> bool:
        """Whether the user has said what some topics are: they keep their places."""
        return self.extra is not None or self.held is not None

    def prior_totals(self) -> np.ndarray:
        """[K] sum over words of eta."""
        V, K = self.shape
        sums = self.eta.sum(axis=0) * (V if self.eta.shape[0] == 1 else 1)
        return np.broadcast_to(sums, (K,)) if self.extra is None else sums + self.extra.totals

    def dense_prior(self) -> np.ndarray:
        """[V or 1, K or 1] all prior counts, for kernels that take them in one array. Nothing is held there."""
        if self.extra is None:
            return self.eta
        return np.ascontiguousarray(np.broadcast_to(self.eta, self.shape) + self.extra.counts())

    @cached_property
    def sampled_prior(self) -> np.ndarray:
        """[V or 1, K or 1] all prior counts, for samplers: next to nothing where a word is banned."""
        if self.held is None:
            return self.dense_prior()
        prior = np.array(np.broadcast_to(self.dense_prior(), self.shape))
        prior[self.held.pairs()] *= NEVER
        return prior

    def tables(self, cols: np.ndarray) -> WordTables:
        norm = self.norm()
        table, log_scale = self.weights(cols, norm)
        eta = self.eta if len(self.eta) == 1 else self.eta[np.asarray(cols)]
        least = float(eta.min(initial=np.inf))
        if self.held is not None and self.held.banned[np.asarray(cols)].nnz:
            least *= BANNED  # what a token leaves behind where it is taken out may not lift a banned word
        return WordTables(table, log_scale, norm, least)

    def table_of(self, words: np.ndarray) -> np.ndarray:
        """[words, K] the table of some words, in this process's memory wherever the counts are."""
        return self.of_words(words).weights(np.arange(len(words), dtype=np.int32), self.norm())[0]

    def weights(self, cols: np.ndarray, norm: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """[words, K] weights of words in topics, each row over its largest entry, and the logarithm of that entry."""
        (table, log_scale), held = self.total.table(self.posterior, self.eta, self.extra, norm, cols), self.held
        if held is None:
            return table, log_scale
        cols = np.asarray(cols)
        prior, banned = self._held_prior(cols), held.banned[cols]
        for k, log_phi in zip(held.topics, held.log_words(self.posterior, prior, norm, cols)):
            table[:, k] = np.exp(np.minimum(log_phi - log_scale, MOST))
        n_banned = np.diff(banned.indptr)
        pairs = np.repeat(np.arange(len(cols)), n_banned), banned.indices
        rows = np.arange(len(cols)) if len(held.topics) else np.flatnonzero(n_banned)
        table[pairs] = LEAST
        largest = table[rows].max(axis=1)
        rows, largest = rows[largest != 1.0], largest[largest != 1.0]
        log_scale[rows] += np.log(largest.astype(np.float64))
        table[rows] = np.maximum(table[rows] / largest[:, None], LEAST)
        table[pairs] = LEAST
        return table, log_scale

    def _held_prior(self, words: np.ndarray | None = None) -> np.ndarray:
        """[words, n] prior counts of words (all of them for None) in the frozen topics."""
        assert self.held is not None
        of, rows = self.held.topics, np.arange(self.shape[0]) if words is None else words
        prior = np.array(np.broadcast_to(self.eta, self.shape)[np.ix_(rows, of)])
        if self.extra is not None and len(of):
            prior += self.extra.by_word()[rows][:, of].toarray()
        return prior

    def update(self, total: WordTotal) -> TopicWords:
        return replace(self, total=total)

    def relearn(self) -> TopicWords:
        """One fixed-point step for a single eta on the Dirichlet-multinomial likelihood (Minka 2000).  Eq. (3.12)."""
        V, K = self.shape
        eta = float(self.eta[0, 0])
        per_word = float(self.total.sum_of_digamma(self.eta, self.extra) - V * K * digamma(eta))
        per_topic = V * float(np.sum(digamma(self.total.totals + V * eta) - digamma(V * eta)))
        if not (per_word > 0 and per_topic > 0):
            return self
        return replace(self, eta=np.full((1, 1), max(eta * per_word / per_topic, 1e-6)))

    def norm(self) -> np.ndarray:
        """[K] tokens and prior counts of each topic."""
        total, prior = self.total, self.prior_totals()
        norm = total.totals + prior
        if total.pseudo is not None:
            norm += total.pseudo_weight * total.pseudo.totals
        if self.held is not None:
            norm[self.held.topics] = self.held.sizes + prior[self.held.topics]
        return norm

    def of_words(self, words: np.ndarray) -> TopicWords:
        """These words alone: a small model, with the sizes of topics as they are."""
        total = WordTotal(self.total.raw_rows(words), self.total.totals, self.total.factor)
        extra = None if self.extra is None else PseudoCounts.sparse(self.extra.by_word()[words])
        held = self.held
        if held is not None:
            held = replace(held, banned=sp.csr_array(held.banned[words]), counts=held.counts[:, words])
        eta = self.eta if len(self.eta) == 1 else self.eta[words]
        return replace(self, eta=eta, total=total, extra=extra, held=held)

    def pseudo_counts(self) -> np.ndarray:
        """[K, V] eta + S."""
        topics = self.total.by_topic(self.eta, self.extra)
        if self.held is not None:
            topics[self.held.topics] = self.held.counts + self._held_prior().T
            word, topic = self.held.pairs()
            topics[topic, word] = BANNED * topics.min()
        return topics

    def mean(self) -> np.ndarray:
        """[K, V] probabilities, rows sum to one: E[phi], or with `smoothing` in the place of eta."""
        now = self if self.smoothing is None else replace(self, eta=np.full((1, 1), self.smoothing))
        if self.held is None:
            return self.total.by_topic(now.eta, self.extra, as_shares=True)
        topics = now.pseudo_counts()
        return np.asarray(topics / topics.sum(axis=1, keepdims=True))

    def mean_of(self, words: np.ndarray) -> np.ndarray:
        """[words, K] the same for some words."""
        topics = self if self.smoothing is None else replace(self, eta=np.full((1, 1), self.smoothing))
        if self.held is not None:
            return np.ascontiguousarray((topics.of_words(words).pseudo_counts() / topics.norm()[:, None]).T)
        counts = self.total.rows(words)
        counts += topics.eta if len(topics.eta) == 1 else topics.eta[words]
        if self.extra is not None:
            counts += self.extra.by_word()[words].toarray()
        counts *= 1.0 / topics.norm()
        return counts

    def bound(self) -> float:
        """The words' part of the objective at lam = eta + S.  Eq. (3.10). What documents have of a banned word counts
        as if it were allowed. Frozen topics are where they are: their terms at S are replaced by those at their own."""
        (V, K), is_point = self.shape, self.posterior == "collapsed" and not self.bounds_evidence
        kind = "collapsed" if is_point else "variational"
        sum_of_words, norm = self.total.bound(kind, self.eta, self.extra)
        if is_point:  # sum (S + eta) log phi
            value = sum_of_words - float(xlogy(norm, norm).sum())
        else:
            prior = np.broadcast_to(self.eta, (len(self.eta), K))
            each = gammaln(prior).sum() * (V if self.eta.shape[0] == 1 else 1)
            if self.extra is not None:
                word = np.repeat(np.arange(V), np.diff(self.extra.indptr))
                base = np.broadcast_to(self.eta, (V, K))[word, self.extra.topic]
                each += float(np.sum(gammaln(base + self.extra.value) - gammaln(base)))
            value = float(gammaln(self.prior_totals()).sum() - each - gammaln(norm).sum() + sum_of_words)
        if self.held is None or not len(self.held.topics):
            return value
        of, held_prior = self.held.topics, self._held_prior()
        tokens = np.maximum(self.total.raw[:, of].T * self.total.factor, 0.0)
        now, own = tokens + held_prior.T, self.held.counts + held_prior.T  # [n, V] the optimum, and where they are
        log_phi = self.held.log_words(kind, held_prior, self.norm(), np.arange(V))
        if is_point:
            at_optimum = float(xlogy(now, now).sum() - xlogy(norm[of], norm[of]).sum())
            return value - at_optimum + float(np.sum(now * log_phi))
        at_optimum = float(gammaln(now).sum() - gammaln(norm[of]).sum())
        there = float(gammaln(own).sum() - gammaln(own.sum(axis=1)).sum() + np.sum((now - own) * log_phi))
        return value - at_optimum + there

    def check_fields(self) -> None:
        if self.learned and self.eta.size > 1:
            raise ValueError("eta is learned, and not one number")
