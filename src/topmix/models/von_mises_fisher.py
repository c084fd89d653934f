"""Directions: x ~ vMF(mu_k, kappa_k), rows of unit length in D dimensions.  docs/math.md, section V.

    p(x | mu, kappa) = C_D(kappa) exp(kappa mu'x),     C_D(kappa) = kappa^nu / ((2 pi)^(D/2) I_nu(kappa)),  nu = D/2 - 1

A cluster is a point (mu, kappa), with a weak prior: b pseudo-rows around its own mean, spread as in an average cluster.
Scores are linear in x, so that the kernels of Gaussian clusters, without their quadratic part, serve here too.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Annotated, ClassVar, NamedTuple

import numpy as np

from topmix import _core
from topmix.base.bessel import LARGEST as LARGEST_CONCENTRATION, inverse_ratio, log_ive
from topmix.base.dirichlet import NEGLIGIBLE
from topmix.base.fields import CheckedReader
from topmix.base.threads import one_thread, threads
from topmix.corpus.rows import Rows
from topmix.corpus.shard import GroupShard, VectorShard
from topmix.models.model import FEW_SUMS, LEAST_SHARE, TOLERANCE, Assignment, ClusterSums, Likelihood, Pieces, most_of
from topmix.models.statistics import Additive
from topmix.models.stored import Numbers, Stored, choice, number

OBJECTIVES = ("map", "ml")
CONCENTRATIONS = ("free", "tied")


@dataclass(slots=True)
class DirectionStats(Additive, Stored):
    """Sums of rows, cluster by cluster.  Eq. (V.4)."""

    resultant: Annotated[np.ndarray, Numbers("K", "D")]  # sum w r x

    def times(self, factor: np.ndarray) -> DirectionStats:
        """Each cluster times its factor."""
        return DirectionStats(factor[:, None] * self.resultant)


class DirectionTables(NamedTuple):
    """What a shard needs of the clusters: all of it, since rows are dense.  Eq. (V.3)."""

    W: np.ndarray  # [K, D] kappa mu, float32 or float64, which is what rows are computed in
    constant: np.ndarray  # [K] log C_D(kappa)


class Parameters(NamedTuple):
    """The point that maximises the objective.  Eqs. (V.5)-(V.6)."""

    mu: np.ndarray  # [K, D] unit length
    kappa: np.ndarray  # [K]
    log_peak: np.ndarray  # [K] log C_D(kappa) + kappa, the log density at mu


@dataclass(frozen=True)
class VonMisesFisher(Stored, Likelihood):
    """K clusters of directions. It borrows the total it was made from."""

    rows: ClassVar[str] = "directions"
    objectives: ClassVar[tuple[str, ...]] = OBJECTIVES

    objective: str
    prior_rows: Annotated[float, number(1e-20)]  # b, pseudo-rows of each cluster under "map"
    prior_resultant: Annotated[float, number(0.0, 1.0)]  # rho, the length of their mean
    data_mean: Annotated[np.ndarray, Numbers("D")]  # of all rows: where a cluster without rows points to
    max_concentration: Annotated[float, number(1e-20, LARGEST_CONCENTRATION)]
    dtype: Annotated[str, choice("float32", "float64")]  # of the data
    total: DirectionStats
    N: Annotated[np.ndarray, Numbers("K")]  # rows of each cluster
    concentration_type: Annotated[str, choice(*CONCENTRATIONS)] = "free"  # "tied": the same for all clusters

    @property
    def n_features(self) -> int:
        return len(self.data_mean)

    def zeros(self, n_features: int, K: int) -> DirectionStats:
        return DirectionStats(np.zeros((K, n_features)))

    def update(self, S: DirectionStats, N: np.ndarray) -> VonMisesFisher:
        """The mode.  Eqs. (V.5)-(V.6)."""
        new = replace(self, total=S, N=N.copy())
        new.parameters  # noqa: B018  (now, before the learner changes the total)
        return new

    @cached_property
    def parameters(self) -> Parameters:
        D, b = self.n_features, self.prior_rows if self.objective == "map" else 0.0
        N = np.maximum(self.N, 0.0)  # rounding may leave negative numbers
        R = self.total.resultant + NEGLIGIBLE * self.data_mean
        length = np.sqrt(np.einsum("kd,kd->k", R, R))
        along, rows = length + b * self.prior_resultant, N + b + NEGLIGIBLE
        r = along / rows if self.concentration_type == "free" else np.full(len(N), along.sum() / rows.sum())
        none = length <= 1e-300  # rows that cancel exactly: any direction is as good
        R[none, 0], length[none] = 1e-300, 1e-300
        kappa = inverse_ratio(D, r, self.max_concentration)
        return Parameters(R / length[:, None], kappa, log_peak(D, kappa))

    def bound(self, S: DirectionStats, N: np.ndarray) -> float:
        """sum log p(x | z, mu, kappa), and under "map" the log prior without its constant.  Eq. (V.7)."""
        p, b = self.parameters, self.prior_rows if self.objective == "map" else 0.0
        n = N + b
        along = np.einsum("kd,kd->k", p.mu, S.resultant) + b * self.prior_resultant
        return float(n @ p.log_peak + p.kappa @ (along - n))

    def regrouped(self, pieces: Pieces, N: np.ndarray) -> VonMisesFisher:
        return self.update(DirectionStats(sum(parts @ S.resultant for parts, S in pieces)), N)

    def scatter(self, S: DirectionStats, N: np.ndarray) -> np.ndarray:
        """[K] rows less the length of their sum."""
        return np.asarray(N - np.linalg.norm(S.resultant, axis=1))

    def mean(self) -> np.ndarray:
        """[K, D], of unit length."""
        return self.parameters.mu

    def of_rows(self, table: Rows, r: np.ndarray, weight: np.ndarray | None = None) -> DirectionStats:
        resultant, begin = np.zeros((r.shape[1], table.shape[1])), 0
        with one_thread():
            for block in table.blocks():
                rows = slice(begin, begin + len(block))
                share = r[rows] if weight is None else weight[rows, None] * r[rows]
                resultant += share.T @ np.ascontiguousarray(block)
                begin += len(block)
        return DirectionStats(resultant)

    def n_parameters(self) -> int:
        K, D = self.total.resultant.shape
        return K * (D - 1) + (K if self.concentration_type == "free" else 1)

    def tables(self, cols: np.ndarray) -> DirectionTables:
        return self._tables

    @cached_property
    def _tables(self) -> DirectionTables:
        p = self.parameters
        dtype = np.float64 if self.dtype == "float64" or self.rounding() > TOLERANCE else np.float32
        return DirectionTables((p.kappa[:, None] * p.mu).astype(dtype), p.log_peak - p.kappa)

    def rounding(self) -> float:
        """Nats that a score may lose in float32, in clusters that hold 99 of 100 rows: log C_D(kappa) and kappa mu'x
        are both about kappa, and cancel."""
        return most_of(self.parameters.kappa, self.N) * 2.0**-24

    @staticmethod
    def assign(
        shard: VectorShard,
        t: DirectionTables,
        log_weights: np.ndarray,
        L: int,
        among: tuple[np.ndarray, np.ndarray] | None = None,
    ) -> Assignment:
        """`among` is the cluster that each row was in, and the candidates [rows, C], ascending, that alone score it."""
        n, dtype = shard.n_rows, t.W.dtype
        x = shard.rows_as(dtype)
        a = Assignment(np.empty((n, L), np.int32), np.empty((n, L), dtype), np.empty(n), np.empty(n), x)
        constant = (t.constant + log_weights).astype(dtype)
        with one_thread():
            if isinstance(shard, GroupShard):  # constants are [groups, K]
                _core.assign_groups(x, shard.starts, t.W, constant, "none", True, threads(), *a[:4])
            elif among is None:
                _core.assign_gaussian(x, t.W, constant, "none", True, threads(), *a[:4])
            else:
                _core.assign_among(x, *among, t.W, constant, threads(), *a[:4])
        a.r[a.r < LEAST_SHARE[dtype]] = 0
        return a

    @staticmethod
    def summarise(shard: VectorShard, a: Assignment, K: int) -> DirectionStats:
        D = a.x.shape[1]
        S, N, second = DirectionStats(np.zeros((K, D))), np.zeros(K), np.zeros((K, 0))
        origin = np.zeros((K, D), a.x.dtype)
        _core.add_moments(a.x, a.cluster, a.r, shard.weight, origin, "none", threads(), N, S.resultant, second)
        return S

    @staticmethod
    def reads_once(t: DirectionTables) -> bool:
        return t.W.size <= FEW_SUMS

    @staticmethod
    def visit(shard: VectorShard, t: DirectionTables, log_weights: np.ndarray, L: int) -> ClusterSums:
        """`assign` and `summarise` in one visit to the rows.  Eqs. (V.3)-(V.4)."""
        (K, D), dtype = t.W.shape, t.W.dtype
        x, rows = shard.in_place(dtype)
        constant = (t.constant + log_weights).astype(dtype)
        S, N, no_squares = DirectionStats(np.zeros((K, D))), np.zeros(K), np.zeros((K, 0))
        scores, how = (None, None, t.W, constant, "none", True, None), (L, LEAST_SHARE[dtype], threads())
        with one_thread():
            entropy = _core.visit_rows(x, rows, *scores, shard.weight, *how, N, S.resultant, no_squares)
        return ClusterSums(S, N, entropy)

    def check_fields(self) -> None:
        with np.errstate(all="ignore"):
            numbers = self.parameters
        if not all(np.all(np.isfinite(x)) for x in numbers):
            raise ValueError("the parameters of clusters make no sense")

    def read_sums(self, file: CheckedReader, K: int) -> DirectionStats:
        return DirectionStats.read(file, D=self.n_features, K=K)


def log_peak(D: int, kappa: np.ndarray) -> np.ndarray:
    """log C_D(kappa) + kappa, which grows like (D - 1)/2 log kappa, and at zero is that of the uniform distribution."""
    x = np.maximum(kappa, 1e-30)
    nu = D / 2 - 1
    return nu * np.log(x) - 0.5 * D * np.log(2 * np.pi) - log_ive(nu, x)


def sample(mu: np.ndarray, kappa: float, n: int, rng: np.random.Generator) -> np.ndarray:
    """[n, D] rows of unit length around mu [D]."""
    D = len(mu)
    if D == 1:
        up = rng.random(n) < 1.0 / (1.0 + np.exp(-2.0 * min(kappa, 350.0)))
        return np.where(up, 1.0, -1.0)[:, None] * mu
    v = rng.standard_normal((n, D))
    v -= (v @ mu)[:, None] * mu
    v /= np.maximum(np.linalg.norm(v, axis=1, keepdims=True), 1e-300)
    along, across = cosines(D, kappa, n, rng)
    return along[:, None] * mu + across[:, None] * v


def cosines(D: int, kappa: float, n: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """mu'x of n rows, and the sine that goes with each: rejection from a transformed Beta.

    Written in t = 1 - w rather than in the cosine w, which has no digits left where kappa is large.
    """
    m = D - 1
    b = m / (2 * kappa + np.hypot(2 * kappa, m))
    x0 = (1 - b) / (1 + b)
    rest = 2 * b / (1 + b)  # 1 - x0
    log_c = np.log(rest * (1 + x0))  # log (1 - x0^2)
    t, found = np.empty(n), 0
    while found < n:
        size = int(1.2 * (n - found)) + 16
        z = rng.beta(0.5 * m, 0.5 * m, size)
        tried = 2 * b * z / (1 - (1 - b) * z)  # 1 - w
        # kappa w + m log(1 - x0 w) - (kappa x0 + m log(1 - x0^2)), with 1 - x0 w = rest + x0 t
        accept = kappa * (rest - tried) + m * (np.log(rest + x0 * tried) - log_c)
        kept = tried[accept >= np.log(1.0 - rng.random(size))][: n - found]
        t[found : found + len(kept)] = kept
        found += len(kept)
    return 1 - t, np.sqrt(t * (2 - t))
