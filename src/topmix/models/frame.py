"""A frame of reference for rows: z = (x - origin) A, in which all of the data has mean zero and unit covariance.

Nothing of the model depends on it. It is where kernels compute: scores are sums of products z_i z_j, and float32 keeps
their digits only while no direction and no offset dwarfs the others.  docs/math.md, section G.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import lru_cache
from typing import Annotated

import numpy as np
from scipy.special import multigammaln

from topmix import _core
from topmix.base.component import Json
from topmix.base.threads import one_thread, threads
from topmix.models.statistics import Additive
from topmix.models.stored import Numbers, Stored

LEAST = 1e-12  # of the largest variance: a direction with less, a constant column say, counts as having this much


@dataclass(frozen=True)
class Frame(Stored):
    origin: Annotated[np.ndarray, Numbers("D")]
    A: Annotated[np.ndarray, Numbers("ONE")]  # [D, D], or [D] where axes must stay axes, or [1] to scale all alike

    @classmethod
    def of(cls, origin: np.ndarray, covariance: np.ndarray, covariance_type: str) -> Frame:
        """The frame that whitens all of the data as far as this type of clusters allows. `covariance` may be [D]."""
        if covariance.ndim == 2:
            values, axes = np.linalg.eigh(covariance)
        else:
            values = covariance if covariance_type == "diag" else covariance.mean(keepdims=True)
            axes = np.ones(1)
        largest = float(values.max(initial=0.0))
        values = np.maximum(values, LEAST * largest) if largest > 0 else np.ones_like(values)
        return cls(origin, axes / np.sqrt(values))

    @property
    def scale(self) -> np.ndarray:
        """A as kernels take it: [D, D] or [D]."""
        return np.broadcast_to(self.A, self.origin.shape).copy() if self.A.ndim == 1 else self.A

    @property
    def n_axes(self) -> int:
        """Directions in which the data differs: a column that is constant or depends on others adds none."""
        sizes = np.square(self.A).sum(axis=0) if self.A.ndim == 2 else np.square(self.scale)
        return int(np.count_nonzero(LEAST * sizes < 0.99 * sizes.min()))

    def log_det(self) -> float:
        """log |A|: what a density of z lacks to be one of x."""
        if self.A.ndim == 2:
            return float(np.linalg.slogdet(self.A)[1])
        return float(np.sum(np.log(self.scale)))

    def points(self, x: np.ndarray) -> np.ndarray:
        return (x - self.origin) @ self.A if self.A.ndim == 2 else (x - self.origin) * self.A

    def points_back(self, z: np.ndarray) -> np.ndarray:
        return (z @ np.linalg.inv(self.A) if self.A.ndim == 2 else z / self.A) + self.origin

    def covariances(self, C: np.ndarray) -> np.ndarray:
        """A' C A for matrices [..., D, D]; for variances [..., D] (or [...], scaled alike) the same of a diagonal."""
        if self.A.ndim == 2:
            return np.asarray(self.A.T @ C @ self.A)
        return C * np.square(self.A)

    def covariances_back(self, C: np.ndarray) -> np.ndarray:
        if self.A.ndim == 2:
            B = np.linalg.inv(self.A)
            return np.asarray(B.T @ C @ B)
        return C / np.square(self.A)


# Shapes of covariances: what full, diagonal, spherical and tied clusters do differently, and nothing else.
#
# A precision Lambda_k has a Wishart prior: one D x D matrix per cluster (full) or for all (tied), or D numbers (diag),
# or one (spherical), where a Wishart of size one is a gamma distribution. Arrays of them, precisions, covariances or
# scatter, are [K, D, D], [1, D, D], [K, D] and [K] (for spherical, the trace).  docs/math.md, section G.

ROUNDING = 100 * float(np.finfo(np.float64).eps)  # a share of all variance that no digits are left for


class SingularCovariance(ValueError):
    """A cluster whose covariance cannot be inverted."""


