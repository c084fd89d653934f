"""The local steps of mixtures on the device: the CUDA backends of local/mixture.py and local/assign.py."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, TypeVar

import numpy as np

from topmix.cuda.categorical import DeviceCategorical, RowWords, WordBlocks, unit_of_tokens
from topmix.cuda.clusters import Blocks, Clusters, DeviceRows
from topmix.cuda.device import Device
from topmix.cuda.gaussian import DeviceGaussian
from topmix.cuda.shard import DeviceShard
from topmix.data.shard import Shard, Shards
from topmix.likelihoods.categorical import Categorical
from topmix.likelihoods.gaussian import Gaussian
from topmix.local import LocalStep, StepResult
from topmix.local.assign import Assigned, AssignStep
from topmix.local.directions import DirectionStep
from topmix.local.mixture import MixtureStep
from topmix.models.mixture import Mixture, MixtureTables
from topmix.stats import MixtureStats

M = TypeVar("M")
T = TypeVar("T")


@dataclass(frozen=True)
class MixtureBackend:
    """What both steps need: rows and models on the device."""

    step: LocalStep
    device: Device
    precision: str
    threads: int
    unit: float  # of tokens, where rows are words

    @classmethod
    def open(cls, step: LocalStep, device: Device, shards: Shards, precision: str, threads: int) -> MixtureBackend:
        return cls(step, device, precision, threads, unit_of_tokens(shards.weight))

    def shard(self, shards: Shards, b: int) -> RowWords | DeviceRows:
        shard = shards[b]
        if isinstance(shard, Shard):
            return RowWords(shard, DeviceShard(shard, self.device), self.device)
        return DeviceRows(shard, self.device, self.threads)

    def close(self) -> None:
        """Nothing but shards is kept."""

    def placed(self, shard: object, stats: T) -> T:
        """Statistics of a shard, on the device: mixtures have no checkpoints."""
        return stats

    def place(self, model: M) -> M:
        """Full covariances and words have large totals, which stay on the device. What is small stays on the host."""
        if not isinstance(model, Mixture):
            return model
        likelihood: Any = model.likelihood
        if isinstance(likelihood, Categorical):
            likelihood = DeviceCategorical.of(self.device, likelihood, self.unit)
        elif isinstance(likelihood, Gaussian) and likelihood.covariance_type == "full":
            likelihood = DeviceGaussian.of(self.device, likelihood)
        return replace(model, likelihood=likelihood)

    def blocks(self, rows: Any, tables: MixtureTables, L: int, *, keep: bool = True) -> tuple[Any, Any]:
        """How to go through the rows, and the rows."""
        if isinstance(rows, RowWords):
            words = WordBlocks(self.device, rows, tables.likelihood, tables.log_weights, L, keep=keep)
            return words, rows
        c = Clusters.of(self.device, tables.likelihood)
        z = rows.z(c.weights.dtype, c.origin, c.A)
        return Blocks(self.device, c, tables.log_weights, L, rows.n_rows, self.precision, keep=keep), z


@dataclass(frozen=True)
class CudaMixtureStep(MixtureBackend):
    step: MixtureStep

    def __call__(self, rows: Any, tables: MixtureTables, memory: object) -> StepResult:
        blocks, z = self.blocks(rows, tables, self.step.n_active)
        if isinstance(blocks, WordBlocks):
            return StepResult(blocks.summarise(self.unit))
        moments = blocks.summarise(rows, z)
        S = blocks.c.sums(blocks.c, rows, moments)
        return StepResult(MixtureStats(S, self.device.get(moments.N), moments.entropy(), rows.n))


@dataclass(frozen=True)
class CudaAssignStep(MixtureBackend):
    step: AssignStep

    def __call__(self, rows: Any, tables: MixtureTables, memory: object) -> StepResult:
        L, keep = self.step.n_active, self.step.keep_clusters
        blocks, z = self.blocks(rows, tables, L, keep=keep)
        parts = [blocks.top.on_host(0)]
        for part in blocks:
            blocks.assign(z[part])
            parts.append(blocks.top.on_host(part.stop - part.start))
        cluster, r, likelihood = (np.concatenate(field) for field in zip(*parts))
        if isinstance(blocks, Blocks):
            likelihood = likelihood + blocks.c.jacobian
            if blocks.c.root is not None:  # the same for all clusters, so scores did without it
                likelihood -= 0.5 * rows.squared_norms(z, blocks.c.root)
        return StepResult(Assigned(cluster, r, likelihood))


BACKENDS: dict[type, type[MixtureBackend]] = {
    MixtureStep: CudaMixtureStep,
    DirectionStep: CudaMixtureStep,
    AssignStep: CudaAssignStep,
}
