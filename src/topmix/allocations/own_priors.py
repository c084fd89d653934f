"""Documents that have priors of their own, as local steps and kernels see them.  docs/math.md, section 3.11."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaln, xlogy

from topmix import _core
from topmix.allocations.doc_topics import DocTopics
from topmix.data.design_rows import DesignRows
from topmix.stats import TopicStats, WordStats

Array = NDArray[np.float64]


@dataclass(frozen=True)
class OwnPriors:
    """Documents with equal rows of the design have the same prior. A topic with the prior zero is not for them."""

    alpha: Array  # [K] the mean of all documents of the fit
    posterior: str  # "variational" | "collapsed"
    design: DesignRows
    rows: Array  # [distinct rows of the design, K]

    def own(self, scale: float = 1.0) -> _core.Priors:
        """What kernels see."""
        return _core.Priors((scale * self.rows).astype(np.float32), self.design.row)

    def responses(self) -> None:
        """What is known of single documents beside their words and their design: nothing."""

    def of_documents(self) -> Array:
        """[documents, K]"""
        return np.asarray(self.rows[self.design.row])

    def summarise(self, words: WordStats, docs: DocTopics, lengths: Array, H: float) -> TopicStats:
        """Statistics of documents with these topics.  Eq. (3.31)"""
        row = np.repeat(self.design.row, np.diff(docs.indptr))
        N, a, sums = docs.count.astype(np.float64), self.rows[row, docs.topic], self.rows.sum(axis=1)
        a0, G, A, T = sums[self.design.row], 0.0, 0.0, 0.0
        if self.posterior == "collapsed":
            A = float(np.sum(N * np.log(N + a)) - xlogy(lengths, lengths + a0).sum())
            log_gamma = gammaln(np.where(self.rows > 0, self.rows, 1.0))
            each = gammaln(sums) + np.sum(xlogy(self.rows, self.rows) - log_gamma, axis=1)
            T = float(np.sum(each[self.design.row] - a0 * np.log(lengths + a0)) + np.sum(a * np.log1p(N / a)))
        else:
            G = float(np.sum(gammaln(a0) - gammaln(a0 + lengths)) + np.sum(gammaln(N + a) - gammaln(a)))
        M = self.to_learn_from(N, a, row, docs.topic)
        return TopicStats(words, float(len(lengths)), H, G, A, np.array([T]), M)

    def to_learn_from(self, N: Array, a: Array, row: NDArray[np.int32], topic: NDArray[np.uint16]) -> Array:
        """What learning the priors needs: nothing, where they are given."""
        return np.zeros(0)

    def documents(self, stats: TopicStats) -> float:
        """Without what does not depend on the documents' words: their part of Eq. (3.13)."""
        return stats.G if self.posterior == "variational" else stats.A
