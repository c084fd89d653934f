"""Topic proportions of documents that depend on covariates: pi_d ~ Dir(alpha_d), log alpha_dk = x_d . lambda_k.

Dirichlet-multinomial regression (Mimno and McCallum 2008). docs/math.md, section 3.11.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy.special import digamma

from topmix import _core
from topmix.allocations.document_prior import DocumentPrior
from topmix.allocations.own_priors import OwnPriors
from topmix.allocations.stick_prior import trigamma
from topmix.data.design_rows import DesignRows
from topmix.files.reader import CheckedReader, ModelFileError
from topmix.files.writer import Writer
from topmix.numerics.blas import one_thread
from topmix.numerics.threads import threads
from topmix.parameters.checks import SMALLEST
from topmix.stats import PseudoCounts, TopicStats, WordTotal

Array = NDArray[np.float64]

LOG_RANGE = (-16.0, 10.0)  # of log alpha_dk
INTERCEPT_SIGMA = 3.0  # of the Gaussian prior on intercepts
LARGEST_STEP = 1.0  # of log alpha_dk, at once, while coefficients are learned
LARGEST_DRAW = 10.0  # ... and when they are drawn: far outside of a posterior that says something
ROUNDS = 5  # Newton steps after a pass
MOST_ROWS = 1 << 14  # distinct documents that the normaliser is summed over; of more, a sample
MOST_PRODUCTS = 1 << 22  # numbers in the products of their columns
MOST_JOINT = 256  # coefficients that are drawn together; of more, those of one topic at a time
MOST_COVARIATES = 256
BURN_IN, KEPT_DRAWS = 20, 80  # draws of coefficients, one per sweep


@dataclass(frozen=True)
class Population:
    """All documents of a fit by what the normaliser of their priors depends on: their row of the design, and length."""

    x: Array  # [n, P]
    length: Array  # [n] tokens, at least one
    times: Array  # [n] documents of this kind
    n_docs: int  # those without tokens among them

    @classmethod
    def of(cls, design: DesignRows, lengths: NDArray[np.float64]) -> Population:
        used = lengths > 0
        kinds = np.stack([design.row[used].astype(np.float64), lengths[used]], axis=1)
        kinds, times = np.unique(kinds, axis=0, return_counts=True)
        P = design.x.shape[1]
        most = int(np.clip(MOST_PRODUCTS // (P * P), 1024, MOST_ROWS))
        weight = times.astype(np.float64)
        if len(kinds) > most:  # every so many documents, in the order of rows and lengths
            at = np.cumsum(weight)
            chosen = np.searchsorted(at, (np.arange(most) + 0.5) * (at[-1] / most))
            kinds, weight = kinds[chosen], np.full(most, at[-1] / most)
        return cls(design.x[kinds[:, 0].astype(np.int64)], kinds[:, 1], weight, len(design))

    @cached_property
    def products(self) -> Array:
        """[n, P * P] products of columns."""
        n, P = self.x.shape
        return (self.x[:, :, None] * self.x[:, None, :]).reshape(n, P * P)


@dataclass(frozen=True)
class CovariatePrior:
    """Coefficients lambda, and how sure they are: draws of their posterior, once a fit has made some."""

    coefficients: Array  # [K, P]; column 0 is the intercept
    posterior: str  # "variational" | "collapsed"
    centre: float  # the mean of the Gaussian prior on intercepts; of other coefficients it is zero
    sigma: float  # the standard deviation of the prior on other coefficients
    alpha: Array  # [K] the mean prior of the documents of the fit, for documents without covariates
    draws: Array = field(default_factory=lambda: np.zeros((0, 0, 0)))  # [draws, K, P]
    n_drawn: int = 0  # draws so far, those that were not kept among them
    is_curved: bool = False  # statistics hold the curvature of the likelihood too, which draws need

    learned: ClassVar[bool] = True

    @classmethod
    def flat(cls, K: int, P: int, posterior: str, total: float, sigma: float) -> CovariatePrior:
        """No effects: every document has the prior total / K."""
        if P > MOST_COVARIATES:
            raise ValueError(f"the formula makes {P} columns, and at most {MOST_COVARIATES} are possible")
        coefficients = np.zeros((K, P))
        coefficients[:, 0] = centre = np.log(total / K)
        return cls(coefficients, posterior, float(centre), sigma, np.full(K, total / K))

    @property
    def precision(self) -> Array:
        """[P] of the Gaussian prior."""
        precision = np.full(self.coefficients.shape[1], self.sigma**-2)
        precision[0] = INTERCEPT_SIGMA**-2
        return precision

    @property
    def away(self) -> Array:
        """[K, P] coefficients less the mean of their prior."""
        away = self.coefficients.copy()
        away[:, 0] -= self.centre
        return away

    def rows(self, x: Array, kind: type[np.floating] = np.float64) -> NDArray[Any]:
        """[n, K] alpha of documents with these rows of the design."""
        alpha = np.empty((len(x), len(self.coefficients)), kind)
        _core.own_alpha(x, self.coefficients, *LOG_RANGE, threads(), alpha)
        return alpha

    def of(self, design: DesignRows | None) -> OwnPriors | DocumentPrior:
        """The priors of these documents; the mean one where nothing is known of them."""
        if design is None:
            return DocumentPrior(self.alpha, self.posterior)
        alpha = self.rows(design.x, np.float32)
        return OwnPriors(self.alpha, self.posterior, design, alpha, True, self.is_curved)

    def no_stats(self, S: WordTotal | PseudoCounts) -> TopicStats:
        """Statistics of no documents, with these counts of words."""
        K, P = self.coefficients.shape
        return TopicStats(S, 0.0, 0.0, 0.0, 0.0, np.zeros(1), np.zeros(K * (P + P * P)))

    def past_stats(self, S: WordTotal) -> TopicStats:
        return self.no_stats(S)

    def update(self, total: TopicStats) -> CovariatePrior:
        """It does not move with the topics; see `relearn`."""
        return self

    def bound(self, total: TopicStats) -> float:
        """The documents' part of the objective, and the log density of the coefficients.  Eq. (3.31)."""
        return total.G + total.A + float(total.T[0]) - 0.5 * float(np.sum(self.precision * self.away**2))

    def documents(self, stats: TopicStats) -> float:
        """The same without what does not depend on the documents' words: their part of Eq. (3.13)."""
        return stats.G if self.posterior == "variational" else stats.A

    def relearn(self, total: TopicStats, population: Population) -> CovariatePrior:
        """Coefficients that fit these statistics better.  Eq. (3.33)

        The likelihood of documents' counts is bounded from below by sum_k lambda_k . M_k less the normalisers, which is
        concave. Newton steps: of each topic, with the normaliser's tangent, which separates topics, then of all topics
        together, because the tangent keeps concentrations from moving far.
        """
        if not total.D > 0 or not len(population.times):
            return self
        M, now = self._split(total)[0] * (population.n_docs / total.D), self  # a blended total may be of fewer
        x, precision = population.x, self.precision
        with one_thread():
            for _ in range(ROUNDS):
                slopes = now._slopes(population)
                weight = slopes.alpha * slopes.first[:, None]
                J = _by_topic(weight, population) + np.diag(precision)
                now = now._moved(np.linalg.solve(J, (M - weight.T @ x - precision * now.away)[..., None])[..., 0], x)
                slopes = now._slopes(population)
                weight = slopes.total * slopes.first
                J = x.T @ ((weight + slopes.total**2 * slopes.second)[:, None] * x) + np.diag(len(M) * precision)
                step = np.linalg.solve(J, M.sum(axis=0) - weight @ x - precision * now.away.sum(axis=0))
                now = now._moved(step[None], x)
        return replace(now._averaged(population), draws=np.zeros((0, *M.shape)), n_drawn=0)

    def drawn(self, total: TopicStats, population: Population, rng: np.random.Generator) -> CovariatePrior:
        """Coefficients drawn from their posterior given the counts of documents, a Gaussian about its mode.

        With the topics of tokens drawn in turn, these are draws from the posterior of both.  Eq. (3.34)
        """
        (M, Q), x, precision = self._split(total), population.x, self.precision
        K, P = M.shape
        with one_thread():
            slopes = self._slopes(population)
            weight = slopes.alpha * slopes.first[:, None]
            gradient = M - weight.T @ x - precision * self.away
            surrogate = _by_topic(weight, population) + np.diag(precision)
            if K * P <= MOST_JOINT:
                z = (slopes.alpha[:, :, None] * x[:, None, :]).reshape(len(x), K * P)
                coupling = (z.T * slopes.second) @ z

                def joint(blocks: Array) -> Array:
                    J = coupling.copy().reshape(K, P, K, P)
                    J[np.arange(K), :, np.arange(K), :] += blocks
                    return J.reshape(1, K * P, K * P)

            else:
                coupling = _by_topic(slopes.alpha**2 * slopes.second[:, None], population)

                def joint(blocks: Array) -> Array:
                    return coupling + blocks

            try:
                L = np.linalg.cholesky(joint(surrogate - Q))
            except np.linalg.LinAlgError:  # far from the mode: the concave bound of `relearn` is curved everywhere
                L = np.linalg.cholesky(joint(surrogate))
            g = gradient.reshape(*L.shape[:2], 1)
            back = np.swapaxes(L, 1, 2)
            step = np.linalg.solve(back, np.linalg.solve(L, g) + rng.standard_normal(g.shape))
        now = self._moved(step.reshape(K, P), x, LARGEST_DRAW)._averaged(population)
        kept = self.draws.reshape(-1, K, P)
        if self.n_drawn >= BURN_IN:
            kept = np.concatenate([kept, now.coefficients[None]])
        return replace(now, draws=kept, n_drawn=self.n_drawn + 1)

    def settled(self, population: Population) -> CovariatePrior:
        """The mean of the draws, which the topics are learned with from now on."""
        if not len(self.draws):
            return replace(self, is_curved=False)
        return replace(self, coefficients=self.draws.mean(axis=0), is_curved=False)._averaged(population)

    def _split(self, total: TopicStats) -> tuple[Array, Array]:
        K, P = self.coefficients.shape
        return total.M[: K * P].reshape(K, P), total.M[K * P :].reshape(K, P, P)

    def _slopes(self, population: Population) -> _Slopes:
        alpha = self.rows(population.x)
        a, N, times = alpha.sum(axis=1), population.length, population.times
        return _Slopes(alpha, a, times * (digamma(a + N) - digamma(a)), times * (trigamma(a + N) - trigamma(a)))

    def _moved(self, step: NDArray[np.floating], x: Array, most: float = LARGEST_STEP) -> CovariatePrior:
        """Further by a step, of each topic or of all, or by a part of it where that would move a prior of a document
        far."""
        reach = np.abs(x @ step.T).max(axis=0)
        size = np.minimum(1.0, most / np.maximum(reach, 1e-300))
        return replace(self, coefficients=self.coefficients + size[:, None] * step)

    def _averaged(self, population: Population) -> CovariatePrior:
        with one_thread():
            return replace(self, alpha=population.times @ self.rows(population.x) / population.times.sum())

    def write(self, out: Writer) -> None:
        out.array("coefficients", self.coefficients)
        out.array("alpha", self.alpha)
        out.array("draws", np.array(self.draws.reshape(-1, *self.coefficients.shape)))
        out.value("centre", self.centre)
        out.value("sigma", self.sigma)
        out.value("n_drawn", self.n_drawn)
        out.value("is_curved", self.is_curved)

    def read(self, file: CheckedReader, K: int, posterior: str) -> CovariatePrior:
        """What `write` wrote; this one says how many covariates there are."""
        P = self.coefficients.shape[1]
        coefficients, alpha = file.array("coefficients", K, P), file.array("alpha", K, positive=True)
        if alpha.max() > np.finfo(np.float32).max:
            raise ModelFileError(f"{file.prefix}alpha has {alpha.max():g}, which is too large")
        draws = file.array("draws", set(range(KEPT_DRAWS + 1)), K, P)
        return CovariatePrior(
            coefficients,
            posterior,
            file.number("centre"),
            file.number("sigma", SMALLEST),
            alpha,
            draws,
            file.integer("n_drawn", 0, 2**31),
            file.flag("is_curved"),
        )


@dataclass(frozen=True)
class _Slopes:
    """Of sum_d log Gamma(N_d + a_d) - log Gamma(a_d), with a_d the sum of alpha_d."""

    alpha: Array  # [n, K]
    total: Array  # [n] a_d
    first: Array  # [n] the derivative by a_d
    second: Array  # [n] its derivative, which is negative


def _by_topic(weight: Array, population: Population) -> Array:
    """[K, P, P] sum_d weight_dk x_d x_d'"""
    P = population.x.shape[1]
    return (weight.T @ population.products).reshape(-1, P, P)
