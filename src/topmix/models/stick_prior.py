"""Topic proportions of documents under a hierarchical Dirichlet process: pi_d ~ Dir(alpha beta), beta broken sticks.

Topic k has the prior alpha E[beta_k], and all topics that are not in the model share what is left over, so a document
has K + 1 proportions and tokens in the first K of them. docs/math.md, section 3.9.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Annotated, NamedTuple

import numpy as np
from scipy.special import betaln, digamma, expit, gammaln, logit

from topmix.base.checks import SMALLEST
from topmix.base.threads import one_thread
from topmix.models.document_prior import Array, DocTopics, Prior
from topmix.models.model import SomeSums
from topmix.models.statistics import TopicStats
from topmix.models.stored import Flag, Numbers, Stored, number

BELOW_ONE = float(np.nextafter(1.0, 0.0))
LOGIT_RANGE = 35.0  # rho stays inside (0, 1) as a double
CONCENTRATION_RANGE = (1e-3, 1e3)  # of alpha and gamma, when learned


def trigamma(x: np.ndarray) -> np.ndarray:
    """For x > 0: steps up by 1/x^2, then the asymptotic series; to 14 digits, three times as fast as a zeta."""
    steps = np.add.outer(np.arange(10.0), x)
    y = 1.0 / (x + 10.0)
    z = y * y
    series = 1.0 + y * (0.5 + y * (1 / 6 - z * (1 / 30 - z * (1 / 42 - z * (1 / 30 - z * (5 / 66))))))
    return (1.0 / (steps * steps)).sum(axis=0) + y * series


class Evidence(NamedTuple):
    """What documents say of the sticks."""

    D: float  # documents
    alpha: float
    T: np.ndarray  # [K + 1] sum_d E log pi_dk


@dataclass(frozen=True)
class Sticks(Stored):
    rho: Annotated[np.ndarray, Numbers("K", low=SMALLEST, high=BELOW_ONE)]  # E[u_k]
    omega: Annotated[np.ndarray, Numbers("K", low=SMALLEST)]  # how sure: pseudo-counts

    @classmethod
    def of_shares(cls, shares: np.ndarray, D: float, gamma: float) -> Sticks:
        """Sticks whose expected pieces are these [K] positive shares, which leave something over; as sure as they are
        best after D documents, to second order in 1 / omega.  Eq. (3.24)."""
        left = 1.0 - np.concatenate([[0.0], np.cumsum(shares)[:-1]])
        low = expit(-LOGIT_RANGE)
        rho = np.clip(shares / np.maximum(left, 1e-300), low, 1.0 - 1e-12)
        rest = gamma + D * np.arange(len(shares), 0, -1)
        return cls(rho, (1.0 + D) * (1.0 - rho) / rho + rest * rho / (1.0 - rho))

    @classmethod
    def even(cls, K: int, gamma: float) -> Sticks:
        """K + 1 equal pieces, the last of them left over; as sure as the prior is."""
        return cls(1.0 / (K + 1.0 - np.arange(K)), np.full(K, 1.0 + gamma))

    def shares(self) -> np.ndarray:
        """[K + 1] E[beta], the leftover last; they sum to one.  Eq. (3.20)."""
        left = np.concatenate([[1.0], np.cumprod(1.0 - self.rho)])
        return np.append(self.rho, 1.0) * left

    def expected_logs(self) -> tuple[np.ndarray, np.ndarray]:
        """[K] E log u_k and E log (1 - u_k)."""
        whole = digamma(self.omega)
        return digamma(self.rho * self.omega) - whole, digamma((1.0 - self.rho) * self.omega) - whole

    def log_normaliser(self, alpha: float) -> float:
        """E of the surrogate, a lower bound on E[c_Dir(alpha beta)] for any alpha.  Eq. (3.21)."""
        K = len(self.rho)
        log_u, log_rest = self.expected_logs()
        return K * np.log(alpha) + float(log_u.sum() + np.arange(K, 0, -1) @ log_rest)

    def divergence(self, gamma: float) -> float:
        """KL(q(u) || p(u))."""
        a, b = self.rho * self.omega, (1.0 - self.rho) * self.omega
        log_u, log_rest = self.expected_logs()
        log_q = (a - 1.0) @ log_u + (b - 1.0) @ log_rest - betaln(a, b).sum()
        return float(log_q - len(a) * np.log(gamma) - (gamma - 1.0) * log_rest.sum())

    def bound(self, seen: Evidence, gamma: float) -> float:
        """What sticks add to the bound.  Eq. (3.22)."""
        prior = seen.alpha * float(self.shares() @ seen.T)
        return seen.D * self.log_normaliser(seen.alpha) + prior - self.divergence(gamma)

    def gradient(self, seen: Evidence, gamma: float) -> np.ndarray:
        """[2K] of the bound with respect to logit rho and log omega.  Eq. (3.23)."""
        K, rho = len(self.rho), self.rho
        a, b = rho * self.omega, (1.0 - rho) * self.omega
        more_a, more_b = 1.0 + seen.D - a, gamma + seen.D * np.arange(K, 0, -1) - b
        both = (more_a + more_b) * trigamma(self.omega)
        by_a, by_b = more_a * trigamma(a) - both, more_b * trigamma(b) - both
        worth = self.shares() * seen.T
        later = np.cumsum(worth[::-1])[::-1][1:]  # [K] of the pieces after k
        by_rho = rho * (1.0 - rho) * self.omega * (by_a - by_b)
        by_rho += seen.alpha * ((1.0 - rho) * worth[:-1] - rho * later)
        return np.concatenate([by_rho, a * by_a + b * by_b])

    def update(self, seen: Evidence, gamma: float, max_iter: int = 20) -> Sticks:
        """A few steps of L-BFGS up the bound, which never falls. It is D times as curved in logit rho as in log omega,
        so those are stretched to match. Far above the counts of a Beta posterior omega is lost in rounding."""
        from scipy.optimize import Bounds, minimize  # here, because only the HDP needs it

        K, scale = len(self.rho), 1.0 / max(seen.D, 1.0)
        stretch = np.repeat([1.0, np.sqrt(max(seen.D, 1.0))], K)
        low = np.repeat([-LOGIT_RANGE, -5.0], K) / stretch
        high = np.repeat([LOGIT_RANGE, np.log(100.0 * (1.0 + gamma + seen.D * (K + 1.0)))], K) / stretch

        def sticks(x: np.ndarray) -> Sticks:
            return Sticks(expit(x[:K]), np.exp(stretch[K:] * x[K:]))

        def descent(x: np.ndarray) -> tuple[float, np.ndarray]:
            here = sticks(x)
            return -scale * here.bound(seen, gamma), -scale * stretch * here.gradient(seen, gamma)

        start = np.clip(np.concatenate([logit(self.rho), np.log(self.omega)]) / stretch, low, high)
        options = {"maxiter": max_iter}
        with one_thread():  # on such small vectors more threads only wait for each other
            found = minimize(descent, start, jac=True, method="L-BFGS-B", bounds=Bounds(low, high), options=options)
        better = sticks(found.x)
        return better if better.bound(seen, gamma) >= self.bound(seen, gamma) else self


@dataclass(frozen=True)
class StickPrior(Prior):
    """q(u) and the two concentrations. It moves with every update of the model, as topics do."""

    sticks: Sticks
    concentration: Annotated[float, number(SMALLEST)]  # alpha: small, and documents have few topics
    stick_prior: Annotated[float, number(SMALLEST)]  # gamma: large, and there are many topics
    learns_concentration: Flag = False
    learns_stick_prior: Flag = False
    D: Annotated[float, number(0.0)] = 0.0  # of the statistics that moved it last; zero where T is not known
    # [K + 1], of the same statistics
    T: Annotated[np.ndarray, Numbers((0, "K+1"))] = field(default_factory=lambda: np.zeros(0))
    shares: np.ndarray = field(init=False, repr=False)  # [K + 1] alpha E[beta]
    alpha: np.ndarray = field(init=False, repr=False)  # [K]

    posterior = "variational"  # and nothing is left to learn after a pass: `update` does it
    is_process = True

    def __post_init__(self) -> None:
        object.__setattr__(self, "shares", self.concentration * self.sticks.shares())
        object.__setattr__(self, "alpha", self.shares[:-1])

    @property
    def rest(self) -> float:
        return float(self.shares[-1])

    def sizes(self, K: int) -> tuple[int, int]:
        return K + 1, 0

    def past_stats(self, S: SomeSums) -> TopicStats:
        return replace(self.no_stats(S), D=self.D, T=self.T.copy()) if self.D else self.no_stats(S)

    def with_shares(self, shares: np.ndarray, D: float) -> StickPrior:
        """Of other topics, which have these [K'] expected shares."""
        sticks = Sticks.of_shares(np.maximum(shares, 1e-12), D, self.stick_prior)
        return replace(self, sticks=sticks, D=0.0, T=np.zeros(0))

    def summarise(
        self, words: SomeSums, docs: DocTopics, lengths: Array, H: float, present: Array | None = None
    ) -> TopicStats:
        """Eq. (3.8) with K + 1 proportions; no document has a token in the last."""
        alpha, n_docs, a0 = self.shares, len(lengths), self.concentration
        a, N = alpha[docs.topic], docs.count.astype(np.float64)
        T = n_docs * digamma(alpha) - digamma(lengths + a0).sum()
        T += np.bincount(docs.topic, digamma(N + a) - digamma(a), minlength=len(alpha))
        G = float(np.sum(gammaln(N + a) - gammaln(a)) + n_docs * gammaln(alpha).sum() - gammaln(lengths + a0).sum())
        return TopicStats(words, float(n_docs), H, G, -float(alpha @ T), T, np.zeros(0))

    def bound(self, total: TopicStats) -> float:
        """Of the surrogate bound, with what the sticks cost.  Eq. (3.22)."""
        seen = Evidence(total.D, self.concentration, total.T)
        return total.G + total.A + self.sticks.bound(seen, self.stick_prior)

    def documents(self, stats: TopicStats) -> float:
        normaliser = self.sticks.log_normaliser(self.concentration)
        return stats.G + stats.A + float(self.shares @ stats.T) + stats.D * normaliser

    def update(self, total: TopicStats) -> StickPrior:
        """Sticks and, where they are learned, concentrations: each raises the bound of these statistics."""
        if not total.D > 0:
            return self
        sticks = self.sticks.update(Evidence(total.D, self.concentration, total.T), self.stick_prior)
        now = replace(self, sticks=sticks, D=total.D, T=total.T.copy())
        if self.learns_concentration:  # D K log alpha + alpha sum_k E[beta_k] T_k is largest there
            best = -total.D * len(self.alpha) / float(now.sticks.shares() @ total.T)
            now = replace(now, concentration=float(np.clip(best, *CONCENTRATION_RANGE)))
        if self.learns_stick_prior:  # K log gamma + gamma sum_k E log (1 - u_k)
            best = -len(self.alpha) / float(now.sticks.expected_logs()[1].sum())
            now = replace(now, stick_prior=float(np.clip(best, *CONCENTRATION_RANGE)))
        return now

    def with_alpha(self, alpha: Array, kept: np.ndarray) -> StickPrior:
        shares, left = alpha[kept] / self.concentration, self.sticks.shares()[-1]
        shares *= min(1.0, (1.0 - left) / shares.sum())  # new topics leave as much over as there was
        return self.with_shares(shares, max(self.D, 1.0))

    def rescaled(self, of: Callable[[Array], Array], D: float | None = None) -> StickPrior:
        return self.with_shares(of(self.sticks.shares()[:-1]), self.D if D is None else D)

    def check_fields(self) -> None:
        if self.D and not len(self.T):
            raise ValueError("documents were counted whose topics are not known")
