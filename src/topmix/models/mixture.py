"""Mixtures: an allocation (how often clusters are used) times a likelihood (what they say of a row)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Annotated, ClassVar, NamedTuple, Self, TypeAlias

import numpy as np

from topmix.base import dirichlet
from topmix.base.checks import SMALLEST, one_of
from topmix.base.fields import CheckedReader, Writer
from topmix.models.document_prior import DocumentPrior, Prior
from topmix.models.model import Likelihood, SomeTables, SomeTotal
from topmix.models.statistics import MixtureStats, TopicStats
from topmix.models.stick_prior import StickPrior
from topmix.models.stored import Numbers, Stored, number

# Finite mixture weights: pi ~ Dir(alpha/K, ..., alpha/K).  docs/math.md Eqs. (1.1), (1.8).


@dataclass(frozen=True)
class FiniteDirichlet(Stored):
    """q(pi) = Dir(gamma), or a point in its place."""

    prior: Annotated[float, number(SMALLEST)]  # alpha / K, on each weight
    gamma: Annotated[np.ndarray, Numbers("K", low=SMALLEST)]
    objective: str = "vb"

    @classmethod
    def uniform(cls, prior: float, K: int, objective: str = "vb") -> FiniteDirichlet:
        prior = dirichlet.NEGLIGIBLE if objective == "ml" else prior
        return cls(prior, np.full(K, prior + 1.0), objective)

    def log_weights(self) -> np.ndarray:
        """E[log pi_k], the K-vector that kernels see."""
        return dirichlet.expected_log(self.gamma, objective=self.objective)

    def weights(self) -> np.ndarray:
        return self.gamma / self.gamma.sum()

    def counts(self) -> np.ndarray:
        """[K] rows in each cluster, as q(pi) has them."""
        return self.gamma - self.prior

    def update(self, N: np.ndarray) -> FiniteDirichlet:
        """Conjugate update.  Eq. (1.8)."""
        if self.objective == "ml":  # rounding may leave negative counts, and here no prior makes up for them
            N = np.maximum(N, 0.0)
        return replace(self, gamma=self.prior + N)

    def bound(self, N: np.ndarray) -> float:
        """E[log p(z | pi)] - KL(q(pi) || p(pi)), or the same term at a point.  Eqs. (0.3), (0.5)."""
        return dirichlet.bound(N, np.full_like(self.gamma, self.prior), self.gamma, self.objective)


# Weights of a truncated Dirichlet process, by breaking a stick.  docs/math.md Eqs. (1.11)-(1.13).
#
#     v_k ~ Beta(1, alpha),   pi_k = v_k (1 - v_1) ... (1 - v_{k-1}),   k = 1 ... K
#
# As in scikit-learn the last piece is broken too, so a little of the stick, (1 - v_1) ... (1 - v_K), is left over.


@dataclass(frozen=True)
class StickBreaking(Stored):
    """q(v_k) = Beta(sticks_0k, sticks_1k), or points in their place."""

    prior: Annotated[float, number(SMALLEST)]  # alpha
    # pseudo-counts of the rows that stop at cluster k, and of those that continue
    sticks: Annotated[np.ndarray, Numbers(2, "K", low=SMALLEST)]
    objective: str = "vb"

    @classmethod
    def uniform(cls, prior: float, K: int, objective: str = "vb") -> StickBreaking:
        return cls(prior, np.zeros((2, K)), objective).update(np.ones(K))

    def _prior(self) -> np.ndarray:  # [2, K]
        return np.broadcast_to(np.array([[1.0], [self.prior]]), self.sticks.shape)

    def log_weights(self) -> np.ndarray:
        """E[log pi_k] = E[log v_k] + sum of E[log(1 - v_j)], j < k.  Eq. (1.12)."""
        log_stop, log_go = dirichlet.expected_log(self.sticks, objective=self.objective)
        return log_stop + np.concatenate([[0.0], np.cumsum(log_go)[:-1]])

    def weights(self) -> np.ndarray:
        """E[pi], scaled to sum to one, as scikit-learn reports it."""
        stop, go = self.sticks / self.sticks.sum(axis=0)
        pi = stop * np.concatenate([[1.0], np.cumprod(go)[:-1]])
        return pi / pi.sum()

    def counts(self) -> np.ndarray:
        return self.sticks[0] - 1.0

    def update(self, N: np.ndarray) -> StickBreaking:
        """Conjugate update.  Eq. (1.11)."""
        return replace(self, sticks=self._prior() + reached(N))

    def bound(self, N: np.ndarray) -> float:
        """Eq. (1.13): (0.3) or (0.5) for each stick."""
        return dirichlet.bound(reached(N), self._prior(), self.sticks, self.objective)


def reached(N: np.ndarray) -> np.ndarray:
    """[2, K]: rows in cluster k, and rows in clusters after it."""
    return np.stack([N, np.cumsum(N[::-1])[::-1] - N])


Allocation: TypeAlias = FiniteDirichlet | StickBreaking

# The priors on weights that a mixture can have, by scikit-learn's names for them.
WEIGHTS: dict[str, type[Allocation]] = {"dirichlet_distribution": FiniteDirichlet, "dirichlet_process": StickBreaking}

WeightPrior: TypeAlias = Callable[[int], Allocation]  # the prior on the weights of any number of clusters
Piece: TypeAlias = tuple[np.ndarray, MixtureStats]  # [new, K] how much new clusters have of each of these


class ClusterModel:
    """What mixtures and admixtures share."""

    likelihood: Likelihood
    n_features: int
    sizes: np.ndarray  # [K] rows in each cluster

    @property
    def n_components(self) -> int:
        return len(self.sizes)

    def no_stats(self) -> SomeTotal:
        K = self.n_components
        return MixtureStats(self.likelihood.zeros(self.n_features, K), np.zeros(K), 0.0, 0.0)

    def with_parts(self, parts: np.ndarray, born: Sequence[Piece]) -> tuple[Likelihood, np.ndarray]:
        """Clusters that have these parts [new, K] of the present ones and of other statistics, and their sizes."""
        pieces = [(parts, self.likelihood.total, self.sizes), *((share, stats.S, stats.N) for share, stats in born)]
        N: np.ndarray = sum(share @ np.maximum(N, 0.0) for share, _, N in pieces)
        return self.likelihood.regrouped([(share, S) for share, S, _ in pieces], N), N

    def on_host(self) -> Self:
        return replace(self, likelihood=self.likelihood.on_host())  # type: ignore[type-var]

    def n_parameters(self) -> int:
        """Numbers that are free, of clusters and of the weights of one mixture."""
        return self.n_components - 1 + self.likelihood.n_parameters()


# Mixtures: all rows share the weights.  docs/math.md, section 1.


class MixtureTables(NamedTuple):
    """What a shard needs of a mixture: picklable, sized by the shard's own columns."""

    likelihood: SomeTables
    log_weights: np.ndarray  # [K]


