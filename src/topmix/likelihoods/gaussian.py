"""Gaussian clusters: x ~ N(mu_k, Lambda_k^-1), with a normal-Wishart prior.  docs/math.md, section G.

    Lambda_k ~ Wishart(nu, B^-1),   mu_k ~ N(m, (beta Lambda_k)^-1)       mu_k = 0 where means are zero

The three objectives share the conjugate update, and so the numbers that describe a cluster: beta, m, nu and B. They
differ in what is expected of it: under "vb" E log |Lambda| and a term D / beta, at the point of "map" and "ml" neither.
All is in the frame of frame.py; the estimator translates.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import ClassVar, NamedTuple

import numpy as np

from topmix import _core
from topmix.data.vectors import GroupShard, VectorShard
from topmix.files.reader import CheckedReader, ModelFileError
from topmix.files.writer import Writer
from topmix.likelihoods.covariance import SHAPES, Shape
from topmix.likelihoods.frame import Frame
from topmix.likelihoods.likelihood import FEW_SUMS, LEAST_SHARE, Pieces, Visited
from topmix.numerics.blas import one_thread
from topmix.numerics.dirichlet import NEGLIGIBLE
from topmix.numerics.threads import threads
from topmix.parameters.checks import LEAST_POSITIVE
from topmix.stats import Additive

# Float32 scores are kept while rounding is expected to stay under this many nats for a row of its own cluster.
LARGEST_SINGLE = 1e30  # of numbers whose products with others are still finite in float32
TOLERANCE = 1e-3

# Updates between two looks at which clusters are near each other: clusters move little, and the look takes K^2 D^2.
STALE = 10
MOST_CANDIDATES = 2**31


@dataclass(slots=True)
class GaussianStats(Additive):
    """Moments of rows, cluster by cluster.  Eq. (G.5)."""

    N: np.ndarray  # [K] sum w r
    first: np.ndarray  # [K, D] sum w r z
    second: np.ndarray  # [K, Q] sum w r z z': upper triangles, diagonals or traces; [1, Q] where covariances are tied

    def write(self, out: Writer) -> None:
        for name in ("N", "first", "second"):
            out.array(name, getattr(self, name))

    @classmethod
    def read(cls, file: CheckedReader, shape: Shape, K: int) -> GaussianStats:
        second = file.array("second", shape.n_matrices(K), shape.quadratic_size())
        return cls(file.array("N", K), file.array("first", K, shape.D), second)


@dataclass(frozen=True)
class GaussianPrior:
    """The normal-Wishart prior, the same for all clusters, and what is added to every covariance."""

    beta: float
    m: np.ndarray  # [D]
    nu: float
    B: np.ndarray  # [D, D], [D] or []: with E[Lambda] = nu B^-1
    reg: np.ndarray  # of the same shape

    @classmethod
    def negligible(cls, shape: Shape, reg: np.ndarray) -> GaussianPrior:
        """Of maximum likelihood: it keeps a cluster without rows finite, as the Gaussian of all the data."""
        one = np.eye(shape.D) if shape.is_matrix else np.ones(shape.D) if shape.name == "diag" else np.array(shape.D)
        return cls(NEGLIGIBLE, np.zeros(shape.D), NEGLIGIBLE, NEGLIGIBLE * one, reg)

    @property
    def is_negligible(self) -> bool:
        return self.nu <= NEGLIGIBLE

    def log_normaliser(self, shape: Shape) -> float:
        """Of the Wishart. A prior worth fewer rows than there are columns has none, and at a point needs none."""
        if self.nu <= shape.size - 1:
            return 0.0
        return float(shape.log_normaliser(np.array([self.nu]), shape.log_det(self.B[None]))[0])

    def write(self, out: Writer) -> None:
        out.array("m", self.m)
        out.array("B", np.atleast_1d(self.B))
        out.array("reg", np.atleast_1d(self.reg))
        out.value("beta", self.beta)
        out.value("nu", self.nu)

    @classmethod
    def read(cls, file: CheckedReader, shape: Shape) -> GaussianPrior:
        B, reg = (np.asarray(file.array(name, *shape.one())) for name in ("B", "reg"))
        if shape.name == "spherical":
            B, reg = np.asarray(B[0]), np.asarray(reg[0])
        beta, nu = (file.number(name, LEAST_POSITIVE) for name in ("beta", "nu"))
        return cls(beta, file.array("m", shape.D), nu, B, reg)


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


class GaussianAssignment(NamedTuple):
    """An L-sparse posterior over the clusters of each row, and the rows in the frame, for `summarise`."""

    cluster: np.ndarray  # [N, L] int32 ascending
    r: np.ndarray  # [N, L]
    entropy: np.ndarray  # [N]
    likelihood: np.ndarray  # [N] log of the summed weights of the chosen clusters
    z: np.ndarray  # [N, D]
    tables: GaussianTables


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


@dataclass(frozen=True)
class Gaussian:
    """q(mu_k, Lambda_k), or a point. Immutable; it borrows the total it was made from."""

    rows: ClassVar[str] = "vectors"
    objectives: ClassVar[tuple[str, ...]] = ("vb", "map", "ml")

    covariance_type: str
    objective: str
    zero_mean: bool
    dtype: str  # of the data: "float32" or "float64"
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
        shape = Shape(self.covariance_type, n_features)
        return GaussianStats(
            np.zeros(K), np.zeros((K, n_features)), np.zeros((shape.n_matrices(K), shape.quadratic_size()))
        )

    def update(self, S: GaussianStats, N: np.ndarray) -> Gaussian:
        """Conjugate update.  Eq. (G.6). The moments hold N too, as summed with them: S.N and N differ in rounding."""
        tables = self.__dict__.get("_tables")
        near, age = self.near if tables is None else tables.neighbours, self.age + 1
        if age == STALE:
            near, age = None, 0
        new = replace(self, total=S, near=near, age=age)
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
            if p.is_negligible and not np.any(p.reg):
                shape.refuse_rounding(P)
            Pm = shape.apply(P, m)
            is_bayes = self.objective == "vb" and not self.zero_mean
            return Posterior(
                beta=beta,
                m=m,
                nu=nu,
                B=B,
                P=P,
                Pm=Pm,
                mPm=np.einsum("kd,kd->k", Pm, m),
                log_det=log_det,
                Elog=shape.expected_log_det(nu, log_det, self.objective),
                mean_uncertainty=shape.D / beta if is_bayes else np.zeros_like(beta),
            )

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
            value += shape.n_matrices(K) * p.log_normaliser(shape)
            if not self.zero_mean:
                value += 0.5 * K * D * np.log(p.beta / (2 * np.pi))
        value += 0.5 * float(degrees @ q.Elog) - 0.5 * float(np.sum(q.P * second))
        if not self.zero_mean:
            value += float(np.sum(first * q.Pm)) - 0.5 * float(beta @ (q.mPm + q.mean_uncertainty))
        return float(value)

    def of_all_rows(self) -> float:
        """The log likelihood of a row on average, under one cluster for all: the frame is made so."""
        return self.frame.log_det() - 0.5 * self.shape.D * (1.0 + float(np.log(2 * np.pi)))

    def regrouped(self, pieces: Pieces, N: np.ndarray) -> Gaussian:
        """Other clusters, from statistics of some."""
        first = sum(parts @ S.first for parts, S in pieces)
        second = self.total.second if self.shape.name == "tied" else sum(parts @ S.second for parts, S in pieces)
        total = GaussianStats(sum(parts @ S.N for parts, S in pieces), first, second)
        return replace(self, total=total, near=None, age=0).update(total, N)

    def mean(self) -> np.ndarray:
        """[K, D], as the data has them."""
        return self.frame.points_back(self.posterior.m)

    def covariances(self) -> np.ndarray:
        """B / nu, as the data has them, in scikit-learn's shapes: [K, D, D], [D, D], [K, D] or [K]."""
        q = self.posterior
        C = self.frame.covariances_back(q.B / q.nu.reshape(-1, *[1] * (q.B.ndim - 1)))
        return C[0] if self.covariance_type == "tied" else C

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
        return GaussianTables(
            shape=shape,
            linear=not self.zero_mean,
            origin=self.frame.origin,
            A=np.ascontiguousarray(self.frame.scale),
            jacobian=self.frame.log_det(),
            W=W,
            constant=constant,
            root=root,
            centre=np.ascontiguousarray(q.m, dtype),
            neighbours=self._neighbours(W, constant) if self.near is None else self.near,
        )

    def _neighbours(self, W: np.ndarray, constant: np.ndarray) -> np.ndarray:
        """For each cluster, those that its own rows are expected to score highest: s_j at E[features] of cluster k,
        which is -KL(k || j) up to what is the same for all j."""
        shape, q, K = self.shape, self.posterior, len(constant)
        C = min(self.n_candidates, K)
        if C == 0:
            return np.zeros((K, 0), np.int32)
        parts = []
        if shape.name != "tied":
            covariance = q.B / q.nu.reshape(-1, *[1] * (q.B.ndim - 1))
            each = covariance * (shape.D if shape.name == "spherical" else 1)
            parts.append(shape.packed(each + shape.outer(np.ones(K), q.m, q.m)))
        if not self.zero_mean:
            parts.append(q.m)
        weights = np.log(np.maximum(self.total.N, 1e-9))
        expected = constant + weights
        if parts:
            typical = np.concatenate(parts, axis=1)
            kind = np.float32 if np.abs(typical).max() < LARGEST_SINGLE else np.float64
            expected = typical.astype(kind) @ W.T.astype(kind, copy=False) + expected
        expected = np.broadcast_to(expected, (K, K)).copy()
        np.fill_diagonal(expected, np.inf)  # itself is always one
        return np.sort(np.argpartition(-expected, C - 1, axis=1)[:, :C], axis=1).astype(np.int32)

    def rounding(self) -> float:
        """Nats that a score may lose in float32, for the typical rows of clusters that hold 99 of 100 rows.

        A score is a sum of terms P_ij z_i z_j that may be large and cancel. Each is rounded by at most 2^-24 of itself,
        and in no common direction. The factor is what the worst of thousands of rows was seen to lose: many dimensions
        even out.
        """
        shape, q = self.shape, self.posterior
        C = q.B / q.nu.reshape(-1, *[1] * (q.B.ndim - 1))
        size = shape.sd(C) ** 2 + q.m**2  # [K, D], what squares of typical rows are
        return rounding_of(np.einsum("kd,kd->k", size, shape.apply(np.square(q.P), size)), self.total.N, shape.D)

    @staticmethod
    def assign(shard: VectorShard, t: GaussianTables, log_weights: np.ndarray, L: int) -> GaussianAssignment:
        return _assigned(shard, t, log_weights, L, None)

    @staticmethod
    def assign_near(
        shard: VectorShard, t: GaussianTables, log_weights: np.ndarray, L: int, was: np.ndarray
    ) -> GaussianAssignment:
        """As `assign`, but each row is scored only by the neighbours of the cluster that it was in."""
        return _assigned(shard, t, log_weights, L, was)

    @staticmethod
    def summarise(shard: VectorShard, a: GaussianAssignment, K: int) -> GaussianStats:
        return moments(a.z, a.cluster, a.r, shard.weight, a.tables.centre, a.tables.shape)

    @staticmethod
    def reads_once(t: GaussianTables) -> bool:
        K, D = t.centre.shape
        return not t.shape.is_matrix and K * (D + t.shape.quadratic_size()) <= FEW_SUMS

    @staticmethod
    def visit(shard: VectorShard, t: GaussianTables, log_weights: np.ndarray, L: int) -> Visited:
        """`assign` and `summarise` in one visit to the rows.  Eqs. (G.4)-(G.5)."""
        (K, D), dtype = t.centre.shape, t.W.dtype
        S = GaussianStats(np.zeros(K), np.zeros((K, D)), np.zeros((K, t.shape.quadratic_size())))
        x, rows = shard.in_place(dtype)
        constant = (t.constant + log_weights).astype(dtype)
        model = (t.origin, t.A, t.W, constant, t.shape.quadratic, t.linear, t.centre)
        with one_thread():
            entropy = _core.visit_rows(
                x, rows, *model, shard.weight, L, LEAST_SHARE[dtype], threads(), S.N, S.first, S.second
            )
        return Visited(S, S.N.copy(), entropy)

    def write(self, out: Writer) -> None:
        """Everything but what clusters are computed with: the number of candidates is a setting of the estimator."""
        self.frame.write(out.at("frame"))
        self.prior.write(out.at("prior"))
        self.total.write(out.at("moments"))
        out.value("covariance_type", self.covariance_type)
        out.value("zero_mean", self.zero_mean)
        out.value("dtype", self.dtype)

    def read_sums(self, file: CheckedReader, K: int) -> GaussianStats:
        return GaussianStats.read(file, self.shape, K)

    def write_near(self, out: Writer) -> None:
        """What a fit that goes on needs besides: the neighbours that clusters have, and since when."""
        out.value("candidates", self.n_candidates)
        out.value("age", self.age)
        if self.n_candidates and self.near is not None:
            out.array("near", self.near.ravel())

    def with_near(self, file: CheckedReader) -> Gaussian:
        """With what `write_near` wrote."""
        n, age = file.integer("candidates", 0, MOST_CANDIDATES), file.integer("age", 0, STALE)
        K, near = len(self.total.N), None
        if file.has("near"):
            C = min(n, K)
            near = file.vector("near", "I32", K * C).reshape(K, C)
            if C == 0 or near.min() < 0 or near.max() >= K or np.any(near[:, 1:] <= near[:, :-1]):
                raise ModelFileError(f"{file.prefix}near has clusters that are not from 0 to {K - 1}, ascending")
        return replace(self, n_candidates=n, near=near, age=age)

    @classmethod
    def read(cls, file: CheckedReader, D: int, K: int, objective: str) -> Gaussian:
        shape = Shape(file.choice("covariance_type", SHAPES), D)
        frame, prior = Frame.read(file.at("frame"), shape), GaussianPrior.read(file.at("prior"), shape)
        total, dtype = GaussianStats.read(file.at("moments"), shape, K), file.choice("dtype", ("float32", "float64"))
        g = cls(shape.name, objective, file.flag("zero_mean"), dtype, frame, prior, total)
        with np.errstate(all="ignore"):
            tables = g.tables(np.arange(D))  # raises where a covariance cannot be inverted
            numbers = (*tables[2:], g.mean(), g.covariances())
        if not all(np.all(np.isfinite(x)) for x in numbers):
            raise ModelFileError("the parameters of clusters make no sense")
        return g


