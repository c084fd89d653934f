"""A shard on the device, and what is remembered of its documents."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from topmix.allocations.doc_topics import DocTopics
from topmix.cuda.device import Device
from topmix.cuda.gather import GatheredRows
from topmix.cuda.parking import Held
from topmix.data.shard import Shard


class DeviceColumns:
    """The words of a shard, here and there: what a model is asked for tables with."""

    def __init__(self, host: np.ndarray, device: Any):
        self.host, self.device = host, device

    def __len__(self) -> int:
        return len(self.host)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        return np.asarray(self.host, dtype)


class DeviceTokenList(NamedTuple):
    lengths: np.ndarray  # [documents] on the host
    first: Any  # [documents + 1] int64, where the tokens of each document begin
    word: Held  # [tokens] int32


class DeviceShard:
    HOLDS = "index", "value", "_tokens"

    def __init__(self, shard: Shard | GatheredRows, device: Device):
        self.device, self.number = device, shard.number
        self.n_rows, self.n_entries = shard.n_rows, len(shard.index)
        self.cols = DeviceColumns(shard.cols, device.array(shard.cols, np.int32))
        self.indptr = device.array(shard.indptr, np.int32)
        on_host = isinstance(shard, Shard)
        self.index = device.parking.hold(device.array(shard.index, np.int32) if on_host else shard.index)
        self.value = device.parking.hold(device.array(shard.value, np.float32) if on_host else shard.value)
        self.n_words = np.diff(shard.indptr)  # [documents] distinct ones
        self.lengths = shard.lengths
        self.order = np.argsort(-self.n_words, kind="stable").astype(np.int32)
        self.plans: dict[tuple[Any, ...], Any] = {}  # see plan.py
        self._tokens: DeviceTokenList | None = None
        self._places: dict[tuple[int, int, float], tuple[np.ndarray, Any]] = {}

    @cached_property
    def rows(self) -> Any:
        """Documents, longest first."""
        return self.device.array(self.order)

    @property
    def tokens(self) -> DeviceTokenList:
        """Tokens one by one, for sampling: an entry stands for as many as its count, which lie together."""
        if self._tokens is None:
            self._tokens = self._listed()
        return self._tokens

    def _listed(self) -> DeviceTokenList:
        counts = self.device.get(self.value).astype(np.int64)
        first = np.concatenate([[0], np.cumsum(counts)])[self.device.get(self.indptr)]
        return DeviceTokenList(
            np.diff(first),
            self.device.array(first, np.int64),
            self.device.parking.hold(self.device.array(np.repeat(self.device.get(self.index), counts), np.int32)),
        )

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

    def most_sampled(self, K: int) -> int:
        """Topics that a document can have while it is sampled, or that it comes with."""
        return min(K, int(self.lengths.max(initial=0.0)) + 2)

    def sampled_places(self, K: int) -> tuple[np.ndarray, Any]:
        """As `places`, for documents whose tokens are sampled: a topic has at least one."""
        host = np.concatenate([[0], np.cumsum(np.minimum(self.tokens.lengths, K))])
        return host, self.device.array(host, np.int64)


@dataclass(frozen=True, eq=False)
class DeviceDocs:
    """Tokens of each document in each of its topics; document d has places[d] : places[d] + n[d]."""

    device: Device
    host_places: np.ndarray
    places: Any  # [documents + 1] int64
    n: Any  # [documents] int32
    topic: Any  # uint16, ascending within a document; Held when a visit has written it
    count: Any  # float32, the same
    most: int = 0  # topics of the document with most, where they are not from a visit

    @classmethod
    def empty(cls, device: Device, host_places: np.ndarray, places: Any) -> DeviceDocs:
        """Room for what a kernel writes."""
        n, room = device.empty(len(host_places) - 1, np.int32), int(host_places[-1])
        return cls(device, host_places, places, n, device.empty(room, np.uint16), device.empty(room, np.float32))

    HOLDS = "topic", "count"

    def held(self) -> DeviceDocs:
        """The same when nobody writes it any more."""
        hold = self.device.parking.hold
        return replace(self, topic=hold(self.topic), count=hold(self.count))

    @classmethod
    def of(cls, device: Device, docs: DocTopics) -> DeviceDocs:
        """The same on the device."""
        n = np.diff(docs.indptr)
        return cls(
            device,
            docs.indptr,
            device.array(docs.indptr, np.int64),
            device.array(n, np.int32),
            device.array(docs.topic, np.uint16),
            device.array(docs.count, np.float32),
            int(n.max(initial=0)),
        ).held()

    def on_host(self) -> DocTopics:
        n = self.device.get(self.n)
        indptr = np.concatenate([[0], np.cumsum(n, dtype=np.int64)])
        at = np.repeat(self.host_places[:-1] - indptr[:-1], n) + np.arange(indptr[-1])
        return DocTopics(indptr, self.device.get(self.topic)[at], self.device.get(self.count)[at])

    def as_last(self) -> dict[str, Any]:
        """What kernels are given of the last visit."""
        return {"last_places": self.places, "last_topic": self.topic, "last_count": self.count, "last_n": self.n}
