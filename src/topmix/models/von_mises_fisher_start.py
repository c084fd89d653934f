"""Where clusters of directions start: their prior, from all of the data, and first clusters, from a sample of it.

k-means++ draws K rows far from each other under the cosine distance, the sample goes to the nearest of them, and a few
rounds of spherical k-means follow. All clusters start with one concentration, so that the first assignment is by the
cosine alone: the mean of three rows in hundreds of dimensions says nothing about how far they spread.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from topmix.base.component import Json
from topmix.base.threads import one_thread
from topmix.corpus.rows import Rows
from topmix.corpus.shard import VectorShard
from topmix.models.k_means import far_apart, sample_of
from topmix.models.von_mises_fisher import DirectionStats, DirectionTables, VonMisesFisher

SAMPLE = 10_000  # rows, at least, and this many for each cluster:
SAMPLE_PER_CLUSTER = 20
TRIAL, ROUNDS = 3, 10  # of spherical k-means on the sample: to compare starts, and for the one that is kept, at most
ENOUGH = 1e-5  # a round that brings rows closer to their clusters by less, relatively, is the last
MANY = 256  # clusters: from here on most visits score a row by a few candidates,
CANDIDATES, FULL_EVERY = 32, 5  # of each row, and rounds from one full scan to the next
STARTS = ("auto", "k-means++", "random_from_data")


def empty(
    table: Rows,
    weight: np.ndarray | None,
    K: int,
    *,
    objective: str = "map",
    prior_rows: float = 1.0,
    max_concentration: float = 1e6,
    concentration_type: str = "free",
) -> VonMisesFisher:
    """No clusters yet. Pseudo-rows are spread like all of the data, until `start` knows better."""
    D, begin, total = table.shape[1], 0, 0.0
    sums = np.zeros(D)
    with one_thread():
        for block in table.blocks():
            w = np.ones(len(block)) if weight is None else weight[begin : begin + len(block)]
            sums += w.astype(block.dtype) @ np.ascontiguousarray(block)
            total += float(w.sum())
            begin += len(block)
    mean = sums / max(total, 1e-300)
    spread = min(float(np.linalg.norm(mean)), 1.0)  # rounding may leave more than one
    none, dtype = DirectionStats(np.zeros((K, D))), str(table.data.dtype)
    prior = (objective, prior_rows, spread, mean, max_concentration)
    return VonMisesFisher(*prior, dtype, none, np.zeros(K), concentration_type)


@dataclass
class DirectionStart:
    """First clusters of directions."""

    data: Rows
    weight: np.ndarray | None
    K: int
    settings: Json  # what `empty` takes
    how: str | np.ndarray  # one of STARTS, or responsibilities [N, K]

    @cached_property
    def empty(self) -> VonMisesFisher:
        """Clusters at their prior."""
        return empty(self.data, self.weight, self.K, **self.settings)

    def first(self, rng: np.random.Generator) -> tuple[VonMisesFisher, np.ndarray]:
        if isinstance(self.how, str):
            model = start(self.empty, self.data, self.weight, self.how, rng)
            return model, model.N
        total = self.empty.of_rows(self.data, self.how, self.weight)
        N = self.how.sum(axis=0) if self.weight is None else self.weight @ self.how
        common = common_resultant(total.resultant, N, self.weight)
        return replace(self.empty, prior_resultant=common).update(total, N), N


def start(
    model: VonMisesFisher, table: Rows, weight: np.ndarray | None, init: str, rng: np.random.Generator
) -> VonMisesFisher:
    """First clusters, by one of STARTS, from statistics that come to as many rows as there are. "auto" tries k-means++,
    which finds the tails where no groups stand apart, and random rows, and keeps the one whose rows are closer."""
    K = len(model.N)
    rows = sample_of(len(table), weight, max(SAMPLE, SAMPLE_PER_CLUSTER * K), rng)
    w = np.ones(len(rows)) if weight is None else weight[rows]
    x = np.ascontiguousarray(table.data[rows])
    n_rows = float(len(table)) if weight is None else float(weight.sum())

    tries = []
    for how in ("k-means++", "random_from_data") if init == "auto" else (init,):
        if how == "k-means++":
            seeds = x[spread_rows(x, w, K, rng)]
        else:
            seeds = x[rng.choice(len(x), K, replace=bool(np.count_nonzero(w) < K), p=w / w.sum())]
        tries.append((seeds, spherical_k_means(x, w, seeds, seeds, TRIAL)[0]))
    seeds, R = max(tries, key=lambda found: cohesion(found[1]))
    R, N = spherical_k_means(x, w, seeds, unit(R), ROUNDS)
    common = common_resultant(R, N, w)
    N = N * (n_rows / N.sum())
    alike = DirectionStats(N[:, None] * common * unit(R))
    return replace(model, prior_resultant=common).update(alike, N)


def spherical_k_means(
    x: np.ndarray, weight: np.ndarray, seeds: np.ndarray, mu: np.ndarray, n_rounds: int
) -> tuple[np.ndarray, np.ndarray]:
    """[K, D] sums of the rows of each cluster, and [K] how many they are, after some rounds from mu [K, D]. A seed
    belongs to its own cluster, with little weight, so that none is empty."""
    K, last = len(mu), 0.0
    shard, little = VectorShard(x, slice(None), weight), 1e-3 * weight.sum() / len(weight)
    among: np.ndarray | None = None  # candidates [rows, CANDIDATES]
    best = np.zeros(len(x), np.int32)
    for i in range(n_rounds):
        args = (shard, DirectionTables(np.ascontiguousarray(mu, x.dtype), np.zeros(K)), np.zeros(K))
        if K < MANY and VonMisesFisher.reads_once(args[1]):
            sums, N, _ = VonMisesFisher.visit(*args, 1)
        else:
            if K >= MANY and (among is None or i % FULL_EVERY == 0):
                among = VonMisesFisher.assign(*args, CANDIDATES).cluster
            a = VonMisesFisher.assign(*args, 1, None if among is None else (best, among))
            best = a.cluster[:, 0].copy()
            sums, N = VonMisesFisher.summarise(shard, a, K), np.bincount(best, weight, minlength=K)
        R, N = sums.resultant + little * seeds.astype(np.float64), N + little
        now, mu = cohesion(R), unit(R)
        if now < (1.0 + ENOUGH) * last:
            break
        last = now
    return R, N


def cohesion(R: np.ndarray) -> float:
    """The summed cosine of rows with the mean direction of their cluster."""
    return float(np.linalg.norm(R, axis=1).sum())


def unit(R: np.ndarray) -> np.ndarray:
    return R / np.maximum(np.linalg.norm(R, axis=1), 1e-300)[:, None]


def common_resultant(R: np.ndarray, N: np.ndarray, weight: np.ndarray | None) -> float:
    """How long the mean of a cluster's rows is, on average: the root of the mean of x'y over pairs of different rows of
    a cluster, which few rows do not overstate."""
    size = 1.0 if weight is None else float(np.square(weight).sum() / weight.sum())  # of a typical row
    n = N / size
    some = n > 1.5
    if not some.any():
        return 0.5
    alike = np.square(np.linalg.norm(R[some], axis=1) / size).sum() - n[some].sum()
    return float(np.sqrt(np.clip(alike / (n[some] * (n[some] - 1.0)).sum(), 0.0, 1.0)))


def spread_rows(x: np.ndarray, weight: np.ndarray, K: int, rng: np.random.Generator) -> np.ndarray:
    """K rows far from each other, by k-means++ under 1 - cos."""

    def distances(rows: np.ndarray) -> np.ndarray:
        with one_thread():
            dot = x[rows] @ x.T
        return np.maximum(1.0 - dot, 0.0, out=dot)

    return far_apart(distances, weight, K, rng, several=True)[0]
