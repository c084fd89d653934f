"""Gaussian clusters: x ~ N(mu_k, Lambda_k^-1), with a normal-Wishart prior.  docs/math.md, section G.

    Lambda_k ~ Wishart(nu, B^-1),   mu_k ~ N(m, (beta Lambda_k)^-1)       mu_k = 0 where means are zero

The three objectives share the conjugate update, and so the numbers that describe a cluster: beta, m, nu and B. They
differ in what is expected of it: under "vb" E log |Lambda| and a term D / beta, at the point of "map" and "ml" neither.
All is in the frame of frame.py; the estimator translates.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Annotated, Any, ClassVar, NamedTuple

import numpy as np
from scipy.special import digamma

from topmix import _core
from topmix.base.checks import LEAST_POSITIVE
from topmix.base.dirichlet import NEGLIGIBLE
from topmix.base.fields import CheckedReader, ModelFileError, Writer
from topmix.base.threads import one_thread, threads
from topmix.corpus.rows import Rows
from topmix.corpus.shard import VectorShard
from topmix.models.frame import ROUNDING, SHAPES, Frame, GaussianStats, Shape, everyone, moments, refuse_singular
from topmix.models.model import FEW_SUMS, LEAST_SHARE, TOLERANCE, Assignment, ClusterSums, Likelihood, Pieces, most_of
from topmix.models.stored import Flag, Ids, Numbers, Stored, choice, number

LARGEST_SINGLE = 1e30  # of numbers whose products with others are still finite in float32

# Updates between two looks at which clusters are near each other: clusters move little, and the look takes K^2 D^2.
STALE = 10
MOST_CANDIDATES = 2**31


@dataclass(frozen=True)
class GaussianPrior(Stored):
    """The normal-Wishart prior, the same for all clusters, and what is added to every covariance."""

    beta: Annotated[float, number(LEAST_POSITIVE)]
    m: Annotated[np.ndarray, Numbers("D")]
    nu: Annotated[float, number(LEAST_POSITIVE)]
    B: Annotated[np.ndarray, Numbers("PRIOR")]  # [D, D], [D] or []: with E[Lambda] = nu B^-1
    reg: Annotated[np.ndarray, Numbers("PRIOR")]

    @property
    def is_negligible(self) -> bool:
        return self.nu <= NEGLIGIBLE

    def log_normaliser(self, shape: Shape) -> float:
        """Of the Wishart. A prior worth fewer rows than there are columns has none, and at a point needs none."""
        if self.nu <= shape.size - 1:
            return 0.0
        return float(shape.log_normaliser(np.array([self.nu]), shape.log_det(self.B[None]))[0])


class GaussianTables(NamedTuple):
    """What a shard needs of the clusters: all of it, since rows are dense.  Eq. (G.4)."""

    shape: Shape
    linear: bool  # whether there are means
    origin: np.ndarray  # [D] of the frame
    A: np.ndarray  # [D, D] or [D]
    jacobian: float  # log |A|
    W: np.ndarray  # [K, features], float32 or float64, which is what rows are computed in
    constant: np.ndarray  # [K]
    root: np.ndarray  # [D, D]: tied, a square root of the common precision; else empty
    centre: np.ndarray  # [K, D]: the means
    neighbours: np.ndarray  # [K, candidates] int32 ascending: clusters that rows of cluster k may go to; else [K, 0]


@dataclass(frozen=True)
class Posterior:
    """The numbers of a conjugate update.  Eq. (G.6)."""

    beta: np.ndarray  # [K]
    m: np.ndarray  # [K, D]
    nu: np.ndarray  # [K] or [1]
    B: np.ndarray  # as Shape says
    P: np.ndarray  # E[Lambda] = nu B^-1
    Pm: np.ndarray  # [K, D]
    mPm: np.ndarray  # [K]
    log_det: np.ndarray  # log |B|, [K] or [1]
    Elog: np.ndarray  # E log |Lambda|, [K] or [1]
    mean_uncertainty: np.ndarray  # [K] E[(mu - m)' Lambda (mu - m)]: D / beta under "vb"

    @property
    def covariance(self) -> np.ndarray:
        return self.B / self.nu.reshape(-1, *[1] * (self.B.ndim - 1))


@dataclass(frozen=True)
class Gaussian(Stored, Likelihood):
    """q(mu_k, Lambda_k), or a point. It borrows the total it was made from. Files of models have no candidates."""

    rows: ClassVar[str] = "vectors"
    objectives: ClassVar[tuple[str, ...]] = ("vb", "map", "ml")
    has_scatter: ClassVar[bool] = True

    covariance_type: Annotated[str, choice(*SHAPES)]
    objective: str
    zero_mean: Flag
    dtype: Annotated[str, choice("float32", "float64")]  # of the data
    frame: Frame
    prior: GaussianPrior
    total: GaussianStats
    n_candidates: int = 0  # clusters near each that tables name; 0 for none
    near: np.ndarray | None = None  # the neighbours that tables had some updates ago
    age: int = 0  # how many

    @cached_property
    def shape(self) -> Shape:
        return Shape(self.covariance_type, len(self.frame.origin))

    def zeros(self, n_features: int, K: int) -> GaussianStats:
        return GaussianStats.zeros(self.shape, K)

    def update(self, S: GaussianStats, N: np.ndarray) -> Gaussian:
        """Eq. (G.6). The moments hold N too, as summed with them: S.N and N differ in rounding."""
        tables, is_stale = self.__dict__.get("_tables"), self.age + 1 == STALE
        near = None if is_stale else self.near if tables is None else tables.neighbours
        new = replace(self, total=S, near=near, age=0 if is_stale else self.age + 1)
        new.posterior  # noqa: B018  (now, before the learner changes the total)
        return new

    @cached_property
    def posterior(self) -> Posterior:
        shape, p, t = self.shape, self.prior, self.total
        with one_thread():
            N = np.maximum(t.N, 0.0)  # rounding may leave less than nothing
            beta, nu = p.beta + N, p.nu + shape.degrees(N)
            m, base = np.zeros_like(t.first), p.B
            if not self.zero_mean:
                m = (p.beta * p.m + t.first) / beta[:, None]
                base = p.B + shape.prior_outer(len(N), p.beta, p.m)[0]
            B, P, log_det = shape.updated(t.second, N, base, p.reg, beta, m)
            P *= nu.reshape(-1, *[1] * (B.ndim - 1))
            if p.is_negligible and not np.any(p.reg):  # a precision in a frame of unit variance may leave no digits
                diagonal = np.diagonal(P, axis1=1, axis2=2) if shape.is_matrix else P.reshape(len(P), -1)
                refuse_singular(1.0 / diagonal.max(axis=1) < ROUNDING)
            Pm = shape.apply(P, m)
            mPm, is_bayes = np.einsum("kd,kd->k", Pm, m), self.objective == "vb"
            if is_bayes:  # Eq. (G.3)
                psi = digamma(0.5 * (nu[:, None] - np.arange(shape.size))).sum(axis=1)
                Elog = shape.copies * (psi + shape.size * np.log(2.0)) - log_det
            else:
                Elog = shape.copies * shape.size * np.log(nu) - log_det
            uncertainty = shape.D / beta if is_bayes and not self.zero_mean else np.zeros_like(beta)
            return Posterior(beta, m, nu, B, P, Pm, mPm, log_det, Elog, uncertainty)

    def bound(self, S: GaussianStats, N: np.ndarray) -> float:
        """E[log p(x | z, phi)] - KL(q(phi) || p(phi)), Eq. (G.8); at a point, its log posterior or likelihood."""
        shape, p, q, D = self.shape, self.prior, self.posterior, self.shape.D
        K, is_bayes = len(q.beta), self.objective == "vb"
        has_prior = float(self.objective != "ml")
        # The rows and the prior say these; under "vb" the entropy of q takes its own away again.
        degrees = has_prior * p.nu + shape.degrees(S.N)
        beta = has_prior * p.beta + S.N
        first = has_prior * p.beta * p.m + S.first
        second = shape.unpacked(S.second) + shape.spread(S.N, p.reg) + has_prior * p.B
        if not self.zero_mean:
            second = second + has_prior * shape.prior_outer(K, p.beta, p.m)
        value = S.N.sum() * (self.frame.log_det() - 0.5 * D * np.log(2 * np.pi))
        if is_bayes:
            degrees = degrees - q.nu
            second = second - q.B
            value -= shape.log_normaliser(q.nu, q.log_det).sum()
            if not self.zero_mean:
                beta, first = beta - q.beta, first - q.beta[:, None] * q.m
                second = second - shape.outer(q.beta, q.m, q.m)
                value -= 0.5 * D * np.log(q.beta / (2 * np.pi)).sum()
        if has_prior:
            value += len(q.P) * p.log_normaliser(shape)
            if not self.zero_mean:
                value += 0.5 * K * D * np.log(p.beta / (2 * np.pi))
        value += 0.5 * float(degrees @ q.Elog) - 0.5 * float(np.sum(q.P * second))
        if not self.zero_mean:
            value += float(np.sum(first * q.Pm)) - 0.5 * float(beta @ (q.mPm + q.mean_uncertainty))
        return float(value)

    def regrouped(self, pieces: Pieces, N: np.ndarray) -> Gaussian:
        first = sum(parts @ S.first for parts, S in pieces)
        second = self.total.second if self.shape.name == "tied" else sum(parts @ S.second for parts, S in pieces)
        total = GaussianStats(sum(parts @ S.N for parts, S in pieces), first, second)
        return replace(self, total=total, near=None, age=0).update(total, N)

    def scatter(self, S: GaussianStats, N: np.ndarray) -> np.ndarray:
        n = np.maximum(S.N, 1e-300)
        m = np.zeros_like(S.first) if self.zero_mean else S.first / n[:, None]
        return np.asarray(self.shape.unpacked(S.second) - self.shape.outer(n, m, m))

    def mean(self) -> np.ndarray:
        """[K, D], as the data has them."""
        return self.frame.points_back(self.posterior.m)

    def covariances(self) -> np.ndarray:
        """B / nu, as the data has them, in scikit-learn's shapes: [K, D, D], [D, D], [K, D] or [K]."""
        C = self.frame.covariances_back(self.posterior.covariance)
        return C[0] if self.covariance_type == "tied" else C

    def roots(self) -> np.ndarray:
        """L, lower triangular with L L' the covariance, of matrices. Rounding leaves these positive in their frame."""
        in_frame = np.swapaxes(np.linalg.cholesky(self.posterior.covariance), -1, -2)
        upper = np.linalg.qr(in_frame @ np.linalg.inv(self.frame.A), mode="r")
        lower = np.swapaxes(upper * np.sign(np.diagonal(upper, axis1=-2, axis2=-1))[..., None], -1, -2)
        return lower[0] if self.covariance_type == "tied" else lower

    def tables(self, cols: np.ndarray) -> GaussianTables:
        return self._tables

    @cached_property
    def _tables(self) -> GaussianTables:
        shape, q, D = self.shape, self.posterior, self.shape.D
        constant = 0.5 * (shape.repeat * q.Elog - q.mean_uncertainty - q.mPm - D * np.log(2 * np.pi))
        dtype = np.float64 if self.dtype == "float64" or self.rounding() > TOLERANCE else np.float32
        parts = []
        if shape.name != "tied":
            parts.append((shape.packed(q.P) * shape.share_of_products()).astype(dtype))
        if not self.zero_mean:
            parts.append(q.Pm.astype(dtype))
        W = np.concatenate(parts, axis=1) if parts else np.zeros((len(q.beta), 0), dtype)
        root = np.linalg.cholesky(q.P[0]) if shape.name == "tied" else np.zeros((0, 0))
        near = self._neighbours(W, constant) if self.near is None else self.near
        frame = self.frame.origin, np.ascontiguousarray(self.frame.scale), self.frame.log_det()
        centre = np.ascontiguousarray(q.m, dtype)
        return GaussianTables(shape, not self.zero_mean, *frame, W, constant, root, centre, near)

    def _neighbours(self, W: np.ndarray, constant: np.ndarray) -> np.ndarray:
        """For each cluster, those that its own rows are expected to score highest: s_j at E[features] of cluster k,
        which is -KL(k || j) up to what is the same for all j."""
        shape, q, K, parts = self.shape, self.posterior, len(constant), []
        C = min(self.n_candidates, K)
        if C == 0:
            return np.zeros((K, 0), np.int32)
        if shape.name != "tied":
            squares = q.covariance * (shape.D if shape.name == "spherical" else 1)
            parts.append(shape.packed(squares + shape.outer(np.ones(K), q.m, q.m)))
        if not self.zero_mean:
            parts.append(q.m)
        expected = constant + np.log(np.maximum(self.total.N, 1e-9))
        if parts:
            typical = np.concatenate(parts, axis=1)
            kind = np.float32 if np.abs(typical).max() < LARGEST_SINGLE else np.float64
            expected = typical.astype(kind) @ W.T.astype(kind, copy=False) + expected
        expected = np.broadcast_to(expected, (K, K)).copy()
        np.fill_diagonal(expected, np.inf)  # itself is always one
        return np.sort(np.argpartition(-expected, C - 1, axis=1)[:, :C], axis=1).astype(np.int32)

    def rounding(self) -> float:
        """Nats that a score may lose in float32, for the typical rows of clusters that hold 99 of 100 rows. It is a sum
        of terms P_ij z_i z_j that may cancel, each rounded by at most 2^-24 of itself in no common direction."""
        shape, q = self.shape, self.posterior
        C = q.covariance
        variances = np.diagonal(C, axis1=1, axis2=2) if shape.is_matrix else C.reshape(len(C), -1)
        size = variances + q.m**2  # [K, D], what squares of typical rows are
        return rounding_of(np.einsum("kd,kd->k", size, shape.apply(np.square(q.P), size)), self.total.N, shape.D)

    @staticmethod
    def assign(
        shard: VectorShard, t: GaussianTables, log_weights: np.ndarray, L: int, was: np.ndarray | None = None
    ) -> Assignment:
        """With the cluster that each row was in, a row is scored only by the neighbours of that."""
        dtype, n = t.W.dtype, shard.n_rows
        x = shard.rows_as(dtype)
        z = np.empty_like(x)
        constant = (t.constant + log_weights).astype(dtype)
        a = Assignment(np.empty((n, L), np.int32), np.empty((n, L), dtype), np.empty(n), np.empty(n), z, t)
        how = (t.shape.quadratic, t.linear, threads())
        with one_thread(), np.errstate(over="ignore"):  # the likelihood of a row that is too far is minus infinity
            _core.to_frame(x, t.origin, t.A, threads(), z)
            if shard.starts is not None:  # constants are [groups, K]
                _core.assign_groups(z, shard.starts, t.W, constant, *how, *a[:4])
            elif was is None:
                _core.assign_gaussian(z, t.W, constant, *how, *a[:4])
            else:
                _core.assign_near(z, was, t.neighbours, t.W, constant, *how, *a[:4])
            if t.shape.name == "tied":  # the same for all clusters, so scores did without it
                np.subtract(a.likelihood, 0.5 * np.square(z @ t.root).sum(axis=1), out=a.likelihood)
        np.add(a.likelihood, t.jacobian, out=a.likelihood)
        return a

    @staticmethod
    def summarise(shard: VectorShard, a: Assignment, K: int) -> GaussianStats:
        return moments(a.x, a.cluster, a.r, shard.weight, a.tables.centre, a.tables.shape)

    @staticmethod
    def reads_once(t: GaussianTables) -> bool:
        K, D = t.centre.shape
        return not t.shape.is_matrix and K * (D + t.shape.quadratic_size()) <= FEW_SUMS

    def of_rows(self, table: Rows, r: np.ndarray, weight: np.ndarray | None = None) -> GaussianStats:
        total = GaussianStats.zeros(self.shape, r.shape[1])
        for begin in range(0, len(table), 4096):
            rows = slice(begin, begin + 4096)
            z = self.frame.points(np.ascontiguousarray(table.data[rows], np.float64))
            w = None if weight is None else weight[rows]
            total += moments(z, *everyone(r[rows]), w, np.zeros((r.shape[1], z.shape[1])), self.shape)
        return total

    def n_parameters(self) -> int:
        K, D = len(self.total.N), self.shape.D
        covariances = {"full": K * D * (D + 1) // 2, "tied": D * (D + 1) // 2, "diag": K * D, "spherical": K}
        return (0 if self.zero_mean else K * D) + covariances[self.covariance_type]

    @staticmethod
    def visit(shard: VectorShard, t: GaussianTables, log_weights: np.ndarray, L: int) -> ClusterSums:
        """`assign` and `summarise` in one visit to the rows.  Eqs. (G.4)-(G.5)."""
        K, dtype = len(t.centre), t.W.dtype
        S = GaussianStats.zeros(t.shape, K)
        x, rows = shard.in_place(dtype)
        constant = (t.constant + log_weights).astype(dtype)
        model = (t.origin, t.A, t.W, constant, t.shape.quadratic, t.linear, t.centre)
        how = shard.weight, L, LEAST_SHARE[dtype], threads()
        with one_thread():
            entropy = _core.visit_rows(x, rows, *model, *how, S.N, S.first, S.second)
        return S, S.N.copy(), entropy

    @classmethod
    def read(cls, file: CheckedReader, **given: Any) -> Gaussian:
        sizes = Shape(file.choice("covariance_type", SHAPES), given["D"]).sizes(given["K"])
        return super().read(file, **given, **sizes)

    def check_fields(self) -> None:
        with np.errstate(all="ignore"):
            tables = self.tables(np.arange(self.shape.D))  # raises where a covariance cannot be inverted
            numbers = (*tables[2:], self.mean(), self.covariances())
        if not all(np.all(np.isfinite(x)) for x in numbers):
            raise ValueError("the parameters of clusters make no sense")

    def read_sums(self, file: CheckedReader, K: int) -> GaussianStats:
        return GaussianStats.read(file, D=self.shape.D, K=K, **self.shape.sizes(K))

    def write_candidates(self, out: Writer) -> None:
        out.value("n_candidates", self.n_candidates)
        out.value("age", self.age)
        if self.n_candidates and self.near is not None:
            out.array("near", self.near)

    def with_candidates(self, file: CheckedReader, least: int) -> Gaussian:
        K, n = len(self.total.N), file.integer("n_candidates", 0, MOST_CANDIDATES)
        age, near = file.integer("age", 0, STALE), None
        if file.has("near"):
            near = Ids("K", "C", below="K", ascending=True).read(file, "near", {"K": K, "C": min(n, K)})
        if n < least:
            raise ModelFileError(f"has {n} candidates of a row, which are too few")
        return replace(self, n_candidates=n, near=near, age=age)


def rounding_of(terms: np.ndarray, N: np.ndarray, D: int) -> float:
    """Gaussian.rounding, from the summed squares of the terms of a typical score of each cluster. The factor is what
    the worst of thousands of rows was seen to lose."""
    return float(np.sqrt(most_of(terms, N))) * 16 / np.sqrt(1 + D / 16) * 2.0**-24
