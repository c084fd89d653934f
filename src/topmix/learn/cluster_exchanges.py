"""Clusters exchanged: where a fit has two clusters in one and one in two, the former are parted, the latter joined.

Passes alone do neither: a cluster would have to cross others. A trial is kept where the objective is higher after a few
passes, as Ueda and others (2000, SMEM) do.
"""

from __future__ import annotations

import copy
from collections.abc import Iterator
from dataclasses import replace
from itertools import islice
from typing import NamedTuple

import numpy as np

from topmix import _core
from topmix.corpus.rows import GroupedRows, Rows
from topmix.corpus.shard import Shards, VectorShard
from topmix.learn.clusters import learned
from topmix.learn.fit import FitSettings, Interrupted, Problem, run, starting_from
from topmix.learn.history import Outcome
from topmix.learn.learners import Batch
from topmix.learn.topic_moves import Pair, names_of
from topmix.models.frame import SingularCovariance
from topmix.models.mixture import Admixture, Mixture
from topmix.models.statistics import MixtureStats
from topmix.steps.rows import AssignGroupsStep, GroupStep

SAMPLE, EACH = 4_000, 200  # rows of a sample, and for each cluster this many
DIVIDED, JOINED, SMALL = 4, 4, 2  # clusters to divide, pairs to merge, and small clusters to merge, that are looked at
TRIALS = 6  # one after another, without success
MOST_PASSES = 1.5  # of all trials, for each pass of the fit
TRIAL_PASSES = 4  # a good one is better by then
ROUNDS, PASSES = 4, 6  # of two-means, and of a mixture of two
LEAST_ROWS = 10  # of a cluster that is divided


class Halved(NamedTuple):
    cluster: int
    gain: float  # nats, of all of its rows
    stats: MixtureStats  # of the two, from some of its rows
    scale: float  # what makes them as large as the cluster


def exchanged(problem: Problem, found: Outcome, settings: FitSettings, seed: np.random.Generator) -> Outcome:
    """A fit of an admixture after exchanges of clusters, while they make the objective higher: which clusters are found
    is decided by the start otherwise, and that knows no groups."""
    failed, first, K, least = False, found, found.model.n_components, 1e-3 * problem.n_rows
    rng = copy.deepcopy(seed).spawn(1)[0]
    left, max_time = MOST_PASSES * len(found.history), settings.max_time
    while not failed and K >= 3:
        failed = True
        for trial in islice(_exchanges(found.model, problem, rng), TRIALS):
            if left <= 0 or (max_time is not None and settings.clock() > max_time):
                break
            left -= TRIAL_PASSES
            after = _continued(problem, trial, settings, found, seed, TRIAL_PASSES)
            if after is not None and after.objective > found.objective + least:
                found, failed = after._replace(converged=True), False
                break
    if found is first:
        return found
    rest = max(problem.max_iter - len(found.history), TRIAL_PASSES)
    return _continued(problem, found.model, settings, found, seed, rest, problem.least_gain) or found


