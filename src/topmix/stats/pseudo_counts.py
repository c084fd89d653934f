"""Counts of words that are not from data: what topics start from, and what a prior adds to some words of topics."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp


@dataclass(slots=True)
class PseudoCounts:
    """What topics have in common, times a share per topic, plus a sparse row for each word."""

    common: np.ndarray  # [V] float64
    share: np.ndarray  # [K] float64, how much of `common` each topic has
    indptr: np.ndarray  # [V + 1] int64
    topic: np.ndarray  # [pairs] uint16
    value: np.ndarray  # [pairs] float64
    totals: np.ndarray  # [K] float64, sum over words of all this

    @classmethod
    def of(cls, common: np.ndarray, share: np.ndarray, own: sp.csr_array) -> PseudoCounts:
        """`own` is [K, V]: what each topic has besides its share of `common`."""
        totals = share * common.sum() + np.asarray(own.sum(axis=1)).ravel()
        rows = sp.csr_array(own.T)
        return cls(common, share, rows.indptr.astype(np.int64), rows.indices.astype(np.uint16), rows.data, totals)

    def counts(self) -> np.ndarray:  # [V, K]
        counts = np.outer(self.common, self.share)
        word = np.repeat(np.arange(len(self.common)), np.diff(self.indptr))
        counts[word, self.topic] += self.value
        return counts
