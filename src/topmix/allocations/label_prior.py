"""Topic proportions of documents with labels: other labels' topics are not for them. docs/math.md, section 3.12."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from topmix.allocations.document_prior import DocumentPrior
from topmix.allocations.own_priors import OwnPriors
from topmix.data.design_rows import DesignRows
from topmix.files.reader import CheckedReader, ModelFileError
from topmix.files.writer import Writer
from topmix.stats import PseudoCounts, TopicStats, WordTotal


@dataclass(frozen=True)
class LabelPrior:
    """The design of documents is their prior itself: zero for a topic that they cannot have."""

    alpha: NDArray[np.float64]  # [K] the mean prior of the documents of the fit, for documents without labels
    posterior: str  # "variational" | "collapsed"

    learned: ClassVar[bool] = False

    def of(self, design: DesignRows | None) -> OwnPriors | DocumentPrior:
        if design is None:
            return DocumentPrior(self.alpha, self.posterior)
        return OwnPriors(self.alpha, self.posterior, design, design.x.astype(np.float32))

    def no_stats(self, S: WordTotal | PseudoCounts) -> TopicStats:
        """Statistics of no documents, with these counts of words."""
        return TopicStats(S, 0.0, 0.0, 0.0, 0.0, np.zeros(1), np.zeros(0))

    def past_stats(self, S: WordTotal) -> TopicStats:
        return self.no_stats(S)

    def update(self, total: TopicStats) -> LabelPrior:
        """It is given, and stays."""
        return self

    def relearn(self, total: TopicStats, lengths: NDArray[np.float64]) -> LabelPrior:
        return self

    def bound(self, total: TopicStats) -> float:
        """The documents' part of the objective.  Eq. (3.31)"""
        return total.G + total.A + float(total.T[0])

    def documents(self, stats: TopicStats) -> float:
        return stats.G if self.posterior == "variational" else stats.A

    def write(self, out: Writer) -> None:
        out.array("alpha", self.alpha)

    @classmethod
    def read(cls, file: CheckedReader, K: int, posterior: str) -> LabelPrior:
        alpha = file.array("alpha", K, positive=True)
        if alpha.max() > np.finfo(np.float32).max:
            raise ModelFileError(f"{file.prefix}alpha has {alpha.max():g}, which is too large")
        return cls(alpha, posterior)
