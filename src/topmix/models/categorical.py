"""Bags of words: phi_k ~ Dir(eta), each word of a row drawn from phi_k.  docs/math.md, section 2."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Annotated, ClassVar, NamedTuple

import numpy as np
import scipy.sparse as sp
from scipy.special import gammaln, xlogy

from topmix import _core
from topmix.base import dirichlet
from topmix.base.checks import SMALLEST
from topmix.base.fields import CheckedReader
from topmix.base.threads import threads
from topmix.corpus.corpus import Corpus
from topmix.corpus.shard import Shard, row_sums
from topmix.models.k_means import far_apart
from topmix.models.model import Assignment, Likelihood, Pieces
from topmix.models.sparse_counts import RowShares
from topmix.models.stored import Numbers, Stored
from topmix.models.words import WordStats, WordTotal

SAMPLE = 10_000  # rows, of which some are chosen far from each other
NEGLIGIBLE = 1e-9  # prior count of a word for objective "ml": no word is impossible


class CategoricalTables(NamedTuple):
    """What one shard needs of the posterior.  Eq. (2.2)."""

    Elogphi: np.ndarray  # [words, K] float32, less offset
    offset: np.ndarray  # [words] float64, largest E[log phi_k] of each word


@dataclass(frozen=True)
class Categorical(Stored, Likelihood):
    """q(phi_k) = Dir(eta + S_k). It borrows the total it was made from: copy that before keeping a model."""

    rows: ClassVar[str] = "counts"
    objectives: ClassVar[tuple[str, ...]] = ("vb", "map", "ml")

    eta: Annotated[np.ndarray, Numbers("V", 1, low=SMALLEST)]  # prior pseudo-counts of each word
    total: WordTotal
    objective: str = "vb"

    def zeros(self, n_words: int, K: int) -> WordTotal:
        return self.total.empty()

    @property
    def lam(self) -> np.ndarray:  # [V, K]
        # rounding may leave negative counts, which a negligible prior does not make up for
        return self.eta + np.maximum(self.total.counts(), 0.0)

    def tables(self, cols: np.ndarray) -> CategoricalTables:
        norm = self.eta.sum() + self.total.totals
        return CategoricalTables(*self.total.log_table(self.objective, self.eta, norm, cols))

    def on_host(self) -> Categorical:
        """The same with its total in this process's memory."""
        total = self.total.on_host()
        return self if total is self.total else replace(self, total=total)

    @staticmethod
    def assign(shard: Shard, t: CategoricalTables, log_weights: np.ndarray, L: int) -> Assignment:
        rows, weights = (shard.indptr, shard.index, shard.value), log_weights.astype(np.float32)
        return Assignment(*_core.assign_categorical(*rows, t.Elogphi, t.offset, weights, L, threads()))

    @staticmethod
    def summarise(shard: Shard, a: Assignment, K: int) -> WordStats:
        rows = shard.starts, shard.order, shard.row_of, shard.value
        return WordStats(shard.cols, *_core.sum_rows_by_word(*rows, a.cluster, a.r, shard.weight, K, threads()))

    def update(self, S: WordTotal, N: np.ndarray) -> Categorical:
        """Conjugate update.  Eq. (2.3)."""
        return replace(self, total=S)

    def bound(self, S: WordTotal, N: np.ndarray) -> float:
        """E[log p(x | z, phi)] - KL(q(phi) || p(phi)), or the same term at a point.  Eq. (2.4)."""
        if S is not self.total or (self.objective == "ml" and not S.is_exact):
            return dirichlet.bound(S.counts(), np.broadcast_to(self.eta, S.raw.shape), self.lam, self.objective)
        is_point = self.objective != "vb"  # as after each pass: the optimum, where terms cancel
        of_words, norm = self.total.bound("collapsed" if is_point else "variational", self.eta, None)
        prior = 0.0 if self.objective == "ml" else len(norm) * float(dirichlet.log_normaliser(self.eta)[0])
        return prior + of_words - float((xlogy(norm, norm) if is_point else gammaln(norm)).sum())

    def regrouped(self, pieces: Pieces, N: np.ndarray) -> Categorical:
        counts = sum(np.maximum(S.counts(), 0.0) @ parts.T for parts, S in pieces)
        return replace(self, total=WordTotal.of(np.ascontiguousarray(counts)))

    def mean(self) -> np.ndarray:
        """E[phi], [K, V], rows sum to one."""
        return (self.lam / self.lam.sum(axis=0)).T

    def check_fields(self) -> None:
        if not (self.total.raw.min() * self.total.factor > -self.eta.min() and self.total.totals.min() >= 0):
            raise ValueError("words have negative counts")

    def read_sums(self, file: CheckedReader, K: int) -> WordStats | RowShares:
        return RowShares.read(file, K=K) if file.has("r") else WordStats.read(file, V=len(self.eta), K=K)

    def n_parameters(self) -> int:
        V, K = self.lam.shape
        return K * (V - 1)