def rounding_of(terms: np.ndarray, N: np.ndarray, D: int) -> float:
    """Gaussian.rounding, from the summed squares of the terms of a typical score of each cluster."""
    order = np.argsort(terms)
    held = np.cumsum(np.maximum(N, 0.0)[order])
    worst = order[min(np.searchsorted(held, 0.99 * held[-1]), len(order) - 1)]
    return float(np.sqrt(terms[worst])) * 16 / np.sqrt(1 + D / 16) * 2.0**-24


def _assigned(
    shard: VectorShard, t: GaussianTables, log_weights: np.ndarray, L: int, was: np.ndarray | None
) -> GaussianAssignment:
    dtype, n = t.W.dtype, shard.n_rows
    x = shard.rows_as(dtype)
    z = np.empty_like(x)
    constant = (t.constant + log_weights).astype(dtype)
    a = GaussianAssignment(np.empty((n, L), np.int32), np.empty((n, L), dtype), np.empty(n), np.empty(n), z, t)
    how = (t.shape.quadratic, t.linear, threads())
    with one_thread(), np.errstate(over="ignore"):  # the likelihood of a row that is too far is minus infinity
        _core.to_frame(x, t.origin, t.A, threads(), z)
        if isinstance(shard, GroupShard):  # constants are [groups, K]
            _core.assign_groups(z, shard.starts, t.W, constant, *how, *a[:4])
        elif was is None:
            _core.assign_gaussian(z, t.W, constant, *how, *a[:4])
        else:
            _core.assign_near(z, was, t.neighbours, t.W, constant, *how, *a[:4])
        if t.shape.name == "tied":  # the same for all clusters, so scores did without it
            np.subtract(a.likelihood, 0.5 * np.square(z @ t.root).sum(axis=1), out=a.likelihood)
    np.add(a.likelihood, t.jacobian, out=a.likelihood)
    return a


def moments(
    z: np.ndarray,
    cluster: np.ndarray,
    r: np.ndarray,
    weight: np.ndarray | None,
    centre: np.ndarray,
    shape: Shape,
) -> GaussianStats:
    """What rows in the frame give to the clusters that they are assigned to.  Eq. (G.5)."""
    K = len(centre)
    S = GaussianStats(np.zeros(K), np.zeros(centre.shape), np.zeros((shape.n_matrices(K), shape.quadratic_size())))
    with one_thread():
        second = np.zeros((K, 0)) if shape.name == "tied" else S.second
        _core.add_moments(z, cluster, r, weight, centre, shape.quadratic, threads(), S.N, S.first, second)
        if shape.name == "tied":  # sum w z z', the same for all clusters
            z64 = z.astype(np.float64)
            S.second += shape.packed((z64.T @ (z64 if weight is None else weight[:, None] * z64))[None])
    return S
