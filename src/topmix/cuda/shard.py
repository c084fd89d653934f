"""A shard on the device, and what is remembered of its documents."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from topmix.allocations.doc_topics import DocTopics
from topmix.cuda.device import Device
from topmix.data.shard import Shard


class DeviceColumns:
    """The words of a shard, here and there: what a model is asked for tables with."""

    def __init__(self, host: np.ndarray, device: Any):
        self.host, self.device = host, device

    def __len__(self) -> int:
        return len(self.host)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        return np.asarray(self.host, dtype)


class DeviceShard:
    def __init__(self, shard: Shard, device: Device):
        self.device, self.n_rows, self.n_entries = device, shard.n_rows, len(shard.index)
        self.cols = DeviceColumns(shard.cols, device.array(shard.cols, np.int32))
        self.indptr = device.array(shard.indptr, np.int32)
        self.index, self.value = device.array(shard.index, np.int32), device.array(shard.value, np.float32)
        self.n_words = np.diff(shard.indptr)  # [documents] distinct ones
        self.lengths = shard.lengths
        self.order = np.argsort(-self.n_words, kind="stable").astype(np.int32)
        self.plans: dict[tuple[int, float, bool], Any] = {}  # see plan.py
        self._places: dict[tuple[int, int, float], tuple[np.ndarray, Any]] = {}

    @cached_property
    def rows(self) -> Any:
        """Documents, longest first."""
        return self.device.array(self.order)

    def most_topics(self, K: int, eps: float) -> np.ndarray:
        """[documents] how many topics a document can have at any time: each but one holds more than eps tokens."""
        most = np.full(self.n_rows, K, np.int64)
        if eps > 0:
            most = np.minimum(most, np.floor(self.lengths / eps).astype(np.int64) + 2)
        return most

    def places(self, K: int, L: int, eps: float) -> tuple[np.ndarray, Any]:
        """[documents + 1] where the topics of each document are kept, here and there."""
        key = K, L, eps
        if key not in self._places:
            most = np.minimum(self.most_topics(K, eps), self.n_words * L)
            host = np.concatenate([[0], np.cumsum(most)])
            self._places = {key: (host, self.device.array(host, np.int64))}
        return self._places[key]


@dataclass(frozen=True, eq=False)
class DeviceDocs:
    """Tokens of each document in each of its topics; document d has places[d] : places[d] + n[d]."""

    device: Device
    host_places: np.ndarray
    places: Any  # [documents + 1] int64
    n: Any  # [documents] int32
    topic: Any  # uint16, ascending within a document
    count: Any  # float32

    def on_host(self) -> DocTopics:
        n = self.device.get(self.n)
        indptr = np.concatenate([[0], np.cumsum(n, dtype=np.int64)])
        at = np.repeat(self.host_places[:-1] - indptr[:-1], n) + np.arange(indptr[-1])
        return DocTopics(indptr, self.device.get(self.topic)[at], self.device.get(self.count)[at])