def _exchanges(model: Admixture, problem: Problem, rng: np.random.Generator) -> Iterator[Admixture]:
    """Models with one cluster divided and two others merged, the most promising first."""
    data, K = problem.data.groups, model.n_components
    assert data is not None
    order = rng.permutation(len(data))
    n = 1 + int(np.searchsorted(np.cumsum(data.lengths()[order]), max(SAMPLE, EACH * K)))
    rows, starts = data.of_groups(np.sort(order[:n]))
    sample = Rows(np.ascontiguousarray(data.data[rows]), check=False)
    shard = Shards(GroupedRows(sample, starts), [slice(0, n)])[0]
    assign = AssignGroupsStep(type(model.likelihood), min(problem.n_active, K))
    a = assign(shard, model.tables(shard.cols), None, _core.TopicScratch()).stats
    r = np.zeros((len(sample), K))
    shares = a.r.astype(np.float64)
    np.put_along_axis(r, a.cluster.astype(np.intp), shares / shares.sum(axis=1, keepdims=True), axis=1)
    near = likeness(r)
    pairs = [(int(at // K), int(at % K)) for at in np.argsort(-near, axis=None, kind="stable")[:JOINED]]
    for k in np.argsort(r.sum(axis=0), kind="stable")[:SMALL].tolist():
        other = int((near + near.T)[k].argmax())
        pairs += [(min(k, other), max(k, other))]
    mixture = model.as_mixture()
    weight = problem.n_rows / len(data.rows)  # of a row, on average
    cut = in_two(mixture, sample, r, weight * model.n_parameters() / K)[:DIVIDED]
    for _, a, b in sorted((a + b, a, b) for a in range(len(cut)) for b in range(len(pairs))):
        (k, _, halved, scale), (i, j) = cut[a], pairs[b]
        if i == j or k in (i, j) or (i, j) in pairs[:b]:
            continue
        parts, places = np.eye(K), np.zeros((K, 2))
        parts[i, j], parts[j, j], parts[k, k] = 1.0, 0.0, 0.0
        places[k, 0] = places[j, 1] = scale
        trial = mixture.regrouped(parts, (places, halved))
        yield replace(model, likelihood=trial.likelihood, sizes=trial.sizes)


def _continued(
    problem: Problem, model: Admixture, settings: FitSettings, before: Outcome, seed: np.random.Generator, passes: int,
    least_gain: float = -1.0,
) -> Outcome | None:  # fmt: skip
    """After some passes more from a model; None where a cluster has too few rows for its covariance."""
    step = GroupStep(type(model.likelihood), problem.n_active)
    further = replace(
        problem, first=starting_from(model, model.as_stats()), step=step, max_iter=passes,
        least_gain=least_gain, is_warm=True, warm_up=0, keep=None,
    )  # fmt: skip
    quiet = replace(settings, n_init=1, max_time=None, callbacks=(), verbose=0, keeps_last=False)
    try:
        return run(further, quiet, copy.deepcopy(seed), before)
    except SingularCovariance:
        return None
    except Interrupted:
        raise Interrupted(settings.fitted(before.model, before.history), len(before.history)) from None


def likeness(r: np.ndarray) -> np.ndarray:
    """[K, K] above the diagonal: how much two clusters have the same rows, from 0 to 1."""
    both = r.T @ r
    norm = np.sqrt(np.maximum(np.diag(both), 1e-300))
    return np.asarray(np.triu(both / norm / norm[:, None], 1))


def in_two(model: Mixture, rows: Rows, r: np.ndarray, least_gain: float) -> list[Halved]:
    """The clusters whose rows two would make more likely by more than that, the most promising first. `r` [rows, K] are
    probabilities of the clusters of some rows."""
    main, N, none = r.argmax(axis=1), np.maximum(model.sizes, 0.0), np.zeros((2, model.n_components))
    halves = []
    for k in range(model.n_components):
        own = Rows(rows.data[np.flatnonzero(main == k)], check=False)
        if len(own) < LEAST_ROWS:
            continue
        side = np.eye(2)[two_means(np.asarray(own.data, np.float64))]
        born = MixtureStats(model.likelihood.of_rows(own, side), side.sum(axis=0), 0.0, 0.0)
        if born.N.min() < 2:
            continue
        one = model.regrouped(none[:1], (np.ones((1, 2)), born))
        try:
            shards = Shards(own, [slice(0, len(own))])
            two = learned(model.regrouped(none, (np.eye(2), born)), shards, 2, Batch(), PASSES)
        except SingularCovariance:  # too few rows are left in one
            continue
        if two.sizes.min() < 2:
            continue
        shard, of_rows = VectorShard(own.data, slice(0, len(own)), None), []
        for mixture in (two, one):
            tables = mixture.tables(np.zeros(0, np.int64))
            a = type(model.likelihood).assign(shard, tables.likelihood, tables.log_weights, mixture.n_components)
            of_rows.append(np.asarray(a.likelihood))
        stats = two.as_stats()
        scale = N[k] / max(float(stats.N.sum()), 1e-300)
        gain = float(np.sum(of_rows[0] - of_rows[1])) * scale
        if gain > least_gain:
            halves.append(Halved(k, gain, stats, scale))
    return sorted(halves, key=lambda one: (-one.gain, one.cluster))


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


# Moves of the search for the number of clusters.


class Regrouping(NamedTuple):
    what: str
    moved: np.ndarray  # [K, K'] what part of a cluster's rows goes where, in every group
    parts: np.ndarray  # [K', K] what the new clusters have of the statistics of the old
    born: tuple[tuple[np.ndarray, MixtureStats], ...] = ()  # the same of clusters that were divided
    warm_up: int = 0  # passes of groups that start again, from what they have in common


def merger(K: int, pairs: list[Pair]) -> Regrouping:
    """Each of these pairs as one cluster; no cluster is in two of them."""
    names = names_of(K, pairs)
    moved = np.eye(int(names.max()) + 1)[names]
    return Regrouping(" ".join(["merge", *(f"{j}+{k}" for j, k in pairs)]), moved, moved.T.copy())


def division(K: int, halved: list[Halved]) -> Regrouping:
    """Each of these clusters as two."""
    n = len(halved)
    moved, parts, born = np.eye(K, K + n), np.eye(K + n, K), []
    for i, (k, _, stats, scale) in enumerate(halved):
        moved[k, K + i] = stats.N[1] / stats.N.sum()
        moved[k, k], parts[k, k] = 1.0 - moved[k, K + i], 0.0
        places = np.zeros((K + n, 2))
        places[k, 0] = places[K + i, 1] = scale
        born.append((places, stats))
    return Regrouping(f"birth {n}", moved, parts, tuple(born))


def deletion(K: int, gone: list[int], r: np.ndarray) -> Regrouping:
    """Without these clusters. Groups had rows of them: they start in the clusters that share most of these."""
    kept = np.delete(np.arange(K), gone)
    moved = np.eye(K)[:, kept]
    parts = moved.T.copy()
    for k in gone:
        shared = (r[:, k] @ r)[kept] + 1e-12
        moved[k] = shared / shared.sum()
    return Regrouping(" ".join(["delete", *map(str, gone)]), moved, parts)


def exchange(K: int, halved: Halved, pair: Pair) -> Regrouping:
    """One cluster as two, and two others as one."""
    first, second = merger(K, [pair]), division(K, [halved])
    join = np.eye(K)[np.append(names_of(K, [pair]), K - 1)]  # of the K clusters and the new one
    born = tuple((join.T @ places, stats) for places, stats in second.born)
    return Regrouping(f"exchange {halved.cluster} {first.what}", second.moved @ join, join.T @ second.parts, born)
