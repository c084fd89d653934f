"""Asynchronous workers on the rows of a table: Gaussian clusters travel between them.  docs/math.md, section G.1.

The first pass is memoized, on all threads: it gives every row responsibilities to begin with. From then on workers
solve them again for the clusters that they hold.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from topmix import _core
from topmix.data.table import Table
from topmix.data.vectors import VectorShard
from topmix.learners.learner import Passes, PassResult, State
from topmix.learners.task import Task
from topmix.likelihoods.gaussian import TOLERANCE, Gaussian, GaussianStats
from topmix.local.mixture import MixtureStep, rows_at_a_time
from topmix.models.mixture import Mixture
from topmix.numerics.blas import one_thread
from topmix.stats import MixtureStats

BLOCKS_PER_WORKER = 16  # of clusters
ROWS_PER_DIMENSION = 48  # solved between two updates where covariances are matrices, whose update costs D^3
ROWS_PER_UPDATE = 4096  # where they are not


@dataclass
class Assignments:
    """The clusters and shares of every row, in the order in which rows are dealt."""

    data: Table
    weight: np.ndarray | None  # [N]
    batches: Sequence[slice | np.ndarray]
    cluster: np.ndarray  # [N, L] int32
    r: np.ndarray  # [N, L]
    _order: list[np.ndarray] = field(default_factory=list)

    @classmethod
    def none(cls, data: Table, weight: np.ndarray | None, batches: Sequence[slice | np.ndarray], L: int) -> Assignments:
        empty = np.empty((len(data), L), np.int32), np.empty((len(data), L), data.data.dtype)
        return cls(data, weight, batches, *empty)

    @property
    def order(self) -> np.ndarray:
        """[N] which row of the table each is."""
        return np.concatenate(self._order)

    def first_pass(self, model: Mixture, pseudo_counts: Any) -> tuple[Mixture, MixtureStats]:
        """A memoized pass: the pseudo-counts fade, and clusters move after each batch.  Eq. (1.9)."""
        total, at, L = model.no_stats(), 0, self.cluster.shape[1]
        step = MixtureStep(Gaussian, L)
        if pseudo_counts is not None:
            total += pseudo_counts
        for rows in self.batches:
            weight = None if self.weight is None else self.weight[rows]
            shard = VectorShard(self.data.data, rows, weight)
            self._order.append(np.arange(len(self.data))[rows])
            tables = model.tables(shard.cols)
            for piece in shard.pieces(rows_at_a_time(model.n_components, L, len(shard.cols))):
                a = Gaussian.assign(piece, tables.likelihood, tables.log_weights, L)
                here = slice(at, at := at + piece.n_rows)
                self.cluster[here], self.r[here] = a.cluster, a.r
                total += step.summary(piece, a, tables)
            if pseudo_counts is not None:
                total.add(pseudo_counts, -1.0 / len(self.batches))
            model = model.update(total)
        return model, total


class AsynchronousMixture:
    """Native workers on one table. One worker makes one pass at a time, and always the same; several do not wait for
    whoever looks at them. Each has its share of the threads."""

    n_shards = 0  # rows are the workers' own

    def __init__(self, task: Task, workers: int, rows_per_update: int, seed: int):
        assert isinstance(task.data, Table)
        self.rows = Assignments.none(task.data, task.weight, task.batches, task.n_active)
        self.workers, self.threads, self.rows_per_update = workers, task.threads, rows_per_update
        self.max_iter, self.seed = task.max_iter, seed
        self.n_rows = float(len(task.data)) if task.weight is None else float(task.weight.sum())
        self.native: Any = None  # _core.AsynchronousGaussian32 or 64
        self.latest: Mixture = task.model

    def passes(self, model: Mixture, state: State) -> Passes:
        pseudo, state.pseudo_counts = state.pseudo_counts, None
        model, state.total = self.rows.first_pass(model, pseudo)
        self.latest = model
        yield PassResult(model, state.total, {})
        made = before = 1  # passes
        with one_thread():  # for as long as workers call BLAS, whatever the caller does in between
            try:
                while made < self.max_iter:
                    if self.native is None:
                        dtype, before = precision(model.likelihood), made
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
                    if precision(model.likelihood) != dtype:  # clusters got thin: continue in double
                        self.rows.cluster, self.rows.r = self.native.assignments()
                        self.native = None
            finally:
                self.close()

    def _opened(self, model: Mixture) -> Any:
        g, K, workers, rows = model.likelihood, model.n_components, self.workers, self.rows
        assert isinstance(g, Gaussian)
        shape, p, dtype, n = g.shape, g.prior, precision(g), len(rows.data)
        order = rows.order
        x = np.ascontiguousarray(rows.data.data[order], dtype)
        z, weight = np.empty_like(x), None if rows.weight is None else rows.weight[order]
        blocks, most = in_blocks(K, workers)
        _core.to_frame(x, g.frame.origin, np.ascontiguousarray(g.frame.scale), self.threads, z)
        make = _core.AsynchronousGaussian32 if dtype == np.float32 else _core.AsynchronousGaussian64
        return make(
            shape.quadratic,
            not g.zero_mean,
            g.objective == "vb",
            p.beta,
            p.m,
            p.nu,
            shape.packed(np.asarray(p.B)[None])[0].ravel(),
            shape.packed(np.asarray(p.reg)[None])[0].ravel(),
            model.allocation.prior,  # type: ignore[attr-defined]
            z,
            weight,
            np.linspace(0, n, workers + 1).astype(np.int64),
            rows.cluster,
            rows.r.astype(dtype, copy=False),
            g.posterior.m.astype(dtype),
            blocks,
            most,
            self.rows_per_update,
            max(1, self.threads // workers),
            self.seed,
        )

    def statistics(self, snapshot: Any) -> MixtureStats:
        """Of all rows. Exact: what the workers posted belongs together."""
        N, first, second, H = snapshot
        return MixtureStats(GaussianStats(N, first, second), N, H, self.n_rows)

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


def usual_rows(D: int, has_matrices: bool) -> int:
    """Rows between two updates: more where an update costs more."""
    return ROWS_PER_DIMENSION * D if has_matrices else ROWS_PER_UPDATE


def in_blocks(K: int, workers: int) -> tuple[int, int]:
    """How many blocks of clusters travel, two clusters each at least, and how many a worker holds at a time."""
    blocks = max(1, min(K // 2, BLOCKS_PER_WORKER * workers)) if workers > 1 else 1
    return blocks, max(1, blocks // workers)


def precision(g: Any) -> type[np.floating[Any]]:
    return np.float64 if g.dtype == "float64" or g.rounding() > TOLERANCE else np.float32
