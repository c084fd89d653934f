"""Asynchronous workers on the rows of a table or a corpus: clusters travel between them.  docs/math.md, section G.1.

The first pass gives every row responsibilities to begin with. It is memoized, on all threads; sparse rows of Gaussian
clusters, which are dense there, are compared with the clusters by native workers instead. From then on workers solve
them again for the clusters that they hold.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from topmix.data.corpus import Corpus
from topmix.data.shard import Shards
from topmix.data.sparse_table import SparseTable
from topmix.data.table import Table
from topmix.learners.learner import Passes, PassResult, State
from topmix.learners.task import Task
from topmix.learners.travelling_clusters import Deal, Stay, TravellingClusters, clusters_of
from topmix.local.mixture import MixtureStep, rows_at_a_time
from topmix.models.mixture import Mixture
from topmix.numerics.blas import one_thread
from topmix.stats import MixtureStats

BLOCKS_PER_WORKER = 16  # of clusters
ROWS_PER_DIMENSION = 48  # solved between two updates where covariances are matrices, whose update costs D^3
ROWS_PER_UPDATE = 4096  # where they are not
ENTRIES_PER_COLUMN = 8  # of sparse rows, solved between two updates, which cost as much as there are columns


@dataclass
class Assignments:
    """The clusters and shares of every row, in the order in which rows are dealt."""

    data: Corpus | Table
    weight: np.ndarray | None  # [N]
    batches: Sequence[slice | np.ndarray]
    cluster: np.ndarray  # [N, L] int32
    r: np.ndarray  # [N, L]
    _order: list[np.ndarray] = field(default_factory=list)

    @classmethod
    def none(
        cls, data: Corpus | Table, weight: np.ndarray | None, batches: Sequence[slice | np.ndarray], L: int
    ) -> Assignments:
        dtype = data.data.dtype if isinstance(data, Table) and not isinstance(data, SparseTable) else np.float32
        return cls(data, weight, batches, np.empty((len(data), L), np.int32), np.empty((len(data), L), dtype))

    @property
    def is_sparse(self) -> bool:
        return not isinstance(self.data, Table) or isinstance(self.data, SparseTable)

    def dealt(self) -> Any:
        """All rows, in their order."""
        return Shards(self.data, [np.concatenate(self._order)], self.weight)[0]

    def first_pass(self, model: Mixture, pseudo_counts: Any, threads: int) -> tuple[Mixture, MixtureStats]:
        self._order = [np.arange(len(self.data))[rows] for rows in self.batches]
        if isinstance(self.data, SparseTable):
            return self._compared(model, threads)
        return self._memoized(model, pseudo_counts)

    def _memoized(self, model: Mixture, pseudo_counts: Any) -> tuple[Mixture, MixtureStats]:
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
        native, numbers = clusters.station(rows, Stay(n_rows, K, L, 1, 1, threads)), clusters.numbers(model)
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


class AsynchronousMixture:
    """Native workers on one table or corpus. One worker makes one pass at a time, and always the same; several do not
    wait for whoever looks at them. Each has its share of the threads."""

    n_shards = 0  # rows are the workers' own

    def __init__(self, task: Task, workers: int, rows_per_update: int, seed: int):
        self.rows = Assignments.none(task.data, task.weight, task.batches, task.n_active)
        self.workers, self.threads, self.rows_per_update = workers, task.threads, rows_per_update
        self.max_iter, self.seed = task.max_iter, seed
        self.n_rows = float(len(task.data)) if task.weight is None else float(task.weight.sum())
        self.native: Any = None
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

    def _opened(self, model: Mixture) -> Any:
        rows, workers = self.rows, self.workers
        self.clusters = clusters_of(model, is_sparse=rows.is_sparse)
        bounds = np.linspace(0, len(rows.data), workers + 1).astype(np.int64)
        r = rows.r.astype(self.clusters.dtype, copy=False)
        threads = max(1, self.threads // workers)
        how = (*in_blocks(model.n_components, workers), self.rows_per_update, threads, self.seed)
        return self.clusters.workers(model, rows.dealt(), Deal(bounds, rows.cluster, r, *how))

    def statistics(self, snapshot: Any) -> MixtureStats:
        """Of all rows. Exact: what the workers posted belongs together."""
        numbers, H = snapshot
        return MixtureStats(self.clusters.statistics(numbers), numbers[:, 0].copy(), H, self.n_rows)

    def interrupted(self, model: Mixture) -> Mixture:
        """The last snapshot."""
        return self.latest

    def place(self, model: Any) -> Any:
        return model

    def recall(self) -> dict[int, Any]:
        return {}

    def restore(self, memory: Mapping[int, Any]) -> None:
        """Rows start from the clusters of the model."""

    def close(self) -> None:
        if self.native is not None:
            self.native.stop()


def usual_rows(data: Corpus | Table, *, has_matrices: bool = False) -> int:
    """Rows between two updates: more where an update costs more."""
    n, D = data.shape
    if isinstance(data, Corpus | SparseTable):
        return max(1, -(-ENTRIES_PER_COLUMN * D * n // max(data.nnz, 1)))
    return ROWS_PER_DIMENSION * D if has_matrices else ROWS_PER_UPDATE


def in_blocks(K: int, workers: int) -> tuple[int, int]:
    """How many blocks of clusters travel, two clusters each at least, and how many a worker holds at a time: several
    if there are, since rows move only between clusters that meet."""
    blocks = max(1, min(K // 2, BLOCKS_PER_WORKER * workers)) if workers > 1 else 1
    return blocks, max(min(2, blocks), blocks // workers)