@dataclass(frozen=True)
class Shape:
    """One of the four, in D dimensions."""

    name: str  # scikit-learn's covariance_type
    D: int
    is_matrix: bool = field(init=False)
    quadratic: str = field(init=False)  # which products of a row its scores need, by the name that kernels know
    size: int = field(init=False)  # p, the size of each Wishart
    copies: int = field(init=False)  # Wisharts of a cluster, with the same degrees of freedom
    repeat: int = field(init=False)  # dimensions that share each precision

    def __post_init__(self) -> None:
        is_matrix = self.name in ("full", "tied")
        self.__dict__.update(
            is_matrix=is_matrix,
            quadratic={"full": "products", "diag": "squares", "spherical": "norm", "tied": "none"}[self.name],
            size=self.D if is_matrix else 1,
            copies=self.D if self.name == "diag" else 1,
            repeat=self.D if self.name == "spherical" else 1,
        )

    def sizes(self, K: int) -> Json:
        """Of what files have of clusters: matrices, the numbers of each, a frame and a prior."""
        one = (self.D, self.D) if self.is_matrix else (self.copies,)
        n, prior = 1 if self.name == "tied" else K, () if self.name == "spherical" else one
        return {"MATRICES": n, "Q": self.quadratic_size(), "ONE": one, "PRIOR": prior}

    def degrees(self, N: np.ndarray) -> np.ndarray:
        """What N rows add to the degrees of freedom."""
        return N.sum(keepdims=True) if self.name == "tied" else self.repeat * N

    def outer(self, w: np.ndarray, a: np.ndarray, b: np.ndarray) -> np.ndarray:
        """w_k a_k b_k', of vectors [K, D]; summed over clusters where they are tied."""
        if self.name == "full":
            return np.asarray((w[:, None] * a)[:, :, None] * b[:, None, :])
        if self.name == "tied":
            return np.asarray((w[:, None] * a).T @ b)[None]
        if self.name == "diag":
            return np.asarray(w[:, None] * a * b)
        return np.asarray(w * np.einsum("kd,kd->k", a, b))

    def prior_outer(self, K: int, w: float, a: np.ndarray) -> np.ndarray:
        """w a a' of each cluster: once where each has a matrix, K times where they share it."""
        return self.outer(np.array([K * w if self.name == "tied" else w]), a[None], a[None])

    def spread(self, w: np.ndarray, M: np.ndarray) -> np.ndarray:
        """w_k M for one M: [D, D], [D] or a number; summed over clusters where they are tied."""
        w = w.sum(keepdims=True) if self.name == "tied" else w
        return np.asarray(np.multiply.outer(w, M))

    def apply(self, P: np.ndarray, m: np.ndarray) -> np.ndarray:
        """P_k m_k, [K, D]."""
        if self.name == "full":
            return np.asarray((P @ m[:, :, None])[:, :, 0])
        if self.name == "tied":
            return np.asarray(m @ P[0])
        return np.asarray(P * m if self.name == "diag" else P[:, None] * m)

    def updated(
        self, second: np.ndarray, N: np.ndarray, base: np.ndarray, reg: np.ndarray, beta: np.ndarray, m: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """B_k = base + S_k + N_k reg - beta_k m_k m_k', B_k^-1 and log |B_k|, summed over copies.  Eq. (G.6)."""
        if not self.is_matrix:
            B = base + self.unpacked(second) + self.spread(N, reg) - self.outer(beta, m, m)
            refuse_singular(~(B.reshape(len(B), -1).min(axis=1) > 0))
            return B, 1.0 / B, self.log_det(B)
        if self.name == "tied":
            base = base - self.outer(beta, m, m)[0]
            N, beta, m = N.sum(keepdims=True), np.zeros(1), np.zeros((1, self.D))
        B, inverse = (np.empty((len(second), self.D, self.D)) for _ in range(2))
        log_det = np.empty(len(second))
        _core.update_precisions(second, N, base, reg, beta, m, threads(), B, inverse, log_det)
        refuse_singular(np.isnan(log_det))
        return B, inverse, log_det

    def log_det(self, B: np.ndarray) -> np.ndarray:
        """log |B_k|, summed over copies."""
        return np.linalg.slogdet(B)[1] if self.is_matrix else np.log(B).reshape(len(B), -1).sum(axis=1)

    def log_normaliser(self, nu: np.ndarray, log_det: np.ndarray) -> np.ndarray:
        """log of the constant of Wishart(nu, B^-1), all copies.  Eq. (G.7)."""
        half = 0.5 * nu
        return half * log_det - self.copies * (half * self.size * np.log(2.0) + multigammaln(half, self.size))

    def quadratic_size(self) -> int:
        return self.D * (self.D + 1) // 2 if self.is_matrix else self.copies

    def unpacked(self, second: np.ndarray) -> np.ndarray:
        """Second moments as kernels sum them, [.., quadratic_size], as an array of this shape."""
        if not self.is_matrix:
            return second if self.name == "diag" else second[:, 0]
        out = np.empty((len(second), self.D, self.D))
        i, j = _triangle(self.D)
        out[:, i, j] = second
        out[:, j, i] = second
        return out

    def share_of_products(self) -> np.ndarray:
        """[quadratic_size]: z' P z / -2 is the packed P times these, times the products of z that kernels make."""
        if not self.is_matrix:
            return np.full(self.quadratic_size(), -0.5)
        i, j = _triangle(self.D)
        return np.where(i == j, -0.5, -1.0)

    def packed(self, M: np.ndarray) -> np.ndarray:
        if not self.is_matrix:
            return M if self.name == "diag" else M[:, None]
        i, j = _triangle(self.D)
        return M.reshape(len(M), -1).take(i * self.D + j, axis=1)


SHAPES = ("full", "diag", "spherical", "tied")


@lru_cache(maxsize=4)
def _triangle(D: int) -> tuple[np.ndarray, np.ndarray]:
    """Rows and columns of the upper triangle of a matrix [D, D]."""
    return np.triu_indices(D)


def refuse_singular(is_singular: np.ndarray) -> None:
    """Raises where a covariance could not be inverted, or no digits are left of it."""
    if is_singular.any():
        raise SingularCovariance(  # scikit-learn's words in the middle, which people match on
            f"The covariance of cluster {is_singular.argmax()} is singular. Fitting the mixture model failed because "
            "some components have ill-defined empirical covariance (for instance caused by singleton or collapsed "
            "samples). Try to decrease the number of components, increase reg_covar, or scale the input data. Or use "
            "objective='vb', whose prior fills the gap, or leave out columns that are constant or depend on others."
        )


@dataclass(slots=True)
class GaussianStats(Additive, Stored):
    """Moments of rows, cluster by cluster.  Eq. (G.5)."""

    N: Annotated[np.ndarray, Numbers("K")]  # sum w r
    first: Annotated[np.ndarray, Numbers("K", "D")]  # sum w r z
    # [K, Q] sum w r z z': upper triangles, diagonals or traces; [1, Q] where covariances are tied
    second: Annotated[np.ndarray, Numbers("MATRICES", "Q")]

    @classmethod
    def zeros(cls, shape: Shape, K: int) -> GaussianStats:
        second = np.zeros((1 if shape.name == "tied" else K, shape.quadratic_size()))
        return cls(np.zeros(K), np.zeros((K, shape.D)), second)

    def times(self, factor: np.ndarray) -> GaussianStats:
        """Each cluster times its factor; covariances that are tied, times the first."""
        each = factor[:, None]
        return GaussianStats(factor * self.N, each * self.first, each[: len(self.second)] * self.second)


def everyone(r: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Dense responsibilities as kernels take them."""
    cluster = np.broadcast_to(np.arange(r.shape[1], dtype=np.int32), r.shape)
    return np.ascontiguousarray(cluster), np.ascontiguousarray(r, np.float64)


def moments(
    z: np.ndarray, cluster: np.ndarray, r: np.ndarray, weight: np.ndarray | None, centre: np.ndarray, shape: Shape
) -> GaussianStats:
    """What rows in the frame give to the clusters that they are assigned to.  Eq. (G.5)."""
    K = len(centre)
    S = GaussianStats.zeros(shape, K)
    with one_thread():
        second = np.zeros((K, 0)) if shape.name == "tied" else S.second
        _core.add_moments(z, cluster, r, weight, centre, shape.quadratic, threads(), S.N, S.first, second)
        if shape.name == "tied":  # sum w z z', the same for all clusters
            z64 = z.astype(np.float64)
            S.second += shape.packed((z64.T @ (z64 if weight is None else weight[:, None] * z64))[None])
    return S
