"""Documents that have priors of their own, as local steps and kernels see them.  docs/math.md, section 3.11."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from topmix import _core
from topmix.allocations.doc_topics import DocTopics
from topmix.data.design_rows import DesignRows
from topmix.numerics.threads import threads
from topmix.stats import TopicStats, WordStats

Array = NDArray[np.float64]


@dataclass(frozen=True)
class OwnPriors:
    """Documents with equal rows of the design have the same prior. A topic with the prior zero is not for them."""

    alpha: Array  # [K] the mean of all documents of the fit
    posterior: str  # "variational" | "collapsed"
    design: DesignRows
    rows: NDArray[np.float32]  # [distinct rows of the design, K]
    learns: bool = False  # statistics hold what the priors are learned from, M of Eq. (3.32)
    is_curved: bool = False  # ... and Q, which draws need

    def own(self, scale: float = 1.0) -> _core.Priors:
        """What kernels see."""
        return _core.Priors(self.rows if scale == 1.0 else np.float32(scale) * self.rows, self.design.row)

    def responses(self) -> None:
        """What is known of single documents beside their words and their design: nothing."""

    def of_documents(self) -> Array:
        """[documents, K]"""
        return self.rows[self.design.row].astype(np.float64)

    def summarise(self, words: WordStats, docs: DocTopics, lengths: Array, H: float) -> TopicStats:
        """Statistics of documents with these topics.  Eq. (3.31)"""
        x, K, is_collapsed = self.design.x, self.rows.shape[1], self.posterior == "collapsed"
        P = x.shape[1] if self.learns else 0
        learned = np.zeros(K * (P + P * P))
        M, Q = learned[: K * P].reshape(K, P), learned[K * P :].reshape(K * P, P)
        given = (docs.indptr, docs.topic, docs.count), lengths, self.own(), threads()
        to = (x, M, Q if self.is_curved else None) if self.learns else ()
        G, A, T = _core.own_stats(is_collapsed, *given, *to)
        return TopicStats(words, float(len(lengths)), H, G, A, np.array([T]), learned)

    def documents(self, stats: TopicStats) -> float:
        """Without what does not depend on the documents' words: their part of Eq. (3.13)."""
        return stats.G if self.posterior == "variational" else stats.A
