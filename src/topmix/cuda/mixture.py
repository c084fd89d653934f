"""The local steps of mixtures and admixtures on the device: the CUDA backends of steps/rows.py.

Rows of groups have the scores of mixtures, in blocks; kernels/groups.cu does the rest. What groups say of their prior
is computed by the processor, while the device sums the moments of their rows.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Self, TypeVar

import numpy as np
from sklearn.utils import gen_batches

from topmix.corpus.shard import GroupShard, Shard, Shards
from topmix.cuda.categorical import RowWords, RowWordStats, WordBlocks, unit_of_tokens
from topmix.cuda.clusters import BLOCK_BYTES, Blocks, Clusters, DeviceRows, rows_at_a_time
from topmix.cuda.device import Device, DeviceArray, Given
from topmix.cuda.gaussian import DeviceGaussian, DeviceGaussianStats
from topmix.cuda.row_sums import LEAST_SHARE, Moments, Scorer, Top
from topmix.cuda.words import DeviceWordTotal
from topmix.models.categorical import Categorical
from topmix.models.document_prior import Prior
from topmix.models.gaussian import Gaussian
from topmix.models.mixture import Admixture, AdmixtureTables, Mixture, MixtureTables
from topmix.models.sparse_counts import RowShares
from topmix.models.statistics import MixtureStats
from topmix.steps import LocalStep, StepResult
from topmix.steps.rows import (
    MAX_ITER,
    MOST_COUNTS,
    TOL,
    Assigned,
    AssignedGroups,
    AssignGroupsStep,
    AssignStep,
    GroupCounts,
    GroupStep,
    GroupVisit,
    MixtureStep,
    counts_of,
    mean_length,
    of_groups,
    wants_absent,
    with_common,
)

M = TypeVar("M")
DIGITS = 50  # binary ones of a group's counts, which are integers
FEW = 256  # rows of a group on average: below this a block has fewer threads


@dataclass(frozen=True)
class RowBackend:
    """What the steps of mixtures and admixtures need: rows and models on the device."""

    step: LocalStep
    device: Device
    precision: str
    threads: int
    unit: float  # of tokens, where rows are words

    @classmethod
    def open(cls, step: LocalStep, device: Device, shards: Shards, precision: str, threads: int) -> Self:
        return cls(step, device, precision, threads, unit_of_tokens(shards.weight))

    def shard(self, shards: Shards, b: int) -> RowWords | DeviceRows:
        shard = shards[b]
        if isinstance(shard, GroupShard):
            return DeviceGroups(shard, self.device, self.threads)
        if isinstance(shard, Shard):
            return RowWords.of(shard, self.device)
        return DeviceRows(shard, self.device, self.threads)

    def close(self) -> None:
        """Nothing but shards is kept."""

    def placed(self, shard: object, stats: MixtureStats) -> MixtureStats:
        """Statistics of a shard, as they are, or from a file. Moments that are on the host are added from there."""
        if isinstance(shard, RowWords) and isinstance(stats.S, RowShares):
            return replace(stats, S=RowWordStats.of(shard, stats.S, self.unit))
        return stats

    def place(self, model: M) -> M:
        """Full covariances and words have large totals, which stay on the device, except where a search for clusters
        of groups reads them. What is small stays on the host."""
        if not isinstance(model, Mixture | Admixture):
            return model
        likelihood: Any = model.likelihood
        if isinstance(likelihood, Categorical) and not likelihood.total.is_exact:  # else it is there already
            total: Any = DeviceWordTotal.of(self.device, likelihood.total, self.unit)
            likelihood = replace(likelihood, total=total)
        elif isinstance(likelihood, Gaussian) and likelihood.covariance_type == "full":
            if model.prior is not None and model.prior.is_process:
                return model
            total = DeviceGaussianStats.zeros(self.device, *likelihood.total.first.shape).add(likelihood.total)
            likelihood = DeviceGaussian(self.device, likelihood, total, likelihood.frame.log_det())
        else:
            return model
        return replace(model, likelihood=likelihood)

    def blocks(self, rows: RowWords | DeviceRows, tables: MixtureTables, L: int, *, keep: bool) -> WordBlocks | Blocks:
        if isinstance(rows, RowWords):
            return WordBlocks(self.device, rows, tables.likelihood, tables.log_weights, L, keep=keep)
        c = Clusters.of(self.device, tables.likelihood)
        return Blocks(rows, c, tables.log_weights, L, self.precision, keep=keep)


@dataclass(frozen=True)
class CudaMixtureStep(RowBackend):
    step: MixtureStep

    def __call__(self, rows: RowWords | DeviceRows, tables: MixtureTables, memory: object) -> StepResult:
        return StepResult(self.blocks(rows, tables, self.step.n_active, keep=True).summarise(self.unit))


@dataclass(frozen=True)
class CudaAssignStep(RowBackend):
    step: AssignStep

    def __call__(self, rows: RowWords | DeviceRows, tables: MixtureTables, memory: object) -> StepResult:
        blocks = self.blocks(rows, tables, self.step.n_active, keep=self.step.keep_clusters)
        parts = [blocks.top.on_host(0)]
        for part in blocks.parts:
            blocks.assign(part)
            parts.append(blocks.top.on_host(part.stop - part.start))
        cluster, r, scores = (np.concatenate(field) for field in zip(*parts))
        likelihood = blocks.likelihood(scores) if isinstance(blocks, Blocks) else scores
        return StepResult(Assigned(cluster, r, likelihood))


# Admixtures: rows in groups, each of which has shares of its own.


def rows_of_piece(L: int, C: int, dtype: np.dtype) -> int:
    """Rows whose groups are solved at once: what is kept of a row is far less than its scores. A group has one block of
    threads, so that few groups at a time would leave most of the device idle."""
    return BLOCK_BYTES // (C * (dtype.itemsize + 2) + L * (dtype.itemsize + 4) + 16)


class DeviceGroups(DeviceRows):
    """The rows of a shard, group by group."""

    shard: GroupShard

    @cached_property
    def groups(self) -> tuple[DeviceArray, DeviceArray, DeviceArray]:
        """Where they begin; the group of each row; and of each group a power of two, which its counts are integers of
        one over."""
        starts, unit = self.shard.starts, np.ldexp(1.0, DIGITS - np.frexp(self.shard.lengths)[1])
        of_rows = np.repeat(np.arange(len(starts) - 1, dtype=np.int32), np.diff(starts))
        return self.device.array(starts, np.int64), self.device.array(of_rows), self.device.array(unit)


class Piece:
    """Some groups of a shard, and the rows that they have."""

    def __init__(self, rows: DeviceGroups, groups: slice, c: Clusters, L: int, C: int):
        first, end = rows.shard.starts[[groups.start, groups.stop]].tolist()
        device, K, dtype, n = rows.device, c.weights.K, c.weights.dtype, end - first
        self.groups, self.part, self.n_rows = groups, slice(first, end), n
        self.n_groups = groups.stop - groups.start
        self.cluster, self.r = device.empty((n, L), np.int32), device.empty((n, L), dtype)
        self.entropy, self.likelihood = device.empty(n, np.float64), device.empty(n, np.float64)
        self.iterations = device.empty(self.n_groups, np.int32)
        self.log_p = device.empty((self.n_groups, K), np.float64)
        self.weight = None if rows.weight is None else rows.weight[self.part]
        self.lengths = rows.shard.lengths[groups]
        constant = device.kept(c, lambda: device.array(c.constant, np.float64))
        starts, group, unit = rows.groups
        self.given: Given = {"constant": constant, "starts": starts[groups.start : groups.stop + 1]}
        self.given |= {"group": group[self.part], "unit": unit[groups], "weight": self.weight, "log_p": self.log_p}
        self.given |= {"s": device.empty((C, n), dtype), "id": device.empty((C, n), np.uint16)}
        self.given |= {"cluster": self.cluster, "r": self.r, "entropy": self.entropy, "likelihood": self.likelihood}
        self.given |= {"iterations": self.iterations, "least": LEAST_SHARE[dtype], "tol": TOL, "max_iter": MAX_ITER}
        self.given |= {"n_rows": n, "base": first, "n_groups": self.n_groups, "first_group": groups.start}
        self.given |= {"K": K, "L": L, "C": C}


class GroupBlocks:
    """Groups under clusters: many of them at a time, and of their rows a block."""

    def __init__(self, rows: DeviceGroups, tables: AdmixtureTables, step: GroupStep, precision: str):
        self.device = device = rows.device
        self.rows, self.c = rows, Clusters.of(device, tables.likelihood)
        weights = self.c.weights
        K, dtype = weights.K, weights.dtype
        self.kind = "double" if dtype == np.float64 else "float"
        self.L, self.C = min(step.n_active, K), step.n_candidates(K)
        self.z = rows.z(dtype, self.c.origin, self.c.A)
        self.size = min(rows_at_a_time(weights, self.C), max(rows.n_rows, 1))
        self.scorer = Scorer(device, weights, self.size, precision)
        self.of_lane, self.warps, self.shared = Top.room(device, K, dtype)
        self.shared_of_group = K * (8 + dtype.itemsize)
        if self.shared_of_group > device.shared_per_block - 2048:
            most = (device.shared_per_block - 2048) // (8 + dtype.itemsize)
            raise ValueError(f"engine='cuda' has at most {most} clusters of groups, not {K}: use engine='threads'")

    def __iter__(self) -> Iterator[Piece]:
        most = max(self.size, rows_of_piece(self.L, self.C, self.c.weights.dtype))
        for groups, _ in self.rows.shard.in_groups(most, max(1, MOST_COUNTS // self.c.weights.K)):
            yield Piece(self.rows, groups, self.c, self.L, self.C)

    def rows_of(self, piece: Piece) -> Iterator[tuple[slice, DeviceArray]]:
        """Block by block."""
        z = self.z[piece.part]
        return ((block, z[block]) for block in gen_batches(piece.n_rows, self.size))

    def scored(self, piece: Piece, kernel: str) -> None:
        """Launches a kernel on the scores of each block, under log_p."""
        for block, z in self.rows_of(piece):
            given = piece.given | self.scorer(z) | {"first": block.start, "n": len(z), "of_lane": self.of_lane}
            blocks = min(-(-len(z) // self.warps), 32 * self.device.n_processors)
            self.device.launch(f"{kernel}_{self.kind}", blocks, 32 * self.warps, given, shared=self.shared)

    def solve(self, piece: Piece, N: DeviceArray, prior: Prior, absent: DeviceArray | None = None) -> None:
        """From the counts N [groups, K], which are written to; so is `absent`."""
        device = self.device
        piece.given |= {"N": N, "absent": absent, "collapsed": int(prior.posterior == "collapsed")}
        piece.given |= {"alpha": device.array(prior.alpha, np.float64)}
        device.launch("weigh_groups", min(piece.n_groups, 1 << 16), 256, piece.given)
        self.scored(piece, "candidates")
        many, threads = ("few", 128) if piece.n_rows < FEW * piece.n_groups else ("many", 1024)
        name, blocks = f"solve_{many}_{self.kind}", min(piece.n_groups, 1 << 16)
        device.launch(name, blocks, threads, piece.given, shared=self.shared_of_group)


@dataclass(frozen=True)
class CudaGroupStep(RowBackend):
    step: GroupStep

    def __call__(self, rows: DeviceGroups, tables: AdmixtureTables, memory: GroupVisit | None) -> StepResult:
        times, last = (memory.times, memory.groups) if memory else (0, None)
        lengths, prior = rows.shard.lengths, tables.prior
        common = self.step.common(times) * mean_length(lengths)
        solved_by = with_common(tables, common) if common > 0 else prior
        blocks, device = GroupBlocks(rows, tables, self.step, self.precision), self.device
        c, L, K, parts = blocks.c, blocks.L, blocks.c.weights.K, []
        moments = Moments(device, K, c.weights.D, c.weights.quadratic, c.weights.dtype, blocks.size * L)
        for piece in blocks:
            N = device.array(counts_of(last, piece.groups, piece.n_groups, K))
            absent = device.empty((piece.n_groups, K), np.float64) if wants_absent(prior) else None
            blocks.solve(piece, N, solved_by, absent)
            each = None if absent is None else device.get(absent)
            parts.append(GroupCounts(device.get(N), each, int(device.get(piece.iterations).sum())))
            for block, z in blocks.rows_of(piece):
                weight = None if piece.weight is None else piece.weight[block]
                moments.add(z, piece.cluster[block], piece.r[block], piece.entropy[block], weight, c.centre, L)

        def total() -> MixtureStats:
            sizes = np.sum([each.N.sum(axis=0) for each in parts], axis=0)
            return MixtureStats(c.sums(c, rows, moments), sizes, moments.entropy(), float(lengths.sum()))

        return StepResult(*of_groups(prior, parts, lengths, times, total))


@dataclass(frozen=True)
class CudaAssignGroupsStep(RowBackend):
    step: AssignGroupsStep

    def __call__(self, rows: DeviceGroups, tables: AdmixtureTables, memory: object) -> StepResult:
        step, prior, device, parts = self.step, tables.prior, self.device, []
        blocks = GroupBlocks(rows, tables, GroupStep(step.likelihood, step.n_active), self.precision)
        c = blocks.c
        for piece in blocks:
            N = device.zeros((piece.n_groups, c.weights.K), np.float64)
            for common in step.scans(prior):
                common *= mean_length(piece.lengths)
                blocks.solve(piece, N, with_common(tables, common) if common > 0 else prior)
            counts, likelihood = device.get(N), np.zeros(0)
            if step.want_likelihood:
                device.copy_to(piece.log_p, np.log(prior.mean(counts)))
                blocks.scored(piece, "likelihood")
                likelihood = device.get(piece.likelihood) + c.jacobian
                if c.root is not None:
                    likelihood -= 0.5 * rows.squared_norms(blocks.z[piece.part], c.root)
            n = piece.n_rows if step.keep_clusters else 0
            parts.append(AssignedGroups(device.get(piece.cluster[:n]), device.get(piece.r[:n]), likelihood, counts))
        return StepResult(AssignedGroups(*(np.concatenate(field) for field in zip(*parts))))
