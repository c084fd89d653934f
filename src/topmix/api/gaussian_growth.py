"""First Gaussian clusters by passes over a sample: some passes from a start, and growth.

Growth goes from one cluster to K, each time twice as many, with a few passes in between.

A pass over few rows with few clusters costs next to nothing, and the sample grows with the clusters. So the clusters
have seen many passes when the first pass over all of the data begins. And few clusters find the large differences in
the data, which many clusters that start at rows cannot agree on.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import closing, suppress
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from topmix.allocations.allocation import Allocation
from topmix.data.rows import Rows
from topmix.data.shard import Shards, at_random
from topmix.data.vectors import VectorShard
from topmix.engines import Threads
from topmix.learners import Memoized, State
from topmix.likelihoods.covariance import SingularCovariance
from topmix.likelihoods.gaussian import Gaussian, GaussianAssignment, GaussianStats
from topmix.likelihoods.gaussian_start import DENSE_SAMPLE, divided, whole
from topmix.local.mixture import MixtureStep
from topmix.models.mixture import Mixture
from topmix.numerics.threads import threads

PASSES, LAST_PASSES = 3, 2  # after each division, and after the last one, which passes over all of the data follow
SETTLING_PASSES, TRIAL_PASSES = 5, 1  # from a start that has seen none; the latter with many clusters
JUDGES = 4_000  # rows of the sample that say how good a trial is
BATCHES = 3  # of each pass
LEAST_ROWS = 2_000  # of a sample, and for each cluster this many, or so many for each column of its matrix:
ROWS_PER_CLUSTER = 100
ROWS_PER_COLUMN = 12
LEAST_SHARE = 0.01  # of its rows after the last division; a cluster with fewer is empty


def sizes(K: int) -> list[int]:
    """1, 2, ..., K: each is half of the next, rounded up, so that nearly all clusters are divided each time. A choice
    among them would prefer some kind of cluster again and again."""
    return [*sizes(-(-K // 2)), K] if K > 1 else [1]


def grown(
    prepared: Gaussian,
    allocation: Callable[[int], Allocation],
    table: Rows,
    weight: np.ndarray | None,
    n_active: int,
    rng: np.random.Generator,
) -> Gaussian:
    """K clusters, from statistics that come to as many rows as there are."""
    (K, D), each = prepared.total.first.shape, rows_per_cluster(prepared)
    x, w = sampled(prepared, table, weight, rng)
    model = Mixture(allocation(1), whole(prepared, x, w), D, 1)
    S = model.likelihood.total.copy()
    for k in sizes(K)[1:]:
        n = min(len(x), max(LEAST_ROWS, each * k))
        sample, of_rows = Rows(x[:n], check=False), None if w is None else w[:n]
        S = _divided(model, VectorShard(sample.data, slice(0, n), of_rows), k)
        model = Mixture(allocation(k).update(S.N), prepared.update(S, S.N), D, k)
        shards = Shards(sample, at_random(sample, BATCHES, rng), of_rows)
        model = _learned(model, shards, min(n_active, k), LAST_PASSES if k == K else PASSES)
        learned = model.likelihood.total
        S = _without_empty(learned.copy(), S)
        if (S.N != learned.N).any():
            model = Mixture(allocation(k).update(S.N), prepared.update(S, S.N), D, k)
    S.scale((float(len(table)) if weight is None else float(weight.sum())) / S.N.sum())
    return prepared.update(S, S.N)


def _without_empty(S: GaussianStats, before: GaussianStats) -> GaussianStats:
    """A cluster that lost its rows in the passes is again as it was divided: an empty one might never get any."""
    lost = S.N < LEAST_SHARE * before.N
    for now, then in ((S.N, before.N), (S.first, before.first), (S.second, before.second)):
        now[lost] = then[lost]
    return S


def _divided(model: Mixture, shard: VectorShard, K: int) -> GaussianStats:
    tables = model.tables(shard.cols)
    a = Gaussian.assign(shard, tables.likelihood, tables.log_weights, 1)
    assert isinstance(model.likelihood, Gaussian)
    return divided(model.likelihood, a.z, shard.weight, a.cluster[:, 0], K)


class Settled(NamedTuple):
    model: Gaussian
    two: GaussianAssignment  # of the rows of the sample, or of the first of them, with their two best clusters

    def likelihood(self, w: np.ndarray | None) -> float:
        of_rows = self.two.likelihood
        return float(np.average(of_rows, weights=None if w is None else w[: len(of_rows)]))

    def gain(self, w: np.ndarray | None) -> float:
        """Of a row, over one cluster for all; not negative."""
        return max(self.likelihood(w) - self.model.of_all_rows(), 0.0)


def settled(
    first: Gaussian,
    allocation: Callable[[int], Allocation],
    x: np.ndarray,
    w: np.ndarray | None,
    n_active: int,
    rng: np.random.Generator,
    n_passes: int = SETTLING_PASSES,
    n_judges: int = 1 << 62,
) -> Settled:
    """Clusters after a few passes over rows in a random order, from statistics that come to as many rows as before."""
    K, D = first.total.first.shape
    sample, n_rows, of_sample = Rows(x, check=False), first.total.N.sum(), float(len(x) if w is None else w.sum())
    shards = Shards(sample, at_random(sample, max(1, min(BATCHES, len(x) // LEAST_ROWS)), rng), w)
    total = first.total.copy().scale(of_sample / n_rows)
    model = Mixture(allocation(K).update(total.N), replace(first, n_candidates=0).update(total, total.N), D, K)
    with suppress(SingularCovariance):  # of a part of the sample; then the clusters of the start will do
        model = _learned(model, shards, n_active, n_passes)
    tables = model.tables(np.zeros(0, np.int64))
    judges = VectorShard(x, slice(0, min(n_judges, len(x))), None)
    two = Gaussian.assign(judges, tables.likelihood, tables.log_weights, min(2, K))
    total = model.likelihood.total.copy().scale(n_rows / of_sample)
    return Settled(replace(first, total=total).update(total, total.N), two)


def sampled(
    model: Gaussian, table: Rows, weight: np.ndarray | None, rng: np.random.Generator, at_most: int = 1 << 62
) -> tuple[np.ndarray, np.ndarray | None]:
    """Rows in a random order, enough for all clusters, and their weights."""
    K, D = model.total.first.shape
    each = rows_per_cluster(model)
    usable = np.arange(len(table)) if weight is None else np.flatnonzero(weight > 0)
    size = min(len(usable), at_most, max(LEAST_ROWS, each * K), max(2 * K, DENSE_SAMPLE // D))
    rows, order = np.sort(rng.choice(usable, size, replace=False)), rng.permutation(size)
    return np.ascontiguousarray(table.data[rows])[order], None if weight is None else weight[rows][order]


def rows_per_cluster(model: Gaussian) -> int:
    return max(ROWS_PER_CLUSTER, ROWS_PER_COLUMN * model.shape.D if model.shape.name == "full" else 0)


def _learned(model: Mixture, shards: Shards, n_active: int, n: int) -> Mixture:
    """After some passes over the sample."""
    with closing(Threads().open(shards, MixtureStep(Gaussian, n_active), threads())) as workers:
        passes = Memoized().passes(model, workers, State(pseudo_counts=model.as_stats()))
        with closing(passes):
            for _ in range(n):
                model = next(passes).model
    return model
