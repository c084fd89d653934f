"""Mixtures: an allocation (how often clusters are used) times a likelihood (what they say of a row)."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from topmix.base import dirichlet
from topmix.base.checks import one_of
from topmix.base.fields import CheckedReader, Writer
from topmix.models.document_prior import DocumentPrior, Prior
from topmix.models.gaussian import Gaussian
from topmix.models.model import Allocation, Likelihood, OnDevice, SomeTables
from topmix.models.statistics import MixtureStats, TopicStats
from topmix.models.stick_prior import StickPrior
from topmix.models.von_mises_fisher import VonMisesFisher
from topmix.models.weights import WEIGHTS


class MixtureTables(NamedTuple):
    """What a shard needs of a mixture: picklable, sized by the shard's own columns."""

    likelihood: SomeTables
    log_weights: np.ndarray  # [K]


@dataclass(frozen=True)
class Mixture:
    """p(x_n) = sum_k pi_k F(x_n | phi_k).  docs/math.md, section 1."""

    allocation: Allocation
    likelihood: Likelihood
    n_features: int
    n_components: int

    @property
    def objective(self) -> str:
        """What is climbed: "vb", "map" or "ml"."""
        return self.allocation.objective

    def tables(self, cols: np.ndarray) -> MixtureTables:
        return MixtureTables(self.likelihood.tables(cols), self.allocation.log_weights())

    def no_stats(self) -> MixtureStats:
        """The empty total that shards are added to."""
        K = self.n_components
        return MixtureStats(self.likelihood.zeros(self.n_features, K), np.zeros(K), 0.0, 0.0)

    def as_stats(self) -> MixtureStats:
        """Statistics that this model would be the update of, for a learner to start from."""
        return MixtureStats(self.likelihood.total, self.allocation.counts(), 0.0, 0.0)

    def update(self, total: MixtureStats) -> Mixture:
        """Global step."""
        N = total.N
        return replace(self, allocation=self.allocation.update(N), likelihood=self.likelihood.update(total.S, N))

    def bound(self, total: MixtureStats) -> dict[str, float]:
        """The evidence lower bound, term by term. It is linear in the statistics, so exact for any learner's total."""
        return {
            "data": self.likelihood.bound(total.S, total.N),
            "entropy": total.H,
            "allocation": self.allocation.bound(total.N),
        }

    def regrouped(self, parts: np.ndarray, *born: tuple[np.ndarray, MixtureStats]) -> Mixture:
        """Other clusters: parts [new, K] is how much they have of each. `born` has the same for clusters that are not
        in this model, with their statistics."""
        pieces = [(parts, self.as_stats()), *born]
        N: np.ndarray = sum(share @ np.maximum(stats.N, 0.0) for share, stats in pieces)
        weights = self.allocation.uniform(self.allocation.prior, len(N), self.objective).update(N)
        likelihood = self.likelihood.regrouped([(share, stats.S) for share, stats in pieces], N)
        return replace(self, allocation=weights, likelihood=likelihood, n_components=len(N))

    def on_host(self) -> Mixture:
        """The same without a device."""
        likelihood = self.likelihood
        return replace(self, likelihood=likelihood.on_host()) if isinstance(likelihood, OnDevice) else self

    def weights(self) -> np.ndarray:
        """[K] the expected share of each cluster."""
        return self.allocation.weights()

    def n_parameters(self) -> int:
        """Numbers that are free."""
        return self.n_components - 1 + self.likelihood.n_parameters()

    def write(self, out: Writer) -> None:
        out.value("weights", next(name for name, kind in WEIGHTS.items() if isinstance(self.allocation, kind)))
        self.allocation.write(out.at("weights"))
        self.likelihood.write(out.at("clusters"))

    @classmethod
    def read(cls, file: CheckedReader, likelihood: type[Likelihood], V: int, K: int, objective: str) -> Mixture:
        one_of(objective, likelihood.objectives, "objective")
        weights = WEIGHTS[file.choice("weights", tuple(WEIGHTS))].read(file.at("weights"), K=K, objective=objective)
        return cls(weights, likelihood.read(file.at("clusters"), V=V, D=V, K=K, objective=objective), V, K)


# Admixtures: groups of rows mix clusters as documents mix topics.  docs/math.md, section A.

LEARNED_RANGE = (1e-3, 1e4)  # of alpha, summed over clusters, where it is learned


class AdmixtureTables(NamedTuple):
    """What a shard needs of an admixture: picklable."""

    likelihood: SomeTables
    prior: Prior
    weights: np.ndarray  # [K] the share of all rows that each cluster has


