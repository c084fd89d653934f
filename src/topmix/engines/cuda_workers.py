"""Workers on a GPU: shards, memory and statistics of rounds live on the device."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import TypeAlias

from topmix.corpus.shard import Shards
from topmix.cuda.categorical import RowWords
from topmix.cuda.clusters import DeviceRows
from topmix.cuda.device import Device
from topmix.cuda.mixture import CudaAssignGroupsStep, CudaAssignStep, CudaGroupStep, CudaMixtureStep, RowBackend
from topmix.cuda.shard import DeviceShard
from topmix.cuda.topics import TOPIC_BACKENDS, TopicBackend, on_device, on_host
from topmix.engines.engine import LocalRounds, M, Memo, Rounds, ShardResult, Tables, Workers
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


class CudaWorkers(Workers):
    def __init__(self, shards: Shards, backend: Backend, device: Device):
        self.n_shards, self.n_rows = len(shards), shards.n_rows
        self.shards, self.device, self.backend = shards, device, backend
        self._shards: dict[int, DeviceShard | RowWords | DeviceRows] = {}
        self._memory: dict[int, Memory] = {}

    def run(self, tables: Tables, shards: Iterable[int]) -> Iterator[ShardResult]:
        for b in shards:
            self.device.visit += 1
            shard = self._shard(b)
            of_shard = tables(shard.cols)  # type: ignore[arg-type]  # columns on the device
            stats, memory, info = self.backend(shard, of_shard, self._memory.get(b))  # type: ignore[operator]
            if memory is not None:
                self._memory[b] = memory
            yield ShardResult(b, stats, info)

    def _shard(self, b: int) -> DeviceShard | RowWords | DeviceRows:
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
            self.device.visit += 1
            memo[b] = self.backend.placed(self._shard(b), stats)
        return LocalRounds(self, memo)

    def recall(self) -> dict[int, Memory]:
        return {b: on_host(self.device, memory) for b, memory in self._memory.items()}

    def restore(self, memory: Mapping[int, Memory]) -> None:
        self._memory = {}
        for b, each in memory.items():
            self.device.visit += 1
            self._memory[b] = on_device(self.device, each)

    def close(self) -> None:
        self._memory, self._shards = {}, {}
        self.backend.close()
        self.device.close()
