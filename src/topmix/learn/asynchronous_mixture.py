"""Asynchronous workers on the rows of a table or a corpus: clusters travel between them.  docs/math.md, section G.1.

A cluster travels as a row of numbers: N, the statistics of its likelihood and, for dense rows, where these are summed
about. The first pass gives every row responsibilities. It is memoized, on all threads; sparse rows of Gaussian
clusters, which are dense there, are compared with the clusters by native workers instead.

On a cluster of machines a worker solves its rows for the clusters that are with it, several blocks at a time: mass
moves only between clusters that meet. Orders are drawn for each round, so that all of them do.
"""

from __future__ import annotations

import itertools
from abc import ABC, abstractmethod
from collections.abc import Generator, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from topmix import _core
from topmix.base.threads import one_thread
from topmix.corpus.corpus import Corpus
from topmix.corpus.rows import Rows, SparseRows
from topmix.corpus.shard import Shard, Shards, SomeShard, VectorShard
from topmix.engines.blocks import BlockError, BlockRows
from topmix.engines.engine import Engine
from topmix.learn.asynchronous_workers import OnCluster, OwnRows
from topmix.learn.learners import Task
from topmix.models.categorical import Categorical
from topmix.models.frame import GaussianStats
from topmix.models.gaussian import Gaussian
from topmix.models.mixture import Mixture
from topmix.models.model import SomeTotal
from topmix.models.statistics import MixtureStats
from topmix.models.words import WordTotal
from topmix.steps.rows import MixtureStep, rows_at_a_time

if TYPE_CHECKING:
    from topmix.engines.ray_blocks import BlockRound

BLOCKS_PER_WORKER = 16  # of clusters
ROWS_PER_DIMENSION = 48  # solved between two updates where covariances are matrices, whose update costs D^3
ROWS_PER_UPDATE = 4096  # where they are not
ENTRIES_PER_COLUMN = 8  # of sparse rows, solved between two updates, which cost as much as there are columns
TOLERANCE = 1e-9  # of the rows, when those of all clusters are added up


def gaussian(model: Mixture) -> Gaussian:
    assert isinstance(model.likelihood, Gaussian)
    return model.likelihood


class TravellingClusters(ABC):
    """How clusters travel, without the clusters themselves, so that it can be sent."""

    are_compared: ClassVar[bool] = False  # in the first pass, by native workers

    @abstractmethod
    def rows(self, rows: SomeShard, threads: int) -> _core.ClusterRows: ...
    @abstractmethod
    def numbers(self, model: Mixture) -> np.ndarray:
        """[K, numbers of a cluster] as it travels."""

    @abstractmethod
    def statistics(self, numbers: np.ndarray) -> GaussianStats | WordTotal: ...
    def without_rows(self, numbers: np.ndarray) -> np.ndarray:
        return np.zeros_like(numbers)

    def total(self, numbers: np.ndarray, entropy: float, n_rows: float) -> MixtureStats:
        return MixtureStats(self.statistics(numbers), numbers[:, 0].copy(), entropy, n_rows)


@dataclass(frozen=True)
class SomeGaussians(TravellingClusters):
    model: Gaussian  # without clusters
    weight_prior: float

    def prior(self) -> _core.NormalWishart:
        g, p = self.model, self.model.prior
        B, reg = (g.shape.packed(np.asarray(x)[None])[0].ravel() for x in (p.B, p.reg))
        flags = not g.zero_mean, g.objective == "vb"
        return _core.NormalWishart(g.shape.quadratic, *flags, p.beta, p.m, p.nu, B, reg, self.weight_prior)


class GaussianClusters(SomeGaussians):
    """Dense rows."""

    def rows(self, rows: VectorShard, threads: int) -> _core.ClusterRows:
        frame, x = self.model.frame, rows.rows_as("float64")
        z = np.empty_like(x)
        _core.to_frame(x, frame.origin, np.ascontiguousarray(frame.scale), threads, z)
        return _core.GaussianRows(self.prior(), z)

    def numbers(self, model: Mixture) -> np.ndarray:
        g = gaussian(model)
        return np.column_stack([g.total.N, g.total.first, g.total.second, g.posterior.m])

    def statistics(self, numbers: np.ndarray) -> GaussianStats:
        shape = self.model.shape
        D, Q = shape.D, shape.quadratic_size()
        return GaussianStats(numbers[:, 0].copy(), numbers[:, 1 : 1 + D].copy(), numbers[:, 1 + D : 1 + D + Q].copy())

    def without_rows(self, numbers: np.ndarray) -> np.ndarray:
        empty = np.zeros_like(numbers)
        empty[:, -self.model.shape.D :] = numbers[:, -self.model.shape.D :]  # rows are summed about their centres
        return empty


