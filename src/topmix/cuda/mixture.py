"""The local steps of mixtures on the device: the CUDA backends of local/mixture.py and local/assign.py."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, TypeVar

import numpy as np

from topmix.cuda.categorical import DeviceCategorical, RowWords, RowWordStats, WordBlocks, unit_of_tokens
from topmix.cuda.clusters import Blocks, Clusters, DeviceRows
from topmix.cuda.device import Device
from topmix.cuda.gaussian import DeviceGaussian
from topmix.cuda.shard import DeviceShard
from topmix.data.shard import Shard, Shards
from topmix.likelihoods.categorical import Categorical
from topmix.likelihoods.gaussian import Gaussian
from topmix.local import LocalStep, StepResult
from topmix.local.assign import Assigned, AssignStep
from topmix.local.candidates import RowCandidateStep
from topmix.local.mixture import MixtureStep
from topmix.models.mixture import Mixture, MixtureTables
from topmix.stats import MixtureStats
from topmix.stats.entries import RowShares

M = TypeVar("M")


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

    def placed(self, shard: object, stats: MixtureStats) -> MixtureStats:
        """Statistics of a shard, on the device: as they are, or from a file. Moments that are on the host are added
        from there."""
        if isinstance(stats.S, RowShares) and isinstance(shard, RowWords):
            return replace(stats, S=RowWordStats.of(shard, stats.S, self.unit))
        return stats

    def place(self, model: M) -> M:
        """Full covariances and words have large totals, which stay on the device. What is small stays on the host."""
        likelihood: Any = model.likelihood if isinstance(model, Mixture) else None
        if isinstance(likelihood, Categorical):
            likelihood = DeviceCategorical.of(self.device, likelihood, self.unit)
        elif isinstance(likelihood, Gaussian) and likelihood.covariance_type == "full":
            likelihood = DeviceGaussian.of(self.device, likelihood)
        else:
            return model
        assert isinstance(model, Mixture)
        return replace(model, likelihood=likelihood)

    def blocks(
        self, rows: RowWords | DeviceRows, tables: MixtureTables, L: int, *, keep: bool = True
    ) -> WordBlocks | Blocks:
        """How to go through the rows."""
        if isinstance(rows, RowWords):
            return WordBlocks(self.device, rows, tables.likelihood, tables.log_weights, L, keep=keep)
        c = Clusters.of(self.device, tables.likelihood)
        return Blocks(rows, c, tables.log_weights, L, self.precision, keep=keep)


@dataclass(frozen=True)
class CudaMixtureStep(MixtureBackend):
    step: MixtureStep

    def __call__(self, rows: RowWords | DeviceRows, tables: MixtureTables, memory: object) -> StepResult:
        return StepResult(self.blocks(rows, tables, self.step.n_active).summarise(self.unit))


@dataclass(frozen=True)
class CudaAssignStep(MixtureBackend):
    step: AssignStep

    def __call__(self, rows: RowWords | DeviceRows, tables: MixtureTables, memory: object) -> StepResult:
        blocks = self.blocks(rows, tables, self.step.n_active, keep=self.step.keep_clusters)
        parts = [blocks.top.on_host(0)]
        for part in blocks:
            blocks.assign(part)
            parts.append(blocks.top.on_host(part.stop - part.start))
        cluster, r, scores = (np.concatenate(field) for field in zip(*parts))
        return StepResult(Assigned(cluster, r, blocks.likelihood(scores)))


BACKENDS: dict[type, type[MixtureBackend]] = {
    MixtureStep: CudaMixtureStep,
    RowCandidateStep: CudaMixtureStep,  # which scores all clusters at every visit
    AssignStep: CudaAssignStep,
}