@dataclass(frozen=True)
class Mixture(ClusterModel):
    """p(x_n) = sum_k pi_k F(x_n | phi_k).  docs/math.md, section 1."""

    allocation: Allocation
    likelihood: Likelihood
    n_features: int

    prior: ClassVar[Prior | None] = None  # of groups, which an admixture has

    @cached_property
    def sizes(self) -> np.ndarray:  # type: ignore[override]  # a field of admixtures
        return self.allocation.counts()

    @property
    def objective(self) -> str:
        """What is climbed: "vb", "map" or "ml"."""
        return self.allocation.objective

    def tables(self, cols: np.ndarray) -> MixtureTables:
        return MixtureTables(self.likelihood.tables(cols), self.allocation.log_weights())

    def as_stats(self) -> MixtureStats:
        """Statistics that this model would be the update of, for a learner to start from."""
        return MixtureStats(self.likelihood.total, self.sizes.copy(), 0.0, 0.0)

    def update(self, total: MixtureStats) -> Mixture:
        N = total.N
        return replace(self, allocation=self.allocation.update(N), likelihood=self.likelihood.update(total.S, N))

    def bound(self, total: MixtureStats) -> dict[str, float]:
        """The evidence lower bound, term by term. It is linear in the statistics, so exact for any learner's total."""
        return {
            "data": self.likelihood.bound(total.S, total.N),
            "entropy": total.H,
            "allocation": self.allocation.bound(total.N),
        }

    def regrouped(self, parts: np.ndarray, *born: Piece) -> Mixture:
        """Other clusters: parts [new, K] is how much they have of each. `born` are parts of other statistics."""
        likelihood, N = self.with_parts(parts, born)
        weights = self.allocation.uniform(self.allocation.prior, len(N), self.objective).update(N)
        return replace(self, allocation=weights, likelihood=likelihood)

    def weights(self) -> np.ndarray:
        """[K] the expected share of each cluster."""
        return self.allocation.weights()

    def write(self, out: Writer) -> None:
        out.value("weights", next(name for name, kind in WEIGHTS.items() if type(self.allocation) is kind))
        self.allocation.write(out.at("weights"))
        self.likelihood.write(out.at("clusters"))

    @classmethod
    def read(cls, file: CheckedReader, likelihood: type[Likelihood], V: int, K: int, objective: str) -> Mixture:
        one_of(objective, likelihood.objectives, "objective")
        weights = WEIGHTS[file.choice("weights", tuple(WEIGHTS))].read(file.at("weights"), K=K, objective=objective)
        return cls(weights, likelihood.read(file.at("clusters"), V=V, D=V, K=K, objective=objective), V)


