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
from topmix.base.component import Json
from topmix.base.dirichlet import NEGLIGIBLE
from topmix.base.fields import CheckedReader
from topmix.base.threads import one_thread, threads
from topmix.corpus.rows import Rows
from topmix.corpus.shard import VectorShard
from topmix.models.k_means import far_apart, sample_of
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
    has_scatter: ClassVar[bool] = True

    objective: str
    prior_rows: Annotated[float, number(1e-20)]  # b, pseudo-rows of each cluster under "map"
    prior_resultant: Annotated[float, number(0.0, 1.0)]  # rho, the length of their mean
    data_mean: Annotated[np.ndarray, Numbers("D")]  # of all rows: where a cluster without rows points to
    max_concentration: Annotated[float, number(1e-20, LARGEST_CONCENTRATION)]
    dtype: Annotated[str, choice("float32", "float64")]  # of the data
    total: DirectionStats
    N: Annotated[np.ndarray, Numbers("K")]  # rows of each cluster
    concentration_type: Annotated[str, choice(*CONCENTRATIONS)] = "free"  # "tied": the same for all clusters

    def zeros(self, n_features: int, K: int) -> DirectionStats:
        return DirectionStats(np.zeros((K, n_features)))

    def update(self, S: DirectionStats, N: np.ndarray) -> VonMisesFisher:
        """The mode.  Eqs. (V.5)-(V.6)."""
        new = replace(self, total=S, N=N.copy())
        new.parameters  # noqa: B018  (now, before the learner changes the total)
        return new

    @cached_property
    def parameters(self) -> Parameters:
        D, b = len(self.data_mean), self.prior_rows if self.objective == "map" else 0.0
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
        # Nats that a score may lose in float32: log C_D(kappa) and kappa mu'x are both about kappa, and cancel.
        rounding = most_of(p.kappa, self.N) * 2.0**-24
        dtype = np.float64 if self.dtype == "float64" or rounding > TOLERANCE else np.float32
        return DirectionTables((p.kappa[:, None] * p.mu).astype(dtype), p.log_peak - p.kappa)

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
            if shard.starts is not None:  # constants are [groups, K]
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
        return S, N, entropy

    def check_fields(self) -> None:
        with np.errstate(all="ignore"):
            numbers = self.parameters
        if not all(np.all(np.isfinite(x)) for x in numbers):
            raise ValueError("the parameters of clusters make no sense")

    def read_sums(self, file: CheckedReader, K: int) -> DirectionStats:
        return DirectionStats.read(file, D=len(self.data_mean), K=K)


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


# Where clusters of directions start: their prior, from all of the data, and first clusters, from a sample of it.
#
# k-means++ draws K rows far from each other, the sample goes to the nearest of them, and a few rounds of spherical
# k-means follow. All clusters start with one concentration, so that the first assignment is by the cosine alone: the
# mean of three rows in hundreds of dimensions says nothing about how far they spread.

SAMPLE = 10_000  # rows, at least, and this many for each cluster:
SAMPLE_PER_CLUSTER = 20
TRIAL, ROUNDS = 3, 10  # of spherical k-means on the sample: to compare starts, and for the one that is kept, at most
ENOUGH = 1e-5  # a round that brings rows closer to their clusters by less, relatively, is the last
MANY = 256  # clusters: from here on most visits score a row by a few candidates,
CANDIDATES, FULL_EVERY = 32, 5  # of each row, and rounds from one full scan to the next
STARTS = ("auto", "k-means++", "random_from_data")


def empty(
    table: Rows,
    weight: np.ndarray | None,
    K: int,
    *,
    objective: str = "map",
    prior_rows: float = 1.0,
    max_concentration: float = 1e6,
    concentration_type: str = "free",
) -> VonMisesFisher:
    """No clusters yet. Pseudo-rows are spread like all of the data, until `start` knows better."""
    D, begin, total = table.shape[1], 0, 0.0
    sums = np.zeros(D)
    with one_thread():
        for block in table.blocks():
            w = np.ones(len(block)) if weight is None else weight[begin : begin + len(block)]
            sums += w.astype(block.dtype) @ np.ascontiguousarray(block)
            total += float(w.sum())
            begin += len(block)
    mean = sums / max(total, 1e-300)
    spread = min(float(np.linalg.norm(mean)), 1.0)  # rounding may leave more than one
    none, dtype = DirectionStats(np.zeros((K, D))), str(table.data.dtype)
    prior = (objective, prior_rows, spread, mean, max_concentration)
    return VonMisesFisher(*prior, dtype, none, np.zeros(K), concentration_type)


