"""The local steps of mixtures on the device: the CUDA backends of local/mixture.py and local/assign.py."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from topmix.cuda.categorical import DeviceCategorical, RowWords, WordBlocks, unit_of_tokens
from topmix.cuda.clusters import Blocks, Clusters
from topmix.cuda.device import Device
from topmix.cuda.gaussian import DeviceGaussian
from topmix.cuda.rows import DeviceRows
from topmix.cuda.shard import DeviceShard
from topmix.data.shard import Shard, Shards
from topmix.likelihoods.categorical import Categorical
from topmix.likelihoods.gaussian import Gaussian
from topmix.local import StepResult
from topmix.local.assign import Assigned, AssignStep
from topmix.local.directions import DirectionStep
from topmix.local.mixture import MixtureStep
from topmix.models.mixture import Mixture, MixtureTables
from topmix.stats import MixtureStats


@dataclass(frozen=True)
class MixtureBackend:
    """What both steps need: rows and models on the device."""

    step: Any
    device: Device
    precision: str
    threads: int
    unit: float  # of tokens, where rows are words

    @classmethod
    def open(cls, step: Any, device: Device, shards: Shards, precision: str, threads: int) -> MixtureBackend:
        return cls(step, device, precision, threads, unit_of_tokens(shards.weight))

    def shard(self, shards: Shards, b: int) -> Any:
        shard = shards[b]
        if isinstance(shard, Shard):
            return RowWords(shard, DeviceShard(shard, self.device), self.device)
        return DeviceRows(shard, self.device, self.threads)

    def close(self) -> None:
        """Nothing but shards is kept."""

    def placed(self, shard: Any, stats: Any) -> Any:
        """Statistics of a shard, on the device: mixtures have no checkpoints."""
        return stats

    def place(self, model: Any) -> Any:
        """Full covariances and words have large totals, which stay on the device. What is small stays on the host."""
        likelihood = model.likelihood if isinstance(model, Mixture) else None
        if isinstance(likelihood, Categorical):
            return replace(model, likelihood=DeviceCategorical.of(self.device, likelihood, self.unit))
        if isinstance(likelihood, Gaussian) and likelihood.covariance_type == "full":
            return replace(model, likelihood=DeviceGaussian.of(self.device, likelihood))
        return model

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

    def __call__(self, rows: Any, tables: MixtureTables, memory: Any) -> StepResult:
        blocks, z = self.blocks(rows, tables, self.step.n_active)
        if isinstance(blocks, WordBlocks):
            return StepResult(blocks.summarise(self.unit))
        moments = blocks.summarise(rows, z)
        S = blocks.c.sums(blocks.c, rows, moments)
        return StepResult(MixtureStats(S, self.device.get(moments.N), moments.entropy(), rows.n))


@dataclass(frozen=True)
class CudaAssignStep(MixtureBackend):
    step: AssignStep

    def __call__(self, rows: Any, tables: MixtureTables, memory: Any) -> StepResult:
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