# Admixtures: groups of rows mix clusters as documents mix topics.  docs/math.md, section A.

LEARNED_RANGE = (1e-3, 1e4)  # of alpha, summed over clusters, where it is learned


class AdmixtureTables(NamedTuple):
    """What a shard needs of an admixture: picklable."""

    likelihood: SomeTables
    prior: Prior
    weights: np.ndarray  # [K] the share of all rows that each cluster has


@dataclass(frozen=True)
class Admixture(ClusterModel):
    """p(x_n) = sum_k pi_dk F(x_n | phi_k) for the rows n of group d. Statistics have MixtureStats in place of words."""

    prior: Prior
    likelihood: Likelihood
    sizes: np.ndarray  # [K] rows in each cluster
    objective: str
    n_features: int

    def tables(self, cols: np.ndarray) -> AdmixtureTables:
        return AdmixtureTables(self.likelihood.tables(cols), self.prior, self.weights())

    def no_stats(self) -> TopicStats:
        return self.prior.no_stats(super().no_stats())

    def as_stats(self) -> TopicStats:
        """Statistics that these clusters would be the update of, for a learner to start from; of no groups."""
        return self.prior.no_stats(MixtureStats(self.likelihood.total, self.sizes.copy(), 0.0, float(self.sizes.sum())))

    def update(self, total: TopicStats) -> Admixture:
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

    def as_mixture(self) -> Mixture:
        """The same clusters, of rows without groups."""
        K = self.n_components
        weights = FiniteDirichlet.uniform(1.0 / K, K, self.objective).update(np.maximum(self.sizes, 0.0))
        return Mixture(weights, self.likelihood, self.n_features)

    def reassigned(self, M: np.ndarray, D: float, parts: np.ndarray, *born: Piece) -> Admixture:
        """Other clusters, under sticks that D groups have been seen for. M [K, K'] is what part of a cluster's rows
        goes to which; parts [K', K] is what the new ones have of its statistics."""
        likelihood, N = self.with_parts(parts, born)
        return replace(self, prior=self.prior.rescaled(lambda shares: shares @ M, D), likelihood=likelihood, sizes=N)

    def regrouped(self, parts: np.ndarray, *born: Piece) -> Admixture:
        """As of a mixture. The prior of groups keeps its sum: clusters that are born share, by their rows, what the
        others leave of it."""
        likelihood, N = self.with_parts(parts, born)
        new: np.ndarray = sum((share @ stats.N for share, stats in born), np.zeros(len(parts)))

        def of(x: np.ndarray) -> np.ndarray:
            found = parts @ x
            if born:
                found += max(float(x.sum() - found.sum()), 0.0) * new / new.sum()
            return np.asarray(found * (x.sum() / found.sum()))

        return replace(self, prior=self.prior.rescaled(of), likelihood=likelihood, sizes=N)

    def weights(self) -> np.ndarray:
        """[K] the share of all rows that each cluster has."""
        sizes = np.maximum(self.sizes, 0.0)
        return sizes / max(float(sizes.sum()), 1e-300)

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
