"""Where clusters start, and what comes after a pass over them.

Gaussian clusters start at one or two starts, of which some passes over a sample say which is the better.

Growth goes from one cluster to K, each time twice as many, with a few passes over a sample in between, which grows with
the clusters: they cost next to nothing. And few clusters find the large differences in the data, which many clusters
that start at rows cannot agree on.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from contextlib import closing, suppress
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple, Protocol

import numpy as np

from topmix.base.component import Json
from topmix.base.threads import one_thread, threads
from topmix.corpus.rows import Rows
from topmix.corpus.shard import Shards, VectorShard, at_random
from topmix.engines.local import Threads
from topmix.learn.fit import Schedule
from topmix.learn.learners import Learner, Memoized, Passes, PassResult, State
from topmix.models import gaussian_start
from topmix.models.document_prior import Prior
from topmix.models.frame import Frame, GaussianStats, SingularCovariance
from topmix.models.gaussian import Gaussian, GaussianPrior
from topmix.models.mixture import Admixture, Allocation, Mixture, WeightPrior
from topmix.models.model import Assignment, Likelihood, SomeModel, SomeTotal
from topmix.steps.rows import BY_CANDIDATES, MixtureStep

PASSES, LAST_PASSES = 3, 2  # after each division, and after the last one, which passes over all of the data follow
SETTLING_PASSES, TRIAL_PASSES = 5, 1  # from a start that has seen none; the latter with many clusters
JUDGES = 4_000  # rows of the sample that say how good a trial is
BATCHES = 3  # of each pass
LEAST_ROWS = 2_000  # of a sample, and for each cluster this many, or so many for each column of its matrix:
ROWS_PER_CLUSTER = 100
ROWS_PER_COLUMN = 12
LEAST_SHARE = 0.01  # of its rows after the last division; a cluster with fewer is empty

# Where k-means decides where clusters start; with more clusters or rows growth is tried too (docs/choosing.md).
FEW_CLUSTERS, MANY_ROWS = 25, 100_000
MOST_ADDED = 0.25  # by reg_covar, of the largest variance: two groups are four standard deviations apart then
LEAST_GAIN = 0.1  # of what clusters gain over one: with less k-means in the scales of the columns as they are is taken
OWN_GAIN = 0.02  # the same for another k-means in these scales, which is tried from so many rows on:
OTHER_FROM = 10_000
ENOUGH_ROWS, ENOUGH_PER_COLUMN = 1_000, 20  # per cluster; the latter where it has a matrix: no prior is needed


class ClusterStart(Protocol):
    """Where clusters of one kind start."""

    def first(self, rng: np.random.Generator) -> tuple[Likelihood, np.ndarray | None]:
        """Clusters, and the number of rows in each, if that is known."""

    def again(self, clusters: Any) -> Likelihood:
        """Clusters that were learned before, with the priors of now."""


@one_thread()
def first_clusters(
    weights: Allocation | Prior, start: ClusterStart, n_features: int, rng: np.random.Generator
) -> tuple[Mixture | Admixture, SomeTotal]:
    """Where a fit of clusters starts: a model, and the statistics that it was made from, if they are known."""
    likelihood, N = start.first(rng)
    if isinstance(weights, Prior):  # of groups
        assert N is not None
        model: Mixture | Admixture = Admixture(weights, likelihood, N.copy(), likelihood.objective, n_features)
    else:
        weights = weights if N is None else weights.update(N)
        model = Mixture(weights, likelihood, n_features)
    return model, None if N is None else model.as_stats()


Parts = tuple[np.ndarray | None, np.ndarray | None, np.ndarray | None]  # weights, means and covariances of the user
Sample = tuple[np.ndarray, np.ndarray | None]  # rows in a random order, and their weights, on average one


class Start(NamedTuple):
    model: Gaussian
    n_passes: int  # over a sample, before it is judged
    least_gain: float = 0.0  # that it needs to be taken in the place of the first


@dataclass
class GaussianStart:
    """First clusters of Gaussians, with the prior of covariances that the data asks for, the same for all starts of a
    fit: the first of them chooses it."""

    data: Rows
    weight: np.ndarray | None
    K: int
    settings: Json  # what `gaussian_start.empty` takes
    weights: WeightPrior
    n_active: int
    how: str | np.ndarray  # one of STARTS, or responsibilities [N, K]
    parts: Parts
    n_candidates: int = 0
    prior: GaussianPrior | None = None  # which the first start chose
    frame: Frame | None = None  # None: that of the data

    @cached_property
    def empty(self) -> Gaussian:
        """Clusters at their prior."""
        kind, zero_mean = self.settings["covariance_type"], self.settings["zero_mean"]
        about, reg = gaussian_start.summary(self.data, self.weight, kind, zero_mean), self.settings["reg_covar"]
        model = gaussian_start.empty(about, str(self.data.data.dtype), self.K, self.frame, **self.settings)
        largest = float((np.diagonal(about[1]) if about[1].ndim == 2 else about[1]).max())
        if 0 < MOST_ADDED * largest < reg:
            warnings.warn(
                f"reg_covar={reg:g} is added to the variances of clusters, and that of a column of X is {largest:.3g} "
                "at most, so groups of rows may not be found. Multiply X by a constant, or lower reg_covar.",
                UserWarning,
                stacklevel=15,  # where a user calls fit
            )
        return model

    @cached_property
    def is_open(self) -> bool:
        """Whether the data is to choose the prior of covariances."""
        shape, settings = self.empty.shape, self.settings
        if settings["objective"] != "map" or settings["covariance_prior"] is not None:
            return False
        enough = self.K * (ENOUGH_PER_COLUMN * shape.D if shape.is_matrix else ENOUGH_ROWS)
        has_enough = shape.name == "tied" or self._n_used > enough
        return settings["degrees_of_freedom_prior"] is not None or not has_enough

    def first(self, rng: np.random.Generator) -> tuple[Gaussian, np.ndarray]:
        """The prior is judged after some passes over a sample: where clusters start, they are not yet as thin as they
        will be. Clusters that the user gave stay where they are."""
        weights, means, covariances = self.parts
        is_given = not isinstance(self.how, str) or any(part is not None for part in self.parts)
        trials: list[Start] = []
        if not isinstance(self.how, str):
            trials = [Start(gaussian_start.given(self.empty, self.how, self.data, self.weight), SETTLING_PASSES)]
        elif any(part is None for part in self.parts):
            trials = self._trials(self.how, rng)
        if any(part is not None for part in self.parts):
            N = trials[0].model.total.N if weights is None else weights * self._n_rows
            means = trials[0].model.mean() if means is None else means
            covariances = trials[0].model.covariances() if covariances is None else covariances
            trials = [Start(gaussian_start.at(self.empty, N, means, covariances), SETTLING_PASSES)]
        model, is_open = trials[0].model, self.is_open and self.prior is None
        if len(trials) > 1 or is_open:
            sample = self._sampled(rng)
            best, two, of_one = self._best(trials, sample, rng)
            if is_open:
                unit, degrees = self._n_rows / self._n_used, self.settings["degrees_of_freedom_prior"]
                self.prior = gaussian_start.chosen_prior(best, sample[1], two, of_one, degrees, unit)
            model = model if is_given else best
        if self.prior is not None:
            model = replace(model, prior=self.prior)
            model = model.update(model.total, model.total.N)
        return replace(model, n_candidates=self.n_candidates), model.total.N

    def again(self, clusters: Gaussian) -> Gaussian:
        """Priors that were given; what the data chose stays."""
        self.frame = clusters.frame
        p = self.empty.prior
        prior = replace(clusters.prior, beta=p.beta, m=p.m, reg=p.reg)
        return replace(clusters, prior=prior).update(clusters.total, clusters.total.N)

    def _trials(self, how: str, rng: np.random.Generator) -> list[Start]:
        """First clusters by one of STARTS, or by the two that "auto" stands for."""
        is_tied, zero_mean, N = self.settings["covariance_type"] == "tied", self.empty.zero_mean, self._n_used
        if is_tied and how == "split":
            raise ValueError("init_params='split' divides clusters by their spread, and with 'tied' they share it")
        if how != "auto":
            return [self._start(how, rng)]
        if self.K <= FEW_CLUSTERS and N < MANY_ROWS and not zero_mean:
            sample = self._sampled(rng, at_most=LEAST_ROWS)
            by_spread = not is_tied and gaussian_start.differ_by_spread(self.empty, *sample)
            others = self._grown(rng, SETTLING_PASSES, LEAST_GAIN) if by_spread else []
            trials = [self._start("kmeans", rng)]
            if not by_spread and gaussian_start.in_many_units(self.empty):
                others = [self._start("scaled kmeans", rng, SETTLING_PASSES, LEAST_GAIN)]
            elif not by_spread and N >= OTHER_FROM:
                others = [self._start("plain kmeans", rng, SETTLING_PASSES, OWN_GAIN)]
            return trials + others
        # Before the first pass the shares and covariances of a good start may still be far off.
        trials = [] if is_tied else self._grown(rng, 0)
        ways = ["k-means++"] if zero_mean else ["lloyd in the frame", *(["lloyd"] if is_tied else [])]
        trials += [self._start(way, rng, TRIAL_PASSES) for way in ways]
        best = self._best(trials, self._sampled(rng), rng, JUDGES)[0]
        return [Start(best, SETTLING_PASSES)]

    def _grown(self, rng: np.random.Generator, n_passes: int, least_gain: float = 0.0) -> list[Start]:
        with suppress(SingularCovariance):  # of a part of the sample; all of the data may do
            return [self._start("split", rng, n_passes, least_gain)]
        return []

    def _start(
        self, way: str, rng: np.random.Generator, n_passes: int = SETTLING_PASSES, least_gain: float = 0.0
    ) -> Start:
        if way == "split":
            return Start(self._split(rng.spawn(1)[0]), n_passes, least_gain)
        return Start(gaussian_start.start(self.empty, self.data, self.weight, way, rng), n_passes, least_gain)

    def _split(self, rng: np.random.Generator) -> Gaussian:
        """K clusters by growth, from statistics that come to as many rows as there are."""
        x, w = self._sampled(rng)
        clusters = gaussian_start.whole(self.empty, x, w)
        model, S = Mixture(self.weights(1), clusters, x.shape[1]), clusters.total.copy()
        for k in sizes(self.K)[1:]:
            n = min(len(x), max(LEAST_ROWS, self._rows_of_each * k))
            sample, of_rows = Rows(x[:n], check=False), None if w is None else w[:n]
            tables = model.tables(np.zeros(0, np.int64))
            a = Gaussian.assign(VectorShard(x, slice(0, n), of_rows), tables.likelihood, tables.log_weights, 1)
            assert isinstance(model.likelihood, Gaussian)
            S = gaussian_start.divided(model.likelihood, a.x, of_rows, a.cluster[:, 0], k)
            shards = Shards(sample, at_random(sample, BATCHES, rng), of_rows)
            n_passes = LAST_PASSES if k == self.K else PASSES
            model = learned(self._mixture(S), shards, min(self.n_active, k), Memoized(), n_passes)
            before, S = S, model.likelihood.total.copy()
            lost = S.N < LEAST_SHARE * before.N  # again as they were divided: an empty cluster might never get any rows
            if lost.any():
                S.N[lost], S.first[lost], S.second[lost] = before.N[lost], before.first[lost], before.second[lost]
                model = self._mixture(S)
        S.scale(self._n_rows / S.N.sum())
        return self.empty.update(S, S.N)

    def _best(
        self, trials: list[Start], sample: Sample, rng: np.random.Generator, n_judges: int = 1 << 62
    ) -> tuple[Gaussian, Assignment, float]:
        """The first clusters, unless others make rows clearly more likely, after a few passes over rows in a random
        order, from statistics of as many rows as before; the two best of them for each of the first rows; and how
        likely a row is in one cluster for all."""
        x, w = sample
        rows, of_sample = Rows(x, check=False), float(len(x) if w is None else w.sum())
        judges = VectorShard(x, slice(0, min(n_judges, len(x))), None)
        best, best_likelihood, of_one = None, -np.inf, -np.inf
        with suppress(SingularCovariance):
            one = gaussian_start.whole(self.empty, x, w).tables(np.zeros(0, np.int64))
            of_one = _likelihood(Gaussian.assign(judges, one, np.zeros(1), 1), w)
        for first, n_passes, least_gain in trials:
            n_rows = first.total.N.sum()
            shards = Shards(rows, at_random(rows, max(1, min(BATCHES, len(x) // LEAST_ROWS)), rng), w)
            mixture = self._mixture(first.total.copy().scale(of_sample / n_rows))
            with suppress(SingularCovariance):  # of a part of the sample; then the clusters of the start will do
                mixture = learned(mixture, shards, self.n_active, Memoized(), n_passes)
            tables = mixture.tables(np.zeros(0, np.int64))
            two = Gaussian.assign(judges, tables.likelihood, tables.log_weights, min(2, self.K))
            likelihood = _likelihood(two, w)
            if best is not None:
                gain = max(best_likelihood - of_one, 0.0)
                if not likelihood > best_likelihood + least_gain * gain:
                    continue
            total = mixture.likelihood.total.copy().scale(n_rows / of_sample)
            best, best_likelihood = (replace(first, total=total).update(total, total.N), two), likelihood
        assert best is not None
        return *best, of_one

    def _mixture(self, S: GaussianStats) -> Mixture:
        K, D = S.first.shape
        return Mixture(self.weights(K).update(S.N), self.empty.update(S, S.N), D)

    def _sampled(self, rng: np.random.Generator, at_most: int = 1 << 62) -> Sample:
        """Enough rows for all clusters."""
        weight, K, D = self.weight, self.K, self.data.shape[1]
        usable = np.arange(len(self.data)) if weight is None else np.flatnonzero(weight > 0)
        enough = max(LEAST_ROWS, self._rows_of_each * K)
        size = min(len(usable), at_most, enough, max(2 * K, gaussian_start.DENSE_SAMPLE // D))
        rows, order = np.sort(rng.choice(usable, size, replace=False)), rng.permutation(size)
        w = None if weight is None else weight[rows][order] / weight[rows].mean()
        return np.ascontiguousarray(self.data.data[rows])[order], w

    @property
    def _rows_of_each(self) -> int:
        """Rows of a sample for each cluster."""
        shape = self.empty.shape
        return max(ROWS_PER_CLUSTER, ROWS_PER_COLUMN * shape.D if shape.name == "full" else 0)

    @property
    def _n_rows(self) -> float:
        return float(len(self.data)) if self.weight is None else float(self.weight.sum())

    @cached_property
    def _n_used(self) -> int:
        """Rows that weigh something."""
        return len(self.data) if self.weight is None else int(np.count_nonzero(self.weight))


def _likelihood(a: Assignment, w: np.ndarray | None) -> float:
    """The log likelihood of a row on average."""
    return float(np.average(a.likelihood, weights=None if w is None else w[: len(a.likelihood)]))


def sizes(K: int) -> list[int]:
    """1, 2, ..., K: each is half of the next, rounded up, so that nearly all clusters are divided each time. A choice
    among them would prefer some kind of cluster again and again."""
    return [*sizes(-(-K // 2)), K] if K > 1 else [1]


def learned(model: Mixture, shards: Shards, n_active: int, learner: Learner, n: int) -> Mixture:
    """After some passes over a sample."""
    step = MixtureStep(type(model.likelihood), n_active)
    with closing(Threads().open(shards, step, threads())) as workers:
        passes = learner.passes(model, workers, State(pseudo_counts=model.as_stats()))
        with closing(passes):
            for _ in range(n):
                model = next(passes).model
    return model


# What comes after a pass over clusters.


class ClusterPasses(Schedule):
    """Passes over rows, or over groups of rows, whose prior follows the statistics. A fit converges in a pass that
    scored rows by all clusters: candidates alone may hide that others are better."""

    @cached_property
    def lengths(self) -> np.ndarray | None:
        """[groups] rows of each, where rows are in groups."""
        p = self.fit.problem
        return None if p.data.groups is None else p.data.groups.lengths(p.weight)

    def direction(self, model: SomeModel) -> str:
        prior = model.prior
        return "unsteady" if prior is not None and prior.learned and prior.posterior == "collapsed" else "rises"

    def passes(self, model: SomeModel, learn: Callable[[SomeModel], Passes]) -> Passes:
        """BLAS is held to one thread through each pass: to hold it and let it go again for every kernel takes longer
        than a kernel on few rows."""
        following = None
        with closing(learn(model)) as passes:
            while True:
                with one_thread():
                    result = passes.send(following)
                following = yield result

    def has_converged(self) -> bool:
        history = self.fit.history
        return not (history and history[-1].effort.get(BY_CANDIDATES)) and super().has_converged()

    def after(self, result: PassResult, is_last: bool) -> SomeModel:
        return None if self.lengths is None else result.model.relearn(result.total, self.lengths)
