"""Sufficient statistics: the only thing that leaves a local step.

A statistic is a value that can be added, subtracted and scaled, so every learner is a few lines of this algebra: batch
sums, memoized adds new and takes away old, stochastic blends, and an engine may return shards from anywhere.
"""

from __future__ import annotations

import copy
from dataclasses import dataclass, fields
from typing import Any, Self

import numpy as np
import scipy.sparse as sp

from topmix import _core


class Additive:
    """Field by field: arrays and numbers add, nested statistics add themselves. For dataclasses."""

    def add(self, other: Self, weight: float = 1.0) -> Self:
        """self += weight * other, in place."""
        for f in fields(self):  # type: ignore[arg-type]
            mine, theirs = getattr(self, f.name), getattr(other, f.name)
            if isinstance(mine, np.ndarray):
                mine += weight * theirs
            elif isinstance(mine, float):
                setattr(self, f.name, mine + weight * theirs)
            else:
                mine.add(theirs, weight)
        return self

    def scale(self, c: float) -> Self:
        """self *= c, in place."""
        for f in fields(self):  # type: ignore[arg-type]
            mine = getattr(self, f.name)
            if isinstance(mine, np.ndarray):
                mine *= c
            elif isinstance(mine, float):
                setattr(self, f.name, mine * c)
            else:
                mine.scale(c)
        return self

    @property
    def stays_apart(self) -> bool:
        """Whether adding it to a total and taking it away again leaves the very bits that were there."""
        return False

    def copy(self) -> Self:
        return copy.deepcopy(self)

    def __iadd__(self, other: Self) -> Self:
        return self.add(other)

    def __isub__(self, other: Self) -> Self:
        return self.add(other, -1.0)

    def __add__(self, other: Self) -> Self:
        return self.copy().add(other)

    def __sub__(self, other: Self) -> Self:
        return self.copy().add(other, -1.0)

    def __mul__(self, c: float) -> Self:
        return self.copy().scale(c)

    __rmul__ = __mul__


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


@dataclass(slots=True)
class MixtureStats(Additive):
    """Summary of rows under a mixture.  docs/math.md Eq. (1.7)."""

    S: Any  # the likelihood's own statistic, for instance WordStats; its total is what it is added to
    N: np.ndarray  # [K] expected rows in each cluster
    H: float  # sum_n H[r_n]
    n_rows: float


@dataclass(slots=True)
class TopicStats(Additive):
    """Summary of documents under a topic model.  docs/math.md Eq. (3.8).

    With these the objective is linear in the statistics: exact when every document is in the total once, an estimate
    while a stochastic learner blends. E log pi_dk reads log of the document's point estimate when collapsed.
    """

    S: Any  # WordStats, or the WordTotal they are added to
    D: float  # documents
    H: float  # sum_du c_du H[r_du]
    G: float  # -sum_d c_Dir(theta_d); zero when collapsed
    A: float  # sum_dk (N_dk - theta_dk) E log pi_dk; sum_dk N_dk E log pi_dk when collapsed
    T: np.ndarray  # [K] sum_d E log pi_dk, over all documents, topics they do not use included
    M: np.ndarray  # [K] sum_d alpha_k [psi(N_dk + alpha_k) - psi(alpha_k)]: what learning alpha needs

    @property
    def n_rows(self) -> float:
        return self.D

    @property
    def stays_apart(self) -> bool:
        return isinstance(self.S, WordSeed)