@dataclass
class DirectionStart:
    """First clusters of directions."""

    data: Rows
    weight: np.ndarray | None
    K: int
    settings: Json  # what `empty` takes
    how: str | np.ndarray  # one of STARTS, or responsibilities [N, K]

    @cached_property
    def empty(self) -> VonMisesFisher:
        """Clusters at their prior."""
        return empty(self.data, self.weight, self.K, **self.settings)

    def first(self, rng: np.random.Generator) -> tuple[VonMisesFisher, np.ndarray]:
        if isinstance(self.how, str):
            model = start(self.empty, self.data, self.weight, self.how, rng)
            return model, model.N
        total = self.empty.of_rows(self.data, self.how, self.weight)
        N = self.how.sum(axis=0) if self.weight is None else self.weight @ self.how
        common = common_resultant(total.resultant, N, self.weight)
        return replace(self.empty, prior_resultant=common).update(total, N), N

    def again(self, clusters: VonMisesFisher) -> VonMisesFisher:
        return replace(clusters, **self.settings).update(clusters.total, clusters.N)


def start(
    model: VonMisesFisher, table: Rows, weight: np.ndarray | None, init: str, rng: np.random.Generator
) -> VonMisesFisher:
    """First clusters, by one of STARTS, from statistics that come to as many rows as there are. "auto" tries k-means++,
    which finds the tails where no groups stand apart, and random rows, and keeps the one whose rows are closer."""
    K = len(model.N)
    rows = sample_of(len(table), weight, max(SAMPLE, SAMPLE_PER_CLUSTER * K), rng)
    w = np.ones(len(rows)) if weight is None else weight[rows]
    x = np.ascontiguousarray(table.data[rows])
    n_rows = float(len(table)) if weight is None else float(weight.sum())

    tries = []
    for how in ("k-means++", "random_from_data") if init == "auto" else (init,):
        if how == "k-means++":
            seeds = x[spread_rows(x, w, K, rng)]
        else:
            seeds = x[rng.choice(len(x), K, replace=bool(np.count_nonzero(w) < K), p=w / w.sum())]
        tries.append((seeds, spherical_k_means(x, w, seeds, seeds, TRIAL)[0]))
    seeds, R = max(tries, key=lambda trial: np.linalg.norm(trial[1], axis=1).sum())
    R, N = spherical_k_means(x, w, seeds, unit(R), ROUNDS)
    common = common_resultant(R, N, w)
    N = N * (n_rows / N.sum())
    alike = DirectionStats(N[:, None] * common * unit(R))
    return replace(model, prior_resultant=common).update(alike, N)


def spherical_k_means(
    x: np.ndarray, weight: np.ndarray, seeds: np.ndarray, mu: np.ndarray, n_rounds: int
) -> tuple[np.ndarray, np.ndarray]:
    """[K, D] sums of the rows of each cluster, and [K] how many they are, after some rounds from mu [K, D]. Seeds
    belong to their clusters, with little weight, so that none is empty."""
    K, last = len(mu), 0.0
    shard, little = VectorShard(x, slice(None), weight), 1e-3 * weight.sum() / len(weight)
    among: np.ndarray | None = None  # candidates [rows, CANDIDATES]
    best = np.zeros(len(x), np.int32)
    for i in range(n_rounds):
        args = (shard, DirectionTables(np.ascontiguousarray(mu, x.dtype), np.zeros(K)), np.zeros(K))
        if K < MANY and VonMisesFisher.reads_once(args[1]):
            sums, N, _ = VonMisesFisher.visit(*args, 1)
        else:
            if K >= MANY and (among is None or i % FULL_EVERY == 0):
                among = VonMisesFisher.assign(*args, CANDIDATES).cluster
            a = VonMisesFisher.assign(*args, 1, None if among is None else (best, among))
            best = a.cluster[:, 0].copy()
            sums, N = VonMisesFisher.summarise(shard, a, K), np.bincount(best, weight, minlength=K)
        R, N = sums.resultant + little * seeds.astype(np.float64), N + little
        now, mu = float(np.linalg.norm(R, axis=1).sum()), unit(R)  # the summed cosine of rows with their cluster
        if now < (1.0 + ENOUGH) * last:
            break
        last = now
    return R, N


def unit(R: np.ndarray) -> np.ndarray:
    return R / np.maximum(np.linalg.norm(R, axis=1), 1e-300)[:, None]


def common_resultant(R: np.ndarray, N: np.ndarray, weight: np.ndarray | None) -> float:
    """How long the mean of a cluster's rows is, on average: the root of the mean of x'y over pairs of its rows."""
    size = 1.0 if weight is None else float(np.square(weight).sum() / weight.sum())  # of a typical row
    n = N / size
    some = n > 1.5
    if not some.any():
        return 0.5
    alike = np.square(np.linalg.norm(R[some], axis=1) / size).sum() - n[some].sum()
    return float(np.sqrt(np.clip(alike / (n[some] * (n[some] - 1.0)).sum(), 0.0, 1.0)))


def spread_rows(x: np.ndarray, weight: np.ndarray, K: int, rng: np.random.Generator) -> np.ndarray:
    """K rows far from each other, by k-means++ under 1 - cos."""

    def distances(rows: np.ndarray) -> np.ndarray:
        with one_thread():
            dot = x[rows] @ x.T
        return np.maximum(1.0 - dot, 0.0, out=dot)

    return far_apart(distances, weight, K, rng, several=True)[0]