class SparseGaussianClusters(SomeGaussians):
    """Sparse rows, with a variance for each column."""

    are_compared: ClassVar[bool] = True

    @property
    def zero(self) -> np.ndarray:
        """[D] where the row of zeros is, in the frame."""
        return self.model.frame.points(np.zeros(self.model.shape.D))

    def rows(self, rows: VectorShard, threads: int) -> _core.ClusterRows:
        scale = np.ascontiguousarray(self.model.frame.scale)
        return _core.SparseGaussianRows(self.prior(), scale, self.zero, _core.SparseRows(*entries(rows)))

    def numbers(self, model: Mixture) -> np.ndarray:
        """N, and what rows add to both moments of a column beyond what rows of zeros would."""
        t, zero = gaussian(model).total, self.zero
        excess = np.stack([t.first - np.outer(t.N, zero), t.second - np.outer(t.N, zero**2)], axis=2)
        return np.column_stack([t.N, excess.reshape(len(t.N), -1)])

    def statistics(self, numbers: np.ndarray) -> GaussianStats:
        N, zero = numbers[:, 0].copy(), self.zero
        return GaussianStats(N, np.outer(N, zero) + numbers[:, 1::2], np.outer(N, zero**2) + numbers[:, 2::2])


@dataclass(frozen=True)
class CategoricalClusters(TravellingClusters):
    """Bags of words."""

    eta: np.ndarray  # [V]
    is_bayes: bool
    weight_prior: float

    def rows(self, rows: Shard, threads: int) -> _core.ClusterRows:
        return _core.CategoricalRows(self.is_bayes, self.eta, self.weight_prior, _core.CountRows(*entries(rows)))

    def numbers(self, model: Mixture) -> np.ndarray:
        return np.column_stack([model.allocation.counts(), model.likelihood.total.counts().T])

    def statistics(self, numbers: np.ndarray) -> WordTotal:
        return WordTotal.of(np.ascontiguousarray(numbers[:, 1:].T))


def clusters_of(model: Mixture, data: Corpus | Rows) -> TravellingClusters:
    """How the clusters of this model travel, between rows like these."""
    weight_prior, g = float(model.allocation.prior), model.likelihood
    if isinstance(g, Categorical):
        return CategoricalClusters(g.eta[:, 0], g.objective == "vb", weight_prior)
    assert isinstance(g, Gaussian)
    empty = replace(g, total=g.zeros(g.shape.D, 0), n_candidates=0, near=None, age=0)
    kind = SparseGaussianClusters if data.is_sparse else GaussianClusters
    return kind(empty, weight_prior)