@dataclass(frozen=True)
class Admixture:
    """p(x_n) = sum_k pi_dk F(x_n | phi_k) for the rows n of group d. Statistics are those of documents, with the rows'
    own (MixtureStats) in the place of words."""

    prior: Prior
    likelihood: Likelihood
    sizes: np.ndarray  # [K] rows in each cluster
    objective: str
    n_features: int

    @property
    def n_components(self) -> int:
        return len(self.sizes)

    def tables(self, cols: np.ndarray) -> AdmixtureTables:
        return AdmixtureTables(self.likelihood.tables(cols), self.prior, self.weights())

    def no_stats(self) -> TopicStats:
        """The empty total that shards are added to."""
        K = self.n_components
        return self.prior.no_stats(MixtureStats(self.likelihood.zeros(self.n_features, K), np.zeros(K), 0.0, 0.0))

    def as_stats(self) -> TopicStats:
        """Statistics that these clusters would be the update of, for a learner to start from; of no groups."""
        return self.prior.no_stats(MixtureStats(self.likelihood.total, self.sizes.copy(), 0.0, float(self.sizes.sum())))

    def update(self, total: TopicStats) -> Admixture:
        """Global step."""
        S, N = total.S.S, total.S.N
        return replace(self, prior=self.prior.update(total), likelihood=self.likelihood.update(S, N), sizes=N.copy())

    def relearn(self, total: TopicStats, lengths: np.ndarray) -> Admixture | None:
        """The model with its prior moved towards the statistics, or None where it is fixed."""
        if not self.prior.learned:
            return None
        prior, before = self.prior.relearn(total, lengths), float(self.prior.alpha.sum())
        size = float(prior.alpha.sum())
        wanted = float(np.clip(size, *LEARNED_RANGE)) if np.any(lengths > 1) else before  # one row says nothing of it
        return replace(self, prior=prior.rescaled(lambda alpha: alpha * (wanted / size)))

    def bound(self, total: TopicStats) -> dict[str, float]:
        """The objective, term by term.  Eq. (A.7)."""
        rows, prior = total.S, self.prior
        is_point = self.objective == "map" and prior.posterior == "collapsed"
        constant = total.D * float(dirichlet.log_normaliser(prior.alpha)) if is_point else 0.0
        return {
            "data": self.likelihood.bound(rows.S, rows.N),
            "entropy": total.H,
            "allocation": prior.bound(total) + constant,  # which topics leave out at a point
        }

    def regrouped(
        self, M: np.ndarray, D: float, parts: np.ndarray, *born: tuple[np.ndarray, MixtureStats]
    ) -> Admixture:
        """Other clusters, under sticks that D groups have been seen for. M [K, K'] is what part of a cluster's rows
        goes to which; parts [K', K] is what the new ones have of its statistics, and `born` the same for statistics of
        clusters that are not in this model."""
        pieces = [(parts, self.as_stats().S), *born]
        N: np.ndarray = sum(share @ np.maximum(stats.N, 0.0) for share, stats in pieces)
        likelihood = self.likelihood.regrouped([(share, stats.S) for share, stats in pieces], N)
        return replace(self, prior=self.prior.rescaled(lambda shares: shares @ M, D), likelihood=likelihood, sizes=N)

    def edited(self, parts: np.ndarray, *born: tuple[np.ndarray, MixtureStats]) -> Admixture:
        """Clusters merged, divided or left out by hand: parts [K', K] is how much the new ones have of each, and `born`
        the same for statistics of clusters that are not in this model. The prior of groups keeps its sum: those that
        are born share, by their rows, what the others leave of it."""
        new: np.ndarray = sum((share @ stats.N for share, stats in born), np.zeros(len(parts)))
        N, prior = parts @ np.maximum(self.sizes, 0.0) + new, self.prior

        def of(x: np.ndarray) -> np.ndarray:
            found = parts @ x
            if born:
                found += max(float(x.sum() - found.sum()), 0.0) * new / new.sum()
            return np.asarray(found * (x.sum() / found.sum()))

        pieces = [(parts, self.as_stats().S.S), *((share, stats.S) for share, stats in born)]
        return replace(self, prior=prior.rescaled(of), likelihood=self.likelihood.regrouped(pieces, N), sizes=N)

    def on_host(self) -> Admixture:
        """The same without a device."""
        likelihood = self.likelihood
        return replace(self, likelihood=likelihood.on_host()) if isinstance(likelihood, OnDevice) else self

    def weights(self) -> np.ndarray:
        """[K] the share of all rows that each cluster has."""
        sizes = np.maximum(self.sizes, 0.0)
        return sizes / max(float(sizes.sum()), 1e-300)

    def n_parameters(self) -> int:
        """Numbers that are free, of clusters and of the weights of one mixture."""
        return self.n_components - 1 + self.likelihood.n_parameters()

    def write(self, out: Writer) -> None:
        self.prior.write(out.at("prior"))
        out.array("sizes", self.sizes)
        self.likelihood.write(out.at("clusters"))

    @classmethod
    def read(cls, file: CheckedReader, likelihood: type[Likelihood], V: int, K: int, objective: str) -> Admixture:
        one_of(objective, likelihood.objectives, "objective")
        prior: Prior
        if file.has("prior.sticks"):
            prior = StickPrior.read(file.at("prior"), K=K)
        else:
            posterior = "variational" if objective == "vb" else "collapsed"
            prior = DocumentPrior.read(file.at("prior"), K=K, posterior=posterior)
        clusters = likelihood.read(file.at("clusters"), V=V, D=V, K=K, objective=objective)
        return cls(prior, clusters, file.array("sizes", K), objective, V)


