"""Bags of words: phi_k ~ Dir(eta), each word of a row drawn from phi_k.  docs/math.md, section 2."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar, NamedTuple

import numpy as np
import scipy.sparse as sp
from scipy.special import gammaln, xlogy

from topmix import _core
from topmix.data.corpus import Corpus
from topmix.data.shard import Shard
from topmix.files.reader import CheckedReader, ModelFileError
from topmix.files.writer import Writer
from topmix.likelihoods.likelihood import Pieces
from topmix.numerics import dirichlet
from topmix.numerics.threads import threads
from topmix.stats import WordStats, WordTotal
from topmix.stats.entries import RowShares

NEGLIGIBLE = 1e-9  # prior count of a word for objective "ml": no word is impossible


class CategoricalTables(NamedTuple):
    """What one shard needs of the posterior.  Eq. (2.2)."""

    Elogphi: np.ndarray  # [words, K] float32, less offset
    offset: np.ndarray  # [words] float64, largest E[log phi_k] of each word


class Assignment(NamedTuple):
    """An L-sparse posterior over the clusters of each row."""

    cluster: np.ndarray  # [N, L] int32 ascending
    r: np.ndarray  # [N, L] float32
    entropy: np.ndarray  # [N]
    likelihood: np.ndarray  # [N] log of the summed weights of the chosen clusters


@dataclass(frozen=True)
class Categorical:
    """q(phi_k) = Dir(eta + S_k). It borrows the total it was made from: copy that before keeping a model."""

    rows: ClassVar[str] = "counts"
    objectives: ClassVar[tuple[str, ...]] = ("vb", "map", "ml")

    eta: np.ndarray  # [V, 1] prior pseudo-counts of each word
    total: WordTotal
    objective: str = "vb"

    @classmethod
    def start(
        cls,
        corpus: Corpus,
        weight: np.ndarray | None,
        K: int,
        prior: float,
        rng: np.random.Generator,
        objective: str = "vb",
    ) -> Categorical:
        """Each cluster starts from one row, drawn by k-means++ under the KL divergence, smoothed by the mean row.
        `categorical_start` has better ones."""
        eta = cls.prior(corpus.shape[1], prior, objective)
        X = corpus.to_scipy()
        if weight is None:
            weight = np.ones(corpus.shape[0])
        sums = weight @ X
        mean = sums / max(sums.sum(), 1e-300)
        rows = X[spread_rows(X, weight, K, mean, rng)].toarray().astype(np.float64)
        total = cls.zeros(corpus.shape[1], K)
        total.raw += rows.T + mean[:, None] * np.maximum(rows.sum(axis=1), 1.0)
        total.totals += total.raw.sum(axis=0)
        return cls(eta, total, objective)

    @staticmethod
    def prior(n_words: int, eta: float, objective: str) -> np.ndarray:  # [V, 1]
        return np.full((n_words, 1), NEGLIGIBLE if objective == "ml" else eta)

    @staticmethod
    def zeros(n_words: int, K: int) -> WordTotal:
        return WordTotal.zeros(n_words, K)

    @property
    def lam(self) -> np.ndarray:  # [V, K]
        # rounding may leave negative counts, which a negligible prior does not make up for
        return self.eta + np.maximum(self.total.counts(), 0.0)

    def tables(self, cols: np.ndarray) -> CategoricalTables:
        table, offset = np.empty((len(cols), self.total.shape[1]), np.float32), np.empty(len(cols))
        norm, is_point = self.eta.sum() + self.total.totals, self.objective != "vb"
        _core.categorical_table(
            is_point, self.total.raw, self.total.factor, self.eta[:, 0], norm, cols, threads(), table, offset
        )
        return CategoricalTables(table, offset)

    @staticmethod
    def assign(shard: Shard, t: CategoricalTables, log_weights: np.ndarray, L: int) -> Assignment:
        weights = log_weights.astype(np.float32)
        return Assignment(
            *_core.assign_categorical(
                shard.indptr, shard.index, shard.value, t.Elogphi, t.offset, weights, L, threads()
            )
        )

    @staticmethod
    def summarise(shard: Shard, a: Assignment, K: int) -> WordStats:
        return WordStats(
            shard.cols,
            *_core.sum_rows_by_word(
                shard.starts, shard.order, shard.row_of, shard.value, a.cluster, a.r, shard.weight, K, threads()
            ),
        )

    def update(self, S: WordTotal, N: np.ndarray) -> Categorical:
        """Conjugate update.  Eq. (2.3)."""
        return replace(self, total=S)

    def bound(self, S: WordTotal, N: np.ndarray) -> float:
        """E[log p(x | z, phi)] - KL(q(phi) || p(phi)), or the same term at a point.  Eq. (2.4)."""
        if S is self.total and self.objective != "ml":  # as after each pass: the optimum, where terms cancel
            return self._largest_bound()
        return dirichlet.bound(S.counts(), np.broadcast_to(self.eta, S.raw.shape), self.lam, self.objective)

    def _largest_bound(self) -> float:
        is_point = self.objective == "map"
        of_words, norm = self.total.bound("collapsed" if is_point else "variational", self.eta, None)
        prior = len(norm) * float(dirichlet.log_normaliser(self.eta)[0])
        return prior + of_words - float((xlogy(norm, norm) if is_point else gammaln(norm)).sum())

    def regrouped(self, pieces: Pieces, N: np.ndarray) -> Categorical:
        """Other clusters, from statistics of some."""
        counts = sum(np.maximum(S.counts(), 0.0) @ parts.T for parts, S in pieces)
        return replace(self, total=WordTotal.of(np.ascontiguousarray(counts)))

    def mean(self) -> np.ndarray:
        """E[phi], [K, V], rows sum to one."""
        return (self.lam / self.lam.sum(axis=0)).T

    def write(self, out: Writer) -> None:
        out.array("eta", self.eta)
        self.total.write(out)

    def read_sums(self, file: CheckedReader, K: int) -> WordStats | RowShares:
        return RowShares.read(file, K) if file.has("r") else WordStats.read(file, len(self.eta), K)

    @classmethod
    def read(cls, file: CheckedReader, V: int, K: int, objective: str) -> Categorical:
        eta, total = file.array("eta", V, 1, positive=True), WordTotal.read(file, V, K)
        if not (total.raw.min() * total.factor > -eta.min() and total.totals.min() >= 0):
            raise ModelFileError(f"array '{file.prefix}raw' has negative counts")
        return cls(eta, total, objective)


def spread_rows(
    X: sp.csr_array, weight: np.ndarray, K: int, mean: np.ndarray, rng: np.random.Generator, sample: int = 10_000
) -> np.ndarray:
    """K rows far from each other: k-means++ under KL(row || smoothed row), on a subsample of the rows.

    Rows are smoothed by the mean row so that divergences stay finite. With fewer rows than clusters, rows repeat.
    """
    usable = np.flatnonzero((np.diff(X.indptr) > 0) & (weight > 0))
    if len(usable) == 0:
        usable = np.arange(X.shape[0])
    usable = np.sort(rng.choice(usable, min(sample, len(usable)), replace=False))
    P = X[usable].astype(np.float64)
    P.data /= np.repeat(np.maximum(P.sum(axis=1), 1e-300), np.diff(P.indptr))
    negative_entropy = sp.csr_array((P.data * np.log(P.data), P.indices, P.indptr), shape=P.shape).sum(axis=1)

    chosen = [int(rng.integers(len(usable)))]
    nearest = np.full(len(usable), np.inf)  # divergence from the nearest row chosen so far
    while len(chosen) < K:
        last = chosen[-1]
        entries = slice(P.indptr[last], P.indptr[last + 1])
        q = 0.5 * mean
        q[P.indices[entries]] += 0.5 * P.data[entries]
        divergence = negative_entropy - P @ np.log(np.maximum(q, 1e-300))
        nearest = np.minimum(nearest, np.maximum(divergence, 0.0))
        nearest[last] = 0.0
        p = nearest * weight[usable]
        chosen.append(int(rng.choice(len(usable), p=p / p.sum() if p.sum() > 0 else None)))
    return usable[chosen]
