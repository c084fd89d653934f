"""Workers on a GPU: shards, memory and statistics of rounds live on the device."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeAlias

from topmix.corpus.shard import Shards, SomeShard
from topmix.cuda.device import Device
from topmix.cuda.mixture import CudaAssignGroupsStep, CudaAssignStep, CudaGroupStep, CudaMixtureStep, RowBackend
from topmix.cuda.topics import TOPIC_BACKENDS, TopicBackend, on_device, on_host
from topmix.engines.engine import M, Memo, Rounds
from topmix.engines.local import LocalWorkers
from topmix.steps import Memory
from topmix.steps.rows import AssignGroupsStep, AssignStep, GroupStep, MixtureStep, RowCandidateStep

Backend: TypeAlias = TopicBackend | RowBackend
BACKENDS: dict[type, type[TopicBackend] | type[RowBackend]] = {
    **TOPIC_BACKENDS,
    MixtureStep: CudaMixtureStep,
    RowCandidateStep: CudaMixtureStep,  # which scores all clusters at every visit
    AssignStep: CudaAssignStep,
    GroupStep: CudaGroupStep,
    AssignGroupsStep: CudaAssignGroupsStep,
}


class CudaWorkers(LocalWorkers):
    def __init__(self, shards: Shards, backend: Backend, device: Device):
        super().__init__(shards, backend)  # type: ignore[arg-type]  # each kind of backend is called
        self.backend, self.device = backend, device
        self._shards: dict[int, SomeShard] = {}

    def shard(self, b: int) -> SomeShard:
        self.device.visit += 1
        if b not in self._shards:
            self._shards[b] = self.backend.shard(self.shards, b)
            if len(self._shards) == self.n_shards:
                self.backend.close()
        return self._shards[b]

    def place(self, model: M) -> M:
        return self.backend.place(model)

    def rounds(self, memo: Memo) -> Rounds:
        """Statistics that come from a checkpoint are on the host, and go to the device."""
        for b, stats in memo.items():
            memo[b] = self.backend.placed(self.shard(b), stats)
        return Rounds(self, memo)

    def recall(self) -> dict[int, Memory]:
        return {b: on_host(self.device, memory) for b, memory in self._memory.items()}

    def restore(self, memory: Mapping[int, Memory]) -> None:
        self._memory = {}
        for b, each in memory.items():
            self.device.visit += 1
            self._memory[b] = on_device(self.device, each)

    def close(self) -> None:
        super().close()
        self._shards = {}
        self.backend.close()
        self.device.close()