# Momentum: a pass starts from the total plus a multiple of what the last pass changed.
#
# Moments of Gaussian clusters and sums of directions can be extrapolated so, unless they are on a device. A cluster of
# rows has a scatter that is positive definite, and moments that are extrapolated too far have not. So each cluster goes
# as far as asked, or half, or a quarter of it ..., such that it keeps a good part of its rows and of its scatter in
# every direction. The scatter of directions is N - |sum of rows|.

KEPT = 0.4  # of a cluster's rows, and of its scatter in any direction
HALVINGS = 5


class Momentum:
    """Of the passes of one fit. Where a pass ends lower than the one before, the next begins without, and those after
    it go half as far."""

    def __init__(self, reach: float):
        self.reach = reach  # how many times what the last pass changed is added
        self._before: MixtureStats | None = None  # the total a pass ago
        self._height = -np.inf  # the objective a pass ago
        self._step: MixtureStats | None = None

    @staticmethod
    def suits(model: object) -> bool:
        return isinstance(model, Mixture) and isinstance(model.likelihood, Gaussian | VonMisesFisher)

    def begin(self, model: Mixture, total: MixtureStats) -> Mixture:
        """The model at the beginning of a pass: what the last one has changed is added, as far as clusters bear it."""
        self._step = None
        if self._before is not None:
            change = total.copy()
            change -= self._before
            likelihood: Any = model.likelihood  # one that `suits`
            self._step = step_of(likelihood, total, change, self.reach)
            model = self.update(model, total, 1.0)
        self._before = total.copy()
        return model

    def update(self, model: Mixture, total: MixtureStats, weight: float) -> Mixture:
        """The update of `total`, with so much of the step as is left of it. Of `total` alone where a cluster does not
        bear it any more."""
        if self._step is None:
            return model.update(total)
        try:
            return model.update(total.copy().add(self._step, weight))
        except ValueError:  # a scatter that is not positive
            return model.update(total)

    def end(self, model: Mixture, total: MixtureStats) -> None:
        height, self._height = self._height, sum(model.bound(total).values())
        if self._height < height:
            self._before, self.reach = None, 0.5 * self.reach

    def write(self, out: Writer) -> None:
        out.value("reach", float(self.reach))
        out.value("height", float(self._height))
        if self._before is not None:
            self._before.write(out.at("before"))

    @classmethod
    def read(cls, file: CheckedReader, likelihood: Likelihood, K: int) -> Momentum:
        made, before = cls(file.number("reach", 0.0)), file.at("before")
        made._height = file.number("height")
        if before.has("N"):
            made._before = MixtureStats.read(before, S=likelihood.read_sums(before.at("S"), K), K=K)
        return made


def step_of(
    likelihood: Gaussian | VonMisesFisher, now: MixtureStats, change: MixtureStats, most: float
) -> MixtureStats:
    """The change of each cluster, times what it bears of `most`."""
    K, scatter = len(now.N), likelihood.scatter(now.S, now.N)
    is_tied = len(scatter) < K
    factor, floor = np.full(K, float(most)), KEPT * scatter
    for _ in range(HALVINGS):
        then = now.copy().add(_times(change, factor))
        too_far = then.N < KEPT * now.N
        too_far |= ~_are_positive(likelihood.scatter(then.S, then.N) - floor)  # one for all where they are tied
        if not too_far.any():
            break
        factor[too_far] *= 0.5
        if is_tied:
            factor[:] = factor.min()
    else:
        factor[np.full(K, is_tied) | too_far] = 0.0
    return _times(change, factor)


def _times(stats: MixtureStats, factor: np.ndarray) -> MixtureStats:
    """Without the entropy and the number of rows."""
    return MixtureStats(stats.S.times(factor), factor * stats.N, 0.0, 0.0)


def _are_positive(scatter: np.ndarray) -> np.ndarray:
    """[K], or [1] where covariances are tied."""
    if scatter.ndim < 3:
        return np.asarray(scatter.reshape(len(scatter), -1).min(axis=1) >= 0)
    out = np.ones(len(scatter), bool)
    for k, M in enumerate(scatter):
        try:
            np.linalg.cholesky(M)
        except np.linalg.LinAlgError:
            out[k] = False
    return out
