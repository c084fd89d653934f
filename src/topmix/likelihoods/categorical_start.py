"""Where clusters of bags of words start, from a sample of the rows.

A row of counts cannot leave its cluster once others of its kind are there too: from a poor start every learner stays
where it is. So rows of the sample are divided by spherical k-means on damped counts (logarithms times inverse document
frequencies), and then sampled: they go from cluster to cluster, one by one, with the words and the weights of clusters
integrated out (cpp/chains/row_clusters.hpp). Several chains begin, and the most probable one goes on.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import scipy.sparse as sp
from scipy.special import gammaln

from topmix import _core
from topmix.data.corpus import Corpus
from topmix.data.shard import Shard, row_sums
from topmix.numerics.threads import threads
from topmix.stats import WordStats, WordTotal

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
STARTS = ("auto", "k-means++", "random", "documents")  # the last is `Categorical.start`


class FirstClusters(NamedTuple):
    total: WordTotal  # tokens of each word
    N: np.ndarray  # [K] rows


class Damped(NamedTuple):
    """Rows of unit length: log(1 + count) times the inverse document frequency of the word."""

    shard: Shard
    value: np.ndarray  # [entries] float32
    weight: np.ndarray  # [rows]

    @classmethod
    def of(cls, shard: Shard, weight: np.ndarray) -> Damped:
        n, rare = shard.n_rows, np.log((1.0 + shard.n_rows) / (1.0 + np.diff(shard.starts))) + 1.0
        value = np.log1p(shard.value.astype(np.float64)) * rare[shard.index]
        norm = np.sqrt(np.maximum(row_sums(shard.indptr, value * value), 1e-300))
        return cls(shard, (value / np.repeat(norm, np.diff(shard.indptr))).astype(np.float32), weight[:n])

    def rows(self, some: np.ndarray) -> sp.csr_array:
        shape = self.shard.n_rows, len(self.shard.cols)
        return sp.csr_array((self.value, self.shard.index, self.shard.indptr), shape)[some]

    def nearest(self, centres: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """[rows, 1] the nearest of the centres [words, K], and [rows] the cosine."""
        words, K = centres.shape
        cluster, _, _, cosine = _core.assign_categorical(
            self.shard.indptr, self.shard.index, self.value, np.ascontiguousarray(centres, np.float32),
            np.zeros(words), np.zeros(K, np.float32), 1, threads(),
        )  # fmt: skip
        return cluster, cosine

    def sums(self, cluster: np.ndarray, K: int) -> np.ndarray:
        """[words, K] of the rows of each cluster."""
        return summed(self.shard, self.value, cluster, K)


def start(
    corpus: Corpus,
    weight: np.ndarray | None,
    K: int,
    init: str,
    prior: float,
    weight_prior: float,
    rng: np.random.Generator,
) -> FirstClusters:
    """First clusters by one of STARTS, the largest first, from statistics that come to as many rows as there are."""
    rows = sample(corpus, weight, K, rng)
    w = np.ones(len(rows)) if weight is None else weight[rows] / max(float(weight[rows].mean()), 1e-300)
    shard = Shard.of(corpus[rows], w)
    n_rows = float(len(corpus)) if weight is None else float(weight.sum())
    chains = Chains(shard, K, prior, prior * corpus.shape[1], weight_prior, int(rng.integers(2**31)))
    if init == "random":
        z = chains.swept(rng.integers(K, size=(1, len(rows)), dtype=np.int32), SWEEPS_FROM_RANDOM)
    else:
        damped = Damped.of(shard, w)
        n_chains = int(np.clip(CHAIN_SIZE // max(len(shard.cols) * K, 1), 1, CHAINS)) if init == "auto" else 1
        tries = np.stack([spherical_k_means(damped, K, rng) for _ in range(n_chains)])
        z = tries[0]
        if init == "auto":
            z = chains.swept(chains.swept(tries, SWEEPS)[None], MORE_SWEEPS, first=SWEEPS)
    rank = np.argsort(np.argsort(-np.bincount(z, w, K), kind="stable"))
    cluster = rank[z].astype(np.int32)
    S, N = np.zeros((corpus.shape[1], K)), np.bincount(cluster, w, K)
    size = n_rows / max(N.sum(), 1e-300)
    S[shard.cols] = size * summed(shard, shard.value, cluster[:, None], K)
    return FirstClusters(WordTotal.of(S), N * size)


def given(corpus: Corpus, weight: np.ndarray | None, r: np.ndarray) -> FirstClusters:
    """Clusters as the update of responsibilities [N, K]."""
    r = r if weight is None else weight[:, None] * r
    return FirstClusters(WordTotal.of(np.ascontiguousarray(corpus.to_scipy().T @ r, np.float64)), r.sum(axis=0))


def sample(corpus: Corpus, weight: np.ndarray | None, K: int, rng: np.random.Generator) -> np.ndarray:
    """Rows with words, ascending: as many as have about ENTRIES, and some for each cluster."""
    usable = np.diff(corpus.indptr) > 0
    if weight is not None:
        usable &= weight > 0
    rows = np.flatnonzero(usable)
    if len(rows) == 0:
        return np.arange(min(len(corpus), 1))
    size = max(int(ENTRIES / (corpus.nnz / len(rows))), ROWS_PER_CLUSTER * K)
    return rows if len(rows) <= size else np.sort(rng.choice(rows, size, replace=False))


def summed(shard: Shard, value: np.ndarray, cluster: np.ndarray, K: int) -> np.ndarray:
    """[words, K] of the rows of each cluster [rows, 1]; words are those of the shard."""
    one, words = np.ones(cluster.shape, np.float32), np.arange(len(shard.cols), dtype=np.int32)
    rows = shard.starts, shard.order, shard.row_of, value
    return WordStats(words, *_core.sum_rows_by_word(*rows, cluster, one, shard.weight, K, threads())).to_dense(
        len(words)
    )


def spherical_k_means(x: Damped, K: int, rng: np.random.Generator) -> np.ndarray:
    """[rows] the cluster of each. A seed belongs to its own cluster, with little weight, so that none is empty."""
    n = x.shard.n_rows
    some = rng.choice(n, min(n, SEEDS_FROM + SEEDS_PER_CLUSTER * K), replace=False)
    seeds = x.rows(some[spread_rows(x.rows(some), x.weight[some], K, rng)])
    little = 1e-3 * float(x.weight.mean()) * seeds.T.toarray().astype(np.float64)
    sums, last = little, 0.0
    for _ in range(ROUNDS):
        centres = sums / np.maximum(np.linalg.norm(sums, axis=0), 1e-300)
        cluster, cosine = x.nearest(centres)
        now = float(x.weight @ cosine)
        if now < (1.0 + ENOUGH) * last:
            break
        sums, last = x.sums(cluster, K) + little, now
    return cluster[:, 0]


def spread_rows(x: sp.csr_array, weight: np.ndarray, K: int, rng: np.random.Generator) -> np.ndarray:
    """K rows far from each other, by k-means++ under 1 - cos; each is the best of a few, as in scikit-learn. Rows
    repeat where there are fewer than clusters."""
    n = x.shape[0]
    n_tries = 2 + int(np.log(K))
    chosen = [int(rng.choice(n, p=weight / weight.sum()))]
    nearest = _distances(x, chosen)[:, 0]
    while len(chosen) < K:
        nearest[chosen[-1]] = 0.0
        mass = np.cumsum(nearest * weight)
        if not mass[-1] > 0:  # no other rows are left
            chosen += rng.integers(n, size=K - len(chosen)).tolist()
            break
        at = np.searchsorted(mass, rng.random(n_tries) * mass[-1], side="right").clip(0, n - 1)
        new = np.minimum(_distances(x, at), nearest[:, None])
        best = int(np.argmin(weight @ new))
        chosen.append(int(at[best]))
        nearest = new[:, best]
    return np.array(chosen)


def _distances(x: sp.csr_array, of: list[int] | np.ndarray) -> np.ndarray:  # [rows, of]
    return np.maximum(1.0 - (x @ x[of].T.toarray()).astype(np.float64), 0.0)


class Chains(NamedTuple):
    """Collapsed Gibbs sampling of the clusters of rows."""

    shard: Shard
    K: int
    prior: float  # eta, of each word
    prior_total: float  # of all words, also those that no row has
    weight_prior: float
    seed: int

    def swept(self, z: np.ndarray, sweeps: int, first: int = 0) -> np.ndarray:
        """[rows] after so many sweeps: the clusters of the most probable of the chains that begin at z [chains, rows].
        `first` is the number of the first sweep, which random numbers depend on."""
        rows, w, z = self.shard, self.shard.weight, z.copy()
        S = np.stack([summed(rows, rows.value, c[:, None], self.K) for c in z])
        total, N = S.sum(axis=1), np.stack([np.bincount(c, w, self.K).astype(np.float64) for c in z])
        eta = np.full(S.shape[1], self.prior)
        for sweep in range(first, first + sweeps):
            _core.sample_row_clusters(
                rows.indptr, rows.index, rows.value, w, eta, self.prior_total, self.weight_prior, 1.0, self.seed, sweep,
                threads(), S, total, N, z,
            )  # fmt: skip
        return z[int(np.argmax([self.log_probability(*sums) for sums in zip(S, N, strict=True)]))]

    def log_probability(self, S: np.ndarray, N: np.ndarray) -> float:
        """log p(x, z), up to a constant: minus c_Dir of words and of weights, Eq. (0.3). S is [words, K]."""
        norm, eta = np.empty(self.K), np.full((1, 1), self.prior)
        words = _core.topic_bound("variational", S, 1.0, eta, None, threads(), norm)
        tokens = S.sum(axis=0) + self.prior_total
        return float(words - gammaln(tokens).sum() + gammaln(N + self.weight_prior).sum())
