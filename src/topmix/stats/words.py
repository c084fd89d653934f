"""Statistics of words: what shards report, what topics start from, and the running total."""

from __future__ import annotations

from dataclasses import dataclass, fields

import numpy as np
import scipy.sparse as sp

from topmix import _core


@dataclass(slots=True)
class WordStats:
    """What one shard gives to each (word, cluster): a sparse row for each word that the shard uses.

    It is a memo as much as a message, so it stays small: at most min(entries x L, words x K) pairs of 6 bytes.
    """

    cols: np.ndarray  # [n] int32, global ids of the shard's words
    indptr: np.ndarray  # [n + 1] int64
    topic: np.ndarray  # [pairs] uint16
    value: np.ndarray  # [pairs] float32
    totals: np.ndarray  # [K] float64, sum over words

    @property
    def nbytes(self) -> int:
        return sum(getattr(self, f.name).nbytes for f in fields(self))

    def to_dense(self, n_words: int) -> np.ndarray:  # [V, K]
        return WordTotal.zeros(n_words, len(self.totals)).add(self).counts()


@dataclass(slots=True)
class WordSeed:
    """Counts to start from that nobody observed: what topics have in common, and a sparse row for each word."""

    common: np.ndarray  # [V] float64
    share: np.ndarray  # [K] float64, how much of it
    indptr: np.ndarray  # [V + 1] int64
    topic: np.ndarray  # [pairs] uint16
    value: np.ndarray  # [pairs] float64
    totals: np.ndarray  # [K] float64, sum over words of all this

    @classmethod
    def of(cls, common: np.ndarray, share: np.ndarray, own: sp.csr_array) -> WordSeed:
        """`own` is [K, V]: what each topic has of its own."""
        totals = share * common.sum() + np.asarray(own.sum(axis=1)).ravel()
        rows = sp.csr_array(own.T)
        return cls(common, share, rows.indptr.astype(np.int64), rows.indices.astype(np.uint16), rows.data, totals)

    def counts(self) -> np.ndarray:  # [V, K]
        counts = np.outer(self.common, self.share)
        word = np.repeat(np.arange(len(self.common)), np.diff(self.indptr))
        counts[word, self.topic] += self.value
        return counts


@dataclass(slots=True)
class WordTotal:
    """The running total of WordStats over shards: dense, in double precision.

    Blending (stochastic learning) scales every entry at every step. That is one number here, so a step costs what the
    words of its batch cost, not V x K.

    A seed that fades would cost V x K at every step as well, so it stays beside the counts, with a weight, and only
    tables see it.
    """

    raw: np.ndarray  # [V, K] float64; the counts are factor * raw
    totals: np.ndarray  # [K] float64, sum over words of the counts
    factor: float = 1.0
    threads: int = 1
    seed: WordSeed | None = None
    seed_weight: float = 0.0

    @classmethod
    def zeros(cls, n_words: int, K: int, threads: int = 1) -> WordTotal:
        return cls(np.zeros((n_words, K)), np.zeros(K), 1.0, threads)

    def counts(self) -> np.ndarray:  # [V, K]
        return self.raw * self.factor

    def add(self, other: WordStats | WordTotal | WordSeed, weight: float = 1.0) -> WordTotal:
        if isinstance(other, WordSeed):
            return self._lean_on(other, weight)
        if isinstance(other, WordTotal):
            _core.add_scaled(other.raw.ravel(), weight * other.factor / self.factor, self.threads, self.raw.ravel())
        else:
            _core.add_word_stats(
                other.cols, other.indptr, other.topic, other.value, weight / self.factor, self.threads, self.raw
            )
        self.totals += weight * other.totals
        return self

    def scale(self, c: float) -> WordTotal:
        self.totals *= c
        self.factor *= c
        if not 1e-100 < abs(self.factor) < 1e100:  # fold it in before it leaves the range of a double
            self.raw *= self.factor
            self.factor = 1.0
        return self

    def _lean_on(self, seed: WordSeed, weight: float) -> WordTotal:
        if self.seed is not None and self.seed is not seed:
            raise ValueError("a total has one seed at a time")
        self.seed_weight += weight
        self.seed = seed if self.seed_weight > 1e-9 else None  # less is what rounding left of a seed that is gone
        return self

    def grow(self, n_words: int) -> WordTotal:
        """Room for new words at the end; their counts are zero."""
        self.raw = np.concatenate([self.raw, np.zeros((n_words - len(self.raw), self.raw.shape[1]))])
        return self
