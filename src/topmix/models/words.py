"""Statistics of words: what a shard reports, and the running total over shards."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Annotated, ClassVar, Self

import numpy as np
import scipy.sparse as sp
from scipy.special import digamma

from topmix import _core
from topmix.base.checks import SMALLEST
from topmix.base.threads import threads
from topmix.models.model import SomeSums
from topmix.models.sparse_counts import Counts, SparseCounts, blocks
from topmix.models.statistics import PseudoCounts
from topmix.models.stored import Ids, Numbers, Starts, Stored, number

LEAST_COUNT = 1e-6  # tokens of a word in a topic; the prior adds at least thousands of times as much
LEAST_WEIGHT = 1e-9  # of pseudo-counts that have faded: less is what rounding left


@dataclass(slots=True)
class WordStats(Stored):
    """Expected tokens of each (word, cluster) in one shard: a sparse row for each word that the shard uses. It is the
    memo of a shard and the message of a worker, and has at most min(entries x L, words x K) pairs of 6 bytes."""

    cols: Annotated[np.ndarray, Ids("n", below="V", ascending=True)]  # global ids of the shard's words
    indptr: Annotated[np.ndarray, Starts("n", "pairs")]
    topic: Annotated[np.ndarray, Ids("pairs", below="K", dtype="U16")]
    value: Annotated[np.ndarray, Numbers("pairs", dtype="F32")]
    totals: Annotated[np.ndarray, Numbers("K")]  # sum over words

    def __add__(self, other: WordStats) -> WordStats:
        """The sum, as one shard with the rows of both would report it: values are rounded to float32 again."""
        cols = np.union1d(self.cols, other.cols)
        rows = self._rows_of(cols) + other._rows_of(cols)
        indptr, topic = rows.indptr.astype(np.int64), rows.indices.astype(np.uint16)
        return WordStats(cols, indptr, topic, rows.data.astype(np.float32, copy=False), self.totals + other.totals)

    def _rows_of(self, cols: np.ndarray) -> sp.csr_array:
        """[cols, K] with an empty row for each word that is not here."""
        sizes = np.zeros(len(cols), np.int64)
        sizes[np.searchsorted(cols, self.cols)] = np.diff(self.indptr)
        indptr = np.concatenate([[0], np.cumsum(sizes)])
        index = indptr.astype(np.int32) if len(self.value) < 2**31 else indptr
        rows = sp.csr_array((self.value, self.topic.astype(index.dtype), index), shape=(len(cols), len(self.totals)))
        rows.has_canonical_format = True  # kernels write topics in ascending order
        return rows

    def add_to(self, raw: np.ndarray, weight: float, factor: float) -> None:
        """Adds them, times the weight, to counts [V, K] that are factor * raw."""
        _core.add_word_stats(self.cols, self.indptr, self.topic, self.value, weight / factor, threads(), raw)

    def to_dense(self, n_words: int) -> np.ndarray:  # [V, K]
        return WordTotal.zeros(n_words, len(self.totals)).add(self).counts()


class Fading:
    """A total whose pseudo-counts stay beside its counts, with a weight that falls to zero."""

    totals: np.ndarray
    pseudo: PseudoCounts | None
    pseudo_weight: float

    is_removable: ClassVar[bool] = False

    def add(self, other: SomeSums, weight: float = 1.0) -> Self:
        """self += weight * other: what a shard reports, another total, or pseudo-counts."""
        if not isinstance(other, PseudoCounts):
            self.add_counts(other, weight)
            self.totals += weight * other.totals
            return self
        if self.pseudo is not None and self.pseudo is not other:
            raise ValueError("a total has one set of pseudo-counts at a time")
        self.pseudo_weight += weight
        self.pseudo = other if self.pseudo_weight > LEAST_WEIGHT else None
        return self

    def add_counts(self, other: SomeSums, weight: float) -> None:
        raise NotImplementedError


@dataclass(slots=True)
class WordTotal(Fading, Stored):
    """The running total of WordStats over shards: dense, in double precision.

    Stochastic learning scales every entry at every step. The scale is one number here, so a step costs what the words
    of its batch cost, not V x K. For the same reason pseudo-counts that fade stay beside the counts, and only tables
    see them. A total from a file may be sparse. It becomes dense when somebody asks for `raw`, for instance to add.
    """

    # [V, K] float64; the counts are factor times these. A file holds them as they are, sparse where that is smaller
    held: Annotated[np.ndarray | SparseCounts, Counts("V", "K")]
    totals: Annotated[np.ndarray, Numbers("K")]  # sum over words of the counts
    factor: Annotated[float, number(SMALLEST)] = 1.0
    pseudo: PseudoCounts | None = None
    pseudo_weight: float = 0.0

    @classmethod
    def zeros(cls, n_words: int, K: int) -> WordTotal:
        return cls(np.zeros((n_words, K)), np.zeros(K))

    @classmethod
    def of(cls, counts: np.ndarray) -> WordTotal:
        """A total with these counts [V, K], which it keeps."""
        return cls(counts, counts.sum(axis=0))

    @property
    def raw(self) -> np.ndarray:
        """[V, K] float64; the counts are factor * raw."""
        self.held = raw = np.asarray(self.held)
        return raw

    @property
    def shape(self) -> tuple[int, int]:
        V, K = self.held.shape
        return V, K

    def rows(self, words: np.ndarray) -> np.ndarray:  # [words, K]
        """The counts of some words."""
        return self.factor * self.raw_rows(words)

    def raw_rows(self, words: np.ndarray) -> np.ndarray:  # [words, K]
        return self.held[words]

    def by_word(self) -> np.ndarray:
        """[V] tokens of each word."""
        return self.factor * self.held.sum(axis=1)

    def columns(self, topics: Sequence[int]) -> np.ndarray:  # [V, topics]
        """The counts of some topics."""
        return np.asarray(self.held)[:, list(topics)] * self.factor

    def with_columns(self, kept: np.ndarray, changed: Mapping[int, np.ndarray]) -> WordTotal:
        """The topics `kept` alone. Those of `changed` have these counts [V]; they may be new, with the next numbers."""
        K = self.shape[1]
        counts = np.take(np.asarray(self.held), np.where(kept < K, kept, 0), axis=1)
        if self.factor != 1.0:
            counts *= self.factor
        for n, k in enumerate(kept.tolist()):
            if k in changed:
                counts[:, n] = changed[k]
        return WordTotal.of(counts)

    def slim(self) -> WordTotal:
        """The same counts, sparse where that is smaller."""
        sparse = SparseCounts.if_smaller(self.held)
        return self if sparse is None else replace(self, held=sparse)

    @property
    def is_exact(self) -> bool:
        """Whether what was added can be taken out again without rounding."""
        return False

    def empty(self) -> WordTotal:
        """A total of nothing, of the same shape and in the same place."""
        return WordTotal.zeros(*self.shape)

    def on_host(self) -> WordTotal:
        """Itself: a total on a device has a copy to give."""
        return self

    def counts(self) -> np.ndarray:  # [V, K]
        return np.asarray(self.held) * self.factor

    def add_counts(self, other: WordStats | WordTotal, weight: float) -> None:
        other.add_to(self.raw, weight, self.factor)

    def add_to(self, raw: np.ndarray, weight: float, factor: float) -> None:
        _core.add_scaled(self.raw.ravel(), weight * self.factor / factor, threads(), raw.ravel())

    def scale(self, c: float) -> WordTotal:
        self.totals *= c
        self.factor *= c
        if not 1e-100 < abs(self.factor) < 1e100:  # multiply it in before it leaves the range of a double
            np.multiply(self.raw, self.factor, out=self.raw)
            self.factor = 1.0
        return self

    def drop_traces(self) -> None:
        """Counts of next to nothing become zero: what is left of a start long ago would make all counts dense."""
        is_trace = self.raw < LEAST_COUNT / self.factor
        self.totals -= self.raw.sum(axis=0, where=is_trace) * self.factor
        self.raw[is_trace] = 0.0

    # What topics make of it, one word at a time: a total on a device has kernels of its own for these.

    def table(
        self, posterior: str, eta: np.ndarray, extra: PseudoCounts | None, norm: np.ndarray, cols: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """[words, K] weights of words in topics, each row over its largest entry, and the logarithm of that entry."""
        cols = np.asarray(cols)  # of an engine that has them elsewhere, too
        table, log_scale = np.empty((len(cols), self.shape[1]), np.float32), np.empty(len(cols))
        if isinstance(self.held, np.ndarray) or self.pseudo is not None:
            rows, pseudo = None if extra is None else extra.rows, None
            if (start := self.pseudo) is not None:
                pseudo = start.common, start.share, *start.rows, self.pseudo_weight
            counts = self.raw, self.factor, eta, rows, pseudo
            _core.topic_table(posterior, *counts, norm, cols, threads(), table, log_scale)
            return table, log_scale
        for part in blocks(len(cols), self.shape[1]) if len(cols) else []:  # dense rows of a few words at a time
            words, order = cols[part], np.arange(len(cols[part]), dtype=np.int32)
            rows = None if extra is None else extra.rows_of(words)
            counts = self.held[words], self.factor, eta if len(eta) == 1 else eta[words], rows, None
            _core.topic_table(posterior, *counts, norm, order, threads(), table[part], log_scale[part])
        return table, log_scale

    def log_table(
        self, objective: str, eta: np.ndarray, norm: np.ndarray, cols: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """[words, K] E[log phi], or log phi at a point, less the largest of each word; and that.  Eq. (2.2)"""
        table, offset = np.empty((len(cols), self.shape[1]), np.float32), np.empty(len(cols))
        counts = self.raw, self.factor, eta[:, 0]
        _core.categorical_table(objective != "vb", *counts, norm, cols, threads(), table, offset)
        return table, offset

    def bound(self, posterior: str, eta: np.ndarray, extra: PseudoCounts | None) -> tuple[float, np.ndarray]:
        """The sum of x log x (collapsed) or log Gamma(x) at x = counts + eta, and [K] sums of x over words."""
        norm, rows = np.empty(self.shape[1]), None if extra is None else extra.rows
        return _core.topic_bound(posterior, np.asarray(self.held), self.factor, eta, rows, threads(), norm), norm

    def by_topic(self, eta: np.ndarray, extra: PseudoCounts | None, *, as_shares: bool = False) -> np.ndarray:  # [K, V]
        """counts + eta; `as_shares`: each row over its sum."""
        out = np.empty(self.shape[::-1])
        rows = None if extra is None else extra.rows
        _core.topic_rows(np.asarray(self.held), self.factor, eta, rows, as_shares, threads(), out)
        return out

    def sum_of_digamma(self, eta: np.ndarray, extra: PseudoCounts | None) -> float:
        """sum_vk psi(counts + eta)"""
        return float(np.sum(digamma(self.by_topic(eta, extra))))

    def grow(self, n_words: int) -> WordTotal:
        """Makes room for new words at the end; their counts are zero."""
        self.held = np.concatenate([self.raw, np.zeros((n_words - len(self.raw), self.raw.shape[1]))])
        return self
