"""Asynchronous workers on the rows of a table or a corpus: clusters travel between them.  docs/math.md, section G.1.

The first pass gives every row responsibilities to begin with. It is memoized, on all threads; sparse rows of Gaussian
clusters, which are dense there, are compared with the clusters by native workers instead. From then on workers solve
them again for the clusters that they hold.

On a cluster of machines a worker solves its rows for the clusters that are with it, several blocks at a time: mass
moves only between clusters that meet. Routes are drawn for each round, so that all of them do.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from topmix.data.corpus import Corpus
from topmix.data.rows import Rows, SparseRows
from topmix.data.shard import Shard, Shards
from topmix.data.vectors import VectorShard
from topmix.engines import Ray
from topmix.engines.nomad_ledger import LedgerError
from topmix.learners.learner import Passes, PassResult, State, Task
from topmix.learners.nomadic import Nomadic, OwnRows
from topmix.learners.travelling_clusters import Deal, NativeWorkers, StationSettings, TravellingClusters, clusters_of
from topmix.local.mixture import MixtureStep, rows_at_a_time
from topmix.models.mixture import Mixture
from topmix.numerics.blas import one_thread
from topmix.stats import MixtureStats

if TYPE_CHECKING:
    from topmix.engines.ray_nomads import Round

BLOCKS_PER_WORKER = 16  # of clusters
ROWS_PER_DIMENSION = 48  # solved between two updates where covariances are matrices, whose update costs D^3
ROWS_PER_UPDATE = 4096  # where they are not
ENTRIES_PER_COLUMN = 8  # of sparse rows, solved between two updates, which cost as much as there are columns
TOLERANCE = 1e-9  # of the rows, when those of all clusters are added up


@dataclass
class Assignments:
    """The clusters and shares of every row, in the order in which rows are dealt."""

    data: Corpus | Rows
    weight: np.ndarray | None  # [N]
    batches: Sequence[slice | np.ndarray]
    cluster: np.ndarray  # [N, L] int32
    r: np.ndarray  # [N, L]
    _order: list[np.ndarray] = field(default_factory=list)

    @classmethod
    def none(
        cls, data: Corpus | Rows, weight: np.ndarray | None, batches: Sequence[slice | np.ndarray], L: int
    ) -> Assignments:
        dtype = data.data.dtype if isinstance(data, Rows) and not isinstance(data, SparseRows) else np.float32
        return cls(data, weight, batches, np.empty((len(data), L), np.int32), np.empty((len(data), L), dtype))

    @property
    def is_sparse(self) -> bool:
        return not isinstance(self.data, Rows) or isinstance(self.data, SparseRows)

    def dealt(self) -> Shard | VectorShard:
        """All rows, in their order."""
        return Shards(self.data, [np.concatenate(self._order)], self.weight)[0]

    def first_pass(
        self, model: Mixture, pseudo_counts: MixtureStats | None, threads: int
    ) -> tuple[Mixture, MixtureStats]:
        self._order = [np.arange(len(self.data))[rows] for rows in self.batches]
        if isinstance(self.data, SparseRows):
            return self._compared(model, threads)
        return self._memoized(model, pseudo_counts)

    def _memoized(self, model: Mixture, pseudo_counts: MixtureStats | None) -> tuple[Mixture, MixtureStats]:
        """The pseudo-counts fade, and clusters move after each batch.  Eq. (1.9)."""
        total, at, L = model.no_stats(), 0, self.cluster.shape[1]
        likelihood = type(model.likelihood)
        step = MixtureStep(likelihood, L)
        if pseudo_counts is not None:
            total += pseudo_counts
        for b in range(len(self.batches)):
            shard = Shards(self.data, self.batches, self.weight)[b]  # of a corpus: one at a time
            tables = model.tables(shard.cols)
            for piece in shard.pieces(rows_at_a_time(model.n_components, L, len(shard.cols))):
                a = likelihood.assign(piece, tables.likelihood, tables.log_weights, L)
                here = slice(at, at := at + piece.n_rows)
                self.cluster[here], self.r[here] = a.cluster, a.r
                total += step.summary(piece, a, tables)
            if pseudo_counts is not None:
                total.add(pseudo_counts, -1.0 / len(self.batches))
            model = model.update(total)
        return model, total

    def _compared(self, model: Mixture, threads: int) -> tuple[Mixture, MixtureStats]:
        """One step of batch learning, by the entries of rows alone."""
        L, K, rows = self.cluster.shape[1], model.n_components, self.dealt()
        clusters = clusters_of(model, is_sparse=True)
        n_rows = float(len(self.data)) if self.weight is None else float(self.weight.sum())
        native, numbers = clusters.station(rows, StationSettings(n_rows, K, L, 1, 1, threads)), clusters.numbers(model)
        native.forget()
        native.put(0, numbers)
        native.compare([0])
        native.take(0)
        native.settle()
        native.put(0, clusters.without_rows(numbers))
        native.contribute([0])
        numbers = native.take(0)
        self.cluster, self.r = native.assignments()
        total = MixtureStats(clusters.statistics(numbers), numbers[:, 0].copy(), native.entropy(), n_rows)
        return model.update(total), total


class AsynchronousMixture(OwnRows[Mixture]):
    """Native workers on one table or corpus. One worker makes one pass at a time, and always the same; several do not
    wait for whoever looks at them. Each has its share of the threads."""

    def __init__(self, task: Task, workers: int, rows_per_update: int, seed: int):
        self.rows = Assignments.none(task.data, task.weight, task.batches, task.n_active)
        self.workers, self.threads, self.rows_per_update = workers, task.threads, rows_per_update
        self.max_iter, self.seed = task.max_iter, seed
        self.n_rows = float(len(task.data)) if task.weight is None else float(task.weight.sum())
        self.native: NativeWorkers | None = None
        self.clusters: TravellingClusters = clusters_of(task.model, is_sparse=self.rows.is_sparse)
        self.latest: Mixture = task.model

    def passes(self, model: Mixture, state: State) -> Passes:
        pseudo, state.pseudo_counts = state.pseudo_counts, None
        model, state.total = self.rows.first_pass(model, pseudo, self.threads)
        self.latest = model
        yield PassResult(model, state.total, {})
        made = before = 1  # passes
        with one_thread():  # for as long as workers call BLAS, whatever the caller does in between
            try:
                while made < self.max_iter:
                    if self.native is None:
                        before = made
                        self.native = self._opened(model)
                        if self.workers > 1:
                            self.native.start(self.max_iter - before)
                    if self.workers == 1:
                        self.native.start(made - before + 1)
                    snapshot = self.native.next()
                    assert snapshot is not None  # nobody else stops them
                    state.total, made = self.statistics(snapshot), made + 1
                    self.latest = model = model.update(state.total)
                    yield PassResult(model, state.total, {})
                    if not self.clusters.serves(model):  # they got thin: continue in double
                        self.rows.cluster, self.rows.r = self.native.assignments()
                        self.native = None
            finally:
                self.close()

    def _opened(self, model: Mixture) -> NativeWorkers:
        rows, workers = self.rows, self.workers
        self.clusters = clusters_of(model, is_sparse=rows.is_sparse)
        bounds = np.linspace(0, len(rows.data), workers + 1).astype(np.int64)
        r = rows.r.astype(self.clusters.dtype, copy=False)
        threads = max(1, self.threads // workers)
        how = (*in_blocks(model.n_components, workers), self.rows_per_update, threads, self.seed)
        return self.clusters.workers(model, rows.dealt(), Deal(bounds, rows.cluster, r, *how))

    def statistics(self, snapshot: tuple[np.ndarray, float]) -> MixtureStats:
        """Of all rows. Exact: what the workers posted belongs together."""
        numbers, H = snapshot
        return MixtureStats(self.clusters.statistics(numbers), numbers[:, 0].copy(), H, self.n_rows)

    def interrupted(self, model: Mixture) -> Mixture:
        """The last snapshot."""
        return self.latest

    def close(self) -> None:
        if self.native is not None:
            self.native.stop()


def usual_rows(data: Corpus | Rows, *, has_matrices: bool = False) -> int:
    """Rows between two updates: more where an update costs more."""
    n, D = data.shape
    if isinstance(data, Corpus | SparseRows):
        return max(1, -(-ENTRIES_PER_COLUMN * D * n // max(data.nnz, 1)))
    return ROWS_PER_DIMENSION * D if has_matrices else ROWS_PER_UPDATE


def in_blocks(K: int, workers: int) -> tuple[int, int]:
    """How many blocks of clusters travel, two clusters each at least, and how many a worker holds at a time: several
    if there are, since rows move only between clusters that meet."""
    blocks = max(1, min(K // 2, BLOCKS_PER_WORKER * workers)) if workers > 1 else 1
    return blocks, max(min(2, blocks), blocks // workers)


class Settings(NamedTuple):
    """Of a run: rows "compare" the clusters that come and keep the best; then they "add" what they have to clusters
    that come without rows; then both "learn"."""

    what: str


@dataclass(frozen=True)
class Maker:
    """What a worker needs besides its rows."""

    clusters: TravellingClusters
    all_rows: float
    n_clusters: int
    n_active: int
    n_blocks: int
    together: int
    rows_per_update: int

    def __call__(self, rows: Shard | VectorShard, threads: int) -> MixtureStation:
        return MixtureStation(self, rows, threads)


class MixtureStation:
    """The rows of one worker (engines/ray_nomad.py: Station)."""

    n_threads = 1  # one visit at a time, on all threads

    def __init__(self, maker: Maker, rows: Shard | VectorShard, threads: int):
        self.together = maker.together
        settings = StationSettings(
            maker.all_rows, maker.n_clusters, maker.n_active, maker.n_blocks, maker.rows_per_update, threads
        )
        self.native = maker.clusters.station(rows, settings)
        self.what = ""

    def begin(self, settings: Settings) -> None:
        if settings.what == "compare":
            self.native.forget()
        elif settings.what == "add":
            self.native.settle()
        self.what = settings.what

    def put(self, block: int, content: np.ndarray) -> None:
        self.native.put(block, content)

    def take(self, block: int) -> np.ndarray:
        found: np.ndarray = self.native.take(block)
        return found

    def visit(self, thread: int, blocks: list[int], n_round: int) -> None:
        kinds = {"compare": self.native.compare, "add": self.native.contribute, "learn": self.native.visit}
        with one_thread():  # BLAS: a visit has threads of its own
            kinds[self.what](blocks)

    def post(self, thread: int) -> float:
        return float(self.native.entropy()) if self.what == "learn" else 0.0

    def own_changes(self) -> None:
        """A cluster needs nothing of the others."""

    def apply_changes(self, delta: np.ndarray) -> None: ...

    def n_bytes(self) -> int:
        return int(self.native.of_rows)


class NomadicMixture(Nomadic[Mixture]):
    """Clusters that travel between the workers of a cluster of machines."""

    clusters: TravellingClusters

    def __init__(self, task: Task, engine: Ray, rows_per_update: int, seed: int):
        self.data, self.weight = task.data, task.weight
        n_rows = float(len(task.data)) if task.weight is None else float(task.weight.sum())
        super().__init__(engine.nomads(), task.model, n_rows, task.max_iter)
        self.nomads.visitors = 1
        self.n_active, self.rows_per_update, self.seed = task.n_active, rows_per_update, seed % 2**31

    def _open(self, model: Mixture, made: int) -> None:
        P, n = self.nomads.n_workers, len(self.data)
        is_sparse = not isinstance(self.data, Rows) or isinstance(self.data, SparseRows)
        self.clusters = clusters_of(model, is_sparse=is_sparse)
        blocks = in_blocks(model.n_components, P)
        self.cuts = np.arange(blocks[0] + 1) * model.n_components // blocks[0]
        bounds = np.linspace(0, n, P + 1).astype(int)
        rows = Shards(self.data, [slice(int(a), int(b)) for a, b in itertools.pairwise(bounds)], self.weight)
        maker = Maker(self.clusters, self.n_rows, model.n_components, self.n_active, *blocks, self.rows_per_update)
        self.nomads.open([maker] * P, [rows.message(i) for i in range(P)])
        numbers = self.clusters.numbers(model)
        for _ in self._run(numbers, "compare", 1):
            pass
        for end in self._run(self.clusters.without_rows(numbers), "add", 1):
            self.contents = end.contents

    def _learn(self, model: Mixture, made: int) -> Iterator[MixtureStats]:
        assert self.contents is not None
        for end in self._run(np.concatenate(self.contents), "learn", self.max_iter - made):
            self.contents = end.contents
            total = self._statistics(end.contents, float(sum(end.posts)))
            yield total
            if not self.clusters.serves(model.update(total)):  # they got thin: begin again in double
                self.contents = None
                return

    def _run(self, numbers: np.ndarray, what: str, rounds: int) -> Iterator[Round]:
        contents = np.split(numbers, self.cuts[1:-1])
        return self.nomads.run(contents, rounds, self.seed, Settings(what), redraw=True)

    def _statistics(self, contents: list[np.ndarray], entropy: float) -> MixtureStats:
        numbers = np.concatenate(contents)
        N = numbers[:, 0].copy()
        if not abs(N.sum() - self.n_rows) <= TOLERANCE * self.n_rows:
            raise LedgerError(f"clusters have {N.sum()} rows of {self.n_rows}")
        return MixtureStats(self.clusters.statistics(numbers), N, entropy, self.n_rows)
