"""Words of topics: phi_k ~ Dir(eta_k).  docs/math.md Eqs. (3.2)-(3.4), (3.10)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple

import numpy as np
from scipy.special import digamma, gammaln, xlogy

from topmix.files.reader import CheckedReader, ModelFileError
from topmix.files.writer import Writer
from topmix.likelihoods.held_words import BANNED, HeldWords
from topmix.stats import PseudoCounts, WordTotal

NEVER = 1e-25  # share of the prior that a sampler leaves a banned word: no token is ever drawn there


class WordTables(NamedTuple):
    """What one shard needs of the topics."""

    table: np.ndarray  # [words, K] float32, each row over its largest entry
    log_scale: np.ndarray  # [words] float64, log of that entry
    norm: np.ndarray  # [K] float64, tokens and prior counts of each topic
    least: float  # the smallest prior count of a word


@dataclass(frozen=True)
class TopicWords:
    """q(phi_k) = Dir(eta_k + S_k), or its mean when collapsed. Borrows the total: copy that before keeping a model."""

    eta: np.ndarray  # [V or 1, K or 1]
    total: WordTotal
    posterior: str  # "variational" | "collapsed"
    learned: bool = False  # eta is one number, re-estimated after each pass
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
        table, log_scale = self.total.table(self.posterior, self.eta, self.extra, norm, cols)
        if self.held is not None:
            cols = np.asarray(cols)
            self.held.hold_tables(self.posterior, self._held_prior(self.eta, cols), norm, cols, table, log_scale)
        return table, log_scale

    def _held_prior(self, eta: np.ndarray, words: np.ndarray | None = None) -> np.ndarray:
        """[words, n] prior counts of words (all of them for None) in the frozen topics."""
        assert self.held is not None
        V, K = self.shape
        of, rows = self.held.topics, np.arange(V) if words is None else words
        prior = np.array(np.broadcast_to(eta, (V, K))[np.ix_(rows, of)])
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
        norm, total = self.total.totals + self.prior_totals(), self.total
        if total.pseudo is not None:
            norm += total.pseudo_weight * total.pseudo.totals
        return norm if self.held is None else self.held.norm(norm, self.prior_totals())

    def of_words(self, words: np.ndarray) -> TopicWords:
        """These words alone: a small model, with the sizes of topics as they are."""
        total = WordTotal(self.total.raw_rows(words), self.total.totals, self.total.factor)
        extra = None if self.extra is None else PseudoCounts.sparse(self.extra.by_word()[words])
        held = None if self.held is None else self.held.of_words(words)
        eta = self.eta if len(self.eta) == 1 else self.eta[words]
        return replace(self, eta=eta, total=total, extra=extra, held=held)

    def pseudo_counts(self) -> np.ndarray:
        """[K, V] eta + S."""
        topics = self.total.by_topic(self.eta, self.extra)
        if self.held is not None:
            self.held.hold_topics(topics, self._held_prior(self.eta))
        return topics

    def mean(self) -> np.ndarray:
        """[K, V] probabilities, rows sum to one: E[phi], or with `smoothing` in the place of eta."""
        eta = self.eta if self.smoothing is None else np.full((1, 1), self.smoothing)
        if self.held is None:
            return self.total.by_topic(eta, self.extra, as_shares=True)
        topics = self.total.by_topic(eta, self.extra)
        self.held.hold_topics(topics, self._held_prior(eta))
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

    def mean_in(self, topics: Sequence[int]) -> np.ndarray:
        """[topics, V] the same in some topics, of which none is held."""
        words = self if self.smoothing is None else replace(self, eta=np.full((1, 1), self.smoothing))
        counts = self.total.columns(topics) + np.broadcast_to(words.eta, self.shape)[:, topics]
        if self.extra is not None:
            counts += self.extra.by_word()[:, topics].toarray()
        return np.ascontiguousarray((counts / words.norm()[topics]).T)

    def bound(self) -> float:
        """The words' part of the objective at lam = eta + S.  Eq. (3.10). Frozen topics are where they are, and what
        documents have of a banned word counts as if it were allowed."""
        is_point = self.posterior == "collapsed" and not self.bounds_evidence
        kind = "collapsed" if is_point else "variational"
        sum_of_words, norm = self.total.bound(kind, self.eta, self.extra)
        if self.held is not None and len(self.held.topics):
            return self._bound_held(is_point, sum_of_words, norm)
        if is_point:  # sum (S + eta) log phi
            return sum_of_words - float(xlogy(norm, norm).sum())
        return self._bound_of_dirichlets(sum_of_words, norm)

    def _bound_of_dirichlets(self, sum_of_words: float, norm: np.ndarray) -> float:
        V, K = self.shape
        prior = np.broadcast_to(self.eta, (V, K)) if self.eta.shape[0] > 1 else np.broadcast_to(self.eta, (1, K))
        each = gammaln(prior).sum() * (V if self.eta.shape[0] == 1 else 1)
        if self.extra is not None:
            word = np.repeat(np.arange(V), np.diff(self.extra.indptr))
            base = np.broadcast_to(self.eta, (V, K))[word, self.extra.topic]
            each += float(np.sum(gammaln(base + self.extra.value) - gammaln(base)))
        return float(gammaln(self.prior_totals()).sum() - each - gammaln(norm).sum() + sum_of_words)

    def _bound_held(self, is_point: bool, sum_of_words: float, norm: np.ndarray) -> float:
        """Free topics at their optimum as before; of frozen ones, the terms at S are replaced by those at their own."""
        assert self.held is not None
        of, prior = self.held.topics, self._held_prior(self.eta)
        tokens = np.maximum(self.total.raw[:, of].T * self.total.factor, 0.0)
        now, own = tokens + prior.T, self.held.counts + prior.T  # [n, V] the optimum, and where they are
        log_phi = self.held.log_words(
            "collapsed" if is_point else "variational", prior, self.norm(), np.arange(self.shape[0])
        )
        if is_point:
            at_optimum = float(xlogy(now, now).sum() - xlogy(norm[of], norm[of]).sum())
            return sum_of_words - float(xlogy(norm, norm).sum()) - at_optimum + float(np.sum(now * log_phi))
        at_optimum = float(gammaln(now).sum() - gammaln(norm[of]).sum())
        there = float(gammaln(own).sum() - gammaln(own.sum(axis=1)).sum() + np.sum((now - own) * log_phi))
        return self._bound_of_dirichlets(sum_of_words, norm) - at_optimum + there

    def write(self, out: Writer, *, with_total: bool = True) -> None:
        out.array("eta", self.eta)
        out.value("posterior", self.posterior)
        out.value("learned", self.learned)
        if self.extra is not None:
            self.extra.write(out.at("extra"))
        if self.held is not None:
            self.held.write(out.at("held"))
        if with_total:
            self.total.write(out)

    @classmethod
    def read(
        cls, file: CheckedReader, V: int, K: int, *, total: WordTotal | None = None, bounds_evidence: bool = False
    ) -> TopicWords:
        """`total` is given where the counts are kept elsewhere in the file."""
        eta = file.array("eta", {1, V}, {1, K}, positive=True)
        learned, posterior = file.flag("learned"), file.choice("posterior", ("collapsed", "variational"))
        if learned and eta.size > 1:
            raise ModelFileError(f"{file.prefix}eta is learned, and not one number")
        total = WordTotal.read(file, V, K) if total is None else total
        extra = PseudoCounts.read(file.at("extra"), V, K) if file.has("extra.indptr") else None
        held = HeldWords.read(file.at("held"), V, K) if file.has("held.indptr") else None
        return cls(eta, total, posterior, learned, bounds_evidence, extra=extra, held=held)