def entries(rows: Shard | VectorShard) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Offsets, columns and values of sparse rows."""
    if isinstance(rows, Shard):
        return rows.indptr, rows.cols[rows.index], rows.value
    csr = rows.sparse_rows()
    return csr.indptr.astype(np.int64), csr.indices.astype(np.int32), csr.data.astype(np.float64)


def rows_per_update(name: str, likelihood: type, parameters: Mapping[str, object], data: Corpus | Rows) -> int:
    """Rows between two updates: more where an update costs more. Raises ValueError where clusters of an estimator with
    these parameters cannot travel."""
    if likelihood not in (Gaussian, Categorical):
        raise ValueError(f"{name} cannot be learned with learner='asynchronous': use 'memoized'")
    works: dict[str, tuple[str | None, ...]] = {"weight_concentration_prior_type": ("dirichlet_distribution",)}
    if likelihood is Gaussian:
        kinds = ("diag",) if data.is_sparse else ("full", "diag", "spherical")  # they travel alone
        works |= {"candidates": (None,), "covariance_type": kinds}
    for parameter, values in works.items():
        if (value := parameters[parameter]) not in values:
            why = ", because X is sparse" if values == ("diag",) else ""
            raise ValueError(
                f"learner='asynchronous' needs {parameter} to be {' or '.join(map(repr, values))}, not {value!r}: use "
                f"learner='memoized'{why}"
            )

    n, D = data.shape
    if isinstance(data, Corpus | SparseRows):
        return max(1, -(-ENTRIES_PER_COLUMN * D * n // max(data.nnz, 1)))
    return ROWS_PER_DIMENSION * D if parameters.get("covariance_type") == "full" else ROWS_PER_UPDATE


def in_blocks(K: int, workers: int) -> tuple[int, int]:
    """How many blocks of clusters travel, two clusters each at least, and how many a worker holds at a time: several
    if there are, since rows move only between clusters that meet."""
    blocks = max(1, min(K // 2, BLOCKS_PER_WORKER * workers)) if workers > 1 else 1
    return blocks, max(min(2, blocks), blocks // workers)


class AsynchronousMixture(OwnRows[Mixture]):
    """Threads of this process. One worker makes one pass at a time, and always the same; several do not wait for
    whoever looks at them."""

    def __init__(self, task: Task, workers: int, rows_per_update: int, seed: int):
        super().__init__(task.model, task.max_iter)
        self.task, self.workers, self.rows_per_update, self.seed = task, workers, rows_per_update, seed
        self.clusters = clusters_of(self.latest, task.data)
        self.order = np.concatenate([np.arange(len(task.data))[rows] for rows in task.batches])  # as rows are dealt
        self.cluster = np.empty((len(task.data), task.n_active), np.int32)  # of every row, in that order
        self.r = np.empty(self.cluster.shape, np.float32)

    def totals(self) -> Generator[MixtureStats]:
        self.model, total = self.first_pass(self.model, self.pseudo_counts)
        yield total
        if self.max_iter == 1:
            return
        with one_thread():  # for as long as workers call BLAS, whatever the caller does in between
            self.native = native = self.opened(self.model)
            try:
                for made in range(1, self.max_iter):
                    if self.workers == 1 or made == 1:
                        native.start(made if self.workers == 1 else self.max_iter - 1)
                    snapshot = native.next()
                    assert snapshot is not None  # nobody else stops them
                    # Exact: what the workers posted belongs together.
                    yield self.clusters.total(*snapshot, self.task.n_rows)
            finally:
                self.close()

    def first_pass(self, model: Mixture, pseudo_counts: SomeTotal) -> tuple[Mixture, MixtureStats]:
        """The pseudo-counts fade, and clusters move after each batch.  Eq. (1.9)."""
        if self.clusters.are_compared:
            return self._compared(model)
        batches, total, at, L = self.task.batches, model.no_stats(), 0, self.task.n_active
        likelihood = type(model.likelihood)
        step, shards = MixtureStep(likelihood, L), Shards(self.task.data, batches, self.task.weight, keep=False)
        if pseudo_counts is not None:
            total += pseudo_counts
        for shard in shards:
            tables = model.tables(shard.cols)
            for piece in shard.pieces(rows_at_a_time(model.n_components, L, len(shard.cols))):
                a = likelihood.assign(piece, tables.likelihood, tables.log_weights, L)
                here = slice(at, at := at + piece.n_rows)
                self.cluster[here], self.r[here] = a.cluster, a.r
                total += step.summary(piece, a, tables)
            if pseudo_counts is not None:
                total.add(pseudo_counts, -1.0 / len(batches))
            model = model.update(total)
        return model, total

    def _compared(self, model: Mixture) -> tuple[Mixture, MixtureStats]:
        """One step of batch learning, by the entries of rows alone."""
        rows, clusters, task = self._dealt(), clusters_of(model, self.task.data), self.task
        settings = _core.MixtureSettings(task.n_rows, model.n_components, task.n_active, 1, 1, task.threads)
        numbers = clusters.numbers(model)
        native = _core.NomadicMixture(clusters.rows(rows, task.threads), rows.weight, settings)
        native.forget()
        native.put(0, numbers)
        native.compare([0])
        native.take(0)
        native.settle()
        native.put(0, clusters.without_rows(numbers))
        native.contribute([0])
        self.cluster, self.r = native.assignments()
        total = clusters.total(native.take(0), native.entropy(), task.n_rows)
        return model.update(total), total

    def opened(self, model: Mixture) -> _core.AsynchronousMixture:
        """Each worker has its share of the threads."""
        task, K, dealt = self.task, model.n_components, self._dealt()
        blocks, most = in_blocks(K, self.workers)
        bounds = np.linspace(0, len(task.data), self.workers + 1).astype(np.int64)
        threads = max(1, task.threads // self.workers)
        settings = _core.MixtureSettings(task.n_rows, K, task.n_active, blocks, self.rows_per_update, threads)
        rows = self.clusters.rows(dealt, task.threads)
        # [K, D] where the rows of each cluster are summed about
        centres = gaussian(model).posterior.m if isinstance(self.clusters, GaussianClusters) else None
        start = self.cluster, self.r, centres
        return _core.AsynchronousMixture(rows, dealt.weight, settings, bounds, most, self.seed, *start)

    def _dealt(self) -> Shard | VectorShard:
        return Shards(self.task.data, [self.order], self.task.weight)[0]


class MixtureRows(BlockRows):
    """The rows of one worker. In a run they "compare" the clusters that come and keep the best; then they "add" what
    they have to clusters that come without rows; then both "learn"."""

    what = ""

    def __init__(
        self, clusters: TravellingClusters, about: tuple[float, int, int, int, int], rows: Shard | VectorShard,
        threads: int,
    ):  # fmt: skip
        super().__init__(1)  # one visit at a time, on all threads
        settings = _core.MixtureSettings(*about, threads)  # `about` are all of them but threads
        self.native = _core.NomadicMixture(clusters.rows(rows, threads), rows.weight, settings)

    def begin(self, settings: str) -> None:
        if settings == "compare":
            self.native.forget()
        elif settings == "add":
            self.native.settle()
        self.what = settings

    def put(self, block: int, content: np.ndarray) -> None:
        self.native.put(block, content)

    def take(self, block: int) -> np.ndarray:
        return self.native.take(block)

    def visit(self, thread: int, blocks: list[int], n_round: int) -> None:
        kinds = {"compare": self.native.compare, "add": self.native.contribute, "learn": self.native.visit}
        with one_thread():  # BLAS: a visit has threads of its own
            kinds[self.what](blocks)

    def summary(self, thread: int) -> float:
        return self.native.entropy() if self.what == "learn" else 0.0

    def n_bytes(self) -> int:
        return self.native.of_rows


class MixtureOnCluster(OnCluster[Mixture]):
    """Clusters that travel between the workers of a cluster of machines."""

    def __init__(self, task: Task, engine: Engine, rows_per_update: int, seed: int):
        super().__init__(engine, task.model, task.n_rows, task.max_iter)
        self.task, self.rows_per_update, self.seed = task, rows_per_update, seed % 2**31

    def begin(self, made: int) -> list[np.ndarray]:
        task, K, P = self.task, self.model.n_components, self.workers.n_workers
        self.clusters = clusters_of(self.model, task.data)
        n_blocks, self.together = in_blocks(K, P)
        bounds = np.linspace(0, len(task.data), P + 1).astype(int)
        rows = Shards(task.data, [slice(int(a), int(b)) for a, b in itertools.pairwise(bounds)], task.weight)
        settings = task.n_rows, K, task.n_active, n_blocks, self.rows_per_update
        self.workers.open(partial(MixtureRows, self.clusters, settings), [rows.message(i) for i in range(P)])
        cuts, numbers = np.arange(1, n_blocks) * K // n_blocks, self.clusters.numbers(self.model)
        list(self._run(np.split(numbers, cuts), "compare", 1))
        (end,) = self._run(np.split(self.clusters.without_rows(numbers), cuts), "add", 1)
        return end.contents

    def rounds(self, contents: list[np.ndarray], made: int) -> Generator[BlockRound]:
        return self._run(contents, "learn", self.max_iter - made)

    def _run(self, contents: list[np.ndarray], what: str, rounds: int) -> Generator[BlockRound]:
        return self.workers.run(contents, rounds, self.seed, what, self.together)

    def total(self, end: BlockRound) -> MixtureStats:
        total = self.clusters.total(np.concatenate(end.contents), float(sum(end.summaries)), self.task.n_rows)
        if not abs(total.N.sum() - self.task.n_rows) <= TOLERANCE * self.task.n_rows:
            raise BlockError(f"clusters have {total.N.sum()} rows of {self.task.n_rows}")
        return total
