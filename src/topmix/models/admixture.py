"""Admixtures: groups of rows mix clusters as documents mix topics.  docs/math.md, section A."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from topmix.allocations.document_prior import DocumentPrior
from topmix.allocations.stick_prior import StickPrior
from topmix.likelihoods.likelihood import Likelihood, OnDevice
from topmix.numerics import dirichlet
from topmix.stats import MixtureStats, TopicStats

LEARNED_RANGE = (1e-3, 1e4)  # of alpha, summed over clusters, where it is learned


class AdmixtureTables(NamedTuple):
    """What a shard needs of an admixture: picklable."""

    likelihood: Any
    prior: DocumentPrior | StickPrior
    weights: np.ndarray  # [K] the share of all rows that each cluster has


@dataclass(frozen=True)
class Admixture:
    """p(x_n) = sum_k pi_dk F(x_n | phi_k) for the rows n of group d. Statistics are those of documents, with the rows'
    own (MixtureStats) in the place of words."""

    prior: DocumentPrior | StickPrior
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
        if isinstance(self.prior, StickPrior) or not self.prior.learned:
            return None
        prior, before = self.prior.relearn(total, lengths), float(self.prior.alpha.sum())
        size = float(prior.alpha.sum())
        wanted = float(np.clip(size, *LEARNED_RANGE)) if np.any(lengths > 1) else before  # one row says nothing of it
        return replace(self, prior=replace(prior, alpha=prior.alpha * (wanted / size)))

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
        assert isinstance(self.prior, StickPrior)
        pieces = [(parts, self.as_stats().S), *born]
        N: np.ndarray = sum(share @ np.maximum(stats.N, 0.0) for share, stats in pieces)
        likelihood = self.likelihood.regrouped([(share, stats.S) for share, stats in pieces], N)
        return replace(self, prior=self.prior.moved(M, D), likelihood=likelihood, sizes=N)

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

        if isinstance(prior, StickPrior):
            prior = prior.with_shares(of(prior.sticks.shares()[:-1]), prior.D)
        else:
            prior = replace(prior, alpha=of(prior.alpha))
        pieces = [(parts, self.as_stats().S.S), *((share, stats.S) for share, stats in born)]
        return replace(self, prior=prior, likelihood=self.likelihood.regrouped(pieces, N), sizes=N)

    def on_host(self) -> Admixture:
        """The same without a device."""
        likelihood = self.likelihood
        return replace(self, likelihood=likelihood.on_host()) if isinstance(likelihood, OnDevice) else self

    def weights(self) -> np.ndarray:
        """[K] the share of all rows that each cluster has."""
        sizes = np.maximum(self.sizes, 0.0)
        return sizes / max(float(sizes.sum()), 1e-300)
