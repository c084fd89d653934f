"""Topic proportions of documents that depend on covariates: pi_d ~ Dir(alpha_d), log alpha_dk = x_d . lambda_k.

Dirichlet-multinomial regression (Mimno and McCallum 2008). docs/math.md, section 3.11.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Annotated, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import digamma

from topmix import _core
from topmix.base.checks import SMALLEST
from topmix.base.fields import CheckedReader
from topmix.base.threads import one_thread, threads
from topmix.corpus.design import DesignRows
from topmix.models.document_prior import ALPHA, Array, DocumentPrior, OwnPriors, Population, Prior
from topmix.models.statistics import TopicStats
from topmix.models.stick_prior import trigamma
from topmix.models.stored import Flag, Numbers, integer, number

# Topic proportions of documents with labels: other labels' topics are not for them. docs/math.md, section 3.12.


@dataclass(frozen=True)
class LabelPrior(Prior):
    """The design of documents is their prior itself: zero for a topic that they cannot have."""

    # [K] the mean prior of the documents of the fit, for documents without labels
    alpha: Annotated[NDArray[np.float64], ALPHA]
    posterior: str

    is_shared = False

    def of(self, design: DesignRows | None) -> OwnPriors | DocumentPrior:
        if design is None:
            return DocumentPrior(self.alpha, self.posterior)
        return OwnPriors(self.alpha, self.posterior, design, design.x.astype(np.float32))

    def with_alpha(self, alpha: Array, kept: np.ndarray) -> LabelPrior:
        if not np.array_equal(alpha[kept], self.alpha):
            raise ValueError("topics of labels cannot be merged, split, dropped or added")
        return self


LOG_RANGE = (-16.0, 10.0)  # of log alpha_dk
INTERCEPT_SIGMA = 3.0  # of the Gaussian prior on intercepts
LARGEST_STEP = 1.0  # of log alpha_dk, at once, while coefficients are learned
LARGEST_DRAW = 10.0  # ... and when they are drawn: far outside of a posterior that says something
ROUNDS = 5  # Newton steps after a pass
MOST_JOINT = 256  # coefficients that are drawn together; of more, those of one topic at a time
MOST_COVARIATES = 256
BURN_IN, KEPT_DRAWS = 20, 80  # draws of coefficients, one per sweep


@dataclass(frozen=True)
class CovariatePrior(Prior):
    """Coefficients lambda, and how sure they are: draws of their posterior, once a fit has made some."""

    coefficients: Annotated[Array, Numbers("K", "P")]  # column 0 is the intercept
    posterior: str
    # the mean of the Gaussian prior on intercepts; of other coefficients it is zero
    centre: Annotated[float, number()]
    sigma: Annotated[float, number(SMALLEST)]  # the standard deviation of the prior on other coefficients
    alpha: Annotated[Array, ALPHA]  # the mean prior of the documents of the fit, for documents without covariates
    draws: Annotated[Array, Numbers("n", "K", "P")]
    n_drawn: Annotated[int, integer(0, 2**31)] = 0  # draws so far, those that were not kept among them
    is_curved: Flag = False  # statistics hold the curvature of the likelihood too, which draws need

    learned = True
    is_shared = False

    @classmethod
    def flat(cls, K: int, P: int, posterior: str, total: float, sigma: float) -> CovariatePrior:
        """No effects: every document has the prior total / K."""
        if P > MOST_COVARIATES:
            raise ValueError(f"the formula makes {P} columns, and at most {MOST_COVARIATES} are possible")
        coefficients = np.zeros((K, P))
        coefficients[:, 0] = centre = np.log(total / K)
        return cls(coefficients, posterior, float(centre), sigma, np.full(K, total / K), np.zeros((0, K, P)))

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

    def rows(self, x: Array, kind: type[np.floating] = np.float64) -> np.ndarray:
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

    def sizes(self, K: int) -> tuple[int, int]:
        P = self.coefficients.shape[1]
        return 1, K * (P + P * P)

    def bound(self, total: TopicStats) -> float:
        """And the log density of the coefficients."""
        return super().bound(total) - 0.5 * float(np.sum(self.precision * self.away**2))

    def relearn(self, total: TopicStats, lengths: Array, population: Population | None = None) -> CovariatePrior:
        """Coefficients that fit these statistics better, by Newton steps up a concave bound: of each topic, with the
        normaliser's tangent, which separates topics, then of all topics together, because the tangent keeps
        concentrations from moving far.  Eq. (3.33)"""
        if population is None or not total.D > 0 or not len(population.times):
            return self
        M, now = self._split(total)[0] * (population.n_docs / total.D), self  # a blended total may be of fewer
        x, precision = population.x, self.precision
        with one_thread():
            for _ in range(ROUNDS):
                gradient, J = now._of_topics(M, now._slopes(population), population)
                now = now._moved(np.linalg.solve(J, gradient[..., None])[..., 0], x)
                slopes = now._slopes(population)
                weight = slopes.total * slopes.first
                J = x.T @ ((weight + slopes.total**2 * slopes.second)[:, None] * x) + np.diag(len(M) * precision)
                step = np.linalg.solve(J, M.sum(axis=0) - weight @ x - precision * now.away.sum(axis=0))
                now = now._moved(step[None], x)
        return replace(now._averaged(population), draws=np.zeros((0, *M.shape)), n_drawn=0)

    def drawn(self, total: TopicStats, population: Population, rng: np.random.Generator) -> CovariatePrior:
        """Coefficients drawn from their posterior given the counts of documents, a Gaussian about its mode. With the
        topics of tokens drawn in turn, these are draws from the posterior of both.  Eq. (3.34)"""
        (M, Q), x = self._split(total), population.x
        K, P = M.shape
        with one_thread():
            slopes = self._slopes(population)
            gradient, surrogate = self._of_topics(M, slopes, population)
            if K * P <= MOST_JOINT:
                z = (slopes.alpha[:, :, None] * x[:, None, :]).reshape(len(x), K * P)
                coupling = ((z.T * slopes.second) @ z).reshape(K, P, K, P)
            else:
                coupling = population.by_topic(slopes.alpha**2 * slopes.second[:, None])

            def joint(blocks: Array) -> Array:
                if coupling.ndim == 3:
                    return coupling + blocks
                J = coupling.copy()
                J[np.arange(K), :, np.arange(K), :] += blocks
                return J.reshape(1, K * P, K * P)

            try:
                L = np.linalg.cholesky(joint(surrogate - Q))
            except np.linalg.LinAlgError:  # far from the mode: the concave bound of `relearn` is curved everywhere
                L = np.linalg.cholesky(joint(surrogate))
            g = gradient.reshape(*L.shape[:2], 1)
            back = np.swapaxes(L, 1, 2)
            step = np.linalg.solve(back, np.linalg.solve(L, g) + rng.standard_normal(g.shape))
        now = self._moved(step.reshape(K, P), x, LARGEST_DRAW)._averaged(population)
        new = now.coefficients[None] if self.n_drawn >= BURN_IN else self.draws[:0]
        return replace(now, draws=np.concatenate([self.draws, new]), n_drawn=self.n_drawn + 1)

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

    def _of_topics(self, M: Array, slopes: _Slopes, population: Population) -> tuple[Array, Array]:
        """The gradient [K, P] of the bound, and its curvature [K, P, P] with the tangent that separates topics."""
        weight, precision = slopes.alpha * slopes.first[:, None], self.precision
        gradient = M - weight.T @ population.x - precision * self.away
        return gradient, population.by_topic(weight) + np.diag(precision)

    def _moved(self, step: NDArray[np.floating], x: Array, most: float = LARGEST_STEP) -> CovariatePrior:
        """Further by a step, of each topic or of all, or by a part of it where it would move a document's prior far."""
        reach = np.abs(x @ step.T).max(axis=0)
        size = np.minimum(1.0, most / np.maximum(reach, 1e-300))
        return replace(self, coefficients=self.coefficients + size[:, None] * step)

    def _averaged(self, population: Population) -> CovariatePrior:
        with one_thread():
            return replace(self, alpha=population.times @ self.rows(population.x) / population.times.sum())

    def with_alpha(self, alpha: Array, kept: np.ndarray) -> CovariatePrior:
        if not np.array_equal(alpha, self.alpha):
            raise ValueError("topics that depend on Covariates cannot be merged, split or added: fit again")
        coefficients, draws = self.coefficients[kept], self.draws[:, kept]
        return replace(self, alpha=alpha[kept], coefficients=coefficients, draws=draws)

    def read_like(self, file: CheckedReader, K: int, posterior: str) -> CovariatePrior:
        return CovariatePrior.read(file, K=K, P=self.coefficients.shape[1], posterior=posterior)

    def check_fields(self) -> None:
        if len(self.draws) > KEPT_DRAWS:
            raise ValueError(f"{len(self.draws)} draws are more than a fit keeps")


class _Slopes(NamedTuple):
    """Of sum_d log Gamma(N_d + a_d) - log Gamma(a_d), with a_d the sum of alpha_d."""

    alpha: Array  # [n, K]
    total: Array  # [n] a_d
    first: Array  # [n] the derivative by a_d
    second: Array  # [n] its derivative, which is negative
