"""Counts of words that are not from data: what topics start from, and what a prior adds to some words of topics."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp

from topmix.files.reader import CheckedReader
from topmix.files.writer import Writer


@dataclass(slots=True)
class PseudoCounts:
    """What topics have in common, times a share per topic, plus a sparse row for each word."""

    common: np.ndarray  # [V] float64; empty: topics have nothing in common
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

    @classmethod
    def sparse(cls, by_word: sp.csr_array) -> PseudoCounts:
        """Rows [V, K] alone: what they hold is what they cost."""
        return cls.of(np.zeros(0), np.zeros(by_word.shape[1]), sp.csr_array(by_word.T, dtype=np.float64))

    @property
    def rows(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """The sparse rows as kernels take them."""
        return self.indptr, self.topic, self.value

    def rows_of(self, words: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """The sparse rows of these words."""
        begin, size = self.indptr[words], np.diff(self.indptr)[words]
        indptr = np.concatenate([[0], np.cumsum(size)])
        at = np.repeat(begin - indptr[:-1], size) + np.arange(indptr[-1])
        return indptr, self.topic[at], self.value[at]

    def by_word(self) -> sp.csr_array:  # [V, K]
        """The sparse rows."""
        return sp.csr_array(
            (self.value, self.topic.astype(np.int32), self.indptr), shape=(len(self.indptr) - 1, len(self.totals))
        )

    def counts(self) -> np.ndarray:  # [V, K]
        counts = np.outer(self.common, self.share) if len(self.common) else np.zeros(self.by_word().shape)
        word = np.repeat(np.arange(len(counts)), np.diff(self.indptr))
        counts[word, self.topic] += self.value
        return counts

    def grown(self, n_words: int) -> PseudoCounts:
        """The same sparse rows, with room for new words at the end."""
        rows = self.by_word()
        rows.resize((n_words, rows.shape[1]))
        return PseudoCounts.sparse(rows)

    def write(self, out: Writer) -> None:
        """The sparse rows: what is in common is never part of a file."""
        for name, array in zip(("indptr", "topic", "value"), self.rows):
            out.array(name, array)

    @classmethod
    def read(cls, file: CheckedReader, V: int, K: int) -> PseudoCounts:
        indptr, topic = file.rows_of_topics(V, K)
        value = file.array("value", len(topic), positive=True)
        rows = sp.csr_array((value, topic.astype(np.int32), indptr), shape=(V, K))
        rows.sum_duplicates()
        return cls.sparse(rows)
