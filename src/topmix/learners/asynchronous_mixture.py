"""Asynchronous learning of Gaussian mixtures: rows stay with their worker, clusters travel.  docs/math.md, section G.1.

Extreme stochastic variational inference (Zhang et al. 2019), as in asynchronous.py. The first pass is one of memoized
learning, on all threads: it leaves every row with responsibilities to begin with. From then on workers solve them anew
for the clusters that they hold, and what is yielded are snapshots, taken while they go on.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from topmix import _core
from topmix.data.table import Table
from topmix.data.vectors import VectorShard
from topmix.learners.learner import Passes, State
from topmix.likelihoods.gaussian import TOLERANCE, Gaussian, GaussianStats
from topmix.local import MixtureStep, rows_at_a_time
from topmix.models.mixture import Mixture
from topmix.numerics.blas import one_thread
from topmix.stats import MixtureStats

BLOCKS_A_WORKER = 16  # of clusters: its share, which it holds at a time, as far as they have come
ROWS_A_DIMENSION = 48  # solved between two updates where covariances are matrices, which cost the cube of it
ROWS_AT_ONCE = 4096  # where they are not


@dataclass
class Assignments:
    """Every row's clusters and shares, in the order in which rows are dealt."""

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

    def first_pass(self, model: Mixture, seed: Any, threads: int) -> tuple[Mixture, MixtureStats]:
        """A pass of memoized learning: the seed fades, and clusters move after each batch.  Eq. (1.9)."""
        total, at, L = model.no_stats(threads), 0, self.cluster.shape[1]
        step = MixtureStep(Gaussian, L)
        if seed is not None:
            total += seed
        for rows in self.batches:
            weight = None if self.weight is None else self.weight[rows]
            shard = VectorShard(self.data.data, rows, weight)
            self._order.append(np.arange(len(self.data))[rows])
            tables = model.tables(shard.cols)
            for piece in shard.pieces(rows_at_a_time(model.n_components, L, len(shard.cols))):
                a = Gaussian.assign(piece, tables.likelihood, tables.log_weights, L, threads)
                here = slice(at, at := at + piece.n_rows)
                self.cluster[here], self.r[here] = a.cluster, a.r
                total += step.summary(piece, a, tables, threads)
            if seed is not None:
                total.add(seed, -1.0 / len(self.batches))
            model = model.update(total)
        return model, total


@dataclass
class Fleet:
    """The workers on one table, and what their snapshots mean in the terms of a model."""

    native: Any  # _core.AsynchronousGaussian32 or 64
    n_rows: float

    @classmethod
    def of(cls, model: Mixture, rows: Assignments, workers: int, threads: int, rows_at_once: int, seed: int) -> Fleet:
        g, K = model.likelihood, model.n_components
        assert isinstance(g, Gaussian)
        shape, p, dtype, n = g.shape, g.prior, precision(g), len(rows.data)
        order = rows.order
        x = np.ascontiguousarray(rows.data.data[order], dtype)
        z, weight = np.empty_like(x), None if rows.weight is None else rows.weight[order]
        blocks, most = in_blocks(K, workers)
        with one_thread():
            _core.to_frame(x, g.frame.origin, np.ascontiguousarray(g.frame.scale), threads, z)
            make = _core.AsynchronousGaussian32 if dtype == np.float32 else _core.AsynchronousGaussian64
            native = make(
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
                rows_at_once,
                max(1, threads // workers),
                seed,
            )
        return cls(native, float(n) if weight is None else float(weight.sum()))

    def statistics(self, snapshot: Any) -> MixtureStats:
        """Of all rows. Exact: what the workers posted belongs together."""
        N, first, second, H = snapshot
        return MixtureStats(GaussianStats(N, first, second), N, H, self.n_rows)


def usual_rows(D: int, has_matrices: bool) -> int:
    """Between two updates: more where an update costs more."""
    return ROWS_A_DIMENSION * D if has_matrices else ROWS_AT_ONCE


def in_blocks(K: int, workers: int) -> tuple[int, int]:
    """How many blocks of clusters travel, two clusters each at least, and how many a worker holds at a time."""
    blocks = max(1, min(K // 2, BLOCKS_A_WORKER * workers)) if workers > 1 else 1
    return blocks, max(1, blocks // workers)


def precision(g: Any) -> type[np.floating[Any]]:
    return np.float64 if g.dtype == "float64" or g.rounding() > TOLERANCE else np.float32


def asynchronous_mixture(
    model: Mixture,
    rows: Assignments,
    seed: Any,
    max_iter: int,
    *,
    workers: int = 1,
    threads: int = 1,
    rows_at_once: int = ROWS_AT_ONCE,
    random_seed: int = 0,
    state: State | None = None,
) -> Passes:
    """One worker makes one pass at a time, and always the same. Several do not wait for whoever looks at them.

    Each has its share of the threads.
    """
    state = State() if state is None else state
    model, state.total = rows.first_pass(model, seed, threads)
    yield model, state.total
    made, fleet = 1, None  # passes
    with one_thread():  # for as long as workers call BLAS, whatever the caller does in between
        try:
            while made < max_iter:
                if fleet is None:
                    dtype, before = precision(model.likelihood), made
                    fleet = Fleet.of(model, rows, workers, threads, rows_at_once, random_seed)
                    if workers > 1:
                        fleet.native.start(max_iter - before)
                if workers == 1:
                    fleet.native.start(made - before + 1)
                snapshot = fleet.native.next()
                assert snapshot is not None  # nobody else stops them
                state.total, made = fleet.statistics(snapshot), made + 1
                model = model.update(state.total)
                yield model, state.total
                if precision(model.likelihood) != dtype:  # clusters got thin: on in double from here
                    rows.cluster, rows.r = fleet.native.assignments()
                    fleet = None
        finally:
            if fleet is not None:
                fleet.native.stop()
