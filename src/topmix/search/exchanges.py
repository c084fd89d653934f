"""Clusters exchanged: where a fit has two clusters in one and one in two, the former are parted, the latter joined.

Passes alone do neither: a cluster would have to cross others. A trial divides one cluster and merges two others, so
that their number stays; it is kept where the objective is higher after a few passes. Ueda and others (2000, SMEM) do
the same with other scores for what to try first.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import closing, suppress
from typing import NamedTuple

import numpy as np

from topmix.data.rows import Rows
from topmix.data.shard import Shards
from topmix.data.vectors import VectorShard
from topmix.engines import Threads
from topmix.learners import Batch, State
from topmix.likelihoods.covariance import SingularCovariance
from topmix.local.mixture import MixtureStep
from topmix.models.mixture import Mixture
from topmix.numerics.threads import threads
from topmix.stats import MixtureStats

SAMPLE, EACH = 4_000, 200  # rows of a sample, and for each cluster this many
DIVIDED, JOINED, SMALL = 4, 4, 2  # clusters to divide, pairs to merge, and small clusters to merge, that are looked at
TRIALS = 6  # one after another, without success
MOST_PASSES = 1.5  # of all trials, for each pass of the fit
TRIAL_PASSES = 4  # a good one is better by then
ROUNDS, PASSES = 4, 6  # of two-means, and of a mixture of two
LEAST_ROWS = 10  # of a cluster that is divided

Halves = Callable[[Rows, np.ndarray], MixtureStats]  # statistics of rows with responsibilities [rows, 2]


class Halved(NamedTuple):
    """A cluster in two."""

    cluster: int
    gain: float  # nats, of all of its rows
    stats: MixtureStats  # of the two, from some of its rows
    scale: float  # what makes them as large as the cluster


def trials(model: Mixture, rows: Rows, r: np.ndarray, halves: Halves, least_gain: float) -> Iterator[Mixture]:
    """Mixtures with one cluster divided and two others merged, the most promising first. `r` [rows, K] are
    probabilities of the clusters of some rows. Two clusters must make the rows of one more likely by `least_gain`."""
    K, near = model.n_components, likeness(r)
    pairs = [(int(at // K), int(at % K)) for at in np.argsort(-near, axis=None, kind="stable")[:JOINED]]
    for k in np.argsort(r.sum(axis=0), kind="stable")[:SMALL].tolist():
        other = int((near + near.T)[k].argmax())
        pairs += [(min(k, other), max(k, other))]
    cut = in_two(model, rows, r, halves, least_gain)[:DIVIDED]
    for _, a, b in sorted((a + b, a, b) for a in range(len(cut)) for b in range(len(pairs))):
        (k, _, halved, scale), (i, j) = cut[a], pairs[b]
        if i == j or k in (i, j) or (i, j) in pairs[:b]:
            continue
        parts, places = np.eye(K), np.zeros((K, 2))
        parts[i, j], parts[j, j], parts[k, k] = 1.0, 0.0, 0.0
        places[k, 0] = places[j, 1] = scale
        yield model.regrouped(parts, (places, halved))


def likeness(r: np.ndarray) -> np.ndarray:
    """[K, K] above the diagonal: how much two clusters have the same rows, from 0 to 1."""
    both = r.T @ r
    norm = np.sqrt(np.maximum(np.diag(both), 1e-300))
    return np.asarray(np.triu(both / norm / norm[:, None], 1))


def in_two(model: Mixture, rows: Rows, r: np.ndarray, halves: Halves, least_gain: float) -> list[Halved]:
    """The clusters that two would make more likely by more than that, the most promising first."""
    main, N = r.argmax(axis=1), np.maximum(model.as_stats().N, 0.0)
    found = []
    for k in range(model.n_components):
        born = divided(model, Rows(rows.data[np.flatnonzero(main == k)], check=False), halves)
        if born is not None and born[0] * (scale := N[k] / max(float(born[1].N.sum()), 1e-300)) > least_gain:
            found.append(Halved(k, born[0] * scale, born[1], scale))
    return sorted(found, key=lambda one: (-one.gain, one.cluster))


def divided(model: Mixture, rows: Rows, halves: Halves) -> tuple[float, MixtureStats] | None:
    """By how much two clusters make these rows more likely than one, and the statistics of the two; None where they
    are too few."""
    if len(rows) < LEAST_ROWS:
        return None
    born = halves(rows, np.eye(2)[two_means(np.asarray(rows.data, np.float64))])
    if born.N.min() < 2:
        return None
    none = np.zeros((2, model.n_components))
    one = model.regrouped(none[:1], (np.ones((1, 2)), born))
    two = _learned(model.regrouped(none, (np.eye(2), born)), rows)
    if two is None or two.as_stats().N.min() < 2:
        return None
    return float(np.sum(_likelihood(two, rows) - _likelihood(one, rows))), two.as_stats()


def two_means(x: np.ndarray) -> np.ndarray:
    """[rows] 0 or 1: two-means from the two sides of the first principal direction."""
    centred = x - x.mean(axis=0)
    side = (centred @ np.linalg.eigh(centred.T @ centred)[1][:, -1] > 0).astype(np.intp)
    for _ in range(ROUNDS):
        if not 0 < side.sum() < len(side):
            break
        means = [x[side == s].mean(axis=0) for s in (0, 1)]
        side = (((x - means[1]) ** 2).sum(axis=1) < ((x - means[0]) ** 2).sum(axis=1)).astype(np.intp)
    return side


def _likelihood(model: Mixture, rows: Rows) -> np.ndarray:
    """[rows] of each."""
    tables = model.tables(np.zeros(0, np.int64))
    shard = VectorShard(rows.data, slice(0, len(rows)), None)
    found = type(model.likelihood).assign(shard, tables.likelihood, tables.log_weights, model.n_components)
    return np.asarray(found.likelihood)


def _learned(model: Mixture, rows: Rows) -> Mixture | None:
    """After some passes; None where a cluster is left with too few rows for its covariance."""
    shards, step = Shards(rows, [slice(0, len(rows))]), MixtureStep(type(model.likelihood), model.n_components)
    with suppress(SingularCovariance), closing(Threads().open(shards, step, threads())) as workers:
        passes = Batch().passes(model, workers, State(pseudo_counts=model.as_stats()))
        with closing(passes):
            for _ in range(PASSES):
                model = next(passes).model
            return model
    return None
