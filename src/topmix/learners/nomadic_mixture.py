"""Asynchronous clusters on a cluster of machines: rows stay with their worker, clusters travel.  docs/math.md,
section G.1.

A worker solves its rows for the clusters that are with it, several blocks at a time: mass moves only between clusters
that meet. Routes are drawn for each round, so that all of them do.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from topmix.data.shard import Shards
from topmix.data.sparse_table import SparseTable
from topmix.data.table import Table
from topmix.engines import Ray
from topmix.engines.nomad_ledger import LedgerError
from topmix.learners.asynchronous_mixture import in_blocks
from topmix.learners.nomadic import Nomadic
from topmix.learners.task import Task
from topmix.learners.travelling_clusters import Stay, TravellingClusters, clusters_of
from topmix.models.mixture import Mixture
from topmix.numerics.blas import one_thread
from topmix.stats import MixtureStats

TOLERANCE = 1e-9  # of the rows, when those of all clusters are added up


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

    def __call__(self, rows: Any, threads: int) -> MixtureStation:
        return MixtureStation(self, rows, threads)


class MixtureStation:
    """The rows of one worker (engines/ray_nomad.py: Station)."""

    n_threads = 1  # one visit at a time, on all threads

    def __init__(self, maker: Maker, rows: Any, threads: int):
        self.together = maker.together
        stay = Stay(maker.all_rows, maker.n_clusters, maker.n_active, maker.n_blocks, maker.rows_per_update, threads)
        self.native: Any = maker.clusters.station(rows, stay)
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

    def told(self) -> None:
        """A cluster needs nothing of the others."""

    def hear(self, delta: np.ndarray) -> None: ...

    def n_bytes(self) -> int:
        return int(self.native.of_rows)


class NomadicMixture(Nomadic):
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
        is_sparse = not isinstance(self.data, Table) or isinstance(self.data, SparseTable)
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

    def _run(self, numbers: np.ndarray, what: str, rounds: int) -> Iterator[Any]:
        contents = np.split(numbers, self.cuts[1:-1])
        return self.nomads.run(contents, rounds, self.seed, Settings(what), redraw=True)

    def _statistics(self, contents: list[np.ndarray], entropy: float) -> MixtureStats:
        numbers = np.concatenate(contents)
        N = numbers[:, 0].copy()
        if not abs(N.sum() - self.n_rows) <= TOLERANCE * self.n_rows:
            raise LedgerError(f"clusters have {N.sum()} rows of {self.n_rows}")
        return MixtureStats(self.clusters.statistics(numbers), N, entropy, self.n_rows)
