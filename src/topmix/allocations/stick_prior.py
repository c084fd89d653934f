"""Topic proportions of documents under a hierarchical Dirichlet process: pi_d ~ Dir(alpha beta), beta broken sticks.

Topic k has the prior alpha E[beta_k], and all topics that are not in the model share what is left over, so a document
has K + 1 proportions and tokens in the first K of them. docs/math.md, section 3.9.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np
from scipy.special import digamma, gammaln

from topmix.allocations.doc_topics import DocTopics
from topmix.allocations.topic_sticks import Evidence, Sticks
from topmix.files.reader import CheckedReader, ModelFileError
from topmix.files.writer import Writer
from topmix.parameters.checks import LARGEST, SMALLEST
from topmix.stats import PseudoCounts, TopicStats, WordStats, WordTotal

CONCENTRATION_RANGE = (1e-3, 1e3)  # of alpha and gamma, when learned


@dataclass(frozen=True)
class StickPrior:
    """q(u) and the two concentrations. It moves with every update of the model, as topics do."""

    sticks: Sticks
    concentration: float  # alpha: small, and documents have few topics
    stick_prior: float  # gamma: large, and there are many topics
    learns_concentration: bool = False
    learns_stick_prior: bool = False
    D: float = 0.0  # of the statistics that moved it last
    T: np.ndarray = field(default_factory=lambda: np.zeros(0))  # [K + 1], of the same statistics
    shares: np.ndarray = field(init=False, repr=False)  # [K + 1] alpha E[beta]

    posterior = "variational"
    learned = False  # nothing is left to learn after a pass: `update` does it

    def __post_init__(self) -> None:
        object.__setattr__(self, "shares", self.concentration * self.sticks.shares())

    @property
    def alpha(self) -> np.ndarray:
        """[K], what kernels see."""
        return self.shares[:-1]

    def no_stats(self, S: WordTotal | PseudoCounts) -> TopicStats:
        """Statistics of no documents, with these counts of words."""
        K = len(self.alpha)
        return TopicStats(S, 0.0, 0.0, 0.0, 0.0, np.zeros(K + 1), np.zeros(0))

    def past_stats(self, S: WordTotal) -> TopicStats:
        """Past documents, as far as sticks need them."""
        return replace(self.no_stats(S), D=self.D, T=self.T.copy()) if self.D else self.no_stats(S)

    def summarise(self, words: WordStats, docs: DocTopics, lengths: np.ndarray, H: float) -> TopicStats:
        """Eq. (3.8) with K + 1 proportions; no document has a token in the last."""
        alpha, n_docs, a0 = self.shares, len(lengths), self.concentration
        a, N = alpha[docs.topic], docs.count.astype(np.float64)
        T = n_docs * digamma(alpha) - digamma(lengths + a0).sum()
        T += np.bincount(docs.topic, digamma(N + a) - digamma(a), minlength=len(alpha))
        G = float(np.sum(gammaln(N + a) - gammaln(a)) + n_docs * gammaln(alpha).sum() - gammaln(lengths + a0).sum())
        return TopicStats(words, float(n_docs), H, G, -float(alpha @ T), T, np.zeros(0))

    def bound(self, total: TopicStats) -> float:
        """The documents' part of the surrogate bound, and what the sticks cost.  Eq. (3.22)."""
        return total.G + total.A + self.sticks.bound(self._evidence(total), self.stick_prior)

    def documents(self, stats: TopicStats) -> float:
        """The same without the cost of the sticks, which does not depend on the documents."""
        normaliser = self.sticks.log_normaliser(self.concentration)
        return stats.G + stats.A + float(self.shares @ stats.T) + stats.D * normaliser

    def update(self, total: TopicStats) -> StickPrior:
        """Sticks and, where they are learned, concentrations: each raises the bound of these statistics."""
        if not total.D > 0:
            return self
        sticks = self.sticks.update(self._evidence(total), self.stick_prior)
        now = replace(self, sticks=sticks, D=total.D, T=total.T.copy())
        if self.learns_concentration:  # D K log alpha + alpha sum_k E[beta_k] T_k is largest there
            best = -total.D * len(self.alpha) / float(now.sticks.shares() @ total.T)
            now = replace(now, concentration=float(np.clip(best, *CONCENTRATION_RANGE)))
        if self.learns_stick_prior:  # K log gamma + gamma sum_k E log (1 - u_k)
            best = -len(self.alpha) / float(now.sticks.expected_logs()[1].sum())
            now = replace(now, stick_prior=float(np.clip(best, *CONCENTRATION_RANGE)))
        return now

    def relearn(self, total: TopicStats, lengths: np.ndarray) -> StickPrior:
        """Nothing: `update` has done it."""
        return self

    def _evidence(self, total: TopicStats) -> Evidence:
        return Evidence(total.D, self.concentration, total.T)

    def write(self, out: Writer) -> None:
        out.array("rho", self.sticks.rho)
        out.array("omega", self.sticks.omega)
        out.array("T", self.T)
        out.value("D", self.D)
        out.value("concentration", self.concentration)
        out.value("stick_prior", self.stick_prior)
        out.value("learns_concentration", self.learns_concentration)
        out.value("learns_stick_prior", self.learns_stick_prior)

    @classmethod
    def read(cls, file: CheckedReader, K: int) -> StickPrior:
        sticks = Sticks(file.array("rho", K, positive=True), file.array("omega", K, positive=True))
        if not np.all(sticks.rho < 1):
            raise ModelFileError(f"{file.prefix}rho has shares of a stick that are not smaller than one")
        D, T = file.number("D", 0.0, LARGEST), file.array("T", {0, K + 1})
        return cls(
            sticks,
            file.number("concentration", SMALLEST, LARGEST),
            file.number("stick_prior", SMALLEST, LARGEST),
            file.flag("learns_concentration"),
            file.flag("learns_stick_prior"),
            D if len(T) else 0.0,
            T,
        )