def spread_rows(X: sp.csr_array, weight: np.ndarray, K: int, mean: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """K rows far from each other: k-means++ under KL(row || smoothed row), on a subsample of the rows. Rows are
    smoothed by the mean row so that divergences stay finite, and repeat where there are fewer than clusters."""
    usable = np.flatnonzero((np.diff(X.indptr) > 0) & (weight > 0))
    if len(usable) == 0:
        usable = np.arange(X.shape[0])
    usable = np.sort(rng.choice(usable, min(SAMPLE, len(usable)), replace=False))
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


# Where clusters of bags of words start, from a sample of the rows.
#
# A row of counts cannot leave its cluster once others of its kind are there too: from a poor start every learner stays
# where it is. So rows of the sample are divided by spherical k-means on damped counts (logarithms times inverse
# document frequencies), and then sampled: they go from cluster to cluster, one by one, with the words and the weights
# of clusters integrated out (cpp/chains/row_clusters.hpp). Several chains begin, and the most probable one goes on.

ENTRIES = 1 << 20  # of the sample, about; and so many rows for each cluster, at least:
ROWS_PER_CLUSTER = 40
ROUNDS = 5  # of spherical k-means
ENOUGH = 1e-3  # a round that brings rows closer to their clusters by less, relatively, is the last
SEEDS_FROM = 1000  # rows among which k-means++ chooses, and so many for each cluster:
SEEDS_PER_CLUSTER = 10
CHAINS, SWEEPS = 4, 5  # that are compared
MORE_SWEEPS = 10  # of the one that is kept
SWEEPS_FROM_RANDOM = 30  # of one chain, as Yin & Wang (2014) have it
CHAIN_SIZE = 1 << 26  # words x clusters of all chains: half a gigabyte
STARTS = ("auto", "k-means++", "random", "documents")


class WordStart(NamedTuple):
    """First clusters of bags of words."""

    corpus: Corpus
    weight: np.ndarray | None
    K: int
    eta: float
    objective: str
    weight_prior: float  # of each cluster
    how: str | np.ndarray  # one of STARTS, or responsibilities [N, K]

    def first(self, rng: np.random.Generator) -> tuple[Categorical, np.ndarray | None]:
        """Clusters, and the number of rows in each, if that is known. They come to as many as there are."""
        weight, how = self.weight, self.how
        N: np.ndarray | None = None
        if isinstance(how, np.ndarray):
            r = how if weight is None else weight[:, None] * how
            counts, N = np.ascontiguousarray(self.corpus.to_scipy().T @ r, np.float64), r.sum(axis=0)
        elif how == "documents":  # one row each, drawn by k-means++ under the KL divergence, smoothed by the mean row
            X, w = self.corpus.to_scipy(), np.ones(len(self.corpus)) if weight is None else weight
            sums = w @ X
            mean = sums / max(sums.sum(), 1e-300)
            rows = X[spread_rows(X, w, self.K, mean, rng)].toarray().astype(np.float64)
            counts = np.ascontiguousarray(rows.T + mean[:, None] * np.maximum(rows.sum(axis=1), 1.0))
            N = np.ones(self.K) if self.objective == "ml" else None
        else:
            counts, N = self._divided(how, rng)
        eta = np.full((self.corpus.shape[1], 1), NEGLIGIBLE if self.objective == "ml" else self.eta)
        return Categorical(eta, WordTotal.of(counts), self.objective), N

    def again(self, clusters: Categorical) -> Categorical:
        return clusters if self.objective == "ml" else replace(clusters, eta=np.full_like(clusters.eta, self.eta))

    def _divided(self, how: str, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
        """[V, K] tokens of each word and [K] rows in clusters of a sample, the largest first."""
        corpus, weight, K = self.corpus, self.weight, self.K
        has_words = np.diff(corpus.indptr) > 0
        rows = np.flatnonzero(has_words if weight is None else has_words & (weight > 0))
        if len(rows) == 0:
            rows = np.arange(min(len(corpus), 1))
        elif len(rows) > (size := max(int(ENTRIES / (corpus.nnz / len(rows))), ROWS_PER_CLUSTER * K)):
            rows = np.sort(rng.choice(rows, size, replace=False))
        w = np.ones(len(rows)) if weight is None or not weight[rows].any() else weight[rows] / weight[rows].mean()
        shard = Shard.of(corpus[rows], w)
        n_rows = float(len(corpus)) if weight is None else float(weight.sum())
        chain = shard, K, (self.eta, self.eta * corpus.shape[1], self.weight_prior), int(rng.integers(2**31))
        if how == "random":
            z = swept(rng.integers(K, size=(1, len(rows)), dtype=np.int32), range(SWEEPS_FROM_RANDOM), *chain)
        else:
            # Rows of unit length: log(1 + count) times the inverse document frequency of the word.
            rare = np.log((1.0 + shard.n_rows) / (1.0 + np.diff(shard.starts))) + 1.0
            value = np.log1p(shard.value.astype(np.float64)) * rare[shard.index]
            norm = np.sqrt(np.maximum(row_sums(shard.indptr, value * value), 1e-300))
            value = (value / np.repeat(norm, np.diff(shard.indptr))).astype(np.float32)
            n_chains = int(np.clip(CHAIN_SIZE // max(len(shard.cols) * K, 1), 1, CHAINS)) if how == "auto" else 1
            tries = np.stack([spherical_k_means(shard, value, w, K, rng) for _ in range(n_chains)])
            z = tries[0]
            if how == "auto":
                z = swept(swept(tries, range(SWEEPS), *chain)[None], range(SWEEPS, SWEEPS + MORE_SWEEPS), *chain)
        rank = np.argsort(np.argsort(-np.bincount(z, w, K), kind="stable"))
        cluster = rank[z].astype(np.int32)
        counts, N = np.zeros((corpus.shape[1], K)), np.bincount(cluster, w, K)
        scale = n_rows / max(N.sum(), 1e-300)
        counts[shard.cols] = scale * summed(shard, shard.value, cluster[:, None], K)
        return counts, N * scale


def spherical_k_means(
    shard: Shard, value: np.ndarray, weight: np.ndarray, K: int, rng: np.random.Generator
) -> np.ndarray:
    """[rows] the cluster of each row of these values. Seeds belong to their clusters, so that none is empty."""
    n, words = shard.n_rows, len(shard.cols)
    X = sp.csr_array((value, shard.index, shard.indptr), (n, words))
    some = rng.choice(n, min(n, SEEDS_FROM + SEEDS_PER_CLUSTER * K), replace=False)
    among = X[some]

    def distances(rows: np.ndarray) -> np.ndarray:
        return np.maximum(1.0 - (among @ among[rows].T.toarray()).astype(np.float64), 0.0).T

    seeds = X[some[far_apart(distances, weight[some], K, rng)[0]]]
    little = 1e-3 * float(weight.mean()) * seeds.T.toarray().astype(np.float64)
    rows, none, sums, last = (shard.indptr, shard.index, value), np.zeros(K, np.float32), little, 0.0
    for _ in range(ROUNDS):
        centres = np.ascontiguousarray(sums / np.maximum(np.linalg.norm(sums, axis=0), 1e-300), np.float32)
        cluster, _, _, cosine = _core.assign_categorical(*rows, centres, np.zeros(words), none, 1, threads())
        now = float(weight @ cosine)
        if now < (1.0 + ENOUGH) * last:
            break
        sums, last = summed(shard, value, cluster, K) + little, now
    return cluster[:, 0]


def summed(shard: Shard, value: np.ndarray, cluster: np.ndarray, K: int) -> np.ndarray:
    """[words, K] of the rows of each cluster [rows, 1]; words are those of the shard."""
    one, words = np.ones(cluster.shape, np.float32), np.arange(len(shard.cols), dtype=np.int32)
    rows = shard.starts, shard.order, shard.row_of, value
    sums = _core.sum_rows_by_word(*rows, cluster, one, shard.weight, K, threads())
    return WordStats(words, *sums).to_dense(len(words))


Priors = tuple[float, float, float]  # pseudo-counts of each word, of all words with those that no row has, of a cluster


def swept(z: np.ndarray, sweeps: range, shard: Shard, K: int, priors: Priors, seed: int) -> np.ndarray:
    """[rows] after collapsed Gibbs sampling: the clusters of the most probable of the chains that begin at z [chains,
    rows]. Random numbers depend on the numbers of the sweeps."""
    w, z, (eta, eta_total, weight_prior) = shard.weight, z.copy(), priors
    S = np.stack([summed(shard, shard.value, c[:, None], K) for c in z])
    total, N = S.sum(axis=1), np.stack([np.bincount(c, w, K).astype(np.float64) for c in z])
    data = shard.indptr, shard.index, shard.value, w, np.full(S.shape[1], eta), eta_total, weight_prior
    for sweep in sweeps:
        _core.sample_row_clusters(*data, 1.0, seed, sweep, threads(), S, total, N, z)
    return z[int(np.argmax([log_probability(*sums, priors) for sums in zip(S, N, strict=True)]))]


def log_probability(S: np.ndarray, N: np.ndarray, priors: Priors) -> float:
    """log p(x, z), up to a constant: minus c_Dir of words and of weights, Eq. (0.3). S is [words, K]."""
    eta, eta_total, weight_prior = priors
    words = _core.topic_bound("variational", S, 1.0, np.full((1, 1), eta), None, threads(), np.empty(len(N)))
    tokens = S.sum(axis=0) + eta_total
    return float(words - gammaln(tokens).sum() + gammaln(N + weight_prior).sum())
