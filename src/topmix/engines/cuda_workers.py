"""Workers on a GPU: shards, memory and statistics of rounds live on the device."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import TypeAlias

from topmix.cuda import groups, mixture, topics
from topmix.cuda.categorical import RowWords
from topmix.cuda.clusters import DeviceRows
from topmix.cuda.device import Device
from topmix.cuda.groups import GroupBackend
from topmix.cuda.mixture import MixtureBackend
from topmix.cuda.shard import DeviceShard
from topmix.cuda.topics import TopicBackend, on_device, on_host
from topmix.data.shard import Shards
from topmix.engines.engine import M, Memory, ShardResult, Tables
from topmix.engines.rounds import LocalRounds, Memo, Rounds

Backend: TypeAlias = TopicBackend | MixtureBackend | GroupBackend
BACKENDS: dict[type, type[TopicBackend] | type[MixtureBackend] | type[GroupBackend]] = {
    **topics.BACKENDS,
    **mixture.BACKENDS,
    **groups.BACKENDS,
}


class CudaWorkers:
    def __init__(self, shards: Shards, backend: Backend, device: Device):
        self.n_shards, self.n_rows = len(shards), shards.n_rows
        self.shards, self.device, self.backend = shards, device, backend
        self._shards: dict[int, DeviceShard | RowWords | DeviceRows] = {}
        self._memory: dict[int, Memory] = {}
        self._memo: Memo = {}

    def run(self, tables: Tables, shards: Iterable[int]) -> Iterator[ShardResult]:
        for b in shards:
            self.device.parking.visit += 1
            shard = self._shard(b)
            of_shard = tables(shard.cols)  # type: ignore[arg-type]  # columns on the device
            after = (b + 1) % self.n_shards
            of_memo = getattr(self._memo.get(after), "S", None)
            self.device.parking.prefetch([self._shards.get(after), self._memory.get(after), of_memo])
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
            memo[b] = self.backend.placed(self._shard(b), stats)
        self._memo = memo
        return LocalRounds(self, memo)

    def recall(self) -> dict[int, Memory]:
        return {b: on_host(self.device, memory) for b, memory in self._memory.items()}

    def restore(self, memory: Mapping[int, Memory]) -> None:
        self._memory = {b: on_device(self.device, each) for b, each in memory.items()}

    def forget(self) -> None:
        self._memory = {}

    def close(self) -> None:
        self._memory, self._shards, self._memo = {}, {}, {}
        self.backend.close()
        self.device.close()
