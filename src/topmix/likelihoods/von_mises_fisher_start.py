"""Where clusters of directions start: their prior, from all of the data, and first clusters, from a sample of it.

k-means++ draws K rows far from each other under the cosine distance, the sample goes to the nearest of them, and a few
rounds of spherical k-means follow. All clusters start with one concentration, so that the first assignment is by the
cosine alone: the mean of three rows in hundreds of dimensions says nothing about how far they spread.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from topmix.data.rows import Rows
from topmix.data.vectors import VectorShard
from topmix.likelihoods.von_mises_fisher import DirectionStats, DirectionTables, VonMisesFisher
from topmix.numerics.blas import one_thread
from topmix.stats import Additive

SAMPLE = 10_000  # rows, at least, and this many for each cluster:
SAMPLE_PER_CLUSTER = 20
TRIAL, ROUNDS = 3, 10  # of spherical k-means on the sample: to compare starts, and for the one that is kept, at most
ENOUGH = 1e-5  # a round that brings rows closer to their clusters by less, relatively, is the last
MANY = 256  # clusters: from here on most visits score a row by a few candidates,
CANDIDATES, FULL_EVERY = 32, 5  # of each row, and rounds from one full scan to the next
STARTS = ("auto", "k-means++", "random_from_data")


@dataclass(slots=True)
class Sums(Additive):
    """Sums of the rows of each cluster, and how many rows they are."""

    resultant: np.ndarray  # [K, D]
    N: np.ndarray  # [K]


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
    D, begin = table.shape[1], 0
    total, sums = 0.0, np.zeros(D)
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


def start(
    model: VonMisesFisher, table: Rows, weight: np.ndarray | None, init: str, rng: np.random.Generator
) -> VonMisesFisher:
    """First clusters, by one of STARTS, from statistics that come to as many rows as there are.

    k-means++ finds groups that stand apart, and where there are none it finds the tails; random rows follow the
    density. "auto" tries both and keeps the one whose rows are closer to their clusters.
    """
    K = len(model.N)
    usable = np.arange(len(table)) if weight is None else np.flatnonzero(weight > 0)
    size = min(len(usable), max(SAMPLE, SAMPLE_PER_CLUSTER * K))
    rows = np.sort(rng.choice(usable, size, replace=False))
    w = np.ones(size) if weight is None else weight[rows]
    x = np.ascontiguousarray(table.data[rows])
    n_rows = float(len(table)) if weight is None else float(weight.sum())

    tries, seeds_of = [], []
    for how in ("k-means++", "random_from_data") if init == "auto" else (init,):
        if how == "k-means++":
            seeds = spread_rows(x, w, K, rng)
        else:
            seeds = rng.choice(len(x), K, replace=bool(np.count_nonzero(w) < K), p=w / w.sum())
        seeds_of.append(x[seeds])
        tries.append(spherical_k_means(x, w, x[seeds], x[seeds], TRIAL))
    best = int(np.argmax([cohesion(S) for S in tries]))
    S = spherical_k_means(x, w, seeds_of[best], unit(tries[best].resultant), ROUNDS)
    common = common_resultant(S, w)
    N = S.N * (n_rows / S.N.sum())
    alike = DirectionStats(N[:, None] * common * unit(S.resultant))
    return replace(model, prior_resultant=common).update(alike, N)


def given(model: VonMisesFisher, r: np.ndarray, table: Rows, weight: np.ndarray | None) -> VonMisesFisher:
    """Clusters as the update of responsibilities [N, K]."""
    S = Sums(np.zeros((r.shape[1], table.shape[1])), np.zeros(r.shape[1]))
    begin = 0
    with one_thread():
        for block in table.blocks():
            rows = slice(begin, begin + len(block))
            share = r[rows] if weight is None else weight[rows, None] * r[rows]
            S.add(Sums(share.T @ np.ascontiguousarray(block), share.sum(axis=0)))
            begin += len(block)
    return replace(model, prior_resultant=common_resultant(S, weight)).update(DirectionStats(S.resultant), S.N)


def spherical_k_means(x: np.ndarray, weight: np.ndarray, seeds: np.ndarray, mu: np.ndarray, n_rounds: int) -> Sums:
    """Sums of the rows of each cluster after some rounds from mu [K, D]. A seed belongs to its own cluster, with little
    weight, so that none is empty."""
    K, S, last = len(mu), None, 0.0
    shard, little = VectorShard(x, slice(None), weight), 1e-3 * weight.sum() / len(weight)
    among: np.ndarray | None = None  # candidates [rows, CANDIDATES]
    best = np.zeros(len(x), np.int32)
    for i in range(n_rounds):
        args = (shard, DirectionTables(np.ascontiguousarray(mu, x.dtype), np.zeros(K)), np.zeros(K))
        if K < MANY:
            sums, N, _ = VonMisesFisher.visit(*args, 1)
        else:
            if among is None or i % FULL_EVERY == 0:
                among = VonMisesFisher.assign(*args, CANDIDATES).cluster
            a = VonMisesFisher.assign_among(*args, 1, best, among)
            best = a.cluster[:, 0].copy()
            sums, N = VonMisesFisher.summarise(shard, a, K), np.bincount(best, weight, minlength=K)
        S = Sums(sums.resultant, N)
        S.add(Sums(little * seeds.astype(np.float64), np.full(K, little)))
        now, mu = cohesion(S), unit(S.resultant)
        if now < (1.0 + ENOUGH) * last:
            break
        last = now
    assert S is not None
    return S


def cohesion(S: Sums) -> float:
    """The summed cosine of rows with the mean direction of their cluster."""
    return float(np.linalg.norm(S.resultant, axis=1).sum())


def unit(R: np.ndarray) -> np.ndarray:
    return R / np.maximum(np.linalg.norm(R, axis=1), 1e-300)[:, None]


def common_resultant(S: Sums, weight: np.ndarray | None) -> float:
    """How long the mean of a cluster's rows is, on average: the root of the mean of x'y over pairs of different rows of
    a cluster, which few rows do not overstate."""
    size = 1.0 if weight is None else float(np.square(weight).sum() / weight.sum())  # of a typical row
    n = S.N / size
    some = n > 1.5
    if not some.any():
        return 0.5
    alike = np.square(np.linalg.norm(S.resultant[some], axis=1) / size).sum() - n[some].sum()
    return float(np.sqrt(np.clip(alike / (n[some] * (n[some] - 1.0)).sum(), 0.0, 1.0)))


def spread_rows(x: np.ndarray, weight: np.ndarray, K: int, rng: np.random.Generator) -> np.ndarray:
    """K rows far from each other, by k-means++ under 1 - cos. Rows repeat where there are fewer than clusters.

    The first few are drawn one by one, each the best of some, as in scikit-learn; once there are dozens, an eighth as
    many again at once, so that the work is products of matrices.
    """
    n_tries = 2 + int(np.log(K))
    chosen = [int(rng.choice(len(x), p=weight / weight.sum()))]
    nearest = _distances(x, x[chosen])[0]
    while len(chosen) < K:
        nearest[chosen] = 0.0
        mass = np.cumsum(nearest * weight, dtype=np.float64)
        if not mass[-1] > 0:  # no other rows are left
            chosen += rng.integers(len(x), size=K - len(chosen)).tolist()
            break
        together = min(max(1, len(chosen) // 8), K - len(chosen))
        at = np.searchsorted(mass, rng.random(n_tries if together == 1 else together) * mass[-1], side="right")
        at = at.clip(0, len(x) - 1) if together == 1 else np.unique(at.clip(0, len(x) - 1))
        new = _distances(x, x[at])
        if together == 1:
            best = int(np.argmin(np.minimum(new, nearest) @ weight))
            at, new = at[best : best + 1], new[best : best + 1]
        chosen += at.tolist()
        np.minimum(nearest, new.min(axis=0), out=nearest)
    return np.array(chosen)


def _distances(x: np.ndarray, seeds: np.ndarray) -> np.ndarray:
    """[seeds, rows]"""
    with one_thread():
        dot = seeds @ x.T
    return np.maximum(1.0 - dot, 0.0, out=dot)
