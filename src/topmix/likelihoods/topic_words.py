"""Words of topics: phi_k ~ Dir(eta_k).  docs/math.md Eqs. (3.2)-(3.4), (3.10)."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from scipy.special import digamma, gammaln, xlogy

from topmix.files.reader import CheckedReader
from topmix.files.writer import Writer
from topmix.stats import PseudoCounts, WordTotal


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

    @property
    def shape(self) -> tuple[int, int]:
        return self.total.shape

    def prior_totals(self) -> np.ndarray:
        """[K] sum over words of eta."""
        V, K = self.shape
        sums = self.eta.sum(axis=0) * (V if self.eta.shape[0] == 1 else 1)
        return np.broadcast_to(sums, (K,)) if self.extra is None else sums + self.extra.totals

    def dense_prior(self) -> np.ndarray:
        """[V or 1, K or 1] all prior counts, for kernels that take them in one array."""
        if self.extra is None:
            return self.eta
        return np.ascontiguousarray(np.broadcast_to(self.eta, self.shape) + self.extra.counts())

    def tables(self, cols: np.ndarray) -> WordTables:
        norm = self.norm()
        table, log_scale = self.total.table(self.posterior, self.eta, self.extra, norm, cols)
        eta = self.eta if len(self.eta) == 1 else self.eta[np.asarray(cols)]
        return WordTables(table, log_scale, norm, float(eta.min(initial=np.inf)))

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
        return norm

    def of_words(self, words: np.ndarray) -> TopicWords:
        """These words alone: a small model, with the sizes of topics as they are."""
        total = WordTotal(self.total.raw_rows(words), self.total.totals, self.total.factor)
        extra = None if self.extra is None else PseudoCounts.sparse(self.extra.by_word()[words])
        return replace(self, eta=self.eta if len(self.eta) == 1 else self.eta[words], total=total, extra=extra)

    def pseudo_counts(self) -> np.ndarray:
        """[K, V] eta + S."""
        return self.total.by_topic(self.eta, self.extra)

    def mean(self) -> np.ndarray:
        """[K, V] probabilities, rows sum to one: E[phi], or with `smoothing` in the place of eta."""
        eta = self.eta if self.smoothing is None else np.full((1, 1), self.smoothing)
        return self.total.by_topic(eta, self.extra, as_shares=True)

    def bound(self) -> float:
        """The words' part of the objective at lam = eta + S.  Eq. (3.10)."""
        V, K = self.shape
        is_point = self.posterior == "collapsed" and not self.bounds_evidence
        kind = "collapsed" if is_point else "variational"
        sum_of_words, norm = self.total.bound(kind, self.eta, self.extra)
        if is_point:  # sum (S + eta) log phi
            return sum_of_words - float(xlogy(norm, norm).sum())
        prior = np.broadcast_to(self.eta, (V, K)) if self.eta.shape[0] > 1 else np.broadcast_to(self.eta, (1, K))
        each = gammaln(prior).sum() * (V if self.eta.shape[0] == 1 else 1)
        if self.extra is not None:
            word = np.repeat(np.arange(V), np.diff(self.extra.indptr))
            base = np.broadcast_to(self.eta, (V, K))[word, self.extra.topic]
            each += float(np.sum(gammaln(base + self.extra.value) - gammaln(base)))
        return float(gammaln(self.prior_totals()).sum() - each - gammaln(norm).sum() + sum_of_words)

    def write(self, out: Writer, *, with_total: bool = True) -> None:
        out.array("eta", self.eta)
        out.value("posterior", self.posterior)
        out.value("learned", self.learned)
        if self.extra is not None:
            self.extra.write(out.at("extra"))
        if with_total:
            self.total.write(out)

    @classmethod
    def read(
        cls, file: CheckedReader, V: int, K: int, *, total: WordTotal | None = None, bounds_evidence: bool = False
    ) -> TopicWords:
        """`total` is given where the counts are kept elsewhere in the file."""
        eta = file.array("eta", {1, V}, {1, K}, positive=True)
        posterior = file.choice("posterior", ("collapsed", "variational"))
        total = WordTotal.read(file, V, K) if total is None else total
        extra = PseudoCounts.read(file.at("extra"), V, K) if file.has("extra.indptr") else None
        return cls(eta, total, posterior, file.flag("learned"), bounds_evidence, extra=extra)
